"""Every row names specs that exist, and a peer sees the elements that its source stores."""

from __future__ import annotations

import math
from typing import Any

import pytest

import npu_layout as nl
from npu_layout.bench.case_rows import ROWS


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(map(str, row[:5])))
def test_a_row_is_seen_as_it_is_stored(row: tuple[Any, ...]) -> None:
    _, kind, extents, source, target, view, order, *strides = row
    axes, *shape = extents.split()
    stored, made = (
        nl.TensorSpec([int(n) for n in shape], layout, dtype, axes=axes)
        for dtype, layout in (side.split() for side in (source, target))
    )
    assert stored.shape == made.shape
    assert kind == "gray" or sorted(order) == [*range(len(view))]
    if strides:  # with gaps a peer sees more than there are elements, mirrored as many
        assert len(strides[0]) == len(stored.storage_shape) and math.prod(view) >= stored.size
    else:
        assert math.prod(view) in (stored.size, math.prod(stored.shape))  # with or without pad channels
