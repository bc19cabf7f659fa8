"""Find the spec that reads flat bytes, given the tensor that they contain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...buffers import TensorSpec
from ...errors import LayoutError, NpuLayoutError
from ...layouts import BY_RANK
from ...support import checked_call, instance, items_of, plain_array, text_of, widened
from ..scoring.thresholds import LEAST, MARGIN
from .buffer_scales import along_channels
from .buffer_search import COARSE, Buffer, Hypothesis, explained, itemsize, sampled, searched
from .fillings import BLOCKS

_CHANCE = 120.0  # dB of three values that the best of 1000 readings reaches by chance in one of 1000 buffers
_SHIFTS = 4096  # elements after its apparent beginning at which a tensor is looked for
_MOST_AXES = 6  # whose orders are all tried, in a minute; 7 would take ten minutes, and gigabytes
_TRIED = (
    f"Tried: every order of the axes, plain, one axis in blocks of {BLOCKS[0]} to {BLOCKS[-1]}, or as a vendor names "
    f"it, and with one pitch longer than needed. Not tried: two such pitches, data before the tensor, 4-bit elements, "
    f"and int32 unless the array has this dtype."
)


class Identification:
    """What `identify` found.

    Attributes
    ----------
    ranking
        Hypotheses, best first; of those that read the same elements in the same order there is one.
    spec
        The TensorSpec that reads the buffer. None if no reading explains it, or two do so equally well.
    why
        The evidence, and what to do, in sentences.
    """

    ranking: tuple[Hypothesis, ...]
    spec: TensorSpec | None
    why: str

    def __init__(self, ranking: Sequence[Hypothesis], spec: TensorSpec | None, why: str) -> None:
        self.ranking = tuple(items_of("ranking", ranking, Hypothesis, "Hypotheses"))
        self.spec = None if spec is None else instance("spec", spec, TensorSpec)
        self.why = text_of("why", why)

    def __bool__(self) -> bool:
        return self.spec is not None

    def __repr__(self) -> str:
        return f"Identification({self.spec!r}: {self.why})"


@checked_call
def identify(flat: Any, reference: Any, *, axes: str | None = None) -> Identification:
    """Find dtype, axis order, block, padding, strides, scale and zero point of a buffer.

    Parameters
    ----------
    flat
        The accelerator's memory, as bytes, another contiguous buffer or a uint8 array: then integers of 8 and 16 bits
        and floats of 16 and 32 bits are tried, in both byte orders. Or an array of another dtype, which is then taken
        as right except for the sign of integers (bool counts as uint8).
    reference
        The tensor that the buffer contains, such as onnxruntime's output for the same input: an array of numbers with
        the logical shape.
    axes
        Letters of the reference's axes. None: N, NC, NCW, NCHW or NCDHW, by the number of axes.

    Returns
    -------
    An Identification. Its `spec` has one scale, or one for each channel if that explains 3 dB more. It is None if no
    reading explains 4 dB (more if the reference has less than 32 elements), if another one is within 3 dB of the best,
    or if the best explains more from a later element on.

    Raises
    ------
    NpuLayoutError
        If the reference has something else than numbers, has a number of axes without usual letters and `axes` is None,
        or has more than 6 axes longer than 1.
    LayoutError
        If the buffer is too small for the reference in every dtype.

    Examples
    --------
    >>> from npu_layout import Quantization, TensorSpec, identify
    >>> reference = np.random.default_rng(0).standard_normal((1, 17, 6, 5))
    >>> spec = TensorSpec((1, 17, 6, 5), "NCHW16c", "int8", quantization=Quantization(0.03, 4))
    >>> found = identify(spec.pack(reference), reference)
    >>> str(found.spec.layout), found.spec.quantization.zero_point
    ('NCHW16c', 4)
    """
    values, letters = _reference(reference, axes)
    buffer, rng = Buffer(flat), np.random.default_rng(0)
    fitting = _fitting(buffer, values)
    if not _varies(values):
        return Identification(
            (),
            None,
            "The reference is constant or not finite, so every order looks the same. Fix: give one that varies.",
        )
    ranking = buffer.of_its_own(searched(buffer, fitting, values, letters, rng))
    ranking = _of_foreign_order(buffer, values, letters, ranking) + ranking
    return _refined(_verdict(ranking, values.size), buffer, values, rng)


def _of_foreign_order(
    buffer: Buffer, values: np.ndarray, letters: str, known: Sequence[Hypothesis]
) -> list[Hypothesis]:
    """Return the two best readings of elements in the other byte order, if they explain more than all `known` ones.

    Of elements in that order the high bytes alone, as elements of 8 bits with gaps, explain some dB too. Integers below
    256 are as linear in either order: they are read in this one.
    """
    fitting = buffer.fitting(values.size, foreign=True)
    found = searched(buffer, fitting, values, letters, np.random.default_rng(0), 2) if fitting else []
    explain = [h for h in known if h.score >= LEAST]
    return [
        h
        for h in found
        if h.score >= max((one.score for one in explain), default=0.0) + MARGIN
        and all(one.spec.storage != h.spec.storage for one in explain)
    ]


def hypotheses(
    flat: bytes, reference: np.ndarray, axes: str, most: int, dtype: str = "int8", only: bool = False
) -> list[Hypothesis]:
    """Return the first of the ranking of `identify`, without scales.

    dtype: one that is tried too, such as int32, whose halves would be found in its place; `only`: and no other one.
    """
    values, letters = _reference(reference, axes)
    buffer = Buffer(flat, dtype)
    fitting = [d for d in _fitting(buffer, values) if d == dtype or not only]
    if not _varies(values):
        return []
    return searched(buffer, fitting, values, letters, np.random.default_rng(0), most, scaled=False)


def _fitting(buffer: Buffer, values: np.ndarray) -> list[str]:
    """Return the dtypes in which the buffer has elements enough; LayoutError if there is none."""
    fitting = buffer.fitting(values.size)
    if not fitting:
        raise LayoutError(
            f"buffer of {buffer.raw.nbytes} bytes is too small for a tensor of {values.shape} ({values.size} elements) "
            f"in {', '.join(buffer.dtypes)}"
        )
    return fitting


def _varies(values: np.ndarray) -> bool:
    low, high = values.min(), values.max()
    return bool(np.isfinite(low) and np.isfinite(high) and low != high)


def _reference(reference: Any, axes: Any) -> tuple[np.ndarray, str]:
    """Return the reference's values, and the letters of its axes."""
    wanted = plain_array("reference", reference)
    if wanted.dtype.kind not in "biuf" or wanted.size == 0:
        raise NpuLayoutError(f"reference: expected numbers, got {wanted.dtype} of shape {wanted.shape}")
    letters = BY_RANK.get(wanted.ndim, "") if axes is None or (isinstance(axes, str) and not axes) else axes
    if not isinstance(letters, str) or not letters or len(letters) != wanted.ndim or len(set(letters)) != len(letters):
        raise NpuLayoutError(f"reference of shape {wanted.shape}: expected a letter for each axis, got axes={axes!r}")
    long = sum(n > 1 for n in wanted.shape)
    if long > _MOST_AXES:
        raise NpuLayoutError(
            f"reference of shape {wanted.shape}: expected at most {_MOST_AXES} axes longer than 1, got {long}, "
            f"whose orders are too many to try; merge axes that are neighbours in the buffer too, by reshape"
        )
    return widened(wanted), letters


def _refined(result: Identification, buffer: Buffer, values: np.ndarray, rng: np.random.Generator) -> Identification:
    """Return the result with a scale per channel if that fits better; without a spec if the tensor begins later."""
    if result.spec is not None:
        result = _in_place(result, result.spec, buffer.read(str(result.spec.dtype)), values, rng)
    if result.spec is None or result.spec.quantization is None:
        return result
    spec = along_channels(buffer.read(str(result.spec.dtype)), result.spec, values, rng)
    if spec is result.spec:
        return result
    best = Hypothesis(spec, result.ranking[0].score)
    return Identification((best, *result.ranking[1:]), spec, f"{result.why} Each channel has a scale of its own.")


def _in_place(
    result: Identification, spec: TensorSpec, read: np.ndarray, values: np.ndarray, rng: np.random.Generator
) -> Identification:
    """Return the result without its spec if reading from a later element fits better: other data precede the tensor."""
    given = spec.to_dict()
    spare = spec.size - TensorSpec.from_dict({k: v for k, v in given.items() if k != "size"}).size
    if not spare:
        return result
    index = sampled(values, COARSE, rng)
    places = spec.offset(*index.T) + np.arange(min(spare, _SHIFTS) + 1)[:, None]
    with np.errstate(all="ignore"):
        scores = explained(read[places], values[tuple(index.T)], str(spec.dtype))
    best = int(scores.argmax())
    if scores[best] < scores[0] + MARGIN:
        return result
    why = (
        f"{result.why} But from element {best} on, it agrees to {scores[best]:.1f} dB, so other data precede the "
        f"tensor. Fix: give the buffer without its first {best * itemsize(str(spec.dtype))} bytes."
    )
    return Identification(result.ranking, None, why)


def _verdict(ranking: list[Hypothesis], count: int) -> Identification:
    """Return the result of a ranking.

    By chance, a line fits `count` values to s dB with a probability of at most 10 ** (-s * (count - 2) / 20); about a
    thousand lines are tried.
    """
    if count < 3:
        return Identification(ranking, None, f"{count} elements fit a line in any order. Fix: give a longer reference.")
    least = max(LEAST, _CHANCE / (count - 2))
    if not ranking or ranking[0].score < least:
        best = f" The best, {ranking[0].spec.describe()}, agrees to {ranking[0].score:.1f} dB." if ranking else ""
        if least > LEAST:
            best += f" With {count} elements, less than {least:.0f} dB may be chance."
        what = f"No reading of the buffer agrees with the reference.{best}"
        return Identification(ranking, None, f"{what} Check that both are of the same input. {_TRIED}")
    first = ranking[0]
    text = f"{first.spec.describe()} agrees with the reference to {first.score:.1f} dB"
    if len(ranking) == 1:
        return Identification(ranking, first.spec, f"{text}; nothing else fits.")
    second = ranking[1]
    if first.score - second.score < MARGIN:
        return Identification(
            ranking,
            None,
            f"{text}, and {second.spec.describe()} to {second.score:.1f} dB: too close to decide. Fix: record an input "
            f"whose maps differ more from left to right, from top to bottom and from channel to channel.",
        )
    return Identification(
        ranking, first.spec, f"{text}; the next best, {second.spec.describe()}, to {second.score:.1f} dB."
    )
