"""identify: from flat bytes and one reference tensor to the spec that reads them.

A hypothesis is a dtype and a stride for the outer and the inner part of each axis. Offsets are linear in i // b and
i % b, so all hypotheses are one matrix product and one gather at sampled coordinates; nothing is repacked.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..buffers import Quantization, TensorSpec, element
from ..errors import LayoutError, NpuLayoutError
from ..layouts import BY_RANK, FASTEST_FIRST, NAMED, Layout
from ..support import plain_array

BLOCKS = (2, 4, 8, 16, 32, 64)
LEAST, MARGIN = 4.0, 3.0  # dB: what a reading has to explain, and by how much better than every other one
_FEW, _MANY, _KEPT = 192, 4096, 48  # samples of all hypotheses, of the best ones, and how many these are
_MOST = 200.0  # dB of a reading without any error
_CHANCE = 120.0  # dB of three values that one in a thousand times the best of a thousand readings explains
_SHIFTS = 4096  # elements that a tensor is looked for behind where it seems to be
_DTYPES = ("int8", "uint8", "int16", "uint16", "float16", "bfloat16", "float32")
_TRIED = (
    f"Tried: every order of the axes, one of them in blocks of {BLOCKS[0]} to {BLOCKS[-1]} or as a vendor's name says, "
    f"one pitch longer than needed; not two such pitches, nor anything in front of the tensor, nor half bytes, "
    f"nor int32 where the bytes do not say so"
)
_ALSO = {"int8": ("uint8",), "int16": ("uint16",), "uint16": ("int16", "bfloat16")}  # what an ndarray may be as well


class Hypothesis(NamedTuple):
    """A reading of the bytes that `identify` tried, and how much of them the reference explains.

    Attributes
    ----------
    spec
        The TensorSpec that reads them.
    score
        In dB: the variance of the values against that of what a straight line through the reference leaves.
    """

    spec: TensorSpec
    score: float


class Identification:
    """What `identify` found.

    Attributes
    ----------
    ranking
        Hypotheses that read different elements, best first.
    spec
        The TensorSpec that reads the buffer, or None where none explains it or two do as well.
    why
        The evidence, in words.
    """

    ranking: tuple[Hypothesis, ...]
    spec: TensorSpec | None
    why: str

    def __init__(self, ranking: Sequence[Hypothesis], spec: TensorSpec | None, why: str) -> None:
        self.ranking, self.spec, self.why = tuple(ranking), spec, why

    def __bool__(self) -> bool:
        return self.spec is not None

    def __repr__(self) -> str:
        return f"Identification({self.spec!r}: {self.why})"


class _Order(NamedTuple):
    """A layout as it may fill a buffer: its strides in elements, for each storage dimension, and for each axis as
    (block, stride of i // block, stride of i % block)."""

    layout: Layout
    axes: tuple[tuple[int, int, int], ...]
    strides: tuple[int, ...]


def identify(flat: Any, reference: Any, *, axes: str | None = None) -> Identification:
    """Find dtype, axis order, block, padding, strides, scale and zero point of a buffer.

    Parameters
    ----------
    flat
        The accelerator's bytes: bytes or a contiguous buffer (integers of 8 and 16 bits and floats of 16 and 32 are
        tried), or an ndarray, of any dtype, which is right but for its sign (uint8 counts as bytes, bool as uint8).
    reference
        The tensor that they stand for, such as onnxruntime's output for the same input: numbers of the logical shape.
    axes
        Letters of the reference's axes; default N, NC, NCW, NCHW, NCDHW by rank.

    Returns
    -------
    An Identification, with one scale, or one for each channel where that explains `MARGIN` dB more. Its `spec` is None
    where no reading explains `LEAST` dB (more where the reference has less than 32 elements), where another one is
    within `MARGIN` dB of the best, and where the best explains more from a later element on.

    Raises
    ------
    NpuLayoutError
        On a reference without numbers, or of an unknown rank without `axes`.
    LayoutError
        Where the buffer is too small for the reference in every dtype.

    Examples
    --------
    >>> reference = np.random.default_rng(0).standard_normal((1, 17, 6, 5))
    >>> spec = TensorSpec((1, 17, 6, 5), "NCHW16c", "int8", quantization=Quantization(0.03, 4))
    >>> found = identify(spec.pack(reference), reference)
    >>> str(found.spec.layout), found.spec.quantization.zero_point
    ('NCHW16c', 4)
    """
    wanted = plain_array(reference)
    if wanted.dtype.kind not in "biuf" or wanted.size == 0:
        raise NpuLayoutError(f"reference: expected numbers, got {wanted.dtype} of shape {wanted.shape}")
    letters = axes or BY_RANK.get(wanted.ndim, "")
    if not isinstance(letters, str) or not letters or len(letters) != wanted.ndim or len(set(letters)) != len(letters):
        raise NpuLayoutError(f"reference of shape {wanted.shape}: expected a letter for each axis, got axes={axes!r}")
    raw, dtypes = _readings(flat)
    fitting = [d for d in dtypes if raw.nbytes % element(d).buffer.itemsize == 0]
    fitting = [d for d in fitting if raw.nbytes // element(d).buffer.itemsize >= wanted.size]
    if not fitting:
        raise LayoutError(
            f"buffer of {raw.nbytes} bytes cannot hold a tensor of {wanted.shape} ({wanted.size} elements) in "
            f"{', '.join(dtypes)}"
        )
    values = wanted.astype(np.float64)
    if not np.isfinite(values).all() or values.max() == values.min():
        return Identification((), None, "the reference is constant, or not finite: every order reads the same from it")
    rng = np.random.default_rng(0)
    found: list[Hypothesis] = []
    with np.errstate(all="ignore"):  # bytes read as floats may be anything
        for size, group in itertools.groupby(sorted(fitting, key=_size), key=_size):
            found += _of_size(raw, raw.nbytes // size, tuple(group), values, letters, rng)
    found.sort(key=lambda h: -h.score)
    if isinstance(flat, np.ndarray) and flat.dtype != np.uint8:  # its own dtype, unless the other sign says more
        first = [h for h in found if h.spec.dtype == dtypes[0]]
        found = [h for h in found if h in first or all(not _alike(h, other) for other in first)]
    result = _verdict(found, values.size)
    if result.spec is not None:
        result = _in_place(result, result.spec, _read(raw, result.spec.dtype), values, rng)
    if result.spec is None or result.spec.quantization is None:
        return result
    spec = _along_channels(_read(raw, result.spec.dtype), result.spec, values, rng)
    if spec is result.spec:
        return result
    best = Hypothesis(spec, result.ranking[0].score)
    return Identification((best, *result.ranking[1:]), spec, f"{result.why}; each channel has a scale of its own")


def _alike(a: Hypothesis, b: Hypothesis) -> bool:
    """Whether two hypotheses of different dtypes read the same numbers in the same order."""
    return a.spec.storage == b.spec.storage and abs(a.score - b.score) < 1e-9


def _size(dtype: str) -> int:
    return int(element(dtype).buffer.itemsize)


def _readings(flat: Any) -> tuple[np.ndarray, tuple[str, ...]]:
    """The bytes, and the dtypes that they may be."""
    if isinstance(flat, np.ndarray) and flat.dtype != np.uint8:
        if not flat.flags.c_contiguous:
            raise NpuLayoutError(f"buffer of strides {flat.strides} is not contiguous; expected the bytes as they came")
        name = element(np.uint8 if flat.dtype == bool else flat.dtype).name  # what is quantised is no bool
        return flat.reshape(-1).view(np.uint8), (name, *_ALSO.get(name, ()))
    if isinstance(flat, np.ndarray):
        return np.ascontiguousarray(flat).reshape(-1), _DTYPES
    try:
        return np.frombuffer(flat, np.uint8), _DTYPES
    except (TypeError, ValueError, BufferError) as error:
        raise NpuLayoutError(f"buffer: expected bytes or an ndarray, got {type(flat).__name__} ({error})") from None


@lru_cache(maxsize=16)
def _layouts(letters: str, shape: tuple[int, ...]) -> tuple[Layout, ...]:
    """Every axis order, plain and with one blocked axis, and what has names; axes of one index stay in front."""
    active = [letter for letter, n in zip(letters, shape) if n > 1]
    idle = [letter for letter, n in zip(letters, shape) if n == 1]
    tags = [
        "".join(front) + "".join(order) + block
        for letter in ("", *letters)
        for block in ([f"{b}{letter.lower()}" for b in BLOCKS] if letter else [""])
        for front in [[k for k in idle if k != letter]]
        for order in itertools.permutations([letter, *active] if letter in idle and letter else active)
    ]
    tags += [e.tag.format(block=e.block or 16) for e in NAMED.values() if e.tag.count("{") == 0]
    made = {}
    for tag in dict.fromkeys(tags):
        if tag in FASTEST_FIRST:  # a vendor's tag, which means something else
            made[tag] = Layout.plain(tag)
        elif set(filter(str.isupper, tag)) == set(letters):
            made[tag] = Layout(tag, letters)
    return tuple(made.values())


def _orders(shape: tuple[int, ...], letters: str, size: int) -> Iterator[_Order]:
    """Every layout as it fills `size` elements: from end to end, with a gap behind, or with one pitch that is longer
    than it needs to be."""
    for layout in _layouts(letters, shape):
        mine = [letters.index(layout.axes[dim.axis]) for dim in layout.dims]
        inner = [math.prod(d.block for d, a in zip(layout.dims, mine) if d.block and a == axis) for axis in mine]
        if any(sum(d.block > 1 for d, a in zip(layout.dims, mine) if a == axis) > 1 for axis in mine):
            continue  # two blocks of one axis: weights, not what an accelerator returns
        extents = [d.block or -(-shape[a] // n) for d, a, n in zip(layout.dims, mine, inner)]
        for strides in _pitched(extents, size):
            axes = [(1, 0, 0)] * len(shape)
            for dim, axis, n, stride in zip(layout.dims, mine, inner, strides):
                _, outer, within = axes[axis]
                axes[axis] = (n, outer, stride) if dim.block else (n, stride, within)
            yield _Order(layout, tuple(axes), strides)


def _pitched(extents: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    natural = tuple(math.prod(extents[i + 1 :]) for i in range(len(extents)))
    total = math.prod(extents)
    if total > size:
        return
    yield natural
    for i in range(len(extents) - 1 if total < size else 0):  # nobody spreads single elements
        pitch, rest = divmod(size, math.prod(extents[: i + 1]))
        if rest or pitch == natural[i] or extents[i] == 1:
            continue
        yield (*(pitch * math.prod(extents[k + 1 : i + 1]) for k in range(i + 1)), *natural[i + 1 :])


def _features(index: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """For each sample and axis: i, and i // b and i % b for every block."""
    columns = []
    for i in index.T:
        columns.append(i)
        for block in BLOCKS:
            columns += [i // block, i % block]
    return np.stack(columns, 1).astype(np.float64)


def _weights(orders: Sequence[_Order], rank: int) -> np.ndarray:
    """What each feature moves in each hypothesis: elements."""
    each = 1 + 2 * len(BLOCKS)
    weights = np.zeros((rank * each, len(orders)))
    for k, order in enumerate(orders):
        for axis, (block, outer, inner) in enumerate(order.axes):
            at = axis * each
            if block > 1:
                at += 1 + 2 * BLOCKS.index(block)
                weights[at + 1, k] = inner
            weights[at, k] = outer
    return weights


def _sampled(values: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Indices, half of them where the reference is far from its mean."""
    if values.size <= count:
        picked = np.arange(values.size)
    else:
        many = rng.integers(0, values.size, 6 * count)
        far = many[np.argsort(-np.abs(values.ravel()[many] - values.mean()))[: count // 2]]
        picked = np.unique(np.concatenate([far, rng.integers(0, values.size, count - len(far))]))
    return np.stack(np.unravel_index(picked, values.shape), 1)


def _read(raw: np.ndarray, dtype: str) -> np.ndarray:
    kind = element(dtype)
    stored = raw.view(kind.buffer) if raw.ctypes.data % kind.buffer.itemsize == 0 else raw.copy().view(kind.buffer)
    if dtype == "bfloat16":
        return (stored.astype(np.uint32) << 16).view(np.float32)
    return stored


def _explained(read: np.ndarray, wanted: np.ndarray, dtype: str) -> np.ndarray:
    """dB of each column of `read`, elements of `dtype`, that a rising straight line through `wanted` explains."""
    kind = element(dtype)
    steps, read = kind.unpacked.kind != "f", np.asarray(read, np.float64)
    y = read - read.mean(0)
    x = wanted - wanted.mean()
    power, cross = (y * y).mean(0), (y * x[:, None]).mean(0)
    left = power - cross * cross / (x * x).mean()
    floor = np.maximum(1 / 12 if steps else 0.0, power * 10 ** (-_MOST / 10))
    score = 10 * np.log10(np.maximum(power, 1e-300) / np.maximum(left, floor))
    good = np.isfinite(read).all(0) & (cross > 0) & (power > 0)
    if not steps:  # integers are as linear as floats of the smallest exponents
        good &= (power > (4 * float(np.finfo(kind.unpacked).tiny)) ** 2) | (power > (x * x).mean() / 4)
    return np.where(good, score, -np.inf)


def _of_size(
    raw: np.ndarray, size: int, dtypes: tuple[str, ...], values: np.ndarray, letters: str, rng: np.random.Generator
) -> list[Hypothesis]:
    orders = list(_orders(values.shape, letters, size))
    weights = _weights(orders, values.ndim)
    index = _sampled(values, _FEW, rng)
    offsets = (_features(index, values.shape) @ weights).astype(np.int64)
    wanted = values[tuple(index.T)]
    more = _sampled(values, _MANY, rng)
    features, wanted_more = _features(more, values.shape), values[tuple(more.T)]
    found = []
    for dtype in dtypes:
        read = _read(raw, dtype)
        score = _explained(read[offsets], wanted, dtype)
        best = np.argsort(-score, kind="stable")[:_KEPT]
        best = best[np.isfinite(score[best])]
        if not best.size:
            continue
        fine = (features @ weights[:, best]).astype(np.int64)
        gathered = read[fine].astype(np.float64)
        seen: set[bytes] = set()
        for column, (k, db) in enumerate(zip(best, _explained(gathered, wanted_more, dtype))):
            same = fine[:, column].tobytes()
            if same in seen or not np.isfinite(db):
                continue
            seen.add(same)
            spec = _spec(orders[k], values.shape, letters, dtype, size, gathered[:, column], wanted_more)
            found.append(Hypothesis(spec, float(db)))
    return found


def _spec(
    order: _Order, shape: tuple[int, ...], letters: str, dtype: str, size: int, read: np.ndarray, wanted: np.ndarray
) -> TensorSpec:
    quantization = _quantization(read, wanted, dtype)
    layout, strides = order.layout, order.strides
    if layout.axes != letters:
        strides = tuple(strides[layout.axes.index(letter)] for letter in letters)
        layout = Layout.plain(letters)
    return TensorSpec(shape, layout, dtype, axes=letters, quantization=quantization, storage_strides=strides, size=size)


def _quantization(read: np.ndarray, wanted: np.ndarray, dtype: str) -> Quantization | None:
    """read = wanted / scale + zero_point, without codes at the ends of the range; None where read is wanted itself."""
    if element(dtype).unpacked.kind == "f" or np.array_equal(read, wanted):
        return None
    info = np.iinfo(dtype)
    inner = (read > info.min) & (read < info.max)
    for q, real in ((read[inner], wanted[inner]), (read, wanted)):
        centred = real - real.mean() if real.size else real
        power = float((centred * centred).sum())
        slope = float((centred * q).sum()) / power if power else 0.0
        if slope > 0:
            break
    zero_point = float(round(q.mean() - slope * real.mean()))
    off = q - zero_point
    refined = float((real * off).sum() / (off * off).sum()) if off.any() else 0.0
    scale = refined if refined > 0 else 1 / slope
    power_of_two = 2.0 ** round(math.log2(scale))
    return Quantization(
        power_of_two if abs(scale / power_of_two - 1) < 2e-3 else float(np.float32(scale)), int(zero_point)
    )


def _along_channels(read: np.ndarray, spec: TensorSpec, values: np.ndarray, rng: np.random.Generator) -> TensorSpec:
    """`spec` with a scale and a zero point for each channel where these explain MARGIN dB more than one of each."""
    axis = spec.axes.find("C")
    if axis < 0 or spec.shape[axis] == 1 or spec.quantization is None:
        return spec
    channels = np.moveaxis(values, axis, 0).reshape(spec.shape[axis], -1)
    count = min(channels.shape[1], 1024)
    picked = np.stack([rng.permutation(channels.shape[1])[:count] for _ in channels])
    others = list(np.unravel_index(picked, [n for k, n in enumerate(spec.shape) if k != axis]))
    others.insert(axis, np.broadcast_to(np.arange(len(channels))[:, None], picked.shape))
    q, real = read[spec.offset(*others)].astype(np.float64), np.take_along_axis(channels, picked, 1)
    info = np.iinfo(spec.dtype)
    inner = ((q > info.min) & (q < info.max)).astype(np.float64)

    def mean(x: np.ndarray) -> np.ndarray:
        return np.asarray((x * inner).sum(1) / np.maximum(inner.sum(1), 1))

    x, y = real - mean(real)[:, None], q - mean(q)[:, None]
    power = mean(x * x)
    one = float(np.asarray(spec.quantization.scale)), float(np.asarray(spec.quantization.zero_point))
    slope = np.where((power > 0) & (mean(x * y) > 0), mean(x * y) / np.maximum(power, 1e-300), 1 / one[0])
    zero_point = np.rint(mean(q) - slope * mean(real))
    own, shared = (y - slope[:, None] * x), q - real / one[0] - one[1]
    floor = 1 / 12
    gain = 10 * np.log10(max(mean(shared * shared).mean(), floor) / max(mean(own * own).mean(), floor))
    if count < 16 or gain < MARGIN:
        return spec
    off = q - zero_point[:, None]
    refined = mean(real * off) / np.maximum(mean(off * off), 1e-300)
    scale = np.where(refined > 0, refined, 1 / slope).astype(np.float32)
    quantization = Quantization(scale, zero_point.astype(np.int64), axis=axis)
    return TensorSpec.from_dict({**spec.to_dict(), "quantization": quantization})


def _in_place(
    result: Identification, spec: TensorSpec, read: np.ndarray, values: np.ndarray, rng: np.random.Generator
) -> Identification:
    """`result`, or none where `spec` explains more from a later element on: something lies in front of the tensor."""
    given = spec.to_dict()
    spare = spec.size - TensorSpec.from_dict({k: v for k, v in given.items() if k != "size"}).size
    if not spare:
        return result
    index = _sampled(values, _FEW, rng)
    places = spec.offset(*index.T)[:, None] + np.arange(min(spare, _SHIFTS) + 1)
    with np.errstate(all="ignore"):
        scores = _explained(read[places], values[tuple(index.T)], str(spec.dtype))
    best = int(scores.argmax())
    if scores[best] < scores[0] + MARGIN:
        return result
    why = (
        f"{result.why}; from element {best} on it explains {scores[best]:.1f} dB: something lies in front of the "
        f"tensor, give the buffer without its first {best * _size(spec.dtype)} bytes"
    )
    return Identification(result.ranking, None, why)


def _verdict(ranking: list[Hypothesis], count: int) -> Identification:
    """Of `count` values a line explains s dB by chance with probability 10 ** (-s * (count - 2) / 20), or less; a
    thousand lines are tried."""
    if count < 3:
        return Identification(ranking, None, f"{count} elements lie on a line in any order; give a longer reference")
    least = max(LEAST, _CHANCE / (count - 2))
    if not ranking or ranking[0].score < least:
        best = f"; the best, {ranking[0].spec.describe()}, explains {ranking[0].score:.1f} dB" if ranking else ""
        if least > LEAST:
            best += f", where {count} elements need {least:.0f} not to do so by chance"
        return Identification(ranking, None, f"no reading explains the buffer{best}: is it of the same input? {_TRIED}")
    first = ranking[0]
    text = f"{first.spec.describe()} explains {first.score:.1f} dB"
    if len(ranking) == 1:
        return Identification(ranking, first.spec, f"{text}; nothing else fits")
    second = ranking[1]
    if first.score - second.score < MARGIN:
        return Identification(
            ranking,
            None,
            f"{text}, {second.spec.describe()} {second.score:.1f}: too close to tell; record an input whose maps "
            f"differ more, from left to right as from top to bottom and from channel to channel",
        )
    return Identification(ranking, first.spec, f"{text}, the next, {second.spec.describe()}, {second.score:.1f}")
