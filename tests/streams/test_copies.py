"""What a source yields and uses again: copies of the same form, of all kinds of memory, and what stays as it is."""

from __future__ import annotations

import array
import ctypes
import mmap
from collections import namedtuple
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.streams import Stream, StreamError
from npu_layout.streams.copies import FrameMemory
from tests.support.streaming import INPUT, Foreign, Reader

pytestmark = pytest.mark.usefixtures("nothing_is_left")
GRAY = nl.Preprocessor(INPUT, source=nl.FrameSpec("GRAY", (8, 8)))


class First(Reader):
    """An engine that returns the first byte of its input, a while after it was made."""

    def __init__(self) -> None:
        super().__init__(0.005)

    def infer(self, inputs: Any, out: Any = None) -> dict[str, np.ndarray]:
        super().infer(inputs)
        return {"number": np.full(4, inputs["image"].flat[0], np.int32)}


class OnGpu:
    """An array that numpy cannot read, as a tensor of CUDA."""

    def __array__(self, *given: object) -> np.ndarray:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


class Message:
    """A stand-in for a ROS sensor_msgs/Image, which has slots."""

    __slots__ = ("_data", "encoding", "height", "is_bigendian", "step", "width")

    def __init__(self, data: Any, encoding: str = "mono8") -> None:
        self.encoding, self.width, self.height, self.step, self.is_bigendian = encoding, 8, 8, 8, 0
        self._data = data

    @property
    def data(self) -> Any:
        return self._data


KINDS: dict[str, Callable[[], Any]] = {
    "array": lambda: np.zeros((8, 8), np.uint8),
    "foreign": lambda: Foreign(np.zeros((8, 8), np.uint8)),
    "bytearray": lambda: bytearray(64),
    "memoryview": lambda: memoryview(bytearray(64)),
    "mmap": lambda: mmap.mmap(-1, 64),
    "ctypes": lambda: (ctypes.c_ubyte * 64)(),
    "ctypes rows": lambda: (ctypes.c_ubyte * 8 * 8)(),
    "array.array": lambda: array.array("B", bytes(64)),
    "wide array.array": lambda: array.array("H", bytes(64)),
    "message of array.array": lambda: Message(array.array("B", bytes(64))),
    "message of bytearray": lambda: Message(bytearray(64)),
    "message of memory": lambda: Message(memoryview(bytearray(64))),
    "message of an array": lambda: Message(np.zeros(64, np.uint8)),
    "list of planes": lambda: [np.zeros((8, 8), np.uint8)],
    "tuple of memory": lambda: (bytearray(64),),
}


def write(given: Any, value: int) -> None:
    given = given[0] if isinstance(given, (tuple, list)) else getattr(given, "array", getattr(given, "_data", given))
    memoryview(given).cast("B")[:] = bytes([value]) * 64


@pytest.mark.parametrize("kind", KINDS)
def test_memory_that_the_source_uses_again(kind: str) -> None:
    given = KINDS[kind]()

    def source() -> Iterator[Any]:
        for n in range(6):
            write(given, 10 * n)
            yield given

    with Stream(source(), GRAY, First(), depth=3) as stream:
        assert [int(result.outputs["number"][0]) for result in stream] == [10 * n for n in range(6)]


def test_pillow_images_that_are_used_again_describe_themselves() -> None:
    image = pytest.importorskip("PIL.Image")
    picture = image.new("RGB", (8, 8))

    def source() -> Iterator[Any]:
        for n in range(6):
            picture.paste((n, 50, 200), (0, 0, 8, 8))
            yield picture

    with Stream(source(), nl.Preprocessor(INPUT, source="RGB"), First(), depth=3) as stream:
        for result in stream:
            assert int(result.outputs["number"][0]) == result.number and result.frame.mode == "RGB"
            assert result.frame is not picture and result.copy().frame.getpixel((3, 3)) == (result.number, 50, 200)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P", "1", "CMYK", "YCbCr", "HSV"])
@pytest.mark.parametrize("source", ["BGR", "RGB", "RGBA", "GRAY"])
def test_pillow_images_are_refused_as_without_a_stream(mode: str, source: str) -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.tile(np.array([10, 20, 30], np.uint8), (8, 8, 1))
    frame, preprocess = image.fromarray(pixels).convert(mode), nl.Preprocessor(INPUT, source=source)
    try:
        wanted = preprocess(frame)[0]
    except nl.NpuLayoutError as refused:
        words = str(refused)
        with Stream([frame], preprocess, First()) as stream, pytest.raises(StreamError) as caught:
            list(stream)
        assert str(caught.value) == f"stream: frame 0: preprocess: {words}"
    else:
        with Stream([frame], preprocess, First()) as stream:
            assert [np.array_equal(result.inputs["image"], wanted) for result in stream] == [True]


def test_a_masked_array_is_refused_as_without_a_stream() -> None:
    masked = np.ma.array(np.zeros((8, 8, 3), np.uint8), mask=True)
    with pytest.raises(nl.NpuLayoutError) as refused:
        nl.Preprocessor(INPUT)(masked)
    with Stream([masked], nl.Preprocessor(INPUT), First()) as stream, pytest.raises(StreamError) as caught:
        list(stream)
    assert str(caught.value) == f"stream: frame 0: capture: {refused.value}"


def pitched(shape: tuple[int, ...], strides: tuple[int, ...], start: int = 0) -> np.ndarray:
    memory = np.random.default_rng(0).integers(0, 256, 2000, dtype=np.uint8)
    return np.ndarray(shape, np.uint8, memory, start, strides)


CHROMA = [pitched((4, 4), (16, 1), start) for start in (400, 700)]


@pytest.mark.parametrize(
    ("source", "frame"),
    [
        (nl.FrameSpec("NV12", (8, 8), strides=32), pitched((12, 8), (32, 1))),
        (nl.FrameSpec("BGR", (8, 8), strides=32), pitched((8, 8, 3), (32, 3, 1))),
        (nl.FrameSpec("I420", (8, 8), strides=(32, 16, 16)), (pitched((8, 8), (32, 1)), *CHROMA)),
        ("NV12", (pitched((8, 8), (40, 1)), pitched((4, 4, 2), (40, 2, 1), 900))),
        ("BGR", pitched((8, 8, 3), (-40, -3, 1), 1000)),
        ("BGR", pitched((8, 8, 3), (0, 3, 1))),
    ],
)  # fmt: skip
def test_frames_with_a_pitch(source: Any, frame: Any) -> None:
    preprocess = nl.Preprocessor(INPUT, source=source, resize="stretch")
    wanted = preprocess(frame)[0]
    with Stream([frame] * 3, preprocess, First(), debug=True) as stream:
        assert [np.array_equal(result.inputs["image"], wanted) for result in stream] == [True] * 3


def test_a_copy_has_the_form_of_what_was_given() -> None:
    whole = np.arange(720, dtype=np.int32).reshape(6, 10, 12)
    for given in (
        *(whole, whole[::-1, ::2, ::-3], whole.T, whole[2:4, 3:5], whole[:0], whole[0, 0, 0], whole.astype(">u2")),
        *(np.broadcast_to(whole[0], (4, 10, 12)), np.asfortranarray(whole), np.array(["a", None], object)),
        *(np.zeros((2, 3), "V0"), np.zeros(2, [("a", "u1"), ("b", "<f4")])),
    ):
        memory = FrameMemory()
        kept = memory.keep(given)
        assert (kept.shape, kept.dtype) == (given.shape, given.dtype)
        assert kept.strides == given.strides or not given.nbytes
        assert kept.tolist() == given.tolist() and not np.shares_memory(kept, given)
        assert memory.keep(given) is kept or given.dtype.hasobject
        wanted = given.tolist()
        memory.fill(0xA5)
        assert given.tolist() == wanted


def test_memory_is_used_again_by_frames_of_the_same_form() -> None:
    memory = FrameMemory()
    kept = memory.keep(np.full((2, 4, 3), 1, np.uint8))
    assert memory.keep(np.full((2, 4, 3), 7, np.uint8)) is kept and (kept == 7).all()
    for other in (np.zeros((2, 4), np.uint8), np.zeros((2, 4, 3), np.uint16)):
        found = memory.keep(other)
        assert found.shape == other.shape and found.dtype == other.dtype and not np.shares_memory(found, kept)


Stamped = namedtuple("Stamped", "time picture")


def test_tuples_and_lists_keep_what_is_no_memory() -> None:
    picture, thing = np.ones((2, 2), np.uint8), object()
    for given in ((np.float64(3), picture), (True, picture), (thing, picture), [b"x", picture], Stamped(1.5, picture)):
        kept = FrameMemory().keep(given)
        assert type(kept) is type(given) and kept[0] is given[0]
        assert kept[1].tolist() == picture.tolist() and not np.shares_memory(kept[1], picture)
    assert FrameMemory().keep(Stamped(1.5, picture)).picture.shape == (2, 2)


def test_what_does_not_change_or_is_no_memory_stays() -> None:
    struct = type("Struct", (ctypes.Structure,), {"_fields_": [("size", ctypes.c_int)]})()
    coded = SimpleNamespace(planes=(), format=SimpleNamespace(name="nv12"))  # of PyAV
    for given in (b"abc", "x.png", None, object(), OnGpu(), (b"a", object()), (), np.float32(1), struct, coded, {}):
        assert FrameMemory().keep(given) is given
    memory = bytearray(b"abc")
    found = FrameMemory().keep(memory)
    memory[:] = b"xyz"
    assert found.tobytes() == b"abc"
