"""Try the declared scales along another axis of the same length."""

from __future__ import annotations

from collections.abc import Iterator

from ..buffers import Quantization
from .evidence import Evidence
from .samples import predicted
from .scales import requantised
from .trials import Trial


def scale_axes(evidence: Evidence) -> Iterator[Trial]:
    """Yield the declared scales along each other axis that has as many indices."""
    spec, q = evidence.spec, evidence.spec.quantization
    if not evidence.fits or q is None or q.axis is None or q.count == 1:
        return
    own = q.axis % len(spec.shape)
    for axis, count in enumerate(spec.shape):
        if axis == own or count != q.count:
            continue
        fixed = requantised(spec, Quantization(q.scale, q.zero_point, axis), spec.name)
        left = evidence.codes - predicted(fixed, evidence.samples, evidence.wanted)
        text = f"the {q.count} declared scales are of the indices of axis {spec.axes[axis]}, and not {spec.axes[own]}"
        yield evidence.tried("quantization", text, left, fixed)._replace(spec=fixed)
