"""Fitted scales, zero points and lines that are the declared ones but for some per cent, and those that are not."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis import slight_scales
from npu_layout.diagnosis.evidence import Evidence
from npu_layout.diagnosis.trials import Trial

SHAPE = (1, 4, 12, 12)
EACH = nl.Quantization(np.full(4, 0.05), np.zeros(4, int), axis=1)
ALL = nl.Quantization(0.05)


def evidence(quantization: nl.Quantization) -> Evidence:
    """A device that stores what the model returns, and its declared quantization."""
    rng = np.random.default_rng(5)
    model = [rng.standard_normal(SHAPE).astype(np.float32) for _ in range(4)]
    spec = nl.TensorSpec(SHAPE, "NCHW", "int8", quantization=quantization)
    return Evidence(spec, [spec.pack(y) for y in model], model, (), 1)


def trial(found: Evidence, **changes: object) -> Trial:
    """The candidate that the output is as declared but for these fields of its spec."""
    spec = found.spec.replace(**changes)
    codes, left = found.read_as(spec, found.wanted)
    return Trial("quantization", "", spec, codes, left, True, spec, parameters=1)


@pytest.mark.parametrize(
    ("scale", "zero_point", "slight"),
    [(1.3, 0, True), (1 / 1.3, 0, True), (1.7, 0, False), (1 / 1.7, 0, False), (1.0, 3, True), (1.0, 40, False)],
)
def test_one_scale_and_zero_point(scale: float, zero_point: int, slight: bool) -> None:
    found = evidence(ALL)
    other = trial(found, quantization=nl.Quantization(0.05 * scale, zero_point))
    assert slight_scales.is_slight(found, other) == slight
    assert not slight_scales.is_slight(found, other, 1.0001) or scale == 1.0


def test_another_dtype_or_none_is_no_slight_change() -> None:
    found = evidence(ALL)
    assert not slight_scales.is_slight(found, trial(found, dtype="uint8"))
    assert not slight_scales.is_slight(found, trial(found, quantization=None))


@pytest.mark.parametrize(("slope", "offset", "slight"), [(0.9, 0.0, True), (0.5, 0.0, False), (1.0, 2.0, False)])
def test_a_line(slope: float, offset: float, slight: bool) -> None:
    found = evidence(ALL)
    line = trial(found)._replace(line=(slope, offset))
    assert slight_scales.is_slight(found, line) == slight


@pytest.mark.parametrize(
    ("factors", "some"),
    [([1, 1, 1, 1.3], True), ([1, 1.3, 1.3, 1.3], False), ([1, 1, 1, 1.05], False), ([1, 1, 1, 2.0], False)],
)
def test_some_channels(factors: list[float], some: bool) -> None:
    found = evidence(EACH)
    other = trial(found, quantization=nl.Quantization(0.05 * np.array(factors), np.zeros(4, int), axis=1))
    assert slight_scales.is_of_some_channels(found, other) == some
    assert slight_scales.has_scales_of_channels(other.spec)
    assert not slight_scales.is_of_some_channels(evidence(ALL), trial(evidence(ALL), quantization=EACH))


@pytest.mark.parametrize(("shrinks", "slight"), [(1.4, True), (2.5, False)])
def test_channels_that_shrink_to_their_means(shrinks: float, slight: bool) -> None:
    """Far from zero the zero point moves with the scale; as far without it, it is another zero point."""
    rng, means = np.random.default_rng(6), np.array([0.0, 3.0, -4.0, 5.0]).reshape(1, 4, 1, 1)
    model = [(means + 0.2 * rng.standard_normal(SHAPE)).astype(np.float32) for _ in range(4)]
    spec = nl.TensorSpec(SHAPE, "NCHW", "int8", quantization=EACH)
    found = Evidence(spec, [spec.pack(y) for y in model], model, (), 1)
    scales = np.array([0.05, 0.05, 0.05, 0.05 * shrinks])
    moved = np.rint(means.ravel() / 0.05 - means.ravel() / scales).astype(int)
    assert abs(moved[3]) > 20
    for zero_points, expected in ((moved, slight), (-moved, False)):
        q = nl.Quantization(scales, zero_points, axis=1)
        assert slight_scales.is_slight(found, trial(found, quantization=q)) == expected
