"""nl.ops against scalar loops: values, dtypes, formats that are kept, out=, and refusals, for every operator alike."""

from __future__ import annotations

import itertools
import math
from typing import Any, Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from npu_layout import ops
from tests.support.arrays import arrays
from tests.support.operators import (
    CASES,
    FLOATS,
    FORMS,
    OPERATORS,
    PLAIN,
    READ,
    SCALE,
    SHAPE,
    VIEWS,
    assert_equal,
    filled,
    lies_as,
    marks,
    ordered,
    pixels,
    ranked,
    side_by_side,
    whole,
)


@pytest.mark.parametrize("name, dtype", CASES)
def test_operator(name: str, dtype: str) -> None:
    """Values, dtype, and the format of the input, however it is stored; the input stays as it was."""
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
    """An out keeps its own format, whatever the input's; what is between its elements stays."""
    op, values = OPERATORS[name], filled(dtype)
    reference = op.call(values)
    for given_as, form in itertools.product(("NCHW", "NHWC", "NWHC", "sliced", "Tensor CHWN"), FORMS):
        x = FORMS[given_as](values)
        out = FORMS[form](np.zeros(reference.shape, reference.dtype))
        base, strides = whole(out), out.strides
        inside = np.zeros(base.shape, bool)
        marks(out, base, inside)
        before = base.copy()
        assert op.call(x, out=out) is out
        assert out.strides == strides
        if "resize" in name:
            assert_equal(out, reference, op, values)
        else:
            np.testing.assert_array_equal(out, reference, f"{given_as} {form}")
        np.testing.assert_array_equal(base[~inside], before[~inside])
        np.testing.assert_array_equal(x, values)


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
def test_out_may_be_interleaved_with_the_input(dtype: str) -> None:
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


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: ops.sigmoid(np.zeros((3, 4, 5))), r"axes N, C, H and W, got shape \(3, 4, 5\)"),
    (lambda: ops.flip(np.zeros(60)), r"got shape \(60,\); of a stored buffer give spec.view"),
    (lambda: ops.sigmoid(nl.Tensor(np.zeros((1, 2, 3, 4)), nl.Layout("NHWC", axes="NHWC"))), "axes NCHW, got NHWC"),
    (lambda: ops.sigmoid(np.zeros(SHAPE, complex)), "real numbers, got dtype complex128"),
    (lambda: ops.flip(np.zeros(SHAPE, object)), "real numbers, got dtype object"),
    (lambda: ops.flip(np.zeros(SHAPE, "M8[s]")), "real numbers"),
    (lambda: ops.flip(np.ma.zeros(SHAPE)), "masked array"),
    (lambda: ops.flip([[1, 2], [3]]), "expected an array"),
    (lambda: ops.result_layout([1]), "result_layout: inputs: expected a numpy array, got list"),
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
    """Axes that are neither one within the other nor on top of each other."""
    memory = np.zeros(4000, "f4")
    out = np.lib.stride_tricks.as_strided(memory, (1, 2, 3, 2), (4, 8, 16, 12))
    x = filled("float32", (1, 2, 3, 2))
    assert len({2 * i + 4 * j + 3 * k for i, j, k in np.ndindex(2, 3, 2)}) == x.size
    np.testing.assert_array_equal(ops.flip(x, out=out), x[..., ::-1])


@pytest.mark.parametrize("call, message", BAD)
def test_bad_input(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=message):
        call()


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_a_true_of_any_byte_is_1(name: str) -> None:
    odd = np.random.default_rng(0).choice(np.uint8([0, 1, 2, 255]), SHAPE).view(bool)
    outcomes: list[Any] = []
    for x in (odd, odd.view(np.uint8) != 0):
        try:
            found = OPERATORS[name].call(x)
        except nl.NpuLayoutError as error:
            found = str(error)
        outcomes.append(found if isinstance(found, tuple) else (found,))
    assert [np.asarray(part).tolist() for part in outcomes[0]] == [np.asarray(part).tolist() for part in outcomes[1]]


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
