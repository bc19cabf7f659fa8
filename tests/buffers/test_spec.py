"""Every refused description with its words; what is written of one is read again; offsets of large shapes."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest

import npu_layout as nl


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: nl.TensorSpec((1, 0, 4, 4)), "1 or more"),
        (lambda: nl.TensorSpec((1, -3, 4, 4)), "1 or more"),
        (lambda: nl.TensorSpec({1, 3, 4, 5}), "sequence of integers"),
        (lambda: nl.TensorSpec(80, "NHWC"), "sequence of integers"),  # type: ignore[arg-type]
        (lambda: nl.TensorSpec(bytes((1, 3, 4, 4))), "sequence of integers"),
        (lambda: nl.TensorSpec((2**30, 2**30, 1, 1), dtype="float64"), "needs 1152921504606846976 elements of 8 bytes"),
        (lambda: nl.TensorSpec((3, 4, 4)), "4 axes"),
        (lambda: nl.TensorSpec((1, 3, 4, 4), "NHW4c"), "no axis"),
        (lambda: nl.TensorSpec((1, 3, 4, 4), "WHCN"), "named"),
        (lambda: nl.TensorSpec((1, 3, 4, 4), "nchw"), "upper-case"),
        (lambda: nl.TensorSpec((1, 3, 4, 4), "NCHWC"), "twice"),
        (lambda: nl.TensorSpec((1, 3, 4, 4), "NCHW0c"), "cannot read"),
        (lambda: nl.TensorSpec((1, 3, 4, 4), dtype="complex64"), "dtype"),
        (lambda: nl.TensorSpec((1, 3, 4, 4), dtype={"names": [[]]}), "dtype"),  # has no hash
        (lambda: nl.TensorSpec((1, 3, 4, 4), storage_strides=(48, 16, 4, 0)), "overlap"),
        (lambda: nl.TensorSpec((1, 3, 4, 4), storage_strides=(48, 15, 4, 1)), "overlap"),
        (lambda: nl.TensorSpec((1, 3, 4, 4), storage_strides=(48, -16, 4, 1)), "before the buffer"),
        (lambda: nl.TensorSpec((1, 3, 4, 4), storage_shape=(1, 3, 4, 3)), "storage_shape"),
        (lambda: nl.TensorSpec((1, 3, 4, 4), size=47), "48"),
        (lambda: nl.TensorSpec((1, 3, 4, 4), quantization=nl.Quantization(1)), "quantised"),
        (lambda: nl.TensorSpec((1, 3, 4, 4), dtype="int8", quantization=nl.Quantization([1, 2], 0, 1)), "2 scales"),
        (lambda: nl.Quantization(0), "positive"),
        (lambda: nl.Quantization(float("nan")), "finite"),
        (lambda: nl.Quantization([1, 2]), "axis="),
        (lambda: nl.Layout.named("K210"), "storage_strides"),
        (lambda: nl.Layout.named("4W4C8B"), "padded to 16 on KL520 and to 4 .* storage_shape"),
        (lambda: nl.Layout.named("DLA_LINEAR"), "64 bytes.* storage_shape"),
        (lambda: nl.Layout.named("NC1HWC2"), "block="),
        (lambda: nl.Layout.named("nonsense"), "NC1HWC2"),
        (lambda: nl.TensorSpec.from_dict({"shape": [1], "colour": 1}), "colour"),
        (lambda: nl.repack(np.zeros((1, 2)), "NC", "NM"), "differ"),
        (lambda: nl.repack(np.zeros((1, 2, 3)), "NC", "CN"), "2 storage dimensions"),
        (lambda: nl.repack(np.zeros((1, 4, 4, 4)), "NHW4c", "NHWC"), "no axis"),
        (
            lambda: nl.repack(np.zeros((1, 2, 3, 3, 4)), "NCHW4c", "NCHW", out=np.zeros((1, 5, 3, 3))),
            "shape=",
        ),
    ],
)
def test_refusals(make: Any, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        make()


def test_dictionaries_pickles_and_equality() -> None:
    spec = nl.TensorSpec(
        (1, 5, 3, 3),
        "NCHW4c",
        "int8",
        axes="NCHW",
        quantization=nl.Quantization([0.1, 0.2, 0.3, 0.4, 0.5], 3, axis=1),
        storage_shape=(1, 3, 3, 3, 4),
        size=200,
        name="heat",
    )
    assert nl.TensorSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert hash(spec) == hash(pickle.loads(pickle.dumps(spec)))
    assert eval(repr(spec), {"TensorSpec": nl.TensorSpec, "Quantization": nl.Quantization}) == spec
    assert nl.Layout("NCHW", "NCHW") == nl.Layout("NCHW") != nl.Layout("NCHW", "NHWC")
    with pytest.raises(AttributeError, match="frozen"):
        spec.size = 3  # type: ignore[misc]
    with pytest.raises(AttributeError, match="frozen; size cannot be deleted"):
        del spec.size


class OwnSpec(nl.TensorSpec):
    """A subclass, as a user may write it."""


def test_a_subclass_stays_one() -> None:
    spec = OwnSpec((1, 2, 3, 4), "NHWC", "int8", name="x")
    for again in (pickle.loads(pickle.dumps(spec)), copy.deepcopy(spec), spec.replace(name="x"), spec.replace(size=24)):
        assert type(again) is OwnSpec and again == spec and hash(again) == hash(spec)


def test_offsets_of_a_shape_that_int32_cannot_count() -> None:
    shape = (4096,) * 4
    n, c, h, w = index = (4095, 4094, 4093, 4092)
    one = 4096
    classic = {
        "NCHW": ((n * one + c) * one + h) * one + w,
        "NHWC": ((n * one + h) * one + w) * one + c,
        "CHWN": ((c * one + h) * one + w) * one + n,
    }
    for tag, expected in classic.items():
        layout = nl.Layout(tag)
        assert layout.offset(shape, *index) == expected
        arrays = layout.offset(shape, *(np.array([i, 0], np.int16) for i in index))
        assert arrays.dtype == np.int64 and arrays.tolist() == [expected, 0]
    with pytest.raises(IndexError, match="outside 0"):
        nl.Layout("NCHW").offset(shape, 0, 0, 4096, 0)
    with pytest.raises(IndexError):
        nl.Layout("NCHW").offset(shape, 0, 0, -1, 0)


def test_repr_of_what_differs_differs() -> None:
    for tag in ("NCHW", "CHWN", "NHWC", "NCHW4c"):
        for axes in (None, "NCHW", "CHWN", "NHWC"):
            spec = nl.TensorSpec((1, 12, 12, 3), nl.Layout(tag), axes=axes)
            assert eval(repr(spec), {"TensorSpec": nl.TensorSpec}) == spec
