"""A frame with an equalised histogram, as OpenCV makes it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..other_inputs.input_images import How
from .input_changes import Change, has_colours, made_of

_SPACES = (  # what is equalised, its channel among three, and OpenCV's names of the conversions
    ("luma", (0, "COLOR_BGR2YCrCb"), "COLOR_YCrCb2BGR"),
    ("value (of HSV)", (2, "COLOR_BGR2HSV"), "COLOR_HSV2BGR"),
    ("lightness (of Lab)", (0, "COLOR_BGR2LAB"), "COLOR_LAB2BGR"),
)


def equalised(base: How) -> Iterator[Change]:
    """Yield the frame with an equalised histogram: as it is usually done with OpenCV's equalizeHist."""
    yield Change(
        "the frame with the histogram of each channel equalised", partial(made_of, how=base, change=_equalised)
    )
    for words, there, back in _SPACES:
        change = partial(_equalised_in, there=there, back=back)
        words = f"the frame with the histogram of its {words} equalised"
        yield Change(words, partial(made_of, how=base, change=change), applies=has_colours)


def _equalised(frame: np.ndarray) -> np.ndarray:
    import cv2

    planes = np.moveaxis(np.atleast_3d(frame), 2, 0)
    return np.stack([cv2.equalizeHist(np.ascontiguousarray(p)) for p in planes], -1).reshape(frame.shape)


def _equalised_in(frame: np.ndarray, there: tuple[int, str], back: str) -> np.ndarray:
    import cv2

    channel, name = there
    made = cv2.cvtColor(frame, getattr(cv2, name))
    made[..., channel] = cv2.equalizeHist(np.ascontiguousarray(made[..., channel]))
    return np.asarray(cv2.cvtColor(made, getattr(cv2, back)))
