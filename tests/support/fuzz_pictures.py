"""What a fuzzer's bytes say of pictures: rows and fits that every level writes alike, and arguments that do not fit."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from npu_layout import kernels
from npu_layout.kernels import Arithmetic, Axis, Box, ComponentSamples, PictureResize, RowSource
from npu_layout.kernels.pictures import SOURCES
from tests.support.kernel_walks import BACKENDS, NATIVE
from tests.support.yuv_pictures import ARRANGEMENTS, BT601, BT709_FULL, IDENTITY, extents

_MOST = 1 << 17  # pixels of a picture, or of a result
_AXES = (kernels.linear_axis, kernels.nearest_axis, kernels.nearest_floor_axis, kernels.area_axis)
_ODD = (
    -1,
    0,
    1,
    2,
    77,
    257,
    1 << 16,
    (1 << 16) + 1,
    (1 << 31) - 1,
    1 << 31,
    1 << 40,
    (1 << 63) - 1,
    -(1 << 63),
    1 << 63,
)
_REFUSED = (ValueError, TypeError, OverflowError, BufferError, SystemError, MemoryError)


class Choices:
    """Bytes as numbers; zeros behind their end."""

    def __init__(self, data: bytes) -> None:
        self._bytes = iter(data)

    def below(self, n: int) -> int:
        more = [next(self._bytes, 0) for _ in range(1 if n <= 256 else 2)]
        return int.from_bytes(bytes(more), "little") % n

    def of(self, values: Sequence[Any]) -> Any:
        return values[self.below(len(values))]

    def side(self) -> int:
        return 1 + self.below(self.of((4, 70, 700, 8192)))


def random_axis(choices: Choices, size: int, results: int, down: bool) -> Axis:
    """Return any axis that kernels accept, not only those that OpenCV has."""
    rng = np.random.default_rng(choices.below(256))
    low, high = (-3, size + 3) if down else (0, size)
    second = rng.integers(0, 2049, results)
    first = np.minimum(np.maximum(2048 - second + rng.integers(-1, 2, results), 0), 2048)
    return Axis(size, rng.integers(low, high, results).astype(np.int32), np.stack([first, second], 1).astype(np.uint16))


def made_of(choices: Choices) -> tuple[RowSource | None, tuple[tuple[int, int], ...]]:
    """Return what rows are made of before they are resized, or tiles that they are put together from, or neither."""
    kind = choices.below(8)
    if kind > 4:
        return None, ()
    if kind > 2:
        return None, tuple((choices.of((1, 4, 16, 100)), choices.of((1, 4, 32))) for _ in range(3))
    return RowSource(SOURCES[kind], (choices.below(2), choices.below(2))), ()


def of_tiles(components: Any, plane: int, size_wh: tuple[int, int], wide: int, high: int) -> tuple[int, int]:
    """Return rows of tiles, and bytes of each, of a plane."""
    own = [c for c in components if c.plane == plane]
    rows = max(-(-size_wh[1] // c.every_y) for c in own)
    row = max(-(-size_wh[0] // c.every_x) * c.step for c in own)
    return -(-rows // high), -(-row // wide) * wide * high


def picture(choices: Choices) -> tuple[PictureResize, tuple[np.ndarray, ...]]:
    """Return a resize, and planes that have not a byte more than it reads."""
    (w, h), (to_w, to_h) = ((choices.side(), choices.side()) for _ in range(2))
    kind, packed, exact = choices.below(6), choices.below(2) == 0, choices.below(2) == 0
    if kind == 3:  # whole boxes
        to_w, to_h = min(to_w, 512), min(to_h, 512)
        across = choices.of((2, 2, 3, 8, 16))
        w, h = to_w * across, to_h * (across if across == 2 else 1 + choices.below(16))
    h, to_h = (h, to_h) if kind == 3 else (max(1, min(h, _MOST // w)), max(1, min(to_h, _MOST // to_w)))
    source, tiles = (None, ()) if packed else made_of(choices)
    if source is not None:
        exact, kind, (w, h) = True, 0 if kind == 3 else kind, (max(3, w), max(3, h))
        step = choices.of((3, 4)) if source.kind == "gray" else 2 if source.kind == "rgb565" else 1
        if source.kind == "mosaic":
            source = source._replace(group=choices.of(((1, 1), (4, 5), (2, 3), (3, 8))))
        gray = source.kind == "gray"
        components = (ComponentSamples(0, choices.of((0, 2)), step),) if gray else (ComponentSamples(0, 0, step),) * 3
    elif packed:
        step, count = 1 + choices.below(4), 1 + choices.below(4)
        components = tuple(ComponentSamples(0, choices.below(step), step) for _ in range(count))
        exact = True
    else:
        components = choices.of(list(ARRANGEMENTS.values()))
        tiles = tiles[: 1 + max(c.plane for c in components)]
    sides = [(w, h)] if exact else [(-(-w // c.every_x), -(-h // c.every_y)) for c in components]
    axes = []
    for size in sides:
        pair = []
        for i, (n, m) in enumerate(zip(size, (to_w, to_h))):
            made = random_axis(choices, n, m, i == 1) if kind > 3 else _AXES[kind](n, m, i == 1)
            pair.append(made or kernels.linear_axis(n, m, i == 1))
        if not packed and pair[0].box and not (pair[0].mean and pair[1].mean):
            pair = [kernels.linear_axis(n, m, i == 1) for i, (n, m) in enumerate(zip(size, (to_w, to_h)))]
        axes.append((pair[0], pair[1]))
    if exact and not packed:  # a part
        (before, behind), (above, below) = ((choices.of((0, 0, 1, 3)), choices.of((0, 0, 1, 40))) for _ in "xy")
        axes = [(axes[0][0].within(before, behind), axes[0][1].within(above, below))]
        w, h = w + before + behind, h + above + below
    order, depth = choices.of(((0, 1, 2), (2, 1, 0))), choices.of((3, 4))
    if packed or len(components) == 1:
        order, depth = () if packed else (0,), len(components)
    color = None if packed or source else choices.of((BT601, BT709_FULL, IDENTITY))
    resize = PictureResize(components, color, (w, h), tuple(axes), exact, order, depth, source, tiles)
    least = [(h, w * components[0].step)] if packed or source else extents(components, (w, h))
    if source is not None and source.kind == "mosaic":
        least = [(h, int(source.places(w)[-1]) + 1)]
    if tiles:
        least = [of_tiles(components, p, (w, h), *tile) for p, tile in enumerate(tiles)]
    rng = np.random.default_rng(choices.below(256))
    planes = []
    for rows, row in least:
        pitch = row + choices.of((0, 0, 1, 29))
        memory = rng.integers(0, 256, (rows - 1) * pitch + row, np.uint8)
        planes.append(np.lib.stride_tricks.as_strided(memory, (rows, row), (pitch, 1)))
    return resize, tuple(planes)


def makers(resize: PictureResize) -> list[tuple[str, str, bool]]:
    """Return (backend, level, wide) of every way to write that this machine has."""
    from npu_layout.kernels import native

    levels = [(name, name.partition("(")[2].rstrip(")")) for name in BACKENDS if name != "numpy"]
    return [
        (name, level, wide) for name, level in levels for wide in ((False, True) if native.WIDE_GATHERS else (False,))
    ]


def rows(choices: Choices) -> None:
    """Every level writes the same rows as numpy, and not a byte more."""
    from npu_layout.kernels import native

    resize, planes = picture(choices)
    width, height = len(resize.axes[0][0].first), len(resize.axes[0][1].first)
    shape = (height, width, resize.depth) if resize.packed else (resize.depth, height, width)
    slack, expected = 0 if resize.packed else choices.below(3), np.empty(shape, np.uint8)
    kernels.picture_rows(resize, "numpy").write(planes, expected)
    for _, level, wide in makers(resize):
        pitch = shape[2] + slack
        memory = np.full(shape[0] * shape[1] * pitch - slack, 77, np.uint8)
        strides = (shape[1] * pitch, pitch, 1)
        out = np.lib.stride_tricks.as_strided(memory, shape, strides)
        native.picture_rows(resize, level, wide).write(planes, out)
        assert (out == expected).all(), f"{level}, wide {wide}: {resize}"


def fit_of(choices: Choices, resize: PictureResize) -> tuple[kernels.Fit, str]:
    """Return a fit to pixels or planes, and the dtype of its buffer."""
    inner = len(resize.axes[0][0].first), len(resize.axes[0][1].first)
    left, top, right, bottom = (choices.of((0, 0, 1, 5)) for _ in range(4))
    width, height = inner[0] + left + right, inner[1] + top + bottom
    dtype = choices.of(("uint8", "int8", "float32"))
    pitch = width * resize.depth + choices.of((0, 0, 3))
    border, rows = bytes(range(7, 7 + resize.depth)), 1 + choices.below(min(height, 300))
    size = (height - 1) * pitch + width * resize.depth
    return kernels.Fit(resize, (width, height), (left, top), border, dtype == "int8", size, rows, pitch), dtype


def program_of(fit: kernels.Fit, rows: int, dtype: str, backend: str) -> Any:
    """Return the program that turns `rows` rows of the canvas into rows of pixels."""
    (width, _), depth = fit.canvas_wh, fit.resize.depth
    steps = (depth, 1) if fit.resize.packed else (1, rows * width)
    over_rows = width * depth if fit.resize.packed else width
    loops = ((rows, over_rows, fit.pitch, 0), (width, steps[0], depth, 0), (depth, steps[1], 1, 0))
    size = (rows - 1) * fit.pitch + width * depth
    source = "int8" if fit.flipped else "uint8"
    return kernels.program(rows * width * depth, size, (), (Box(loops, 0, 0, 0),), Arithmetic(source, dtype), backend)


def native_fit(fit: kernels.Fit, dtype: str, backend: str, level: str, wide: bool, direct: bool) -> Any:
    from npu_layout.kernels import native

    band = None if direct else program_of(fit, fit.rows, dtype, backend)
    left = fit.canvas_wh[1] % fit.rows
    tail = program_of(fit, left, dtype, backend) if left and not direct else None
    return native.fit(fit, band, tail, np.dtype(dtype).itemsize, level, wide)


def fits(choices: Choices) -> None:
    """Every level fits a picture into a buffer alike, as planes and as a frame that the planes are in."""
    resize, planes = picture(choices)
    fit, dtype = fit_of(choices, resize)
    direct = resize.packed and dtype != "float32" and choices.below(2) == 0
    canvas = np.empty((fit.canvas_wh[1], fit.canvas_wh[0], resize.depth), np.uint8)
    canvas[:] = np.frombuffer(fit.border, np.uint8)
    inner = np.empty((resize.depth, len(resize.axes[0][1].first), len(resize.axes[0][0].first)), np.uint8)
    inner = inner.transpose(1, 2, 0).copy() if resize.packed else inner
    kernels.picture_rows(resize, "numpy").write(planes, inner)
    inner = inner if resize.packed else inner.transpose(1, 2, 0)
    (left, top), shape = fit.left_top, inner.shape
    canvas[top : top + shape[0], left : left + shape[1]] = inner
    expected = ((canvas ^ 0x80).view(np.int8) if fit.flipped else canvas).astype(dtype)
    for backend, level, wide in makers(resize):
        made = native_fit(fit, dtype, backend, level, wide, direct)
        for within in ("planes", "apart", "frame") if len(planes) == 1 else ("planes", "apart"):
            out = np.full(fit.out_size, 77, dtype)
            places = tuple((0, plane.strides[0]) for plane in planes)
            if within == "planes":
                assert made.run(out, 0, *planes)
            else:
                assert made.run_in(out, 0, planes[0] if within == "frame" else planes, places)
            size = out.itemsize
            got = np.lib.stride_tricks.as_strided(
                out, canvas.shape, (fit.pitch * size, resize.depth * size, size), writeable=False
            )
            assert (got == expected).all(), f"{level}, wide {wide}, direct {direct}: {fit}"


def damaged(choices: Choices, value: Any) -> Any:
    """Return a value, or a tuple with one of its values, replaced."""
    if isinstance(value, tuple) and value and choices.below(8):
        at = choices.below(len(value))
        return (*value[:at], damaged(choices, value[at]), *value[at + 1 :])
    if isinstance(value, np.ndarray) and choices.below(3):
        odd = np.array(choices.of(_ODD) % (1 << 32), np.uint32)
        cuts = value[:-1], value[::-1], value[:0], value.reshape(-1)[1:], value.astype(np.float32), value[..., ::2]
        return choices.of((*cuts, np.full_like(value, odd.astype(value.dtype))))
    return choices.of((*_ODD, None, b"", (), 0.5, bytearray(5), memoryview(bytes(9))[1:]))


def calls(choices: Choices) -> None:
    """What does not fit is refused, or does fit after all; AddressSanitizer sees whether a byte is outside."""
    from npu_layout.kernels import _native, native

    resize, planes = picture(choices)
    fit, dtype = fit_of(choices, resize)
    backend, level, wide = choices.of(makers(resize))
    given: tuple[Any, ...] = ()

    class Recorder:
        PictureRows = Fit = staticmethod(lambda *a: a)

    before, native._native = native._native, Recorder  # type: ignore[assignment, misc]
    try:
        given = native.picture_rows(resize, level, wide)  # type: ignore[assignment]
    finally:
        native._native = before  # type: ignore[misc]
    which = choices.below(4)
    out = np.zeros(fit.out_size, dtype)
    with suppress(*_REFUSED):
        made = _native.PictureRows(*(damaged(choices, given) if which == 0 else given))
        along, down = resize.axes[0]
        shape = (len(down.first), len(along.first), resize.depth)
        target = np.zeros(shape if resize.packed else (shape[2], *shape[:2]), np.uint8)
        made.write(*(damaged(choices, (planes, target)) if which == 1 else (planes, target)))
        band = None if resize.packed and dtype != "float32" else program_of(fit, fit.rows, dtype, backend)
        left, size = fit.canvas_wh[1] % fit.rows, out.itemsize
        tail = program_of(fit, left, dtype, backend) if left and band else None
        numbers = (*fit.canvas_wh, *fit.left_top), fit.border, fit.flipped, out.nbytes, fit.rows, fit.pitch * size
        fitted = _native.Fit(made, *(damaged(choices, numbers) if which == 2 else numbers), band, tail)
        arguments: tuple[Any, ...] = (out, 0, *planes)
        fitted.run(*(damaged(choices, arguments) if which == 3 else arguments))
        places = (out, 0, choices.of((planes, planes[0])), tuple((0, plane.strides[0]) for plane in planes))
        fitted.run_in(*(damaged(choices, places) if which == 3 else places))


def pictures(data: bytes) -> None:
    """Rows, fits or calls with arguments that may not fit."""
    choices = Choices(data)
    if NATIVE:
        (rows, fits, calls, calls)[choices.below(4)](choices)
