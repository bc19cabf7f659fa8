"""The figures of an output."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from npu_layout.comparison.figures import MOST_DB, OutputComparison, decibels
from npu_layout.validation.tolerances import passing
from tests.support.boards import Board


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def test_equal_values_have_a_cosine_of_one() -> None:
    rng = np.random.default_rng(8)
    for _ in range(40):
        compared = OutputComparison(1)
        for number in range(3):
            x = rng.standard_normal((1, 3, 5, 7)) * 10 ** rng.uniform(-3, 3)
            compared.add(number, x, x.copy())
        assert compared.whole is not None and compared.whole.cosine == 1.0
    compared = OutputComparison(1)
    compared.add(0, np.full((1, 1, 2), 1e-310), np.array([[[1e-310, 2e-310]]]))
    assert passing(compared.whole)["max_abs"] == 1e-310


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_whose_squares_overflow_are_finite(dtype: type) -> None:
    large = np.full((1, 2, 5), np.finfo(dtype).max / 4, dtype)
    for broken, expected in ((None, 0), (np.nan, 1), (np.inf, 1), (-np.inf, 1)):
        device = large.copy()
        if broken is not None:
            device[0, 1, 2] = broken
        for x, y in ((device, large), (device[:, :, ::-1], large)):
            compared = OutputComparison(1)
            with np.errstate(over="ignore", invalid="ignore"):
                compared.add(0, x, y)
            assert compared.non_finite == expected and compared.values == 10
            assert compared.whole is not None and compared.whole.values == 10 - expected


def test_all_equal_agrees_in_no_argmax(board: Board) -> None:
    zero = board.verdict(board.recording(None, board.changed(lambda y: 0 * y)))
    assert zero.figures is not None and zero.figures.argmax_agreement == 0


def test_decibels() -> None:
    assert decibels(100.0, 1.0) == 20 and decibels(1.0, 1000.0) == pytest.approx(-30) and decibels(2.0, 2.0) == 0
    assert decibels(1.0, 0.0) == decibels(0.0, 0.0) == MOST_DB and decibels(0.0, 1.0) == -MOST_DB
    assert decibels(0.5, 0.0) == MOST_DB and decibels(0.0, 0.5) == -MOST_DB
    assert decibels(1e250, 1e-9) == MOST_DB and decibels(1e-250, 1e9) == -MOST_DB


def by_elements(frames: list[tuple[np.ndarray, np.ndarray]], axis: int | None, steps: Any, channel: int | None) -> Any:
    """The figures of one channel or of all, element by element."""
    count, rr, dd, rd, ee, most = 0, 0.0, 0.0, 0.0, 0.0, None
    largest: tuple[float, Any, Any] = (-1.0, None, None)
    ends = [math.inf, -math.inf, math.inf, -math.inf]
    for number, (device, model) in enumerate(frames):
        for index in np.ndindex(model.shape):
            c = 0 if axis is None else index[axis]
            d, r = float(device[index]), float(model[index])
            if (channel is not None and c != channel) or not (math.isfinite(d) and math.isfinite(r)):
                continue
            count += 1
            rr, dd, rd, ee = rr + r * r, dd + d * d, rd + r * d, ee + (d - r) ** 2
            ends = [min(ends[0], r), max(ends[1], r), min(ends[2], d), max(ends[3], d)]
            if abs(d - r) > largest[0]:
                largest = (abs(d - r), index, 10 + number)
            if steps is not None:
                step = (
                    np.broadcast_to(steps, model.shape)[index]
                    if np.ndim(steps) > 1
                    else np.atleast_1d(steps)[c if np.size(steps) > 1 else 0]
                )
                most = max(most or 0.0, abs(d - r) / float(step))
    return count, largest, rd / math.sqrt(rr * dd), 10 * math.log10(rr / ee), most, ends


RNG = np.random.default_rng(5)
STEPS = {
    "floats": None,
    "one": 0.25,
    "channels": np.array([0.25, 0.5, 1.0]),
    "places": RNG.uniform(0.1, 1, (1, 3, 1, 4)),
}


CASES = [
    (shape, steps, axis)
    for shape in ((1, 3, 5, 4), (2, 3, 4), (3, 3))
    for steps in STEPS
    for axis in (1, None, len(shape) - 1)
    if not (steps == "channels" and axis is None) and (steps != "places" or (axis == 1 and len(shape) == 4))
]


@pytest.mark.parametrize(("shape", "steps", "axis"), CASES)
@pytest.mark.parametrize("holes", [False, True])
def test_figures_are_those_of_the_elements(shape: tuple[int, ...], steps: str, axis: int | None, holes: bool) -> None:
    if axis not in (1, None):  # the channels last
        shape = (shape[0], *shape[2:], shape[1])
    step = STEPS[steps]
    rng, compared, frames = np.random.default_rng(3), OutputComparison(axis, step), []
    for number in range(3):
        model = rng.standard_normal(shape) + 0.5
        device = model + rng.standard_normal(shape) * 0.2
        if holes:
            model[(0,) * len(shape)], device[(0,) * (len(shape) - 1)] = np.nan, np.inf
        frames.append((device, model))
        compared.add(10 + number, device, model)
    channels = shape[axis] if axis is not None else 1
    assert compared.values == 3 * math.prod(shape) and compared.frames == 3
    assert compared.non_finite == (3 * shape[-1] if holes else 0)
    for channel, got in [(None, compared.whole), *enumerate(compared.channels)]:
        assert got is not None
        count, (error, at, frame), cosine, snr, most, ends = by_elements(frames, axis, step, channel)
        assert (got.values, got.at, got.frame) == (count, at, frame)
        assert got.max_abs == pytest.approx(error) and got.cosine == pytest.approx(cosine)
        assert got.snr_db == pytest.approx(snr) and [got.low, got.high, got.device_low, got.device_high] == ends
        assert got.max_steps is None if most is None else got.max_steps == pytest.approx(most)
    assert len(compared.channels) == channels


@pytest.mark.parametrize("axis", [1, 3, None])
def test_errors_by_place_are_those_of_the_last_two_axes(axis: int | None) -> None:
    rng, compared, squares = np.random.default_rng(4), OutputComparison(axis), []
    for number in range(3):
        model, device = rng.standard_normal((2, 2, 3, 4, 5)), rng.standard_normal((2, 2, 3, 4, 5))
        compared.add(number, device, model)
        squares.append((device - model) ** 2)
    kept = [i for i in range(5) if i != axis][-2:]
    expected = np.mean(squares, axis=(0, *(1 + i for i in range(5) if i not in kept)))
    np.testing.assert_allclose(compared.position_error, expected)
    vector = OutputComparison(0)
    vector.add(0, np.array([1.0, 2.0]), np.array([1.0, 5.0]))
    assert vector.position_error is not None and vector.position_error.tolist() == [4.5]
    assert vector.whole is not None and vector.whole.at == (1,) and vector.whole.max_abs == 3


def test_the_largest_channel_agrees_or_not() -> None:
    model = np.array([[[1.0, 5, 2, 7], [4, 0, 2, 1], [2, 2, 2, 3]]])  # largest: 1, 0, all, 0
    device = np.array([[[3.0, 5, 1, 2], [3, 0, 0, 2], [0, 1, 0, 2]]])  # one of the largest; 0; 0 is one of all; equal
    compared = OutputComparison(1)
    compared.add(0, device, model)
    assert compared.whole is not None and compared.whole.argmax_agreement == 0.75
    compared.add(1, device[:, [1, 0, 2]], model)  # 1: 3 of 3 3 0; 0: 0 of 0 5 1; 1: of 0 1 0 -> the model's first is 0
    assert compared.whole is not None and compared.whole.argmax_agreement == 4 / 8
    assert all(channel.argmax_agreement is None for channel in compared.channels)
    single = OutputComparison(None)
    single.add(0, device, model)
    assert single.whole is not None and single.whole.argmax_agreement is None


def test_the_agreement_of_labels_is_the_share_that_is_equal() -> None:
    compared = OutputComparison(None, labels=True)
    compared.add(0, np.array([[1, 2, 3, 4]]), np.array([[1, 2, 3, 5]]))
    assert compared.whole is not None and compared.whole.argmax_agreement == 0.75


def test_values_that_the_device_cannot_store() -> None:
    model = np.array([[[-2.0, -1, 0, 1], [3, 2, 1, 0]]])
    for ends, expected in (((-1.0, 1.0), 3), ((-2.0, 3.0), 0), ((np.array([-1, 1]), np.array([1, 2])), 3)):
        compared = OutputComparison(1, 0.1, ends)
        compared.add(0, model, model)
        assert compared.saturated == expected, ends
        compared.add(1, model, model)
        assert compared.saturated == 2 * expected


def test_what_is_not_finite() -> None:
    """Equal on both sides it is no error; otherwise it is counted, and no other figure has it."""
    nan, inf = np.nan, np.inf
    compared = OutputComparison(1)
    compared.add(0, np.array([[nan, inf, -inf, inf, 1.0, nan, 2]]), np.array([[nan, inf, -inf, -inf, nan, 1, 4]]))
    assert (compared.values, compared.non_finite, compared.device_alone) == (7, 3, 1)
    assert compared.first_non_finite == (0, (0, 3))
    assert compared.whole is not None and compared.whole.values == 1 and compared.whole.max_abs == 2
    assert (compared.whole.low, compared.whole.device_high) == (4, 2)
    empty = [c for c in compared.channels if not c.values]
    assert len(empty) == 6 and {(c.low, c.high, c.device_low, c.device_high, c.max_abs) for c in empty} == {(0,) * 5}
    nothing = OutputComparison(1)
    assert nothing.whole is None and nothing.channels == []
    nothing.add(0, np.array([[nan]]), np.array([[1.0]]))
    assert nothing.whole is None and nothing.non_finite == 1


def test_cosines_of_zeros() -> None:
    compared = OutputComparison(None)
    compared.add(0, np.zeros(4), np.ones(4))
    assert compared.whole is not None and (compared.whole.cosine, compared.whole.snr_db) == (0.0, 0.0)
    compared = OutputComparison(None)
    compared.add(0, np.ones(4), np.zeros(4))
    assert compared.whole is not None and (compared.whole.cosine, compared.whole.snr_db) == (0.0, -MOST_DB)


def test_channels_that_the_device_cannot_show() -> None:
    model = np.zeros((1, 4, 2))
    model[0, :, 1] = 0, 0.4, 0.5, 2  # ranges; half a step is 0.5
    compared = OutputComparison(1, 1.0)
    for frame in range(16):
        compared.add(frame, model, model)
    assert compared.dead == (1,)
    floats = OutputComparison(1)
    floats.add(0, model, model)
    assert floats.dead == ()
