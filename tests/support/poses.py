"""People drawn into maps and fields, and the plain decoder that is their oracle."""

from __future__ import annotations

import math

import numpy as np

from npu_layout.decode import Skeleton

LIMBS = (
    (1, 8), (8, 9), (9, 10), (1, 11), (11, 12), (12, 13), (1, 2), (2, 3), (3, 4), (2, 16), (1, 5), (5, 6), (6, 7),
    (5, 17), (1, 0), (0, 14), (0, 15), (14, 16), (15, 17),
)  # fmt: skip
CELL, GRID, PEAK = 8, 46, 0.3
_SAMPLES = np.linspace(0, 1, 10)
_LEAST_FIELD, _LEAST_TOTAL = 0.05, 6.0
_BODY = np.array(
    [(0, -5), (0, -3), (-2, -3), (-3, -1), (-3, 1), (2, -3), (3, -1), (3, 1), (-1, 1), (-1, 4), (-1, 7), (1, 1), (1, 4),
     (1, 7), (-1, -6), (1, -6), (-2, -5), (2, -5)], float,
)  # fmt: skip


def drawn_people(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return maps (57, 46, 46) float32, and the joints (count, 18, 2) in cells."""
    size = 0.9 if count > 4 else 1.4
    across = max(1, int(np.ceil(np.sqrt(count))))
    slots = [((i % across + 0.5) * 46 / across, (i // across + 0.5) * 46 / across) for i in range(count)]
    people = np.array([_BODY * size + slot + rng.uniform(-0.4, 0.4, (18, 2)) for slot in slots]).reshape(-1, 18, 2)
    y, x = np.mgrid[:46, :46]
    maps = rng.normal(0, 0.01, (57, 46, 46))
    for person in people:
        for joint, (px, py) in enumerate(person):
            maps[joint] = np.maximum(maps[joint], np.exp(-((x - px) ** 2 + (y - py) ** 2) / 0.8))
        for limb, (a, b) in enumerate(LIMBS):
            vector = person[b] - person[a]
            length = float(np.hypot(*vector))
            unit = vector / length
            along = (x - person[a][0]) * unit[0] + (y - person[a][1]) * unit[1]
            beside = np.abs((x - person[a][0]) * unit[1] - (y - person[a][1]) * unit[0])
            near = (along > -1) & (along < length + 1) & (beside < 1)
            maps[19 + 2 * limb][near], maps[20 + 2 * limb][near] = unit
    return maps.astype(np.float32), people


def peaks(heat: np.ndarray, threshold: float = PEAK) -> list[np.ndarray]:
    """Local maxima of each map of `heat` (joints, H, W): arrays (n, 3) of x, y in cells and the score.

    A parabola through each maximum and its neighbours refines it to within half a cell.
    """
    count, height, width = heat.shape
    around = np.full((count, height + 2, width + 2), -np.inf, np.float32)
    inner = around[:, 1:-1, 1:-1]
    inner[...] = np.nan_to_num(heat, nan=-np.inf, posinf=-np.inf, neginf=-np.inf)
    left, right = around[:, 1:-1, :-2], around[:, 1:-1, 2:]
    above, below = around[:, :-2, 1:-1], around[:, 2:, 1:-1]
    # `>` on one side and `>=` on the other: a plateau of two cells is one maximum.
    top = (inner > threshold) & (inner > left) & (inner >= right) & (inner > above) & (inner >= below)
    joint, y, x = np.nonzero(top)
    score = inner[joint, y, x]

    def refined(before: np.ndarray, after: np.ndarray) -> np.ndarray:
        low, high = before[joint, y, x], after[joint, y, x]
        known = np.isfinite(low) & np.isfinite(high)
        low, high = np.where(known, low, 0), np.where(known, high, 0)
        bend = 2 * score - low - high
        return np.where(known & (bend > 1e-6), 0.5 * (high - low) / np.maximum(bend, 1e-6), 0).clip(-0.5, 0.5)

    found = np.stack([x + refined(left, right), y + refined(above, below), score], axis=1)
    return np.split(found, np.searchsorted(joint, np.arange(1, count)))


def _pairs(fields: np.ndarray, first: np.ndarray, second: np.ndarray) -> list[tuple[int, int, float]]:
    """The limbs between two kinds of joints: each joint used once, the best aligned first."""
    if not len(first) or not len(second):
        return []
    vector = second[None, :, :2] - first[:, None, :2]
    length = np.linalg.norm(vector, axis=2)
    unit = vector / np.maximum(length, 1e-6)[..., None]
    at = first[:, None, None, :2] + vector[:, :, None] * _SAMPLES[:, None]
    x = np.rint(at[..., 0]).astype(int).clip(0, fields.shape[2] - 1)
    y = np.rint(at[..., 1]).astype(int).clip(0, fields.shape[1] - 1)
    along = fields[0, y, x] * unit[..., None, 0] + fields[1, y, x] * unit[..., None, 1]
    score = along.mean(axis=2) * np.sqrt(first[:, None, 2] * second[None, :, 2])
    enough = ((along > _LEAST_FIELD).mean(axis=2) >= 0.7) & (length > 0)
    result = []
    score = np.where(enough, score, -1.0)
    while score.max() > 0:
        i, j = np.unravel_index(int(score.argmax()), score.shape)
        result.append((int(i), int(j), float(score[i, j])))
        score[i, :] = -1
        score[:, j] = -1
    return result


def scripted_people(maps: np.ndarray) -> list[np.ndarray]:
    """People in `maps`, (57, 46, 46) or (1, 57, 46, 46) float32: arrays (18, 3) of x, y in the network's input
    pixels (centres) and the score; NaN and 0 where a joint was not found."""
    maps = np.asarray(maps, np.float32).reshape(57, GRID, GRID)
    found = peaks(maps[:18])
    fields = np.nan_to_num(maps[19:], nan=0.0, posinf=0.0, neginf=0.0).reshape(19, 2, GRID, GRID)
    people: list[dict[int, int]] = []
    scores: list[float] = []
    for limb, (a, b) in enumerate(LIMBS):
        for i, j, score in _pairs(fields[limb], found[a], found[b]):
            holders = [k for k, person in enumerate(people) if person.get(a) == i or person.get(b) == j]
            if not holders:
                people.append({a: i, b: j})
                scores.append(score)
            elif len(holders) == 1:
                person = people[holders[0]]
                if person.setdefault(a, i) == i and person.setdefault(b, j) == j:
                    scores[holders[0]] += score
            elif not people[holders[0]].keys() & people[holders[1]].keys():
                people[holders[0]].update(people[holders[1]])
                scores[holders[0]] += scores[holders[1]] + score
                del people[holders[1]], scores[holders[1]]
    result = []
    for person, score in zip(people, scores):
        if score < _LEAST_TOTAL:
            continue
        joints = np.full((18, 3), np.nan, np.float32)
        joints[:, 2] = 0
        for joint, index in person.items():
            x, y, heat = found[joint][index]
            joints[joint] = CELL * x + (CELL - 1) / 2, CELL * y + (CELL - 1) / 2, heat
        result.append(joints)
    return result


Peak = tuple[float, float, float]


def _peaks_of(heat: list[list[float]], least: float) -> list[Peak]:
    """Maxima of 3x3 cells of one map, row by row: greater than those before it, not less than those behind it."""
    high, wide, found = len(heat), len(heat[0]), []

    def at(y: int, x: int) -> float:
        return heat[y][x] if 0 <= y < high and 0 <= x < wide else -math.inf

    def moved(before: float, top: float, after: float) -> float:
        bend = 2 * top - before - after
        if math.isinf(before) or math.isinf(after) or bend <= 1e-6:
            return 0.0
        return min(max((after - before) / bend / 2, -0.5), 0.5)

    for y in range(high):
        for x in range(wide):
            top = heat[y][x]
            near = [(j, i) for j in (-1, 0, 1) for i in (-1, 0, 1)]
            before = all(top > at(y + j, x + i) for j, i in near[:4])
            if top > least and before and all(top >= at(y + j, x + i) for j, i in near[5:]):
                across = moved(at(y, x - 1), top, at(y, x + 1))
                found.append((x + across, y + moved(at(y - 1, x), top, at(y + 1, x)), top))
    return found


def _limb_of(fields: list[list[list[float]]], one: Peak, other: Peak, skeleton: Skeleton) -> float:
    """The mean of the field along the line, Cao et al. 2017, equation 11, times the joints' heat; 0 if too little."""
    dx, dy = other[0] - one[0], other[1] - one[1]
    length, n = math.sqrt(dx * dx + dy * dy), skeleton.samples
    if length == 0:
        return 0.0
    along = []
    for k in range(n):
        x, y = round(one[0] + dx * (k / (n - 1))), round(one[1] + dy * (k / (n - 1)))
        row, column = min(max(y, 0), len(fields[0]) - 1), min(max(x, 0), len(fields[0][0]) - 1)
        along.append((fields[0][row][column] * dx + fields[1][row][column] * dy) / length)
    if sum(value > skeleton.field for value in along) < skeleton.aligned * n - 1e-9:
        return 0.0
    return math.fsum(along) / n * math.sqrt(one[2] * other[2])


def plain_people(maps: np.ndarray, skeleton: Skeleton) -> list[dict[int, Peak]]:
    """People in maps (channels, H, W), in loops over floats of 64 bits: {joint: x and y in cells, and the heat}.

    Of each limb the pairs of joints are taken from the best one on, each joint once (section 2.4 of the paper); a limb
    joins the person that has one of its joints already, or two people that have no joint in common.
    """
    values = maps.astype(np.float64).tolist()
    peaks = [_peaks_of(values[joint], skeleton.peak) for joint in range(skeleton.joints)]
    people: list[tuple[dict[int, int], list[float]]] = []
    for limb, (a, b) in enumerate(skeleton.limbs):
        fields = values[skeleton.fields + 2 * limb : skeleton.fields + 2 * limb + 2]
        scored = [
            (-_limb_of(fields, one, other, skeleton), i, j)
            for i, one in enumerate(peaks[a])
            for j, other in enumerate(peaks[b])
        ]
        firsts, seconds = set(), set()
        for least, i, j in sorted(scored):
            if least >= 0 or i in firsts or j in seconds:
                continue
            firsts.add(i)
            seconds.add(j)
            of = [person for person in people if person[0].get(a) == i or person[0].get(b) == j]
            if not of:
                people.append(({a: i, b: j}, [-least]))
            elif len(of) == 1:
                if of[0][0].get(a, i) == i and of[0][0].get(b, j) == j:
                    of[0][0].update({a: i, b: j})
                    of[0][1].append(-least)
            elif not of[0][0].keys() & of[1][0].keys():
                of[0][0].update(of[1][0])
                of[0][1].extend([*of[1][1], -least])
                people.remove(of[1])
    kept = [joints for joints, scores in people if math.fsum(scores) >= skeleton.total]
    return [{joint: peaks[joint][row] for joint, row in joints.items()} for joints in kept]
