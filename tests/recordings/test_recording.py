"""Recordings: what is recorded comes back to the last bit, or not at all with one RecordingError."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

import npu_layout as nl
from tests.support.recorded import SPECS, Engine, image, recorded, same


def test_what_is_recorded_comes_back(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    model.write_bytes(b"a model")
    folder = tmp_path / "run"
    answers = recorded(folder, preprocess={"color": "RGB"}, model=model, note="lab", versions={"driver": "1.2"})
    recording = nl.Recording.load(folder)
    assert (
        recording.specs == {**SPECS, **Engine().input_specs}
        and len(recording) == 3
        and recording.outputs == ("heat", "boxes")
    )
    for i, frame in enumerate(recording):
        np.testing.assert_array_equal(frame.inputs["image"], image(i))
        np.testing.assert_array_equal(frame.inputs["frame"], image(i)[0])
        for name, array in frame.outputs.items():
            np.testing.assert_array_equal(array, answers[i][name])
    assert recording.frames[-1].inputs["image"].tobytes() == image(2).tobytes() and len(recording.frames[1:]) == 2
    meta = recording.meta
    assert meta["preprocess"] == {"color": "RGB"} and meta["note"] == "lab" and meta["versions"]["driver"] == "1.2"
    assert meta["versions"]["npu_layout"] == nl.__version__
    assert meta["model"] == "model.onnx" and len(meta["model_sha256"]) == 64
    assert "3 frames" in repr(recording)


def test_in_memory_and_saved(tmp_path: Path) -> None:
    specs = {"y": nl.TensorSpec((1, 3, 2, 2), "NHWC", "int8"), "x": nl.TensorSpec((1, 3, 4, 4), "NHWC", "uint8")}
    frames = [
        ({"x": image(i)[:, :4, :4].copy(), "scale": np.float32(i)}, {"y": np.full(12, i, np.int8)}) for i in range(4)
    ]
    recording = nl.Recording(specs, frames, {"preprocess": {"mean": [1, 2, 3]}, "where": "bench"})
    recording.save(tmp_path / "a")
    loaded = nl.Recording.load(tmp_path / "a")
    assert same(recording, loaded) and same(recording, pickle.loads(pickle.dumps(loaded)))
    loaded.save(tmp_path / "b")
    assert same(recording, nl.Recording.load(tmp_path / "b"))
    with pytest.raises(nl.RecordingError, match="never written over"):
        recording.save(tmp_path / "a")
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]
    nl.Recording(specs, []).save(tmp_path / "empty")
    assert len(nl.Recording.load(tmp_path / "empty")) == 0
