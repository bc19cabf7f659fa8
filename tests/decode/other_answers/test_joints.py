"""Joints and landmarks, against loops in plain numbers, in any layout and dtype."""

from __future__ import annotations

import math

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from tests.support.tensors import spanning


def at_peak(heat: np.ndarray, shift: bool, stride: float) -> tuple[float, float, float]:
    """The steps of get_max_preds and get_final_preds, for one map."""
    h, w = heat.shape
    best = max(range(h * w), key=lambda i: (heat.flat[i], -i))
    x, y, value = float(best % w), float(best // w), float(heat.flat[best])
    column, row = math.floor(x + 0.5), math.floor(y + 0.5)
    if shift and 1 < column < w - 1 and 1 < row < h - 1:
        x += 0.25 * np.sign(heat[row, column + 1] - heat[row, column - 1])
        y += 0.25 * np.sign(heat[row + 1, column] - heat[row - 1, column])
    return (math.nan, math.nan, value) if value <= 0 else (x * stride, y * stride, value)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c"])
@pytest.mark.parametrize("shift", ["quarter", None])
def test_heatmaps(dtype: str, layout: str, shift: str | None) -> None:
    rng = np.random.default_rng(5)
    for size in ((12, 9), (3, 4), (1, 1), (5, 5)):
        real = rng.normal(-0.5, 1, (2, 17, *size)).astype(np.float32)
        real[0, 0] = -1  # nobody
        spec = nl.TensorSpec(real.shape, nl.Layout(layout, "NCHW"), dtype, quantization=spanning(dtype, real))
        buffer = spec.pack(real)
        values = spec.unpack(buffer)
        found = decode.heatmap_points(spec, buffer, stride=4, shift=shift)
        assert found.shape == (2, 17, 3) and found.dtype == np.float32
        for n in range(2):
            for joint in range(17):
                wanted = at_peak(values[n, joint], shift is not None, 4)
                np.testing.assert_allclose(found[n, joint], wanted, rtol=1e-6)
    assert np.isnan(found[0, 0, :2]).all()


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "bool"])
def test_heatmaps_of_integers_without_a_scale(dtype: str) -> None:
    """A difference of two of them has no room in their dtype; the neighbour that is greater counts."""
    rng = np.random.default_rng(7)
    spec = nl.TensorSpec((1, 9, 6, 7), "NHWC", dtype)
    stored = rng.integers(0, 256, spec.size).astype(np.uint8).astype(dtype)
    found, values = decode.heatmap_points(spec, stored), spec.unpack(stored)
    for joint in range(9):
        np.testing.assert_allclose(found[0, joint], at_peak(values[0, joint].astype(float), True, 4), rtol=1e-6)


def test_a_joint_beside_nan_stays_in_its_cell() -> None:
    heat = np.zeros((1, 1, 6, 6), np.float32)
    heat[0, 0, 3, 2:5] = np.nan, 2, 1
    assert decode.heatmap_points(nl.TensorSpec(heat.shape), heat.ravel()).tolist() == [[[12.0, 12.0, 2.0]]]


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_simcc(dtype: str) -> None:
    rng = np.random.default_rng(6)
    real = [rng.random((1, 17, n)).astype(np.float32) for n in (384, 512)]
    real[0][0, 4] = 0  # a joint that is not seen
    specs = [nl.TensorSpec(r.shape, "NCW", dtype, quantization=spanning(dtype, r)) for r in real]
    buffers = [spec.pack(r) for spec, r in zip(specs, real)]
    found = decode.simcc_points(specs[0], buffers[0], specs[1], buffers[1], split=2)
    values = [spec.unpack(buffer)[0].tolist() for spec, buffer in zip(specs, buffers)]
    for joint, (x, y, score) in enumerate(found[0].tolist()):
        rows = [v[joint] for v in values]
        assert score == pytest.approx(min(max(rows[0]), max(rows[1])))
        if joint == 4:
            assert math.isnan(x) and math.isnan(y) and score == 0
        else:
            assert (x, y) == (rows[0].index(max(rows[0])) / 2, rows[1].index(max(rows[1])) / 2)


def test_heatmaps_of_other_strides() -> None:
    """Two numbers are those in x and y: of UDP the first and the last cell are the first and the last pixel."""
    heat = np.zeros((1, 2, 64, 48), np.float32)
    heat[0, 0, 0, 0] = heat[0, 1, 63, 47] = 1
    found = decode.heatmap_points(nl.TensorSpec(heat.shape), heat.ravel(), stride=(191 / 47, 255 / 63), shift=None)
    np.testing.assert_allclose(found[0, :, :2], [[0, 0], [191, 255]], rtol=1e-6)


def newton(heat: np.ndarray, width: int) -> tuple[float, float]:
    """The step of "dark" from the greatest cell, by a matrix of second differences, of a map blurred cell by cell."""
    h, w = heat.shape
    half, sigma = width // 2, 0.3 * ((width - 1) * 0.5 - 1) + 0.8
    line = [math.exp(-((i - half) ** 2) / (2 * sigma**2)) for i in range(width)]
    line = [v / sum(line) for v in line]
    smooth = np.zeros((h, w))
    for y in range(h):
        for x in range(w):
            for i in range(width):
                for j in range(width):
                    v, u = y + i - half, x + j - half
                    if 0 <= v < h and 0 <= u < w:
                        smooth[y, x] += line[i] * line[j] * float(heat[v, u])
    smooth *= float(heat.max()) / smooth.max()
    y, x = divmod(int(heat.argmax()), w)

    def log(dy: int, dx: int) -> float:
        value = smooth[min(max(y + dy, 0), h - 1), min(max(x + dx, 0), w - 1)]
        return math.log(min(max(value, 1e-3), 50))

    gradient = np.array([log(0, 1) - log(0, -1), log(1, 0) - log(-1, 0)]) / 2
    mixed = (log(1, 1) - log(0, 1) - log(1, 0) + 2 * log(0, 0) - log(0, -1) - log(-1, 0) + log(-1, -1)) / 2
    second = np.array(
        [[log(0, 1) - 2 * log(0, 0) + log(0, -1), mixed], [mixed, log(1, 0) - 2 * log(0, 0) + log(-1, 0)]]
    )
    step = -np.linalg.inv(second + np.eye(2) * np.finfo(np.float32).eps) @ gradient
    return x + step[0], y + step[1]


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_heatmaps_by_newtons_method(dtype: str) -> None:
    """Gaussians whose peaks are between cells, some of them cut by an edge."""
    rows, columns = np.mgrid[:16, :12]
    peaks = [(5.3, 7.8), (0.2, 15.1), (11.4, 3.45), (6.0, 9.0)]
    real = np.float32([[np.exp(-((columns - x) ** 2 + (rows - y) ** 2) / 8) for x, y in peaks]])
    spec = nl.TensorSpec(real.shape, "NCHW", dtype, quantization=spanning(dtype, real))
    stored = spec.pack(real)
    values = spec.unpack(stored)[0]
    for width in (11, 3):
        found = decode.heatmap_points(spec, stored, stride=1, shift="dark", blur=width)[0]
        for heat, (x, y, score) in zip(values, found.tolist()):
            assert (x, y) == pytest.approx(newton(heat, width), abs=1e-4) and score == heat.max()
    whole = decode.heatmap_points(spec, stored, stride=1, shift="dark")[0]
    assert whole[0, :2].tolist() == pytest.approx(peaks[0], abs=0.05)
    flat = np.ones((1, 1, 6, 6), np.float32)
    flat[0, 0, 0, 0] = np.nan
    assert np.isfinite(decode.heatmap_points(nl.TensorSpec(flat.shape), flat.ravel(), shift="dark")).all()


def test_newtons_method_never_leads_out_of_the_map() -> None:
    """Noise with infinite and huge values, of which a parabola has its peak anywhere."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        heat = rng.normal(0, 1, (1, 1, 9, 7)).astype(np.float32)
        for value in rng.choice([np.inf, 1e30, -np.inf, 5], rng.integers(1, 4)):
            heat[0, 0, rng.integers(9), rng.integers(7)] = value
        points = decode.heatmap_points(nl.TensorSpec(heat.shape), heat.ravel(), stride=1, shift="dark", blur=3)
        x, y, score = points[0, 0].tolist()
        assert -1 <= x <= 7 and -1 <= y <= 9 and score == heat.max()


@pytest.mark.parametrize("dtype", ["float32", "uint8", "int16", "float16"])
@pytest.mark.parametrize(
    ("shape", "values", "scores", "unit", "yx"),
    [
        ((2, 1, 17, 3), 3, 0, "input", True),  # MoveNet
        ((1, 63), 3, 0, "pixel", False),  # a hand
        ((1, 195), 5, 2, "pixel", False),  # BlazePose
        ((1, 1, 1, 1404), 3, 0, "pixel", False),  # a face
        ((1, 196), 2, 0, "input", False),  # PFLD
        ((10,), 2, 0, "pixel", False),
    ],
)
def test_landmarks(dtype: str, shape: tuple[int, ...], values: int, scores: int, unit: str, yx: bool) -> None:
    rng = np.random.default_rng(8)
    real = rng.normal(0.5, 1, shape).astype(np.float32)
    layout = "C" if len(shape) == 1 else nl.Layout.of_rank(len(shape))
    spec = nl.TensorSpec(shape, layout, dtype, quantization=spanning(dtype, real))
    stored = spec.pack(real)
    how = dict(values=values, scores=scores, unit=unit, yx=yx, activation="sigmoid" if scores else "none")
    found = decode.landmarks(spec, stored, (96, 192), **how)
    rows = spec.unpack(stored).reshape(len(found), -1, values).astype(float)
    assert found.dtype == np.float32 and found.shape == rows.shape
    for image, points in zip(found, rows):
        for got, row in zip(image.tolist(), points.tolist()):
            x, y = row[1::-1] if yx else row[:2]
            if unit == "input":
                x, y = x * 192, y * 96
            last = [1 / (1 + math.exp(-n)) for n in row[values - scores :]] if scores else []
            assert got == pytest.approx([x, y, *row[2 : values - scores], *last], rel=1e-6, abs=1e-6)


def test_bad_input() -> None:
    vector, maps, line = nl.TensorSpec((1, 4), "NC"), nl.TensorSpec((1, 3, 4, 4)), nl.TensorSpec((1, 5, 3), "NCW")
    four, heat = np.zeros(4, np.float32), np.zeros(48, np.float32)
    for call, words in (
        (lambda: decode.heatmap_points(line, np.zeros(15, np.float32)), "heatmap_points: .*expected the axes N, C, H"),
        (lambda: decode.heatmap_points(maps, np.zeros(48, np.float32), shift="half"), "shift: expected"),
        (
            lambda: decode.simcc_points(line, np.zeros(15), line, np.zeros(15), split=0),
            "split: expected a number above 0",
        ),
        (lambda: decode.simcc_points(vector, four, vector, four), "simcc_points: x: .*expected three axes"),
        (lambda: decode.heatmap_points(maps, heat, stride=(4, 4, 4)), "stride: expected 2 items"),
        (lambda: decode.heatmap_points(maps, heat, stride=0), "stride: expected a number above 0"),
        (lambda: decode.heatmap_points(maps, heat, blur=4), "blur: expected an odd number"),
        (lambda: decode.heatmap_points(maps, heat, shift="dark", blur=10**9 + 1), "blur: expected an odd number"),
        (lambda: decode.landmarks(vector, four), "expected a multiple of 3 .values. numbers, got 4"),
        (lambda: decode.landmarks(vector, four, values=2, unit="input"), "input_shape: expected height and width"),
        (lambda: decode.landmarks(vector, four, values=2, scores=1), "values, scores: expected 2 or more"),
        (lambda: decode.landmarks(vector, four, values=2, unit="stride"), "unit: expected pixel or input"),
        (
            lambda: decode.landmarks(vector, four, values=2, activation="softmax"),
            "activation: expected none or sigmoid",
        ),
    ):
        with pytest.raises(nl.NpuLayoutError, match=words):
            call()


def test_options_without_effect() -> None:
    points, maps = nl.TensorSpec((1, 6), "NC"), nl.TensorSpec((1, 2, 8, 8))
    six, cells = np.ones(6, np.float32), np.ones(128, np.float32)
    with pytest.raises(nl.NpuLayoutError, match=r"activation: no effect without scores=, .* got 'sigmoid'"):
        decode.landmarks(points, six, activation="sigmoid")
    for shift in ("quarter", None):
        with pytest.raises(nl.NpuLayoutError, match=r"blur: no effect with shift=.*; 'dark' blurs; .* got 17"):
            decode.heatmap_points(maps, cells, shift=shift, blur=17)
        assert decode.heatmap_points(maps, cells, shift=shift, blur=11).shape == (1, 2, 3)
