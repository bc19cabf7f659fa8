"""A board whose output is off by a factor or noise, and the candidate of another scale."""

from __future__ import annotations

import numpy as np

import npu_layout as nl
from npu_layout.diagnosis.scoring.evidence import Evidence
from npu_layout.diagnosis.scoring.trials import Candidate, Trial

SHAPE = (1, 4, 12, 12)
SPEC = nl.TensorSpec(SHAPE, "NCHW", "int8", quantization=nl.Quantization(0.05))


def evidence(factor: float = 1.0, *, noise: float = 0.0) -> Evidence:
    """A device that stores the model's values times a factor."""
    rng = np.random.default_rng(5)
    model = [rng.standard_normal(SHAPE).astype(np.float32) for _ in range(4)]
    device = [(factor * x + noise * rng.standard_normal(SHAPE)).astype(np.float32) for x in model]
    return Evidence(SPEC, [SPEC.pack(y) for y in device], model, (), 1)


def scaled(found: Evidence, factor: float) -> Candidate:
    """The candidate of another scale, after the declared one."""
    spec = SPEC.replace(quantization=nl.Quantization(0.05 * factor))
    codes, left = found.read_as(spec, found.wanted)
    declared = found.as_declared()
    ranking = found.rank([declared, Trial("quantization", "", spec, codes, left, True, spec, parameters=1)])
    return next(c for c in ranking if c.cause == "quantization")


def stored() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """What a device stores of two frames, and the frames."""
    model = [np.random.default_rng(k).standard_normal(SHAPE).astype(np.float32) for k in range(2)]
    return [SPEC.pack(x) for x in model], model
