"""Resize pictures in numpy: the reference of the compiled rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..pictures import Axis, Color, PictureResize

Source = Callable[[np.ndarray, np.ndarray], np.ndarray]  # the elements at rows and columns, with any axes before
_BAND = 1 << 16  # results that are computed at a time


class PictureRows:
    """The fallback of the compiled rows of a picture: the same integers, in numpy."""

    def __init__(self, resize: PictureResize) -> None:
        self._resize = resize

    def write(self, planes: tuple[np.ndarray, ...], out: np.ndarray) -> None:
        """Write the canvas to `out`, uint8 (channels, rows, columns), from planes of rows of bytes.

        Each plane has any distance between rows, and as many contiguous bytes in a row as its components need.
        ValueError if something does not fit.
        """
        resize = self._resize
        self._check(planes, out)
        planes = self._made(planes)
        count, columns = len(resize.axes[0][1].first), len(resize.axes[0][0].first)
        step = max(1, _BAND // columns)
        for start in range(0, count, step):
            rows = slice(start, min(start + step, count))
            if resize.packed:
                out[rows] = self._packed(planes, rows)
                continue
            canvas = self._exact(planes, rows) if resize.exact else self._by_planes(planes, rows)
            for place, channel in zip(resize.channels, canvas):
                out[place, rows] = channel
        if resize.depth == 4 and not resize.packed:
            out[3] = 255

    def _check(self, planes: tuple[np.ndarray, ...], out: np.ndarray) -> None:
        resize = self._resize
        along, down = resize.axes[0]
        shape = resize.depth, len(down.first), len(along.first)
        expected = max(c.plane for c in resize.components) + 1
        if len(planes) != expected:
            raise ValueError(f"planes: expected {expected}, got {len(planes)}")
        if resize.packed:
            shape = (*shape[1:], shape[0])
            joined = all(n == 1 or s == t for n, s, t in zip(shape[1:], out.strides[1:], (shape[2], 1)))
        else:
            joined = shape[2] == 1 or out.strides[2:] == (1,)
        if out.shape != shape or out.dtype != np.uint8 or not joined:
            raise ValueError(f"out: expected bytes of shape {shape}, columns neighbours")
        for c in resize.components:
            rows, samples = -(-resize.size_wh[1] // c.every_y), -(-resize.size_wh[0] // c.every_x)
            least, plane = c.start + (samples - 1) * c.step + 1, planes[c.plane]
            if resize.packed or resize.source:
                least = samples * c.step
            if resize.source and resize.source.kind == "mosaic":
                least = int(resize.source.places(samples)[-1]) + 1
            tile = resize.tiles[c.plane] if resize.tiles else None
            if tile:
                rows, least = -(-rows // tile[1]), -(-samples * c.step // tile[0]) * tile[0] * tile[1]
            if len(plane) < rows or plane[0].size < least:
                got = f"{len(plane)} rows of {plane[0].size if len(plane) else 0} bytes"
                raise ValueError(f"plane {c.plane}: expected at least {rows} rows of {least} bytes, got {got}")
        if any(np.may_share_memory(plane, out) for plane in planes):
            raise ValueError("source and destination overlap")

    def _made(self, planes: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Return planes as rows of samples, or of gray, or a plane for each of R, G and B."""
        resize = self._resize
        if resize.tiles:
            return tuple(plane if tile is None else _untiled(plane, *tile) for plane, tile in zip(planes, resize.tiles))
        if resize.source is None:
            return planes
        width, height = resize.size_wh
        rows = planes[0].reshape(len(planes[0]), -1)[:height]
        if resize.source.kind == "mosaic":
            return _demosaiced(rows[:, resize.source.places(width)], *resize.source.red_xy)
        rows = rows[:, : width * resize.components[0].step]
        if resize.source.kind == "gray":
            blue, pixels = resize.components[0].start, rows.reshape(height, width, -1).astype(np.uint32)
            sums = 3735 * pixels[..., blue] + 19235 * pixels[..., 1] + 9798 * pixels[..., 2 - blue]
            return (((sums + (1 << 14)) >> 15).astype(np.uint8),)
        words = rows[:, ::2].astype(np.uint16) | rows[:, 1::2].astype(np.uint16) << 8
        return words >> 8 & 0xF8, words >> 3 & 0xFC, words << 3 & 0xF8

    def _samples(self, planes: tuple[np.ndarray, ...], k: int, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return samples of component `k` at rows and columns of its plane, as int32."""
        c = self._resize.components[k]
        plane = planes[c.plane]
        lines = plane.reshape(len(plane), -1) if plane.ndim > 2 else plane
        return np.asarray(lines[rows[:, None], c.start + c.step * columns], np.int32)

    def _packed(self, planes: tuple[np.ndarray, ...], rows: slice) -> np.ndarray:
        def pixels(down: np.ndarray, along: np.ndarray) -> np.ndarray:
            return np.stack([self._samples(planes, k, down, along) for k in range(len(self._resize.components))])

        return np.moveaxis(_resized(pixels, *self._resize.axes[0], rows), 0, -1)

    def _exact(self, planes: tuple[np.ndarray, ...], rows: slice) -> list[np.ndarray]:
        components = self._resize.components
        if self._resize.source is not None:

            def made(down: np.ndarray, along: np.ndarray) -> np.ndarray:
                return np.stack([np.asarray(plane[down[:, None], along], np.int32) for plane in planes])

            return list(_resized(made, *self._resize.axes[0], rows))

        def pixels(down: np.ndarray, along: np.ndarray) -> np.ndarray:
            found = [self._samples(planes, k, down // c.every_y, along // c.every_x) for k, c in enumerate(components)]
            return np.stack(_converted(found, self._resize.color))

        return list(_resized(pixels, *self._resize.axes[0], rows))

    def _by_planes(self, planes: tuple[np.ndarray, ...], rows: slice) -> list[np.ndarray]:
        found = []
        for k, (along, down) in enumerate(self._resize.axes):

            def samples(rows: np.ndarray, columns: np.ndarray, k: int = k) -> np.ndarray:
                return self._samples(planes, k, rows, columns)

            found.append(_resized(samples, along, down, rows))
        return _converted(found, self._resize.color)


def _untiled(plane: np.ndarray, width: int, height: int) -> np.ndarray:
    """Return the rows of a plane of tiles of so many bytes and rows."""
    tiles = plane.reshape(len(plane), -1, height, width)
    return tiles.transpose(0, 2, 1, 3).reshape(len(plane) * height, -1)


def _demosaiced(mosaic: np.ndarray, red_x: int, red_y: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return R, G and B: means of the neighbours that have a color, half up; the edges are what is beside them."""
    m = np.pad(mosaic.astype(np.int32), 1)
    left, right, up, down = m[1:-1, :-2], m[1:-1, 2:], m[:-2, 1:-1], m[2:, 1:-1]
    corners = (m[:-2, :-2] + m[:-2, 2:] + m[2:, :-2] + m[2:, 2:] + 2) >> 2
    y, x = (np.arange(n) for n in mosaic.shape)
    red_row, red_column = (y % 2 == red_y)[:, None], (x % 2 == red_x)[None]
    own, along, across = m[1:-1, 1:-1], (left + right + 1) >> 1, (up + down + 1) >> 1
    red = np.where(red_row, np.where(red_column, own, along), np.where(red_column, across, corners))
    blue = np.where(~red_row, np.where(~red_column, own, along), np.where(~red_column, across, corners))
    green = np.where(red_row == red_column, (left + right + up + down + 2) >> 2, own)
    inner_y, inner_x = np.clip(y, 1, len(y) - 2), np.clip(x, 1, len(x) - 2)
    r, g, b = (plane[inner_y[:, None], inner_x] for plane in (red, green, blue))
    return r, g, b


def _converted(yuv: list[np.ndarray], color: Color | None) -> list[np.ndarray]:
    """Return R, G and B of Y, U and V, or gray of Y, as int32 from 0 to 255."""
    assert color is not None, "packed pixels are not converted"
    y = np.maximum(yuv[0] - color.black, 0) * color.luma + (1 << 19)
    if len(yuv) == 1:
        sums = [y]
    else:
        u, v = yuv[1] - 128, yuv[2] - 128
        sums = [y + color.red_v * v, y + color.green_u * u + color.green_v * v, y + color.blue_u * u]
    return [np.clip(s >> 20, 0, 255) for s in sums]


def _taps(axis: Axis, part: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return both source elements of each result, and their weights."""
    first = axis.first[part]
    weights = np.array([[2048, 0]]) if axis.weights is None else axis.weights[part].astype(np.int32)
    both = (np.clip(first + tap, axis.begin, axis.end - 1) for tap in (0, 1))
    return (*both, weights[:, 0], weights[:, 1])


def _resized(source: Source, along: Axis, down: Axis, rows: slice) -> np.ndarray:
    """Return rows of the result; `source` returns the elements at rows and columns, with any axes before."""
    if along.mean and down.mean:
        y, x = down.begin + 2 * np.arange(rows.start, rows.stop), along.begin + 2 * np.arange(len(along.first))
        four = [source(y + i, x + k) for i in (0, 1) for k in (0, 1)]
        return np.asarray((four[0] + four[1] + four[2] + four[3] + 2) >> 2)
    if along.box and down.box:
        y, x = down.box * np.arange(rows.start, rows.stop), along.box * np.arange(len(along.first))
        total: np.ndarray | int = sum(source(y + i, x + k) for i in range(down.box) for k in range(along.box))
        scale = np.float32(1) / np.float32(along.box * down.box)
        return np.asarray(np.rint(np.asarray(total).astype(np.float32) * scale).astype(np.int32))
    if along.weights is None and down.weights is None:
        return source(np.clip(down.first[rows], down.begin, down.end - 1), along.first)
    left, right, left_weight, right_weight = _taps(along, slice(None))
    above, below, above_weight, below_weight = _taps(down, rows)

    def line(y: np.ndarray) -> np.ndarray:
        return np.asarray((source(y, left) * left_weight + source(y, right) * right_weight) >> 4)

    lines = line(above) * above_weight[:, None] >> 16, line(below) * below_weight[:, None] >> 16
    return np.asarray((lines[0] + lines[1] + 2) >> 2)
