"""Frames of RealSense, Orbbec, pylon, jetson_utils and Harvesters: stand-ins, and memory that is used again."""

from __future__ import annotations

import enum
from types import SimpleNamespace as Twin
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.frames.camera_stacks import own_copy

WIDTH, HEIGHT = 8, 6
TARGET = nl.TensorSpec((1, 3, HEIGHT, WIDTH), "NHWC", "uint8")


class Format(enum.Enum):
    """What pybind11's enums show: a name, and a text with the type in front."""

    bgr8 = 1
    rgb8 = 2
    yuyv = 3
    z16 = 4
    RGB = 5
    MJPG = 6
    NV12 = 7
    Z16 = 8


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, shape, np.uint8)


def realsense(name: str, data: Any) -> Any:
    return Twin(
        get_profile=lambda: Twin(format=lambda: Format[name]),
        get_width=lambda: WIDTH,
        get_height=lambda: HEIGHT,
        get_stride_in_bytes=lambda: np.asarray(data).strides[0],
        get_data=lambda: data,
    )


def orbbec(name: str, data: np.ndarray) -> Any:
    return Twin(
        get_format=lambda: Format[name], get_width=lambda: WIDTH, get_height=lambda: HEIGHT, get_data=lambda: data
    )


def pylon(number: int, data: Any, padding: int = 0) -> Any:
    return Twin(
        GetPixelType=lambda: number,
        GetWidth=lambda: WIDTH,
        GetHeight=lambda: HEIGHT,
        GetPaddingX=lambda: padding,
        GetImageMemoryView=lambda: memoryview(data),
    )


def harvesters(name: str, data: np.ndarray) -> Any:
    return Twin(data_format=name, width=WIDTH, height=HEIGHT, data=data)


class CudaImage:
    """What jetson_utils shows of an image: numpy would read it as an array without a format."""

    channels, timestamp, width, height = 3, 0, WIDTH, HEIGHT

    def __init__(self, name: str, array: np.ndarray, mapped: bool = True) -> None:
        self.format, self._array = name, array
        self.__array_interface__ = array.__array_interface__ if mapped else None
        self.__cuda_array_interface__ = dict(array.__array_interface__)


def made(frame: Any, source: str) -> np.ndarray:
    return nl.Preprocessor(TARGET, source=source, color="BGR", resize="stretch")(frame)[0][0]


def test_realsense() -> None:
    pixels = noise(HEIGHT, WIDTH, 3)
    frame = realsense("rgb8", memoryview(pixels))
    assert nl.FrameSpec.of(frame) == nl.FrameSpec("RGB", (WIDTH, HEIGHT))
    assert np.array_equal(made(frame, "RGB"), pixels[..., ::-1])
    with pytest.raises(nl.NpuLayoutError, match=r"as SimpleNamespace describes itself; give source='RGB'"):
        made(frame, "BGR")  # the default, which exchanged red and blue
    assert np.array_equal(
        made(realsense("bgr8", noise(HEIGHT, WIDTH + 5, 3)[:, :WIDTH]), "BGR"), noise(HEIGHT, 13, 3)[:, :8]
    )
    words = noise(HEIGHT, WIDTH, 2)
    frame = realsense("yuyv", words.view(np.uint16)[..., 0])
    assert np.array_equal(made(frame, "YUYV"), cv2.cvtColor(words, cv2.COLOR_YUV2BGR_YUYV))
    with pytest.raises(
        nl.NpuLayoutError, match=r"RealSense's format 'z16' is no picture: .*as GRAY; .*Of a picture, .*rs.stream.color"
    ):
        nl.FrameSpec.of(realsense("z16", words.view(np.uint16)[..., 0]))


def test_orbbec() -> None:
    flat = noise(HEIGHT * WIDTH * 3)
    assert np.array_equal(made(orbbec("RGB", flat), "RGB"), flat.reshape(HEIGHT, WIDTH, 3)[..., ::-1])
    flat = noise(HEIGHT * WIDTH * 3 // 2)
    wanted = cv2.cvtColor(flat.reshape(-1, WIDTH), cv2.COLOR_YUV2BGR_NV12)
    assert np.array_equal(made(orbbec("NV12", flat), "NV12"), wanted)
    jpeg = cv2.imencode(".jpg", noise(HEIGHT, WIDTH, 3))[1].reshape(-1)
    assert np.array_equal(made(orbbec("MJPG", jpeg), "MJPEG"), cv2.imdecode(jpeg, cv2.IMREAD_COLOR))
    assert nl.FrameSpec.of(orbbec("MJPG", jpeg)) == nl.FrameSpec("MJPEG", (WIDTH, HEIGHT))
    with pytest.raises(nl.NpuLayoutError, match="Orbbec's format 'Z16'"):
        made(orbbec("Z16", flat), "GRAY16")


def test_pylon_and_its_padding() -> None:
    memory = noise(HEIGHT, WIDTH + 3)
    frame = pylon(0x01080009, memory.tobytes(), padding=3)
    assert nl.FrameSpec.of(frame) == nl.FrameSpec("RGGB", (WIDTH, HEIGHT), strides=WIDTH + 3, size=HEIGHT * (WIDTH + 3))
    wanted = cv2.cvtColor(np.ascontiguousarray(memory[:, :WIDTH]), cv2.COLOR_BayerBG2BGR)
    assert np.array_equal(made(frame, "RGGB"), wanted)
    pixels = noise(HEIGHT, WIDTH, 3)
    assert np.array_equal(made(pylon(0x02180015, pixels.tobytes()), "BGR"), pixels)
    words = noise(HEIGHT, WIDTH, 2)
    for number, source, code in (
        (0x0210001F, "UYVY", cv2.COLOR_YUV2BGR_UYVY),
        (0x02100032, "YUYV", cv2.COLOR_YUV2BGR_YUYV),
    ):
        assert np.array_equal(made(pylon(number, words.tobytes()), source), cv2.cvtColor(words, code))
    # pylon's Python numbers of more than 31 bits are negative
    with pytest.raises(
        nl.NpuLayoutError, match=r"GenICam's format '0x810c002b' is not in the table.*ImageFormatConverter"
    ):
        nl.FrameSpec.of(pylon(0x810C002B - (1 << 32), words.tobytes()))


def test_harvesters() -> None:
    flat = noise(HEIGHT * WIDTH)
    wanted = cv2.cvtColor(flat.reshape(HEIGHT, WIDTH), cv2.COLOR_BayerGR2BGR)
    assert np.array_equal(made(harvesters("BayerGB8", flat), "GBRG"), wanted)
    with pytest.raises(nl.NpuLayoutError, match="buffer has 54 bytes; GBRG of 8x6 needs 48"):
        made(harvesters("BayerGB8", noise(54)), "GBRG")
    with pytest.raises(nl.NpuLayoutError, match="GenICam's format 'BayerGB12Packed'"):
        made(harvesters("BayerGB12Packed", flat), "GBRG")


def test_jetson() -> None:
    pixels = noise(HEIGHT, WIDTH, 3)
    frame = CudaImage("rgb8", pixels)
    assert np.array_equal(made(frame, "RGB"), pixels[..., ::-1])
    with pytest.raises(nl.NpuLayoutError, match="as CudaImage describes itself; give source='RGB'"):
        made(frame, "BGR")  # it was read as an array, with red and blue exchanged
    with pytest.raises(nl.NpuLayoutError, match=r"memory is the GPU's alone: .*mapped=True"):
        made(CudaImage("rgb8", pixels, mapped=False), "RGB")
    with pytest.raises(nl.NpuLayoutError, match=r"Jetson's format 'rgb32f' is not in the table.*Capture"):
        made(CudaImage("rgb32f", pixels.astype(np.float32)), "RGB")


def test_a_copy_keeps_what_the_sdk_overwrites() -> None:
    for frame, source, memory in (
        (lambda m: realsense("bgr8", m.reshape(HEIGHT, WIDTH, 3)), "BGR", noise(HEIGHT * WIDTH * 3)),
        (lambda m: orbbec("NV12", m), "NV12", noise(HEIGHT * WIDTH * 3 // 2)),
        (lambda m: pylon(0x01080008, m, padding=3), "GRBG", noise(HEIGHT * (WIDTH + 3))),
        (lambda m: CudaImage("bgr8", m.reshape(HEIGHT, WIDTH, 3)), "BGR", noise(HEIGHT * WIDTH * 3)),
        (lambda m: harvesters("RGB8", m), "RGB", noise(HEIGHT * WIDTH * 3)),
    ):
        given = frame(memory)
        wanted, kept = made(given, source), own_copy(given)
        memory[:] = 0
        assert np.array_equal(made(kept, source), wanted) and not np.array_equal(made(given, source), wanted)
        assert nl.FrameSpec.of(kept) == nl.FrameSpec.of(given) and own_copy(kept) is kept


def test_a_stream_copies_them(tmp_path: Any) -> None:
    """A frame waits in a stream while the camera fills its memory with the next one."""
    memory = np.zeros((HEIGHT, WIDTH, 3), np.uint8)

    def frames() -> Any:
        for i in range(5):
            memory[:] = i
            yield realsense("bgr8", memory)

    class Identity:
        input_specs = [TARGET.replace(name="x")]  # noqa: RUF012
        output_specs = [TARGET.replace(name="y")]  # noqa: RUF012

        def infer(self, inputs: Any) -> Any:
            return {"y": inputs["x"]}

    preprocess = nl.Preprocessor(TARGET, color="BGR", resize="stretch")
    with nl.streams.Stream(frames(), preprocess, Identity(), lambda result: int(np.max(result.outputs["y"]))) as stream:
        assert [result.value for result in stream] == [0, 1, 2, 3, 4]
