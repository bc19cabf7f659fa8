"""Moves by numpy and OpenCV: each way against loops over every element, and which way is chosen."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from npu_layout.kernels import Box
from npu_layout.kernels.fallback import moving
from tests.support.kernel_walks import Loops, boxed, walked


def check(size: int, loops: Loops) -> str:
    """Move by these loops, and return the name of the step."""
    box, src_size, dst_size = boxed(loops)
    source = np.random.default_rng(size).integers(0, 256, src_size * size, np.uint8)
    got = np.full(dst_size * size, 0x5A, np.uint8)
    expected = got.copy()
    expected.view(f"V{size}")[walked(loops, 1, box.dst)] = source.view(f"V{size}")[walked(loops, 0, box.src)]
    step = moving.moving(box, size)
    step(source, got)
    np.testing.assert_array_equal(got, expected, f"{size} {loops}")
    return step.__name__


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("channels", [2, 3, 4])
def test_pixels_and_planes_by_opencv(channels: int, size: int) -> None:
    for n in (4099, 6000):
        assert check(size, [(channels, 1, n), (n, channels, 1)]) == "interleave"
        assert check(size, [(n, 1, channels), (channels, n, 1)]) == "interleave"
        assert check(size, [(2, channels * n + 5, channels * n), (n, 1, channels), (channels, n, 1)]) == "interleave"


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 24, 32])
def test_transposes_by_opencv(size: int) -> None:
    for m, n in ((70, 90), (300, 17)):
        assert check(size, [(m, 1, n), (n, m, 1)]) == "transpose"
        assert check(size, [(3, n * m + 4, n * m), (m, 1, n), (n, m, 1)]) == "transpose"


@pytest.mark.parametrize("size", [1, 2, 3, 4, 8, 12, 16, 40])
def test_other_moves_by_numpy(size: int) -> None:
    for n, way in itertools.product((1, 5, 9, 33), (1, -1)):
        assert check(size, [(n, way, 1)]) == "move"
        assert check(size, [(3, n + 2, n + 5), (n, way, 1)]) == "move"
        assert check(size, [(n, 7, 5), (3, way * 2, 1)]) == "move"
    assert check(size, []) == "move"
    assert check(size, [(2, 9 * 40, 7 * 40), (5, 40, 40), (40, 1, 1)]) == "move"  # short runs are moved as one element


@pytest.mark.parametrize("size", [1, 2, 3, 4, 8, 16])
def test_a_fill_sets_its_box_and_nothing_else(size: int) -> None:
    got = np.full(60 * size, 0x5A, np.uint8)
    moving.filling(Box(((4, 0, 12, 0), (5, 0, 2, 0)), 0, 3, 0), size)(got[:0], got)
    zero = walked([(4, 0, 12), (5, 0, 2)], 1, 3)
    rows = got.reshape(60, size)
    assert not rows[zero].any() and (np.delete(rows, zero, 0) == 0x5A).all()
