"""Find the other axis that an output's channels may be along: tokens, boxes and heads have theirs at either end."""

from __future__ import annotations

from ..scoring.evidence import Evidence

_MOST = 1024  # channels


def other_end(evidence: Evidence) -> int | None:
    """Return the other axis that may be the channels', in the model's order; None if there is none.

    In (N, values) and (1, rows, values) it is the axis at the other end; in maps, the other one of axis 1 and the last
    axis, if the two axes before the last are those of a square map.
    """
    shape, axis = evidence.references[0].shape, evidence.named_axis
    last, first = len(shape) - 1, 0 if len(shape) == 2 else 1
    if axis is None or len(shape) < 2 or axis not in (first, last):
        return None
    if len(shape) > 3 and not shape[-3] == shape[-2] != shape[-1]:
        return None
    other = first if axis == last else last
    return other if 1 < shape[other] <= _MOST and shape[axis] > 1 else None
