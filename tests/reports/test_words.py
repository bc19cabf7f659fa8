"""Numbers and words of a report."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from npu_layout.comparison import Clamped
from npu_layout.reports.words import bound, clamped, decibels, exact, found_text, number, passing, spoken, tolerance


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_reads_back_as_itself(value: float) -> None:
    assert float(exact(value)) == value
    short = float(f"{value:.6g}")
    assert not math.isfinite(short) or exact(short) == f"{value:.6g}"


def test_words() -> None:
    assert [decibels(x) for x in (200.0, -200.0, -0.04, 12.345)] == ["equal", "no signal", "0.0 dB", "12.3 dB"]
    assert spoken("output_order") == "output order"
    assert [number(x) for x in (0.0, 1234.5678, 1e-9)] == ["0", "1235", "1e-09"]


def test_a_tolerance_says_on_which_side_it_is_met() -> None:
    assert [bound(name) for name in ("min_snr_db", "min_cosine", "max_abs", "max_steps")] == [
        *["at least"] * 2,
        *["at most"] * 2,
    ]
    assert tolerance("max_abs", 0.25) == "max_abs: at most 0.25"
    assert tolerance("min_cosine", 0.9999999) == "min_cosine: at least 0.9999999"  # it was "at least 1"
    assert tolerance("min_snr_db", 10.0) == "min_snr_db: at least 10"


@pytest.mark.parametrize("verdict", ["match", "ambiguous", "mismatch", "layout"])
def test_tolerances_that_would_pass_are_offered_beside_no_fault(verdict: str) -> None:
    words = passing(verdict, {"min_snr_db": 12.0, "max_abs": 1.2345678})
    assert words == ("min_snr_db=12, max_abs=1.2345678" if verdict in ("match", "ambiguous") else "")


def test_a_larger_scale_is_no_advice_where_the_range_begins_at_zero() -> None:
    below, both = Clamped(5, 0, 0.5, 6.2), Clamped(4, 1, 0.5, 6.2)
    for dtype, zero_point, other in (("int8", -128, 3), ("uint8", 0, 3), ("uint8", [0, 0], [0, 3])):
        scale, axis = (0.1, None) if np.isscalar(zero_point) else ([0.1, 0.2], 1)
        spec, shifted = (
            nl.TensorSpec((1, 2), "NC", dtype, quantization=nl.Quantization(scale, zero, axis=axis))
            for zero in (zero_point, other)
        )
        assert "ended in a ReLU" in clamped(below, 1000, spec)
        for found, of in ((both, spec), (below, shifted)):
            assert clamped(found, 1000, of).endswith("or take a larger scale")


def test_clamped_values_name_the_ends_that_they_are_stored_as() -> None:
    spec = nl.TensorSpec((1, 4, 2, 2), dtype="uint8", quantization=nl.Quantization(0.1, 3))
    for found, ends in ((Clamped(2, 3, 0.5, 6.25), "0 or 255"), (Clamped(0, 5, 0.5, 6.25), "255")):
        words = clamped(found, 1000, spec)
        assert words.startswith(f"clamped: 5 of 1000 values (0.5 %) are stored as {ends}, an end of uint8")
        assert "by up to 0.5 (6.2 steps)" in words


def test_a_figure_is_on_its_side_of_the_tolerance() -> None:
    """A cosine of 0.99999995 was "found 1, NOT met" where at least 0.9999999999 was asked."""
    rng = np.random.default_rng(0)
    for asked in (1.0, 0.9999999, 0.5, 10.0, 3e-7):
        for found in (asked, *(asked * (1 + rng.normal(0, 1, 200) * 10.0 ** rng.uniform(-13, 0, 200)))):
            text = float(found_text(found, asked))
            assert (text > asked, text == asked) == (found > asked, found == asked), (found, asked)
    assert found_text(43.86795, 10.0) == "43.868" and found_text(0.99999995, 0.9999999999) == "0.99999995"
