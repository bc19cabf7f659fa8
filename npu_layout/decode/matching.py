"""Compare two sets of detections, without mAP: which are missing, extra, moved, of another class, of another score."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..errors import NpuLayoutError
from ..support import instance, real_number
from .detections import Detections


@dataclass(frozen=True)
class Comparison:
    """How detections differ from a reference's; true if they do not, but for what is marginal.

    Attributes
    ----------
    matched
        Pairs (row of found, row of reference) of the same object.
    missing, extra
        Rows of the reference that nothing matches; rows of found that match nothing.
    moved, relabelled, rescored
        Pairs of `matched` with an edge that differs by more than `same` allows, of another class, and with scores that
        differ by more than it allows.
    marginal
        ("found" or "reference", row): what one side alone has, with a score so near the threshold that the other side
        may have lost it there. Not counted as a difference.
    pixels, score
        The largest differences of an edge and of a score, of all pairs.

    Raises nothing: `same` makes it.
    """

    matched: tuple[tuple[int, int], ...]
    missing: tuple[int, ...]
    extra: tuple[int, ...]
    moved: tuple[tuple[int, int], ...]
    relabelled: tuple[tuple[int, int], ...]
    rescored: tuple[tuple[int, int], ...]
    marginal: tuple[tuple[str, int], ...]
    pixels: float
    score: float

    def __bool__(self) -> bool:
        return not (self.missing or self.extra or self.moved or self.relabelled or self.rescored)

    def __str__(self) -> str:
        counts = [
            f"{len(getattr(self, name))} {name}"
            for name in ("missing", "extra", "moved", "relabelled", "rescored", "marginal")
            if getattr(self, name)
        ]
        worst = f"edges within {self.pixels:.3g} px, scores within {self.score:.3g}"
        return f"{len(self.matched)} matched" + "".join(f", {count}" for count in counts) + f"; {worst}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON stores them."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


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

    Rows are matched one to one, best IoU first: those of one class, and then what is left, of any class.

    Parameters
    ----------
    found, reference
        Detections in pixels of the same input.
    confidence
        The threshold of both: what one side alone has, with a score at most `score` above it, is marginal. None:
        nothing is.
    pixels, shift
        How far an edge may be from the reference's: `pixels`, and this share of the box's longer side.
    score
        How much a score may differ.
    overlap
        The least IoU of a match; boxes without area match if no edge is farther than `pixels`.

    Returns
    -------
    A Comparison; it is true if nothing is missing, extra, moved, relabelled or rescored.

    Raises
    ------
    NpuLayoutError
        On what are no Detections, and on boxes or scores that are not finite.

    Examples
    --------
    >>> row = np.zeros(1, np.int64)
    >>> one = Detections(np.float32([[0, 0, 9, 9]]), np.float32([0.9]), row, row, row, row)
    >>> two = Detections(np.float32([[0, 0, 9, 12]]), np.float32([0.9]), row + 1, row, row, row)
    >>> bool(same(one, one)), str(same(two, one))
    (True, '1 matched, 1 moved, 1 relabelled; edges within 3 px, scores within 0')
    """
    given = {"pixels": pixels, "shift": shift, "score": score, "overlap": overlap}
    limits = [real_number(name, value) for name, value in given.items()]
    pixels, shift, score, overlap = limits
    bound = -np.inf if confidence is None else real_number("confidence", confidence) + score
    sides = []
    for name, one in (("found", found), ("reference", reference)):
        side = instance(name, one, Detections)
        if not (np.isfinite(side.xyxy).all() and np.isfinite(side.confidence).all()):
            raise NpuLayoutError(f"{name}: expected finite boxes and scores")
        sides.append(side)
    a, b = (np.asarray(side.xyxy, np.float64) for side in sides)
    similar = _ious(a, b, pixels)
    of_class = found.class_id[:, None] == reference.class_id[None]
    pairs = _matches(np.where(of_class, similar, -1), overlap, [], [])
    pairs += _matches(similar, overlap, [i for i, _ in pairs], [j for _, j in pairs])
    pairs.sort()
    rows = [[pair[side] for pair in pairs] for side in (0, 1)]
    apart = np.abs(a[rows[0]] - b[rows[1]]).max(1, initial=0)
    allowed = pixels + shift * (b[rows[1], 2:] - b[rows[1], :2]).max(1, initial=0)
    differs = np.abs(found.confidence[rows[0]].astype(np.float64) - reference.confidence[rows[1]])
    extra, weak = _alone(found, rows[0], bound)
    missing, lost = _alone(reference, rows[1], bound)
    return Comparison(
        tuple(pairs),
        missing,
        extra,
        _some(pairs, apart > allowed),
        _some(pairs, found.class_id[rows[0]] != reference.class_id[rows[1]]),
        _some(pairs, differs > score),
        (*(("found", i) for i in weak), *(("reference", i) for i in lost)),
        float(apart.max(initial=0)),
        float(differs.max(initial=0)),
    )


def _some(pairs: list[tuple[int, int]], chosen: np.ndarray) -> tuple[tuple[int, int], ...]:
    return tuple(pair for pair, is_so in zip(pairs, chosen.tolist()) if is_so)


def _ious(a: np.ndarray, b: np.ndarray, pixels: float) -> np.ndarray:
    """Return IoUs, float64 (n, m); 1 where a box without area is within `pixels` of the other."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    shared = np.prod(np.clip(high - low, 0, None), 2)
    areas = [np.prod(np.clip(boxes[:, 2:] - boxes[:, :2], 0, None), 1) for boxes in (a, b)]
    union = areas[0][:, None] + areas[1][None] - shared
    near = np.abs(a[:, None] - b[None]).max(2, initial=0) <= pixels
    thin = (areas[0][:, None] == 0) | (areas[1][None] == 0)
    with np.errstate(invalid="ignore", divide="ignore"):
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


def _alone(side: Detections, matched: list[int], bound: float) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the rows that nothing matches: those with a score above `bound`, and the others."""
    rows = sorted(set(range(len(side))) - set(matched))
    strong = tuple(i for i in rows if float(side.confidence[i]) > bound)
    return strong, tuple(i for i in rows if i not in strong)
