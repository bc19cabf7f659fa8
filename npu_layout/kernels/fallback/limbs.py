"""Join peaks by limbs, each by the field along the line between them: the reference implementation."""

from __future__ import annotations

import numpy as np


def skeletons(
    fields: np.ndarray,
    limbs: np.ndarray,
    peaks: np.ndarray,
    ends: np.ndarray,
    line: tuple[int, int, float],
    total: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of peaks or -1, int64 (k, joints), and sums, float64 (k,); see `kernels.skeletons`."""
    groups: dict[int, dict[int, int]] = {}
    sums: dict[int, float] = {}
    owner = np.full(len(peaks), -1)  # a peak belongs to one skeleton
    made = 0
    for limb, (a, b) in enumerate(limbs.tolist()):
        starts = ends[a], ends[b]
        some, others = peaks[starts[0] : ends[a + 1]], peaks[starts[1] : ends[b + 1]]
        if not len(some) or not len(others):
            continue
        score = _scores(fields[2 * limb], fields[2 * limb + 1], some, others, line)
        for i, j, best in _pairs(score, *starts):
            ours, theirs = sorted((int(owner[i]), int(owner[j])))
            if theirs == -1:
                groups[made], sums[made] = {a: i, b: j}, best
                owner[[i, j]] = made
                made += 1
            elif ours in (-1, theirs):
                if groups[theirs].setdefault(a, i) == i and groups[theirs].setdefault(b, j) == j:
                    sums[theirs] += best
                    owner[[i, j]] = theirs
            elif not groups[ours].keys() & groups[theirs].keys():
                owner[owner == theirs] = ours
                groups[ours].update(groups.pop(theirs))
                sums[ours] += sums.pop(theirs) + best
    kept = [number for number in sorted(groups) if sums[number] >= total]
    found = np.full((len(kept), len(ends) - 1), -1, np.int64)
    for row, number in zip(found, kept):
        row[list(groups[number])] = list(groups[number].values())
    return found, np.array([sums[number] for number in kept], float)


def _scores(
    x: np.ndarray, y: np.ndarray, first: np.ndarray, second: np.ndarray, line: tuple[int, int, float]
) -> np.ndarray:
    """Return the score of every two peaks, -1 of those that are no limb."""
    samples, enough, least = line
    x, y = (np.where(np.isfinite(values), values, 0) for values in (x, y))
    vector = second[None, :, :2] - first[:, None, :2]
    length = np.sqrt(vector[..., 0] * vector[..., 0] + vector[..., 1] * vector[..., 1])
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = vector / length[..., None]
    total, above = np.zeros(length.shape), np.zeros(length.shape, int)
    for k in range(samples):
        at = first[:, None, :2] + vector * (k / (samples - 1))
        column = np.rint(at[..., 0]).clip(0, x.shape[1] - 1).astype(int)
        row = np.rint(at[..., 1]).clip(0, x.shape[0] - 1).astype(int)
        along = x[row, column] * unit[..., 0] + y[row, column] * unit[..., 1]
        total, above = total + along, above + (along > least)
    score = total / samples * np.sqrt(first[:, None, 2] * second[None, :, 2])
    return np.where((length > 0) & (above >= enough) & (score > 0), score, -1.0)


def _pairs(score: np.ndarray, first: int, second: int) -> list[tuple[int, int, float]]:
    """Return two peaks and their score, the best first, each peak once; the score is used up."""
    found = []
    while score.max() > 0:
        i, j = (int(at) for at in np.unravel_index(int(score.argmax()), score.shape))
        found.append((int(first) + i, int(second) + j, float(score[i, j])))
        score[i, :] = score[:, j] = -1
    return found
