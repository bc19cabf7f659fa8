"""The record of what a TensorSpec describes has the spec's own fields and words."""

from __future__ import annotations

import npu_layout as nl
from npu_layout.buffers import element
from npu_layout.buffers.stored import StoredTensor
from npu_layout.layouts import Layout, Storage


def made(name: str = "", axis: int | None = 1) -> StoredTensor:
    storage = Storage.bind(Layout("NHWC"), (1, 2, 3, 4))
    quantization = nl.Quantization([0.5, 0.25], axis=axis) if axis is not None else nl.Quantization(0.5)
    return StoredTensor(storage, element("int8"), quantization, name)


def test_it_is_described_as_the_spec_is() -> None:
    for name in ("", "heat"):
        record = made(name)
        spec = nl.TensorSpec((1, 2, 3, 4), "NHWC", "int8", quantization=record.quantization, name=name)
        assert record.describe() == spec.describe() and record.axes == spec.axes == "NCHW"
    assert made("heat").describe() == "'heat': layout NHWC of (1,2,3,4) int8"


def test_the_axis_of_the_scales() -> None:
    assert made().quantized_axis == "C" and made(axis=-3).quantized_axis == "C"
    assert made(axis=None).quantized_axis == ""  # there is one scale


def test_equal_parts_make_equal_records() -> None:
    assert made() == made() and hash(made()) == hash(made()) and made() != made("heat")
