"""Match joints by the field along the line between them: the reference implementation."""

from __future__ import annotations

import numpy as np


def limbs(
    x: np.ndarray, y: np.ndarray, first: np.ndarray, second: np.ndarray, samples: int, enough: int, least: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs, int64 (n, 2), and their scores, float64 (n,); see `kernels.limbs`."""
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
    score = np.where((length > 0) & (above >= enough) & (score > 0), score, -1.0)
    pairs, found = [], []
    while score.size and score.max() > 0:
        i, j = np.unravel_index(int(score.argmax()), score.shape)
        pairs.append((int(i), int(j)))
        found.append(float(score[i, j]))
        score[i, :] = score[:, j] = -1
    return np.array(pairs, np.int64).reshape(-1, 2), np.array(found)
