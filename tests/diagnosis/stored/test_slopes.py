"""Whether small and large values ask for one scale, of devices that cut some, and of devices that do not."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.scoring.evidence import Evidence
from npu_layout.diagnosis.scoring.trials import Trial
from npu_layout.diagnosis.stored.slopes import halves, halves_by_sums, is_of_two_scales

LETTERS = {2: "NC", 3: "NCW", 4: "NCHW"}


def evidence(shape: tuple[int, ...], noise: str, cut: float | None, seed: int, *, frames: int = 6) -> Evidence:
    """A device that stores in steps of 0.02, with noise of a tenth, what it cuts at so many deviations."""
    rng = np.random.default_rng(seed)
    model = [rng.standard_normal(shape).astype(np.float32) for _ in range(frames)]
    spec = nl.TensorSpec(shape, LETTERS[len(shape)], "int8", quantization=nl.Quantization(0.035, 0))
    device = []
    for x in model:
        e = 0.2 * rng.standard_normal(shape)
        if noise == "of maps":
            e = 0.2 * rng.standard_normal((*shape[:2], *(1,) * (len(shape) - 2))) + 0 * e
        y = x + e * (x if noise == "in proportion" else 1)
        device.append(y if cut is None else np.clip(y, -cut, cut))
    return Evidence(spec, [spec.pack(y.astype(np.float32)) for y in device], model, (), 1)


def fitted(found: Evidence) -> Trial:
    """The trial of the scale through the zero point that leaves least."""
    x = found.wanted / 0.035
    slope = float((x * found.codes).sum() / (x * x).sum())
    spec = found.spec.replace(quantization=nl.Quantization(0.035 / slope, 0))
    return Trial("quantization", "", spec, found.codes, found.codes - slope * x, True, spec, parameters=1)


@pytest.mark.parametrize(
    ("shape", "noise"),
    [
        *product([(1, 64), (1, 6, 40), (1, 16, 6, 6)], ["white", "in proportion"]),
        *product([(1, 64), (1, 16, 6, 6)], ["of maps"]),  # rows are no maps
    ],
)
def test_of_noise_alone_both_halves_have_one_scale(shape: tuple[int, ...], noise: str) -> None:
    found = [evidence(shape, noise, None, seed) for seed in range(40)]
    assert not any(is_of_two_scales(e, fitted(e)) for e in found)
    off = [h.off / h.variance**0.5 for e in found for h in halves(e, fitted(e))]
    assert 0.5 < float(np.std(off)) < 1.5  # the variance is the one that the slopes have


@pytest.mark.parametrize("shape", [(1, 64), (1, 6, 40), (1, 16, 6, 6)])
@pytest.mark.parametrize("noise", ["white", "in proportion"])
def test_a_device_that_cuts_its_values_has_two_scales(shape: tuple[int, ...], noise: str) -> None:
    for seed in range(10):
        found = evidence(shape, noise, 1.0, seed)
        inner, outer = halves(found, fitted(found))
        assert is_of_two_scales(found, fitted(found))
        assert outer.off < 0 < inner.off


def test_two_values_prove_nothing() -> None:
    found = evidence((1, 2), "white", 0.1, 0, frames=1)
    assert not is_of_two_scales(found, fitted(found))


def test_scales_of_channels_are_not_judged() -> None:
    found = evidence((1, 64), "white", 1.0, 0)
    assert not is_of_two_scales(found, fitted(found)._replace(parameters=64))


@pytest.mark.parametrize("shape", [(1, 64), (1, 6, 40), (1, 16, 6, 6)])
@pytest.mark.parametrize("scale", [0.035, 0.0175, 0.28])
def test_sums_say_what_the_values_say(shape: tuple[int, ...], scale: float) -> None:
    found = evidence(shape, "in proportion", 1.0, 3)
    spec = found.spec.replace(quantization=nl.Quantization(scale, -5))
    left = found.codes - (found.wanted / scale - 5)
    trial = Trial("layout", "", spec, found.codes, left, False, spec)
    by_sums = halves_by_sums(found, found.by_channel(found.codes), scale, -5)
    np.testing.assert_allclose(by_sums, halves(found, trial), rtol=1e-9)
