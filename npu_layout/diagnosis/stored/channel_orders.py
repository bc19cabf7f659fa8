"""Find channels in another order: match each stored channel with the model's channel nearest to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ...comparison import decibels, listed
from ...engines import axes_in_model
from ...support import finite
from ..scoring.evidence import Evidence
from ..scoring.proof import by_chance
from ..scoring.thresholds import MARGIN, NEIGHBOURS, RATE
from ..scoring.trials import Trial
from .scale_errors import CLAMPED

_CLEAR = 0.25  # of the declared order's cost: where no cycle of channels costs less, none is moved
_EVERY = 16  # places, of which the first may prove that no channel is moved
_ROUNDING = 1e-9  # of the squares that a distance is the difference of
_MOST = 4096  # channels: distances of all from all, of 16,000 some gigabytes
_PIECE = 1 << 16  # values of float32, which stay in the second level of cache
_PLACES, _VALUES = 1024, 1 << 22  # from which distances are computed: in each channel, and in all


def channel_orders(evidence: Evidence, least: float = -np.inf) -> Iterator[Trial]:
    """Yield the order of the channels that fits best, if it is not the declared one; none of more than 4,096.

    least: dB; no order is worked out if each channel's nearest one explains clearly less.
    """
    axis = evidence.channel_axis
    if not evidence.fits or evidence.settled or axis is None or not 1 < evidence.references[0].shape[axis] <= _MOST:
        return
    trials = [order_trial(evidence, *order) for order in orders_along(evidence, axis, least)]
    if trials:
        yield max(trials, key=likely(evidence))


class FoundOrder(NamedTuple):
    """Which of the model's channels each stored one stands for, one of so many `choices` (their logarithm)."""

    stands_for: np.ndarray
    choices: float


def orders_along(evidence: Evidence, axis: int, least: float = -np.inf) -> Iterator[FoundOrder]:
    """Yield the order of the indices of an axis that fits best, and the nearest one that a mistake makes.

    None, if that is the declared one. The second one, if it has less than half of them in other places.
    """
    found = _assigned(evidence, axis, least)
    moved = 0 if found is None else int((found.best != np.arange(len(found.best))).sum())
    if found is None or not moved:
        return
    count = len(found.best)
    yield FoundOrder(found.best, _choices(count, moved))
    if 2 * moved > count:
        written, others = _nearly_written(found)
        if 2 * others <= count:
            yield FoundOrder(written, math.log(3 * count) + _choices(count, others))


class _Assigned(NamedTuple):
    """Which of the model's channels each stored one stands for, the squared distances of all, and their values.

    values: independent ones of each channel.
    """

    best: np.ndarray
    cost: np.ndarray
    values: float


def _choices(count: int, moved: int) -> float:
    """Return the logarithm of the number of orders in which so many channels are in others' places."""
    return math.lgamma(count + 1) - math.lgamma(count - moved + 1)


def _nearly_written(found: _Assigned) -> tuple[np.ndarray, int]:
    """Return the nearest order that a mistake makes, and how many channels are in another place than in that order.

    Those are the cycles of the found order that are nearer by more than noise makes them: of channels that are alike,
    or hardly vary, noise decides which stands for which.
    """
    rows = np.arange(len(found.best))
    order = min(written_orders(found.best), key=lambda written: float(found.cost[rows, written].sum())).copy()
    own, moved = found.cost[rows, order], found.cost[rows, found.best]
    likely = [c for c in cycles(np.argsort(order)[found.best]) if _is_likely(found, own, moved, c)]
    for cycle in likely:
        order[cycle] = found.best[cycle]
    return order, sum(map(len, likely))


def likely(evidence: Evidence) -> Callable[[Trial], float]:
    """Return the dB that a trial explains, less what so many orders as it was picked from explain by chance."""
    values = evidence.left.size / _alike(evidence)
    return lambda trial: evidence.score(trial) - 20 / math.log(10) * trial.choices / values


def _alike(evidence: Evidence) -> int:
    """Return how many values of a channel count as one: neighbours in a map err alike."""
    shape, axis = evidence.references[0].shape, evidence.channel_axis
    places = evidence.references[0].size // (1 if axis is None else shape[axis])
    return min(NEIGHBOURS, max(places, 1)) if len(evidence.letters) > 3 else 1


def order_trial(evidence: Evidence, stands_for: np.ndarray, choices: float) -> Trial:
    """Return the trial of the order in which each stored channel stands for one of the model's, of so many choices."""
    if evidence.channel_axis is None:
        assert evidence.named_axis is not None
        changed = (r.take(stands_for, evidence.named_axis) for r in evidence.references)
        wanted = np.stack([evidence.samples.of(r) for r in changed])
    else:
        wanted = np.stack([evidence.samples.of(r, stands_for) for r in evidence.references])
    left = evidence.codes - evidence.predicted(wanted)
    order = np.argsort(stands_for)
    moved = int((order != np.arange(len(order))).sum())
    fix = tuple(int(c) for c in order)
    text = f"{moved} of {len(order)} channels are in other places (the model's are stored at {listed(order, 12)})"
    return evidence.tried("channel_order", text, left, fix)._replace(order=fix, choices=choices)


def written_orders(stands_for: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the orders that a mistake in a program makes: reversed, rotated, or rows of channels read as columns.

    Of the rotations, the one that has most channels where they were found.
    """
    count, channels = len(stands_for), np.arange(len(stands_for))
    yield channels[::-1]
    yield np.roll(channels, -int(np.bincount((stands_for - channels) % count).argmax()))
    yield from (channels.reshape(n, -1).T.ravel() for n in range(2, count) if count % n == 0)


def _assigned(evidence: Evidence, axis: int, least: float) -> _Assigned | None:
    """Return for each stored channel the model's channel nearest to it in real values, each used once.

    If two orders differ by little, the declared one wins. None if that is proven, or other channels are nearly as near,
    or if no order explains about `least` dB.
    """
    real, wanted = _common_places(evidence, axis)
    channels = len(real)
    if in_their_places(real, wanted):
        return None
    cost = _costs(real, wanted)
    if least > -np.inf and _has_one_scale(evidence) and _most(real, cost) < least - CLAMPED:
        return None
    best = np.full(channels, -1)
    by_gain = np.sort(cost, 1)
    free = np.ones(channels, bool)
    for k in np.argsort(-(by_gain[:, 1] - by_gain[:, 0]) / np.maximum((real * real).sum(1), 1e-300)):
        best[k] = int(np.flatnonzero(free)[cost[k, free].argmin()])
        free[best[k]] = False
    exchange_pairs(cost, best)
    found = _Assigned(best, cost, real.shape[1] / _alike(evidence))
    _keep_in_place(found)
    return found if _stand_out(cost, best) else None


def _stand_out(cost: np.ndarray, best: np.ndarray) -> bool:
    """Whether the channels that moved are nearer to those that they stand for than to all others.

    Of many channels that are alike, as of another network, some are near by chance, and others nearly as near.
    """
    rows = np.flatnonzero(best != np.arange(len(best)))
    own = cost[rows, best[rows]]
    others = cost[rows]
    others[np.arange(len(rows)), best[rows]] = np.inf
    return bool(others.min(1, initial=np.inf).sum() >= 10 ** (MARGIN / 10) * own.sum())


def _keep_in_place(found: _Assigned) -> None:
    """Put the cycles of channels back that may be moved by noise, if most channels are not clearly moved."""
    cost, best = found.cost, found.best
    own, moved = np.diagonal(cost), cost[np.arange(len(cost)), best]
    of_best = list(cycles(best))
    clear = [moved[cycle].sum() < _CLEAR * own[cycle].sum() for cycle in of_best]
    count = sum(len(cycle) for cycle, is_clear in zip(of_best, clear) if is_clear)
    if 2 * count > len(cost):
        return
    for cycle, is_clear in zip(of_best, clear):
        if not (is_clear or (count and _is_likely(found, own, moved, cycle))):
            best[cycle] = cycle


def exchange_pairs(cost: np.ndarray, best: np.ndarray) -> None:
    """Exchange what two channels stand for as long as that costs less: the nearest ones first is not the best order.

    An exchange changes what is saved by others in two rows and two columns alone.
    """
    of = cost[:, best]  # of channel i, what j stands for
    own = np.diagonal(of).copy()
    saved = own[:, None] + own - of - of.T
    partner = saved.argmax(1)
    most, enough = saved.max(1), _ROUNDING * abs(own).max()
    for _ in range(len(best)):
        i = int(most.argmax())
        both = np.array([i, partner[i]])
        if most[i] <= enough:
            return
        best[both], of[:, both] = best[both[::-1]], of[:, both[::-1]]
        own[both] = of[both, both]
        saved[both] = own[both, None] + own - of[both] - of[:, both].T
        saved[:, both] = saved[both].T
        old = np.flatnonzero((partner == both[0]) | (partner == both[1]) | np.isin(np.arange(len(best)), both))
        partner[old] = saved[old].argmax(1)
        most[old] = saved[old, partner[old]]
        for k in both:
            more = saved[:, k] > most
            partner[more], most[more] = k, saved[more, k]


def _is_likely(found: _Assigned, own: np.ndarray, moved: np.ndarray, cycle: np.ndarray) -> bool:
    """Whether a cycle of channels fits better by more than noise makes it, of the size that is left of all or of these.

    Of loud channels more is left than of quiet ones, which the ratio of what is left of these before and after shows.
    """
    floor = max(_ROUNDING * float(abs(found.cost[cycle]).max()), 1e-300)
    before, after = (max(float(side[cycle].sum()), floor) for side in (own, moved))
    noise = max(float(moved.mean()), after / len(cycle))
    needed = len(cycle) * math.log(len(own)) - math.log(RATE)
    by_all = (before - after) / noise * found.values / 2
    return max(by_all, by_chance(before / after, len(cycle) * found.values)) > needed


def _costs(real: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the squared distance of each stored channel from each of the model's."""
    return np.asarray((real * real).sum(1)[:, None] - 2 * real @ wanted.T + (wanted * wanted).sum(1))


def _has_one_scale(evidence: Evidence) -> bool:
    q = evidence.spec.quantization
    return q is None or q.axis is None


def _most(real: np.ndarray, cost: np.ndarray) -> float:
    """Return the dB that the nearest of the model's channels explain, which may be the same ones of several."""
    power = (np.einsum("cp,cp->c", real, real) - real.sum(1) ** 2 / real.shape[1]).sum()
    return decibels(float(power), float(cost.min(1).sum()))


def in_their_places(real: np.ndarray, wanted: np.ndarray) -> bool:
    """Whether some of the places prove that no cycle of channels costs so little that it is moved.

    Distances at some places are no larger than those at all: if each channel is too far from every other one of the
    model's already there, so is every cycle.
    """
    own = np.array([off @ off for off in map(np.subtract, real, wanted)])
    cost = _costs(real[:, ::_EVERY], wanted[:, ::_EVERY])
    np.fill_diagonal(cost, np.inf)
    rounding = _ROUNDING * (np.einsum("cp,cp->c", real, real) + np.einsum("cp,cp->c", wanted, wanted).max())
    return bool((cost.min(1) >= _CLEAR * own + rounding).all())


def _common_places(evidence: Evidence, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (channels, places of all frames): the device's real values and the model's, at the same places of each."""
    channels = evidence.references[0].shape[axis]
    rest = evidence.references[0].size // channels
    count = max(1, min(rest, _PLACES, _VALUES // (channels * len(evidence.buffers))))
    spec = evidence.spec
    device, model = np.empty((2, channels, len(evidence.buffers), count))
    far = np.max([_far(r, axis) for r in evidence.references], 0)
    pool = np.random.default_rng(1).permutation(rest)[: 8 * count]
    chosen = np.sort(pool[np.argsort(-far[pool], kind="stable")[:count]])
    for k, (buffer, reference) in enumerate(zip(evidence.buffers, evidence.references)):
        real = spec.unpack(buffer).transpose(axes_in_model(spec.axes))
        for values, into in ((real, device), (reference, model)):
            rows = np.moveaxis(values, axis, 0).reshape(channels, -1).take(chosen, 1)
            into[:, k] = finite(rows)
    return device.reshape(channels, -1), model.reshape(channels, -1)


def _far(reference: np.ndarray, axis: int) -> np.ndarray:
    """Return how far each place is, in its most extreme channel, from that channel's mean."""
    rows = np.moveaxis(finite(reference), axis, 0).reshape(reference.shape[axis], -1)
    far = np.zeros(rows.shape[1])
    step = max(_PIECE // max(rows.shape[1], 1), 1)
    for piece in (rows[start : start + step] for start in range(0, len(rows), step)):
        np.maximum(far, np.abs(piece - piece.mean(1, keepdims=True)).max(0), out=far)
    return far


def cycles(permutation: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the cycles of two and more.

    >>> [cycle.tolist() for cycle in cycles(np.array([1, 0, 2, 4, 5, 3]))]
    [[0, 1], [3, 4, 5]]
    """
    seen = np.zeros(len(permutation), bool)
    for start in range(len(permutation)):
        cycle, at = [], start
        while not seen[at]:
            seen[at] = True
            cycle.append(at)
            at = int(permutation[at])
        if len(cycle) > 1:
            yield np.asarray(cycle)
