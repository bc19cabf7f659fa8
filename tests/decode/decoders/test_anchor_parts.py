"""One part for the kernels: what its codes mean, and scales along an axis."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.decode.decoders.least_codes import thresholds
from tests.support.compiled_heads import described, maps


def test_tables_of_values_are_dequantised_and_activated() -> None:
    head = decode.yolov8(5, (8, 16), activation="sigmoid", keypoints=3)
    made = described(head, maps("NHWC", "uint8", (64, 5, 9), nl.Quantization(0.5, 100)))
    assert made is not None
    anchor = made.levels[0].anchors[0]
    real = (np.arange(256) - 100) * 0.5
    for table, expected in (
        (anchor.box.values, real),
        (anchor.score.values, 1 / (1 + np.exp(-real))),
        (anchor.points.values if anchor.points else None, real),
        (anchor.heats, 1 / (1 + np.exp(-real))),
    ):
        assert table is not None
        np.testing.assert_allclose(table, expected, rtol=1e-15)
    floats = described(head, maps("NHWC", "float32", (64, 5, 9)))
    assert floats is not None and floats.levels[0].anchors[0].heats is None


def scaled(dtype: str, axis: int) -> tuple[list[nl.TensorSpec], list[np.ndarray]]:
    """Maps whose scores have scales along an axis, and what each code of the scores means, (scales, codes)."""
    specs, reals, info = maps("NCHW16c", dtype, (64, 5), nl.Quantization(0.1, 3)), [], np.iinfo(dtype)
    for at in (1, 3):
        n = specs[at].shape[axis]
        scales, zeros = np.linspace(0.01, 0.05, n), np.linspace(-128, 100, n).astype(int)
        scales *= 256 / (info.max - info.min + 1)
        specs[at] = specs[at].replace(quantization=nl.Quantization(scales, zeros, axis=axis))
        codes = np.arange(info.min, info.max + 1, dtype=np.int64)
        steps = (codes - zeros[:, None]).astype(np.float32)
        reals.append((steps * scales.astype(np.float32)[:, None]).astype(np.float64))
    return specs, reals


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize(("axis", "each"), [(1, "channels"), (2, "rows"), (3, "columns")])
def test_scales_along_an_axis(dtype: str, axis: int, each: str) -> None:
    specs, reals = scaled(dtype, axis)
    made = described(decode.yolov8(5, (8, 16), activation="sigmoid"), specs)
    assert made is not None
    half = len(reals[0][0]) // 2
    for grid, real in zip(made.levels, reals):
        score, box = grid.anchors[0].score, grid.anchors[0].box
        assert box.scales is None and box.values is not None and box.values.shape == (2 * half,)
        assert score.values is None and score.scales is not None and score.scales.each == each
        for code in (-half, -1, 0, 7, half - 1):
            assert np.array_equal(score.scales.real(dtype, np.array(code)), real[:, code + half].astype(np.float32))
    for confidence in (0.2, 0.7, 0.5, 1e-3):
        least = np.frombuffer(thresholds(decode.yolov8(5, (8, 16)), made, confidence), np.int32)
        passing = [(1 / (1 + np.exp(-real)) >= confidence).any(0) for real in reals]
        assert least.tolist() == [int(np.argmax(some)) - half for some in passing]


def test_scales_that_are_all_the_same_are_one() -> None:
    specs = maps("NHWC", "int8", (64, 5), nl.Quantization(0.1, 3))
    same = [spec.replace(quantization=nl.Quantization(np.full(spec.shape[1], 0.1), 3, axis=1)) for spec in specs]
    one, other = (described(decode.yolov8(5, (8, 16)), some) for some in (specs, same))
    assert one is not None and other is not None
    for a, b in zip(one.levels, other.levels):
        for part in ("score", "box"):
            mine, theirs = getattr(a.anchors[0], part), getattr(b.anchors[0], part)
            assert theirs.scales is None and np.array_equal(mine.values, theirs.values)
