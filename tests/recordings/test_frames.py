"""Runs, specs and meta of a recording: what is accepted, and what is refused with its name."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import npu_layout as nl
from tests.support.recorded import Engine, image


def test_a_shape_of_another_order_is_refused_now_and_memory_later(tmp_path: Path) -> None:
    """What a runtime gives has to be what its spec says; what lies on disk may be read in another way."""
    spec = nl.TensorSpec((1, 3, 4, 5), "NHWC", name="y")
    array = np.arange(60, dtype=np.float32).reshape(1, 3, 4, 5)

    class Other:
        output_specs = (spec,)

        def infer(self, inputs: object) -> dict[str, np.ndarray]:
            return {"y": array}

    with (
        nl.Recorder(Other(), tmp_path / "r") as recorder,
        pytest.raises(nl.RecordingError, match="axes in the order NCHW"),
    ):
        recorder.infer(np.zeros(3))
    recording = nl.Recording({"y": spec}, [({}, {"y": array})])
    np.testing.assert_array_equal(recording.frames[0].outputs["y"], array.ravel())
    right = nl.TensorSpec((1, 3, 4, 5), name="y")
    assert right.unpack(recording.frames[0].outputs["y"]).tobytes() == array.tobytes()
    assert nl.Recording({"y": right}, recording.frames).frames[0].outputs["y"].size == 60


def test_what_cannot_be_recorded(tmp_path: Path) -> None:
    good = {"y": np.zeros(12, np.int8)}
    specs = {"y": nl.TensorSpec((1, 3, 2, 2), "NHWC", "int8")}
    for frames, meta, says in (
        ([({}, {"y": np.zeros(11, np.int8)})], None, "frame 0: output 'y'.*needs 12"),
        ([({}, good), ({"x": image(0)}, good)], None, "frame 1: has inputs x"),
        ([({}, {"z": good["y"]})], None, "'z' has no spec"),
        ([({"x": np.array(["a"])}, good)], None, "expected numbers"),
        ([({"x": np.array([None])}, good)], None, "expected numbers"),
        ([3], None, "expected \\(inputs, outputs\\)"),
        ([({}, good)], {"when": object()}, "JSON"),
        ([({}, good)], {"when": float("nan")}, "JSON"),
    ):
        with pytest.raises(nl.RecordingError, match=says):
            nl.Recording(specs, frames, meta)
    with pytest.raises(nl.RecordingError, match="specs"):
        nl.Recording({"y": "NHWC"}, [])  # type: ignore[dict-item]
    (tmp_path / "file").write_text("mine")
    with pytest.raises(nl.RecordingError, match="not empty"):
        nl.Recorder(Engine(), tmp_path)
    assert os.listdir(tmp_path) == ["file"]

    class Liar(Engine):
        def infer(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            return {"heat": np.zeros(5, np.int8), "boxes": self.buffers["boxes"]}

    with (
        nl.Recorder(Liar(), tmp_path / "run") as recorder,
        pytest.raises(nl.RecordingError, match="frame 0: output 'heat'"),
    ):
        recorder.infer({"image": image(0)})
    assert len(nl.Recording.load(tmp_path / "run")) == 0
