"""Make an input by two changes at once: one of its pixels, and another border or another reading of the frame.

Each is worth a run of the model only if one of the two changes alone explains more than any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np

from .device_inputs import SeenInput
from .input_images import Image, MadeInput, Wanted, Way
from .usual_mistakes import mistakes

BOTH = "both"  # the first word of the id of two changes; the ids of the two follow

_SAME = 1.5  # pixel values
_USUAL = (  # mistakes with mean and std that are made beside another one
    *("forgotten", "forgotten_divided", "no_mean", "no_std", "twice", "twice_in_units_of_one", "divided_twice"),
)


def beside_borders(image: Image, borders: Iterable[Way], changes: Iterable[SeenInput], wanted: Wanted) -> Iterator[Way]:
    """Yield what a device does to the pixels of an input that has another border, if it is wanted: changes of pixels.

    Borders of which a change makes the same, such as 128 of 0 and 127 of 255, are one.
    """
    others = list(borders)
    for change in changes:
        of_change = BOTH, ("device", change.id)
        if not any(wanted((*of_change, border.id)) for border in others):
            continue
        for alike in _alike(image, others, change):
            first = alike[0]
            made = MadeInput(partial(_changed, image, first.made, change))
            id = *of_change, first.id
            text = f"{change.text}, and {' or '.join(border.text for border in alike)}"
            yield Way(id, text, None, made, change.cause, combines=True)


def _alike(image: Image, borders: Sequence[Way], change: SeenInput) -> list[list[Way]]:
    """Return the borders, those of which a change makes nearly the same together."""
    found: list[tuple[np.ndarray, list[Way]]] = []
    for border in borders:
        assert border.fix is not None
        pad = np.broadcast_to(np.asarray(border.fix["pad_value"], float), image.mean.shape)
        becomes = change.change(pad[None, None, None])
        alike = next((of for other, of in found if abs(other - becomes).max() <= _SAME), None)
        if alike is None:
            found.append((becomes, [border]))
        else:
            alike.append(border)
    return [of for _, of in found]


def beside_readings(image: Image, readings: Iterable[Way]) -> Iterator[Way]:
    """Yield usual mistakes with mean and std in inputs of frames that are read in another way, by one change."""
    usual = [m for m in mistakes(image.mean, image.std, image.color, image.known) if m.id in _USUAL and image.known]
    for reading in readings:
        for mistake in usual:
            how = {"mean": mistake.mean.tolist(), "std": mistake.std.tolist()}
            fix = None if reading.fix is None else {**reading.fix, **how}
            for what in ("", "all pixels"):
                made = MadeInput(partial(_scaled, image, reading.made, mistake.mean, mistake.std, clamps=bool(what)))
                text = f"{mistake.text}, clamped to the range of {what}" if what else mistake.text
                id = BOTH, ("scale", mistake.id, what), reading.id
                yield Way(id, f"{text}, and {reading.text}", fix, made, reading.cause, combines=True)


def _changed(image: Image, border: MadeInput, change: SeenInput) -> np.ndarray:
    pixels = np.moveaxis(_pixels(image, border), image.axis, 3)
    return image.normalised(np.moveaxis(change.change(pixels), 3, image.axis))


def _scaled(image: Image, reading: MadeInput, mean: np.ndarray, std: np.ndarray, clamps: bool) -> np.ndarray:
    made = (_pixels(image, reading) - image.along(mean)) / image.along(std)
    if not clamps:
        return np.asarray(made)
    ends = np.stack([(end - image.mean) / image.std for end in (0, 255)])
    return np.asarray(np.clip(made, ends.min(), ends.max()))


def _pixels(image: Image, made: MadeInput) -> np.ndarray:
    return np.asarray(made.x * image.along(image.std) + image.along(image.mean))
