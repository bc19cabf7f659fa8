"""Every dtype and filling of a buffer, scored against a reference at sampled places; nothing is repacked."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...buffers import TensorSpec, element
from ...errors import NpuLayoutError
from ...layouts import Layout
from ...support import foreign_array, naming, plain_array
from ..scoring.thresholds import ROUNDING
from .buffer_scales import quantization
from .fillings import Filling, places, weighted

COARSE = 192  # samples of all fillings
_FINE, _KEPT = 4096, 48  # samples of the best fillings, and the number of these
_MOST = 200.0  # dB of a reading without any error
_DTYPES = ("int8", "uint8", "int16", "uint16", "float16", "bfloat16", "float32")
_FOREIGN = tuple(np.dtype(name).newbyteorder().str for name in ("int16", "uint16", "float16", "float32"))
_ALSO = {"int8": ("uint8",), "int16": ("uint16",), "uint16": ("int16", "bfloat16")}  # what an ndarray may be as well


class Hypothesis(NamedTuple):
    """A reading of the bytes that `identify` tried, and how much of them the reference explains.

    Attributes
    ----------
    spec
        The TensorSpec that reads them.
    score
        How well the reading agrees, in dB: the variance of its values over the variance of what is left of them after
        the best straight line of the reference, scale * reference + offset, is subtracted.
    """

    spec: TensorSpec
    score: float


class Buffer:
    """The bytes to be read, and their possible dtypes; `own`: the dtype of the array that was given, or None.

    also: a dtype that is possible, too; sub-byte ones are not tried.
    """

    def __init__(self, flat: Any, also: str = "int8") -> None:
        foreign = foreign_array("buffer", flat)
        flat = flat if foreign is None else foreign
        if isinstance(flat, np.ndarray):
            flat = plain_array("buffer", flat)  # a subclass may have arithmetic of its own
        self.own: str | None = None
        self.dtypes: tuple[str, ...] = _DTYPES
        if isinstance(flat, np.ndarray) and flat.dtype != np.uint8:
            if not flat.flags.c_contiguous:
                what = f"buffer with strides {flat.strides} is not contiguous"
                raise NpuLayoutError(f"{what}; expected the accelerator's bytes in their order in memory")
            with naming("buffer"):
                self.own = element(np.uint8 if flat.dtype == bool else flat.dtype).name  # quantised values are not bool
            self.dtypes = self.own, *_ALSO.get(self.own, ())
            self.raw = flat.reshape(-1).view(np.uint8)
        elif isinstance(flat, np.ndarray):
            self.raw = np.ascontiguousarray(flat).reshape(-1)
        else:
            self.raw = _bytes(flat)
        if self.own is None and not element(also).nibbles and element(also).unpacked.kind != "b":
            self.dtypes = tuple(dict.fromkeys((*self.dtypes, also)))

    def fitting(self, size: int, foreign: bool = False) -> list[str]:
        """Return the dtypes of which it has at least `size` elements; `foreign`: those of the other byte order."""
        dtypes = (_FOREIGN if self.own is None else ()) if foreign else self.dtypes
        whole = [d for d in dtypes if self.raw.nbytes % itemsize(d) == 0]
        return [d for d in whole if self.raw.nbytes // itemsize(d) >= size]

    def read(self, dtype: str) -> np.ndarray:
        """Return the elements of a dtype as numbers."""
        kind, raw = element(dtype), self.raw
        stored = raw.view(kind.buffer) if raw.ctypes.data % kind.buffer.itemsize == 0 else raw.copy().view(kind.buffer)
        if dtype == "bfloat16":
            return TensorSpec((len(stored),), "N", dtype).unpack(stored)
        return stored

    def of_its_own(self, found: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Return the hypotheses of its own dtype, and those of others that read other numbers."""
        if self.own is None:
            return list(found)
        first = [h for h in found if h.spec.dtype == self.own]
        return [h for h in found if h in first or all(not _alike(h, other) for other in first)]


def _bytes(flat: Any) -> np.ndarray:
    try:
        return np.frombuffer(flat, np.uint8)
    except (TypeError, ValueError, BufferError) as error:
        raise NpuLayoutError(f"buffer: expected bytes or an ndarray, got {type(flat).__name__} ({error})") from None


def itemsize(dtype: str) -> int:
    """Return the bytes of a stored element."""
    return int(element(dtype).buffer.itemsize)


def _alike(a: Hypothesis, b: Hypothesis) -> bool:
    """Whether two hypotheses of different dtypes read the same numbers in the same order."""
    return a.spec.storage == b.spec.storage and abs(a.score - b.score) < 1e-9


def sampled(values: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return indices, half of them of values far from the reference's mean."""
    if values.size <= count:
        picked = np.arange(values.size)
    else:
        many = rng.integers(0, values.size, 6 * count)
        far = many[np.argsort(-np.abs(values.ravel()[many] - values.mean()))[: count // 2]]
        picked = np.unique(np.concatenate([far, rng.integers(0, values.size, count - len(far))]))
    return np.stack(np.unravel_index(picked, values.shape), 1)


def explained(read: np.ndarray, wanted: np.ndarray, dtype: str) -> np.ndarray:
    """Return how well a rising straight line through `wanted` fits each row of `read`, in dB.

    dtype: of the elements that were read.
    """
    kind = element(dtype)
    steps, read, count = kind.unpacked.kind != "f", np.asarray(read, np.float64), read.shape[1]
    y = read - read.mean(1, keepdims=True)
    x = wanted - wanted.mean()
    power, cross = np.einsum("ij,ij->i", y, y) / count, np.einsum("ij,j->i", y, x) / count
    left = power - cross * cross / (x * x).mean()
    floor = np.maximum(ROUNDING if steps else 0.0, power * 10 ** (-_MOST / 10))
    score = 10 * np.log10(np.maximum(power, 1e-300) / np.maximum(left, floor))
    good = (cross > 0) & (power > 0)
    if not steps:  # integers are as linear as floats of the smallest exponents
        good &= (power > (4 * float(np.finfo(kind.unpacked).tiny)) ** 2) | (power > (x * x).mean() / 4)
        good &= np.isfinite(read).all(1)
    return np.where(good, score, -np.inf)


class _Scored(NamedTuple):
    """A score, and what makes the spec that has it: most are never asked for."""

    score: float
    spec: Callable[[], TensorSpec]


def searched(
    buffer: Buffer,
    dtypes: Sequence[str],
    values: np.ndarray,
    letters: str,
    rng: np.random.Generator,
    most: int | None = None,
    scaled: bool = True,
) -> list[Hypothesis]:
    """Return hypotheses that read different elements, best first; the best ones if `most` is given.

    scaled: whether their specs have a quantization.
    """
    found: list[_Scored] = []
    with np.errstate(all="ignore"):  # bytes read as floats may be anything
        for _, group in itertools.groupby(sorted(dtypes, key=itemsize), key=itemsize):
            found += _of_size(buffer, tuple(group), values, letters, rng, scaled)
        best_first = sorted(found, key=lambda one: -one.score)
        return [Hypothesis(one.spec(), one.score) for one in best_first[:most]]


def _of_size(
    buffer: Buffer, dtypes: tuple[str, ...], values: np.ndarray, letters: str, rng: np.random.Generator, scaled: bool
) -> list[_Scored]:
    """Return the fillings of dtypes that are all of one size."""
    size, shape = buffer.raw.nbytes // itemsize(dtypes[0]), values.shape
    orders, moves = weighted(shape, letters, size)
    index, more = sampled(values, COARSE, rng), sampled(values, _FINE, rng)
    offsets, wanted, wanted_more = places(index, shape, moves), values[tuple(index.T)], values[tuple(more.T)]
    found = []
    for dtype in dtypes:
        read = buffer.read(dtype)
        score = explained(read[offsets], wanted, dtype)
        best = np.argsort(-score, kind="stable")[:_KEPT]
        best = best[np.isfinite(score[best])]
        if not best.size:
            continue
        fine = places(more, shape, moves[:, best])
        gathered = read[fine].astype(np.float64)
        seen: set[bytes] = set()
        for k, at, given, db in zip(best, fine, gathered, explained(gathered, wanted_more, dtype)):
            same = at.tobytes()
            if same in seen or not np.isfinite(db):
                continue
            seen.add(same)
            values_of = (given, wanted_more) if scaled else None
            found.append(_Scored(float(db), partial(_spec, orders[k], shape, letters, dtype, size, values_of)))
    return found


def _spec(
    order: Filling,
    shape: tuple[int, ...],
    letters: str,
    dtype: str,
    size: int,
    values: tuple[np.ndarray, np.ndarray] | None,
) -> TensorSpec:
    """Return the spec of a filling. values: stored and real ones, which its quantization is fitted to; None: none."""
    q = None if values is None else quantization(*values, dtype)
    layout, strides = order.layout, order.strides
    if layout.axes != letters:
        strides = tuple(strides[layout.axes.index(letter)] for letter in letters)
        layout = Layout.plain(letters)
    return TensorSpec(shape, layout, dtype, axes=letters, quantization=q, storage_strides=strides, size=size)
