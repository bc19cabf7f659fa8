"""Lanes against the published demo's steps, as loops in plain numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from tests.support.tensors import spanning

TUSIMPLE = [64 + 4 * i for i in range(56)]
CULANE = [121, 131, 141, 150, 160, 170, 180, 189, 199, 209, 219, 228, 238, 248, 258, 267, 277, 287]


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c"])
@pytest.mark.parametrize(("columns", "rows"), [(100, TUSIMPLE), (200, CULANE), (7, [10, 20.5, 30, 44])])
def test_lanes(dtype: str, layout: str, columns: int, rows: list[float]) -> None:
    rng = np.random.default_rng(2)
    real = rng.normal(0, 3, (1, columns + 1, len(rows), 4)).astype(np.float32)
    real[0, columns, ::2] += 6  # rows without a lane
    real[0, columns, :, 2] = 20  # no lane, but for two rows
    real[0, 3, :2, 2] = 30
    spec = nl.TensorSpec(real.shape, nl.Layout(layout, "NCHW"), dtype, quantization=spanning(dtype, real))
    stored = spec.pack(real)
    values = spec.unpack(stored)[0].astype(float)
    found = decode.lanes(spec, stored, (288, 800), None if len(rows) > 4 else rows)
    assert len(found) == 4 and found[2].shape == (0, 2) and len(found[0]) > 1
    for lane, points in enumerate(found):
        wanted = []
        for i, row in enumerate(rows):
            each = values[:, i, lane].tolist()
            if each.index(max(each)) == columns:
                continue
            powers = [math.exp(n - max(each[:-1])) for n in each[:-1]]
            mean = sum((k + 1) * p for k, p in enumerate(powers)) / sum(powers)
            wanted.append((mean * (799 / (columns - 1)) - 1, row - 1))
        if lane != 2:
            assert points.dtype == np.float32
            np.testing.assert_allclose(
                points, np.reshape(wanted, (-1, 2)) if len(wanted) > 2 else points[:0], rtol=1e-5
            )


def test_rows_go_with_the_height() -> None:
    scores = np.zeros((1, 3, 18, 1), np.float32)
    scores[0, 0] = 1
    (lane,) = decode.lanes(nl.TensorSpec(scores.shape), scores.ravel(), (576, 400))
    np.testing.assert_allclose(lane[:, 1], np.array(CULANE) * 2 - 1)


def test_bad_input() -> None:
    spec, scores = nl.TensorSpec((1, 3, 5, 1)), np.zeros(15, np.float32)
    for call, words in (
        (lambda: decode.lanes(spec, scores), "rows: expected 5 numbers: only for 18 and 56 rows"),
        (lambda: decode.lanes(spec, scores, (288, 800), [1, 2]), r"rows: expected 5 numbers, .* got shape \(2,\)"),
        (lambda: decode.lanes(nl.TensorSpec((3, 5), "NC"), scores), "lanes: .*expected .1, columns . 1, rows, lanes"),
        (lambda: decode.lanes(spec, scores[:9], (288, 800), [1, 2, 3, 4, 5]), "buffer has 36 bytes"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=words):
            call()


def test_what_is_no_number_is_no_point() -> None:
    """NaN or infinity in a column leaves no mean; minus infinity is a column that is out of the question."""
    scores = np.zeros((1, 4, 18, 1), np.float32)
    scores[0, :, :, 0] = np.array([0, 5, 0, 1])[:, None]
    scores[0, 0, 3], scores[0, 2, 5], scores[0, 3, 7], scores[0, 0, 9] = np.nan, np.inf, np.nan, -np.inf
    (lane,) = decode.lanes(nl.TensorSpec(scores.shape), scores.ravel())
    rows = [121, 131, 141, 150, 160, 170, 180, 189, 199, 209, 219, 228, 238, 248, 258, 267, 277, 287]
    assert lane[:, 1].tolist() == [row - 1.0 for n, row in enumerate(rows) if n not in (3, 5, 7)]
    assert np.isfinite(lane).all()
