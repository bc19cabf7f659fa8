"""Distinguish a loss like JPEG's from other differences: whether what was fed had it, or the frame that was recorded.

A JPEG file that is compressed again with its own quality hardly changes, because its coefficients are multiples of that
quality's steps already (ITU-T T.81, A.3.4). With its blocks moved by half a block it loses again, less than at first:
what it lost at first is not there any more. Drawn pictures that are flat in each of the blocks look like files, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ..other_inputs.input_images import How
from .input_changes import LUMA, Change, colour_channels, compressed, jpeg
from .input_pairs import InputPair
from .input_trials import BETTER, SAME, worst

QUALITIES = range(50, 100)
# Pixel values of blue: half a step of the mean of Y, and 1.772 of that of Cb, of 16 / 8 and 17 / 8 at quality 50.
MOST_OF_FLAT = 2.9
_BESIDE = 4  # pixels: half a block
_BLOCKS, _SIDE = 16, 512  # pixels: of a block of subsampled colours, and of the part whose quality is looked for
_OWN = 0.4  # what a file's own quality changes, of what it changes beside: files 0 to 0.33, others 0.95 to 1, video 0.5
_FIRST = 1.7  # times what a file loses beside: what it lost at first. 1.2 to 1.7 of 27 frames at 50, 2.3 of a dark one


def is_compressed(
    pairs: Sequence[InputPair], made: Sequence[np.ndarray], base: How, declared: float, spread: float, others: float
) -> bool:
    """Whether JPEG of some quality explains what differs, and no other change leaves less than it (`others`).

    Where the picture is flat, each quality moves its colours to other values, by up to MOST_OF_FLAT.
    """
    if declared > spread + MOST_OF_FLAT / pairs[0].step or others == 0:
        return False
    most, k = min(SAME, BETTER * declared, others), worst(pairs, made)

    def explains(change: Change) -> bool:
        return all(pair.off(change.make(pair).values) <= most for pair in (pairs[k], *pairs[:k], *pairs[k + 1 :]))

    return any(map(explains, compressed(base, QUALITIES)))


def lost_by_files(pairs: Sequence[InputPair], made: Sequence[np.ndarray], base: How) -> float:
    """Return how many steps the frames lost when they were stored as JPEG files; 0 if they were not.

    made: what `base` makes of each pair.
    """
    quality = file_quality(pairs[worst(pairs, made)].frame, base.get("source", "BGR"))
    if quality is None:
        return 0.0
    (beside,) = compressed(base, (quality,), _BESIDE)
    return _FIRST * max(pair.off(as_declared, beside.make(pair).values) for pair, as_declared in zip(pairs, made))


def file_quality(frame: np.ndarray, source: str) -> int | None:
    """Return the quality, 50 to 99, of the JPEG file that a frame was; None if it was none. source: its format."""
    rows, columns = (slice(_start(length), _start(length) + _SIDE) for length in frame.shape[:2])
    luma = _luma(frame[rows, columns], source)
    return _quality(luma.tobytes(), luma.shape)


@lru_cache(maxsize=8)  # a frame is judged with each of the usual means, and 100 JPEG files are made of it
def _quality(pixels: bytes, shape: tuple[int, ...]) -> int | None:
    luma = np.frombuffer(pixels, np.uint8).reshape(shape)

    def change(quality: int, beside: int) -> float:
        return float(np.square(jpeg(luma, quality, beside).astype(np.float32) - luma).mean())

    shares = {quality: change(quality, 0) / max(change(quality, _BESIDE), 1e-9) for quality in QUALITIES}
    quality = min(shares, key=lambda q: shares[q])
    return quality if shares[quality] < _OWN**2 else None


def _luma(frame: np.ndarray, source: str) -> np.ndarray:
    """Return what JPEG stores of each pixel; colours have fewer samples, and are made from these differently."""
    places = colour_channels(frame, source)
    if not places:
        return np.ascontiguousarray(frame[..., 0] if frame.ndim == 3 else frame)
    return np.asarray(np.rint(frame[..., list(places)] @ np.array(LUMA)).astype(np.uint8))


def _start(length: int) -> int:
    return max(length - _SIDE, 0) // 2 // _BLOCKS * _BLOCKS
