"""Where results may be written, against the addresses of the elements one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from npu_layout.layouts import check_distinct, check_out, near, overlap, without_overlap

SLICES = st.builds(slice, st.integers(0, 30), st.integers(0, 40), st.integers(1, 7))


def bytes_of(x: np.ndarray) -> set[int]:
    start = x.__array_interface__["data"][0]
    return {start + i * x.strides[0] + byte for i in range(x.size) for byte in range(x.itemsize)}


@given(SLICES, SLICES)
def test_overlap_and_near_are_what_the_addresses_are(first: slice, second: slice) -> None:
    memory = np.zeros(40, np.int16)
    a, b = memory[first], memory[second]
    own, other = bytes_of(a), bytes_of(b)
    assert overlap(a, b) is bool(own & other)
    meet = bool(own and other and min(own) <= max(other) and min(other) <= max(own))
    assert near(a, [b]) is meet and near(a, [np.zeros(3), b]) is meet and not near(a, [])
    result = without_overlap(a, b)
    assert (result is a) is not meet and result.tolist() == a.tolist()
    assert not near(result, [b])


def what() -> str:
    return "a test"


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ([0, 0, 0], "out for a test: expected a numpy array, got list"),
        (np.zeros(3), "out for a test: expected dtype int32, got float64"),
        (np.zeros(4, np.int32), r"out for a test: expected shape \(3,\), got \(4,\)"),
        (np.ma.zeros(3, np.int32), "out for a test: masked array: its mask would be lost"),
        (np.frombuffer(bytes(12), np.int32), r"out for a test is read-only; expected a writable array of \(3,\)"),
    ],
)
def test_an_out_that_does_not_fit(out: Any, message: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=message):
        check_out(out, (3,), np.dtype(np.int32), None, what)


def test_an_out_that_is_the_input() -> None:
    x = np.zeros(6, np.int32)
    with pytest.raises(nl.NpuLayoutError, match="out for a test shares memory with the input"):
        check_out(x[1:4], (3,), x.dtype, x, what)
    evens, odds = x[::2], x[1::2]
    assert check_out(evens, (3,), x.dtype, odds, what) is evens  # between each other, but no element is shared


def test_elements_that_overlap() -> None:
    x = np.zeros((3, 4), np.int32)
    assert check_distinct(x[::-1, ::2], what).shape == (3, 2)
    with pytest.raises(nl.NpuLayoutError, match=r"elements overlap, shape \(2, 3, 4\) and strides \(0, 16, 4\)"):
        check_distinct(np.broadcast_to(x, (2, 3, 4)), what)


def test_what_is_too_costly_to_find_out_counts_as_overlap() -> None:
    """numpy's own example of a problem that takes minutes."""
    memory = np.empty(192_163_377, np.int8)  # never touched
    strided = np.lib.stride_tricks.as_strided
    first = strided(memory, (1049, 1049, 1049), (36674, 61119, 85569))
    second = strided(memory[64_023_025:], (1049, 1049, 1), (12223, 12224, 1))
    assert overlap(first, second) and near(first, [second])


def test_an_out_of_its_own_is_returned_as_it_is() -> None:
    out, x = np.zeros((2, 3)), np.zeros((2, 3))
    assert check_out(out, (2, 3), out.dtype, x, what) is out and check_out(out, (2, 3), out.dtype, None, what) is out
    assert check_distinct(out, what) is out
