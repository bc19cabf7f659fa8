"""What sums say a scale leaves is what the values say, clamped ones and exact ones included."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.scoring.evidence import Evidence
from npu_layout.diagnosis.stored.channel_orders import channel_orders
from npu_layout.diagnosis.stored.readings import readings
from npu_layout.diagnosis.stored.scale_errors import CLAMPED, ScaleErrors

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


def _noisy(noise: float, layout: str = "NCHW") -> Evidence:
    """What is stored as NHWC, and noise of so many steps; `layout`: the declared one."""
    rng = np.random.default_rng(5)
    shape, q = (1, 12, 16, 16), nl.Quantization(0.05, 3)
    stored, declared = (nl.TensorSpec(shape, tag, "int8", quantization=q) for tag in ("NHWC", layout))
    wanted = [rng.standard_normal(shape).astype(np.float32) for _ in range(3)]
    given = [(w + noise * 0.05 * rng.standard_normal(shape)).astype(np.float32) for w in wanted]
    return Evidence(declared, [stored.pack(x) for x in given], wanted, (), 1)


def test_no_scales_explain_more_than_a_line_in_each_channel() -> None:
    """Against numpy's least squares; and no fitted reading that clamps nothing is above it."""
    evidence = _noisy(3.0)
    errors = ScaleErrors(evidence, evidence.codes, (-128, 127))
    power, left = [], []
    for x, y in zip(evidence.wanted_by_channel, errors.codes):
        power.append(y.var())
        left.append(np.square(y - np.polyval(np.polyfit(x, y, 1), x)).mean())
    assert errors.most == pytest.approx(10 * np.log10(np.mean(power) / np.mean(left)), abs=1e-9)
    for scale in (0.01, 0.05, 2.0, 1e4):
        assert evidence.score(evidence.as_declared(), powers=(errors.power, errors.of(scale, 0))) <= errors.most


@pytest.mark.parametrize("noise", [4.0, 6.0, 8.0])
def test_what_explains_enough_is_found_though_the_rest_is_left_out(noise: float) -> None:
    evidence = _noisy(noise)
    every = list(readings(evidence))
    best = max(every, key=evidence.score)
    assert str(best.fix.layout) == "NHWC"
    least = evidence.score(best)
    some = list(readings(evidence, least))
    assert len(some) < len(every) and any(t.text == best.text and np.array_equal(t.left, best.left) for t in some)
    assert not list(readings(evidence, least + CLAMPED + 3))


@pytest.mark.parametrize("noise", [0.5, 8.0])
@pytest.mark.parametrize("declared", ["NCHW", "NHWC"])
def test_what_is_no_rival_of_a_reading_that_explains_nearly_all_is_left_out(declared: str, noise: float) -> None:
    """But for three, which a page shows; whichever of the two is declared."""
    evidence = _noisy(noise, declared)
    found = list(readings(evidence))
    assert ("NHWC" in [str(trial.fix.layout) for trial in found]) == (declared == "NCHW")
    assert (len(found) > 8) if noise == 8.0 else (len(found) == 3)


def test_orders_of_the_channels_that_explain_too_little_are_not_worked_out() -> None:
    rng = np.random.default_rng(6)
    shape, order = (1, 12, 16, 16), rng.permutation(12)
    spec = nl.TensorSpec(shape, "NCHW", "int8", quantization=nl.Quantization(0.05, 3))
    wanted = [rng.standard_normal(shape).astype(np.float32) for _ in range(3)]
    moved = Evidence(spec, [spec.pack(w[:, order]) for w in wanted], wanted, (), 1)
    (found,) = channel_orders(moved)
    (same,) = channel_orders(moved, moved.score(found))
    assert found.order == same.order == tuple(np.argsort(order))
    assert not list(channel_orders(moved, moved.score(found) + CLAMPED + 3))
