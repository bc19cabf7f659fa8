"""People from maps and fields, against the decoder in plain Python loops that the sample had."""

from __future__ import annotations

import numpy as np
import pytest

from npu_layout import LayoutError, decode, kernels
from tests.support.poses import drawn_people, scripted_people


@pytest.mark.parametrize("backend", kernels.backends())
@pytest.mark.parametrize("count", [0, 1, 3, 20])
def test_people_are_those_of_loops(count, backend, activate):
    activate(backend)
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


def test_maps_that_are_none():
    with pytest.raises(LayoutError, match=r"expected \(57, H, W\), got \(56, 46, 46\)"):
        decode.people(np.zeros((56, 46, 46), np.float32))
    assert decode.people(np.full((57, 4, 4), np.nan)).shape == (0, 18, 3)
