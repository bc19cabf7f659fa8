"""Codes in the order of their values, and thresholds among them, against Python's own numbers."""

from __future__ import annotations

import math
import random
import struct

import numpy as np
import pytest

from npu_layout.kernels.detecting import codes, half_and_zero, least_code, least_float


def value(bits: int, dtype: str) -> float:
    """The number that 16 stored bits stand for."""
    if dtype == "float16":
        return float(struct.unpack("<e", struct.pack("<H", bits))[0])
    if dtype == "bfloat16":
        return float(struct.unpack("<f", struct.pack("<I", bits << 16))[0])
    return float(struct.unpack({"int16": "<h", "uint16": "<H"}[dtype], struct.pack("<H", bits))[0])


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [("int8", -128, 127), ("uint8", 0, 255), ("int16", -(2**15), 2**15 - 1)]
)
def test_codes_of_integers_are_all_of_them(dtype: str, low: int, high: int) -> None:
    found = codes(dtype)
    assert found is not None and found.dtype == dtype and found.tolist() == list(range(low, high + 1))


@pytest.mark.parametrize(
    ("dtype", "half", "zero"), [("int8", 128, 0), ("uint8", 128, 128), ("int16", 32768, 0), ("uint16", 32768, 32768)]
)
def test_half_of_the_codes_are_below_that_of_zero(dtype: str, half: int, zero: int) -> None:
    found = codes(dtype)
    assert found is not None and half_and_zero(dtype) == (half, zero) == (len(found) // 2, int(found[half]))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "uint16"])
def test_codes_sort_as_their_values(dtype: str) -> None:
    """From -infinity to infinity by value, minus zero at the place of zero; NaN is outside, and nothing is twice."""
    found = codes(dtype)
    assert found is not None and len(found) == 65536
    values = [value(int(bits), dtype) for bits in found]
    if dtype == "uint16":
        assert values == list(range(65536))
        return
    finite = [i for i, v in enumerate(values) if not math.isnan(v)]
    assert finite == list(range(finite[0], finite[-1] + 1))
    inside = [values[i] for i in finite]
    assert inside == sorted(inside) and inside[0] == -math.inf and inside[-1] == math.inf
    assert values[32768] == 0 and len({int(bits) for bits in found}) >= 65535
    wanted = {bits for bits in range(65536) if not math.isnan(value(bits, dtype))} - {0x8000}
    assert wanted <= {int(found[i]) for i in finite}


@pytest.mark.parametrize("dtype", ["float32", "int32", "float64"])
def test_other_dtypes_have_no_table(dtype: str) -> None:
    assert codes(dtype) is None


def test_the_first_code_that_passes() -> None:
    rng = random.Random(0)
    for _ in range(200):
        count = rng.choice([2, 16, 256])
        values = sorted(rng.choice([-1.5, 0.0, 0.25, 0.5, 1.0, 7.0]) for _ in range(count))
        bound = rng.choice([-2.0, -1.5, 0.1, 0.25, 0.6, 7.0, 8.0])
        passing = [i for i, v in enumerate(values) if v >= bound]
        assert least_code(np.array(values), bound) == (passing[0] if passing else count) - count // 2


def test_nan_counts_as_greater() -> None:
    values = np.array([0.0, 1.0, math.nan, math.nan])
    assert least_code(values, 2.0) == 2 - 2 and least_code(values, 0.5) == 1 - 2


def place(single: float) -> int:
    """Where a float32 sorts: its sign and magnitude."""
    (bits,) = struct.unpack("<I", struct.pack("<f", single))
    return -(bits & 0x7FFFFFFF) if bits >> 31 else int(bits)


@pytest.mark.parametrize(
    "bound", [0.0, -0.0, 1.0, -1.0, 0.1, -0.1, 1e-45, -1e-45, 1e-50, 1e40, -1e40, math.inf, -math.inf]
)
def test_no_float_that_passes_is_below(bound: float) -> None:
    """Whatever is at least the bound sorts there or above, and at most one float32 that is not does; most bounds are no
    float32 themselves."""
    least = least_float(bound)
    rng = random.Random(1)
    near = [least + k for k in range(-3, 4)] + [rng.randrange(-0x7F800000, 0x7F800001) for _ in range(300)]
    for number in near:
        if abs(number) > 0x7F800000:
            continue  # NaN
        bits = -number | 0x80000000 if number < 0 else number
        single = struct.unpack("<f", struct.pack("<I", bits))[0]
        assert place(single) == number
        if single >= bound:
            assert number >= least, (bound, number, single)
        elif number > least:
            raise AssertionError(f"{single} sorts above the place of {bound}")
