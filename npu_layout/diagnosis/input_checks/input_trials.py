"""What each change of an input leaves of the difference, and which change explains what was recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ..other_inputs.input_images import How
from .combined_arguments import arguments_alone, bordered, combined_arguments, fitted, interpolated
from .first_looks import is_near
from .histograms import equalised
from .input_bytes import stored
from .input_changes import (
    Change,
    arguments,
    border,
    colours,
    compressed,
    crops,
    geometry,
    other_frames,
    other_parts,
)
from .input_pairs import FrameInput, InputPair
from .letterbox_places import placed
from .lighting import leaves_light, lighting
from .near_parts import EQUAL, near_parts
from .two_changes import two_changes
from .white_balance import white_balance

SAME = 1.0  # steps, root mean square: differences of rounding, and of other code for the same resize
NEAR = 1.2  # times what a formula or JPEG changes: other code for the same changes as much
BETTER = 0.5  # of what is left as declared: what leaves more is no explanation
EXACT = 0.25  # steps: another of cv2's interpolations has to match exactly to be named
_AS_GOOD = 1.3  # times what the best leaves: among these the first in the list is the cause
_ALIKE = 1.03  # times what the best leaves: of one kind, these cannot be distinguished from it
_FITTED = 0.1  # of what is left as declared: what numbers that were fitted have to explain
_LIT = 0.3  # of what is left as declared: a brightness or gamma that is fitted is near other colours, too
_TWO = 0.25  # of what is left as declared: what two changes or a white balance leave; of one, what a second one leaves
_SATURATED = 0.5  # of the values: what saturates more is no way to make an input
NOISIEST = 8.0  # pixel values, 30 dB: noise of a sensor in the dark, beside which a change can be named
_MIXED = 3  # changes of a part whose place and size both differ
_REACH = 2  # frames before and after


class Tried(NamedTuple):
    """A change, and what it makes: how far that is from what was recorded, and from what was declared, in steps.

    `declared`: how far what was declared is from what was recorded, in the frames that the change can be made of;
    `saturated`: the share of the values that saturate in it. All are the largest of the frames. `times`: how many steps
    as declared one is where its mean and std made the input.
    """

    change: Change
    off: float
    from_declared: float
    saturated: float
    declared: float
    times: float = 1.0


def tried(
    change: Change,
    pairs: Sequence[InputPair],
    declared: Sequence[np.ndarray],
    known: Mapping[InputPair, FrameInput] = MappingProxyType({}),
) -> Tried:
    """Return a change with what it leaves. declared: what is made of each pair as declared; known: what it made."""
    off, from_declared, saturated, before = [], [SAME], [0.0], [0.0]
    for pair, as_declared in zip(pairs, declared):
        if change.applies(pair):
            made = known[pair] if pair in known else change.make(pair)
            off.append(pair.off(made.values, where=change.where))
            saturated.append(made.saturated)
            before.append(pair.off_declared(as_declared))
            if change.is_formula:
                from_declared.append(pair.off(as_declared, made.values))
    times = _times(change, pairs)
    return Tried(change, max(off, default=np.inf), max(from_declared), max(saturated), max(before), times)


def _times(change: Change, pairs: Sequence[InputPair]) -> float:
    how = change.how or change.arguments
    return 1.0 if how is None else pairs[0].times(how)


def _most(limit: float, declared: float, times: float) -> float:
    """Return how many steps a change may leave, if as many as `limit` are allowed to what was made as declared.

    What noise or JPEG leaves of pixels is more where they were divided by less.
    """
    return max(SAME, min(limit, BETTER * declared), min(limit * times, _FITTED * declared))


class Trials(NamedTuple):
    """Changes with what they leave, the commonest first.

    `formulas`: the same picture by another formula; `others`: all others that may be the cause; `noisy`: these, and two
    changes at once, which may be the cause if noise is what they leave.
    """

    formulas: list[Tried]
    others: list[Tried]
    noisy: list[Tried]


def every(
    pairs: Sequence[InputPair],
    declared: Sequence[np.ndarray],
    base: How,
    scaled: bool,
    lost: Callable[[], float],
    readings: Callable[[bool], Iterable[Change]] = lambda scaled: (),
) -> Trials:
    """Return all changes that may be the cause, each with what it leaves.

    declared: what `base` makes of each pair; scaled: whether other means and deviations are tried; lost: what the
    frames lost as JPEG files; readings: whether means are tried -> other readings of the frames beside other arguments.
    """

    def trials(*changes: Change) -> list[Tried]:
        return [tried(change, pairs, declared) for change in changes]

    def likely(*changes: Change, most: float = np.inf) -> list[Tried]:
        return possible(changes, pairs, declared, most)

    changes = [*arguments(base, pairs[0], scaled), *border(base, pairs)]
    formulas = trials(*(c for c in changes if c.is_formula), *compressed(base))
    others = likely(*(c for c in changes if not c.is_formula))
    parts = trials(*other_parts(base, pairs), *near_parts(base, pairs, declared))
    two: list[Tried] = []
    exact = min((t.off for t in parts), default=np.inf) <= EQUAL
    if exact or min(t.off for t in (*formulas, *others)) <= SAME:
        return Trials(formulas, [*others, *_proven(parts)], [])
    moved = [*geometry(base, pairs[0]), *placed(base, pairs[0])]
    parts += trials(*(c for c in moved if c.kind))
    differs_most, noisiest = pairs[worst(pairs, declared)], NOISIEST / pairs[0].step
    most = max(noisiest, spread_of(formulas, pairs, declared, lost))
    others += likely(*(c for c in moved if not c.kind), most=most)
    others += [*_proven(parts), *likely(*stored(base, pairs[0]), *other_frames(base, pairs, _REACH), most=most)]
    lit = likely(*colours(base), most=most)
    lit += [t for t in likely(*lighting(base, pairs), most=most) if t.off <= max(SAME, _LIT * t.declared)]
    others += [t for t in lit if t.off <= SAME or not leaves_light(t.change, base, pairs)]
    if min(t.off for t in (*formulas, *others)) > SAME:
        several = (*bordered(base, pairs, scaled), *combined_arguments(base, pairs[0], scaled))
        others += likely(*(c for c in several if c.applies(differs_most)), most=most)
        cropped = likely(*(c for c in crops(base, pairs[0]) if c.applies(differs_most)), most=SAME)
        others += [t for t in cropped if t.off <= SAME]
        numbers = likely(*fitted(base, pairs, SAME), most=SAME) if scaled else []
        others += [t for t in numbers if t.off <= min(SAME, _FITTED * t.declared)]
        if min(t.off for t in (*formulas, *others)) > SAME:
            resized = likely(*interpolated(arguments_alone(base, pairs[0], scaled)), most=SAME)
            others += [t for t in resized if t.off <= EXACT]
            two = likely(*two_changes(base, pairs, scaled, _REACH), *readings(scaled), most=noisiest)
            two = [t for t in two if t.off <= _TWO * t.declared]
            rare = likely(*white_balance(base, pairs), *equalised(base), most=SAME)
            rare = [t for t in rare if t.off <= _TWO * t.declared]
            others += [t for t in (*rare, *two) if t.off <= SAME * t.times]
    return Trials(formulas, others, [*others, *two])


def spread_of(
    formulas: Sequence[Tried], pairs: Sequence[InputPair], declared: Sequence[np.ndarray], lost: Callable[[], float]
) -> float:
    """Return how many steps another formula or JPEG may leave: what leaves more explains nothing.

    declared: what is made of each pair as declared; lost: what the frames lost as JPEG files, asked for only if the
    inputs differ by more than the formulas do.
    """
    spread = NEAR * max([SAME, *(t.from_declared for t in formulas)])
    most = max(pair.off_declared(made) for pair, made in zip(pairs, declared))
    return spread if most <= spread else max(spread, NEAR * lost())


def possible(
    changes: Iterable[Change], pairs: Sequence[InputPair], declared: Sequence[np.ndarray], limit: float = np.inf
) -> list[Tried]:
    """Return the changes that may be the cause, each tried on all frames.

    What leaves too much of the frame that differs most is no cause, whatever it leaves of the others, of which it is
    not made; nor is what leaves too much of another one. limit: steps, of which more are too much, but for less than
    a step of rounding.
    """
    k = worst(pairs, declared)
    found, off = [], pairs[k].off_declared(declared[k])
    for change in changes:
        known: dict[InputPair, FrameInput] = {}
        most = _most(limit, off, _times(change, pairs))
        for pair in (pairs[k], *pairs[:k], *pairs[k + 1 :]):
            if change.applies(pair):
                known[pair] = change.make(pair)
                if not is_near(pair, known[pair], change, most):
                    break
        else:
            found.append(tried(change, pairs, declared, known))
    return found


def worst(pairs: Sequence[InputPair], made: Sequence[np.ndarray]) -> int:
    """Return which pair differs most from what was declared. made: that, of each pair."""
    return max(range(len(pairs)), key=lambda k: pairs[k].off_declared(made[k]))


def _proven(parts: Sequence[Tried]) -> list[Tried]:
    """Return the parts that fit exactly; else one that fits better than those around it, or much better than any other.

    A resize by other rules fits several a little, and an input that is shifted by whole pixels nearly.
    """
    parts = [t for t in parts if t.declared > SAME]
    if not parts:
        return []
    least = min(t.off for t in parts)
    if least <= EQUAL:
        return [t for t in parts if t.off <= EQUAL]
    same = [t for t in parts if t.off == least]
    others = min((t.off for t in parts if t.off > least), default=np.inf)
    if any(t.change.is_least for t in same):
        return same
    one = sum(t.change.changes > 0 for t in same) <= 1 and least <= _allowed(same[0].change)
    return same if one and others * BETTER >= least else []


def _allowed(part: Change) -> float:
    """Return what a part may leave that is not the least of its neighbours: resizes by other rules are nearly some."""
    if part.where is not ...:
        return SAME
    return np.inf if part.changes < _MIXED else EQUAL


def best(formulas: Sequence[Tried], others: Sequence[Tried], most: float, explained: float) -> list[Tried]:
    """Return the change that explains the recorded inputs, and others of its kind that explain as much; [] if none.

    A part of the frame that fits as exactly as another change is named with it.
    most: steps that it may leave; explained: steps that leave enough of the contrast.
    """
    known = [t for t in formulas if t.change.how is not None and t.off <= EXACT] + [*others]
    known = [t for t in known if t.off <= min(_most(most, t.declared, t.times), BETTER * t.declared)]
    known = [t for t in known if t.declared > SAME]
    least = min(known, key=lambda t: t.off, default=None)
    if least is None or least.off >= explained:
        return []
    limit = EQUAL if least.off <= EQUAL else max(least.off * _AS_GOOD, least.off + EXACT)
    first = least if least.change.kind else next(t for t in known if t.off <= limit)
    if first.saturated > _SATURATED or (first.change.kind == "part" and _is_formula(first, formulas)):
        return []
    parts = [t for t in known if t.change.kind == "part" and max(t.off, first.off) <= EQUAL]
    return alike(first, known) if first.change.kind or not parts else [first, *alike(parts[0], parts)]


def _is_formula(part: Tried, formulas: Sequence[Tried]) -> bool:
    """Whether an interpolation that is not named explains as much as a part: of three pixels it may take the first."""
    return any(t.change.how is not None and EXACT < t.off <= _ALIKE * part.off for t in formulas)


def interpolated_exactly(
    found: Sequence[Tried], pairs: Sequence[InputPair], declared: Sequence[np.ndarray]
) -> list[Tried]:
    """Return what was found; if its arguments leave more than a step, with the interpolation that leaves much less.

    These are steps by the mean and std of what was found: of those that were declared, any interpolation may leave
    little. declared: what is made of each pair as declared.
    """
    change = found[0].change if found else None
    if change is None or change.how is None or change.kind:  # another source: of frames in their own format
        return [*found]
    own = max(pair.off_by(change.how) for pair in pairs)
    if own <= SAME:
        return [*found]
    others = ((other, max(pair.off_by(other.how or {}) for pair in pairs)) for other in interpolated([change]))
    least, off = min(others, key=lambda each: each[1])
    return [tried(least, pairs, declared)] if off <= max(EXACT, _TWO * own) else [*found]


def alike(found: Tried, others: Sequence[Tried]) -> list[Tried]:
    """Return those of its kind between which the data do not decide, the simplest first; of none, the change itself."""
    kin = [t for t in others if t.change.kind and t.change.kind == found.change.kind]
    if not kin:
        return [found]
    least = min(t.off for t in kin)
    kin = sorted((t for t in kin if t.off <= max(EQUAL, _ALIKE * least)), key=lambda t: t.change.changes)
    return kin if found.change.kind == "part" else [t for t in kin if t.change.changes == kin[0].change.changes]
