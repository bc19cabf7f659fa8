"""Records of boxes and arithmetics."""

from __future__ import annotations

import numpy as np
import pytest

from npu_layout.kernels import Affine, Arithmetic, Box
from npu_layout.kernels.box import limits


@pytest.mark.parametrize(
    "dtype, expected",
    [
        ("int4", (-8, 7)),
        ("uint4", (0, 15)),
        ("int8", (-128, 127)),
        ("uint16", (0, 65535)),
        ("int64", (-(2**63), 2**63 - 1)),
    ],
)
def test_limits(dtype: str, expected: tuple[int, int]) -> None:
    assert limits(dtype) == expected


def test_an_arithmetic_has_a_value_for_each_channel() -> None:
    made = Affine("C", (1.5,), (1.0, 2.0, 4.0), None, (3.0,), 0).arrays(3)
    assert made.axis == "C" and made.divisor is None and made.float_zero_point is False
    assert made.shift is not None and made.scale is not None and made.zero_point is not None
    assert made.shift.tolist() == [1.5] * 3 and made.scale.tolist() == [1, 2, 4] and made.zero_point.tolist() == [3] * 3
    assert made.shift.dtype == made.scale.dtype == np.float32 and made.zero_point.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        made.scale[0] = 7


def test_what_only_moves() -> None:
    assert Arithmetic("V3", "V3").moves_only and Arithmetic("V3", "V3", Affine().arrays(5)).moves_only
    assert not Arithmetic("int8", "uint8").moves_only
    assert not Arithmetic("int8", "int8", Affine("C", np.zeros(1, np.float32))).moves_only


def test_itemsizes() -> None:
    assert Arithmetic("bfloat16", "float32").itemsizes == (2, 4)
    assert Arithmetic("int4", "V12").itemsizes == (1, 12)


def test_a_box_is_a_tuple_of_loops_and_starts() -> None:
    assert Box(((2, 3, 4, 0),), 5, 6, 7) == (((2, 3, 4, 0),), 5, 6, 7)


def test_zero_points_that_float64_has_not_stay_integers() -> None:
    for values in ((2**53 + 1,), (7, -(2**62) - 1, 2**64 - 1)):
        made = Affine("C", None, None, (1.0,), values).arrays(len(values)).zero_point
        assert made is not None and made.dtype == object and made.tolist() == list(values) and not made.flags.writeable
    for values in ((2**53,), (2**62, -5), (0.5, 3.0)):
        made = Affine("C", None, None, (1.0,), values).arrays(len(values)).zero_point
        assert made is not None and made.dtype == np.float64 and made.tolist() == list(values)
    assert Affine("C", (1.0,)).arrays(2).zero_point is None
