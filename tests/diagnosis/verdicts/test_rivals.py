"""Two candidates of one output: on whose side the data are."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.scoring.evidence import Evidence
from npu_layout.diagnosis.scoring.trials import Candidate, Trial
from npu_layout.diagnosis.verdicts import causes
from npu_layout.diagnosis.verdicts.rivals import alike, differs, distance, is_everywhere, sides

NOISE = 0.1


def compared(
    *factors: float, made: float = 1.0, rows: tuple[int, ...] | None = None
) -> tuple[Evidence, dict[float, Candidate]]:
    """Return so many times the model's values with noise, and a candidate for each factor that may be meant."""
    rng = np.random.default_rng(0)
    references = [rng.normal(size=(1, 4, 200)) for _ in range(5)]
    device = [(made * r + NOISE * rng.normal(size=r.shape)).astype(np.float32) for r in references]
    evidence = Evidence(nl.TensorSpec((1, 4, 200), "NCW", "float32"), device, references, (), 1)
    at = list(range(5) if rows is None else rows)
    codes, wanted = evidence.codes[at], evidence.wanted[at]
    trials = [
        Trial("preprocessing", f"{f} times", {"f": f}, codes, codes - f * wanted, False, evidence.spec, rows=rows)
        for f in factors
    ]
    ranking = evidence.rank([*causes.declared(evidence), *trials])
    return evidence, {c.fix["f"]: c for c in ranking if c.fix is not None}


def test_the_data_are_on_the_side_of_what_they_are_made_of() -> None:
    evidence, found = compared(0.2, 0.6, 1.0)
    assert sides(evidence, found[1.0], found[0.2]) == pytest.approx(0, abs=0.05)
    assert sides(evidence, found[0.2], found[1.0]) == pytest.approx(1, abs=0.05)
    assert sides(evidence, found[0.6], found[0.2]) == pytest.approx(-1, abs=0.1)  # beyond the first
    both, others = compared(0.8, 1.2)
    assert sides(both, others[0.8], others[1.2]) is None  # in the middle


def test_distance_is_a_share_of_the_noise() -> None:
    evidence, found = compared(1.0, 1.05, 1.0001)
    power = float(np.square(evidence.wanted).mean())
    noise = float(np.square(evidence.left).mean())
    assert distance(evidence, found[1.0], found[1.05]) == pytest.approx(0.05**2 * power / noise, rel=0.05)
    assert alike(evidence, found[1.0], found[1.0001]) and not alike(evidence, found[1.0], found[1.05])


def test_only_the_frames_of_both_are_compared() -> None:
    evidence, found = compared(1.0, 0.5, rows=(1, 3))
    assert sides(evidence, found[1.0], found[0.5]) == pytest.approx(0, abs=0.05)


def test_what_differs_from_the_declared_reading() -> None:
    evidence, found = compared(0.5, 0.98, made=0.5)
    assert differs(evidence, found[0.5]) and not differs(evidence, found[0.98])


@pytest.mark.parametrize("of", ["frames", "channels"])
def test_what_is_at_a_candidate_on_average_is_not_everywhere(of: str) -> None:
    """The data are at 1.2 times the model's values in all parts, or at 1.0 in some and at 1.4 in the others."""
    for others, everywhere in ((1.2, True), (1.4, False)):
        rng = np.random.default_rng(1)
        references = [rng.normal(size=(1, 4, 200)) for _ in range(6)]
        factors = np.full((6, 4), 2.4 - others)
        factors[(slice(0, 3), slice(None)) if of == "frames" else (slice(None), slice(0, 2))] = others
        made = [f.reshape(1, 4, 1) * r + 0.01 * rng.normal(size=r.shape) for f, r in zip(factors, references)]
        device = [x.astype(np.float32) for x in made]
        evidence = Evidence(nl.TensorSpec((1, 4, 200), "NCW", "float32"), device, references, (), 1)
        left = evidence.codes - 1.2 * evidence.wanted
        ranking = evidence.rank([*causes.declared(evidence), evidence.tried("preprocessing", "", left, {})])
        candidate = next(c for c in ranking if c.cause == "preprocessing")
        assert candidate.leans == pytest.approx(1, abs=0.05)
        assert is_everywhere(evidence, candidate, 6) == everywhere
        assert not is_everywhere(evidence, candidate, 7)
