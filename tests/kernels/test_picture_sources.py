"""Rows that are made before they are resized: gray of pixels, RGB565, mosaics and tiles, against OpenCV and loops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cv2
import numpy as np
import pytest

from npu_layout import kernels
from npu_layout.kernels import ComponentSamples, PictureResize, RowSource
from tests.support.kernel_walks import BACKENDS, NATIVE
from tests.support.memory import Fenced
from tests.support.picture_writers import writers
from tests.support.resized_pixels import METHODS
from tests.support.yuv_pictures import ARRANGEMENTS, noise, resize_of

if NATIVE:
    from npu_layout.kernels import native

AXES = {
    "linear": kernels.linear_axis,
    "nearest": kernels.nearest_axis,
    "nearest_floor": kernels.nearest_floor_axis,
}
PATTERNS = {"RGGB": (0, 0), "GRBG": (1, 0), "GBRG": (0, 1), "BGGR": (1, 1)}  # where the first red pixel is
# Width and height of frames and results: means of two, single pixels, enlarged, tails of every vector, the smallest.
SIZES = [
    ((64, 40), (32, 20)), ((37, 29), (37, 29)), ((90, 30), (30, 10)), ((33, 17), (70, 41)), ((200, 12), (63, 5)),
    ((131, 9), (65, 9)), ((3, 3), (5, 2)), ((4, 5), (1, 1)), ((515, 7), (130, 4)), ((66, 66), (33, 33)),
    ((67, 5), (66, 4)),
]  # fmt: skip


def formats() -> Iterator[tuple[str, int, tuple[ComponentSamples, ...], RowSource, Any]]:
    """Yield a name, bytes of a pixel, components, the source, and what OpenCV makes of rows (R, G, B, or gray)."""
    for order, code in (("BGR", "BGR2GRAY"), ("RGB", "RGB2GRAY"), ("BGRA", "BGRA2GRAY"), ("RGBA", "RGBA2GRAY")):
        component = ComponentSamples(0, order.index("B"), len(order))
        yield order, len(order), (component,), RowSource("gray"), code
    yield "565", 2, (ComponentSamples(0, 0, 2),) * 3, RowSource("rgb565"), "BGR5652RGB"
    for pattern, red in PATTERNS.items():
        yield pattern, 1, (ComponentSamples(0, 0, 1),) * 3, RowSource("mosaic", red), f"Bayer{pattern}2RGB"


FORMATS = {row[0]: row[1:] for row in formats()}


def converted(rows: np.ndarray, step: int, code: str) -> np.ndarray:
    """Return OpenCV's conversion of rows of bytes: (height, width, 3 or 1)."""
    pixels = rows.reshape(len(rows), -1, step) if step > 1 else rows
    made = np.asarray(cv2.cvtColor(np.ascontiguousarray(pixels), getattr(cv2, "COLOR_" + code)))
    return made if made.ndim == 3 else made[..., None]


def source_resize(name: str, how: str, size_wh: Any, result_wh: Any) -> PictureResize:
    _, components, source, _ = FORMATS[name]
    along, down = (AXES[how](n, m, i == 1) for i, (n, m) in enumerate(zip(size_wh, result_wh)))
    depth = len(components)
    return PictureResize(components, None, size_wh, ((along, down),), True, (0, 1, 2)[:depth], depth, source)


@pytest.mark.parametrize("how", AXES)
@pytest.mark.parametrize("name", FORMATS)
def test_equals_a_conversion_by_opencv_then_a_resize(name: str, how: str) -> None:
    step, _, _, code = FORMATS[name]
    rng = np.random.default_rng(len(name))
    for size_wh, result_wh in SIZES:
        memory = rng.integers(0, 256, (size_wh[1], size_wh[0] * step + 9), np.uint8)
        rows = memory[:, 4:-5]
        wanted = METHODS[how](converted(rows, step, code), result_wh).transpose(2, 0, 1)
        for _, writer in writers(source_resize(name, how, size_wh, result_wh)):
            room = np.full((len(wanted), result_wh[1], result_wh[0] + 7), 77, np.uint8)
            writer.write((rows,), room[:, :, 3:-4])
            assert (room[:, :, :3] == 77).all() and (room[:, :, -4:] == 77).all()
            assert np.array_equal(room[:, :, 3:-4], wanted), (size_wh, result_wh)


GROUPS = {"10 bits": (4, 5), "12 bits": (2, 3), "others": (3, 8)}


@pytest.mark.parametrize("how", AXES)
@pytest.mark.parametrize("group", GROUPS)
def test_pixels_of_a_mosaic_in_groups_are_read_as_neighbours(group: str, how: str) -> None:
    """Pixels are put where loops say, between noise; the last group ends with its last pixel."""
    pixels, nbytes = GROUPS[group]
    rng = np.random.default_rng(nbytes)
    for i, (size_wh, result_wh) in enumerate(SIZES):
        pattern = list(PATTERNS)[i % 4]
        mosaic = rng.integers(0, 256, size_wh[::-1], np.uint8)
        wanted = METHODS[how](converted(mosaic, 1, f"Bayer{pattern}2RGB"), result_wh).transpose(2, 0, 1)
        last = size_wh[0] - 1
        grouped = rng.integers(0, 256, (size_wh[1], last // pixels * nbytes + last % pixels + 1), np.uint8)
        for x in range(size_wh[0]):
            grouped[:, x // pixels * nbytes + x % pixels] = mosaic[:, x]
        resize = source_resize(pattern, how, size_wh, result_wh)
        resize = resize._replace(source=RowSource("mosaic", PATTERNS[pattern], (pixels, nbytes)))
        for _, writer in writers(resize):
            found = np.full(wanted.shape, 77, np.uint8)
            writer.write((grouped,), found)
            assert np.array_equal(found, wanted), (size_wh, result_wh)
            with pytest.raises(ValueError, match="plane 0: expected at least"):
                writer.write((grouped[:, :-1],), found)


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "planes"])
@pytest.mark.parametrize("tile", [((4, 4), (4, 4)), ((16, 32), (16, 16)), ((8, 128), (8, 128)), ((32, 32), (2, 2))])
def test_tiles_are_read_as_the_rows_that_they_contain(tile: Any, exact: bool) -> None:
    """Every byte is put where a loop over rows and tiles says; the rest of the last tiles is noise."""
    rng, components = np.random.default_rng(3), ARRANGEMENTS["NV12"]
    for size_wh, result_wh in (((64, 40), (32, 20)), ((50, 34), (33, 40)), ((130, 70), (43, 9)), ((30, 20), (30, 20))):
        planes, tiled = noise(rng, components, size_wh), []
        for plane, (wide, high) in zip(planes, tile):
            rows, row = plane.shape
            across, down = -(-row // wide), -(-rows // high)
            stored = rng.integers(0, 256, (down, across * wide * high), np.uint8)
            for y in range(rows):
                for x in range(0, row, wide):
                    place = x // wide * wide * high + y % high * wide
                    part = plane[y, x : x + wide]
                    stored[y // high, place : place + len(part)] = part
            tiled.append(stored)
        resize = resize_of(components, size_wh, result_wh, exact=exact)
        along, down_axis = resize.axes[0]
        wanted = np.empty((resize.depth, len(down_axis.first), len(along.first)), np.uint8)
        kernels.picture_rows(resize, "numpy").write(planes, wanted)
        for _, writer in writers(resize._replace(tiles=tile)):
            found = np.full_like(wanted, 77)
            writer.write(tuple(tiled), found)
            assert np.array_equal(found, wanted)


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_beyond_the_rows_is_touched(name: str, fences: tuple[Fenced, Fenced]) -> None:
    step, rng = FORMATS[name][0], np.random.default_rng(5)
    for width in (3, 4, 5, 15, 16, 17, 31, 33, 64, 65, 66, 130):
        rows = rng.integers(0, 256, (4, width * step), np.uint8)
        for result_wh in ((width, 4), (max(1, width // 3), 3), (width + 9, 7)):
            results = []
            for place, end in ((fences[0].first, fences[1].first), (fences[0].last, fences[1].last)):
                plane = place(rows.size).reshape(rows.shape)
                plane[...] = rows
                resize = source_resize(name, "linear", (width, 4), result_wh)
                for _, writer in writers(resize):
                    out = end(resize.depth * result_wh[0] * result_wh[1]).reshape(resize.depth, *result_wh[::-1])
                    writer.write((plane,), out)
                    results.append(out.copy())
            assert all((result == results[0]).all() for result in results)


@pytest.mark.parametrize("backend", BACKENDS)
def test_planes_that_are_too_short_are_refused(backend: str) -> None:
    for name, (step, *_) in FORMATS.items():
        writer = kernels.picture_rows(source_resize(name, "linear", (20, 10), (8, 4)), backend)
        out = np.zeros((len(FORMATS[name][1]), 4, 8), np.uint8)
        for shape in ((9, 20 * step), (10, 20 * step - 1)):
            with pytest.raises(ValueError, match=f"plane 0: expected at least 10 rows of {20 * step} bytes"):
                writer.write((np.zeros(shape, np.uint8),), out)
        assert not out.any()
    tiled = resize_of(ARRANGEMENTS["NV12"], (20, 10), (8, 4))._replace(tiles=((16, 32), (16, 16)))
    planes = np.zeros((1, 2 * 512), np.uint8), np.zeros((1, 2 * 256), np.uint8)
    kernels.picture_rows(tiled, backend).write(planes, np.zeros((3, 4, 8), np.uint8))
    with pytest.raises(ValueError, match="plane 1: expected at least 1 rows of 512 bytes"):
        kernels.picture_rows(tiled, backend).write((planes[0], planes[1][:, 1:]), np.zeros((3, 4, 8), np.uint8))


@pytest.mark.skipif(not NATIVE, reason="no compiled kernels")
@pytest.mark.parametrize("name, changes, message", [
    ("RGGB", {"components": (ComponentSamples(0, 0, 1),)}, "one component of gray, or three"),
    ("RGGB", {"components": (ComponentSamples(0, 0, 2),) * 3}, "pixels of its plane"),
    ("RGGB", {"exact": False}, "axes: expected a pair for all"),
    ("RGGB", {"tiles": ((4, 4),)}, "tiles"),
    ("565", {"components": (ComponentSamples(1, 0, 2),) * 3}, "pixels of its plane"),
    ("BGR", {"components": (ComponentSamples(0, 1, 3),)}, "pixels of its plane"),
    ("BGR", {"components": (ComponentSamples(0, 2, 2),)}, "pixels of its plane"),
    ("BGR", {"depth": 3}, "channels"),
])  # fmt: skip
def test_the_core_checks_sources(name: str, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kernels.picture_rows(source_resize(name, "linear", (20, 10), (8, 4))._replace(**changes), BACKENDS[0])


@pytest.mark.skipif(not NATIVE, reason="no compiled kernels")
def test_the_core_checks_mosaics_and_tiles() -> None:
    small = source_resize("RGGB", "linear", (2, 8), (2, 2))
    with pytest.raises(ValueError, match="3x3"):
        native.picture_rows(small)
    mosaic, gray = (source_resize(name, "linear", (20, 10), (8, 4)) for name in ("RGGB", "BGR"))
    for given, group in ((mosaic, (0, 5)), (mosaic, (5, 4)), (mosaic, (4, 17)), (mosaic, (-1, -1)), (gray, (4, 5))):
        with pytest.raises(ValueError, match="pixels and bytes of a group"):
            native.picture_rows(given._replace(source=given.source._replace(group=group)))  # type: ignore[union-attr]
    resize = resize_of(ARRANGEMENTS["NV12"], (20, 10), (8, 4))
    for tiles in (((4, 0), (4, 4)), ((-4, 4),), ((257, 1),), ((1, 1),) * 4):
        with pytest.raises(ValueError, match="tiles"):
            native.picture_rows(resize._replace(tiles=tiles))
    beyond = resize._replace(components=(ComponentSamples(0, 1, 1), *resize.components[1:]), tiles=((4, 4), (4, 4)))
    with pytest.raises(ValueError, match="tiles: expected the first sample"):
        native.picture_rows(beyond)
