"""Make masks from prototypes, and skeletons from maps and fields, with numpy and OpenCV as scripts do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...decode import OPENPOSE
from ..instance_cases import CELL, INPUT, MasksCase, PeopleCase
from .registry import Call, peer

_SAMPLES = np.linspace(0, 1, OPENPOSE.samples)
Enlarge = Callable[[np.ndarray], np.ndarray]
Scores = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # of a field and two kinds of joints


def _crops(case: MasksCase, enlarge: Enlarge) -> Call:
    """Return a call that makes the logits of each box's cells, enlarges them, and compares them with 0.

    A cell more than the box on each side makes the crop's pixels those of the whole mask.
    """
    out = case.zeros(case.target.shape, np.uint8)
    quantization, side = case.spec.quantization, INPUT // CELL
    assert quantization is not None
    zero = np.float32(quantization.zero_point)
    boxes = case.xyxy.astype(int).tolist()
    blocks = case.flat.reshape(case.spec.storage_shape)
    axis = case.spec.layout.tag.index("C")

    def run() -> np.ndarray:
        stored = blocks if blocks.ndim == 4 else blocks.transpose(0, 1, 4, 2, 3).reshape(1, -1, side, side)
        prototypes = np.moveaxis(stored[0], axis - 1, 0) if blocks.ndim == 4 else stored[0]
        weights = case.coefficients.astype(np.float32) - np.float32(case.zero_point)
        at = 0
        for row, (left, top, right, bottom) in zip(weights, boxes):
            x, y = max(left // CELL - 1, 0), max(top // CELL - 1, 0)
            part = prototypes[:, y : bottom // CELL + 2, x : right // CELL + 2].astype(np.float32) - zero
            wide = enlarge(np.tensordot(row, part, 1))
            crop = wide[top - CELL * y : bottom - CELL * y, left - CELL * x : right - CELL * x]
            np.greater(crop, 0, out=out[at : at + crop.size].view(bool).reshape(crop.shape))
            at += crop.size
        return out

    return run


@peer("masks", "numpy", "tensordot of each box's cells, four taps by index")
def numpy_masks(case: MasksCase) -> Call:
    """Enlarge with numpy."""

    def along(values: np.ndarray) -> np.ndarray:
        at = (np.arange(CELL * len(values)) + 0.5) / CELL - 0.5
        low = np.floor(at).astype(int)
        share = (at - low).astype(np.float32)[:, None]
        before, after = (values[(low + k).clip(0, len(values) - 1)] for k in (0, 1))
        mixed: np.ndarray = before * (1 - share) + after * share
        return mixed

    return _crops(case, lambda logits: along(along(logits).T).T)


@peer("masks", "cv2", "tensordot of each box's cells, resize")
def cv2_masks(case: MasksCase) -> Call:
    """Enlarge with OpenCV."""
    import cv2

    def enlarge(logits: np.ndarray) -> np.ndarray:
        return np.asarray(cv2.resize(logits, None, fx=CELL, fy=CELL, interpolation=cv2.INTER_LINEAR))

    return _crops(case, enlarge)


@peer("masks", "cv2", "as scripts do: whole frames, cut afterwards")
def cv2_script_masks(case: MasksCase) -> Call:
    """Dequantise the prototypes, make and enlarge whole masks, and cut each at its box."""
    import cv2

    out, side = case.zeros(case.target.shape, np.uint8), INPUT // CELL
    quantization = case.spec.quantization
    assert quantization is not None
    zero, boxes = np.float32(quantization.zero_point), case.xyxy.astype(int).tolist()

    def run() -> np.ndarray:
        stored, tag = case.flat.reshape(case.spec.storage_shape), case.spec.layout.tag
        moved = stored.transpose(0, 1, 4, 2, 3) if stored.ndim == 5 else np.moveaxis(stored, tag.index("C"), 1)
        prototypes = moved.reshape(-1, side * side).astype(np.float32) - zero
        logits = (case.coefficients.astype(np.float32) - np.float32(case.zero_point)) @ prototypes
        whole = [cv2.resize(mask.reshape(side, side), (INPUT, INPUT)) > 0 for mask in logits]
        crops = [mask[top:bottom, left:right] for mask, (left, top, right, bottom) in zip(whole, boxes)]
        return np.concatenate([crop.reshape(-1).view(np.uint8) for crop in crops], out=out)

    return run


@peer("people", "numpy", "slices for peaks; each limb's pairs at once")
def numpy_people(case: PeopleCase) -> Call:
    """Find peaks of all joints, score the pairs of each limb, and join them."""
    return _people(case, _together)


@peer("people", "numpy", "as scripts do: one pair of joints after the other")
def numpy_script_people(case: PeopleCase) -> Call:
    """Score every two joints by themselves."""
    return _people(case, _one_by_one)


def _people(case: PeopleCase, scores_of: Scores) -> Call:
    def run() -> np.ndarray:
        maps = case.maps
        found = _peaks(maps[: OPENPOSE.joints])
        groups: list[dict[int, int]] = []
        scores: list[float] = []
        for limb, (a, b) in enumerate(OPENPOSE.limbs):
            at = OPENPOSE.fields + 2 * limb
            for i, j, score in _pairs(maps[at : at + 2], found[a], found[b], scores_of):
                _join(groups, scores, {a: i, b: j}, score)
        people = [group for group, score in zip(groups, scores) if score >= OPENPOSE.total]
        result = np.zeros((len(people), OPENPOSE.joints, 3), np.float32)
        for person, group in zip(result, people):
            for joint, index in group.items():
                x, y, heat = found[joint][index]
                person[joint] = OPENPOSE.cell * x + 3.5, OPENPOSE.cell * y + 3.5, heat
        return case.filled(result)

    return run


def _peaks(heat: np.ndarray) -> list[np.ndarray]:
    """Return x, y in cells and the heat of each map's maxima, moved to the top of a parabola: (n, 3) for each map."""
    around = np.pad(heat, ((0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    inner, sides = around[:, 1:-1, 1:-1], [around[:, 1:-1, :-2], around[:, 1:-1, 2:]]
    sides += [around[:, :-2, 1:-1], around[:, 2:, 1:-1]]
    left, right, above, below = sides
    top = (inner > OPENPOSE.peak) & (inner > left) & (inner >= right) & (inner > above) & (inner >= below)
    joint, y, x = np.nonzero(top)
    score = inner[joint, y, x]

    def moved(before: np.ndarray, after: np.ndarray) -> Any:
        low, high = before[joint, y, x], after[joint, y, x]
        inside = np.isfinite(low) & np.isfinite(high)
        low, high = np.where(inside, low, 0), np.where(inside, high, 0)
        return inside * (0.5 * (high - low) / np.maximum(2 * score - low - high, 1e-6)).clip(-0.5, 0.5)

    places = np.stack([x + moved(left, right), y + moved(above, below), score], 1)
    return np.split(places, np.searchsorted(joint, np.arange(1, len(heat))))


def _together(field: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the score of every two joints, -1 where the field does not follow their line."""
    vector = second[None, :, :2] - first[:, None, :2]
    length = np.linalg.norm(vector, axis=2)
    unit = vector / np.maximum(length, 1e-6)[..., None]
    at = first[:, None, None, :2] + vector[:, :, None] * _SAMPLES[:, None]
    x, y = np.moveaxis(np.rint(at).astype(int).clip(0, field.shape[1] - 1), -1, 0)
    along = field[0, y, x] * unit[..., None, 0] + field[1, y, x] * unit[..., None, 1]
    score: np.ndarray = along.mean(2) * np.sqrt(first[:, None, 2] * second[None, :, 2])
    score[((along > OPENPOSE.field).mean(2) < OPENPOSE.aligned) | (length == 0)] = -1
    return score


def _one_by_one(field: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the same, of one pair after the other."""
    score = np.full((len(first), len(second)), -1.0)
    for i, one in enumerate(first):
        for j, other in enumerate(second):
            vector = other[:2] - one[:2]
            length = np.linalg.norm(vector)
            if length == 0:
                continue
            x = np.rint(np.linspace(one[0], other[0], OPENPOSE.samples)).astype(int).clip(0, field.shape[2] - 1)
            y = np.rint(np.linspace(one[1], other[1], OPENPOSE.samples)).astype(int).clip(0, field.shape[1] - 1)
            along = np.dot(field[:, y, x].T, vector / length)
            if (along > OPENPOSE.field).mean() >= OPENPOSE.aligned:
                score[i, j] = along.mean() * np.sqrt(one[2] * other[2])
    return score


def _pairs(field: np.ndarray, first: np.ndarray, second: np.ndarray, scores_of: Scores) -> list[tuple[int, int, float]]:
    """Return the limbs between two kinds of joints: each joint once, the best first."""
    if not len(first) or not len(second):
        return []
    score = scores_of(field, first, second)
    result = []
    while score.max() > 0:
        i, j = np.unravel_index(int(score.argmax()), score.shape)
        result.append((int(i), int(j), float(score[i, j])))
        score[i, :] = score[:, j] = -1
    return result


def _join(groups: list[dict[int, int]], scores: list[float], limb: dict[int, int], score: float) -> None:
    """Add a limb to the people that have its joints."""
    holders = [k for k, group in enumerate(groups) if group.items() & limb.items()]
    if not holders:
        groups.append(limb)
        scores.append(score)
        return
    first, *others = holders
    if not others:
        if all(groups[first].get(joint, i) == i for joint, i in limb.items()):
            groups[first].update(limb)
            scores[first] += score
    elif not groups[first].keys() & groups[others[0]].keys():
        groups[first].update(groups.pop(others[0]))
        scores[first] += scores.pop(others[0]) + score
