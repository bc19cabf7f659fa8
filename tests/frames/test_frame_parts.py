"""Parts of frames that begin anywhere: what is read of each plane, and results of every level between fences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout import kernels
from npu_layout.frames.frame_parts import (
    AXES,
    PLANES,
    PartPlace,
    axes_of_pixels,
    axes_of_samples,
    plane_parts,
    read_box,
)
from npu_layout.frames.frame_source import FrameSource
from npu_layout.frames.geometry import part_geometry
from npu_layout.frames.pixel_formats import PIXEL_FORMATS
from tests.support import frame_formats as formats
from tests.support.kernel_walks import NATIVE
from tests.support.memory import Fenced
from tests.support.resized_pixels import METHODS

CODES = {
    **{name: f"COLOR_YUV2RGB_{name}" for name in ("NV12", "NV21", "I420", "YV12", "YUYV", "UYVY", "YVYU")},
    **{name: f"COLOR_Bayer{name}2RGB" for name in formats.PATTERNS},
}
TARGET_WH = (64, 24)
TARGET = nl.TensorSpec((1, 3, *TARGET_WH[::-1]), "NHWC", "uint8")
# The size and the place of a part: the same size as the result, twice, fewer and more pixels, odd and even places.
PARTS = [
    (x, y, w, h)
    for w, h in ((64, 24), (128, 48), (131, 50), (300, 61), (37, 19), (1, 1), (64, 48))
    for x, y in ((1, 1), (7, 2), (4, 3), (8, 6), (0, 5))
]


def opencv(name: str, frame: np.ndarray) -> np.ndarray:
    return np.asarray(cv2.cvtColor(frame, getattr(cv2, CODES[name])))


def packed(rng: np.random.Generator, name: str, size_wh: tuple[int, int]) -> np.ndarray:
    """Noise in the shape that OpenCV gives the format."""
    width, height = size_wh
    shape: tuple[int, ...] = (height * 3 // 2, width) if name in formats.YUV_420 else (height, width)
    return rng.integers(0, 256, (*shape, 2) if name in formats.YUV_422 else shape, np.uint8)


def passes(preprocess: nl.Preprocessor, read: Any, roi: tuple[int, ...]) -> Iterator[tuple[str, Any]]:
    """Yield each backend with its pass for a part."""
    from npu_layout.frames.fitting import pass_of

    x, y, w, h = roi
    geometry = part_geometry(preprocess.resize, read.size_wh, (x, y, x + w, y + h), TARGET_WH)
    for backend in NATIVE:
        yield backend, pass_of(preprocess._wanted, read, geometry, backend)


@pytest.mark.parametrize("how", ["linear", "nearest", "nearest_floor"])
@pytest.mark.parametrize("name", CODES)
def test_a_part_is_what_opencv_makes_of_the_whole_at_every_level(name: str, how: str) -> None:
    """Converted whole by OpenCV, cropped, then resized; the frame begins or ends at a fence."""
    rng, size_wh, fences = np.random.default_rng(len(name)), (310, 68), Fenced(1 << 16)
    noise = packed(rng, name, size_wh)
    picture = opencv(name, noise)
    preprocess = nl.Preprocessor(TARGET, source=name, resize="stretch", interpolation=how)
    for roi in PARTS:
        x, y, w, h = roi
        expected = METHODS[how](np.ascontiguousarray(picture[y : y + h, x : x + w]), TARGET_WH)
        for place in (fences.first, fences.last):
            frame = place(noise.size).reshape(noise.shape)
            frame[...] = noise
            read = FrameSource.of(name).read("frame", frame)
            for backend, made in passes(preprocess, read, roi):
                assert made is not None, (backend, roi)
                out = np.full(TARGET.storage_shape, 77, np.uint8)
                assert made.run(out, read.planes)
                np.testing.assert_array_equal(out[0], expected, f"{backend} {roi}")
            np.testing.assert_array_equal(preprocess(frame, roi_xywh=roi)[0][0], expected)


@pytest.mark.skipif(not NATIVE, reason="no compiled kernels")
@pytest.mark.parametrize("name", formats.FLAT)
def test_parts_of_every_format_have_a_pass(name: str) -> None:
    spec = nl.FrameSpec(name, (310, 68))
    memory, preprocess = np.zeros(spec.size or 0, np.uint8), nl.Preprocessor(TARGET, source=spec, resize="stretch")
    for roi in PARTS:
        preprocess(memory, roi_xywh=roi)
    assert len(preprocess._passes._passes) == len(PARTS) and None not in preprocess._passes._passes.values()


@pytest.mark.skipif(not NATIVE, reason="no compiled kernels")
@pytest.mark.parametrize("name", [name for name in formats.MOSAICS if name.endswith("P")])
def test_a_part_of_a_packed_mosaic_at_every_level(name: str) -> None:
    """As of the mosaic of 8 bits that its high bytes are."""
    size_wh, fences, plain = (310, 68), Fenced(1 << 16), name[:4]
    spec = nl.FrameSpec(name, size_wh)
    noise = np.random.default_rng(7).integers(0, 256, spec.size, np.uint8)
    picture = opencv(plain, formats.mosaic_of(name, noise, spec.strides[0], *size_wh).astype(np.uint8))
    preprocess = nl.Preprocessor(TARGET, source=spec, resize="stretch")
    for roi in ((0, 0, *size_wh), *PARTS):
        x, y, w, h = roi
        expected = METHODS["linear"](np.ascontiguousarray(picture[y : y + h, x : x + w]), TARGET_WH)
        for place in (fences.first, fences.last):
            frame = place(noise.size)
            frame[...] = noise
            read = FrameSource.of(spec).read("frame", frame)
            for backend, made in passes(preprocess, read, roi):
                out = np.full(TARGET.storage_shape, 77, np.uint8)
                assert made.run(out, read.planes)
                np.testing.assert_array_equal(out[0], expected, f"{backend} {roi}")


SHARED = [name for name in formats.YUV if name not in formats.YUV_444]


def of_planes(name: str, picture: Any, roi: tuple[int, ...], how: str) -> np.ndarray:
    """Return a part of Y, U and V resized each by itself, then converted: element by element, in Python's integers.

    A sample of U or V belongs to the middle of the pixels that share it, the nearest interpolations take that of the
    pixel that they take of Y.
    """
    every = 2, 2 if name in formats.YUV_420 else 1
    x0, y0, w, h = roi
    result = np.empty((*TARGET_WH[::-1], 3), np.uint8)

    def places(axis: int, shared: bool) -> list[list[tuple[int, int]]]:
        size, results, begin = (w, h)[axis], TARGET_WH[axis], (x0, y0)[axis]
        share = every[axis] if shared else 1
        low, high = begin // share, -(-(begin + size) // share)  # the samples of the part
        found = []
        for i in range(results):
            if how != "linear":
                picks = METHODS[how](np.arange(size, dtype=np.uint16)[None, :, None], (results, 1))[0, :, 0]
                found.append([((begin + int(picks[i])) // share, 2048)])
                continue
            scale = 1.0 / (results / (size / share))
            real = np.float32((i + 0.5) * scale + (begin % share) / share - 0.5)
            first = int(np.floor(real))
            rest = np.float32(real - np.float32(first))
            if axis == 0 and (first < 0 or first >= high - low - 1):
                first, rest = min(max(first, 0), high - low - 1), np.float32(0)
            weights = [int(np.rint((np.float32(1) - rest) * np.float32(2048))), int(np.rint(rest * np.float32(2048)))]
            found.append([(min(max(low + first + t, low), high - 1), weights[t]) for t in (0, 1)])
        return found

    across, down = ([places(axis, shared) for shared in (False, True, True)] for axis in (0, 1))
    for y in range(TARGET_WH[1]):
        for x in range(TARGET_WH[0]):
            values = []
            for k, plane in enumerate(picture):
                rows, columns = down[k][y], across[k][x]
                lines = [sum(int(plane[r, c]) * weight for c, weight in columns) >> 4 for r, _ in rows]
                values.append((sum(line * weight >> 16 for line, (_, weight) in zip(lines, rows)) + 2) >> 2)
            result[y, x] = formats.bgr_of(*values)[::-1]
    return result


@pytest.mark.parametrize("how", PLANES)
@pytest.mark.parametrize("name", ["NV12", "I422", "YUYV", "P010"])
def test_planes_of_a_part_are_where_their_pixels_are(name: str, how: str) -> None:
    spec = nl.FrameSpec(name, (140, 60))
    memory = np.random.default_rng(4).integers(0, 256, spec.size, np.uint8)
    picture = [
        np.array([[formats.sample(name, memory, spec.strides, spec.offsets, c, x, y) for x in xs] for y in ys])
        for c, (xs, ys) in {
            "Y": (range(140), range(60)),
            "U": (range(0, 140, 2), range(0, 60, 2 if name in formats.YUV_420 else 1)),
            "V": (range(0, 140, 2), range(0, 60, 2 if name in formats.YUV_420 else 1)),
        }.items()
    ]
    preprocess = nl.Preprocessor(TARGET, source=spec, resize="stretch", yuv="planes", interpolation=how)
    read = FrameSource.of(spec).read("frame", memory)
    for roi in ((1, 1, 64, 24), (3, 7, 101, 37), (5, 3, 20, 9), (11, 9, 128, 48), (3, 2, 41, 30), (2, 3, 40, 31)):
        expected = of_planes(name, picture, roi, how)
        np.testing.assert_array_equal(preprocess(memory, roi_xywh=roi)[0][0], expected)
        for backend, made in passes(preprocess, read, roi):
            out = np.empty(TARGET.storage_shape, np.uint8)
            assert made.run(out, read.planes)
            np.testing.assert_array_equal(out[0], expected, backend)


@pytest.mark.parametrize("name", SHARED)
def test_a_part_of_planes_of_its_own_size_is_that_of_the_whole(name: str) -> None:
    """Its last column and row may lack the samples behind them."""
    spec = nl.FrameSpec(name, (128, 96))
    memory = np.random.default_rng(5).integers(0, 256, spec.size, np.uint8)
    all_of_it = nl.Preprocessor(nl.TensorSpec((1, 3, 96, 128), "NHWC", "uint8"), source=spec, yuv="planes")
    whole = all_of_it(memory)[0][0]
    part = nl.Preprocessor(TARGET, source=spec, yuv="planes", resize="stretch")
    width, height = TARGET_WH
    for x, y in ((1, 1), (33, 7), (63, 71)):
        found = part(memory, roi_xywh=(x, y, width, height))[0][0]
        expected = whole[y : y + height, x : x + width]
        down = 1 if name in formats.YUV_422 else 0
        np.testing.assert_array_equal(found[: -1 if not down else None, :-1], expected[: -1 if not down else None, :-1])


@pytest.mark.parametrize("how", ["nearest", "nearest_floor"])
@pytest.mark.parametrize("name", SHARED)
def test_the_nearest_pixel_has_the_samples_of_its_block(name: str, how: str) -> None:
    """Of a part that begins inside a block `planes` and `exact` are the same then."""
    spec = nl.FrameSpec(name, (310, 68))
    memory = np.random.default_rng(6).integers(0, 256, spec.size, np.uint8)
    how_made = dict(source=spec, resize="stretch", interpolation=how)
    exact, planes = (nl.Preprocessor(TARGET, **how_made, yuv=yuv) for yuv in ("exact", "planes"))
    for x, y, w, h in ((1, 1, 64, 24), (7, 3, 131, 50), (3, 1, 300, 61)):
        one, two = (made(memory, roi_xywh=(x, y, w, h))[0] for made in (exact, planes))
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("name", formats.FLAT)
def test_what_is_read_contains_the_part(name: str) -> None:
    """And little more; it begins where units, blocks of shared samples, tiles and pairs of colors begin."""
    form, rng = PIXEL_FORMATS[name], np.random.default_rng(8)
    margin = int(form.kind == "mosaic")
    for _ in range(200):
        width, height = (int(n) for n in rng.integers(3, 300, 2))
        x, y = int(rng.integers(0, width)), int(rng.integers(0, height))
        box = x, y, int(rng.integers(x + 1, width + 1)), int(rng.integers(y + 1, height + 1))
        x0, y0, x1, y1 = read_box(form.planes, (width, height), box, margin)
        assert 0 <= x0 <= max(0, x - margin) and 0 <= y0 <= max(0, y - margin)
        assert min(width, box[2] + margin) <= x1 <= width and min(height, box[3] + margin) <= y1 <= height
        assert x1 - x0 >= 1 + 2 * margin and y1 - y0 >= 1 + 2 * margin
        least = 2 * margin + max(p.tile[0] if p.tile else p.every_x for p in form.planes)
        assert x - x0 < least + 2 and x1 - box[2] <= 2 * margin
        for plane, (rows, row) in zip(form.planes, plane_parts(form.planes, (x0, y0, x1, y1))):
            wide, high = plane.tile or (1, 1)
            assert x0 % plane.every_x == 0 and row.start == x0 // plane.every_x * plane.nbytes * high
            assert row.stop >= plane.row_bytes(x1) * (high if plane.row_bytes(x1) % wide == 0 else 1)
            assert rows.start * high * plane.every_y == y0 and rows.stop * high >= plane.rows(y1)


@pytest.mark.skipif(not NATIVE, reason="no compiled kernels")
def test_parts_at_many_places_have_few_fits() -> None:
    """Where a part begins in its block is what its tables depend on."""
    rng = np.random.default_rng(9)
    noise, preprocess = packed(rng, "NV12", (310, 68)), nl.Preprocessor(TARGET, source="NV12", resize="stretch")
    picture = opencv("NV12", noise)
    for x, y in rng.integers(0, (200, 30), (100, 2)).tolist():
        expected = METHODS["linear"](np.ascontiguousarray(picture[y : y + 33, x : x + 90]), TARGET_WH)
        np.testing.assert_array_equal(preprocess(noise, roi_xywh=(x, y, 90, 33))[0][0], expected)
    assert len(preprocess._passes._fits) == 4
    for width in range(1, 80):
        preprocess(noise, roi_xywh=(0, 0, width, 9))
    assert 0 < len(preprocess._passes._fits) <= 64


def test_axes_of_parts() -> None:
    place = PartPlace.of((5, 3, 25, 13), (4, 2, 26, 13))
    assert place == ((22, 11), (1, 1, 21, 11)) == PartPlace.of((7, 13, 27, 23), (6, 12, 28, 23))
    along, down = axes_of_pixels(AXES["linear"], place, (10, 5)) or (None, None)
    assert along is not None and down is not None
    assert (along.size, along.begin, along.end, along.mean) == (22, 1, 21, True)
    assert (down.size, down.begin, down.end, down.mean) == (11, 1, 11, True)
    assert axes_of_pixels(AXES["area"], PartPlace((20, 10), (0, 0, 20, 10)), (7, 5)) is None
    chroma = kernels.ComponentSamples(1, 0, 2, 2, 2)
    along, down = axes_of_samples(PLANES["nearest"], PartPlace((24, 10), (3, 0, 23, 10)), (20, 10), chroma)
    assert (along.size, along.begin, along.end) == (12, 1, 12) and along.first.tolist()[:5] == [1, 2, 2, 3, 3]
    assert (down.size, down.begin, down.end) == (5, 0, 5)


@pytest.mark.skipif(not NATIVE, reason="no compiled kernels")
def test_axes_that_fit_no_part_are_refused() -> None:
    pixels = (kernels.ComponentSamples(0, 0, 1),)
    axes = kernels.linear_axis(8, 4), kernels.linear_axis(8, 4, True)
    for components, color, along, says in (
        (pixels, kernels.pictures.NO_COLOR, axes[0].within(2)._replace(begin=3), "columns: expected positions inside"),
        (pixels, kernels.pictures.NO_COLOR, axes[0].within(1)._replace(behind=9), "begin and end"),
        (pixels, kernels.pictures.NO_COLOR, axes[0].within(1)._replace(begin=-1), "begin and end"),
        (pixels, None, axes[0].within(0, 1), "all of packed pixels"),
    ):
        resize = kernels.PictureResize(components, color, (along.size, 8), ((along, axes[1]),), True, (0,), 1)
        for backend in NATIVE:
            with pytest.raises(ValueError, match=says):
                kernels.picture_rows(resize, backend)
