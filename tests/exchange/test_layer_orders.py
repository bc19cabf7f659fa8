"""Dumps of one tensor are read in whatever layout and dtype makes them agree, and in the plain one if several do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.exchange.layer_orders import Side, best_reading, logical_shape, orders, tensor

SHAPE = (1, 17, 6, 5)
VALUES = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)


def agrees(a: Any, b: Any, shape: Any = SHAPE, dtype: str = "float32", atol: float = 0.0) -> tuple[str, str]:
    """Assert that both are read as VALUES; the two layouts and dtypes."""
    reading = best_reading(shape, dtype, a, b)
    assert reading is not None
    ours, theirs = reading.values()
    assert ours.shape == reading.shape and np.abs(ours - theirs).max() <= atol
    return str(reading.a.stored_as), str(reading.b.stored_as)


@pytest.mark.parametrize("tag", ["NCHW", "NHWC", "NHCW", "NCWH", "NWHC", "NCHW4c", "NCHW16c", "NHWC8c", "NHCW16c"])
def test_every_layout(tag: str) -> None:
    stored = nl.repack(VALUES, "NCHW", tag, shape=SHAPE)
    for given in (stored, stored.reshape(-1), stored.tobytes()):
        assert agrees(VALUES, given)[1] == f"{tag} of float32"
        assert agrees(given, VALUES)[0] == f"{tag} of float32"


def test_neither_in_the_models_order() -> None:
    a, b = (np.ascontiguousarray(VALUES.transpose(axes)) for axes in ((0, 2, 3, 1), (0, 2, 1, 3)))
    assert agrees(a, b) == ("NHWC of float32", "NHCW of float32")
    agrees(a.tobytes(), b.tobytes())
    agrees(a.tobytes(), a.tobytes())


def test_other_dtypes() -> None:
    assert agrees(VALUES, VALUES.astype(np.float16).tobytes(), atol=0.01)[1] == "NCHW of float16"
    assert agrees(VALUES, (VALUES.view(np.uint32) >> 16).astype(np.uint16).tobytes(), atol=0.05)[1].endswith("bfloat16")
    assert agrees(VALUES.astype(np.float64), VALUES.astype(np.float32)) == ("NCHW of float64", "NCHW of float32")
    labels = np.random.default_rng(1).integers(0, 9, (1, 4, 6, 5))
    assert agrees(labels, labels.astype(np.int32).tobytes(), labels.shape, "int64")[1] == "NCHW of int32"
    assert agrees(labels, labels.astype(np.float32).tobytes(), labels.shape, "int64")[1] == "NCHW of float32"


@pytest.mark.parametrize(("dtype", "offset"), [("int8", 0), ("uint8", 128), ("int16", 0), ("uint16", 30000)])
def test_integers_of_an_unknown_scale(dtype: str, offset: int) -> None:
    scale = 0.03 if "8" in dtype else 0.0002
    codes = (np.round(np.clip(VALUES, -3.8, 3.8) / scale) + offset).astype(dtype).transpose(0, 2, 3, 1)
    for given in (codes, codes.tobytes()):
        reading = best_reading(SHAPE, "float32", np.clip(VALUES, -3.8, 3.8), given)
        assert reading is not None and reading.fitted is not None and str(reading.b.stored_as) == f"NHWC of {dtype}"
        assert reading.fitted[:2] == (1, pytest.approx(scale, rel=0.01))
        assert np.abs(np.subtract(*reading.values())).max() < scale


def test_floats_are_no_integers() -> None:
    """Bytes of floats could be fitted as integers, which would hide what is wrong with them."""
    for other in (VALUES + 3, -VALUES, VALUES * 0, np.random.default_rng(2).permutation(VALUES.reshape(-1))):
        for dtype in (np.float32, np.float16):
            reading = best_reading(SHAPE, "float32", VALUES, other.astype(dtype).tobytes())
            assert reading is not None and reading.fitted is None and "float" in reading.b.dtype


def test_what_fits_in_every_order_is_plain() -> None:
    for x in (np.ones(SHAPE, np.float32), np.zeros(SHAPE), np.full(SHAPE, np.nan)):
        reading = best_reading(SHAPE, "float32", x, x.reshape(-1))
        assert reading is not None and str(reading.b.layout) == str(reading.a.layout) == "NCHW"


def test_shapes_that_the_model_does_not_know() -> None:
    nhwc = np.zeros((1, 6, 5, 17))
    assert logical_shape((None, 17, 6, 5), nhwc, b"") == SHAPE
    assert logical_shape((None, 17, None, None), VALUES, nhwc) == SHAPE
    assert logical_shape(None, b"", nhwc) == nhwc.shape
    assert logical_shape(None, bytes(40), bytes(40)) == (10,)
    assert logical_shape((4, 3), np.zeros((8, 3)), np.zeros((8, 3))) == (8, 3)  # another batch than the model's
    assert logical_shape((), np.zeros(()), bytes(4)) == ()


def test_ranks() -> None:
    rng = np.random.default_rng(0)
    for shape in (
        (),
        (7,),
        (3, 4),
        (2, 3, 4),
        (2, 3, 4, 5),
        (2, 3, 4, 5, 6),
        (2, 3, 2, 3, 2, 3),
        (1, 3, 1, 5, 4, 1, 2),
        (1, 3, *(1,) * 20, 5, 2),
    ):
        x = rng.standard_normal(shape)
        agrees(x, x.tobytes(), shape, "float64")
        if len(shape) > 1:
            last = np.ascontiguousarray(np.moveaxis(x, 1, -1))
            agrees(x, last.reshape(-1), shape)
    assert [str(one) for one in orders((1, 3, 1, 1))][:1] == ["NCHW"]
    assert len(orders(())) == 1 and len(orders((3, 4))) == 2 and len(orders((7,))) == 1


def test_sizes_that_fit_nothing() -> None:
    assert best_reading(SHAPE, "float32", VALUES, VALUES.reshape(-1)[:-1]) is None
    assert best_reading(SHAPE, "float32", VALUES, bytes(7)) is None
    assert logical_shape((2, 0), np.zeros((2, 0)), b"") == (2, 0)
    assert best_reading((0, 3), "float32", np.zeros((0, 3)), np.zeros((0, 3))) is None


def test_bytes_that_are_signalling_nans_are_read_without_a_warning() -> None:
    """numpy warns of an invalid value where it makes a quiet NaN of one; the tests raise warnings."""
    bits = np.full(6, 0x7F800001, np.uint32)
    for shape, layout in ((2, 3), nl.Layout("CN", "NC")), ((), nl.Layout("N")):
        count = 6 if shape else 1
        found = tensor(Side(layout, "float32", bits[:count].view(np.float32)), shape)
        assert found.shape == shape and np.isnan(found).all()
