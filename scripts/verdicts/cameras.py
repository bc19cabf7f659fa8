"""What lies between the camera's frame that is recorded, and the one that the host made the input of.

The device was fed what was recorded, so its outputs agree with the model, whatever the input is made of.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import cv2
import numpy as np

from .ports import NotApplicable, Rng

Both = tuple[np.ndarray, np.ndarray]  # the frame that is recorded, and the one that the input is made of
Camera = Callable[[Rng, np.ndarray], Both]
_WARM = 0.8, 1.0, 1.25  # factors of blue, green and red
_VARIED = 8.0  # pixel values, root mean square, of each colour: a flat picture has no factor
_CHANGED = 6.0  # pixel values, root mean square: a change that the data show


class Recorded(NamedTuple):
    """What the report should say of the recorded input: its verdict, words of it, and whether it may name no cause."""

    verdict: str = "match"
    words: str = ""
    may_refuse: bool = False


def balanced(picture: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip(np.rint(picture * _WARM), 0, 255).astype(np.uint8))


def white_balance(rng: Rng, picture: np.ndarray) -> Both:
    """The host balances what it feeds, and records the frame as it came."""
    fed = balanced(picture)
    if picture.std((0, 1)).min() < _VARIED or np.square(fed - picture.astype(float)).mean() < _CHANGED**2:
        raise NotApplicable("a flat or dark picture")
    return picture, fed


def warm_light(rng: Rng, picture: np.ndarray) -> Both:
    """The light is warm, in what is recorded and in what is fed."""
    fed = balanced(picture)
    return fed, fed


def with_contrast(rng: Rng, picture: np.ndarray) -> Both:
    """The host evens out the contrast of each region (CLAHE of the luma), and records the frame as it came."""
    ycc = cv2.cvtColor(picture, cv2.COLOR_BGR2YCrCb)
    ycc[..., 0] = cv2.createCLAHE(2.0, (8, 8)).apply(np.ascontiguousarray(ycc[..., 0]))
    return _that_shows(picture, cv2.cvtColor(ycc, cv2.COLOR_YCrCb2BGR))


def saturated(rng: Rng, picture: np.ndarray) -> Both:
    """The host saturates the colours of what it feeds."""
    hsv = cv2.cvtColor(picture, cv2.COLOR_BGR2HSV).astype(float)
    hsv[..., 1] = np.minimum(1.4 * hsv[..., 1], 255)
    return _that_shows(picture, cv2.cvtColor(hsv.astype(np.uint8), cv2.COLOR_HSV2BGR))


def exposed(rng: Rng, picture: np.ndarray) -> Both:
    """The host exposes each frame anew."""
    factor = rng.choice([0.75, 0.8, 0.85, 1.2, 1.25, 1.3])  # three frames may have the same: another brightness
    return _that_shows(picture, np.clip(np.rint(picture * factor), 0, 255).astype(np.uint8))


def with_text(rng: Rng, picture: np.ndarray) -> Both:
    """The time is drawn into what is fed."""
    height, width = picture.shape[:2]
    fed = picture.copy()
    cv2.putText(fed, "12:00:00", (4, height // 2), cv2.FONT_HERSHEY_SIMPLEX, width / 200, (255, 255, 255), width // 60)
    return _that_shows(picture, fed)


def _that_shows(picture: np.ndarray, fed: np.ndarray) -> Both:
    if np.square(fed - picture.astype(float)).mean() < _CHANGED**2:
        raise NotApplicable("a change that hardly shows")
    return picture, fed


def jpeg(rng: Rng, picture: np.ndarray) -> Both:
    """The input is made of the frame, and a JPEG file of it is recorded."""
    _, data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, int(rng.choice([60, 75, 90]))])
    return cv2.imdecode(data, cv2.IMREAD_COLOR), picture


def grain(rng: Rng, picture: np.ndarray) -> Both:
    """Two exposures in a row, each with its own noise of the sensor."""
    one, other = (
        np.clip(np.rint(picture + rng.normal(0, 1.5, picture.shape)), 0, 255).astype(np.uint8) for _ in range(2)
    )
    return one, other


def with_shot_noise(gain: float, rng: Rng, picture: np.ndarray) -> Both:
    """The sensor's noise, whose variance grows with the light, is on what was fed, and not on what is recorded."""
    noise = rng.normal(0, 1, picture.shape) * np.sqrt(gain * picture + 1)
    return picture, np.clip(np.rint(picture + noise), 0, 255).astype(np.uint8)


def mirrored_colours(rng: Rng, picture: np.ndarray) -> Both:
    """The host feeds the other order of colours, mirrored, and another exposure, which has noise of its own."""
    fed = picture[:, ::-1, ::-1]
    changes = np.square(
        [fed - picture.astype(float), picture[:, ::-1].astype(float) - picture, fed - fed[..., ::-1].astype(float)]
    )
    if changes.mean((1, 2, 3)).min() < (4 * _CHANGED) ** 2:
        raise NotApplicable("a gray, dark or symmetric picture")
    noise = rng.normal(0, 2, picture.shape)
    return picture, np.clip(np.rint(fed + noise), 0, 255).astype(np.uint8)


def black(rng: Rng, picture: np.ndarray) -> Both:
    """The buffer is fed before the picture is in it."""
    if picture.std((0, 1)).min() < _VARIED or np.square(picture.astype(float)).mean() < (4 * _CHANGED) ** 2:
        raise NotApplicable("a flat or dark picture")
    return picture, np.zeros_like(picture)


def torn(rng: Rng, picture: np.ndarray) -> Both:
    """A half of the picture is in the buffer when it is fed."""
    half = len(picture) // 2
    upper, lower = picture[:half], picture[half:]
    if min(upper.std((0, 1)).min(), lower.std((0, 1)).min()) < 2 * _VARIED or lower.mean() < 4 * _CHANGED:
        raise NotApplicable("a flat or dark half of a picture")
    fed = picture.copy()
    fed[half:] = 0
    return picture, fed


def exposure(factor: float, rng: Rng, picture: np.ndarray) -> Both:
    """The exposure drifts between the frame that is recorded and the one that is fed."""
    return picture, np.clip(np.rint(picture * factor), 0, 255).astype(np.uint8)


FAULTS: dict[str, tuple[Camera, Recorded]] = {
    "fed_white_balance": (white_balance, Recorded("preprocessing", "another white balance")),
    "fed_black": (black, Recorded("preprocessing", "it is one colour, black.")),
    "fed_torn": (torn, Recorded("preprocessing", "a part of it is, but from row")),
    "fed_contrast": (with_contrast, Recorded("preprocessing", "no known change")),
    "fed_saturated": (saturated, Recorded("preprocessing", "no known change")),
    "fed_exposed": (exposed, Recorded("preprocessing")),
    "fed_text": (with_text, Recorded("preprocessing", "no known change")),
    "fed_mirrored_colours": (mirrored_colours, Recorded("geometry", "with the frame mirrored from left to right")),
}
FAULTLESS: dict[str, tuple[Camera, Recorded]] = {
    "faultless_warm": (warm_light, Recorded()),
    "faultless_jpeg": (jpeg, Recorded(may_refuse=True)),
    "faultless_grain": (grain, Recorded(may_refuse=True)),
    "faultless_shot_noise": (partial(with_shot_noise, 0.15), Recorded()),
    "faultless_exposure": (partial(exposure, 1.02), Recorded(may_refuse=True)),
}
