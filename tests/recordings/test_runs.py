"""Runs, specs and meta of a recording: what is accepted, and what is refused with its name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.recordings import Frame, RunsOnDisk
from npu_layout.recordings.runs import checked_meta, named_specs, run_of
from tests.support.recorded import Engine, image


def test_a_shape_of_another_order_is_refused_now_and_memory_later(tmp_path: Path) -> None:
    """What a runtime gives has to be what its spec says; what is on disk may be read in another way."""
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
        ([({"x": np.ma.masked_array([1, 2], [0, 1])}, good)], None, "frame 0: input 'x'.*its mask would be lost"),
        ([({}, {"y": np.ma.masked_array(good["y"])})], None, "frame 0: output 'y'.*its mask would be lost"),
        ([({"frame.roi_xywh": np.zeros(4, int)}, good)], None, "frame 0: input 'frame.roi_xywh' is a part of no frame"),
        (
            [({"frame": np.zeros(1), "frame.roi_xywh": np.zeros(4, int)}, good)],
            None,
            "expected four integers x, y, width and height",
        ),
        (
            [({"frame": np.zeros(1), "frame.roi_xywh": np.ones(4)}, good)],
            None,
            "height at least 1, got float64 of shape",
        ),
        ([({"frame": np.zeros(1), "frame.roi_xywh": np.ones((2, 2), int)}, good)], None, "got int64 of shape .2, 2."),
        ([({"frame": np.zeros(1), "frame.roi_xywh": np.array([-1, 0, 2, 2])}, good)], None, "-1, 0, 2, 2"),
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


def test_runs_on_disk_are_read_one_at_a_time() -> None:
    spec, reads = nl.TensorSpec((1, 4), "NC", "int8"), []

    def read(i: int) -> Frame:
        reads.append(i)
        return Frame({}, {"y": np.full(4 if i < 3 else 5, i, np.int8)})

    runs = RunsOnDisk(4, read, "run {}".format, {"y": spec})
    assert len(runs) == 4 and not reads
    assert runs[-2].outputs["y"].tolist() == [2] * 4 and reads == [2]
    assert [int(run.outputs["y"][0]) for run in runs[2:0:-1]] == [2, 1] and reads == [2, 2, 1]
    for wrong in (4, -5):
        with pytest.raises(IndexError, match=f"frame {wrong}: the recording has 4"):
            runs[wrong]
    for no_index in (1.0, "1", None):
        with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
            runs[no_index]
    assert runs[np.int64(1)].outputs["y"].tolist() == [1] * 4
    with pytest.raises(nl.RecordingError, match=r"run 3: output 'y': .* 5"):
        runs[3]


def test_names_of_outputs_are_read_once() -> None:
    spec, reads = nl.TensorSpec((1, 4), "NC", "int8"), []

    def read(i: int) -> Frame:
        reads.append(i)
        return Frame({}, {"y": np.full(4, i, np.int8)})

    runs = RunsOnDisk(3, read, "run {}".format, {"y": spec})
    recording = nl.Recording({"y": spec}, runs)
    assert reads == [0, 1, 2]
    assert recording.outputs == recording.outputs == runs.outputs == ("y",) and reads == [0, 1, 2]
    assert RunsOnDisk(3, read, "run {}".format, {"y": spec}).outputs == ("y",) and reads == [0, 1, 2, 0]
    assert RunsOnDisk(0, read, "run {}".format, {"y": spec}).outputs == ()


def test_specs_by_name() -> None:
    one, two = (nl.TensorSpec((1, 4), "NC", name=name) for name in "ab")
    assert named_specs("specs", [one, two]) == named_specs("specs", iter([one, two])) == {"a": one, "b": two}
    assert named_specs("specs", one) == {"a": one} and named_specs("specs", {"c": two}) == {"c": two}


def test_names_that_are_the_same_text_are_refused(tmp_path: Path) -> None:
    """Before, the second one replaced the first, in silence."""
    x = np.ones((1, 2), np.float32)

    class Both:
        input_specs = output_specs = (nl.TensorSpec((1, 2), "NC", name="1"),)

        def infer(self, inputs: Any) -> Any:
            return {1: x, "1": 2 * x} if inputs is x else {1: x}

    recorder = nl.Recorder(Both(), tmp_path / "r")
    with pytest.raises(nl.RecordingError, match="frame 0: inputs: expected names that differ as text, got 1 and '1'"):
        recorder.infer({1: x, "1": x + 1})
    with pytest.raises(nl.RecordingError, match="frame 0: outputs: expected names that differ as text"):
        recorder.infer(x)
    assert recorder.count == 0
    recorder.infer({1: 3 * x})
    assert nl.Recording.load(tmp_path / "r").frames[0].inputs["1"].tolist() == [[3.0, 3.0]]


def test_bytes_are_read_by_their_spec() -> None:
    spec = nl.TensorSpec((1, 2), "NC", "int16", name="y")
    frame = run_of({"x": [1, 2]}, {"y": b"\x01\x00\x00\x01"}, {"y": spec}, "run 0")
    assert frame.outputs["y"].tolist() == [1, 256] and frame.inputs["x"].tolist() == [1, 2]
    with pytest.raises(nl.RecordingError, match="run 0: input 'x': expected numbers, got 3 bytes and no spec"):
        run_of({"x": bytes(3)}, {}, {}, "run 0")


def test_meta_is_copied_as_json_has_it() -> None:
    given = {"preprocess": {"mean": (1, 2)}}
    meta = checked_meta(given)
    assert meta == {"preprocess": {"mean": [1, 2]}} and checked_meta(None) == {}
    meta["preprocess"]["mean"].append(3)
    assert given == {"preprocess": {"mean": (1, 2)}}
    with pytest.raises(nl.RecordingError, match="meta: expected a mapping, got list"):
        checked_meta([])
