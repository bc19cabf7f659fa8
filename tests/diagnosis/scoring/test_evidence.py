"""How much a candidate explains."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.scoring.evidence import Evidence
from npu_layout.diagnosis.scoring.trials import Trial
from npu_layout.diagnosis.verdicts import causes


def test_a_cause_does_not_gain_at_the_cost_of_quiet_channels() -> None:
    """One loud channel is cut off by the device: an input of less contrast comes nearer, and explains nothing else."""
    rng, spec = np.random.default_rng(4), nl.TensorSpec((1, 8, 64), "NCW", "float32", name="y")
    references = [(rng.normal(size=spec.shape) * np.r_[50, [1] * 7][:, None]).astype(np.float32) for _ in range(6)]
    cut = [np.clip(r, -30, 30) for r in references]
    case = Evidence(spec, cut, references, (), 1)
    fainter = [(r * 0.6).astype(np.float32) for r in references]
    remade = causes.Remade("faint", {}, dict(enumerate(fainter)))
    ranking = case.rank([*causes.declared(case), *causes.other_inputs(case, remade, 1)])
    as_declared, faint = (next(e for e in ranking if e.cause == cause) for cause in ("match", "preprocessing"))
    assert faint.score > as_declared.score and faint.gain < 0, ranking


def floats(seed: int = 0, noise: float = 0.1) -> Evidence:
    rng = np.random.default_rng(seed)
    references = [rng.normal(size=(1, 4, 200)) for _ in range(5)]
    device = [(r + noise * rng.normal(size=r.shape)).astype(np.float32) for r in references]
    return Evidence(nl.TensorSpec((1, 4, 200), "NCW", "float32"), device, references, (), 1)


def test_the_score_is_the_ratio_of_variances() -> None:
    evidence = floats()
    (declared,) = evidence.rank(causes.declared(evidence))
    error = np.stack([b.reshape(r.shape) - r for b, r in zip(evidence.buffers, evidence.references)])
    expected = 10 * np.log10(np.stack(evidence.buffers).var() / (error**2).mean())
    assert declared.cause == "match" and declared.score == pytest.approx(expected, abs=0.1) and 19 < expected < 21
    assert evidence.enough and evidence.values == 1000 and not evidence.settled and floats(noise=0.0).settled


def test_a_candidate_leads_to_its_own_trial() -> None:
    """Also where two have the same words."""
    evidence = floats()
    others = [(r * factor).astype(np.float32) for r in evidence.references for factor in (0.2, 0.6)]
    tried = [
        Trial("preprocessing", "the same words", {"n": n}, evidence.codes, evidence.codes - np.stack(
            [evidence.samples.of(r) for r in others[n::2]]), False, evidence.spec)
        for n in (0, 1)
    ]  # fmt: skip
    ranking = evidence.rank([*causes.declared(evidence), *tried])
    assert [c.fix for c in ranking] == [None, {"n": 1}, {"n": 0}]
    assert all(evidence.trial(c).fix == c.fix for c in ranking)


def test_what_is_measured_once_is_that_of_its_own_values() -> None:
    """Arrays come and go at the same address in memory; the scores of those that are gone are not those of others."""
    evidence, rng = floats(), np.random.default_rng(3)
    for scale in (*rng.uniform(0.01, 2, 60), 0.5, 0.5):
        left = evidence.left * scale
        trial = Trial("layout", "", None, evidence.codes, left, False, evidence.spec)
        y, e = evidence.by_channel(evidence.codes), evidence.by_channel(left)
        expected = 10 * np.log10(y.var(1).mean() / (e * e).mean(1).mean())
        assert evidence.score(trial) == evidence.score(trial) == pytest.approx(expected, rel=1e-12)
        del trial, left, e
    rows = evidence.as_declared([1, 3])
    assert np.array_equal(rows.codes, evidence.codes[[1, 3]]) and evidence.as_declared([1, 3]).left is rows.left
    assert np.array_equal(evidence.as_declared([0]).left, evidence.left[[0]])
    assert evidence.as_declared().left is evidence.left


def test_how_many_values_vary_and_err() -> None:
    evidence = floats()
    x = np.stack([evidence.samples.of(r) for r in evidence.references]).reshape(5, 4, -1)
    squares = np.square(x - x.mean((0, 2), keepdims=True))
    assert evidence.that_vary == pytest.approx(squares.sum() ** 2 / np.square(squares).sum())
    errors = np.square(evidence.left)
    assert evidence.that_err == pytest.approx(errors.sum() ** 2 / np.square(errors).sum())
    assert floats(noise=0.0).that_err < 1000 and evidence.distinct == 1.0
    references = evidence.references[:3] * 2
    again = Evidence(evidence.spec, evidence.buffers[:3] * 2, references, (), 1)
    assert again.distinct == 0.5
    assert np.array_equal(
        np.concatenate(again.raw).view(np.float32), np.concatenate([b.ravel() for b in again.buffers])
    )
