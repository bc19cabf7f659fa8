"""Write what a report says in numbers and words, the same in its text and on its page."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..buffers import TensorSpec
from ..comparison import MOST_DB, Clamped
from ..diagnosis import ends as stored_ends

_NO_FAULT = ("match", "ambiguous")
_LARGER = "calibrate with frames like these, or take a larger scale"
_NO_NEGATIVES = (
    "that end stands for 0, as if the device's model ended in a ReLU: end it where the ONNX model ends, or calibrate "
    "it with frames like these, so that it has another zero point"
)


def tolerance(name: str, asked: float) -> str:
    """Return a tolerance in words.

    >>> tolerance("min_snr_db", 10)
    'min_snr_db: at least 10'
    """
    return f"{name}: {bound(name)} {exact(asked)}"


def found_text(found: float, asked: float) -> str:
    """Return a figure in as many digits as show on which side of a tolerance it is, six at least.

    >>> found_text(0.99997954, 0.999), found_text(0.9999999, 0.99999999)
    ('0.99998', '0.9999999')
    """
    for digits in (6, 9, 12, 17):
        text = f"{found:.{digits}g}"
        if (float(text) >= asked, float(text) > asked) == (found >= asked, found > asked):
            break
    return text


def bound(name: str) -> str:
    """Return the side on which a tolerance is met: "at least" or "at most"."""
    return "at least" if name.startswith("min") else "at most"


def passing(verdict: str, values: Mapping[str, float]) -> str:
    """Return the tolerances that would pass as arguments; "" beside a fault, which no tolerance should hide."""
    offered = values if verdict in _NO_FAULT else {}
    return ", ".join(f"{name}={exact(value)}" for name, value in offered.items())


def clamped(c: Clamped, values: int, spec: TensorSpec) -> str:
    """Return what the device clamps, by how much, and what to do. values: how many were compared; spec: as declared."""
    ends = [f"{end:g}" for end, count in zip(stored_ends(spec), (c.below, c.above)) if count]
    share = f"{c.values} of {values} values ({100 * c.values / values:.2g} %)"
    beyond = f"by up to {c.beyond:.3g} ({c.steps:.1f} steps)"
    return (
        f"clamped: {share} are stored as {' or '.join(ends)}, an end of {spec.dtype}, and the model's are beyond it "
        f"{beyond}: {_NO_NEGATIVES if not c.above and _begins_at_zero(spec) else _LARGER}"
    )


def _begins_at_zero(spec: TensorSpec) -> bool:
    """Whether the lowest number that a spec can store stands for 0, in each channel."""
    q = spec.quantization
    return q is not None and bool(np.all(np.equal(q.zero_point, stored_ends(spec)[0])))


def exact(value: float) -> str:
    """Return a number that reads back as `value`: with six digits if these are all.

    >>> exact(0.987654), exact(12.0), exact(1.2345678e-310)
    ('0.987654', '12', '1.2345678e-310')
    """
    text = f"{value:.6g}"
    return text if float(text) == value else repr(float(value))


def decibels(value: float) -> str:
    """Return dB with the unit; words at the ends of the scale."""
    if abs(value) >= MOST_DB:
        return "equal" if value > 0 else "no signal"
    return f"{round(value, 1) + 0.0:.1f} dB"


def number(value: float) -> str:
    """Return a number with four digits."""
    return f"{value:.4g}"


def spoken(verdict: str) -> str:
    """Return a verdict as words."""
    return verdict.replace("_", " ")
