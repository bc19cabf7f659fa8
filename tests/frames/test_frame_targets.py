"""Pictures for accelerators against loops over pixels in exact arithmetic, and against OpenCV where it converts."""

from __future__ import annotations

import pickle
import tracemalloc
from fractions import Fraction
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout import kernels
from npu_layout.frames.frame_targets import WRITTEN
from tests.support import frame_formats as formats

YUV = ("NV12", "NV21", "NV24", "I420", "YV12", "I444")
COLORS = {"GRAY": "GRAY", "BGRA": "BGRA", "BGRX": "BGRA", "RGBA": "RGBA", "RGBX": "RGBA"}
# Kr and Kb: ITU-R BT.601, BT.709, BT.2020.
WEIGHTS = {"bt601": ("0.299", "0.114"), "bt709": ("0.2126", "0.0722"), "bt2020": ("0.2627", "0.0593")}


def frame_of(width: int, height: int, seed: int = 0) -> np.ndarray:
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    pixels[:1], pixels[1:2], pixels[2:3, :1] = 255, 0, (0, 0, 255)
    return pixels


def components_of(pixel: Any, matrix: str, range_: str) -> tuple[Fraction, ...]:
    """Return Y, U and V of a BGR pixel by the standard's definition, not rounded."""
    red, blue = map(Fraction, WEIGHTS[matrix])
    b, g, r = (Fraction(int(v), 255) for v in pixel)
    y = red * r + (1 - red - blue) * g + blue * b
    u, v = (b - y) / (2 * (1 - blue)), (r - y) / (2 * (1 - red))
    if range_ == "full":
        return y * 255, u * 255 + 128, v * 255 + 128
    return y * 219 + 16, u * 224 + 128, v * 224 + 128


@pytest.mark.parametrize("name", YUV)
@pytest.mark.parametrize("matrix", WEIGHTS)
@pytest.mark.parametrize("range_", ["limited", "full"])
@pytest.mark.parametrize("size", [(8, 6), (7, 5), (1, 1)])
def test_samples_are_the_standards_where_the_format_has_them(name: str, matrix: str, range_: str, size: Any) -> None:
    rows = [row for row, _ in formats.planes_of(name, *size)]
    spec = nl.FrameSpec(name, size, strides=[row + 3 for row in rows], matrix=matrix, range=range_)
    pixels = frame_of(*size)
    memory, geometry = nl.Preprocessor(spec)(pixels)
    assert (memory.shape, memory.dtype, geometry.input_wh) == ((spec.size,), np.uint8, size)
    step = 2 if name in ("NV12", "NV21", "I420", "YV12") else 1
    # OpenCV's coefficients of limited BT.601 have three decimals.
    allowed = Fraction(7, 10) if (matrix, range_) == ("bt601", "limited") else Fraction(501, 1000)
    for y, x in np.ndindex(size[1], size[0]):
        for i, component in enumerate("YUV"):
            at = (y, x) if component == "Y" else (y // step * step, x // step * step)
            exact = min(components_of(pixels[at], matrix, range_)[i], Fraction(255))
            stored = formats.sample(name, memory, spec.strides, spec.offsets, component, x, y)
            assert abs(stored - exact) <= allowed, (component, x, y)


@pytest.mark.parametrize("resize", ["letterbox", "stretch", "crop"])
@pytest.mark.parametrize("source", ["BGR", "NV12", "YUYV", "GRAY"])
def test_i420_and_nv12_are_what_opencv_makes_of_the_resized_picture(resize: str, source: str) -> None:
    shapes = {"BGR": (48, 36, 3), "NV12": (72, 36), "YUYV": (48, 36, 2), "GRAY": (48, 36)}
    frame = np.random.default_rng(4).integers(0, 256, shapes[source], np.uint8)
    how: Any = dict(resize=resize, source=source, pad_value=(200, 30, 90))
    pixels, expected = nl.Preprocessor(nl.TensorSpec((3, 26, 34), "HWC", "uint8", channels="BGR"), **how)(frame)
    rows = cv2.cvtColor(pixels, cv2.COLOR_BGR2YUV_I420)
    made, geometry = nl.Preprocessor(nl.FrameSpec("I420", (34, 26)), **how)(frame)
    np.testing.assert_array_equal(made.reshape(39, 34), rows)
    assert geometry == expected
    nv12 = nl.Preprocessor(nl.FrameSpec("NV12", (34, 26)), **how)(frame)[0]
    np.testing.assert_array_equal(nv12[: 34 * 26], rows[:26].reshape(-1))
    u, v = rows[26:].reshape(2, -1)
    np.testing.assert_array_equal(nv12[34 * 26 :: 2], u)
    np.testing.assert_array_equal(nv12[34 * 26 + 1 :: 2], v)


@pytest.mark.parametrize("name", [name for name in WRITTEN if name not in YUV])
@pytest.mark.parametrize("pitch", [0, 5])
def test_rows_of_pixels(name: str, pitch: int) -> None:
    row = formats.planes_of(name, 10, 6)[0][0]
    spec = nl.FrameSpec(name, (10, 6), strides=[row + pitch], offsets=[7], size=(row + pitch) * 6 + 20)
    pixels = frame_of(10, 6)
    preprocess = nl.Preprocessor(spec, color=COLORS.get(name, "RGB"))
    for _ in range(2):
        out = np.full(spec.size or 0, 99, np.uint8)
        assert preprocess(pixels, out)[0] is out
        expected = np.zeros(spec.size or 0, np.uint8)
        for y, x in np.ndindex(6, 10):
            b, g, r = (int(v) for v in pixels[y, x])
            gray = (b * 3735 + g * 19235 + r * 9798 + (1 << 14)) >> 15  # OpenCV's, of 15 bits
            values = dict(B=b, G=g, R=r, A=255, X=255)
            stored = [gray] if name == "GRAY" else [values[letter] for letter in name]
            at = 7 + y * (row + pitch) + x * len(stored)
            expected[at : at + len(stored)] = stored
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("name", WRITTEN)
def test_gaps_are_zero_and_the_border_is_converted(name: str) -> None:
    rows = [row for row, _ in formats.planes_of(name, 12, 12)]
    spec = nl.FrameSpec(name, (12, 12), strides=[row + 4 for row in rows])
    pad = (40, 40, 40, 255) if len(name) == 4 and name[3] in "AX" else 40
    preprocess = nl.Preprocessor(spec, color=COLORS.get(name, "BGR"), pad_value=pad)
    out = np.full(spec.size or 0, 99, np.uint8)
    preprocess(np.full((6, 12, 3), 40, np.uint8), out)
    planes, filled = spec.planes(out), np.zeros_like(out)
    for plane in spec.planes(filled):
        plane[...] = 1
    assert not out[filled == 0].any() and (filled == 0).any()
    assert all((plane == plane[:1, :1]).all() for plane in planes)


def test_parts_batches_copies_and_arguments() -> None:
    spec, pixels = nl.FrameSpec("NV21", (16, 16)), frame_of(40, 30)
    preprocess = nl.Preprocessor(spec, resize="stretch")
    part, geometry = preprocess(pixels, roi_xywh=(3, 5, 20, 21))
    np.testing.assert_array_equal(part, preprocess(pixels[5:26, 3:23])[0])
    assert geometry.crop_xyxy == (3, 5, 23, 26)
    buffer, geometries = preprocess.batch([pixels])
    np.testing.assert_array_equal(buffer, preprocess(pixels)[0])
    assert len(geometries) == 1
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(preprocess))(pixels)[0], buffer)
    again = nl.Preprocessor(nl.FrameSpec.from_dict(spec.to_dict()), **preprocess.arguments)
    np.testing.assert_array_equal(again(pixels)[0], buffer)
    assert preprocess.target is spec and repr(preprocess).startswith("Preprocessor(FrameSpec('NV21', (16, 16)), ")


@pytest.mark.parametrize(
    ("spec", "how", "words"),
    [
        (nl.FrameSpec("NV12", (8, 8)), {"mean": 128}, "mean and std must be 0 and 1"),
        (nl.FrameSpec("BGR", (8, 8)), {"std": 255}, "mean and std must be 0 and 1"),
        (
            nl.FrameSpec("NV12", (8, 8)),
            {"color": "GRAY"},
            "is made of BGR or RGB pixels: expected color='BGR' or 'RGB'",
        ),
        (nl.FrameSpec("GRAY", (8, 8)), {}, "is made of GRAY pixels: expected color='GRAY'"),
        (nl.FrameSpec("BGRX", (8, 8)), {"color": "RGBA"}, "is made of BGRA pixels: expected color='BGRA'"),
        (nl.FrameSpec("YUYV", (8, 8)), {}, "the formats that a Preprocessor writes are BGR, RGB,"),
        (nl.FrameSpec("P010", (8, 8)), {}, "the formats that a Preprocessor writes are BGR, RGB,"),
        (nl.FrameSpec("MJPEG", (8, 8)), {}, "the formats that a Preprocessor writes are BGR, RGB,"),
    ],
)
def test_what_does_not_fit_is_refused(spec: nl.FrameSpec, how: Any, words: str) -> None:
    with pytest.raises(nl.NpuLayoutError) as caught:
        nl.Preprocessor(spec, **how)
    assert words in str(caught.value)


@pytest.mark.skipif(kernels.active() == "numpy", reason="no compiled kernels")
@pytest.mark.parametrize("source", ["BGR", "NV12"])
@pytest.mark.parametrize("yuv", ["exact", "planes"])
@pytest.mark.parametrize("name", ["NV12", "I420", "I444"])
def test_a_second_call_allocates_nothing_that_grows(name: str, yuv: str, source: str) -> None:
    spec = nl.FrameSpec(name, (160, 160))
    preprocess = nl.Preprocessor(spec, source=source, yuv=yuv)
    frame = np.random.default_rng(0).integers(0, 256, (90, 160, 3) if source == "BGR" else (180, 160), np.uint8)
    out, expected = preprocess(frame)[0], preprocess(frame)[0]
    preprocess(frame, out)
    tracemalloc.start()
    try:
        preprocess(frame, out)
        assert tracemalloc.get_traced_memory()[1] < 6000  # and its pixels are 76,800 bytes
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(out, expected)


def test_a_buffer_that_does_not_fit_is_refused_and_nothing_is_written() -> None:
    preprocess, pixels = nl.Preprocessor(nl.FrameSpec("NV12", (8, 8))), frame_of(8, 8)
    for out in (
        np.zeros((12, 8), np.uint8),
        np.zeros(95, np.uint8),
        np.zeros(96, np.int8),
        np.zeros(192, np.uint8)[::2],
    ):
        with pytest.raises(nl.NpuLayoutError, match="NV12 of 8x8"):
            preprocess(pixels, out)
        assert not out.any()
    preprocess(pixels)  # its form is known from here on
    before = pixels.copy()
    with pytest.raises(nl.NpuLayoutError, match="shares memory with a frame"):
        preprocess(pixels, pixels.reshape(-1)[:96])
    np.testing.assert_array_equal(pixels, before)
    with pytest.raises(nl.NpuLayoutError, match="expects 1"):
        preprocess.batch([pixels, pixels])
