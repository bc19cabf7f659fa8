"""Whether a cause explains only what an end of a range clamps, of the model's values or of the device's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...buffers import TensorSpec
from ...comparison import OutputPart
from ..scoring.evidence import Evidence
from ..scoring.left_errors import within_range
from ..scoring.proof import clamped_by_input
from ..scoring.samples import beyond, ends
from ..scoring.thresholds import LEAST, SATURATED
from ..scoring.trials import Candidate

_CUT = 1.0  # dB that cut values of the model explain more than those of a function
_MOST = 0.5  # of a channel's values
_BEYOND = "most of the model's values there are beyond what the device can store"
_AT_THE_ENDS = 0.75  # of the values that a scale clamps: noise leaves half


def only_saturates(evidence: Evidence, c: Candidate) -> bool:
    """Whether a function explains nothing but values that it saturates: most scales do that with zeros and ones."""
    return c.cause == "activation" and c.score >= LEAST and within_range(evidence, c) < LEAST


def is_cut(evidence: Evidence, c: Candidate) -> bool:
    """Whether a function explains less than the model's values do, both cut at the device's lowest and highest value.

    So cuts a network one of whose layers saturates, beyond the pictures that it was calibrated with.
    """
    trial, codes = evidence.trial(c), evidence.codes if evidence.fits else None
    if c.cause != "activation" or codes is None or not trial.comparable or trial.left.shape != codes.shape:
        return False

    def explained(left: np.ndarray) -> float:
        cut = codes - np.clip(codes - left, codes.min(), codes.max())
        return evidence.score(evidence.as_declared()._replace(left=cut))

    return explained(evidence.left) >= explained(trial.left) + _CUT


def clamps_noise(evidence: Evidence, c: Candidate) -> bool:
    """Whether a scale clamps many of the model's values, but the device does not, or the others do not follow it.

    A right scale that clamps them stores the ends; one that is fitted to noise clamps what the noise makes smaller.
    """
    if c.cause != "quantization" or c.spec is None or c.spec.quantization is None:
        return False
    if _clamped(evidence, c.spec) < max(SATURATED, _clamped(evidence, evidence.spec)):
        return False
    trial, (low, high) = evidence.trial(c), ends(c.spec)
    stored = trial.codes[_beyond(evidence, c.spec, float(np.sqrt((trial.left**2).mean())))]
    if stored.size == 0:
        return False
    at_the_ends = float(((stored <= low) | (stored >= high)).mean())
    return at_the_ends < _AT_THE_ENDS or within_range(evidence, c) < LEAST


def with_what_is_clamped(evidence: Evidence, parts: Sequence[OutputPart]) -> list[OutputPart]:
    """Return the parts, with a reason for channels of which the dtype cannot store most of the model's values."""
    axis = evidence.channel_axis
    if not evidence.fits or axis is None or all(part.axis != axis for part in parts):
        return list(parts)
    share = evidence.by_channel(_beyond(evidence, evidence.spec)).mean(1)

    def is_clamped(part: OutputPart) -> bool:
        return part.axis == axis and not part.why and bool(share[part.at] > _MOST)

    return [part._replace(why=_BEYOND) if is_clamped(part) else part for part in parts]


def clamps_less(evidence: Evidence, c: Candidate) -> bool:
    """Whether the declared scale clamps more of the model's values than calibration leaves out, and another does not.

    What is clamped agrees with any scale that clamps it, so that the declared one seems to explain most.
    """
    return bool(c.spec is not None and _clamped(evidence, evidence.spec) >= SATURATED > _clamped(evidence, c.spec))


def _clamped(evidence: Evidence, spec: TensorSpec) -> float:
    """Return the share of the model's values at the samples that the dtype cannot store."""
    return float(_beyond(evidence, spec).mean())


def clamped_of_input(evidence: Evidence, c: Candidate) -> float:
    """Return the share of the model's values for another input that the dtype cannot store; 0 of floats."""
    clamped = clamped_by_input(evidence, evidence.trial(c))
    return 0.0 if clamped is None else float(clamped.mean())


def _beyond(evidence: Evidence, spec: TensorSpec, steps: float = 0.5) -> np.ndarray:
    """Return which of the model's values at the samples are further out of the dtype's range than so many steps."""
    return beyond(spec, evidence.samples, evidence.wanted, steps)
