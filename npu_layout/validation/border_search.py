"""Search for the border that a device saw around a picture, if its outputs show that it is none of the usual ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..diagnosis import MARGIN, BorderErrors, EstimatedBorder, Evidence

Answers = Mapping[str, np.ndarray]

_WORTH = 1.0  # dB that a border has to gain where outputs are in proportion to it, before the model runs again
_RUNS = 6  # of the model, at most
_GAPS = 2  # between known borders, in which one is tried though nothing promises it
_PIXEL_VALUES = 256
CHOICES = math.log(_PIXEL_VALUES)  # logarithm of the number of borders from which one is chosen


def searched(
    evidence: Mapping[str, Evidence], row: int, known: Mapping[int, Answers], run: Callable[[int], Answers | None]
) -> tuple[int, str] | None:
    """Return the border that explains clearly more of a frame than the recorded one, and which ones explain as much.

    The second is in words, or "". None if no border does, without a run of the model if none promises to, and the
    recorded input explains every output as well as that of a sound device. It explains 1 dB more than each known one:
    which of two it is decides who compares them.

    Parameters
    ----------
    evidence
        Of each output.
    row
        Of the kept frame.
    known
        {pixel value: outputs of the model} of the borders that were tried; that of the recorded input may be there.
    run
        Returns the model's outputs for another border; None if that makes no other input.
    """
    errors = BorderErrors(evidence, row)
    for pad, of_pad in known.items():
        errors.add(pad, of_pad)
    border = errors.nearest()
    if border is not None and border.gain < _WORTH and not errors.is_sound:
        border = _between(errors, run)
    if border is None or border.gain < _WORTH:
        return None
    for _ in range(_RUNS):
        pad = round(border.pad)
        answers = None if pad in errors.pads else run(pad)
        if answers is None:
            break
        errors.add(pad, answers)
        border = errors.nearest(bent=True)
        assert border is not None
    new = {int(pad) for pad in errors.pads} - set(known)
    best = max(new, key=lambda pad: errors.gain(pad, list(known)), default=None)
    if best is None or errors.gain(best, list(known)) < _WORTH:
        return None
    return (best, _as_much(best, border.pad, border.sure)) if errors.gain(best, []) >= MARGIN else None


def _between(errors: BorderErrors, run: Callable[[int], Answers | None]) -> EstimatedBorder | None:
    """Return the estimate with two more borders, in the middle of the widest gaps between known ones.

    Outputs that are far from any proportion, such as embeddings, show a border only if one near it is known.
    """
    gaps = sorted(zip(errors.pads, errors.pads[1:]), key=lambda gap: gap[0] - gap[1])[:_GAPS]
    for pad in (round((low + high) / 2) for low, high in gaps):
        answers = None if pad in errors.pads else run(pad)
        if answers is not None:
            errors.add(pad, answers)
    return errors.nearest(bent=True)


def _as_much(pad: int, estimate: float, sure: float) -> str:
    """Return in words which pixel values explain as much, or more if the last estimate is another; "" if none does."""
    by, other = int(sure), round(estimate)
    beyond = 2 * other - pad  # what leads on may lead on as far again
    low, high = max(min(pad, beyond) - by, 0), min(max(pad, beyond) + by, _PIXEL_VALUES - 1)
    more = "as much" if other == pad else "as much or more"
    return f" ({low} to {high} explain {more})" if low < high else ""


def declared_pad(meta: Mapping[str, Any]) -> int | None:
    """Return the border of the recorded inputs, as declared; None if its channels have several values."""
    pad = np.unique(np.asarray((meta.get("preprocess") or {}).get("pad_value", 114), float))
    return int(pad[0]) if len(pad) == 1 and pad[0] == int(pad[0]) else None
