"""What a device clamps, counted value by value."""

from __future__ import annotations

import numpy as np
import pytest

from npu_layout.comparison import OutputComparison

LOW, HIGH = -128, 127


def stored(model: np.ndarray, scale: float, zero_point: int) -> np.ndarray:
    """The numbers that a device stores."""
    return np.clip(np.rint(model / scale) + zero_point, LOW, HIGH)


def counted(model: np.ndarray, codes: np.ndarray, scale: float, zero_point: int) -> tuple[int, int, float]:
    """How many of the model's values are beyond each end, where that end is stored, and the largest excess in steps."""
    below = above = 0
    most = 0.0
    for x, q in zip(model.ravel().tolist(), codes.ravel().tolist()):
        wanted = x / scale + zero_point
        if wanted > HIGH + 0.5 and q == HIGH:
            above, most = above + 1, max(most, wanted - HIGH)
        if wanted < LOW - 0.5 and q == LOW:
            below, most = below + 1, max(most, LOW - wanted)
    return below, above, most


def compared(model: np.ndarray, codes: np.ndarray, scale: float, zero_point: int, axis: int | None) -> OutputComparison:
    ends = ((LOW - 0.5 - zero_point) * scale, (HIGH + 0.5 - zero_point) * scale)
    comparison = OutputComparison(axis, scale, ends)
    for k in range(len(model)):
        comparison.add(k, ((codes[k] - zero_point) * scale).astype(np.float32), model[k])
    return comparison


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize(("scale", "zero_point"), [(0.02, 0), (0.03, -100), (0.02, 127)])
def test_what_is_beyond_the_ends(axis: int | None, scale: float, zero_point: int) -> None:
    rng = np.random.default_rng(zero_point + 128)
    model = rng.standard_normal((3, 5, 37)).astype(np.float32)
    codes = stored(model, scale, zero_point)
    found = compared(model, codes, scale, zero_point, axis).clamped
    below, above, steps = counted(model, codes, scale, zero_point)
    assert found is not None and (found.below, found.above) == (below, above) and found.values == below + above > 0
    assert found.steps == pytest.approx(steps, rel=1e-4) and found.beyond == pytest.approx(steps * scale, rel=1e-4)


def test_a_scale_for_each_channel() -> None:
    model = np.array([[[1.0, 5, 2, 3] * 9, [100.0, 50, -900, 70] * 9]], np.float32)
    scales = np.array([[0.1], [1.0]])
    limits = tuple((end * scales[:, 0]) for end in (LOW - 0.5, HIGH + 0.5))
    codes = np.clip(np.rint(model / scales), LOW, HIGH)
    comparison = OutputComparison(1, scales[:, 0], limits)
    comparison.add(0, codes * scales, model)
    assert comparison.clamped == (9, 0, 772.0, 772.0) and comparison.saturated == 9


@pytest.mark.parametrize("beyond", [0.0, 0.4, 1.0, 1.4])
def test_what_ends_there_by_nature_is_silent(beyond: float) -> None:
    """As sigmoid and softmax, whose 1 is the last step, or one beyond it."""
    model = np.minimum(np.random.default_rng(0).uniform(0, 2, (2, 3, 50)), 1.0) * (127 + beyond) * 0.01
    comparison = compared(model, stored(model, 0.01, 0), 0.01, 0, 1)
    assert comparison.clamped is None


def test_few_values_matter_if_they_make_the_error() -> None:
    rng = np.random.default_rng(1)
    model = rng.uniform(-1, 1, (1, 4, 5000))
    model[0, 2, 7] = 6.0  # 0.05 of 20,000 in a thousand
    codes = stored(model, 0.01, 0)
    found = compared(model, codes, 0.01, 0, 1).clamped
    assert found is not None and found.values == 1 and found.steps == pytest.approx(600 - 127)
    noisy = np.clip(codes + rng.integers(-30, 31, codes.shape), LOW, HIGH)
    noisy[0, 2, 7] = HIGH
    assert compared(model, noisy, 0.01, 0, 1).clamped is None


def test_a_device_that_stores_no_end_clamps_nothing() -> None:
    model = np.random.default_rng(2).standard_normal((2, 3, 400))
    codes = stored(model[:, ::-1], 0.01, 0)  # of other channels
    comparison = compared(model, codes, 0.01, 0, 1)
    assert comparison.saturated > 0 and comparison.clamped is None


def test_floats_are_never_clamped() -> None:
    comparison = OutputComparison(1)
    comparison.add(0, np.ones((1, 2, 3)), np.full((1, 2, 3), 1e30))
    assert comparison.clamped is None and comparison.saturated == 0 and OutputComparison(1).clamped is None
