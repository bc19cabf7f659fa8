"""concat_channels, split_channels, crop, pad and flip."""

from __future__ import annotations

import math
from typing import Any, Callable

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import ops
from tests.support.operators import FORMS, SHAPE, filled, lies_as, ordered


def test_split_channels_between_the_channels_of_its_input() -> None:
    both = np.arange(128, dtype=np.float32).reshape(1, 4, 4, 8)
    x, between = both[..., ::2].transpose(0, 3, 1, 2), both[..., 1::2].transpose(0, 3, 1, 2)
    expected = x.copy()
    ops.split_channels(x, (1, 3), out=(between[:, :1], between[:, 1:]))
    np.testing.assert_array_equal(between, expected)
    np.testing.assert_array_equal(x, expected)


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


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: ops.crop(np.zeros(SHAPE), (3, 0, 4, 4)), "expected a rectangle within 6 x 4 pixels, got"),
    (lambda: ops.crop(np.zeros(SHAPE), (-1, 0, 4, 4)), "4 whole numbers"),
    (lambda: ops.crop(np.zeros(SHAPE), (0.5, 0, 4, 4)), "4 whole numbers"),  # type: ignore[arg-type]
    (lambda: ops.crop(np.zeros(SHAPE), 3), "4 whole numbers"),  # type: ignore[arg-type]
    (lambda: ops.pad(np.zeros(SHAPE), (1, 2, 3)), "4 whole numbers"),
    (lambda: ops.pad(np.zeros(SHAPE, np.uint8), (1, 2, 3, 4), 256), "that uint8 can represent"),
    (lambda: ops.pad(np.zeros(SHAPE, np.uint8), (1, 2, 3, 4), [1, 2]), "1 or 5 numbers"),
    (lambda: ops.pad(np.zeros(SHAPE), (1, 2, 3, 4), None), "5 numbers that float64 can represent, got None"),
    (lambda: ops.pad(np.zeros(SHAPE), (1, 2, 3, 4), "1"), "5 numbers that float64 can represent, got '1'"),
    (lambda: ops.pad(np.zeros(SHAPE, np.int8), (1, 2, 3, 4), math.nan), "that int8 can represent"),
    (lambda: ops.pad(np.zeros(SHAPE, np.float16), (1, 2, 3, 4), 1e9), "that float16 can represent"),
    (lambda: ops.split_channels(np.zeros(SHAPE), (2, 2)), "expected a sum of 5, the channels of x"),
    (lambda: ops.split_channels(np.zeros(SHAPE), (2, 3), out=(np.zeros((2, 2, 4, 6)),)), "2 arrays.*got 1$"),
    (lambda: ops.split_channels(np.zeros(SHAPE), 3), "sizes: expected whole numbers"),  # type: ignore[arg-type]
    (lambda: ops.concat_channels([]), "one or more arrays"),
    (lambda: ops.concat_channels([np.zeros(SHAPE), np.zeros(SHAPE, "f4")]), "as the first array has"),
    (lambda: ops.concat_channels([np.zeros(SHAPE), np.zeros((2, 5, 4, 7))]), "as the first array has"),
]


@pytest.mark.parametrize("call, message", BAD)
def test_bad_input(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=message):
        call()
