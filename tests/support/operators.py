"""Every operator of nl.ops with a scalar oracle, and arrays of every memory layout to call it with."""

from __future__ import annotations

import math
from typing import Any, Callable, NamedTuple

import numpy as np

import npu_layout as nl
from npu_layout import ops

SHAPE = (2, 5, 4, 6)
PLAIN = ("NCHW", "NHWC", "CHWN", "NHCW", "NWHC")
DTYPES = ("uint8", "int8", "int16", "uint16", "int32", "float16", "float32", "float64", "bool", "uint32", "int64")
FLOATS = ("float16", "float32", "float64")


def filled(dtype: str, shape: tuple[int, ...] = SHAPE, seed: int = 0) -> np.ndarray:
    """Return an array of a small number of different values, so that there are ties; the ends of integers too."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype in FLOATS:
        return rng.choice(rng.standard_normal(12) * 4, shape).astype(dtype)
    info = np.iinfo(dtype)
    wide = [max(info.min, -(2**20)), min(info.max, 2**20)]  # exact in float32
    return rng.choice(np.array([*wide, *rng.integers(*wide, 8)]), shape).astype(dtype)


def ordered(x: np.ndarray, tag: str) -> np.ndarray:
    order = ["NCHW".index(letter) for letter in tag]
    return np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))


def sliced(x: np.ndarray) -> np.ndarray:
    """Return `x` as every second element of each axis of a larger NHWC array."""
    n, c, h, w = (2 * e + 1 for e in x.shape)
    whole = np.full((n, h, w, c), 77, x.dtype).transpose(0, 3, 1, 2)
    part = whole[tuple(slice(1, 2 * e + 1, 2) for e in x.shape)]
    part[...] = x
    return part


def backwards(x: np.ndarray) -> np.ndarray:
    flipped = (slice(None, None, -1),) * 4
    return ordered(x[flipped], "NHWC")[flipped]


def unaligned(x: np.ndarray) -> np.ndarray:
    raw = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    raw[...] = x
    return raw


def field(x: np.ndarray) -> np.ndarray:
    record = np.zeros(x.shape, [("pad", "u1"), ("x", x.dtype)])
    record["x"] = x
    return record["x"]


FORMS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    **{tag: (lambda x, tag=tag: ordered(x, tag)) for tag in PLAIN},
    "column-major": lambda x: np.asfortranarray(x),
    "sliced": sliced,
    "backwards": backwards,
    "unaligned": unaligned,
    "field": field,
    **{f"Tensor {tag}": (lambda x, tag=tag: nl.Tensor(x, tag)) for tag in ("NCHW", "NHWC", "CHWN")},
}


READ: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    **FORMS,
    "read-only": lambda x: np.broadcast_to(ordered(x, "NHWC"), x.shape),
    "byte-swapped": lambda x: ordered(x, "NHWC").astype(x.dtype.newbyteorder("S")),
}


def lies_as(x: np.ndarray) -> nl.Layout:
    return nl.memory_format(x) or nl.Layout("NCHW")


def pixels(x: np.ndarray, function: Callable[[list[Any]], list[Any]], dtype: Any) -> np.ndarray:
    """function(channels of a pixel) -> channels of a pixel."""
    n, _, h, w = x.shape
    rows = [[[function(x[i, :, j, k].tolist()) for k in range(w)] for j in range(h)] for i in range(n)]
    return np.array(rows, dtype).transpose(0, 3, 1, 2)


def each(x: np.ndarray, function: Callable[[Any, int], Any], dtype: Any) -> np.ndarray:
    result = np.empty(x.shape, dtype)
    for index in np.ndindex(*x.shape):
        result[index] = function(x[index].item(), index[1])
    return result


def larger(a: Any, b: Any) -> bool:
    return a == a and (b != b or b > a)


def ranked(row: list[Any], k: int) -> list[int]:
    """Channels from the largest value down, the first of equal ones first; NaN is the largest."""
    left, found = list(range(len(row))), []
    for _ in range(k):
        best = left[0]
        for c in left[1:]:
            if larger(row[best], row[c]):
                best = c
        left.remove(best)
        found.append(best)
    return found


def soft(row: list[float]) -> list[float]:
    most = max(row)
    powers = [math.exp(v - most) for v in row]
    return [p / math.fsum(powers) for p in powers]


def logistic(v: float) -> float:
    return 1 / (1 + math.exp(-v)) if v > -700 else 0.0


def gray_of(row: list[Any], dtype: str) -> list[Any]:
    blue, green, red = row[:3]
    if dtype in ("uint8", "uint16"):
        return [(3735 * blue + 19235 * green + 9798 * red + 2**14) >> 15]
    return [0.114 * blue + 0.587 * green + 0.299 * red]


def near(v: float, dtype: str) -> Any:
    """Half to even, into the dtype."""
    if dtype == "bool":
        return v >= 0.5
    if dtype in FLOATS:
        return v
    info = np.iinfo(dtype)
    return min(max(round(v), int(info.min)), int(info.max))


def weights(old: int, new: int, at: int, cubic: bool) -> list[tuple[int, float]]:
    """(index, weight) of the old pixels that make the new one: half-pixel centres, borders repeated."""
    place = (at + 0.5) * old / new - 0.5
    first = math.floor(place)
    t = place - first
    if not cubic:
        kernel = {0: 1 - t, 1: t}
    else:

        def keys(d: float, a: float = -0.75) -> float:
            d = abs(d)
            if d <= 1:
                return (a + 2) * d**3 - (a + 3) * d**2 + 1
            return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a

        kernel = {i: keys(t - i) for i in range(-1, 3)}
    return [(min(max(first + i, 0), old - 1), weight) for i, weight in kernel.items()]


def resized(x: np.ndarray, size_wh: tuple[int, int], how: str) -> np.ndarray:
    n, c, h, w = x.shape
    result = np.empty((n, c, size_wh[1], size_wh[0]), x.dtype)
    for j, i in np.ndindex(*result.shape[2:]):
        if how == "nearest":
            result[:, :, j, i] = x[:, :, (2 * j + 1) * h // (2 * size_wh[1]), (2 * i + 1) * w // (2 * size_wh[0])]
            continue
        rows, columns = weights(h, size_wh[1], j, how == "cubic"), weights(w, size_wh[0], i, how == "cubic")
        for b, k in np.ndindex(n, c):
            value = math.fsum(x[b, k, y, z].item() * u * v for y, u in rows for z, v in columns)
            result[b, k, j, i] = near(value, x.dtype.name)
    return result


def quantized(v: float, scale: float, zero_point: int) -> int:
    q = np.rint(np.float32(v) / np.float32(scale))
    return -128 if math.isnan(q) else int(min(max(q + zero_point, -128), 127))


def moved(x: np.ndarray, shape: tuple[int, ...], source: Callable[..., Any]) -> np.ndarray:
    """Element by element: source(n, c, h, w) -> an index into x, or a value."""
    result = np.empty(shape, x.dtype)
    for index in np.ndindex(*shape):
        found = source(*index)
        result[index] = x[found] if isinstance(found, tuple) else found
    return result


class OperatorCase(NamedTuple):
    call: Callable[..., Any]
    oracle: Callable[[np.ndarray], Any]
    dtype: str | None = None  # of the result; None: that of the input
    steps: float = 0  # that integers may differ; floats: units of their dtype's precision, times the largest value
    only: tuple[str, ...] = DTYPES


MEAN, STD = [1.5, -2.0, 0.25, 100.0, 3.0], [0.5, 2.0, 3.0, 7.0, 0.25]
NUMBERS = tuple(d for d in DTYPES if d != "bool")
SCALE = (0.05, 3)


def normal(v: Any, c: int) -> np.float32:
    return (np.float32(v) - np.float32(MEAN[c])) * (np.float32(1) / np.float32(STD[c]))


def bordered(x: np.ndarray) -> np.ndarray:
    n, c, h, w = x.shape

    def source(i: int, k: int, j: int, m: int) -> Any:
        inside = 2 <= j < 2 + h and 1 <= m < 1 + w
        return (i, k, j - 2, m - 1) if inside else 1

    return moved(x, (n, c, h + 2, w + 4), source)


OPERATORS: dict[str, OperatorCase] = {
    "to_gray": OperatorCase(
        ops.to_gray,
        lambda x: pixels(x, lambda row: [near(gray_of(row, x.dtype.name)[0], x.dtype.name)], x.dtype),
        steps=1,
        only=NUMBERS,
    ),
    "normalize": OperatorCase(
        lambda x, **o: ops.normalize(x, MEAN, STD, **o), lambda x: each(x, normal, "float32"), "float32"
    ),
    "quantize": OperatorCase(
        lambda x, **o: ops.quantize(x, SCALE, "int8", **o),
        lambda x: each(x, lambda v, c: quantized(v, *SCALE), "int8"),
        "int8",
    ),
    "sigmoid": OperatorCase(
        ops.sigmoid, lambda x: each(x.astype("float32"), lambda v, c: logistic(v), "float64"), "float32", 4
    ),
    "argmax_channels": OperatorCase(
        ops.argmax_channels, lambda x: pixels(x, lambda row: ranked(row, 1), "int64"), "int64"
    ),
    "softmax_channels": OperatorCase(
        ops.softmax_channels, lambda x: pixels(x.astype("float32"), soft, "float64"), "float32", 16
    ),
    **{
        f"resize {how} {size}": OperatorCase(
            lambda x, how=how, size=size, **o: ops.resize(x, size, how, **o),
            lambda x, how=how, size=size: resized(x, size, how),
            steps=0 if how == "nearest" else 1,
            only=tuple(d for d in DTYPES if d != "int64"),
        )
        for how in ("nearest", "linear", "cubic")
        for size in ((9, 7), (3, 3))
    },
    "crop": OperatorCase(
        lambda x, **o: ops.crop(x, (1, 2, 4, 2), **o),
        lambda x: moved(x, (2, 5, 2, 4), lambda n, c, h, w: (n, c, h + 2, w + 1)),
    ),
    "flip": OperatorCase(ops.flip, lambda x: moved(x, x.shape, lambda n, c, h, w: (n, c, h, x.shape[3] - 1 - w))),
    "pad": OperatorCase(lambda x, **o: ops.pad(x, (1, 2, 3, 0), 1, **o), bordered),
}


VIEWS = ("crop", "flip", "split_channels")
CASES = [(name, dtype) for name, op in OPERATORS.items() for dtype in op.only]


def assert_equal(got: np.ndarray, expected: np.ndarray, op: OperatorCase, source: np.ndarray) -> None:
    got = np.asarray(got)
    assert got.shape == expected.shape
    if got.dtype.kind in "iub":
        apart = np.abs(got.astype(np.float64) - expected.astype(np.float64)).max(initial=0)
        assert apart <= op.steps
        return
    wanted = expected.astype(np.float64)
    room = max(op.steps, 1 if expected.dtype == got.dtype and op.steps else op.steps) * np.finfo(got.dtype).eps
    if op.steps:  # cv2 weighs float64 in float32
        room = max(room, 16 * np.finfo(np.float32).eps) * max(np.abs(source.astype(np.float64)).max(initial=1), 1)
        room = room if op.dtype is None else op.steps * np.finfo(np.float32).eps * np.abs(wanted)
    assert (np.abs(got.astype(np.float64) - wanted) <= room + 2.0**-126).all()


def whole(x: np.ndarray) -> np.ndarray:
    """The bytes of the memory that x is a part of."""
    base = x
    while isinstance(base.base, np.ndarray):
        base = base.base
    flat = base.reshape(-1, order="A") if base.flags.forc else np.ascontiguousarray(base).reshape(-1)
    assert np.shares_memory(flat, x)
    return flat.view(np.uint8)


def marks(x: np.ndarray, base: np.ndarray, inside: np.ndarray) -> None:
    start = x.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    for index in np.ndindex(*x.shape):
        at = start + sum(i * s for i, s in zip(index, x.strides))
        inside[at : at + x.itemsize] = True


def side_by_side(*arrays: np.ndarray) -> list[np.ndarray]:
    """Fields of one record for each index of the first axis: none shares an element with another."""
    record = np.zeros(len(arrays[0]), [(f"f{i}", a.dtype, a.shape[1:]) for i, a in enumerate(arrays)])
    for i, a in enumerate(arrays):
        record[f"f{i}"] = a
    return [record[f"f{i}"] for i in range(len(arrays))]
