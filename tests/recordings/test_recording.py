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


def edited(recording: nl.Recording, what: str) -> None:
    run = recording.frames[0]
    edits = {
        "size": lambda: recording.specs.update(y=nl.TensorSpec((1, 3, 2, 3), "NHWC", "int8")),
        "kind": lambda: recording.specs.update(y="NHWC"),
        "spec": lambda: recording.specs.pop("y"),
        "meta": lambda: recording.meta.update(note={1, 2}),
        "nan": lambda: recording.meta.update(note=float("nan")),
        "meta itself": lambda: setattr(recording, "meta", 3),
        "names": lambda: recording.frames.append(({}, run.outputs)),
        "array": lambda: run.outputs.update(y=np.zeros(13, np.int8)),
        "text": lambda: run.inputs.update(scale=np.array(["a"])),
        "run": lambda: recording.frames.append(7),
    }
    edits[what]()


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("size", "frame 0: output 'y': buffer has 12 bytes; .* needs 18"),
        ("kind", "specs: expected {name: TensorSpec}, got {'y': 'NHWC'}"),
        ("spec", "frame 0: output 'y' has no spec"),
        ("meta", "meta: expected what JSON can represent"),
        ("nan", "meta: expected what JSON can represent"),
        ("meta itself", "meta: expected a mapping, got int"),
        ("names", "frame 2: has inputs none and outputs y; the first frame has inputs scale and outputs y"),
        ("array", "frame 0: output 'y': buffer has 13 bytes"),
        ("text", "frame 0: input 'scale': expected numbers"),
        ("run", r"frame 2: expected \(inputs, outputs\)"),
    ],
)
def test_edits_that_no_recording_has_are_not_saved(what: str, says: str, tmp_path: Path) -> None:
    specs = {"y": nl.TensorSpec((1, 3, 2, 2), "NHWC", "int8")}
    runs = [({"scale": np.float32(i)}, {"y": np.full(12, i, np.int8)}) for i in range(2)]
    recording = nl.Recording(specs, runs)
    edited(recording, what)
    with pytest.raises(nl.RecordingError, match=says):
        recording.save(tmp_path / "a")
    assert not list(tmp_path.iterdir())
    if what in ("size", "spec", "kind"):  # of a recording on disk, whose runs are checked by the specs there
        nl.Recording(specs, runs).save(tmp_path / "a")
        recording = nl.Recording.load(tmp_path / "a")
        edited(recording, what)
        with pytest.raises(nl.RecordingError, match=says.replace("frame 0", ".*frame-000000.npz")):
            recording.save(tmp_path / "b")
        assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_edits_are_saved(tmp_path: Path) -> None:
    specs = {"y": nl.TensorSpec((1, 3, 2, 2), "NHWC", "int8")}
    nl.Recording(specs, [({}, {"y": np.full(12, i, np.int8)}) for i in range(3)]).save(tmp_path / "a")
    recording = nl.Recording.load(tmp_path / "a")
    recording.specs["y"] = recording.specs["y"].replace(quantization=nl.Quantization(0.5, 3))
    recording.meta["note"] = "corrected"
    recording.frames = recording.frames[1:]
    recording.save(tmp_path / "b")
    again = nl.Recording.load(tmp_path / "b")
    assert again.specs == recording.specs and again.meta["note"] == "corrected"
    assert [int(run.outputs["y"][0]) for run in again] == [1, 2]
    wrong = {"y": nl.TensorSpec((1, 3, 2, 2), "NHWC", "int16")}
    with pytest.raises(nl.RecordingError, match=r"frame-000000\.npz: output 'y': buffer"):
        nl.Recording(wrong, nl.Recording.load(tmp_path / "a").frames)
