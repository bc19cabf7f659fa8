"""Try ways in which the buffer may be stored: as declared, in another layout, in another dtype."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from ...buffers import Quantization, TensorSpec
from ...engines import axes_in_model
from ...errors import NpuLayoutError
from ..scoring.evidence import Evidence
from ..scoring.samples import ends, predicted, read_at, stored
from ..scoring.thresholds import FAR, MARGIN, NEARLY_ALL
from ..scoring.trials import Trial
from .buffer_search import Hypothesis
from .identification import hypotheses
from .scale_errors import CLAMPED, ScaleErrors
from .scales import called, fitted, quantizations, requantised, words

_READINGS = 16  # of identify's best
_TURNED = 4  # of those of the declared dtype in the other byte order
_SHOWN = 3  # readings that are worked out whatever they explain: a page shows what they look like
_FRAMES = 2  # in which readings are looked for
_MOST_AXES = 5


class _Located(NamedTuple):
    """A spec, and the byte offsets at which it finds the samples."""

    spec: TensorSpec
    offsets: np.ndarray

    def inside(self, wider: _Located) -> bool:
        """Whether it reads parts of the integers of `wider`, whose high bytes look like narrower integers."""
        mine, theirs = self.spec.stored, wider.spec.stored
        if mine.kind not in "iu" or mine.itemsize >= theirs.itemsize:
            return False
        within = self.offsets - wider.offsets
        return bool((within >= 0).all() and (within < theirs.itemsize).all())


def declared(evidence: Evidence) -> Iterator[Trial]:
    """Yield the buffer read as its spec describes."""
    if evidence.fits:
        yield evidence.as_declared()._replace(text=f"as declared, {called(evidence.spec)}", spec=evidence.spec)


def other_byte_order(evidence: Evidence) -> Iterator[Trial]:
    """Yield the declared reading of elements whose bytes are in the other order: with the declared scales.

    Elements of this machine's order, where the other one is declared, are among the `readings`.
    """
    given, dtype = evidence.spec, _turned(evidence.spec)
    if not evidence.fits or dtype is None:
        return
    spec = given.replace(dtype=dtype)
    offsets = _located(evidence, spec).offsets // spec.stored.itemsize
    codes = read_at(offsets, [stored(spec, raw.view(spec.stored)) for raw in evidence.raw])
    left = codes - predicted(spec, evidence.samples, evidence.wanted)
    text = f"{called(spec)}, the other byte order"
    yield Trial("layout", text, spec, codes, left, spec.element.unpacked.kind != "f", spec, comparable=False)


def _turned(spec: TensorSpec) -> str | None:
    """Return the dtype of elements whose bytes are in the other order than this machine's; None if there are none."""
    if spec.stored.itemsize == 1 or spec.dtype == "bfloat16" or not spec.stored.isnative:
        return None
    return str(spec.stored.newbyteorder().str)


def readings(evidence: Evidence, least: float = -np.inf) -> Iterator[Trial]:
    """Yield other layouts, dtypes and signs, from what `identify` finds in the two frames that vary most.

    least: dB; what explains clearly less whatever its scales are is left out, before these are looked for. So is what
    explains far less than the declared reading or another one, but for the first few. The second frame is not looked at
    if a reading explains nearly all of the first.
    """
    if len(evidence.letters) > _MOST_AXES:
        return
    own = _located(evidence, evidence.spec) if evidence.fits else None
    best = evidence.score(evidence.as_declared()) if evidence.fits else -np.inf
    found = _identified(evidence, best)
    wider = found if own is None else [own, *found]
    kept: list[tuple[np.ndarray, float]] = []
    for one in sorted(found, key=lambda f: _rank(evidence, f.spec)):
        in_place = own is not None and np.array_equal(one.offsets, own.offsets)
        known = one.spec.dtype in (evidence.spec.dtype, _turned(evidence.spec))  # in place, which others try
        if (in_place and known) or any(one.inside(other) for other in wider):
            continue
        enough = max(least, best - FAR) if len(kept) >= _SHOWN else least
        trial = _reading(evidence, one, in_place, enough)
        if trial is None:
            continue
        # A reading that differs only in the sign, and mostly reads the same numbers, has to explain clearly more.
        score = evidence.score(trial)
        rivals = [least for offsets, least in kept if np.array_equal(offsets, one.offsets)]
        if in_place and evidence.steps:
            rivals += [evidence.score(other) for other in quantizations(evidence)]
        if all(score > rival + MARGIN for rival in rivals):
            kept.append((one.offsets, score))
            best = max(best, score)
            yield trial


def _rank(evidence: Evidence, spec: TensorSpec) -> tuple[bool, bool]:
    """Return what orders readings: the declared dtype first, and of floats other floats, whose scale is not fitted."""
    return spec.dtype != evidence.spec.dtype, not evidence.steps and spec.element.unpacked.kind != "f"


def _identified(evidence: Evidence, declared: float) -> list[_Located]:
    """Return what `identify` finds, each way to read the same elements once. declared: dB that the spec explains."""
    found: list[_Located] = []
    seen: set[tuple[str, bytes]] = set()
    tried: set[TensorSpec] = set()
    for i in sorted(range(len(evidence.references)), key=lambda i: -evidence.variances[i])[:_FRAMES]:
        hypotheses_of_frame = _hypotheses(evidence, i)
        for spec, _ in hypotheses_of_frame:
            if spec in tried:
                continue
            tried.add(spec)
            one = _located(evidence, spec)
            elements = str(spec.dtype), one.offsets.tobytes()
            if elements not in seen:
                seen.add(elements)
                found.append(one)
        if max([declared, *(score for _, score in hypotheses_of_frame)]) >= NEARLY_ALL:
            break
    return found


def _hypotheses(evidence: Evidence, row: int) -> list[Hypothesis]:
    """Return the specs that `identify` finds in a frame, and their dB: none if it cannot look for any.

    The same buffer and tensor are searched once, whatever the axis of their channels, and whatever cause they show.
    """
    flat = evidence.spec.flat(evidence.buffers[row]).tobytes()
    reference = evidence.references[row]
    content = (blake2b(x).digest() for x in (flat, reference.tobytes()))
    given, turned = evidence.spec.dtype, _turned(evidence.spec)
    key = *content, reference.shape, reference.dtype, evidence.letters, given
    if key not in evidence.searches:
        try:
            found = hypotheses(flat, reference, evidence.letters, _READINGS, given)
            found += [] if turned is None else hypotheses(flat, reference, evidence.letters, _TURNED, turned, True)
        except NpuLayoutError:
            found = []
        evidence.searches[key] = found
    found_before: list[Hypothesis] = evidence.searches[key]
    return found_before


def _located(evidence: Evidence, spec: TensorSpec) -> _Located:
    offsets = np.asarray(spec.offset(*evidence.samples.placed(spec))) * spec.stored.itemsize
    return _Located(spec, offsets)


def _reading(evidence: Evidence, found: _Located, in_place: bool, least: float) -> Trial | None:
    """Return what the elements of `found` explain: with the declared quantization, unless another explains much more.

    `in_place`: whether these are the declared elements in another dtype. None if no scales explain about `least` dB.
    """
    given = evidence.spec
    bare = found.spec.replace(name=given.name)
    elements = [stored(bare, raw.view(bare.stored)) for raw in evidence.raw]
    codes = read_at(found.offsets // bare.stored.itemsize, elements)
    steps = bare.element.unpacked.kind != "f"
    errors = ScaleErrors(evidence, codes, ends(bare)) if steps or least > -np.inf else None
    if errors is not None and errors.most < least - CLAMPED:
        return None
    alike = bare.dtype == given.dtype
    options = []
    if alike or not steps or (evidence.steps and bare.stored.itemsize == given.stored.itemsize):
        kept = _with_quantization_of(given, bare, evidence.letters) if steps else bare
        if kept is not None:
            left = codes - predicted(kept, evidence.samples, evidence.wanted)
            options.append(Trial("layout", called(kept), kept, codes, left, steps, kept))
    if steps:
        options += list(fitted(evidence, bare, codes, "layout", errors))
    if not options:
        return None
    scores = [evidence.score(o) for o in options]
    best = options[0] if scores[0] > max(scores) - MARGIN else options[int(np.argmax(scores))]
    if in_place:
        best = best._replace(cause="quantization", text=f"stored as {bare.dtype}, {words(best.fix)}")
    return best._replace(comparable=alike)


def _with_quantization_of(spec: TensorSpec, to: TensorSpec, letters: str) -> TensorSpec | None:
    """Return `to` with the quantization of `spec`, along the same axis of the model, whose axes have these letters.

    Axes may be declared by any letters: a "C" of "ABC" is the third axis. None if the scales are too many or too few.
    """
    q = spec.quantization
    if q is not None and q.axis is not None:
        in_model = axes_in_model(spec.axes).index(q.axis % len(spec.axes))
        axis = to.axes.index(letters[in_model])
        if to.shape[axis] != q.count:
            return None
        q = Quantization(q.scale, q.zero_point, axis)
    return requantised(to, q, spec.name)
