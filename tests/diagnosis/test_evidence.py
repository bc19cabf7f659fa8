"""How much a candidate explains."""

from __future__ import annotations

import numpy as np

import npu_layout as nl
from npu_layout.diagnosis import causes
from npu_layout.diagnosis.evidence import Evidence


def test_a_cause_does_not_gain_at_the_cost_of_quiet_channels() -> None:
    """One loud channel is cut off by the device: an input of less contrast comes nearer, and explains nothing else."""
    rng, spec = np.random.default_rng(4), nl.TensorSpec((1, 8, 64), "NCW", "float32", name="y")
    references = [(rng.normal(size=spec.shape) * np.r_[50, [1] * 7][:, None]).astype(np.float32) for _ in range(6)]
    cut = [np.clip(r, -30, 30) for r in references]
    case = Evidence(spec, cut, references, (), 1)
    fainter = [(r * 0.6).astype(np.float32) for r in references]
    ranking = case.rank([*causes.declared(case), *causes.other_inputs(case, "faint", {}, dict(enumerate(fainter)), 1)])
    as_declared, faint = (next(e for e in ranking if e.cause == cause) for cause in ("match", "preprocessing"))
    assert faint.score > as_declared.score and faint.gain < 0, ranking
