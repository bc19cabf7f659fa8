"""Convert pixels to grayscale by OpenCV, or by its formula in numpy for pixels that OpenCV cannot read."""

from __future__ import annotations

import math

import numpy as np

_CHUNK = 1 << 17  # pixels that stay in L2 while they are converted
_ROW = 4096  # pixels that one thread of OpenCV converts at a time
_GRAY_FLOATS = (0.114, 0.587, 0.299)


def gray(blue: np.ndarray, green: np.ndarray, red: np.ndarray, out: np.ndarray) -> None:
    """Write grayscale of three views of one shape and one set of strides to `out`, by OpenCV's formula, in chunks.

    uint8 and uint16: (3735 B + 19235 G + 9798 R + 2**14) >> 15, which is cv2.cvtColor itself; float32:
    (0.114 B + 0.587 G) + 0.299 R, never fused (OpenCV modules/imgproc/src/color_rgb.simd.hpp).
    """
    *planes, result = _flattened(blue, green, red, out)
    inner = math.prod(result.shape[1:])
    if result.ndim > 2 or inner > _CHUNK:
        for i in range(result.shape[0]):
            gray(planes[0][i], planes[1][i], planes[2][i], result[i])
        return
    if out.dtype.kind == "u" and _gray_pixels(planes, result):
        return
    step = max(1, _CHUNK // inner)
    convert = _gray_integers if out.dtype.kind == "u" else _gray_floats
    for i in range(0, result.shape[0], step):
        convert([p[i : i + step] for p in planes], result[i : i + step])


def _flattened(*views: np.ndarray) -> list[np.ndarray]:
    """Return views in which adjacent axes are merged if one stride steps through both in every view."""
    shape: list[int] = []
    last: list[int] = []
    for axis, n in enumerate(views[0].shape):
        if n == 1:
            continue
        steps = [v.strides[axis] for v in views]
        if shape and last == [n * step for step in steps]:
            shape[-1] *= n
        else:
            shape.append(n)
        last = steps
    return [v.reshape(shape or [1]) for v in views]  # no copies, because the strides agree


def _gray_pixels(planes: list[np.ndarray], out: np.ndarray) -> bool:
    """Convert as `_gray_interleaved`, except the last pixel of four channels: OpenCV would read beyond the array."""
    if planes[0].strides[-1] != 4 * out.itemsize:
        return _gray_interleaved(planes, out)
    if out.ndim == 2:
        if len(out) > 1 and not _gray_interleaved([p[:-1] for p in planes], out[:-1]):
            return False
        planes, out = [p[-1] for p in planes], out[-1]
    if out.size > 1 and not _gray_interleaved([p[:-1] for p in planes], out[:-1]):
        return False
    _gray_integers([p[-1:] for p in planes], out[-1:])
    return True


def _gray_interleaved(planes: list[np.ndarray], out: np.ndarray) -> bool:
    """Convert pixels of 3 or 4 contiguous channels by OpenCV, without a copy; False if they are not stored so."""
    import cv2

    size, first = out.itemsize, min(planes, key=lambda p: p.ctypes.data)
    pixel = first.strides[-1] // size
    if (
        pixel not in (3, 4)
        or planes[1].ctypes.data != first.ctypes.data + size
        or any(s <= 0 or s % size for s in first.strides)
        or not out.flags.c_contiguous
    ):
        return False
    if out.ndim == 1 and out.size > _ROW:  # rows, which OpenCV can divide among threads
        whole = out.size // _ROW * _ROW
        for part in (slice(0, whole), slice(whole, out.size)):
            columns = min(_ROW, out[part].size)
            if columns and not _gray_interleaved(
                [
                    np.lib.stride_tricks.as_strided(
                        p[part], (p[part].size // columns, columns), (columns * p.strides[0], p.strides[0])
                    )
                    for p in planes
                ],
                out[part].reshape(-1, columns),
            ):
                return False
        return True
    shape = out.shape if out.ndim == 2 else (1, *out.shape)
    rows = first.strides[0] if out.ndim == 2 else out.size * pixel * size
    pixels = np.lib.stride_tricks.as_strided(first, (*shape, pixel), (rows, pixel * size, size))
    rules = (
        (cv2.COLOR_BGR2GRAY, cv2.COLOR_BGRA2GRAY) if first is planes[0] else (cv2.COLOR_RGB2GRAY, cv2.COLOR_RGBA2GRAY)
    )
    target = out.reshape(shape)
    written = cv2.cvtColor(pixels, rules[pixel - 3], target)
    if written.ctypes.data != target.ctypes.data:
        target[...] = written
    return True


def _gray_integers(planes: list[np.ndarray], out: np.ndarray) -> None:
    import cv2

    pixels = np.empty((1, out.size, 3), out.dtype)
    if planes[0].flags.c_contiguous:
        cv2.merge([p.reshape(1, -1) for p in planes], pixels)
    else:
        for i, plane in enumerate(planes):
            pixels[..., i].reshape(out.shape)[...] = plane
    out[...] = cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY).reshape(out.shape)


def _gray_floats(planes: list[np.ndarray], out: np.ndarray) -> None:
    accumulated = planes[0] * np.float32(_GRAY_FLOATS[0])
    accumulated += planes[1] * np.float32(_GRAY_FLOATS[1])
    np.add(accumulated, planes[2] * np.float32(_GRAY_FLOATS[2]), out=out)
