"""A frame's sums are those of plain numpy, whatever its shape, its dtype and the place of its channels."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from npu_layout import kernels
from npu_layout.comparison import OutputComparison
from npu_layout.comparison.sums import Sums, in_channels, sums_of

SHAPES = [(7,), (3, 50), (2, 5, 6, 7), (1, 6, 200, 190), (1, 3, 300, 300), (1, 150, 30, 85), (2, 3, 4, 5, 6)]


def plain(device: np.ndarray, model: np.ndarray, along: tuple[int, ...]) -> Sums:
    """By numpy, in float64, over the axes `along`."""
    d, m = device.astype(np.float64), model.astype(np.float64)
    sums = [np.atleast_1d(x.sum(along)) for x in (m, d, m * m, m * d, (d - m) ** 2)]
    ends = [np.atleast_1d(x) for x in (m.min(along), m.max(along), d.min(along), d.max(along))]
    return Sums(np.full(sums[0].shape, m.size / sums[0].size), *sums, *ends)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_are_numpys(shape: tuple[int, ...], dtype: type) -> None:
    rng = np.random.default_rng(len(shape))
    model, before = rng.standard_normal((2, *shape)).astype(dtype)
    device = (model + 0.1 * rng.standard_normal(shape)).astype(dtype)
    m, d, b = (x.astype(np.float64) for x in (model, device, before))
    for axis in (None, *range(len(shape))):
        found = sums_of(device, model, axis, before)
        everything = tuple(range(len(shape)))
        for k in everything:
            rest = tuple(i for i in everything if i != k)
            for have, expected in zip(found.along(k), plain(device, model, rest)):
                np.testing.assert_allclose(have, expected, rtol=1e-10, atol=1e-9)
        for have, expected in zip(found.channels.over((0,)), plain(device, model, everything)):
            np.testing.assert_allclose(have, expected, rtol=1e-10, atol=1e-9)
        rest = tuple(i for i in everything if i != axis)
        np.testing.assert_allclose(found.device_squares, np.atleast_1d((d * d).sum(rest)), rtol=1e-12)
        np.testing.assert_allclose(found.largest, np.atleast_1d(np.square(d - m).max(rest)), rtol=1e-12)
        np.testing.assert_allclose(found.change, [((m - b) ** 2).sum(), ((m - b) * (d - b)).sum()], rtol=1e-10)


def test_both_halves_have_the_sums_of_the_whole() -> None:
    rng = np.random.default_rng(0)
    model = rng.standard_normal((1, 4, 6, 10)).astype(np.float32)
    device = model + 1
    halves = [sums_of(device[:, :, k : k + 3], model[:, :, k : k + 3], 1, model[:, :, k : k + 3]) for k in (0, 3)]
    for have, expected in zip(halves[0].channels.plus(halves[1].channels), plain(device, model, (0, 2, 3))):
        np.testing.assert_allclose(have, expected, rtol=1e-12, atol=1e-12)


def test_in_channels_is_a_view_of_what_is_contiguous() -> None:
    x = np.zeros((2, 3, 4, 5))
    for axis, shape in ((None, (1, 1, 120)), (0, (1, 2, 60)), (1, (2, 3, 20)), (3, (24, 5, 1))):
        assert in_channels(x, axis).shape == shape and np.shares_memory(in_channels(x, axis), x)


def _seconds(run: Callable[[], object], rounds: int = 5) -> float:
    """CPU seconds of the fastest round."""
    found = []
    for _ in range(rounds):
        begin = time.process_time()
        run()
        found.append(time.process_time() - begin)
    return min(found)


@pytest.mark.alone
def test_a_frame_costs_some_passes_over_its_values() -> None:
    """In units of squaring a float64 copy and adding it up: 2.3 were measured, 11 with numpy's kernels, and 27 with
    one pass for each figure."""
    rng = np.random.default_rng(0)
    frames = [rng.standard_normal((1, 255, 80, 80)).astype(np.float32) for _ in range(3)]
    device = [x + np.float32(0.01) * rng.standard_normal(x.shape).astype(np.float32) for x in frames]

    def compared() -> None:
        comparison = OutputComparison(1, 0.1, (-10, 10))
        for k, pair in enumerate(zip(device, frames)):
            comparison.add(k, *pair)

    def squared() -> float:
        return sum(float(np.square(x.astype(np.float64)).sum()) for x in frames)

    compared()
    assert _seconds(compared) < (40 if kernels.active() == "numpy" else 8) * _seconds(squared)
