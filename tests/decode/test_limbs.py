"""People from maps and fields, against the decoder in plain Python loops that the sample had."""

from __future__ import annotations

import math

import numpy as np
import pytest

from npu_layout import LayoutError, decode, kernels
from tests.support.poses import drawn_people, scripted_people


@pytest.mark.parametrize("backend", kernels.backends())
@pytest.mark.parametrize("count", [0, 1, 3, 20])
def test_people_are_those_of_loops(count, backend, monkeypatch):
    monkeypatch.setattr(kernels, "_ACTIVE", backend)
    for seed in range(3):
        maps, _ = drawn_people(np.random.default_rng(seed), count)
        found, expected = decode.people(maps[None]), scripted_people(maps)
        assert len(found) == len(expected)
        wanted = np.array(expected, np.float32).reshape(-1, 18, 3)
        assert np.array_equal(found[..., 2], wanted[..., 2])
        assert np.allclose(found, wanted, rtol=0, atol=1e-3, equal_nan=True)  # its parabolas are of float32


def test_people_are_found_where_they_were_drawn():
    maps, truth = drawn_people(np.random.default_rng(7), 3)
    found = decode.people(maps)
    assert len(found) == 3
    for person in truth:
        pixels = 8 * person + 3.5
        nearest = min(np.abs(other[:, :2] - pixels).max() for other in found)
        assert nearest < 2


@pytest.mark.parametrize("backend", kernels.backends())
def test_limbs_of_every_backend_are_equal(backend):
    rng = np.random.default_rng(1)
    for n, m in ((0, 3), (1, 1), (5, 8), (20, 20)):
        fields = rng.normal(0.3, 0.5, (4, 9, 13)).astype(np.float32)
        first, second = rng.uniform(-2, 14, (n, 3)), rng.uniform(-2, 14, (m, 3))
        first[:, 2], second[:, 2] = rng.uniform(0.3, 1, n), rng.uniform(0.3, 1, m)
        first[:1, :2] = second[:1, :2] = 3
        found = kernels.limbs(fields, 1, first, second, 10, 7, 0.05, backend)
        expected = kernels.limbs(fields, 1, first, second, 10, 7, 0.05, "numpy")
        assert np.array_equal(found[0], expected[0]) and np.array_equal(found[1], expected[1])
        for (i, j), score in zip(*found):
            dx, dy = second[j, :2] - first[i, :2]
            length = math.hypot(dx, dy)
            along = []
            for k in range(10):
                x = min(max(round(first[i, 0] + dx * k / 9), 0), 12)
                y = min(max(round(first[i, 1] + dy * k / 9), 0), 8)
                along.append((fields[1, y, x] * dx + fields[2, y, x] * dy) / length)
            assert score == pytest.approx(sum(along) / 10 * math.sqrt(first[i, 2] * second[j, 2]), rel=1e-9)
            assert sum(v > 0.05 for v in along) >= 7


def test_maps_that_are_none():
    with pytest.raises(LayoutError, match=r"expected \(57, H, W\), got \(56, 46, 46\)"):
        decode.people(np.zeros((56, 46, 46), np.float32))
    assert decode.people(np.full((57, 4, 4), np.nan)).shape == (0, 18, 3)
