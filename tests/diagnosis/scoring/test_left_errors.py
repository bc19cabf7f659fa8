"""What a candidate leaves: a curve of the model's values or noise, and what is left between the ends of the range."""

from __future__ import annotations

import math

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.scoring.evidence import Evidence
from npu_layout.diagnosis.scoring.left_errors import bent, within_range
from npu_layout.diagnosis.scoring.trials import Candidate, Trial
from npu_layout.diagnosis.verdicts import causes

SHAPE = (1, 4, 300)


def judged(
    spec: nl.TensorSpec, stored: list[np.ndarray], model: list[np.ndarray], left: float | None = None
) -> tuple[Evidence, Candidate]:
    """Evidence, and the candidate of the declared reading; left: of one that predicts so many times the model."""
    evidence = Evidence(spec, stored, model, (), 1)
    if left is None:
        return evidence, evidence.rank(causes.declared(evidence))[0]
    made = np.clip(left * evidence.wanted / 0.05, -128, 127)
    trial = Trial("quantization", "", None, evidence.codes, evidence.codes - made, True, spec)
    ranking = evidence.rank([*causes.declared(evidence), trial])
    return evidence, next(c for c in ranking if c.cause == "quantization")


@pytest.mark.parametrize("curve", [0.0, 0.05, 0.1, 0.3])
def test_the_share_of_an_error_that_depends_on_the_value(curve: float) -> None:
    """x * x - 1 has the variance 2, and is no line of x."""
    rng = np.random.default_rng(3)
    model = [rng.standard_normal(SHAPE).astype(np.float32) for _ in range(6)]
    device = [(x + curve * (x * x - 1) + rng.normal(0, 0.1, SHAPE)).astype(np.float32) for x in model]
    found = bent(*judged(nl.TensorSpec(SHAPE, "NCW", "float32"), device, model))
    share = 2 * curve**2 / (2 * curve**2 + 0.01)
    assert share - 0.2 < found < share + 0.02, (found, share)


def test_an_error_of_few_values_depends_on_nothing() -> None:
    rng = np.random.default_rng(3)
    model = [rng.standard_normal((1, 4, 60)).astype(np.float32)]
    device = [(x + 0.3 * (x * x - 1)).astype(np.float32) for x in model]
    assert bent(*judged(nl.TensorSpec((1, 4, 60), "NCW", "float32"), device, model)) == 0.0


def test_what_rounding_leaves_of_few_steps_is_no_curve() -> None:
    """Values below a step are always rounded in the same way: that counts only if it is asked for."""
    rng = np.random.default_rng(3)
    model = [rng.uniform(-2, 2, SHAPE).astype(np.float32) for _ in range(6)]
    spec = nl.TensorSpec(SHAPE, "NCW", "int8", quantization=nl.Quantization(1.0))
    evidence, candidate = judged(spec, [spec.pack(x) for x in model], model)
    assert bent(evidence, candidate) < 0.05 < 0.5 < bent(evidence, candidate, rounding=0.0)


def test_what_is_explained_between_the_ends_of_the_range() -> None:
    """A device that stores twice the model's values, of which many are clamped at 127."""
    rng = np.random.default_rng(4)
    model = [rng.normal(0, 3, SHAPE).astype(np.float32) for _ in range(5)]
    spec = nl.TensorSpec(SHAPE, "NCW", "int8", quantization=nl.Quantization(0.05))
    stored = [spec.pack((2 * x + rng.normal(0, 0.3, SHAPE)).astype(np.float32)) for x in model]
    evidence, candidate = judged(spec, stored, model, left=2.0)
    codes, left = [], []
    for code, wanted, declared in zip(evidence.codes.ravel(), evidence.wanted.ravel(), evidence.left.ravel()):
        predicted = min(max(2 * wanted / 0.05, -128), 127)
        if -128 < predicted < 127 and predicted != code - declared:
            codes.append(code)
            left.append(code - predicted)
    expected = 10 * math.log10(np.var(codes) / np.mean(np.square(left)))
    assert 100 < len(codes) < evidence.codes.size and 10 < expected < 30
    assert within_range(evidence, candidate) == pytest.approx(expected, abs=1e-6)


def test_floats_and_what_is_nowhere_clamped_are_not_cut() -> None:
    rng = np.random.default_rng(5)
    model = [rng.uniform(-1, 1, SHAPE).astype(np.float32) for _ in range(5)]
    spec = nl.TensorSpec(SHAPE, "NCW", "int8", quantization=nl.Quantization(0.05))
    assert within_range(*judged(spec, [spec.pack(2 * x) for x in model], model, left=2.0)) == math.inf
    assert within_range(*judged(nl.TensorSpec(SHAPE, "NCW", "float32"), model, model)) == math.inf
    assert within_range(*judged(spec, [spec.pack(90 * x) for x in model], model, left=1e6)) == -math.inf
