"""Try the declared scales in other places: along another axis, of other channels, or those of another output.

None of their numbers is fitted, so that they are no part of what noise makes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ...buffers import Quantization, TensorSpec
from ...support import quoted
from ..scoring.evidence import Evidence
from ..scoring.samples import predicted
from ..scoring.trials import Trial
from .scales import requantised, words

_ALIKE = 0.02  # of a scale: another one that is nearer is no other one


def declared_scales(evidence: Evidence, others: Iterable[tuple[str, TensorSpec]] = ()) -> Iterator[Trial]:
    """Yield the declared scales along each other axis that has as many indices, and exchanged between channels.

    others: the names and specs of the model's other outputs, of which each has its scale tried here.
    """
    spec, q = evidence.spec, evidence.spec.quantization
    if not evidence.fits or q is None:
        return
    options = [*_along_other_axes(spec, q), *_of_other_channels(q), *_of_other_outputs(spec, q, others)]
    for text, other in options:
        fixed = requantised(spec, other, spec.name)
        left = evidence.codes - predicted(fixed, evidence.samples, evidence.wanted)
        trial = evidence.tried("quantization", text, left, fixed)
        yield trial._replace(spec=fixed, choices=float(np.log(len(options))))


def _along_other_axes(spec: TensorSpec, q: Quantization) -> Iterator[tuple[str, Quantization]]:
    if q.axis is None or q.count == 1:
        return
    own = q.axis % len(spec.shape)
    for axis, count in enumerate(spec.shape):
        if axis != own and count == q.count:
            text = (
                f"the {q.count} declared scales are of the indices of axis {spec.axes[axis]}, and not {spec.axes[own]}"
            )
            yield text, Quantization(q.scale, q.zero_point, axis)


def _of_other_channels(q: Quantization) -> Iterator[tuple[str, Quantization]]:
    """Yield the scales of the channels in reverse, or each for the channel before or after its own."""
    if q.axis is None or q.count < 2:
        return
    scales, zero_points = (np.broadcast_to(x, q.count) for x in (q.scale, q.zero_point))
    if np.ptp(np.log(scales)) < _ALIKE and np.ptp(zero_points) == 0:
        return
    ways = [("in reverse order", np.arange(q.count)[::-1])]
    if q.count > 2:
        ways += [
            (f"one channel too {'late' if by < 0 else 'early'}", np.roll(np.arange(q.count), by)) for by in (-1, 1)
        ]
    for how, order in ways:
        yield f"the {q.count} declared scales are {how}", Quantization(scales[order], zero_points[order], q.axis)


def _of_other_outputs(
    spec: TensorSpec, q: Quantization, others: Iterable[tuple[str, TensorSpec]]
) -> Iterator[tuple[str, Quantization]]:
    """Yield each other output's scale, if it is for all channels, and in the range of the dtype."""
    for name, other in others:
        its = other.quantization
        if its is not None and its.axis is None and other.dtype == spec.dtype and not _are_alike(q, its):
            yield f"{words(other)}, those of output {quoted(name)}", its


def _are_alike(q: Quantization, other: Quantization) -> bool:
    if q.count != other.count or not np.array_equal(q.zero_point, other.zero_point):
        return False
    return bool(np.allclose(np.log(q.scale), np.log(other.scale), atol=_ALIKE))
