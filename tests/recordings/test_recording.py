"""Recordings: what is recorded comes back to the last bit, or not at all with one RecordingError."""

from __future__ import annotations

import ast
import json
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.support import parse_npy
from tests.support.damage import damage, mutate
from tests.support.paths import ROOT

SPECS = {
    "heat": nl.TensorSpec((1, 17, 4, 5), "NCHW16c", "int8", quantization=nl.Quantization(0.1, 3), name="heat"),
    "boxes": nl.TensorSpec((1, 6, 4), "NCW", "float32", name="boxes"),
}


class Engine:
    """Answers with buffers that it uses again, as runtimes do."""

    def __init__(self) -> None:
        self.output_specs = SPECS
        self.input_specs = {"image": nl.TensorSpec((1, 3, 8, 8), "NHWC", "uint8", name="image")}
        self.buffers = {name: np.zeros(spec.size, spec.stored) for name, spec in SPECS.items()}

    def infer(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        for k, buffer in enumerate(self.buffers.values()):
            buffer[:] = (np.asarray(inputs["image"]).ravel()[: buffer.size].sum() + np.arange(buffer.size) + k) % 100
        return self.buffers


def image(i: int) -> np.ndarray:
    return np.random.default_rng(i).integers(0, 256, (1, 8, 8, 3), np.uint8)


def recorded(folder: Path, frames: int = 3, **more: object) -> list[dict[str, np.ndarray]]:
    engine = Engine()
    answers = []
    with nl.Recorder(engine, folder, **more) as recorder:  # type: ignore[arg-type]
        for i in range(frames):
            given = recorder.infer({"image": image(i)}, frame=image(i)[0])
            answers.append({name: array.copy() for name, array in given.items()})
            given["heat"][:] = -1  # a later write changes nothing
    return answers


def same(a: nl.Recording, b: nl.Recording) -> bool:
    return (a.specs, a.meta, len(a)) == (b.specs, b.meta, len(b)) and all(
        one.keys() == two.keys()
        and all(one[k].dtype == two[k].dtype and one[k].tobytes() == two[k].tobytes() for k in one)
        and all(one[k].shape == two[k].shape for k in one)
        for f, g in zip(a, b)
        for one, two in zip(f, g)
    )


def test_what_is_recorded_comes_back(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    model.write_bytes(b"a model")
    folder = tmp_path / "run"
    answers = recorded(folder, preprocess={"color": "RGB"}, model=model, note="lab", versions={"driver": "1.2"})
    recording = nl.Recording.load(folder)
    assert recording.specs == SPECS and len(recording) == 3 and recording.outputs == ("heat", "boxes")
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


def test_what_went_in_is_recorded_where_an_engine_works_in_place(tmp_path: Path) -> None:
    class InPlace(Engine):
        def infer(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            outputs = super().infer(inputs)
            for x in inputs.values():
                x *= 0
            return outputs

    given = {"image": np.arange(1, 13, dtype=np.float32)}
    with nl.Recorder(InPlace(), tmp_path / "r") as recorder:
        recorder.infer(given)
    assert not given["image"].any()
    (frame,) = nl.Recording.load(tmp_path / "r")
    np.testing.assert_array_equal(frame.inputs["image"], np.arange(1, 13))


def test_the_frame_is_kept_where_an_engine_works_in_place(tmp_path: Path) -> None:
    class InPlace(Engine):
        def infer(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            outputs = super().infer(inputs)
            inputs["image"] *= 0
            return outputs

    camera = np.arange(1, 13, dtype=np.float32)
    with nl.Recorder(InPlace(), tmp_path / "r") as recorder:
        recorder.infer({"image": camera}, frame=camera)
    (frame,) = nl.Recording.load(tmp_path / "r")
    for name in ("image", "frame"):
        np.testing.assert_array_equal(frame.inputs[name], np.arange(1, 13))


def test_an_input_that_is_called_frame(tmp_path: Path) -> None:
    """The camera's would take its place."""

    class Framed(Engine):
        input_specs = ()

        def infer(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            return super().infer({"image": inputs["frame"]})

    with nl.Recorder(Framed(), tmp_path / "r") as recorder:
        with pytest.raises(nl.RecordingError, match="frame 0: the engine's input 'frame' has the name"):
            recorder.infer({"frame": image(0)}, frame=image(0)[0])
        recorder.infer({"frame": image(0)})
    assert nl.Recording.load(tmp_path / "r").frames[0].inputs["frame"].shape == image(0).shape


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


def test_headers_that_another_thread_spoils(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `ast` of CPython 3.11.7 does where several threads parse: here every second time, then always."""
    recorded(tmp_path / "run")
    np.save(tmp_path / "y.npy", frame := np.arange(48, dtype=np.int8))
    content = (tmp_path / "y.npy").read_bytes()
    calls, right = Counter[str](), ast.literal_eval

    def literal_eval(text: str) -> object:
        calls["all"] += 1
        if calls["all"] % 2 or calls["never"]:
            raise SystemError("AST constructor recursion depth mismatch (before=54, after=44)")
        return right(text)

    monkeypatch.setattr(ast, "literal_eval", literal_eval)
    recording = nl.Recording.load(tmp_path / "run")
    np.testing.assert_array_equal(recording.frames[2].inputs["image"], image(2))
    np.testing.assert_array_equal(parse_npy(content, "y.npy"), frame)
    assert calls["all"] >= 4
    calls["never"] = 1
    with pytest.raises(nl.RecordingError, match=r"frame-000001\.npz: SystemError: AST"):
        recording.frames[1]
    with pytest.raises(nl.RecordingError, match=r"y\.npy: SystemError: AST"):
        parse_npy(content, "y.npy")


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


class Runtime:
    """Answers as real runtimes do: with lists, tuples, bytes, or one array."""

    def __init__(self, answer: Callable[[list[np.ndarray]], object], specs: object = None) -> None:
        self.answer = answer
        self.output_specs = list(SPECS.values()) if specs is None else specs

    def infer(self, inputs: object) -> object:
        buffers = [np.arange(spec.size).astype(spec.stored) for spec in SPECS.values()]
        return self.answer(buffers)


ANSWERS: dict[str, Callable[[list[np.ndarray]], object]] = {
    "list": list,
    "tuple": tuple,
    "by name": lambda both: dict(zip(SPECS, both)),
    "bytes": lambda both: {name: one.tobytes() for name, one in zip(SPECS, both)},
    "list of bytes": lambda both: [one.tobytes() for one in both],
    "bytearray": lambda both: [bytearray(one) for one in both],
    "memoryview": lambda both: [memoryview(one) for one in both],
    "logical": lambda both: [both[0].reshape(1, 2, 4, 5, 16), both[1].reshape(1, 6, 4)],
}


@pytest.mark.parametrize("how", ANSWERS)
def test_what_runtimes_answer(tmp_path: Path, how: str) -> None:
    with nl.Recorder(Runtime(ANSWERS[how]), tmp_path / "run") as recorder:
        given = recorder.infer(image(0))
    assert type(given) is type(ANSWERS[how]([np.zeros(640, np.int8), np.zeros(24, np.float32)]))
    outputs = nl.Recording.load(tmp_path / "run").frames[0].outputs
    for name, spec in SPECS.items():
        np.testing.assert_array_equal(spec.flat(outputs[name]), np.arange(spec.size).astype(spec.stored))


def test_one_output_needs_no_list(tmp_path: Path) -> None:
    with nl.Recorder(Runtime(lambda both: both[1], [SPECS["boxes"]]), tmp_path / "run") as recorder:
        recorder.infer(image(0))
    assert nl.Recording.load(tmp_path / "run").frames[0].outputs["boxes"].shape == (24,)


def test_inputs_by_the_names_of_input_specs(tmp_path: Path) -> None:
    spec = nl.TensorSpec((1, 3, 8, 8), "NHWC", "uint8", name="pixels")
    with nl.Recorder(Runtime(list), tmp_path / "run", input_specs=[spec]) as recorder:
        recorder.infer(image(0).tobytes())
        recorder.infer({"pixels": image(1).tobytes()})
    loaded = nl.Recording.load(tmp_path / "run")
    for i, frame in enumerate(loaded):
        assert frame.inputs["pixels"].dtype == np.uint8
        np.testing.assert_array_equal(frame.inputs["pixels"], image(i).ravel())


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda both: both[:1], "frame 0: the engine gave 1 outputs, expected 2, as its output_specs: heat, boxes"),
        (lambda both: [*both, both[0]], "gave 3 outputs, expected 2"),
        (lambda both: None, "gave 1 outputs, expected 2"),
        (lambda both: [None, both[1]], "output 'heat': expected numbers, got dtype object"),
        (lambda both: {"heat": bytes(3), "boxes": both[1]}, "output 'heat': buffer has 3 bytes"),
        (lambda both: {"mask": bytes(3)}, "output 'mask': expected numbers, got 3 bytes and no spec"),
        (lambda both: [[[1], [2, 3]], both[1]], "output 'heat': .*inhomogeneous"),
    ],
)
def test_answers_that_cannot_be_recorded(
    tmp_path: Path, answer: Callable[[list[np.ndarray]], object], says: str
) -> None:
    with nl.Recorder(Runtime(answer), tmp_path / "run") as recorder, pytest.raises(nl.RecordingError, match=says):
        recorder.infer(image(0))
    assert len(nl.Recording.load(tmp_path / "run")) == 0


@pytest.mark.parametrize(
    ("more", "answer", "says"),
    [
        ({"frame": image(0)[0]}, list, "frame 1: has inputs frame, image and .*; the first frame has inputs image and"),
        ({}, lambda both: {"boxes": both[1]}, "frame 1: has inputs image and outputs boxes; .* outputs boxes, heat"),
    ],
)
def test_frames_unlike_the_first_are_refused_while_recording(
    tmp_path: Path, more: dict[str, Any], answer: Callable[[list[np.ndarray]], object], says: str
) -> None:
    """Later they would cost the whole recording."""
    runtime = Runtime(list)
    with nl.Recorder(runtime, tmp_path / "run") as recorder:
        recorder.infer({"image": image(0)})
        runtime.answer = answer
        with pytest.raises(nl.RecordingError, match=says):
            recorder.infer({"image": image(1)}, **more)
        runtime.answer = list
        recorder.infer({"image": image(1)})
    assert len(nl.Recording.load(tmp_path / "run")) == 2


def test_specs_need_names(tmp_path: Path) -> None:
    unnamed = nl.TensorSpec((1, 6), "NC", "int8")
    named = nl.TensorSpec((1, 6), "NC", "int8", name="y")
    for specs, says in (
        ([unnamed, unnamed], r"output_specs: spec 0, layout NC of \(1,6\) int8, needs a name .* it has none"),
        ([named, named], "spec 1, .* both it and another are called 'y'"),
        ([None], "output_specs: expected TensorSpecs, got None"),
        (5, "output_specs: expected TensorSpecs, got 5"),
        ({"y": "NC"}, "expected {name: TensorSpec}"),
    ):
        with pytest.raises(nl.RecordingError, match=says):
            nl.Recorder(Runtime(list, specs), tmp_path / "run")
    with pytest.raises(nl.RecordingError, match="input_specs: spec 0"):
        nl.Recorder(Runtime(list), tmp_path / "run", input_specs=[unnamed])
    with pytest.raises(nl.RecordingError, match="engine: expected an object with infer and output_specs, got 3"):
        nl.Recorder(3, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    nl.Recorder(Runtime(list, {"y": unnamed}), tmp_path / "run").close()


def test_preprocess_is_what_a_preprocessor_takes(tmp_path: Path) -> None:
    def noted(preprocess: object) -> object:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        nl.Recorder(Engine(), folder, preprocess=preprocess).close()  # type: ignore[arg-type]
        return nl.Recording.load(folder).meta["preprocess"]

    made = nl.Preprocessor(nl.TensorSpec((1, 3, 8, 8)), color="BGR", mean=[1, 2, 3], std=255, resize="crop")
    assert noted(made) == made.arguments
    assert made.arguments == {
        "resize": "crop",
        "interpolation": "linear",
        "source": "BGR",
        "color": "BGR",
        "mean": [1.0, 2.0, 3.0],
        "std": [255.0] * 3,
        "pad_value": [114.0] * 3,
    }
    assert noted({"mean": np.array([1, 2, 3]), "std": np.float32(2)}) == {"mean": [1, 2, 3], "std": 2}
    assert noted({"color": "GRAY", "mean": 128}) == {"color": "GRAY", "mean": 128}
    assert noted({}) == {}
    for wrong, says in (
        ({"colour": "RGB"}, "'colour' is no argument of Preprocessor; it takes resize, interpolation, source, color"),
        ({"color": "rgb"}, "color: expected one of BGR, RGB, GRAY, got 'rgb'"),
        ({"resize": "fit"}, "resize: expected one of letterbox"),
        ({"mean": [1, 2]}, "mean: expected 1 or 3 finite numbers"),
        ({"mean": [[1], [2, 3]]}, "mean: expected 1 or 3 finite numbers"),
        ({"std": 0}, "std: expected numbers other than 0"),
        ({"mean": 0.5, "std": 0.5}, "pixel units"),
        ("RGB", "expected a Preprocessor or its arguments, got 'RGB'"),
    ):
        with pytest.raises(nl.RecordingError, match=f"preprocess: .*{says}"):
            nl.Recorder(Engine(), tmp_path / "wrong", preprocess=wrong)  # type: ignore[arg-type]
    assert not (tmp_path / "wrong").exists()


def changed(folder: Path, name: str) -> Path:
    shutil.copytree(folder, folder.parent / name, symlinks=True)
    return folder.parent / name


def test_damage_is_told_by_file_and_field(tmp_path: Path) -> None:
    recorded(tmp_path / "run")
    about = (tmp_path / "run" / "recording.json").read_text()

    def rewrite(**fields: object) -> str:
        return json.dumps({**json.loads(about), **fields})

    def cut(folder: Path) -> None:
        file = folder / "frame-000001.npz"
        file.write_bytes(file.read_bytes()[:-40])

    def swap(folder: Path) -> None:
        (folder / "frame-000001.npz").rename(folder / "x")
        (folder / "frame-000002.npz").rename(folder / "frame-000001.npz")
        (folder / "x").rename(folder / "frame-000002.npz")

    def foreign(folder: Path) -> None:
        recorded(folder.parent / "other")
        shutil.copy(folder.parent / "other" / "frame-000001.npz", folder)

    def link(folder: Path) -> None:
        (folder / "frame-000001.npz").rename(folder.parent / "outside.npz")
        (folder / "frame-000001.npz").symlink_to(folder.parent / "outside.npz")

    def inflate(folder: Path) -> None:
        file = folder / "frame-000000.npz"
        with zipfile.ZipFile(file) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
            comment = archive.comment
        members["0.npy"] += bytes(1 << 20)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.comment = comment
            for name, content in members.items():
                stored = zipfile.ZIP_STORED if name == "manifest.json" else zipfile.ZIP_DEFLATED
                archive.writestr(name, content, stored)

    cases = {
        "cut": (cut, "frame-000001.npz"),
        "swap": (swap, "frame-000001.npz: frame 2, expected 1"),
        "foreign": (foreign, "frame-000001.npz: recording"),
        "link": (link, "frame-000001.npz: expected a file of its own, got a link"),
        "inflate": (inflate, "frame-000000.npz: input 'image': .* expected 192 and a header"),
        "gone": (lambda f: (f / "frame-000001.npz").unlink(), "frame-000001.npz is missing"),
        "last": (lambda f: (f / "frame-000002.npz").unlink(), "there are 2 frames; recording.json notes 3"),
        "empty": (lambda f: (f / "frame-000000.npz").write_bytes(b""), "frame-000000.npz"),
        "format": (lambda f: (f / "recording.json").write_text(rewrite(format=9)), "format 9; this version reads 1"),
        "meta": (lambda f: (f / "recording.json").write_text(rewrite(meta={})), "sha256 does not fit"),
        "json": (lambda f: (f / "recording.json").write_text(about[:-9]), "not JSON"),
        "deep": (lambda f: (f / "recording.json").write_text("[" * 10**6), "recording.json"),
        "none": (lambda f: (f / "recording.json").unlink(), "recording.json: expected a file"),
    }
    for name, (spoil, says) in cases.items():
        folder = changed(tmp_path / "run", name)
        spoil(folder)
        with pytest.raises(nl.RecordingError, match=says):
            nl.Recording.load(folder)
    with pytest.raises(nl.RecordingError, match="expected a recording's folder, got nothing"):
        nl.Recording.load(tmp_path / "never")
    assert len(nl.Recording.load(tmp_path / "run")) == 3


def mutations(tmp_path: Path, seed: int, count: int) -> Counter[str]:
    """How many came to each file, and how many were refused. A file's bytes, its JSON, or the file itself."""
    recorded(tmp_path / "run", frames=2)
    original = nl.Recording.load(tmp_path / "run")
    original = nl.Recording(original.specs, list(original), original.meta)
    outside, victim = tmp_path / "outside", tmp_path / "victim"
    outside.write_bytes(bytes(64))
    rng, found = random.Random(seed), Counter[str]()
    for _ in range(count):
        shutil.copytree(tmp_path / "run", victim)
        file = rng.choice(sorted(victim.iterdir()))
        done = f"bytes {file.name}"
        if rng.random() < 0.5:
            file.write_bytes(mutate(rng, file.read_bytes()))
        else:
            done = damage(rng, victim, outside)
        found[done.split()[1]] += 1
        try:
            assert same(nl.Recording.load(victim), original), f"{done}: it loaded, and it is another"
        except nl.RecordingError as error:
            assert str(victim) in str(error), done
            found["refused"] += 1
        shutil.rmtree(victim)
    assert {path.name for path in (tmp_path / "run").iterdir()} == set(found) - {"refused"}
    return found


def test_no_mutation_loads_as_something_else(tmp_path: Path, ran: Callable[[int, str], None]) -> None:
    assert mutations(tmp_path, 1, 400)["refused"] > 300
    ran(400, "mutations of a recording")


@pytest.mark.slow
def test_ten_thousand_mutations(tmp_path: Path, ran: Callable[[int, str], None]) -> None:
    assert mutations(tmp_path, 2, 10_000)["refused"] > 8000
    ran(10_000, "mutations of a recording")


RUN = """
import sys, numpy as np
sys.path.insert(0, {root!r})
from tests.recordings import test_recording as t
import npu_layout as nl
recorder = nl.Recorder(t.Engine(), sys.argv[1])
print("ready", flush=True)
for i in range(10**6):
    recorder.infer({{"image": t.image(i)}})
"""


def killed(tmp_path: Path, times: int) -> None:
    rng = random.Random(3)
    for k in range(times):
        folder = tmp_path / f"run{k}"
        code = RUN.format(root=str(ROOT))
        with subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            time.sleep(rng.random() * 0.1)
            process.send_signal(signal.SIGKILL)
        recording = nl.Recording.load(folder)
        for i, frame in enumerate(recording):
            np.testing.assert_array_equal(frame.inputs["image"], image(i))
        shutil.rmtree(folder)


def test_a_killed_process_leaves_whole_frames(tmp_path: Path) -> None:
    killed(tmp_path, 3)


@pytest.mark.slow
def test_two_hundred_killed_processes(tmp_path: Path) -> None:
    killed(tmp_path, 200)
