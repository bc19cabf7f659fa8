"""YUV pictures of noise in every arrangement of samples, and what they become, pixel by pixel in Python's integers."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from npu_layout.kernels import Color, ComponentSamples, PictureResize, linear_axis

BT601 = Color(16, 1220542, 1673527, -409993, -852492, 2116026)  # OpenCV's
BT709_FULL = Color(0, 1 << 20, 1651297, -196423, -490864, 1945738)
BT2020 = Color(16, 1220945, 1760218, -196429, -682018, 2245843)
IDENTITY = Color(0, 1 << 20, 0, 0, 0, 0)

_LUMA = ComponentSamples(0, 0, 1)
ARRANGEMENTS: dict[str, tuple[ComponentSamples, ...]] = {
    "NV12": (_LUMA, ComponentSamples(1, 0, 2, 2, 2), ComponentSamples(1, 1, 2, 2, 2)),
    "NV21": (_LUMA, ComponentSamples(1, 1, 2, 2, 2), ComponentSamples(1, 0, 2, 2, 2)),
    "NV16": (_LUMA, ComponentSamples(1, 0, 2, 2, 1), ComponentSamples(1, 1, 2, 2, 1)),
    "NV24": (_LUMA, ComponentSamples(1, 0, 2, 1, 1), ComponentSamples(1, 1, 2, 1, 1)),
    "I420": (_LUMA, ComponentSamples(1, 0, 1, 2, 2), ComponentSamples(2, 0, 1, 2, 2)),
    "YV12": (_LUMA, ComponentSamples(2, 0, 1, 2, 2), ComponentSamples(1, 0, 1, 2, 2)),
    "I422": (_LUMA, ComponentSamples(1, 0, 1, 2, 1), ComponentSamples(2, 0, 1, 2, 1)),
    "I444": (_LUMA, ComponentSamples(1, 0, 1), ComponentSamples(2, 0, 1)),
    "YUYV": (ComponentSamples(0, 0, 2), ComponentSamples(0, 1, 4, 2), ComponentSamples(0, 3, 4, 2)),
    "UYVY": (ComponentSamples(0, 1, 2), ComponentSamples(0, 0, 4, 2), ComponentSamples(0, 2, 4, 2)),
    "YVYU": (ComponentSamples(0, 0, 2), ComponentSamples(0, 3, 4, 2), ComponentSamples(0, 1, 4, 2)),
    "P010": (ComponentSamples(0, 1, 2), ComponentSamples(1, 1, 4, 2, 2), ComponentSamples(1, 3, 4, 2, 2)),
    "I411": (_LUMA, ComponentSamples(1, 0, 1, 4, 1), ComponentSamples(2, 0, 1, 4, 1)),
    "gray": (_LUMA,),
    "gray of YUYV": (ComponentSamples(0, 0, 2),),
}


def extents(components: tuple[ComponentSamples, ...], size_wh: tuple[int, int]) -> list[tuple[int, int]]:
    """Return rows and bytes of a row of each plane, as few as the samples need."""
    found: dict[int, tuple[int, int]] = {}
    for c in components:
        across, down = -(-size_wh[0] // c.every_x), -(-size_wh[1] // c.every_y)
        rows, least = found.get(c.plane, (0, 0))
        found[c.plane] = max(rows, down), max(least, c.start + (across - 1) * c.step + 1)
    return [found[k] for k in sorted(found)]


def noise(
    rng: np.random.Generator, components: tuple[ComponentSamples, ...], size_wh: tuple[int, int], slack: int = 0
) -> tuple[np.ndarray, ...]:
    """Return planes of random bytes whose rows have `slack` bytes between them."""
    planes = []
    for rows, least in extents(components, size_wh):
        planes.append(rng.integers(0, 256, (rows, least + slack), np.uint8)[:, :least])
    return tuple(planes)


def resize_of(
    components: tuple[ComponentSamples, ...],
    size_wh: tuple[int, int],
    result_wh: tuple[int, int],
    *,
    exact: bool = True,
    color: Color = BT601,
    channels: tuple[int, ...] = (0, 1, 2),
    depth: int = 3,
) -> PictureResize:
    """Return the resize of a picture by INTER_LINEAR's arithmetic."""
    if len(components) == 1:
        channels, depth = (0,), 1
    sides = [size_wh] if exact else [(-(-size_wh[0] // c.every_x), -(-size_wh[1] // c.every_y)) for c in components]
    axes = tuple((linear_axis(w, result_wh[0]), linear_axis(h, result_wh[1], down=True)) for w, h in sides)
    return PictureResize(components, color, size_wh, axes, exact, channels, depth)


def expected(resize: PictureResize, planes: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the canvas, computed one value after another."""
    along, down = resize.axes[0]
    canvas = np.full((resize.depth, len(down.first), len(along.first)), 255, np.uint8)
    for y in range(canvas.shape[1]):
        for x in range(canvas.shape[2]):
            for place, value in zip(resize.channels, _result(resize, planes, x, y)):
                canvas[place, y, x] = value
    return canvas


def _result(resize: PictureResize, planes: tuple[np.ndarray, ...], x: int, y: int) -> list[int]:
    components, (width, height) = resize.components, resize.size_wh

    def sample(c: ComponentSamples, x: int, y: int) -> int:
        return int(planes[c.plane][y, c.start + c.step * x])

    if not resize.exact:
        values = []
        for c in components:
            sides = -(-width // c.every_x), -(-height // c.every_y)
            results = len(resize.axes[0][0].first), len(resize.axes[0][1].first)
            values.append(_linear(lambda x, y, c=c: [sample(c, x, y)], sides, results, x, y)[0])
        return _converted(values, resize.color)

    def pixel(x: int, y: int) -> list[int]:
        return _converted([sample(c, x // c.every_x, y // c.every_y) for c in components], resize.color)

    return _linear(pixel, (width, height), (len(resize.axes[0][0].first), len(resize.axes[0][1].first)), x, y)


def _converted(values: list[int], k: Color) -> list[int]:
    y = max(values[0] - k.black, 0) * k.luma + (1 << 19)
    sums = [y]
    if len(values) == 3:
        u, v = values[1] - 128, values[2] - 128
        sums = [y + k.red_v * v, y + k.green_u * u + k.green_v * v, y + k.blue_u * u]
    return [min(max(s >> 20, 0), 255) for s in sums]


def _place(size: int, results: int, at: int, down: bool) -> tuple[list[int], list[int]]:
    """Return the two elements and their weights: OpenCV's rule, in single precision as it computes it."""
    real = np.float32((at + 0.5) * (1.0 / (results / size)) - 0.5)
    first = math.floor(real)
    rest = np.float32(real - np.float32(first))
    if not down and (first < 0 or first >= size - 1):
        first, rest = min(max(first, 0), size - 1), np.float32(0)
    weights = [int(np.rint((np.float32(1) - rest) * np.float32(2048))), int(np.rint(rest * np.float32(2048)))]
    return [min(max(k, 0), size - 1) for k in (first, first + 1)], weights


def _linear(source, sides: tuple[int, int], results: tuple[int, int], x: int, y: int) -> list[int]:  # type: ignore[no-untyped-def]
    if sides == (2 * results[0], 2 * results[1]):
        four = [source(2 * x + i, 2 * y + k) for i in (0, 1) for k in (0, 1)]
        return [(sum(values) + 2) >> 2 for values in zip(*four)]
    (left, right), (a, b) = _place(sides[0], results[0], x, False)
    rows, weights = _place(sides[1], results[1], y, True)
    lines = [[(p * a + q * b) >> 4 for p, q in zip(source(left, row), source(right, row))] for row in rows]
    return [(((s * weights[0]) >> 16) + ((t * weights[1]) >> 16) + 2) >> 2 for s, t in zip(*lines)]


def sizes(rng: np.random.Generator, count: int) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield sizes of pictures and results: halves, thirds, sixths, the same, enlarged, and any, odd and even."""
    for i in range(count):
        w, h = int(rng.integers(1, 40)), int(rng.integers(1, 6))
        scale = (1, 2, 3, 6)[i % 8] if i % 8 < 4 else None
        if scale:
            yield (scale * w, scale * h), (w, h)
        else:
            yield (int(rng.integers(1, (20, 60, 160, 700)[i % 4])), int(rng.integers(1, 30))), (w, h)
