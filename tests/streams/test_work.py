"""What is done to a frame: buffers reach the engine as they would without a stream, or are refused as they would be."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.streams import Stream, StreamError
from npu_layout.streams.leases import Result, Slot
from npu_layout.streams.stages import Job
from npu_layout.streams.work import Work
from tests.support.streaming import INPUT, PREPROCESS, Reader, drawn, read

pytestmark = pytest.mark.usefixtures("nothing_is_left")


class Echo:
    """An engine that returns the bytes of its input, and keeps what it was given."""

    owns_outputs = False

    def __init__(self, spec: nl.TensorSpec = INPUT) -> None:
        self.input_specs, self.given = (spec,), []  # type: tuple[nl.TensorSpec, ...], list[Any]
        self.output_specs = (nl.TensorSpec((spec.nbytes,), "W", "uint8", name="bytes"),)

    def infer(self, inputs: Any, out: Any = None) -> dict[str, np.ndarray]:
        self.given.append(inputs["image"])
        return {"bytes": np.frombuffer(np.ascontiguousarray(inputs["image"]).tobytes(), np.uint8)}


def done(work: Work, frame: Any, slot: Slot | None = None) -> Result:
    """The result of a frame after all stages."""
    slot = slot or Slot()
    result = Result(0, 0.0, slot, frame)
    job = Job(0, 0.0, frame, slot)
    for _, act in work.stages:
        act(job, slot, result)
    return result


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (nl.TensorSpec((1, 3, 8, 8), "NCHW", "uint8", name="image"), r"\(1, 8, 8, 3\), and .*\(1, 3, 8, 8\);"),
        (nl.TensorSpec((1, 3, 4, 16), "NHWC", "uint8", name="image"), r"\(1, 8, 8, 3\), and .*\(1, 4, 16, 3\)"),
        (nl.TensorSpec((1, 3, 8, 8), "NWHC", "uint8", name="image"), "layout NHWC .*, and .*layout NWHC "),
        (INPUT.replace(dtype="int8"), r"stored as uint8 .*, and .* stored as int8 "),
        (INPUT.replace(storage_strides=(288, 36, 3, 1)), r"stored as uint8 .*, and .* with strides \(288, 36, 3, 1\)"),
        (INPUT.replace(channels="BGR"), "uint8 RGB, .*, and .* uint8 BGR, "),
    ],
)
def test_a_preprocessor_of_another_buffer_is_refused(wanted: nl.TensorSpec, words: str) -> None:
    preprocess = nl.Preprocessor(INPUT.replace(channels="RGB"))
    expected = f"preprocess: its target is not the engine's input image: .*{words}.* make .*input_specs"
    with pytest.raises(nl.NpuLayoutError, match=expected):
        Stream([drawn(0)], preprocess, Echo(wanted))


@pytest.mark.parametrize(
    "wanted",
    [
        INPUT.replace(channels="RGB"),
        INPUT.replace(name="image", quantization=nl.Quantization(1 / 255, 0)),
        nl.TensorSpec((1, 8, 8, 3), "NABD", "uint8", name="image"),  # letters that say nothing of images
        nl.TensorSpec((1, 8, 8, 3), "NCHW", "uint8", name="image"),  # by rank, of an ONNX model with channels last
    ],
)
def test_what_says_less_or_the_same_fits(wanted: nl.TensorSpec) -> None:
    work = Work(nl.Preprocessor(INPUT, color="BGR"), Echo(wanted), lambda result: result.outputs["bytes"][:3].tolist())
    assert done(work, drawn(0x030201, (8, 8))).value == [1, 2, 3]


def test_pictures_fit_inputs_of_as_many_bytes() -> None:
    preprocess, frame = nl.Preprocessor(nl.FrameSpec("NV12", (8, 8))), drawn(7, (8, 8))
    engine = Echo(nl.TensorSpec((1, 12, 8, 1), "NABD", "uint8", name="image"))
    work = Work(preprocess, engine, lambda result: result.outputs["bytes"][:3].tolist())
    assert done(work, frame).value == preprocess(frame)[0][:3].tolist()
    for wanted in (nl.TensorSpec((1, 12, 8, 2), "NABD", "uint8"), nl.TensorSpec((1, 12, 8, 1), "NABD", "int8")):
        with pytest.raises(nl.NpuLayoutError, match="its target is NV12 of 8x8, of 96 bytes, and the engine's input"):
            Work(preprocess, Echo(wanted.replace(name="image")), None)


def test_a_buffer_with_gaps_is_flat() -> None:
    spec = INPUT.replace(storage_strides=(288, 36, 3, 1))
    engine = Echo(spec)
    done(Work(nl.Preprocessor(spec, color="BGR"), engine, None), drawn(7, (8, 8)))
    assert engine.given[0].shape == (spec.size,) and read(engine.given[0][:3]) == 7


def test_flat_memory_gets_the_shape_and_others_go_as_they_are() -> None:
    for buffer, shape in (
        (np.zeros(192, np.uint8), (1, 8, 8, 3)),
        (np.zeros((1, 3, 8, 8), np.uint8), (1, 3, 8, 8)),  # the engine refuses it, as without a stream
        (np.zeros((8, 8, 3), np.uint8), (8, 8, 3)),
        (np.zeros(5, np.uint8), (5,)),
    ):
        engine = Echo()
        work = Work(lambda frame, b=buffer: (b, None), engine, None)
        slot = Slot()
        result = Result(0, 0.0, slot, None)
        work.stages[0][1](Job(0, 0.0, None, slot), slot, result)
        with suppress(nl.NpuLayoutError):  # of the outputs, which have another size then
            work.stages[1][1](Job(0, 0.0, None, slot), slot, result)
        assert engine.given[0].shape == shape and np.shares_memory(engine.given[0], slot.inputs["image"])


def test_a_function_that_returns_no_pair_is_refused() -> None:
    buffer = np.zeros((2, 96), np.uint8)
    makes: list[tuple[Callable[[Any], Any], str]] = [
        (lambda frame: None, "None"),
        (lambda frame: buffer, "numpy.ndarray of shape (2, 96) and dtype uint8"),
        (lambda frame: (buffer,), "1 items"),
        (lambda frame: (buffer, None, 3), "3 items"),
    ]
    for make, words in makes:
        with Stream([drawn(0)], make, Echo()) as stream, pytest.raises(StreamError) as caught:
            list(stream)
        assert str(caught.value) == f"stream: frame 0: preprocess: preprocess: expected (buffer, geometry), got {words}"


def test_memory_of_the_function_stays_as_it_is() -> None:
    """debug fills what the stream made, and nothing else."""
    constant = np.full((1, 8, 8, 3), 7, np.uint8)
    with Stream([drawn(n) for n in range(4)], lambda frame: (constant, None), Echo(), debug=True, depth=1) as stream:
        assert [set(result.outputs["bytes"].tolist()) for result in stream] == [{7}] * 4
    assert (constant == 7).all()


def test_a_batch_is_written_to_memory_that_is_used_again() -> None:
    pair = INPUT.replace(shape=(2, 3, 8, 8))
    preprocess = nl.Preprocessor(pair, color="BGR", resize="stretch")
    with pytest.raises(nl.NpuLayoutError, match="its target is not the engine's input"):
        Work(preprocess.batch, Echo(), None)
    engine = Echo(pair)
    pairs = [[drawn(2 * n), drawn(2 * n + 1, (9, 5))] for n in range(20)]
    seen, memory = [], set()
    with Stream(pairs, preprocess.batch, engine, depth=1) as stream:
        for result in stream:
            buffer = result.inputs["image"]
            memory.add(buffer.ctypes.data)
            seen += [(read(one), geometry.frame_wh) for one, geometry in zip(buffer, result.geometry)]
    assert seen == [(n, (24, 16) if n % 2 == 0 else (5, 9)) for n in range(40)] and len(memory) < 8
    with Stream([[drawn(0)]], preprocess.batch, engine) as stream, pytest.raises(StreamError, match="frames: got 1;"):
        list(stream)


def test_what_is_no_work() -> None:
    two = Echo()
    two.input_specs = (INPUT, INPUT.replace(name="other"))
    for given, words in (
        ((3, Reader(), None), "preprocess: expected a Preprocessor or a function, got int"),
        ((PREPROCESS, Reader, None), "engine: expected an engine, got the class Reader; call it"),
        ((PREPROCESS, object(), None), "engine object: expected an object with infer and output_specs"),
        ((PREPROCESS, two, None), "engine: expected a network with one input, got the inputs image, other"),
        ((PREPROCESS, Reader(), 3), "function: expected a function or None, got int"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=words):
            Work(*given)  # type: ignore[arg-type]
        with pytest.raises(nl.NpuLayoutError, match=words):
            Stream([], *given)  # type: ignore[arg-type]
