"""A Recorder: what runtimes accept and answer is recorded as it is, or refused while it can be repeated."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

import npu_layout as nl
from tests.support.paths import ROOT
from tests.support.recorded import SPECS, Engine, image
from tests.support.streaming import Reader
from tests.support.writing import no_room


class InPlace(Engine):
    """It computes in the memory of its inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.input_specs = ()  # the model's own input, float32

    def infer(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        outputs = super().infer(inputs)
        for x in inputs.values():
            x *= 0
        return outputs


def test_what_went_in_is_recorded_where_an_engine_works_in_place(tmp_path: Path) -> None:
    given = {"image": np.arange(1, 13, dtype=np.float32)}
    with nl.Recorder(InPlace(), tmp_path / "r") as recorder:
        recorder.infer(given)
    assert not given["image"].any()
    (frame,) = nl.Recording.load(tmp_path / "r")
    np.testing.assert_array_equal(frame.inputs["image"], np.arange(1, 13))


def test_the_frame_is_kept_where_an_engine_works_in_place(tmp_path: Path) -> None:
    camera = np.arange(1, 13, dtype=np.float32)
    with nl.Recorder(InPlace(), tmp_path / "r") as recorder:
        recorder.infer({"image": camera}, frame=camera)
    (frame,) = nl.Recording.load(tmp_path / "r")
    for name in ("image", "frame"):
        np.testing.assert_array_equal(frame.inputs[name], np.arange(1, 13))


def test_what_a_preprocessor_returns_is_two_things(tmp_path: Path) -> None:
    preprocess = nl.Preprocessor(nl.TensorSpec((1, 3, 2, 2)))
    with nl.Recorder(Engine(), tmp_path / "r") as recorder:
        with pytest.raises(
            nl.RecordingError, match=r"frame 0: expected an input, got .* \(buffer, geometry\); give its first"
        ):
            recorder.infer(preprocess(np.zeros((4, 4, 3), np.uint8)))
        assert recorder.count == 0


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
        (lambda both: both[:1], "frame 0: the engine returned 1 output, expected 2, as its output_specs: heat, boxes"),
        (lambda both: [*both, both[0]], "returned 3 outputs, expected 2"),
        (lambda both: None, "the engine returned None, expected 2"),
        (lambda both: [None, both[1]], "output 'heat': expected numbers, got None"),
        (lambda both: [{}, both[1]], "output 'heat': expected numbers, got dict"),
        (lambda both: {"heat": bytes(3), "boxes": both[1]}, "output 'heat': buffer has 3 bytes"),
        (lambda both: {"mask": bytes(3)}, "output 'mask': expected numbers, got 3 bytes and no spec"),
        (lambda both: [[[1], [2, 3]], both[1]], "output 'heat': .*inhomogeneous.*; .* an output of its own"),
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


def test_the_part_of_a_frame_is_recorded(tmp_path: Path) -> None:
    preprocess = nl.Preprocessor(nl.TensorSpec((1, 3, 8, 8), "NHWC", "uint8"), source="NV12")
    frame = np.arange(216, dtype=np.uint8).reshape(18, 12)
    with nl.Recorder(Engine(), tmp_path / "r", preprocess=preprocess) as recorder:
        for roi in ([1, 2, 3, 4], np.array([0, 0, 12, 12])):
            planes = frame[:12], frame[12:].reshape(6, 6, 2)
            recorder.infer({"image": preprocess(planes, roi_xywh=roi)[0]}, frame=planes, roi_xywh=roi)
        for wrong, says in (
            (
                (1, 2, 12, 4),
                r"frame 2: roi_xywh: expected x, y, width, height inside the frame of 12x12, got \(1, 2, 12",
            ),
            ((1, 2, 0, 4), "frame 2: roi_xywh: expected x, y, width, height inside"),
            ((1, 2, 3), "frame 2: roi_xywh: expected 4 whole numbers of at least 0"),
            ("1234", "frame 2: roi_xywh: expected 4 whole numbers"),
            ((2**70, 0, 1, 1), "frame 2: "),
        ):
            with pytest.raises(nl.RecordingError, match=says):
                recorder.infer({"image": image(0)}, frame=frame, roi_xywh=wrong)
        with pytest.raises(
            nl.RecordingError, match=r"frame 2: input 'frame': .* mirrored so that U and V are exchanged"
        ):
            recorder.infer({"image": image(0)}, frame=frame[:, ::-1], roi_xywh=(0, 0, 1, 1))
        with pytest.raises(nl.RecordingError, match=r"frame 2: roi_xywh=.* is the part of a frame; give frame= too"):
            recorder.infer({"image": image(0)}, roi_xywh=(0, 0, 1, 1))
        with pytest.raises(nl.RecordingError, match=r"the first frame has inputs frame, frame\.roi_xywh, image"):
            recorder.infer({"image": image(0)}, frame=frame)
        assert recorder.count == 2
    loaded = nl.Recording.load(tmp_path / "r")
    assert [run.inputs["frame.roi_xywh"].tolist() for run in loaded] == [[1, 2, 3, 4], [0, 0, 12, 12]]
    np.testing.assert_array_equal(loaded.frames[1].inputs["frame"], frame)
    with nl.Recorder(Engine(), tmp_path / "free") as recorder:  # of what no preprocess describes
        recorder.infer({"image": image(0)}, frame=np.zeros(3), roi_xywh=(5, 6, 7, 8))
        with pytest.raises(nl.RecordingError, match=r"frame 1: the engine's input 'frame\.roi_xywh' has the name"):
            recorder.infer({"image": image(0), "frame.roi_xywh": np.zeros(4)}, frame=np.zeros(3))
    nl.Recording.load(tmp_path / "free").save(tmp_path / "again")
    assert nl.Recording.load(tmp_path / "again").frames[0].inputs["frame.roi_xywh"].tolist() == [5, 6, 7, 8]


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
    with pytest.raises(nl.NpuLayoutError, match="engine: expected an engine, got the class Reader; call it"):
        nl.Recorder(Reader, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    nl.Recorder(Runtime(list, {"y": unnamed}), tmp_path / "run").close()


def test_a_preprocessor_of_a_picture_is_refused(tmp_path: Path) -> None:
    preprocess = nl.Preprocessor(nl.FrameSpec("NV12", (8, 8)))
    with pytest.raises(
        nl.RecordingError, match=r"its target is a frame, NV12 of 8x8, which is no .*: make the model's"
    ):
        nl.Recorder(Engine(), tmp_path / "refused", preprocess=preprocess)
    assert list(tmp_path.iterdir()) == []


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
        "yuv": "exact",
        "color": "BGR",
        "mean": [1.0, 2.0, 3.0],
        "std": [255.0] * 3,
        "pad_value": [114.0] * 3,
        "scaleup": True,
    }
    assert noted({"mean": np.array([1, 2, 3]), "std": np.float32(2)}) == {"mean": [1, 2, 3], "std": 2}
    assert noted({"color": "GRAY", "mean": 128}) == {"color": "GRAY", "mean": 128}
    assert noted({}) == {}
    for wrong, says in (
        ({"colour": "RGB"}, "'colour' is no argument of Preprocessor; it accepts resize, interpolation, source, color"),
        ({"color": "rgb"}, "color: expected one of BGR, RGB, BGRA, RGBA, GRAY, got 'rgb'"),
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


RUN = """
import sys, numpy as np
sys.path.insert(0, {root!r})
from tests.support import recorded as t
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


class Summing:
    """Answers with what it was given, in a buffer that it uses again; two runs at once would be mixed up."""

    output_specs = (nl.TensorSpec((4,), "N", "int64", name="sums"),)

    def __init__(self) -> None:
        self.buffer, self.running, self.most = np.zeros(4, np.int64), 0, 0

    def infer(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        self.running += 1
        self.most = max(self.most, self.running)
        self.buffer[:] = inputs["image"].sum()
        time.sleep(0.001)
        self.running -= 1
        return {"sums": self.buffer}


@pytest.mark.parametrize("threads", [2, 8])
def test_threads_record_every_frame_once_with_its_output(tmp_path: Path, threads: int) -> None:
    engine, each = Summing(), 12
    with nl.Recorder(engine, tmp_path / "r") as recorder, ThreadPoolExecutor(threads) as pool:

        def turn(k: int) -> None:
            for i in range(each):
                recorder.infer({"image": np.array([k * each + i])}, frame=np.array([k * each + i, 1]))

        list(pool.map(turn, range(threads)))
    recording = nl.Recording.load(tmp_path / "r")
    assert engine.most == 1 and recorder.count == len(recording) == threads * each
    seen = [int(frame.inputs["image"][0]) for frame in recording]
    assert sorted(seen) == list(range(threads * each))
    for number, frame in zip(seen, recording):
        assert frame.outputs["sums"].tolist() == [number] * 4 and frame.inputs["frame"].tolist() == [number, 1]
    for k in range(threads):  # of each thread in its own order
        assert [n for n in seen if n // each == k] == list(range(k * each, (k + 1) * each))


def test_an_engine_that_fails_lets_the_next_thread_go_on(tmp_path: Path) -> None:
    class Failing(Summing):
        def infer(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            if inputs["image"][0] % 3 == 0:
                raise RuntimeError("bus error")
            return super().infer(inputs)

    def attempt(i: int) -> bool:
        try:
            recorder.infer({"image": np.array([i])})
        except RuntimeError:
            return False
        return True

    with nl.Recorder(Failing(), tmp_path / "r") as recorder, ThreadPoolExecutor(4) as pool:
        kept = [i for i, done in enumerate(pool.map(attempt, range(30))) if done]
    recording = nl.Recording.load(tmp_path / "r")
    assert sorted(int(frame.inputs["image"][0]) for frame in recording) == kept == [i for i in range(30) if i % 3]


def test_an_engine_may_record_in_the_same_recorder(tmp_path: Path) -> None:
    class Retrying(Summing):
        def infer(self, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            if inputs["image"][0]:
                recorder.infer({"image": inputs["image"] - 1})
            return super().infer(inputs)

    with nl.Recorder(Retrying(), tmp_path / "r") as recorder:
        recorder.infer({"image": np.array([3])})
    assert [int(frame.inputs["image"][0]) for frame in nl.Recording.load(tmp_path / "r")] == [0, 1, 2, 3]


def test_a_forked_process_is_refused(tmp_path: Path) -> None:
    """Both would write the same frames over each other."""
    with nl.Recorder(Summing(), tmp_path / "r") as recorder:
        recorder.infer({"image": np.array([1])})
        says, said = os.pipe()
        child = os.fork()
        if not child:
            for attempt in (lambda: recorder.infer({"image": np.array([2])}), recorder.close):
                try:
                    attempt()
                except nl.RecordingError as error:
                    os.write(said, f"{error}\n".encode())
            os._exit(0)
        os.close(said)
        assert os.waitpid(child, 0)[1] == 0
        with os.fdopen(says) as lines:
            refusals = lines.read().splitlines()
        recorder.infer({"image": np.array([3])})
    assert len(refusals) == 2 and all("make one in each process, with a folder of its own" in line for line in refusals)
    assert [int(frame.inputs["image"][0]) for frame in nl.Recording.load(tmp_path / "r")] == [1, 3]


def test_a_run_after_close_takes_the_note_back(tmp_path: Path) -> None:
    recorder = nl.Recorder(Summing(), tmp_path / "r")
    for count in (1, 2, 3):
        recorder.infer({"image": np.array([count])})
        assert len(nl.Recording.load(tmp_path / "r")) == count
        recorder.close()
        assert len(nl.Recording.load(tmp_path / "r")) == count
    (tmp_path / "r" / "frame-000002.npz").unlink()
    with pytest.raises(nl.RecordingError, match=r"there are 2 frames; recording\.json notes 3"):
        nl.Recording.load(tmp_path / "r")


def test_one_of_many_recorders_gets_the_folder(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    together = threading.Barrier(8)

    def begin(k: int) -> nl.Recorder | None:
        together.wait(10)
        try:
            return nl.Recorder(Summing(), tmp_path / "r")
        except nl.RecordingError as error:
            assert "is not empty; a recording is never written over another" in str(error)
            return None

    with ThreadPoolExecutor(8) as pool:
        (recorder,) = [made for made in pool.map(begin, range(8)) if made is not None]
    recorder.infer({"image": np.array([1])})
    recorder.close()
    assert len(nl.Recording.load(tmp_path / "r")) == 1


def test_a_recorder_that_cannot_begin_leaves_the_folder_empty(tmp_path: Path) -> None:
    with no_room(10), pytest.raises(OSError, match=r"recording\.json"):
        nl.Recorder(Summing(), tmp_path / "r")
    assert not list((tmp_path / "r").iterdir())
    nl.Recorder(Summing(), tmp_path / "r").close()


def test_channels_of_a_preprocessor_are_kept_by_the_inputs_spec(tmp_path: Path) -> None:
    spec = nl.TensorSpec((1, 3, 2, 2), "NHWC", name="image", channels="BGR")
    preprocess, frame = nl.Preprocessor(spec), np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    other = nl.TensorSpec((1, 3, 2, 2), "NHWC", name="image")
    for lacking in ((), (other,), (nl.TensorSpec((1, 3, 2, 2), "NHWC", name="image", channels="RGB"),)):
        with pytest.raises(nl.RecordingError, match=r"preprocess: its target has channels='BGR', .* input_specs"):
            nl.Recorder(Engine(), tmp_path / "r", input_specs=lacking, preprocess=preprocess)
    assert not (tmp_path / "r").exists()
    with nl.Recorder(Engine(), tmp_path / "r", input_specs=[spec], preprocess=preprocess) as recorder:
        recorder.infer({"image": preprocess(frame)[0]}, frame=frame)
    loaded = nl.Recording.load(tmp_path / "r")
    assert loaded.specs["image"] == spec and loaded.meta["preprocess"]["color"] == "RGB"
    assert loaded.frames[0].inputs["image"].ravel().tolist() == frame.ravel().tolist()


@pytest.mark.parametrize("answer, got", [({}, "none"), ({"boxes": np.zeros(SPECS["boxes"].size, np.float32)}, "boxes")])
def test_outputs_that_an_engine_leaves_out_are_named(tmp_path: Path, answer: Any, got: str) -> None:
    engine = Runtime(lambda buffers: {name: value.astype(SPECS[name].stored) for name, value in answer.items()})
    with nl.Recorder(engine, tmp_path / "r") as recorder:
        with pytest.raises(
            nl.RecordingError, match=f"engine Runtime: returned the outputs {got}, expected its output_specs"
        ):
            recorder.infer(np.zeros((1, 3, 4, 4), np.float32))
        assert recorder.count == 0
        engine.answer = list
        recorder.infer(np.zeros((1, 3, 4, 4), np.float32))
    assert len(nl.Recording.load(tmp_path / "r").frames) == 1


def test_an_input_and_an_output_of_one_name(tmp_path: Path) -> None:
    """The output was recorded by the input's spec: its planes were read as pixels."""

    class Planes:
        input_specs = (nl.TensorSpec((1, 3, 2, 2), "NHWC", "uint8", name="x"),)
        output_specs = (nl.TensorSpec((1, 3, 2, 2), "NCHW", "uint8", name="x"),)

        def infer(self, inputs: Any) -> Any:
            return [np.arange(12, dtype=np.uint8)]

    with pytest.raises(nl.RecordingError, match="engine Planes: an input and an output are both called 'x', and"):
        nl.Recorder(Planes(), tmp_path / "r")
    assert not (tmp_path / "r").exists()
