"""Find the order of axes, the block and the dtype in which one of two dumps of a tensor is stored, from the other one.

Every order is tried on a sample of elements. Likely ones are tried first, and another one is used only if it agrees
better by MARGIN.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..buffers import TensorSpec
from ..comparison import decibels
from ..layouts import FASTEST_FIRST, Layout, Shape
from ..support import widened
from .layer_dumps import Stored

MARGIN = 3.0  # dB by which a reading has to be better than a preferred one, as in the diagnosis of buffers
_SAMPLES = 4096  # elements: a wrong order of so many agrees to no more than 1 dB by chance
_PAIRS = 128  # pairs of orders that are tried; beyond that, one of the two dumps is in its first order
_CLEAR = 60.0  # dB that no other reading need be compared with
_LIMIT = 1e150  # whose square a float64 contains
_FITS = 20.0  # dB that a fit of integers explains, if bytes may be floats as well
_FEW = 8  # elements that a scale and a zero point fit too easily
_MOST_AXES = 5  # of more than one element, of which every order is tried
_LONGEST = 8  # axes of any length, of which every order is tried
_BLOCKS = (2, 4, 8, 16, 32, 64)
# dtypes of raw bytes, by their size
_DTYPES = {
    1: ("int8", "uint8", "bool"),
    2: ("float16", "bfloat16", "int16", "uint16"),
    4: ("float32", "int32", "uint32"),
    8: ("float64", "int64"),
}


class StoredAs(NamedTuple):
    """How one dump of a tensor is stored: the tag of its layout, and its dtype."""

    tag: str
    dtype: str

    def __str__(self) -> str:
        return f"{self.tag} of {self.dtype}"


class Side(NamedTuple):
    """One way to read one dump of a tensor."""

    layout: Layout
    dtype: str
    flat: np.ndarray

    @property
    def stored_as(self) -> StoredAs:
        """The layout and the dtype, without the elements."""
        return StoredAs(self.layout.tag, self.dtype)


class DumpReading(NamedTuple):
    """How two dumps of a tensor are read: in which `shape`, and by which scale and zero point (None: as they are).

    `fitted` is (0 for a or 1 for b, scale, zero point): the side that contains integers of an unknown scale.
    """

    shape: Shape
    a: Side
    b: Side
    fitted: tuple[int, float, float] | None

    def values(self) -> tuple[np.ndarray, np.ndarray]:
        """Return both as float64 arrays of the shape; what is too large to be squared is infinite."""
        found = [tensor(side, self.shape) for side in (self.a, self.b)]
        if self.fitted is not None:
            which, scale, zero_point = self.fitted
            found[which] = (found[which] - zero_point) * scale
        a, b = (np.where(np.abs(x) > _LIMIT, np.copysign(np.inf, x), x) for x in found)
        return a, b

    def lacks_scale(self, dtype: str) -> bool:
        """Whether integers of one side stand for real values by no known scale; dtype: the model's."""
        return self.fitted is None and _is_quantised(self.a.dtype, self.b.dtype, dtype)


def _is_quantised(kind_a: str, kind_b: str, dtype: str) -> bool:
    """Whether integers of one dump stand for real values that the other one has, or has as other integers."""
    whole = ["float" not in kind for kind in (kind_a, kind_b)]
    return kind_a != kind_b and any(whole) and "int" not in dtype and dtype != "bool"


def tensor(side: Side, shape: Shape) -> np.ndarray:
    """Return the elements of one side as a float64 array of the logical shape."""
    found = flat = side.flat
    if shape:
        spec = TensorSpec(shape, side.layout, f"uint{8 * flat.itemsize}")
        bits = np.ascontiguousarray(flat).view(spec.dtype)
        found = np.asarray(spec.unpack(bits)).view(flat.dtype)
    return widened(found).reshape(shape)


@lru_cache(maxsize=256)
def orders(shape: Shape) -> tuple[Layout, ...]:
    """Return the layouts of a shape that store its elements differently: orders of its axes, then blocks of channels.

    The first is the tensor's own order, the second has the channels last.
    """
    own = Layout.of_rank(len(shape))
    letters = own.axes
    if not letters:
        return (own,)
    found = {_active(letters, shape, letters): own}
    many = sum(n > 1 for n in shape) > _MOST_AXES or len(shape) > _LONGEST
    every = () if many else map("".join, itertools.permutations(letters))
    for tag in (letters[:1] + letters[2:] + letters[1:2], *every):
        if tag not in FASTEST_FIRST:
            found.setdefault(_active(letters, shape, tag), Layout(tag, letters))
    return (*found.values(), *_blocked(letters, shape))


def _active(letters: str, shape: Shape, tag: str) -> str:
    """Return the axes of a tag that have more than one element."""
    return "".join(letter for letter in tag if shape[letters.index(letter)] > 1)


def _blocked(letters: str, shape: Shape) -> Iterator[Layout]:
    if not 3 <= len(letters) <= 5:
        return
    first, channels, rest = letters[0], letters[1], letters[2:]
    tags = [first + channels + rest, first + rest + channels, first + rest[0] + channels + rest[1:]]
    if shape[0] > 1:
        tags.append(channels + first + rest)
    for tag, block in itertools.product(tags, _BLOCKS):
        yield Layout(f"{tag}{block}{channels.lower()}", letters)


def logical_shape(known: Sequence[int | None] | None, a: Stored, b: Stored) -> Shape:
    """Return the shape of a tensor from what the model knows of it, and from the two dumps.

    If the model's shape is not known or neither dump has its number of elements, it is that of an array.
    """
    arrays = [x for x in (a, b) if isinstance(x, np.ndarray)]
    count = arrays[0].size if arrays else len(a) // 4
    found = None if known is None else _from_known(known, (a, b), arrays, count)
    if found is not None:
        return found
    return max((x.shape for x in arrays), key=len) if arrays else (count,)


def _from_known(
    known: Sequence[int | None], both: Sequence[Stored], arrays: Sequence[np.ndarray], count: int
) -> Shape | None:
    """Return the model's shape, with the extents that it leaves open; None if no dump has such a shape."""
    exact = tuple(n for n in known if n is not None)
    if len(exact) == len(known):
        return exact if 0 in exact or not arrays or any(_can_be(x, exact) for x in both) else None
    for shape in (x.shape for x in arrays if len(x.shape) == len(known)):
        if all(n in (None, m) for n, m in zip(known, shape)):
            return shape
    rest = math.prod(exact)
    if len(exact) < len(known) - 1 or not rest or count % rest:
        return None
    return tuple(count // rest if n is None else n for n in known)


def _can_be(stored: Stored, shape: Shape) -> bool:
    """Whether a dump has as many elements as a tensor of `shape` in one of its layouts."""
    sizes = {one.size(shape) if shape else 1 for one in orders(shape)}
    if isinstance(stored, np.ndarray):
        return stored.size in sizes
    return any(len(stored) == size * n for size in sizes for n in _DTYPES)


def best_reading(known: Sequence[int | None] | None, dtype: str, a: Stored, b: Stored) -> DumpReading | None:
    """Return the reading in which both agree best; None if one has another number of elements than the tensor."""
    shape = logical_shape(known, a, b)
    count = math.prod(shape)
    if not count:
        return None
    choices = [list(_sides(x, shape, dtype)) for x in (a, b)]
    if not all(choices):
        return None
    index = _sample_of(shape, count)
    samples = [[_sampled(side, shape, index) for side in sides] for sides in choices]
    best: tuple[float, DumpReading] | None = None
    for i, k in _pairs(choices):
        one, other = choices[0][i], choices[1][k]
        score, fitted = _score(samples[0][i], samples[1][k], one.dtype, other.dtype, dtype)
        if best is None or (score > best[0] + MARGIN and (fitted is None or best[1].fitted or score >= _FITS)):
            best = score, DumpReading(shape, one, other, fitted)
            if score >= _CLEAR:
                break
    return None if best is None else best[1]


def _sample_of(shape: Shape, count: int) -> tuple[np.ndarray, ...]:
    """Return indices of some elements, or of all if there are few, an array for each axis."""
    chosen = np.random.default_rng(0).integers(0, count, _SAMPLES) if count > _SAMPLES else np.arange(count)
    return np.unravel_index(np.sort(chosen), shape) if shape else ()


def _pairs(choices: Sequence[Sequence[Side]]) -> Iterator[tuple[int, int]]:
    """Yield pairs of ways to read both; if there are too many, those in which one is the first or both are alike."""
    a, b = choices
    few = len(a) * len(b) <= _PAIRS
    for i, k in itertools.product(range(len(a)), range(len(b))):
        if few or not (i and k) or a[i].layout == b[k].layout:
            yield i, k


def _sides(stored: Stored, shape: Shape, dtype: str) -> Iterator[Side]:
    """Yield the ways to read a dump, likely ones first."""
    arrays = [(stored.dtype.name, stored)] if isinstance(stored, np.ndarray) else _from_bytes(stored, dtype)
    layouts = orders(shape)
    for name, array in arrays:
        flat = array.reshape(-1)
        own = [n for n in array.shape if n > 1]
        fitting = [one for one in layouts if one.size(shape) == flat.size] if shape else layouts[: flat.size == 1]
        for likely in (True, False):
            for layout in fitting:
                stored_as = [n for n in layout.storage_shape(shape) if n > 1] if shape else []
                if (stored_as == own) is likely:
                    yield Side(layout, name, flat)


def _from_bytes(content: bytes, dtype: str) -> Iterator[tuple[str, np.ndarray]]:
    found = [(name, size) for size, names in _DTYPES.items() for name in names if len(content) % size == 0]
    for name, size in sorted(found, key=lambda one: (one[0] != dtype, "float" not in one[0])):
        if name == "bfloat16":
            yield name, (np.frombuffer(content, np.uint16).astype(np.uint32) << 16).view(np.float32)
        elif "float" in name or dtype == name or (name != "bool" and (size < 4 or "float" not in dtype)):
            yield name, np.frombuffer(content, name)


def _sampled(side: Side, shape: Shape, index: tuple[np.ndarray, ...]) -> np.ndarray:
    at = side.layout.offset(shape, *index) if shape else np.zeros(1, int)
    with np.errstate(all="ignore"):
        return np.asarray(side.flat[at], np.float64)


def _score(
    a: np.ndarray, b: np.ndarray, kind_a: str, kind_b: str, dtype: str
) -> tuple[float, tuple[int, float, float] | None]:
    """Return to how many dB two samples agree, and the fit of a side of integers that stand for real values."""
    good = (np.abs(a) < _LIMIT) & (np.abs(b) < _LIMIT)  # and so finite
    a, b = a[good], b[good]
    if not a.size:
        return 0.0, None
    fitted = None
    if _is_quantised(kind_a, kind_b, dtype) and a.size >= _FEW:
        which = 1 if "float" in kind_a else 0
        codes, real = (a, b) if which == 0 else (b, a)
        fitted = _fit(which, codes, real)
        if fitted is not None:
            a, b = real, (codes - fitted[2]) * fitted[1]
    with np.errstate(all="ignore"):
        return decibels(float(np.mean(a * a)), float(np.mean((a - b) ** 2))), fitted


def _fit(which: int, codes: np.ndarray, real: np.ndarray) -> tuple[int, float, float] | None:
    """Return the side, the scale and the zero point that make of `codes` the real values, by least squares."""
    with np.errstate(all="ignore"):
        spread = codes.var()
        if not spread > 0:
            return None
        scale = float(((codes - codes.mean()) * (real - real.mean())).mean() / spread)
    if not np.isfinite(scale) or scale <= 0:
        return None
    return which, scale, float(codes.mean() - real.mean() / scale)
