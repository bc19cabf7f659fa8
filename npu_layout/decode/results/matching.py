"""Compare two sets of detections, without mAP: which are missing, extra, moved, of another class, score or shape."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ...errors import NpuLayoutError
from ...support import checked_call, instance, real_number
from ..heads.records import share_of
from .detections import Detections

_SEEN = 0.5  # confidence of a keypoint that counts
_APART = 0.25  # difference of two confidences of a keypoint that is one, and the share of keypoints that may differ
_SAME = 1 / 128  # difference of two scores that 8 bits may have made equal
_FEW = 16  # pixels of a mask that is too small to be compared
_COUNTED = {  # {field: the words behind its number}
    "missing": "missing",
    "extra": "extra",
    "moved": "moved",
    "relabelled": "relabelled",
    "rescored": "rescored",
    "keypoints": "with other keypoints",
    "masks": "with another mask",
}
_BESIDE = {"tied": "of these tied", "marginal": "marginal", "undefined": "undefined in the reference"}


@dataclass(frozen=True)
class Comparison:
    """How detections, `found`, differ from a reference's; true if nothing differs that counts.

    Attributes
    ----------
    matched
        Pairs (row of found, row of reference) of the same object.
    missing, extra
        Rows of the reference that nothing matches; rows of found that match nothing.
    moved, relabelled, rescored
        Pairs of `matched` that differ by more than `same` allows: in an edge, or a corner of a turned box; in the
        class; in the score.
    keypoints, masks
        Pairs with more than a quarter of the keypoints elsewhere; pairs with masks whose IoU is less than `overlap`.
    tied
        Those pairs of `moved` that come from different cells with the same score: suppression may have kept either.
        They count as differences all the same. Rows that are `listed` have no cells: none of them is tied.
    marginal
        ("found" or "reference", row) of what one side alone has, with a score so near the threshold that the other side
        may have lost it there. It does not count as a difference.
    pixels, score
        The largest difference of an edge, in pixels, and of a score, among all pairs.
    undefined
        Rows of the reference whose box or score is NaN or infinite, if found has a number or nothing in their place:
        there is nothing to compare with. They do not count as differences, nor does what found has of that class in
        that cell; if a side is `listed`, one row of that class that nothing matches, the best one, for each.

    Raises nothing: `same` makes it.
    """

    matched: tuple[tuple[int, int], ...]
    missing: tuple[int, ...]
    extra: tuple[int, ...]
    moved: tuple[tuple[int, int], ...]
    relabelled: tuple[tuple[int, int], ...]
    rescored: tuple[tuple[int, int], ...]
    keypoints: tuple[tuple[int, int], ...]
    masks: tuple[tuple[int, int], ...]
    tied: tuple[tuple[int, int], ...]
    marginal: tuple[tuple[str, int], ...]
    pixels: float
    score: float
    undefined: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return not any(getattr(self, name) for name in _COUNTED)

    def __str__(self) -> str:
        words = {**_COUNTED, **_BESIDE}.items()
        counts = [f"{len(getattr(self, name))} {word}" for name, word in words if getattr(self, name)]
        worst = f"edges within {self.pixels:.3g} px, scores within {self.score:.3g}"
        said = ", ".join([f"{len(self.matched)} matched", *counts])
        return f"{said}; {worst}" if self.matched else said

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON stores them."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


@checked_call
def same(
    found: Detections,
    reference: Detections,
    *,
    confidence: float | None = None,
    pixels: float = 2.0,
    shift: float = 0.05,
    score: float = 0.05,
    overlap: float = 0.5,
) -> Comparison:
    """Return how detections differ from those of a reference.

    Rows are matched one to one, best IoU first: first those of the same class, then the others. A row whose box or
    score is NaN or infinite matches only a row of that kind, of its class and, unless a side is `listed` (the device
    suppressed or ranked its boxes, as in `hailo_nms`), from its cell. If only found has such a
    row, it is extra, and the reference's row is missing. If only the reference has it, it is undefined, which is no
    difference: outputs of integers, which are never NaN, cannot agree with it.

    Parameters
    ----------
    found, reference
        Detections in pixels of the same input.
    confidence
        The threshold with which both were decoded: what one side alone has, with a score at most `score` above it, is
        marginal. None: nothing is marginal.
    pixels, shift
        How far an edge or a keypoint may be from the reference's, in pixels: `pixels` plus `shift` times the longer
        side of the reference's box. Only keypoints that the reference sees (confidence 0.5 or more, if they have one)
        are compared; their confidences may differ by 0.25.
    score
        How much two scores may differ.
    overlap
        The least IoU of a match, and of two masks of 16 pixels or more; boxes without area match if no edge is farther
        away than `pixels`.

    Returns
    -------
    A Comparison. It is true if nothing is missing, extra, moved, relabelled or rescored, and keypoints and masks agree.

    Raises
    ------
    NpuLayoutError
        If `found` or `reference` is no Detections; if a limit is negative, or above 1 where it limits shares, IoUs or
        probabilities; if only one side has keypoints, masks or turned boxes, or theirs have other numbers or sizes.

    Examples
    --------
    >>> row = np.zeros(1, np.int64)
    >>> one = Detections(np.float32([[0, 0, 9, 9]]), np.float32([0.9]), row, row, row, row)
    >>> two = Detections(np.float32([[0, 0, 9, 12]]), np.float32([0.9]), row + 1, row, row, row)
    >>> bool(same(one, one)), str(same(two, one))
    (True, '1 matched, 1 moved, 1 relabelled; edges within 3 px, scores within 0')
    """
    pixels, score = (real_number(name, v, least=0.0) for name, v in (("pixels", pixels), ("score", score)))
    shift, overlap = share_of("shift", shift), share_of("overlap", overlap)
    _check_sides(found, reference)
    _check_share("score", score, found, reference)
    bound = -np.inf
    if confidence is not None:
        bound = _check_share("confidence", real_number("confidence", confidence), found, reference) + score
    pairs = _pairs(found, reference, pixels, overlap)
    one, other = found[[i for i, _ in pairs]], reference[[j for _, j in pairs]]
    finite = _are_finite(one) & _are_finite(other)
    with np.errstate(invalid="ignore", over="ignore"):
        edges = np.abs(np.asarray(one.xyxy, np.float64) - other.xyxy).max(1, initial=0)
        apart = np.where(finite, np.maximum(edges, _corner_distances(one, other)), 0)
        allowed = pixels + shift * (other.xyxy[:, 2:] - other.xyxy[:, :2]).max(1, initial=0)
        differs = np.where(finite, np.abs(one.confidence.astype(np.float64) - other.confidence), 0)
    moved = apart > allowed
    vague, undefined = _undefined(found, reference, pairs)
    extra, weak = _unmatched(found, [i for i, _ in pairs] + vague, bound)
    missing, lost = _unmatched(reference, [j for _, j in pairs] + undefined, bound)
    return Comparison(
        tuple(pairs),
        missing,
        extra,
        _chosen(pairs, moved),
        _chosen(pairs, one.class_id != other.class_id),
        _chosen(pairs, differs > score),
        _chosen(pairs, _other_keypoints(one, other, allowed)),
        _chosen(pairs, _other_masks(one, other, overlap)),
        _chosen(pairs, _from_other_cells(one, other) & moved & (differs <= _SAME)),
        (*(("found", i) for i in weak), *(("reference", i) for i in lost)),
        float(apart.max(initial=0)),
        float(differs.max(initial=0)),
        tuple(undefined),
    )


def _pairs(found: Detections, reference: Detections, pixels: float, overlap: float) -> list[tuple[int, int]]:
    """Return the rows of the same objects: those of one class first, then what is left, of any class."""
    a, b = (np.asarray(side.xyxy, np.float64) for side in (found, reference))
    of_class = found.class_id[:, None] == reference.class_id[None]
    known, other = _are_finite(found), _are_finite(reference)
    similar = np.where(known[:, None] & other[None], _ious(a, b, pixels), -1)
    if not (known.all() and other.all()):
        similar[~known[:, None] & ~other[None] & _may_be_of_cells(found, reference) & of_class] = 1
    pairs = _matches(np.where(of_class, similar, -1), overlap, [], [])
    pairs += _matches(similar, overlap, [i for i, _ in pairs], [j for _, j in pairs])
    return sorted(pairs)


def _may_be_of_cells(found: Detections, reference: Detections) -> np.ndarray:
    """Return which rows come from the same cell, bool (n, m); any may, if a side is a list, which has no cells."""
    if found.listed or reference.listed:
        return np.ones((len(found), len(reference)), bool)
    cells = [np.stack([side.level, side.cell, side.anchor], 1) for side in (found, reference)]
    result: np.ndarray = (cells[0][:, None] == cells[1][None]).all(2)
    return result


def _undefined(found: Detections, reference: Detections, pairs: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return the rows of the reference that are no numbers and that nothing matches, and what found has there."""
    odd = ~_are_finite(reference)
    odd[[j for _, j in pairs]] = False
    left = _are_finite(found)
    left[[i for i, _ in pairs]] = False
    if not odd.any():
        return [], []
    same_class = found.class_id[:, None] == reference.class_id[None]
    there = _may_be_of_cells(found, reference) & same_class & odd[None] & left[:, None]
    if found.listed or reference.listed:
        rows = [i for i, _ in _matches(there.astype(float), 1, [], [])]
    else:
        rows = np.flatnonzero(there.any(1)).tolist()
    return rows, np.flatnonzero(odd).tolist()


def _check_sides(found: Detections, reference: Detections) -> None:
    """Raise NpuLayoutError if parts of the two sides cannot be compared."""
    for name, one in (("found", found), ("reference", reference)):
        instance(name, one, Detections)
    for side in (found, reference):
        turned = side.xywha
        if turned is not None and turned.shape != (len(side), 5):
            raise NpuLayoutError(f"xywha: expected {len(side)} turned boxes (n, 5), got shape {turned.shape}")
    for name in ("keypoints", "masks", "xywha"):
        sides = [getattr(side, name) for side in (found, reference)]
        sizes = [None if side is None else side.input_shape if name == "masks" else side.shape[1:] for side in sides]
        if sizes[0] != sizes[1]:
            got = " and ".join("none" if size is None else f"those of {size}" for size in sizes)
            hint = f"; to leave them out, give dataclasses.replace(..., {name}=None)" if None in sizes else ""
            raise NpuLayoutError(f"found and reference: {name}: expected the same kind on both sides, got {got}{hint}")


def _check_share(what: str, number: float, found: Detections, reference: Detections) -> float:
    """Return a threshold of scores; NpuLayoutError if it is above 1 and no score is: all of them would pass."""
    if max(found.confidence.max(initial=0), reference.confidence.max(initial=0)) <= 1:
        share_of(what, max(number, 0.0), ": no score is above 1")
    return number


def _are_finite(side: Detections) -> np.ndarray:
    """Return which rows have numbers as edges, score and turned box."""
    finite: np.ndarray = np.isfinite(side.xyxy).all(1) & np.isfinite(side.confidence)
    return finite if side.xywha is None else finite & np.isfinite(side.xywha).all(1)


def _corner_distances(one: Detections, other: Detections) -> np.ndarray:
    """Return how far corners of turned boxes are from the reference's, the box begun at the corner that fits best."""
    a, b = one.xyxyxyxy, other.xyxyxyxy
    if a is None or b is None:
        return np.zeros(len(one))
    ways = [np.abs(np.roll(a, k, 1).astype(np.float64) - b).max((1, 2), initial=0) for k in range(4)]
    result: np.ndarray = np.min(ways, 0)
    return result


def _other_keypoints(one: Detections, other: Detections, allowed: np.ndarray) -> np.ndarray:
    """Return whether more than a quarter of the keypoints that the reference sees differ."""
    if one.keypoints is None or other.keypoints is None:
        return np.zeros(len(one), bool)
    a, b = (np.asarray(side.keypoints, np.float64) for side in (one, other))
    far = ~(np.abs(a[..., :2] - b[..., :2]).max(2, initial=0) <= allowed[:, None])
    seen = np.ones(far.shape, bool)
    if b.shape[2] > 2:
        far |= ~(np.abs(a[..., 2] - b[..., 2]) <= _APART)
        seen = b[..., 2] >= _SEEN
    result: np.ndarray = (far & seen).sum(1) > _APART * seen.sum(1)
    return result


def _other_masks(one: Detections, other: Detections, least: float) -> np.ndarray:
    """Return whether the masks of a pair overlap too little."""
    if one.masks is None or other.masks is None:
        return np.zeros(len(one), bool)
    differ = []
    for i in range(len(one)):
        a, b = one.masks.full(i), other.masks.full(i)
        most = max(int(a.sum()), int(b.sum()))
        differ.append(most >= _FEW and int((a & b).sum()) < least * int((a | b).sum()))
    return np.array(differ, bool)


def _from_other_cells(one: Detections, other: Detections) -> np.ndarray:
    """Return which pairs come from another cell; none of a list's."""
    if one.listed or other.listed:
        return np.zeros(len(one), bool)
    result: np.ndarray = (one.level != other.level) | (one.cell != other.cell) | (one.anchor != other.anchor)
    return result


def _chosen(pairs: list[tuple[int, int]], chosen: np.ndarray) -> tuple[tuple[int, int], ...]:
    return tuple(pair for pair, is_so in zip(pairs, chosen.tolist()) if is_so)


def _ious(a: np.ndarray, b: np.ndarray, pixels: float) -> np.ndarray:
    """Return IoUs, float64 (n, m); 1 where a box without area is within `pixels` of the other."""
    with np.errstate(invalid="ignore", divide="ignore"):
        low = np.maximum(a[:, None, :2], b[None, :, :2])
        high = np.minimum(a[:, None, 2:], b[None, :, 2:])
        shared = np.prod(np.clip(high - low, 0, None), 2)
        areas = [np.prod(np.clip(boxes[:, 2:] - boxes[:, :2], 0, None), 1) for boxes in (a, b)]
        union = areas[0][:, None] + areas[1][None] - shared
        near = np.abs(a[:, None] - b[None]).max(2, initial=0) <= pixels
        thin = (areas[0][:, None] == 0) | (areas[1][None] == 0)
        ious: np.ndarray = np.where(thin, near.astype(np.float64), shared / union)
    return ious


def _matches(similar: np.ndarray, least: float, used_a: list[int], used_b: list[int]) -> list[tuple[int, int]]:
    """Return pairs, the most similar first, each row once; equal ones in the order of rows."""
    rows, columns = np.nonzero(similar >= least)
    order = np.argsort(-similar[rows, columns], kind="stable")
    taken, given, found = set(used_a), set(used_b), []
    for i, j in zip(rows[order].tolist(), columns[order].tolist()):
        if i not in taken and j not in given:
            taken.add(i)
            given.add(j)
            found.append((i, j))
    return found


def _unmatched(side: Detections, matched: list[int], bound: float) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the rows that nothing matches: those with a score above `bound`, and the others."""
    rows = sorted(set(range(len(side))) - set(matched))
    strong = tuple(i for i in rows if float(side.confidence[i]) > bound)
    return strong, tuple(i for i in rows if i not in strong)
