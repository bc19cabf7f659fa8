"""What sums say a scale leaves is what the values say, clamped ones and exact ones included."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.evidence import Evidence
from npu_layout.diagnosis.scale_errors import ScaleErrors

SHAPE = (1, 7, 9, 5)


def _left(
    codes: np.ndarray, wanted: np.ndarray, scale: np.ndarray, zero_point: np.ndarray, low: int, high: int
) -> list:
    """By plain loops over frames, channels and places."""
    found = []
    for c in range(SHAPE[1]):
        stored = [
            min(max(w / scale[c] + zero_point[c], low), high) for frame in wanted for w in frame[0, c].ravel().tolist()
        ]
        given = [code for frame in codes for code in frame[0, c].ravel().tolist()]
        found.append(sum((a - b) ** 2 for a, b in zip(given, stored)) / len(stored))
    return found


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
@pytest.mark.parametrize("axis", [1, None])
def test_errors_are_those_of_the_values(dtype: str, axis: int | None) -> None:
    rng = np.random.default_rng(3)
    low, high = (int(end) for end in (np.iinfo(dtype).min, np.iinfo(dtype).max))
    zero_point, step = (low + high) // 2, 6 / (high - low)
    spec = nl.TensorSpec(SHAPE, "NCHW", dtype, quantization=nl.Quantization(step, zero_point))
    wanted = rng.standard_normal((3, *SHAPE)).astype(np.float32) * np.linspace(0.1, 2, 7)[:, None, None]
    wanted[:, :, 2] = 0.25  # a channel that does not vary
    wanted = wanted.astype(np.float32)
    buffers = [spec.pack(w) for w in wanted]
    evidence = Evidence(spec, buffers, list(wanted), (), axis)
    errors = ScaleErrors(evidence, evidence.codes, (low, high))
    codes = np.stack([np.asarray(b, np.float64).reshape(SHAPE) for b in buffers])
    for factor, moved in ((1.0, 0), (0.3, 0), (2.0, 5), (50.0, -20), (1e4, 1)):  # exact, clamped, other ones
        each = step * factor * (np.linspace(0.9, 1.1, 7) if axis else np.ones(7))
        zeros = np.full(7, float(zero_point + moved))
        found = errors.of(each if axis else each[0], zeros if axis else zeros[0])
        expected = np.array(_left(codes, wanted, each, zeros, low, high))
        np.testing.assert_allclose(found, expected if axis else [expected.mean()], rtol=1e-8)
