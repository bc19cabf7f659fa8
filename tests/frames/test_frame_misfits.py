"""What is said of arrays that fit no frame: exchanged extents, rows of a pitch, mirrored planes, another order."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.frames.frame_source import FrameSource


def test_rows_of_the_specs_pitch_that_are_not_its_memory() -> None:
    spec = nl.FrameSpec("I420", (64, 48), strides=96, offsets=(0, 4608, 5760), size=96 * 72 + 5000)
    with pytest.raises(nl.NpuLayoutError, match=r"6912 bytes in rows of 96; .* has 11912, in one piece$"):
        FrameSource.of(spec).read("frame", np.zeros((72, 96), np.uint8))


def test_width_and_height_exchanged_are_named() -> None:
    preprocess = nl.Preprocessor(nl.TensorSpec((1, 3, 8, 8)), source=nl.FrameSpec("NV12", (16, 32)))
    with pytest.raises(nl.NpuLayoutError, match=r"size_wh is width and height: is it \(32, 16\)\?"):
        preprocess(np.zeros((24, 32), np.uint8))
    with pytest.raises(nl.NpuLayoutError, match=r"got uint8 of shape .24, 30.$"):
        preprocess(np.zeros((24, 30), np.uint8))


@pytest.mark.parametrize(
    ("shape", "dtype", "names"),
    [
        ((8, 8, 4), "uint8", "BGRA, RGBA, BGRX, RGBX"),
        ((8, 8, 2), "uint8", "YUYV, UYVY, YVYU"),
        ((9, 8), "uint8", "GRAY, NV12, NV21, NV24, I420, YV12, I444, RGGB, BGGR, GRBG, GBRG"),
        ((8, 8), "uint8", "GRAY, NV16, I422, RGGB, BGGR, GRBG, GBRG"),
        ((6, 8), "<u2", "GRAY16, RGB565, P010"),
    ],
)
def test_the_formats_that_have_a_shape_are_named(shape: tuple[int, ...], dtype: str, names: str) -> None:
    """And each of them accepts it."""
    frame = np.zeros(shape, dtype)
    with pytest.raises(nl.NpuLayoutError, match=f"; it has the shape of {names}: say which by source=$"):
        FrameSource.of("BGR").read("frame", frame)
    for name in names.split(", "):
        assert FrameSource.of(name).read("frame", frame).format.planes
    with pytest.raises(nl.NpuLayoutError, match=r"; it has the shape of BGR, RGB: say which by source=$"):
        FrameSource.of("NV12").read("frame", np.zeros((6, 8, 3), np.uint8))


@pytest.mark.parametrize("shape", [(8, 8, 3), (8, 8)])
def test_frames_of_floats_are_told_who_normalises(shape: tuple[int, ...]) -> None:
    for source in ("BGR", "GRAY", "NV12"):
        with pytest.raises(nl.NpuLayoutError, match=r"from 0 to 255: the Preprocessor applies mean and std$"):
            FrameSource.of(source).read("frame", np.zeros(shape, np.float32))


@pytest.mark.parametrize("source", ["RGB565", nl.FrameSpec("RGB565", (4, 3))])
def test_words_in_big_endian_are_told_how_to_turn(source: str | nl.FrameSpec) -> None:
    big = np.arange(12, dtype=">u2").reshape(3, 4)
    with pytest.raises(nl.NpuLayoutError, match=r"got >u2 .*; it is in big endian: give frame.astype\('<u2'\)"):
        FrameSource.of(source).read("frame", big)
    (plane,) = FrameSource.of(source).read("frame", big.astype("<u2")).planes
    assert plane.tolist() == big.tolist()


@pytest.mark.parametrize("name", ["NV12", "I420", "NV24"])
@pytest.mark.parametrize("size_wh", [(7, 4), (6, 5), (7, 5), (6, 4)])
def test_mirrored_planes_of_an_odd_size_are_refused(name: str, size_wh: tuple[int, int]) -> None:
    """The pixel that has U and V alone is the last one; it would be the first."""
    width, height = size_wh
    shared = name != "NV24"
    chroma = ((height + 1) // 2, (width + 1) // 2) if shared else (height, width)
    rng = np.random.default_rng(width * height)
    shapes = [size_wh[::-1], chroma, chroma] if name == "I420" else [size_wh[::-1], (*chroma, 2)]
    planes = [rng.integers(0, 256, shape).astype(np.uint8) for shape in shapes]
    picture = nl.Preprocessor(nl.TensorSpec((1, 3, height, width), "NHWC", "uint8"), source=name)
    plain = picture(tuple(planes))[0].reshape(height, width, 3)
    for axis, odd in ((1, width % 2), (0, height % 2)):
        mirrored = tuple(np.flip(plane, axis) for plane in planes)
        if odd and shared:
            with pytest.raises(
                nl.NpuLayoutError, match=f"mirrored so that other ones of {size_wh[1 - axis]} pixels share"
            ):
                picture(mirrored)
        else:
            np.testing.assert_array_equal(picture(mirrored)[0].reshape(plain.shape), np.flip(plain, axis))


def test_rows_of_u_and_v_that_are_mirrored_byte_by_byte_are_refused() -> None:
    y, uv = np.zeros((4, 6), np.uint8), np.zeros((2, 6), np.uint8)
    picture = nl.Preprocessor(nl.TensorSpec((1, 3, 4, 6), "NHWC", "uint8"), source="NV12")
    with pytest.raises(nl.NpuLayoutError, match=r"U and V are exchanged; mirror the planes in the shape \(2, 3, 2\)"):
        picture((y[:, ::-1], uv[:, ::-1]))
