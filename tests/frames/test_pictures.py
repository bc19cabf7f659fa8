"""Pictures of every format against loops over pixels, and against OpenCV where it has the format."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.frames.color_matrices import color_of
from npu_layout.frames.pictures import FramePlanes, byte_rows, gray_table, in_one_piece, in_rows, picture, untiled
from npu_layout.frames.pixel_formats import PIXEL_FORMATS
from tests.support import frame_formats as formats
from tests.support.paths import ROOT

SIZES = [(8, 6), (2, 2), (36, 34), (18, 10)]
ODD = [(7, 5), (1, 1), (33, 3), (5, 130)]


def read(spec: nl.FrameSpec, memory: Any) -> FramePlanes:
    return FramePlanes(PIXEL_FORMATS[spec.format], spec.size_wh, spec.planes(memory), color_of(spec.matrix, spec.range))


@pytest.mark.parametrize("name", formats.YUV)
@pytest.mark.parametrize("size", SIZES + ODD)
@pytest.mark.parametrize("pitch", [0, 13])
def test_yuv(name: str, size: Any, pitch: int) -> None:
    tile = formats.TILES.get(name, ((1, 1), (1, 1)))
    strides = [row + formats.up(pitch, tile[min(i, 1)][0]) for i, (row, _) in enumerate(formats.planes_of(name, *size))]
    spec = nl.FrameSpec(name, size, strides=strides)
    memory = formats.noise(spec.size or 0, 3)
    expected = formats.yuv_picture(name, memory, size, spec.strides, spec.offsets)
    np.testing.assert_array_equal(picture(read(spec, memory)), expected)
    gray = picture(read(spec, memory), gray=True)
    for y, x in np.ndindex(size[1], size[0]):
        luma = formats.sample(name, memory, spec.strides, spec.offsets, "Y", x, y)
        assert gray[y, x, 0] == formats.gray_of(luma)


@pytest.mark.parametrize("name", formats.YUV)
@pytest.mark.parametrize("matrix", ["bt601", "bt709", "bt2020"])
@pytest.mark.parametrize("range_", ["limited", "full"])
def test_matrices_and_ranges(name: str, matrix: str, range_: str) -> None:
    spec = nl.FrameSpec(name, (10, 6), matrix=matrix, range=range_)
    memory = formats.noise(spec.size or 0, 4)
    expected = formats.yuv_picture(name, memory, (10, 6), spec.strides, spec.offsets, matrix, range_)
    np.testing.assert_array_equal(picture(read(spec, memory)), expected)
    gray = picture(read(spec, memory), gray=True)[..., 0]
    luma = [[formats.sample(name, memory, spec.strides, spec.offsets, "Y", x, y) for x in range(10)] for y in range(6)]
    np.testing.assert_array_equal(gray, [[formats.gray_of(y, matrix, range_) for y in row] for row in luma])


@pytest.mark.parametrize("name", [*formats.CHANNELS, "GRAY", "GRAY16", "RGB565"])
@pytest.mark.parametrize("size", SIZES + ODD)
@pytest.mark.parametrize("pitch", [0, 13])
def test_channels(name: str, size: Any, pitch: int) -> None:
    spec = nl.FrameSpec(name, size, strides=[formats.planes_of(name, *size)[0][0] + pitch])
    memory = formats.noise(spec.size or 0, 5)
    expected = formats.channels_picture(name, memory, size, spec.strides[0])
    np.testing.assert_array_equal(picture(read(spec, memory)), expected)


@pytest.mark.parametrize("name", formats.MOSAICS)
@pytest.mark.parametrize("size", [(8, 6), (7, 5), (13, 10)])
@pytest.mark.parametrize("pitch", [0, 13])
def test_mosaics(name: str, size: Any, pitch: int) -> None:
    spec = nl.FrameSpec(name, size, strides=[formats.planes_of(name, *size)[0][0] + pitch])
    memory = formats.noise(spec.size or 0, 6)
    mosaic = formats.mosaic_of(name, memory, spec.strides[0], *size)
    second_row = {"RGGB": "BG", "BGGR": "RG", "GRBG": "GB", "GBRG": "GR"}[name[:4]]  # OpenCV's older names
    for target, gray in (("BGR", False), ("GRAY", True)):
        expected = cv2.cvtColor(mosaic, getattr(cv2, f"COLOR_Bayer{second_row}2{target}"))
        np.testing.assert_array_equal(np.squeeze(picture(read(spec, memory), gray=gray)), expected)


@pytest.mark.parametrize("pattern", formats.PATTERNS)
def test_the_pattern_names_the_filters_of_the_first_two_rows(pattern: str) -> None:
    """A scene of one color comes out in that color, but not if red and blue, or green, are looked for elsewhere."""
    scene = {"R": 200, "G": 90, "B": 30}
    mosaic = np.array([[scene[pattern[y % 2 * 2 + x % 2]] for x in range(12)] for y in range(10)], np.uint8)
    for name in formats.PATTERNS:
        frame = FramePlanes(PIXEL_FORMATS[name], (12, 10), (mosaic,))
        assert (picture(frame)[1:-1, 1:-1] == [30, 90, 200]).all() == (name == pattern)


OPENCV = {
    "NV12": "YUV2BGR_NV12",
    "NV21": "YUV2BGR_NV21",
    "I420": "YUV2BGR_I420",
    "YV12": "YUV2BGR_YV12",
    "YUYV": "YUV2BGR_YUYV",
    "UYVY": "YUV2BGR_UYVY",
    "YVYU": "YUV2BGR_YVYU",
    "RGB565": "BGR5652BGR",
}


@pytest.mark.parametrize("name", OPENCV)
@pytest.mark.parametrize("size", [(64, 48), (2, 2), (34, 6), (130, 22)])
def test_opencv_where_it_has_the_format(name: str, size: Any) -> None:
    width, height = size
    spec = nl.FrameSpec(name, size)
    memory = formats.noise(spec.size or 0, 8)
    shape = (height, width, 2) if PIXEL_FORMATS[spec.format].stacked == 1 else (height * 3 // 2, width)
    expected = cv2.cvtColor(memory.reshape(shape), getattr(cv2, f"COLOR_{OPENCV[name]}"))
    np.testing.assert_array_equal(picture(read(spec, memory)), expected)
    if name in ("NV12", "NV21"):  # planes with pitches of their own
        wide = nl.FrameSpec(name, size, strides=(width + 7, width + 20))
        memory = formats.noise(wide.size or 0, 9)
        expected = cv2.cvtColorTwoPlane(*wide.planes(memory), getattr(cv2, f"COLOR_{OPENCV[name]}"))
        np.testing.assert_array_equal(picture(read(wide, memory)), expected)


@pytest.mark.parametrize("name", formats.FLAT)
def test_a_part_has_the_pixels_of_the_whole(name: str) -> None:
    for size in ((22, 14), (21, 13)):
        spec = nl.FrameSpec(name, size)
        frame = read(spec, formats.noise(spec.size or 0, 10))
        for gray in (False, True):
            whole = picture(frame, gray=gray)
            for box in ((0, 0, 21, 13), (3, 5, 18, 12), (4, 2, 9, 3), (1, 1, 2, 2), (20, 12, 21, 13), (2, 2, 20, 12)):
                x0, y0, x1, y1 = box
                np.testing.assert_array_equal(picture(frame, box, gray=gray), whole[y0:y1, x0:x1])


def test_the_coefficients_over_all_of_y_u_and_v() -> None:
    """A thousand colors of each matrix, the ends among them, by scalar arithmetic; gray for each Y."""
    rng = np.random.default_rng(1)
    triples = np.concatenate(
        [rng.integers(0, 256, (600, 3)), np.stack(np.meshgrid(*[[0, 1, 16, 128, 235, 255]] * 3), -1).reshape(-1, 3)]
    )
    for matrix in ("bt601", "bt709", "bt2020"):
        for range_ in ("limited", "full"):
            spec = nl.FrameSpec("I444", (len(triples), 1), matrix=matrix, range=range_)
            got = picture(read(spec, triples.T.astype(np.uint8).tobytes()))[0]
            np.testing.assert_array_equal(
                got, [formats.bgr_of(*map(int, t), matrix=matrix, range=range_) for t in triples]
            )
            assert gray_table(color_of(matrix, range_)).tolist() == [
                formats.bgr_of(y, 128, 128, matrix, range_)[0] for y in range(256)
            ]


def test_white_and_black_of_each_standard() -> None:
    for matrix in ("bt601", "bt709", "bt2020"):
        for range_, low, high in (("limited", 16, 235), ("full", 0, 255)):
            spec = nl.FrameSpec("I444", (2, 1), matrix=matrix, range=range_)
            white_black = picture(read(spec, bytes([high, low, 128, 128, 128, 128])))
            assert white_black.tolist() == [[[255] * 3, [0] * 3]]


def test_rows_of_bytes_are_views_where_rows_are_in_one_piece() -> None:
    big = formats.noise(400).reshape(20, 20)
    for view in (big, big[:, :12], big[::-1, 3:9], big[::3]):
        rows = byte_rows(view)
        assert np.shares_memory(rows, big)
        np.testing.assert_array_equal(rows, view)
    np.testing.assert_array_equal(byte_rows(big[:, ::-1]), big[:, ::-1])
    words = big.view("<u2")
    np.testing.assert_array_equal(byte_rows(words[:, :4]), big[:, :8])


def test_no_view_is_copied_if_nothing_is_converted() -> None:
    for name in (*formats.CHANNELS, "GRAY", "GRAY16"):
        spec = nl.FrameSpec(name, (9, 5))
        memory = formats.noise(spec.size or 0)
        assert np.shares_memory(picture(read(spec, memory), (1, 1, 5, 4)), memory)


def test_flipped_planes() -> None:
    spec = nl.FrameSpec("NV12", (8, 6))
    y, uv = spec.planes(formats.noise(spec.size or 0))
    flipped = picture(FramePlanes(PIXEL_FORMATS[spec.format], (8, 6), (y[::-1], uv[::-1])))
    np.testing.assert_array_equal(flipped, picture(FramePlanes(PIXEL_FORMATS[spec.format], (8, 6), (y, uv)))[::-1])
    copied = picture(FramePlanes(PIXEL_FORMATS[spec.format], (8, 6), (y[::-1].copy(), uv[:, ::-1].copy())))
    np.testing.assert_array_equal(
        picture(FramePlanes(PIXEL_FORMATS[spec.format], (8, 6), (y[::-1], uv[:, ::-1]))), copied
    )


def test_mjpeg() -> None:
    image = cv2.resize(formats.noise(48).reshape(4, 4, 3), (32, 24))
    data = cv2.imencode(".jpg", image)[1]
    frame = FramePlanes(PIXEL_FORMATS["MJPEG"], (32, 24), (data.reshape(-1),))
    np.testing.assert_array_equal(picture(frame), cv2.imdecode(data, cv2.IMREAD_COLOR))
    np.testing.assert_array_equal(picture(frame, gray=True)[..., 0], cv2.imdecode(data, cv2.IMREAD_GRAYSCALE))
    with pytest.raises(nl.NpuLayoutError, match="MJPEG: expected a JPEG of 32x23, OpenCV decoded 32x24"):
        picture(frame._replace(size_wh=(32, 23)))


GSTREAMER = np.load(ROOT / "tests" / "data" / "frames" / "gstreamer_tiles.npz")


@pytest.mark.parametrize("name", formats.TILES)
@pytest.mark.parametrize("size", [(76, 36), (20, 262)])
def test_gstreamers_tiles(name: str, size: Any) -> None:
    """GStreamer's tiles of noise, recorded by scripts/record_gstreamer_tiles.py, are the rows that it made them of.

    It allocates more behind the 16x16 tiles of NV12_16L32S than they need.
    """
    width, height = size
    memory = GSTREAMER[f"{name}_{width}x{height}"]
    spec = nl.FrameSpec(name, size, size=memory.size)
    assert memory.size == nl.FrameSpec(name, size).size or name == "NV12_16L32S"
    linear = nl.FrameSpec("NV12", size).planes(GSTREAMER[f"NV12_{width}x{height}"])
    for rows, expected in zip(untiled(read(spec, memory)).planes, linear):
        np.testing.assert_array_equal(rows, expected)


@pytest.mark.parametrize("name", ["P010", "NV16", "NV12", "I444", "YV12", "UYVY"])
def test_kernels_convert_as_numpy_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    spec = nl.FrameSpec(name, (45, 31), strides=128, matrix="bt709")
    preprocess = nl.Preprocessor(nl.TensorSpec((1, 3, 20, 28), "NHWC", "uint8"), source=spec, interpolation="cubic")
    memory = rng.integers(0, 256, spec.size, np.uint8)
    made = [preprocess(memory, roi_xywh=roi)[0] for roi in (None, (3, 5, 20, 11), (7, 2, 38, 29))]
    monkeypatch.setattr("npu_layout.kernels.SIDE", 0)  # without the kernels
    for roi, result in zip((None, (3, 5, 20, 11), (7, 2, 38, 29)), made):
        np.testing.assert_array_equal(preprocess(memory, roi_xywh=roi)[0], result)


@pytest.mark.parametrize("dtype", ["u1", "<u2"])
@pytest.mark.parametrize(
    "shape", [(7, 5), (6, 9, 1), (1, 8, 2), (9, 4, 3), (5, 1, 3), (1, 1, 3), (8, 3, 4), (2, 3, 4, 5)]
)
def test_a_copy_in_one_piece(shape: tuple[int, ...], dtype: str) -> None:
    """Of every way to mirror, turn and cut an array: what numpy copies element by element."""
    whole = formats.noise(4 * int(np.prod(shape)), 4).view(dtype)[: int(np.prod(shape))].reshape(shape)
    for turned in (False, True):
        for mirrored in np.ndindex(*(2,) * len(shape)):
            view = whole.swapaxes(0, 1) if turned else whole
            view = view[tuple(slice(None, None, -1 if m else 1) for m in mirrored)]
            for part in (view, view[1:] if len(view) > 1 else view, view[:, ::2]):
                part.flags.writeable = False
                expected = np.array(part.tolist(), dtype)
                out = np.zeros(part.shape, dtype)
                copy = in_one_piece(part, out)
                assert copy.flags.c_contiguous and (copy is out or part.flags.c_contiguous)
                np.testing.assert_array_equal(copy, expected)
                np.testing.assert_array_equal(byte_rows(part), expected.reshape(len(expected), -1).view(np.uint8))
                assert not in_rows(part) or np.shares_memory(byte_rows(part), part)


def test_rows_in_one_piece_are_not_copied() -> None:
    """Whatever is between them: pitches, mirrored rows, words, tiles, a single column."""
    memory = np.arange(4096, dtype=np.uint8)
    whole = memory[:3840].reshape(24, 160)
    pixels = np.lib.stride_tricks.as_strided(memory, (5, 7, 3), (32, 3, 1))
    tiles = np.ndarray((3, 4, 8, 16), np.uint8, memory, 0, (640, 128, 16, 1))
    words = np.ndarray((6, 5), "<u2", memory, 2, (32, 2))
    for plane in (whole, whole[:, 3:50], whole[::-1, :7], pixels, pixels[::2], pixels[:, :1], tiles, words, words[:1]):
        rows = byte_rows(plane)
        assert in_rows(plane) and np.shares_memory(rows, memory)
        assert rows.strides == (plane.strides[0], 1) or len(plane) == 1
        assert rows.tolist() == [list(row.tobytes()) for row in plane]
    for plane in (whole.T, whole[:, ::2], whole[:, ::-1], pixels[..., ::-1], pixels[:, ::2], tiles[:, :, :, :9]):
        rows = byte_rows(plane)
        assert not in_rows(plane) and not np.shares_memory(rows, memory)
        assert rows.tolist() == [list(row.tobytes()) for row in plane]
