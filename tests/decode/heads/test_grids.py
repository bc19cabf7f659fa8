"""The cells of an input, counted one by one."""

from __future__ import annotations

import pytest

from npu_layout import decode
from npu_layout.decode.heads.grids import anchor_counts, cells_of, grid_of, grids_of


@pytest.mark.parametrize("stride", [1, 2, 7, 8, 16, 32])
def test_a_cell_begins_at_each_multiple_of_the_stride(stride: int) -> None:
    for height, width in ((1, 1), (31, 64), (32, 65), (640, 427)):
        begun = len(range(0, height, stride)), len(range(0, width, stride))
        assert grid_of((height, width), stride) == grid_of([height, width], stride) == begun


def test_the_levels_of_a_head_have_cells_and_anchors() -> None:
    plain, two = decode.yolov8(80), decode.yolov5(3, (8, 16), [[(1, 2)], [(3, 4), (5, 6), (7, 8)]])
    assert grids_of(plain, (64, 33)) == [(8, 5), (4, 3), (2, 2)] and anchor_counts(plain) == [1, 1, 1]
    assert cells_of(plain, (64, 33)) == 40 + 12 + 4
    assert anchor_counts(two) == [1, 3] and cells_of(two, (64, 33)) == 40 + 3 * 12
