"""Numbers and arrays as callers pass them: what is read, and what is refused by the argument's name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.support import number_arguments


def refused(says: str) -> Any:
    return pytest.raises(nl.NpuLayoutError, match=says)


def test_numbers() -> None:
    assert (
        number_arguments.whole_number("n", np.int8(3)) == 3
        and number_arguments.real_number("x", np.float32(0.5)) == 0.5
    )
    assert (
        number_arguments.whole_number("n", np.array(3)) == 3 and number_arguments.real_number("x", np.array(0.5)) == 0.5
    )
    for bad in (1.5, None, "1"):
        with refused("^n: expected a whole number, got"):
            number_arguments.whole_number("n", bad)
    for bad in (np.nan, np.inf, None, "1", True, 10**400, 1j):
        with refused("^x: expected a finite number, got"):
            number_arguments.real_number("x", bad)
    with refused("^x: expected a number above 0, got 0"):
        number_arguments.real_number("x", 0, above=0)
    with refused("^n: expected a whole number of 1 or more, got True"):
        number_arguments.counted("n", True)


def test_whole_numbers_say_what_was_expected() -> None:
    assert number_arguments.integers("s", np.array([3, 4])) == (3, 4) and number_arguments.integers(
        "s", (True, np.int8(2))
    ) == (1, 2)
    assert all(type(n) is int for n in number_arguments.integers("s", (True, np.int8(2))))
    for bad in ((1, 2.5), 5, None, "12", b"12", bytearray(b"12"), {1, 2}, frozenset((1, 2)), {1: 2}):
        with pytest.raises(nl.LayoutError, match=r"^s: expected extents, got"):
            number_arguments.integers("s", bad, "extents", nl.LayoutError)
    with pytest.raises(nl.LayoutError, match=r"^axis: expected an axis, got '1'"):
        number_arguments.whole_number("axis", "1", "an axis", nl.LayoutError)
    assert number_arguments.counted("k", np.int64(5), 5) == 5
    for bad in (0, 6, True, np.True_, 1.0, None):
        with refused("^k: expected 1 .. 5, got"):
            number_arguments.counted("k", bad, 5, "1 .. 5")


@pytest.mark.parametrize("bad", [b"abcd", {1, 2, 3, 4}, dict.fromkeys("abcd"), {1: 0, 2: 0, 3: 0, 4: 0}, "1234", 4])
def test_whole_numbers_are_in_an_order(bad: object) -> None:
    assert number_arguments.whole_numbers("xywh", [1, 2, 3, 4], 4, 0) == (1, 2, 3, 4)
    with refused("^xywh: expected 4 whole numbers of at least 0, got"):
        number_arguments.whole_numbers("xywh", bad, 4, 0)


def test_released_memory_has_no_numbers() -> None:
    released = memoryview(bytearray(4))
    released.release()
    with refused("^xywh: expected 4 whole numbers of at least 0, got <released memory"):
        number_arguments.whole_numbers("xywh", released, 4, 0)
    with refused("^s: expected extents, got <released memory"):
        number_arguments.integers("s", released, "extents")


def test_numbers_of_each_channel() -> None:
    """The usual cases, which do not become arrays first, are read as all others are."""
    for given in (0.5, 3, [1, 2.5, 3], (1.0, 2.0, 3.0), np.float32([1, 2, 3]), np.int8(7), [[1], [2], [3]], [7]):
        expected = tuple(np.asarray(given, np.float64).reshape(-1).tolist())
        assert number_arguments.per_channel("mean", given, 3) == expected, given
    for bad in (None, "1", True, [], [1, 2], np.nan, [1, 2, np.inf], np.zeros(2), 2**70, [2**70] * 3, 1j):
        with refused("^mean: expected 1 or 3 finite numbers, got"):
            number_arguments.per_channel("mean", bad, 3)


@pytest.mark.parametrize("given", [0, -1, 1025, 100000, True, "4", 1.5, 2**31])
def test_threads_are_so_many_that_a_runtime_starts_them(given: Any) -> None:
    with pytest.raises(nl.NpuLayoutError, match=r"^threads: expected a whole number from 1 to 1024, got"):
        number_arguments.thread_count(given)
    assert number_arguments.thread_count(np.int64(1024)) == 1024


def test_signalling_nans_are_widened_without_a_warning() -> None:
    for bits, dtype in ((np.uint32(0x7F800001), np.float32), (np.uint16(0x7C01), np.float16)):
        x = np.full((2, 3), bits).view(dtype)
        wide = number_arguments.widened(x)
        assert wide.dtype == np.float64 and wide.shape == x.shape and np.isnan(wide).all()
    x = np.ones(3)
    assert not np.shares_memory(number_arguments.widened(x), x)
