"""Layouts as they fill a buffer: their offsets are those of the specs that they stand for."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.stored.fillings import fillings, places, weights


@pytest.mark.parametrize(("shape", "letters"), [((2, 5, 6, 4), "NCHW"), ((1, 17, 3, 4), "NCHW"), ((3, 20), "NC")])
def test_offsets(shape: tuple[int, ...], letters: str) -> None:
    """Of all samples or few, these are the offsets that TensorSpec computes index by index."""
    size = 4 * int(np.prod(shape))
    orders = list(fillings(shape, letters, size))
    index = np.stack(np.unravel_index(np.arange(int(np.prod(shape))), shape), 1)
    offsets = places(index, shape, weights(orders, len(shape)))
    np.testing.assert_array_equal(places(index[5:8], shape, weights(orders, len(shape))), offsets[:, 5:8])
    assert len(orders) > 40 and offsets.max() < size
    for order, row in zip(orders[:: max(1, len(orders) // 60)], offsets[:: max(1, len(orders) // 60)]):
        if order.layout.axes != letters:
            continue
        spec = nl.TensorSpec(shape, order.layout, "int8", axes=letters, storage_strides=order.strides, size=size)
        assert row.tolist() == spec.offset(*index.T).tolist(), str(order.layout)


def test_a_buffer_that_is_just_filled_has_no_longer_pitch() -> None:
    dense = [f for f in fillings((1, 4, 3, 2), "NCHW", 24) if str(f.layout) == "NCHW"]
    assert [f.strides for f in dense] == [(24, 6, 2, 1)]
    longer = {f.strides for f in fillings((1, 4, 3, 2), "NCHW", 48) if str(f.layout) == "NCHW"}
    assert longer == {(24, 6, 2, 1), (48, 12, 2, 1), (48, 12, 4, 1)}
    assert not list(fillings((1, 4, 3, 2), "NCHW", 23))
