"""bfloat16 is float32's upper 16 bits, rounded half to even."""

from __future__ import annotations

import struct
from fractions import Fraction

import numpy as np

from npu_layout.kernels import round_to_bfloat16, widen_bfloat16


def test_all_bits_come_back() -> None:
    every = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
    wide = widen_bfloat16(every)
    assert wide.dtype == np.float32
    assert [struct.unpack("<f", struct.pack("<I", b << 16))[0] for b in (0x3F80, 0xC049)] == wide[
        [0x3F80, 0xC049]
    ].tolist()
    back = round_to_bfloat16(wide)
    number = ~np.isnan(wide)
    np.testing.assert_array_equal(back[number], every[number])
    assert np.isnan(widen_bfloat16(back[~number])).all()


def test_views_keep_their_shape_and_are_not_written() -> None:
    bits = np.arange(24, dtype=np.uint16).reshape(2, 3, 4)[:, ::-1]
    before = bits.copy()
    assert widen_bfloat16(bits).shape == bits.shape and widen_bfloat16(bits[0, 0, 0]).shape == ()
    np.testing.assert_array_equal(bits, before)


def test_the_nearest_is_chosen_and_of_two_the_even_one() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 0x7F00 << 16, 3000, np.uint32)
    x[:1500] = x[:1500] & 0xFFFF0000 | 0x8000  # halfway between two bfloat16 values
    values = x.view(np.float32)
    got = round_to_bfloat16(values)
    for bits, value, chosen in zip(x.tolist(), values.tolist(), got.tolist()):
        low, high = (
            Fraction(float(widen_bfloat16(np.array([b], np.uint16))[0])) for b in (bits >> 16, (bits >> 16) + 1)
        )
        below, above = Fraction(value) - low, high - Fraction(value)
        down = below < above or (below == above and not bits >> 16 & 1)
        assert chosen == (bits >> 16) + (not down), hex(bits)


def test_overflow_is_infinity_and_nan_stays() -> None:
    x = np.array([3.4028235e38, -3.4028235e38, np.inf, -np.inf, np.nan, -0.0], np.float32)
    wide = widen_bfloat16(round_to_bfloat16(x))
    np.testing.assert_array_equal(wide, np.array([np.inf, -np.inf, np.inf, -np.inf, np.nan, -0.0], np.float32))
    assert np.signbit(wide[5])
    nans = np.array([0x7F800001, 0xFF80FFFF, 0x7FFFFFFF], np.uint32).view(np.float32)
    assert np.isnan(widen_bfloat16(round_to_bfloat16(nans))).all()
