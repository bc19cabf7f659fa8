"""nl.ops against scalar loops: every operator, every way an array may lie, out=, formats kept, quantised, bad input."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any, Callable, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from npu_layout import ops
from npu_layout.ops import registry as operators
from tests.support.arrays import arrays

SHAPE = (2, 5, 4, 6)
PLAIN = ("NCHW", "NHWC", "CHWN", "NHCW", "NWHC")
DTYPES = ("uint8", "int8", "int16", "uint16", "int32", "float16", "float32", "float64", "bool", "uint32", "int64")
FLOATS = ("float16", "float32", "float64")


def filled(dtype: str, shape: tuple[int, ...] = SHAPE, seed: int = 0) -> np.ndarray:
    """Few different values, so that there are ties; the ends of integers."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype in FLOATS:
        return rng.choice(rng.standard_normal(12) * 4, shape).astype(dtype)
    info = np.iinfo(dtype)
    wide = [max(info.min, -(2**20)), min(info.max, 2**20)]  # float32 holds them
    return rng.choice(np.array([*wide, *rng.integers(*wide, 8)]), shape).astype(dtype)


# -- how arrays lie


def ordered(x: np.ndarray, tag: str) -> np.ndarray:
    order = ["NCHW".index(letter) for letter in tag]
    return np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))


def sliced(x: np.ndarray) -> np.ndarray:
    """Every second element of each axis of something larger that lies as NHWC."""
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


# -- scalar oracles: of C-order arrays, by loops in Python's numbers


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


class Operator(NamedTuple):
    call: Callable[..., Any]
    oracle: Callable[[np.ndarray], Any]
    dtype: str | None = None  # of the result; None: that of the input
    steps: float = 0  # that integers may differ; floats: units of their dtype's precision, times the largest value
    only: tuple[str, ...] = DTYPES


MEAN, STD = [1.5, -2.0, 0.25, 100.0, 3.0], [0.5, 2.0, 3.0, 7.0, 0.25]
NUMBERS = tuple(d for d in DTYPES if d != "bool")
SCALE = (0.05, 3)
_CORNER = {(0, 2): 9}


def normal(v: Any, c: int) -> np.float32:
    return (np.float32(v) - np.float32(MEAN[c])) * (np.float32(1) / np.float32(STD[c]))


def bordered(x: np.ndarray) -> np.ndarray:
    n, c, h, w = x.shape

    def source(i: int, k: int, j: int, m: int) -> Any:
        inside = 2 <= j < 2 + h and 1 <= m < 1 + w
        return (i, k, j - 2, m - 1) if inside else 1

    return moved(x, (n, c, h + 2, w + 4), source)


OPERATORS: dict[str, Operator] = {
    "to_gray": Operator(
        ops.to_gray,
        lambda x: pixels(x, lambda row: [near(gray_of(row, x.dtype.name)[0], x.dtype.name)], x.dtype),
        steps=1,
        only=NUMBERS,
    ),
    "normalize": Operator(
        lambda x, **o: ops.normalize(x, MEAN, STD, **o), lambda x: each(x, normal, "float32"), "float32"
    ),
    "quantize": Operator(
        lambda x, **o: ops.quantize(x, SCALE, "int8", **o),
        lambda x: each(x, lambda v, c: quantized(v, *SCALE), "int8"),
        "int8",
    ),
    "sigmoid": Operator(
        ops.sigmoid, lambda x: each(x.astype("float32"), lambda v, c: logistic(v), "float64"), "float32", 4
    ),
    "argmax_channels": Operator(ops.argmax_channels, lambda x: pixels(x, lambda row: ranked(row, 1), "int64"), "int64"),
    "softmax_channels": Operator(
        ops.softmax_channels, lambda x: pixels(x.astype("float32"), soft, "float64"), "float32", 16
    ),
    **{
        f"resize {how} {size}": Operator(
            lambda x, how=how, size=size, **o: ops.resize(x, size, how, **o),
            lambda x, how=how, size=size: resized(x, size, how),
            steps=0 if how == "nearest" else 1,
            only=tuple(d for d in DTYPES if d != "int64"),
        )
        for how in ("nearest", "linear", "cubic")
        for size in ((9, 7), (3, 3))
    },
    "crop": Operator(
        lambda x, **o: ops.crop(x, (1, 2, 4, 2), **o),
        lambda x: moved(x, (2, 5, 2, 4), lambda n, c, h, w: (n, c, h + 2, w + 1)),
    ),
    "flip": Operator(ops.flip, lambda x: moved(x, x.shape, lambda n, c, h, w: (n, c, h, x.shape[3] - 1 - w))),
    "pad": Operator(lambda x, **o: ops.pad(x, (1, 2, 3, 0), 1, **o), bordered),
}
VIEWS = ("crop", "flip", "split_channels")
CASES = [(name, dtype) for name, op in OPERATORS.items() for dtype in op.only]


def assert_equal(got: np.ndarray, expected: np.ndarray, op: Operator, source: np.ndarray) -> None:
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


@pytest.mark.parametrize("name, dtype", CASES)
def test_operator(name: str, dtype: str) -> None:
    """Values, dtype, and the format of the input, however it lies; the input stays as it was."""
    op, values = OPERATORS[name], filled(dtype)
    expected = op.oracle(values)
    first = None
    for form, lay in READ.items():
        x = lay(values)
        before = x.tobytes(), x.strides
        result = op.call(x)
        assert (x.tobytes(), x.strides) == before, form
        assert type(result) is type(x), form
        assert result.dtype.newbyteorder("=") == (op.dtype or dtype), form
        assert_equal(result, expected, op, values)
        assert lies_as(x) in nl.fitting_formats(np.asarray(result), lies_as(x).axes), form
        if name not in VIEWS:
            assert nl.is_contiguous(result, lies_as(x)), form
            assert not np.shares_memory(result, x), form
        if "resize" not in name or "nearest" in name:  # the same bits
            first = np.ascontiguousarray(result).astype(op.dtype or dtype) if first is None else first
            np.testing.assert_array_equal(result, first, form)


@pytest.mark.parametrize("name, dtype", [c for c in CASES if c[1] in ("uint8", "float32", "float64")])
def test_out(name: str, dtype: str) -> None:
    """An out keeps its own format, whatever the input's; what lies between its elements stays."""
    op, values = OPERATORS[name], filled(dtype)
    reference = op.call(values)
    for given_as, lies in itertools.product(("NCHW", "NHWC", "NWHC", "sliced", "Tensor CHWN"), FORMS):
        x = FORMS[given_as](values)
        out = FORMS[lies](np.zeros(reference.shape, reference.dtype))
        base, strides = whole(out), out.strides
        inside = np.zeros(base.shape, bool)
        marks(out, base, inside)
        before = base.copy()
        assert op.call(x, out=out) is out
        assert out.strides == strides
        if "resize" in name:
            assert_equal(out, reference, op, values)
        else:
            np.testing.assert_array_equal(out, reference, f"{given_as} {lies}")
        np.testing.assert_array_equal(base[~inside], before[~inside])
        np.testing.assert_array_equal(x, values)


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


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
def test_out_may_lie_between_the_input(dtype: str) -> None:
    values = filled(dtype)
    for name, op in OPERATORS.items():
        expected = np.ascontiguousarray(op.call(values))
        x, out = side_by_side(values, np.zeros_like(expected))
        assert np.may_share_memory(x, out)
        assert op.call(x, out=out) is out
        np.testing.assert_array_equal(out, expected, name)
        np.testing.assert_array_equal(x, values, name)
    expected = ops.top_k(values, 3)
    zeros = [np.zeros_like(a) for a in expected]
    for x, *out in (side_by_side(values, *zeros), [values, *side_by_side(*zeros)]):
        assert ops.top_k(x, 3, out=tuple(out))[0] is out[0]
        np.testing.assert_array_equal(out[0], expected[0])
        np.testing.assert_array_equal(out[1], expected[1])
        np.testing.assert_array_equal(x, values)


def test_fields_at_odd_distances() -> None:
    """Fields of a packed record, whose size is no multiple of theirs."""
    values = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    expected = values.transpose(0, 2, 3, 1)
    record = np.zeros(24, [("a", "f4"), ("b", "f4"), ("tag", "u1")])
    a, b = record["a"].reshape(values.shape), record["b"].reshape(expected.shape)
    a[...], record["tag"] = values, 7
    assert nl.repack(a, "NCHW", "NHWC", out=b) is b
    np.testing.assert_array_equal(b, expected)
    b[...] = 0
    spec = nl.TensorSpec(values.shape, "NCHW", "float32")
    assert spec.unpack(values.reshape(-1), to="NHWC", out=b) is b
    np.testing.assert_array_equal(b, expected)
    np.testing.assert_array_equal(a, values)
    assert (record["tag"] == 7).all()


def test_split_channels_between_the_channels_of_its_input() -> None:
    both = np.arange(128, dtype=np.float32).reshape(1, 4, 4, 8)
    x, between = both[..., ::2].transpose(0, 3, 1, 2), both[..., 1::2].transpose(0, 3, 1, 2)
    expected = x.copy()
    ops.split_channels(x, (1, 3), out=(between[:, :1], between[:, 1:]))
    np.testing.assert_array_equal(between, expected)
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("tag", PLAIN)
def test_out_may_be_the_input(tag: str) -> None:
    for call in (ops.softmax_channels, ops.sigmoid, ops.flip, lambda x, out: ops.normalize(x, 3, 2, out=out)):
        x = ordered(filled("float32"), tag)
        expected = call(x.copy("K"), out=np.empty(SHAPE, np.float32))
        assert call(x, out=x) is x
        np.testing.assert_array_equal(x, expected)
        y = ordered(filled("float32"), tag)
        assert call(y, out=y[:, ::-1]).base is not None
        np.testing.assert_array_equal(y[:, ::-1], expected)


# -- NaN, infinity, no elements


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("tag", PLAIN)
def test_not_numbers(tag: str, dtype: str) -> None:
    x = filled(dtype)
    rng = np.random.default_rng(1)
    x[rng.random(SHAPE) < 0.2] = np.nan
    x[rng.random(SHAPE) < 0.1] = np.inf
    x[rng.random(SHAPE) < 0.1] = -np.inf
    x[rng.random(SHAPE) < 0.1] = -0.0
    y = ordered(x, tag)
    np.testing.assert_array_equal(ops.argmax_channels(y), pixels(x, lambda row: ranked(row, 1), int))
    values, channels = ops.top_k(y, 4)
    np.testing.assert_array_equal(channels, pixels(x, lambda row: ranked(row, 4), int))
    np.testing.assert_array_equal(values, np.take_along_axis(x, channels, 1))
    soft_y = ops.softmax_channels(y)
    bad = np.isnan(x).any(1) | (x.max(1) == np.inf) | (x.max(1) == -np.inf)
    assert (np.isnan(soft_y) == bad[:, None]).all()
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(ops.sigmoid(y), 1 / (1 + np.exp(-x.astype(np.float64))), rtol=1e-6)
    assert (ops.quantize(y, SCALE, "int8")[np.isnan(x)] == -128).all()
    for operator in (ops.flip, lambda x: ops.pad(x, (0, 0, 0, 0)), lambda x: ops.resize(x, (6, 4), "nearest")):
        got = operator(y)
        np.testing.assert_array_equal(got, x[..., ::-1] if operator is ops.flip else x)
    assert not np.isnan(ops.peaks(y, -5)).any()


@pytest.mark.parametrize("shape", [(0, 3, 4, 5), (2, 3, 0, 5), (2, 3, 4, 0), (2, 0, 4, 5)])
@pytest.mark.parametrize("form", ["NCHW", "NHWC", "Tensor NHWC"])
def test_no_elements(form: str, shape: tuple[int, ...]) -> None:
    x = FORMS[form](np.zeros(shape, np.float32))
    n, c, h, w = shape
    results: dict[tuple[int, ...], list[np.ndarray]] = {
        (n, c, h, w): [ops.sigmoid(x), ops.softmax_channels(x), ops.flip(x), ops.normalize(x, 0, 1)],
        (n, c, h, w + 1): [ops.pad(x, (1, 0, 0, 0), 7)],
        (n, 2 * c, h, w): [ops.concat_channels([x, x])],
        (n, c, h, 0): [ops.crop(x, (0, 0, 0, h))],
    }
    for expected, got in results.items():
        for result in got:
            assert result.shape == expected
            assert type(result) is type(x)
    assert (ops.pad(x, (1, 0, 0, 0), 7)[..., 0] == 7).all()
    assert np.isnan(ops.pad(x, (1, 0, 0, 0), math.nan)[..., 0]).all()
    assert ops.peaks(x, 0).shape == (0, 5)
    if c:
        assert ops.argmax_channels(x).shape == (n, 1, h, w)
        assert [a.shape for a in ops.top_k(x, 2)] == [(n, 2, h, w)] * 2
        assert ops.to_gray(x).shape == (n, 1, h, w)
    else:
        with pytest.raises(nl.NpuLayoutError, match="at least 1 channel"):
            ops.argmax_channels(x)
    if h and w:
        assert ops.resize(x, (2, 2)).shape == ops.resize(x, (2, 2), "nearest").shape == (n, c, 2, 2)
    else:
        with pytest.raises(nl.NpuLayoutError, match="with pixels"):
            ops.resize(x, (2, 2))


# -- several results, several inputs


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("k", [1, 3, 20])
def test_top_k(dtype: str, k: int) -> None:
    shape = (2, 20, 3, 2)
    values = filled(dtype, shape)
    channels = pixels(values, lambda row: ranked(row, k), "int64")
    expected = np.take_along_axis(values, channels, 1)
    for form, lay in READ.items():
        x = lay(values)
        got = ops.top_k(x, k)
        np.testing.assert_array_equal(got[0], expected, form)
        np.testing.assert_array_equal(got[1], channels, form)
        for result, kind in zip(got, (dtype, "int64")):
            assert (type(result), result.dtype) == (type(x), kind)
            assert nl.is_contiguous(result, lies_as(x))
    for form, lay in FORMS.items():
        out = lay(np.zeros(expected.shape, dtype)), lay(np.zeros(expected.shape, np.int64))
        got = ops.top_k(ordered(values, "NHWC"), k, out=out)
        assert got[0] is out[0]
        assert got[1] is out[1]
        np.testing.assert_array_equal(out[0], expected, form)
        np.testing.assert_array_equal(out[1], channels, form)


def test_top_k_out_that_does_not_fit() -> None:
    memory = filled("int32", (2, 6, 3, 2))
    x, values, channels = memory.astype("float32"), np.empty((2, 4, 3, 2), "float32"), np.empty((2, 4, 3, 2), np.int64)
    twice = np.lib.stride_tricks.as_strided(channels, strides=(8, 0, 8, 8))
    locked = channels.copy()
    locked.flags.writeable = False
    for out, said in (
        ((values, values), "expected dtype int64, got float32"),
        ((channels, channels), "expected dtype float32, got int64"),
        ((values, channels[:, 1:]), "expected shape (2, 4, 3, 2), got (2, 3, 3, 2)"),
        ((values, twice), "elements overlap"),
        ((values, locked), "read-only"),
        ((channels.view("float32")[..., :2], channels), "share no memory"),
    ):
        before = [a.tobytes() for a in out]
        with pytest.raises(nl.NpuLayoutError, match=re.escape(said)):
            ops.top_k(x, 4, out=out)
        assert [a.tobytes() for a in out] == before
    expected = ops.top_k(memory.copy(), 4)
    for k in (4, np.int64(4)):
        x = memory.copy()
        out = x[:, 2:], channels  # the values lie where they come from
        assert ops.top_k(x, k, out=out)[0] is out[0]
        np.testing.assert_array_equal(out[0], expected[0])
        np.testing.assert_array_equal(channels, expected[1])


def test_floats_wider_than_any_integer() -> None:
    values = filled("float64", (1, 5, 2, 3)).astype(np.longdouble)
    values[0, :, 0, 0], values[0, :3, 1, 1] = (1, np.nan, 0, np.nan, np.inf), (-0.0, 0.0, -0.0)
    channels = pixels(values, lambda row: ranked([float(v) for v in row], 4), "int64")
    for form, lay in READ.items():
        got = ops.top_k(lay(values), 4)
        np.testing.assert_array_equal(got[1], channels, form)
        np.testing.assert_array_equal(got[0], np.take_along_axis(values, channels, 1), form)
        np.testing.assert_array_equal(ops.argmax_channels(lay(values)), channels[:, :1], form)


@pytest.mark.parametrize("form", FORMS)
def test_concat_and_split(form: str) -> None:
    values = [filled("int16", (2, c, 3, 4), c) for c in (1, 4, 2)]
    expected = np.empty((2, 7, 3, 4), np.int16)
    for c, (part, channel) in enumerate((p, k) for p, v in enumerate(values) for k in range(v.shape[1])):
        expected[:, c] = values[part][:, channel]
    xs = [FORMS[form](v) for v in values]
    got = ops.concat_channels(xs)
    np.testing.assert_array_equal(got, expected)
    assert type(got) is type(xs[0])
    assert lies_as(got) == lies_as(xs[1])
    out = FORMS[form](np.zeros_like(expected))
    assert ops.concat_channels([ordered(v, "NWHC") for v in values], out=out) is out
    np.testing.assert_array_equal(out, expected)
    parts = ops.split_channels(got, (1, 4, 0, 2))
    assert [p.shape[1] for p in parts] == [1, 4, 0, 2]
    for part, value in zip((parts[0], parts[1], parts[3]), values):
        assert np.shares_memory(part, got)
        assert type(part) is type(got)
        np.testing.assert_array_equal(part, value)
    outs = tuple(FORMS[form](np.zeros_like(v)) for v in values)
    given_back = ops.split_channels(expected, (1, 4, 2), out=outs)
    for o, g, v in zip(outs, given_back, values):
        assert o is g
        np.testing.assert_array_equal(o, v)


def test_split_into_its_own_channels() -> None:
    x = filled("int16")
    before = x.copy()
    ops.split_channels(x, (2, 3), out=(x[:, 3:], x[:, :3]))
    np.testing.assert_array_equal(x, before[:, [2, 3, 4, 0, 1]])


# -- formats


@pytest.mark.parametrize("shape", [(2, 1, 4, 4), (2, 4, 1, 1), (2, 1, 1, 1), (1, 1, 4, 4), (1, 4, 4, 4)])
@pytest.mark.parametrize("tag", ["NCHW", "NHWC", "CHWN", "HWNC"])
def test_tensors_carry_their_format(shape: tuple[int, ...], tag: str) -> None:
    class Mine(nl.Tensor):
        pass

    x = Mine(filled("float32", shape), tag)
    c = shape[1]
    results = [
        ops.sigmoid(x), ops.argmax_channels(x), ops.softmax_channels(x), *ops.top_k(x, 1), ops.normalize(x, 0, 1),
        ops.quantize(x, SCALE, "int8"), ops.dequantize(ops.quantize(x, SCALE, "int8"), SCALE), ops.resize(x, (3, 5)),
        ops.resize(x, (3, 5), "nearest"), ops.concat_channels((x, x)), *ops.split_channels(x, (c,)), ops.flip(x),
        ops.crop(x, (0, 0, 1, 1)), ops.pad(x, (1, 1, 1, 1)),
    ]  # fmt: skip
    for result in results:
        assert type(result) is Mine
        assert result.layout == nl.Layout(tag)
        assert result.strides == Mine(np.asarray(result), tag).strides or np.shares_memory(result, x)


def test_ambiguous_plain_arrays_give_c_order() -> None:
    x = ordered(np.zeros((4, 1, 4, 4), np.float32), "NHWC")
    assert nl.memory_format(x) is None
    assert ops.resize(x, (2, 2)).flags.c_contiguous
    expanded = np.broadcast_to(np.float32(1), SHAPE)
    assert ops.sigmoid(expanded).flags.c_contiguous
    assert ops.sigmoid(expanded).ravel()[0] == ops.sigmoid(np.ones((1, 1, 1, 1)))[0, 0, 0, 0]


def test_several_inputs() -> None:
    values = filled("float32")
    plain = {tag: ordered(values, tag) for tag in PLAIN}
    tensors = {tag: nl.Tensor(values, tag) for tag in PLAIN}
    ambiguous = ordered(np.zeros((2, 1, 4, 6), np.float32), "NCHW")
    for inputs, element_wise, windows in (
        ((plain["NHWC"], plain["NHWC"]), "NHWC", "NHWC"),
        ((plain["NHWC"], plain["CHWN"]), None, None),
        ((plain["NHWC"], ambiguous), "NHWC", "NHWC"),
        ((plain["CHWN"], tensors["NHCW"]), "NHCW", "NHCW"),
        ((tensors["NCHW"], plain["NHWC"]), "NCHW", "NCHW"),
        ((tensors["NCHW"], tensors["NHWC"]), "NCHW", "NHWC"),
        ((tensors["CHWN"], tensors["NCHW"]), "CHWN", "CHWN"),
        ((tensors["NHWC"], tensors["NHWC"]), "NHWC", "NHWC"),
    ):
        wanted = [None if tag is None else nl.Layout(tag) for tag in (element_wise, windows)]
        assert [ops.result_layout(*inputs), ops.result_layout(*inputs, windows=True)] == wanted
        result = ops.concat_channels(inputs)
        assert nl.is_contiguous(result, element_wise or "NCHW")
        assert isinstance(result, nl.Tensor) == any(isinstance(x, nl.Tensor) for x in inputs)
    with pytest.raises(nl.NpuLayoutError):
        ops.result_layout([1, 2])


# -- the registry


def test_every_operator_and_format_has_a_kernel() -> None:
    tags = ["".join(p) for p in itertools.permutations("NCHW") if "".join(p) not in ("WHCN", "CWHN")]
    for dtype in DTYPES:
        table = ops.table(tags, dtype)
        assert all(list(row) == tags and all(row.values()) for row in table.values())
    public = {name for name in ops.__all__ if name not in ("table", "result_layout")}
    assert {name.split(",")[0] for name in ops.table()} == public
    assert ops.table()["resize"]["NWHC"] == "generic"
    assert "generic" not in ops.table(["NCHW", "NHWC", "CHWN", "NHCW"])["resize"].values()
    assert ops.table(dtype="float64")["argmax_channels"]["NHWC"] == "generic"
    computing = ops.table(dtype="uint8").keys() - {"resize", "resize, nearest"}
    assert all(ops.table(dtype=bool)[name] == ops.table(dtype="uint8")[name] for name in computing)
    for dtype in ("f4", np.float32, np.dtype(">f4")):
        assert ops.table(dtype=dtype) == ops.table()
    lines = str(ops.table()).splitlines()
    assert len(lines) == len(ops.table()) + 1
    assert lines[0].split() == ["NCHW", "NHWC", "CHWN", "NHCW", "NWHC"]


def test_the_generic_kernel_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a format's own kernel answers, the generic one does too."""
    compared = 0
    for name, op in OPERATORS.items():
        for dtype in ("uint8", "float32"):
            for tag in PLAIN:
                x = ordered(filled(dtype), tag)
                fast = op.call(x)
                with monkeypatch.context() as only:
                    rows = {k: [r for r in v if r.name == operators.GENERIC] for k, v in operators._KERNELS.items()}
                    only.setattr(operators, "_KERNELS", {k: rows[k] or v for k, v in operators._KERNELS.items()})
                    operators._serving.cache_clear()
                    slow = op.call(x)
                    compared += any(rows.values())
                operators._serving.cache_clear()
                assert slow.strides == fast.strides
                assert_equal(fast, np.asarray(slow), op._replace(steps=op.steps or float(name == "to_gray")), x)
    assert compared


def test_a_kernel_of_ones_own() -> None:
    """The decorator takes operators of any name; the first pattern that fits is taken."""
    try:

        @operators.kernel("doubled")
        def slow(x: np.ndarray, out: np.ndarray, order: Any) -> None:
            np.multiply(x, 2, out=out)

        @operators.kernel("doubled", "N*C", "uint8 int8", "by bytes")
        def fast(x: np.ndarray, out: np.ndarray, order: Any) -> None:
            np.add(x, x, out=out)

        names = {(tag, dtype): operators.chosen("doubled", tag, dtype) for tag in PLAIN for dtype in ("int8", "int16")}
        assert {key for key, row in names.items() if row.run is fast} == {("NHWC", "int8"), ("NWHC", "int8")}
        taken = operators.given("doubled", nl.Tensor(filled("int8"), "NHWC"))
        result = operators.apply(taken, SHAPE, np.int8, None)
        assert result.layout == nl.Layout("NHWC")
        np.testing.assert_array_equal(result, filled("int8") + filled("int8"))
    finally:
        operators._KERNELS.pop("doubled")
        operators._serving.cache_clear()


# -- quantised


def quantizations() -> list[Any]:
    return [
        (0.05, 3),
        nl.Quantization(0.1, -7),
        nl.Quantization(0.0075, 41.3),
        nl.Quantization([0.1, 0.2, 0.05, 0.3, 0.07], [1, -2, 3, 0, 5], axis=1),
        nl.Quantization([0.1, 0.2], axis=0),
        nl.Quantization([0.1, 0.2, 0.3, 0.1], 4, axis=-2),
    ]


@pytest.mark.parametrize("q", quantizations(), ids=repr)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
def test_quantised(dtype: str, q: Any) -> None:
    """As of the real values, which are worked out one by one."""
    x = filled(dtype).astype(np.int64).clip(-(2**14), 2**14).astype(dtype)
    known = q if isinstance(q, nl.Quantization) else nl.Quantization(*q)

    def of(values: Any, index: tuple[int, ...]) -> np.float32:
        return np.float32(values if known.axis is None else values[index[known.axis]])

    real = np.empty(SHAPE, np.float32)
    for i in np.ndindex(*SHAPE):
        real[i] = (np.float32(x[i]) - of(known.zero_point, i)) * of(known.scale, i)
    for tag in PLAIN:
        y = ordered(x, tag)
        for result in (ops.dequantize(y, q), ops.softmax_channels(y, quantization=q), ops.sigmoid(y, quantization=q)):
            assert nl.memory_format(result) == nl.Layout(tag)
        np.testing.assert_array_equal(ops.dequantize(y, q), real)
        np.testing.assert_array_equal(ops.argmax_channels(y, quantization=q), ops.argmax_channels(real))
        np.testing.assert_array_equal(ops.softmax_channels(y, quantization=q), ops.softmax_channels(real))
        np.testing.assert_array_equal(ops.sigmoid(y, quantization=q), ops.sigmoid(real))
        for got, expected in zip(ops.top_k(y, 3, quantization=q), ops.top_k(real, 3)):
            np.testing.assert_array_equal(got, expected)
        for limit in (-1.0, 0.0, 0.35, 1e9, -1e9):
            np.testing.assert_allclose(
                ops.peaks(y, limit, quantization=q), ops.peaks(real, limit), rtol=1e-5, atol=1e-4
            )
        np.testing.assert_array_equal(ops.quantize(ops.dequantize(y, q), q, dtype), x)


@given(st.floats(0.001, 10), st.integers(-300, 300), st.floats(-400, 400), st.integers(0, 99))
def test_thresholds_in_stored_integers(scale: float, zero_point: int, threshold: float, seed: int) -> None:
    """The same pixels as of the dequantised tensor, at every threshold: also at one that a stored integer hits."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-128, 127, (1, 2, 9, 9), np.int8, endpoint=True)
    q = nl.Quantization(scale, zero_point)
    real = ops.dequantize(x, q)
    for limit in (threshold, float(rng.choice(real.ravel())), np.float64(scale) * int(rng.integers(-128, 127))):
        got, expected = ops.peaks(x, limit, refine=None, quantization=q), ops.peaks(real, limit, refine=None)
        np.testing.assert_array_equal(got, expected)


# -- peaks


def peaks_oracle(x: np.ndarray, threshold: float, radius: int, refine: str | None) -> np.ndarray:
    """Scalar; (count, 5)."""
    rows = []
    for n, c, j, i in np.ndindex(*x.shape):
        plane = x[n, c].tolist()
        h, w = x.shape[2:]
        v, good = plane[j][i], plane[j][i] > threshold
        for y, z in itertools.product(range(j - radius, j + radius + 1), range(i - radius, i + radius + 1)):
            if 0 <= y < h and 0 <= z < w and (y, z) != (j, i):
                good = good and (v > plane[y][z] if (y, z) < (j, i) else v >= plane[y][z])
        if not good:
            continue
        at = [float(i), float(j)]
        for axis, (size, before, after) in enumerate(
            (
                (w, lambda p=plane, j=j, i=i: p[j][i - 1], lambda p=plane, j=j, i=i: p[j][i + 1]),
                (h, lambda p=plane, j=j, i=i: p[j - 1][i], lambda p=plane, j=j, i=i: p[j + 1][i]),
            )
        ):
            if 0 < (i, j)[axis] < size - 1 and refine:
                a, b = before(), after()
                if refine == "quarter":
                    at[axis] += 0.25 * ((b > a) - (b < a))
                elif math.isfinite(a + b + v) and a - 2 * v + b:
                    at[axis] += (a - b) / (2 * (a - 2 * v + b))
        rows.append((n, c, *at, v))
    return np.array(rows, np.float64).reshape(-1, 5)


@pytest.mark.parametrize("refine", ["parabola", "quarter", None])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_peaks(dtype: str, refine: str | None) -> None:
    shape = (2, 3, 7, 9)
    x = filled(dtype, shape, 5) if dtype in FLOATS else np.random.default_rng(3).integers(0, 100, shape).astype(dtype)
    for threshold, radius in ((0.5, 1), (-1e30, 2), (0, 1), (99.5, 1), (1e30, 1), (math.nan, 1)):
        expected = peaks_oracle(x, threshold, radius, refine)
        for form, lay in READ.items():
            np.testing.assert_allclose(
                ops.peaks(lay(x), threshold, radius, refine=refine), expected, 1e-12, 1e-12, form
            )
    for radius in (2**63 - 1, 2**63):
        np.testing.assert_array_equal(ops.peaks(x, 0.5, radius, refine=refine), ops.peaks(x, 0.5, 9, refine=refine))
    out = np.full((200, 5), 7.0)
    found = ops.peaks(x, 0.5, refine=refine, out=out[::2])
    expected = peaks_oracle(x, 0.5, 1, refine)
    assert found.base is out
    np.testing.assert_allclose(found, expected, 1e-12, 1e-12)
    np.testing.assert_array_equal(out[: 2 * len(expected) : 2], found)
    assert (out[2 * len(expected) :] == 7).all()
    assert (out[1::2] == 7).all()


def test_the_top_of_a_parabola_is_found() -> None:
    for dx, dy in itertools.product((-0.45, 0.0, 0.3), repeat=2):
        y, x = np.mgrid[:7, :9]
        plane = 5 - (x - 4 - dx) ** 2 - 2 * (y - 3 - dy) ** 2
        for tag in PLAIN:
            ((n, c, px, py, score),) = ops.peaks(ordered(plane[None, None], tag), 4)
            assert (n, c) == (0, 0)
            assert (px, py) == pytest.approx((4 + dx, 3 + dy), abs=1e-9)
            assert score == plane[3, 4]


def test_peaks_into_the_memory_of_their_input() -> None:
    flat = np.random.default_rng(0).random((45, 5))
    expected = ops.peaks(flat.reshape(1, 1, 9, 25).copy(), 0.5)
    np.testing.assert_array_equal(ops.peaks(flat.reshape(1, 1, 9, 25), 0.5, out=flat), expected)
    with pytest.raises(nl.NpuLayoutError, match="out for peaks: elements overlap"):
        ops.peaks(np.zeros((1, 1, 9, 25)), 0.5, out=np.lib.stride_tricks.as_strided(flat, (45, 5), (0, 8)))


def test_peaks_without_room_write_nothing() -> None:
    x = filled("float32", (1, 4, 20, 20))
    out = np.full((3, 5), 7.0)
    with pytest.raises(nl.NpuLayoutError, match="room for 3"):
        ops.peaks(x, -1, out=out)
    assert (out == 7).all()


# -- resize beyond small pictures


@pytest.mark.parametrize("how", ["linear", "cubic"])
@pytest.mark.parametrize(
    "shape, size_wh", [((1, 300, 5, 4), (7, 9)), ((1, 9, 33, 40), (120, 90)), ((3, 2, 64, 1), (3, 31))]
)
def test_resize_of_many_channels_and_larger_planes(shape: tuple[int, ...], size_wh: tuple[int, int], how: str) -> None:
    x = filled("float32", shape)
    rows = [np.zeros((new, old)) for old, new in zip(shape[2:], size_wh[::-1])]
    for matrix, old, new in zip(rows, shape[2:], size_wh[::-1]):
        for at in range(new):
            for i, weight in weights(old, new, at, how == "cubic"):
                matrix[at, i] += weight
    expected = np.einsum("jh,nchw,iw->ncji", rows[0], x.astype(np.float64), rows[1])
    for tag in PLAIN:
        np.testing.assert_allclose(
            ops.resize(ordered(x, tag), size_wh, how), expected, rtol=0, atol=2e-5 * np.abs(x).max()
        )


@pytest.mark.parametrize("how", ["linear", "cubic"])
def test_resize_with_strides_that_cv2_refuses(how: str) -> None:
    x = filled("int16", (1, 1, 4, 1))
    records = np.zeros((1, 1, 3, 1), [("pad", "u1"), ("x", "i2")])  # rows that are no whole elements apart
    expected = ops.resize(x, (1, 3), how)
    np.testing.assert_array_equal(ops.resize(field(x), (1, 3), how), expected)
    np.testing.assert_array_equal(ops.resize(x, (1, 3), how, out=records["x"]), expected)
    assert not records["pad"].any()
    x = filled("int16", (1, 3, 4, 1))
    for tag in PLAIN:
        out = ordered(np.zeros((1, 3, 3, 1), "int16"), tag)[..., ::-1]  # a negative stride that moves nothing
        np.testing.assert_array_equal(ops.resize(ordered(x, tag), (1, 3), how, out=out), ops.resize(x, (1, 3), how))


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_integers_wider_than_a_double(dtype: str) -> None:
    most = np.iinfo(dtype).max
    x = np.full((1, 3, 2, 2), most)
    for result in (ops.resize(x, (3, 3)), ops.to_gray(x)):
        assert (result > most - most // 2**50).all()
    assert (ops.resize(x, (3, 3), "nearest") == most).all()


# -- bad input

BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: ops.sigmoid(np.zeros((3, 4, 5))), r"axes N, C, H and W, got shape \(3, 4, 5\)"),
    (lambda: ops.sigmoid(nl.Tensor(np.zeros((1, 2, 3, 4)), nl.Layout("NHWC", axes="NHWC"))), "axes NCHW, got NHWC"),
    (lambda: ops.sigmoid(np.zeros(SHAPE, complex)), "real numbers, got dtype complex128"),
    (lambda: ops.flip(np.zeros(SHAPE, object)), "real numbers, got dtype object"),
    (lambda: ops.flip(np.zeros(SHAPE, "M8[s]")), "real numbers"),
    (lambda: ops.flip(np.ma.zeros(SHAPE)), "masked array"),
    (lambda: ops.flip([[1, 2], [3]]), "expected an array"),
    (lambda: ops.to_gray(np.zeros((1, 2, 3, 4))), "at least 3 channels"),
    (lambda: ops.to_gray(np.zeros(SHAPE), order="GBR"), "BGR or RGB"),
    (lambda: ops.normalize(np.zeros(SHAPE), 0, 0), "other than 0"),
    (lambda: ops.normalize(np.zeros(SHAPE), [1, 2], 1), "mean: expected 1 or 5"),
    (lambda: ops.normalize(np.zeros(SHAPE), 0, [1, 2, 3, 4, math.nan]), "std: expected 1 or 5"),
    (lambda: ops.normalize(np.zeros(SHAPE), 0, 1e-40), r"1 / std in float32, got \[1e-40\]"),
    (lambda: ops.normalize(np.zeros(SHAPE), 1e300, 1), r"mean: .* finite numbers of float32, got \[1e.300\]"),
    (lambda: ops.normalize(np.zeros(SHAPE), [[1], [2, 3]], 1), "mean: expected an array, got list"),
    (lambda: ops.normalize(np.zeros(SHAPE), np.ma.zeros(5), 1), "mean: masked array"),
    (lambda: ops.quantize(np.zeros(SHAPE), SCALE), "a dtype, or an out"),
    (lambda: ops.quantize(np.zeros(SHAPE), SCALE, "float32"), "integer dtype"),
    (lambda: ops.quantize(np.zeros(SHAPE), 0.1, "int8"), r"a Quantization or \(scale, zero_point\)"),
    (lambda: ops.quantize(np.zeros(SHAPE), nl.Quantization([1, 2], axis=1), "int8"), "2 scales along axis 1"),
    (lambda: ops.dequantize(np.zeros(SHAPE), SCALE), "stored integers, got dtype float64"),
    (lambda: ops.dequantize(np.zeros(SHAPE, "int8"), None), "a Quantization or"),  # type: ignore[arg-type]
    (lambda: ops.dequantize(np.zeros(SHAPE, "int8"), (0, 0)), "positive numbers"),
    (lambda: ops.argmax_channels(np.zeros(SHAPE), quantization=SCALE), "stored integers"),
    (lambda: ops.top_k(np.zeros(SHAPE), 0), "expected 1 .. 5"),
    (lambda: ops.top_k(np.zeros(SHAPE), 6), "expected 1 .. 5"),
    (lambda: ops.top_k(np.zeros(SHAPE), 2.5), "expected 1 .. 5"),  # type: ignore[arg-type]
    (lambda: ops.top_k(np.zeros(SHAPE), 2, out=np.zeros(SHAPE)), "two arrays"),  # type: ignore[arg-type]
    (lambda: ops.crop(np.zeros(SHAPE), (3, 0, 4, 4)), "reaches beyond the 6 x 4"),
    (lambda: ops.crop(np.zeros(SHAPE), (-1, 0, 4, 4)), "4 whole numbers"),
    (lambda: ops.crop(np.zeros(SHAPE), (0.5, 0, 4, 4)), "4 whole numbers"),  # type: ignore[arg-type]
    (lambda: ops.crop(np.zeros(SHAPE), 3), "4 whole numbers"),  # type: ignore[arg-type]
    (lambda: ops.pad(np.zeros(SHAPE), (1, 2, 3)), "4 whole numbers"),
    (lambda: ops.pad(np.zeros(SHAPE, np.uint8), (1, 2, 3, 4), 256), "that uint8 can hold"),
    (lambda: ops.pad(np.zeros(SHAPE, np.uint8), (1, 2, 3, 4), [1, 2]), "1 or 5 numbers"),
    (lambda: ops.pad(np.zeros(SHAPE), (1, 2, 3, 4), None), "5 numbers that float64 can hold, got None"),
    (lambda: ops.pad(np.zeros(SHAPE), (1, 2, 3, 4), "1"), "5 numbers that float64 can hold, got '1'"),
    (lambda: ops.pad(np.zeros(SHAPE, np.int8), (1, 2, 3, 4), math.nan), "that int8 can hold"),
    (lambda: ops.pad(np.zeros(SHAPE, np.float16), (1, 2, 3, 4), 1e9), "that float16 can hold"),
    (lambda: ops.split_channels(np.zeros(SHAPE), (2, 2)), "5 channels in all"),
    (lambda: ops.split_channels(np.zeros(SHAPE), (2, 3), out=(np.zeros((2, 2, 4, 6)),)), "2 arrays.*got 1$"),
    (lambda: ops.split_channels(np.zeros(SHAPE), 3), "sizes: expected whole numbers"),  # type: ignore[arg-type]
    (lambda: ops.concat_channels([]), "one or more arrays"),
    (lambda: ops.concat_channels([np.zeros(SHAPE), np.zeros(SHAPE, "f4")]), "as the first array has"),
    (lambda: ops.concat_channels([np.zeros(SHAPE), np.zeros((2, 5, 4, 7))]), "as the first array has"),
    (lambda: ops.resize(np.zeros(SHAPE), (0, 3)), "2 whole numbers of at least 1"),
    (lambda: ops.resize(np.zeros((1, 1, 1, 1), np.uint8), (2**31, 1)), "at most 2147483647 for linear"),
    (lambda: ops.resize(np.zeros(SHAPE), (3, 3), "lanczos"), "nearest, linear, cubic"),
    (lambda: ops.peaks(np.zeros(SHAPE), "x"), "number as threshold"),  # type: ignore[arg-type]
    (lambda: ops.peaks(np.zeros(SHAPE), None), "number as threshold"),  # type: ignore[arg-type]
    (lambda: ops.peaks(np.zeros(SHAPE), 10**400), "number as threshold"),
    (lambda: ops.peaks(np.zeros(SHAPE), 0, 0), "radius: expected 1 or more"),
    (lambda: ops.peaks(np.zeros(SHAPE), 0, refine="cubic"), "parabola, quarter or None"),
    (lambda: ops.peaks(np.zeros(SHAPE), 0, out=np.zeros((5, 4))), "expected shape"),
    (lambda: ops.table(["NCW"]), "axes NCHW"),
    (lambda: ops.table(dtype="no dtype"), "table: dtype 'no dtype'"),
    (lambda: ops.result_layout([1]), "result_layout: expected a numpy array, got list"),
    (lambda: ops.sigmoid(np.zeros(SHAPE), out=np.zeros(SHAPE)), "expected dtype float32"),
    (lambda: ops.sigmoid(np.zeros(SHAPE), out=np.zeros((2, 5, 4, 7), "f4")), "expected shape"),
    (lambda: ops.sigmoid(np.zeros(SHAPE), out=[0]), "expected a numpy array"),  # type: ignore[arg-type]
    (lambda: ops.sigmoid(np.zeros(SHAPE), out=np.broadcast_to(np.float32(0), SHAPE)), "read-only"),
    (
        lambda: ops.sigmoid(
            np.zeros(SHAPE), out=np.lib.stride_tricks.as_strided(np.zeros(999, "f4"), SHAPE, (96, 16, 4, 4))
        ),
        "elements overlap",
    ),
    (
        lambda: ops.sigmoid(np.zeros(SHAPE), out=np.ndarray(SHAPE, "f4", np.zeros(4000, "u1"), 0, (480, 96, 24, 2))),
        "elements overlap",
    ),
    (lambda: ops.sigmoid(np.zeros(SHAPE), out=np.ma.zeros(SHAPE, "f4")), "masked array"),
]


def test_an_out_may_be_interleaved() -> None:
    """Axes that lie neither one within the other nor on top of each other."""
    memory = np.zeros(4000, "f4")
    out = np.lib.stride_tricks.as_strided(memory, (1, 2, 3, 2), (4, 8, 16, 12))
    x = filled("float32", (1, 2, 3, 2))
    assert len({2 * i + 4 * j + 3 * k for i, j, k in np.ndindex(2, 3, 2)}) == x.size
    np.testing.assert_array_equal(ops.flip(x, out=out), x[..., ::-1])


@pytest.mark.parametrize("call, message", BAD)
def test_bad_input(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=message):
        call()


@given(arrays(ranks=(4, 4)), st.sampled_from(sorted(OPERATORS)))
def test_any_array(x: np.ndarray, name: str) -> None:
    """The answer of a plain copy, in C order and native, or the library's error; x stays as it is."""
    before = x.tolist() if x.dtype.hasobject else x.tobytes()
    calls = {
        "crop": lambda x: ops.crop(x, (0, 0, x.shape[3] // 2, x.shape[2])),
        "normalize": lambda x: ops.normalize(x, 3, 2),
    }
    call = calls.get(name, OPERATORS[name].call)
    outcomes = []
    for given_ in (x, np.array(x, x.dtype.newbyteorder("="), order="C")):
        try:
            outcomes.append(call(given_))
        except nl.NpuLayoutError as error:
            outcomes.append(type(error))
    assert (x.tolist() if x.dtype.hasobject else x.tobytes()) == before
    got, expected = outcomes
    assert isinstance(got, type) == isinstance(expected, type)
    if isinstance(got, type) or not isinstance(got, np.ndarray):
        return
    if "resize" in name and "nearest" not in name:
        np.testing.assert_allclose(got.astype(float), expected.astype(float), rtol=1e-3, atol=1.01)
    else:
        np.testing.assert_array_equal(got, expected)
