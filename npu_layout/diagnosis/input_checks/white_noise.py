"""Distinguish noise, as of a sensor, from a change: whether what an input differs by follows nothing in the picture.

Noise has no mean, whatever the colour around a pixel is. No gradient of the picture makes it, and neighbours say
nothing of it. It is as strong at edges as beside them, and in one part of the picture as in another. The colour around
a pixel and the gradients leave out the pixel itself, because a recorded frame has noise of its own, which the pixel
shows. What follows the picture by less than a step is allowed: inputs that differ by so little are equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from .flat_colours import as_picture
from .input_pairs import InputPair

_RING = 2  # pixels: the width of what counts as around one, behind those that share its noise
_FEWEST = 1024  # values of a picture: of fewer, what is left of a change may be anything
_STRUCTURED = 1.0  # steps, root mean square, that may follow the picture: inputs that differ by so little are equal
_ROUNDED = 0.1  # pixels
_SURE = 4.0  # deviations
_CUT = 6.0  # deviations: nearer to black or white noise is cut off, of a frame before a resize takes a half of it
_OF_CUT = 0.8  # of its deviation: the mean of noise of which a half is cut off is 0.4, of which a resize takes a half
_BIN, _FEW = 16, 64  # pixel values whose noise is as strong, and values that say so: a sensor's grows with the light
_EDGES = 0.9  # quantile: a tenth of the pixels, with the largest gradients, are edges
_AT_EDGES = 1.5  # times the power of the noise elsewhere
_BLOCK = 8  # pixels
_SOME = 32  # pixels of a block, a row or a column that say how strong the noise is there
_IN_PART, _SURE_OF_ALL = 1.5, 7.0  # times the power of all, and deviations beyond it, which one of many may have
_PEAKED = 8.0  # fourth moment over the square of the second: normal noise has 3, a few wrong pixels have hundreds


class _Picture(NamedTuple):
    """What an input differs by where it is of the frame, in steps, and the picture there: (height, width, channels).

    `within`: (height, width); `cut`: where the noise is cut off; `around`: the colour around each pixel, in pixel
    values; `gradients`: along both axes; `apart`: pixels at which two share no pixel of the frame, nor its noise.
    """

    error: np.ndarray
    within: np.ndarray
    cut: np.ndarray
    around: np.ndarray
    gradients: np.ndarray
    apart: int


def is_noise(pairs: Sequence[InputPair], made: Sequence[np.ndarray]) -> bool:
    """Whether noise alone makes the recorded inputs differ from `made`, one of each pair."""
    return all(_is_noise(pair, one) for pair, one in zip(pairs, made))


def _is_noise(pair: InputPair, made: np.ndarray) -> bool:
    if pair.off(made) <= _STRUCTURED:
        return True
    picture = _picture(pair, made)
    if picture is None:
        return False
    within = picture.within
    if not _is_noise_of_border(picture.error[~within], picture.error[within]):
        return False
    left = _without_means(picture)
    return left is not None and all(_has_no_structure(left[..., c], picture, c) for c in range(left.shape[2]))


def _picture(pair: InputPair, made: np.ndarray) -> _Picture | None:
    """Return what differs; None if there is too little of it."""
    import cv2

    one, recorded = as_picture(pair, made), as_picture(pair, pair.recorded)
    error, where = recorded - one, _within_border(one)
    if where.sum() * error.shape[2] < _FEWEST or not np.isfinite(error).all():
        return None
    pixels = one * pair.step + np.ravel(pair.arithmetic(pair.declared)[0]).astype(np.float32)
    apart = _apart(pair, where)
    inner, outer = 2 * apart + 1, 2 * (apart + _RING) + 1
    of_inner, of_outer = (
        np.atleast_3d(cv2.boxFilter(pixels, -1, (n, n), normalize=False, borderType=cv2.BORDER_REFLECT))
        for n in (inner, outer)
    )
    around = (of_outer - of_inner) / (outer**2 - inner**2)
    gradients = np.stack([_gradient(of_outer / outer**2, axis) for axis in (0, 1)])
    near = _CUT * pair.step * float(np.sqrt(np.square(error[where]).mean()))
    cut = reduce(np.logical_or, ((of < near) | (of > 255 - near) for of in (around, pixels)))
    return _Picture(error, where, cut, around, gradients, apart)


def _within_border(picture: np.ndarray) -> np.ndarray:
    """Return where a picture is not in a border of one colour: all of it, if there is none or it is one colour."""
    within = np.ones(picture.shape[:2], bool)
    for corner in (picture[0, 0], picture[-1, -1]):
        other = (picture != corner).any(axis=-1)
        for axis in (0, 1) if other.any() else ():
            places = np.flatnonzero(other.any(axis=1 - axis))
            outside = np.ones(other.shape[axis], bool)
            outside[places[0] : places[-1] + 1] = False
            within[(outside, slice(None)) if axis == 0 else (slice(None), outside)] = False
    return within


def _apart(pair: InputPair, within: np.ndarray) -> int:
    """Return how far two pixels of the input are from each other that a linear resize makes of other ones."""
    filled = [np.count_nonzero(within.any(axis=1 - axis)) / pair.frame.shape[axis] for axis in (0, 1)]
    return max(1, int(np.ceil(2 * max(filled) - _ROUNDED)))


def _gradient(picture: np.ndarray, axis: int) -> np.ndarray:
    return np.asarray(np.gradient(picture, axis=axis)) if picture.shape[axis] > 1 else np.zeros_like(picture)


def _is_noise_of_border(border: np.ndarray, inside: np.ndarray) -> bool:
    """Whether the border has no more noise than the picture, and its own colour. Of both: a row a pixel, in steps."""
    if not border.size:
        return True
    noise = float(np.square(inside).mean())
    mean = np.abs(border.mean(axis=0)).max()
    return bool(mean <= _STRUCTURED and np.square(border).mean() <= 2 * noise + _STRUCTURED**2)


def _without_means(picture: _Picture) -> np.ndarray | None:
    """Return what differs without its mean at each colour; None if that mean is more than noise has, or is cut to."""
    left = picture.error.copy()
    for c in range(left.shape[2]):
        error, within = picture.error[..., c], picture.within
        colours = np.clip(np.rint(picture.around[..., c]), 0, 255).astype(np.intp)
        noise = float(np.square(error[within]).mean())
        for where, most in (
            (within & ~picture.cut[..., c], _STRUCTURED**2),
            (within & picture.cut[..., c], _STRUCTURED**2 + _OF_CUT**2 * noise),
        ):
            counts = np.maximum(np.bincount(colours[where], minlength=256), 1)
            means = np.bincount(colours[where], error[where], 256) / counts
            present = np.count_nonzero(means)
            alike = noise * picture.apart**2  # values that share the noise of a pixel
            power = float((counts * means**2).sum()) - present * alike
            if power > most * where.sum() + _SURE * alike * np.sqrt(2 * present):
                return None
            left[..., c][where] -= means[colours[where]]
    return left


def _has_no_structure(error: np.ndarray, picture: _Picture, channel: int) -> bool:
    """Whether what differs in a channel follows neither colours, gradients nor its neighbours, and is even."""
    within = picture.within
    noise = float(np.square(error[within]).mean())
    if noise <= _STRUCTURED**2:
        return True
    count = int(within.sum())
    basis = np.column_stack([picture.around[within], *(g[within][:, None, channel] for g in picture.gradients)])
    basis = np.column_stack([basis - basis.mean(axis=0), np.ones(count)])
    weights = np.linalg.lstsq(basis, error[within], rcond=None)[0]
    alike = noise * picture.apart**2
    followed = float(np.square(basis @ weights).sum()) - basis.shape[1] * alike
    if followed > _STRUCTURED**2 * count + _SURE * alike * np.sqrt(2 * basis.shape[1]):
        return False
    for covariance, pixels in _covariances(error, within, picture.apart):
        if covariance > _STRUCTURED**2 + _SURE * noise * picture.apart / np.sqrt(pixels):
            return False
    return _is_even(error, picture, channel, noise)


def _covariances(error: np.ndarray, within: np.ndarray, apart: int) -> Iterator[tuple[float, int]]:
    """Yield the mean product of a pixel with those below, to the right and across, and how many there are.

    They are `apart` from each other, and twice as far.
    """
    for down, right in ((0, 1), (1, 0), (1, 1), (0, 2), (2, 0), (2, 2)):
        down, right = down * apart, right * apart
        rows, columns = error.shape
        first, second = np.s_[: max(rows - down, 0), : max(columns - right, 0)], np.s_[down:, right:]
        both = within[first] & within[second]
        pixels = int(both.sum())
        if pixels:
            yield abs(float((error[first] * error[second])[both].sum())) / pixels, pixels


def _is_even(error: np.ndarray, picture: _Picture, channel: int, noise: float) -> bool:
    """Whether what differs is as strong at edges as beside them, and in each block; noise that grows with light is."""
    within = picture.within
    bins = np.clip(picture.around[..., channel] // _BIN, 0, 255 // _BIN).astype(np.intp)
    counts = np.bincount(bins[within], minlength=255 // _BIN + 1)
    powers = np.bincount(bins[within], np.square(error[within]), counts.size) / np.maximum(counts, 1)
    powers = np.where(counts >= _FEW, np.maximum(powers, _STRUCTURED**2 / 4), max(noise, _STRUCTURED**2 / 4))
    relative = np.where(within, np.square(error) / powers[bins], 0.0)
    if float(np.square(relative[within]).mean()) > _PEAKED:
        return False
    slope = np.square(picture.gradients).sum(axis=(0, -1))
    edges = within & (slope > np.quantile(slope[within], _EDGES))
    at_edges, elsewhere = (float(relative[w].mean()) if w.any() else 1.0 for w in (edges, within & ~edges))
    if at_edges > _AT_EDGES * elsewhere and (at_edges - elsewhere) * noise > _STRUCTURED**2:
        return False
    return _is_even_in_parts(relative, within)


def _is_even_in_parts(relative: np.ndarray, within: np.ndarray) -> bool:
    """Whether no block, row or column has clearly more than its share. relative: squares, of which the mean is 1."""
    fourth = float(np.square(relative[within]).mean())
    for high, wide in ((_BLOCK, _BLOCK), (1, within.shape[1]), (within.shape[0], 1)):
        rows, columns = (extent // part for extent, part in zip(within.shape, (high, wide)))
        if not rows or not columns:
            continue
        shape = rows, high, columns, wide
        counts, sums = (
            x[: rows * high, : columns * wide].astype(np.float64).reshape(shape).sum((1, 3)) for x in (within, relative)
        )
        many = counts >= _SOME
        limits = _IN_PART + _SURE_OF_ALL * np.sqrt(max(fourth - 1, 0.0) / counts[many])
        if (sums[many] / counts[many] > limits).any():
            return False
    return True
