"""Check an output's figures against tolerances."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Union

import numpy as np

from ..buffers import TensorSpec
from ..comparison import Figures
from ..errors import NpuLayoutError
from ..recordings import Recording
from ..support import isolated, real_number

Tolerance = Union[None, float, Mapping[str, float]]
#: {tolerance: (least, most) that it can be}: no cosine is above 1, and no error below 0.
_RANGES: Mapping[str, tuple[float, float]] = {
    "min_cosine": (-1.0, 1.0),
    "max_abs": (0.0, math.inf),
    "max_steps": (0.0, math.inf),
}
DEFAULTS: Mapping[str, float] = {"min_snr_db": 10.0}  # for outputs that a tolerance does not name


def check_numbers(asked: Mapping[str, Tolerance]) -> None:
    """Raise NpuLayoutError if a tolerance is not a finite number that can be met, or a mapping of them."""
    for what, given in asked.items():
        least, most = _RANGES.get(what, (-math.inf, math.inf))
        for value in _by_output(given).values():
            try:
                number = real_number(what, value)
            except NpuLayoutError:
                raise NpuLayoutError(f"{what}: expected a finite number or {{output: number}}, got {given!r}") from None
            if not least <= number <= most:
                bounds = f"{least:g} .. {most:g}" if math.isfinite(most) else f"at least {least:g}"
                raise NpuLayoutError(f"{what}: expected {bounds}, which can be met, got {number:g}")


def _by_output(given: Tolerance) -> Mapping[str, float]:
    return given if isinstance(given, Mapping) else {} if given is None else {"": given}


def check(asked: Mapping[str, Tolerance], recording: Recording) -> None:
    """Raise NpuLayoutError if a tolerance is not a finite number, or names an output that does not have it."""
    check_numbers(asked)
    for what, given in asked.items():
        for name in _by_output(given):
            if name and name not in recording.outputs and len(recording.frames):
                known = ", ".join(map(isolated, recording.outputs)) or "none"
                raise NpuLayoutError(f"{what}: the recording has no output {name!r}; it has {known}")
            floats = [k for k in ([name] if name else recording.outputs) if not stepped(recording.specs.get(k))]
            if what == "max_steps" and floats and len(recording.frames):
                raise NpuLayoutError(
                    f"{what}: output {floats[0]!r} is stored as {recording.specs[floats[0]].dtype}, which has no "
                    f"quantisation steps; give max_abs for it, or {{output: number}} for those that have"
                )


def stepped(spec: TensorSpec | None) -> bool:
    """Return whether an output has quantisation steps."""
    return spec is not None and spec.element.unpacked.kind in "iu"


def met(name: str, asked: Mapping[str, Tolerance], f: Figures | None) -> dict[str, tuple[float, float, bool]]:
    """Return {tolerance: (asked, found, whether it is met)}; what cannot be measured is not met."""
    found = _found(f)
    kept = {}
    for what, given in asked.items():
        value = given.get(name, DEFAULTS.get(what)) if isinstance(given, Mapping) else given
        if value is None:
            continue
        least = what.startswith("min")
        got = found.get(what, -np.inf if least else np.inf)
        kept[what] = (float(value), float(got), bool(got >= value if least else got <= value))
    return kept


def _found(f: Figures | None) -> dict[str, float]:
    if f is None:
        return {}
    values = {"min_snr_db": f.snr_db, "min_cosine": f.cosine, "max_abs": f.max_abs, "max_steps": f.max_steps}
    return {k: v for k, v in values.items() if v is not None}


def passing(f: Figures | None) -> dict[str, float]:
    """Return {tolerance: the value that just passes}, rounded to 6 digits towards the side that passes."""
    return {k: _rounded(v, ROUND_FLOOR if k.startswith("min") else ROUND_CEILING) for k, v in _found(f).items()}


def _rounded(value: float, towards: str) -> float:
    exact = float(value)
    rounded = float(Context(prec=6, rounding=towards).plus(Decimal(repr(exact)))) if math.isfinite(exact) else exact
    return rounded if math.isfinite(rounded) else exact
