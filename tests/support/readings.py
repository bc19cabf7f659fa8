"""References that networks might return, and whether two specs read the same elements."""

from __future__ import annotations

import numpy as np

import npu_layout as nl


def blobs(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Maps with a bump each, at a place and of a height of its own: what networks put out."""
    rng = np.random.default_rng(seed)
    axes = [np.arange(n) for n in shape]
    grid = np.meshgrid(*axes[2:], indexing="ij")
    result = np.zeros(shape, np.float32)
    for index in np.ndindex(*shape[:2]):
        bump = sum(((g - rng.uniform(0, n)) / (n / 3)) ** 2 for g, n in zip(grid, shape[2:]))
        result[index] = rng.uniform(0.5, 2) * np.exp(-bump) + 0.02 * rng.standard_normal(shape[2:])
    return result


def same_reading(found: nl.TensorSpec, spec: nl.TensorSpec) -> bool:
    index = np.indices(spec.shape)
    return np.array_equal(found.offset(*index), spec.offset(*index))
