"""An equalised histogram, made here by hand; and what is none."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from tests.support.input_bench import DISTURBED, Bench, Picture, said_of_disturbed

CASES = [("plain", "uint8", "walk"), ("imagenet", "int8", "texture"), ("unit", "float32", "walk")]
ANY = pytest.mark.parametrize("case", CASES, ids="-".join)


def _spread(plane: np.ndarray) -> np.ndarray:
    """Each value by the share of the pixels that are at most as bright, from 0 for the darkest to 255."""
    values, counts = np.unique(plane, return_counts=True)
    at_most = np.cumsum(counts)
    levels = 255 * (at_most - at_most[0]) / (plane.size - at_most[0])
    return np.rint(levels).astype(np.uint8)[np.searchsorted(values, plane)]


def _of_channels(frame: np.ndarray) -> np.ndarray:
    return np.stack([_spread(plane) for plane in cv2.split(frame)], -1)


def _of_luma(frame: np.ndarray) -> np.ndarray:
    y, cr, cb = cv2.split(cv2.cvtColor(frame, cv2.COLOR_BGR2YCrCb))
    return np.asarray(cv2.cvtColor(cv2.merge([_spread(y), cr, cb]), cv2.COLOR_YCrCb2BGR))


def _of_value(frame: np.ndarray) -> np.ndarray:
    hue, saturation, value = cv2.split(cv2.cvtColor(frame, cv2.COLOR_BGR2HSV))
    return np.asarray(cv2.cvtColor(cv2.merge([hue, saturation, _spread(value)]), cv2.COLOR_HSV2BGR))


def _lines(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    rng, frame = np.random.default_rng(seed), np.zeros(shape, np.uint8)
    for _ in range(8):
        ends = rng.integers(0, shape[1::-1], (2, 2)).tolist()
        cv2.line(frame, ends[0], ends[1], rng.integers(170, 200, 3).tolist(), 2, cv2.LINE_AA)
    return frame


@pytest.mark.parametrize(
    ("words", "change"),
    [
        (
            "the frame with the histogram of each channel equalised",
            lambda x: np.stack([*map(_spread, cv2.split(x))], -1),
        ),
        ("the frame with the histogram of its luma equalised", _of_luma),
        ("the frame with the histogram of its value (of HSV) equalised", _of_value),
    ],
)
@ANY
def test_an_equalised_histogram_is_named(case: tuple[str, str, str], words: str, change: Picture) -> None:
    """Of light lines on black, whose edges are a resize's matter too, as well."""
    bench = Bench(*case)
    for frames in (bench.frames, [_lines(k, frame.shape) for k, frame in enumerate(bench.frames)]):
        bench.frames = frames
        found = bench.of_frames(change)
        assert (found.verdict, found.fix) == ("preprocessing", None) and words in found.why, str(found)


@pytest.mark.parametrize("what", DISTURBED)
@ANY
def test_noise_and_losses_are_none(case: tuple[str, str, str], what: str) -> None:
    assert "equalised" not in said_of_disturbed(*case, what)
