"""Say in words how a device's detections differ from the model's."""

from __future__ import annotations

from collections.abc import Mapping

from ..decode import Comparison
from ..support import many

_SHOWN = 3  # of the frames that differ


def detected(found: Mapping[int, Comparison]) -> str:
    """Return lines on comparisons of detections, "" of none: a sum, and the first frames that differ."""
    if not found:
        return ""
    matched = sum(len(one.matched) for one in found.values())
    marginal = sum(len(one.marginal) for one in found.values())
    wrong = [f"  frame {frame}: {one}" for frame, one in found.items() if not one]
    words = f"differ in {len(wrong)} of" if wrong else "the same in"
    undefined = sum(len(one.undefined) for one in found.values())
    head = f"detections: {words} {many(len(found), 'frame')}, {matched} matched, {marginal} marginal"
    head += f", {undefined} undefined: NaN or infinite in the model" * bool(undefined)
    if not matched and not wrong:
        head += f"; nothing {'else ' * bool(undefined)}was detected, so that this proves nothing"
    more = [f"  and in {len(wrong) - _SHOWN} more frames"] if len(wrong) > _SHOWN else []
    return "\n".join([head, *wrong[:_SHOWN], *more])
