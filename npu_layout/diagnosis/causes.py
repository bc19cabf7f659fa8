"""Causes: every way in which one output may have been read or made. Each is an iterator of Found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..buffers import Quantization, TensorSpec
from ..comparison import channel_axis, listed
from ..engines import axes_in_model, shape_in_model
from ..errors import NpuLayoutError
from ..support import finite
from .case import LEAST, MARGIN, ROUNDING, Case, Found, arithmetic, ends, read, stored
from .identification import identify
from .scales import called, fitted, line, requantised, words

_READINGS = 16  # of identify's best
_MANY = 1000  # values, among which no choice is a coincidence


def declared(case: Case) -> Iterator[Found]:
    """The buffer read as its spec says."""
    if case.fits:
        yield Found("match", f"as declared, {called(case.spec)}", None, case.codes, case.left, case.steps, case.spec)


def readings(case: Case) -> Iterator[Found]:
    """Other layouts, dtypes and signs, from what `identify` finds in the two frames that vary most."""
    if len(case.letters) > 5:
        return
    own = _places(case, case.spec) if case.fits else None
    candidates: list[tuple[TensorSpec, np.ndarray]] = []
    for i in sorted(range(len(case.buffers)), key=lambda i: -float(finite(case.references[i]).var()))[:2]:
        try:
            found = identify(case.spec.flat(case.buffers[i]).tobytes(), case.references[i], axes=case.letters)
        except NpuLayoutError:
            continue
        for spec, _ in found.ranking[:_READINGS]:
            places = _places(case, spec)
            if not any(spec.dtype == k.dtype and np.array_equal(places, other) for k, other in candidates):
                candidates.append((spec, places))
    wider = candidates if own is None else [(case.spec, own), *candidates]
    kept: list[tuple[np.ndarray, Found, float]] = []
    for spec, places in sorted(candidates, key=lambda c: c[0].dtype != case.spec.dtype):
        in_place = own is not None and np.array_equal(places, own)
        if (in_place and spec.dtype == case.spec.dtype) or any(_inside(spec, places, *other) for other in wider):
            continue
        one = _reading(case, spec, in_place)
        if one is None:
            continue
        score = case.score(one)
        # One that differs in the sign alone, and mostly reads the same numbers, has to explain clearly more.
        twins = [k for at, k, least in kept if np.array_equal(at, places) and score <= least + MARGIN]
        if in_place and case.steps:
            twins += [k for k in quantizations(case) if score <= case.score(k) + MARGIN]
        if not twins:
            kept.append((places, one, score))
            yield one


def _inside(spec: TensorSpec, places: np.ndarray, wider: TensorSpec, wide_places: np.ndarray) -> bool:
    """Whether `spec` reads integers that are a part of the elements of `wider`: their high bytes look like them."""
    if spec.stored.kind not in "iu" or spec.stored.itemsize >= wider.stored.itemsize:
        return False
    within = places - wide_places
    return bool((within >= 0).all() and (within < wider.stored.itemsize).all())


def _places(case: Case, spec: TensorSpec) -> np.ndarray:
    """Byte offsets of the samples."""
    placed: list[Any] = [0] * len(spec.axes)
    for model, own in enumerate(axes_in_model(spec.axes)):
        placed[own] = case.samples.index[model]
    return np.asarray(spec.offset(*placed)) * spec.stored.itemsize


def _reading(case: Case, found: TensorSpec, in_place: bool) -> Found | None:
    """What the elements of `found` explain: with the declared quantization, unless one of their own says much more."""
    bare = requantised(found, None, case.spec.name)
    elements = [
        stored(bare, np.ascontiguousarray(case.spec.flat(b)).view(np.uint8).view(bare.stored)) for b in case.buffers
    ]
    codes = np.stack([read(bare, e, case.samples) for e in elements])
    steps = bare.element.unpacked.kind != "f"
    alike = bare.dtype == case.spec.dtype
    options = []
    if alike or not steps or (case.steps and bare.stored.itemsize == case.spec.stored.itemsize):
        kept = _moved(case.spec, bare) if steps else bare
        scale, zero_point = arithmetic(kept, case.samples)
        left = codes - np.clip(case.wanted / scale + zero_point, *ends(kept))
        options.append(Found("layout", called(kept), kept, codes, left, steps, kept))
    if steps:
        options += list(fitted(case, bare, codes, "layout"))
    if not options:
        return None
    scores = [case.score(o) for o in options]
    best = options[0] if scores[0] > max(scores) - MARGIN else options[int(np.argmax(scores))]
    if in_place:
        best = best._replace(cause="quantization", text=f"stored as {bare.dtype}, {words(best.fix)}")
    return best._replace(unit=1.0 if alike else 0.0)


def _moved(spec: TensorSpec, to: TensorSpec) -> TensorSpec:
    """`to` with the quantization of `spec`, along the same letter."""
    q = spec.quantization
    if q is not None and q.axis is not None:
        q = Quantization(q.scale, q.zero_point, to.axes.index(spec.axes[q.axis]))
    return requantised(to, q, spec.name)


def quantizations(case: Case) -> Iterator[Found]:
    """Another scale and zero point, for all channels or for each."""
    if not case.fits:
        return
    if case.steps:
        yield from fitted(case, case.spec, case.codes, "quantization")
    else:
        slope, offset = line(case.wanted, case.codes, np.ones(case.codes.shape, bool))
        if slope > 0:
            text = f"values are {slope:.6g} times the model's, plus {offset:.6g}: never dequantised?"
            left = case.codes - (slope * case.wanted + offset)
            yield Found("quantization", text, None, case.codes, left, False, case.spec)


def activations(case: Case) -> Iterator[Found]:
    """The activation at the end once more, or not at all, in all channels or in those that it explains better."""
    if not case.fits:
        return
    shape = case.references[0].shape
    values = case.by_channel(case.wanted)
    varied = case.by_channel(case.codes).var(1)
    unit = (values.min(1) >= 0) & (values.max(1) <= 1) & (values.max(1) > values.min(1))
    every = np.ones(len(values), bool)
    made: list[tuple[str, Callable[[np.ndarray], np.ndarray], np.ndarray]] = [
        ("a sigmoid more than the model has", _sigmoid, every),
        ("a sigmoid less than the model has", _logit, unit),
    ]
    for axis in sorted({case.channel_axis or 0, len(shape) - 1}, key=lambda a: a != case.channel_axis):
        if shape and shape[axis] > 1:
            along = "" if axis == case.channel_axis else f", along axis {axis}"
            made.append((f"a softmax more than the model has{along}", partial(_softmax, axis=axis), every))
    for text, make, possible in made:
        if not possible.any():
            continue
        wanted = np.stack([case.samples.of(make(finite(r).astype(np.float64))) for r in case.references])
        left = case.codes - case.predicted(wanted)
        whole = Found("mismatch", text, None, case.codes, left, case.steps, case.spec)
        if possible.all():
            yield whole
        before, after = ((case.by_channel(x) ** 2).mean(1) for x in (case.left, left))
        better = possible & (after * 10 ** (LEAST / 10) < np.minimum(before, varied))
        if better.any() and not better.all():
            where = better[case.samples.channel]
            text += f", in {better.sum()} of {len(better)} channels ({listed(np.flatnonzero(better))})"
            part = whole._replace(text=text, left=np.where(where, left, case.left))
            if not possible.all() or case.score(part) >= case.score(whole) + MARGIN:
                yield part


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * x))


def _logit(x: np.ndarray) -> np.ndarray:
    inside = np.clip(x, 1e-6, 1 - 1e-6)
    return np.asarray(np.log(inside / (1 - inside)))


def _softmax(x: np.ndarray, axis: int) -> np.ndarray:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return np.asarray(powers / powers.sum(axis, keepdims=True))


def channel_orders(case: Case) -> Iterator[Found]:
    """The channels in another order: each stored one stands for the model's channel that it is nearest to."""
    if not case.fits or case.channel_axis is None or case.references[0].shape[case.channel_axis] == 1:
        return
    stands_for = _assigned(case)
    if (stands_for == np.arange(len(stands_for))).all():
        return
    scale, zero_point = arithmetic(case.spec, case.samples)
    wanted = np.stack([case.samples.of(r, stands_for) for r in case.references])
    left = case.codes - np.clip(wanted / scale + zero_point, *ends(case.spec))
    order = np.argsort(stands_for)
    fix = tuple(int(c) for c in order)
    moved = int((stands_for != np.arange(len(order))).sum())
    text = f"channels in another order ({moved} of {len(order)} elsewhere): take them as {listed(order, 12)}"
    yield Found("channel_order", text, fix, case.codes, left, case.steps, case.spec, fix)


def _assigned(case: Case) -> np.ndarray:
    """For each stored channel the model's channel it stands for: the nearest in real values, each taken once. Where
    two orders differ by little, the declared one."""
    channels = case.references[0].shape[case.channel_axis or 0]
    real, wanted = (np.concatenate(side, 1) for side in _common_places(case, channels))
    cost = (real * real).sum(1)[:, None] - 2 * real @ wanted.T + (wanted * wanted).sum(1)
    best = np.full(channels, -1)
    by_gain = np.sort(cost, 1)
    free = np.ones(channels, bool)
    for k in np.argsort(-(by_gain[:, 1] - by_gain[:, 0]) / np.maximum((real * real).sum(1), 1e-300)):
        best[k] = int(np.flatnonzero(free)[cost[k, free].argmin()])
        free[best[k]] = False
    own = np.diagonal(cost)
    for cycle in _cycles(best):
        if cost[cycle, best[cycle]].sum() >= 0.25 * own[cycle].sum():
            best[cycle] = cycle
    return best


def _common_places(case: Case, channels: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Of each frame (channels, places): real values of the device and the model's, at the same places of all."""
    frames = len(case.buffers)
    rest = case.references[0].size // channels
    count = max(1, min(rest, 1024, (1 << 22) // (channels * frames)))
    spec, axis = case.spec, case.channel_axis
    device: list[np.ndarray] = []
    model: list[np.ndarray] = []
    far = np.max([_far(r, axis) for r in case.references], 0)
    pool = np.random.default_rng(1).permutation(rest)[: 8 * count]
    chosen = np.sort(pool[np.argsort(-far[pool], kind="stable")[:count]])
    for buffer, reference in zip(case.buffers, case.references):
        real = spec.unpack(buffer)
        real = real.transpose(axes_in_model(spec.axes))
        for values, into in ((real, device), (reference, model)):
            rows = np.moveaxis(values, axis or 0, 0).reshape(channels, -1)[:, chosen]
            into.append(finite(rows).astype(np.float64))
    return device, model


def _far(reference: np.ndarray, axis: int | None) -> np.ndarray:
    """How far each place is, in its most extreme channel, from that channel's mean."""
    rows = np.moveaxis(finite(reference), axis or 0, 0).reshape(reference.shape[axis or 0], -1)
    return np.asarray(np.abs(rows - rows.mean(1, keepdims=True)).max(0))


def _cycles(permutation: np.ndarray) -> Iterator[np.ndarray]:
    """The cycles of two and more."""
    seen = np.zeros(len(permutation), bool)
    for start in range(len(permutation)):
        cycle, at = [], start
        while not seen[at]:
            seen[at] = True
            cycle.append(at)
            at = int(permutation[at])
        if len(cycle) > 1:
            yield np.asarray(cycle)


def other_outputs(
    case: Case, name: str, references: Mapping[str, Sequence[np.ndarray]], specs: Mapping[str, TensorSpec]
) -> Iterator[Found]:
    """The content of another output of the model, read by its own spec or by that one's, whichever explains more.

    specs: of the outputs that were recorded; of the others only one that is better than what was declared counts.
    """
    for other, tensors in references.items():
        if other == name or shape_in_model(case.spec) != tensors[0].shape:
            continue
        there = case if case.fits else Case(case.spec, case.buffers, tensors, (), channel_axis(tensors[0]))
        wanted = np.stack([there.samples.of(t) for t in tensors])
        found = []
        for spec in (case.spec, specs.get(other)):
            if spec is None or spec.dtype != case.spec.dtype or spec.size != case.spec.size:
                continue
            codes, left = there.read_as(spec, wanted)
            text = f"it holds the model's output {other!r}"
            one = Found("output_order", text, other, codes, left, case.steps, spec)
            found.append(one if case.fits else one._replace(places=there.samples.count))
        best = max(found, key=case.score)
        if other in specs or not case.fits or case.score(best) >= case.score(next(declared(case))) + MARGIN:
            yield best


def other_frames(case: Case, numbers: Sequence[int]) -> Iterator[Found]:
    """The answer to another frame: to one always as far away, or to no frame in particular. `numbers`: which frames of
    the recording these are."""
    if not case.fits or len(numbers) < 3:
        return
    at = {number: k for k, number in enumerate(numbers)}
    predicted = [case.predicted(w) for w in case.wanted]
    proven = 0  # frames that a shift explains: one that speaks of a few of the others is a coincidence
    for shift in sorted({b - a for a in numbers for b in numbers} - {0}, key=lambda s: (abs(s), s)):
        rows = [k for k, number in enumerate(numbers) if number + shift in at]
        if len(rows) < 2 or 2 * len(rows) <= proven:
            continue
        codes = case.codes[rows]
        left = codes - np.stack([predicted[at[numbers[k] + shift]] for k in rows])
        text = f"the outputs of the frame {abs(shift)} {'before' if shift < 0 else 'after'}"
        found = Found("wrong_input", text, shift, codes, left, case.steps, case.spec, rows=rows)
        if left.size < _MANY and not _worth(case, rows, left, np.log(2 * len(numbers))):
            continue
        proven = max(proven, len(rows) if case.score(found) >= LEAST else 0)
        yield found
    chosen = [int(np.argmin([float(((c - p) ** 2).sum()) for p in predicted])) for c in case.codes]
    shifts = Counter(numbers[j] - numbers[k] for k, j in enumerate(chosen))
    most = max(count for shift, count in shifts.items() if shift or len(shifts) == 1)
    if (len(chosen) - shifts[0]) * 4 >= len(chosen) and most * 5 < 3 * len(chosen):
        left = case.codes - np.stack([predicted[j] for j in chosen])
        if not _worth(case, range(len(chosen)), left, len(chosen) * np.log(len(chosen))):
            return
        pairs = ", ".join(f"{numbers[k]} of {numbers[j]}" for k, j in enumerate(chosen) if j != k)
        yield Found(
            "wrong_input", f"the outputs of other frames: {pairs}", None, case.codes, left, case.steps, case.spec
        )


def _worth(case: Case, rows: Sequence[int], left: np.ndarray, choice: float) -> bool:
    """Whether an explanation that was chosen gains more than where there is noise alone: the best of N fits better by
    log N for nothing. `choice`: the logarithm of among how many it is."""
    floor = ROUNDING if case.steps else 0.0
    before, after = (max(float((x * x).mean()), floor, 1e-300) for x in (case.left[list(rows)], left))
    return bool(0.5 * left.size * np.log(before / after) > 2 * choice)


def other_inputs(
    case: Case, text: str, fix: dict[str, Any], tensors: Mapping[int, np.ndarray], choices: int
) -> Iterator[Found]:
    """The model's answer to inputs made in another way: words, Preprocessor arguments, {row: output}, one of so many
    `choices`."""
    if not case.fits:
        return
    rows = list(tensors)
    codes = case.codes[rows]
    left = codes - case.predicted(np.stack([case.samples.of(t) for t in tensors.values()]))
    if left.size >= _MANY or _worth(case, rows, left, np.log(choices)):
        yield Found("preprocessing", text, fix, codes, left, case.steps, case.spec, rows=rows)
