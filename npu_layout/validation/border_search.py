"""Search for the border that a device saw around a picture, if its outputs show that it is none of the usual ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
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
    evidence: Mapping[str, Evidence],
    rows: Sequence[int],
    known: Mapping[int, Mapping[int, Answers]],
    run: Callable[[int, int], Answers | None],
    between: bool = True,
) -> tuple[int, str] | None:
    """Return the border that explains clearly more of some frames than the recorded one, and which explain as much.

    The second is in words, or "". None if no border does. The model runs for the first frame if the recorded input
    explains an output worse than that of a sound device; for all frames, if a border is promised. It explains 1 dB more
    than each known one: which of two it is decides who compares them.

    Parameters
    ----------
    evidence
        Of each output.
    rows
        Of the kept frames. A frame without a border does not count.
    known
        {pixel value: {row: outputs of the model}} of the borders that were tried, all of them in the first frame; that
        of the recorded input may be there.
    run
        Returns the model's outputs for another border of a row; None if that makes no other input.
    between
        Whether borders between the known ones are tried in the first frame where these promise nothing.
    """
    tried = {pad: dict(of_pad) for pad, of_pad in known.items()}
    border = _promised(evidence, rows, tried, run if between else None)
    if border is None:
        return None
    errors = BorderErrors(evidence, _bordered(rows, tried, run))
    for pad, of_pad in tried.items():
        errors.add(pad, [of_pad[row] for row in errors.rows])
    for _ in range(_RUNS):
        pad = round(border.pad)
        answers = [] if pad in errors.pads else [run(pad, row) for row in errors.rows]
        made = [answer for answer in answers if answer is not None]
        if not made or len(made) < len(answers):
            break
        errors.add(pad, made)
        nearest = errors.nearest(bent=True)
        assert nearest is not None
        border = nearest
    new = {int(pad) for pad in errors.pads} - set(known)
    best = max(new, key=lambda pad: errors.gain(pad, list(known)), default=None)
    if best is None or errors.gain(best, list(known)) < _WORTH:
        return None
    return (best, _as_much(best, border.pad, border.sure)) if errors.gain(best, []) >= MARGIN else None


def _promised(
    evidence: Mapping[str, Evidence],
    rows: Sequence[int],
    tried: dict[int, dict[int, Answers]],
    run: Callable[[int, int], Answers | None] | None,
) -> EstimatedBorder | None:
    """Return the border that promises to explain more; None if none does. What is run is added to what was tried.

    The frames in which every border was tried say it; else, with `run`, borders between these in the first frame.
    """
    both = [row for row in rows if all(row in of_pad for of_pad in tried.values())]
    errors = BorderErrors(evidence, both)
    for pad, of_pad in tried.items():
        errors.add(pad, [of_pad[row] for row in both])
    border = errors.nearest()
    if border is not None and border.gain < _WORTH and run is not None and not errors.is_sound:
        first = BorderErrors(evidence, rows[:1])
        for pad in _between(errors.pads):
            answers = run(pad, rows[0])
            if answers is not None:
                tried[pad] = {rows[0]: answers}
        for pad, of_pad in tried.items():
            first.add(pad, [of_pad[rows[0]]])
        border = first.nearest(bent=True)
    return border if border is not None and border.gain >= _WORTH else None


def _between(pads: Sequence[float]) -> list[int]:
    """Return the middles of the widest gaps between known borders.

    Outputs that are far from any proportion, such as embeddings, show a border only if one near it is known.
    """
    gaps = sorted(zip(pads, pads[1:]), key=lambda gap: gap[0] - gap[1])[:_GAPS]
    return [pad for pad in (round((low + high) / 2) for low, high in gaps) if pad not in pads]


def _bordered(
    rows: Sequence[int], tried: dict[int, dict[int, Answers]], run: Callable[[int, int], Answers | None]
) -> list[int]:
    """Return the rows of which every tried border makes another input, once the model ran for those that were left."""
    for row in rows[1:]:
        for pad, of_pad in tried.items():
            answers = of_pad.get(row) or run(pad, row)
            if answers is None:
                break
            of_pad[row] = answers
    return [row for row in rows if all(row in of_pad for of_pad in tried.values())]


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
