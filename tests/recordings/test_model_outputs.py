"""Recorded outputs as the ONNX model has them: paired, with its axes, in its order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.engines import shape_in_model, transposed
from npu_layout.recordings.model_outputs import as_model, completed, paired


def test_channels_of_a_spec_with_other_axes() -> None:
    spec = nl.TensorSpec((4, 5, 3), "HWC", "uint8", axes="HWC", channels="BGR")
    assert completed(spec, (1, 3, 4, 5)).channels == "BGR"
    named = nl.TensorSpec((1, 3, 4, 5), "NCHW", "uint8", channels="BGR")
    assert as_model(named, (1, 3, 4, 5)) is named
    odd = nl.TensorSpec((1, 4, 5, 3), "NHWC", "uint8", axes="NHWC", channels="BGR")
    renamed = as_model(odd, (1, 4, 5, 3))  # the model's own axes have other letters: nothing is exchanged by letter
    assert renamed.channels is None and renamed.axes == "NCHW" and renamed.storage_strides == odd.storage_strides


def test_outputs_are_paired_by_name_then_shape_then_order() -> None:
    shapes = {"a": (1, 4), "b": (1, 2, 3, 5), "c": (1, 6)}
    specs = {
        "a": nl.TensorSpec((1, 6), "NC"),  # its name counts more than its shape
        "q": nl.TensorSpec((1, 3, 5, 2), "NHWC", axes="NHWC"),
        "r": nl.TensorSpec((1, 9), "NC"),
    }
    frame = ({}, {name: np.zeros(spec.size, np.float32) for name, spec in specs.items()})
    recording = nl.Recording(specs, [frame])
    assert paired(recording, shapes) == {"a": "a", "q": "b", "r": "c"}
    with pytest.raises(nl.RecordingError, match=r"output 'r' is none of the model's outputs \(a, b\)"):
        paired(recording, {name: shapes[name] for name in "ab"})


def test_axes_that_a_spec_leaves_out_or_names_otherwise() -> None:
    """The bytes stay what they are: unpacked, they are the same numbers with the model's axes."""
    each = nl.Quantization([0.5, 0.25], [0, 1], axis=0)
    spec = nl.TensorSpec((2, 3, 4), "CHW4c", "int8", axes="CHW", quantization=each)
    buffer = np.random.default_rng(0).integers(-128, 128, spec.size).astype(np.int8)
    whole = completed(spec, (1, 2, 3, 4))
    assert (whole.axes, whole.shape, whole.size) == ("NCHW", (1, 2, 3, 4), spec.size)
    np.testing.assert_array_equal(whole.unpack(buffer)[0], spec.unpack(buffer))
    assert completed(spec, (2, 2, 3, 4)) is spec and completed(whole, (1, 2, 3, 4)) is whole

    nhwc = nl.TensorSpec((1, 3, 4, 2), "NCHW", "int8", axes="NCHW")  # the model's own axes are N, H, W, C
    same = as_model(nl.TensorSpec((1, 3, 4, 2), "NHWC", "int8", axes="NHWC"), (1, 3, 4, 2))
    assert same.axes == nhwc.axes and same.shape == nhwc.shape
    data = np.arange(24, dtype=np.int8)
    np.testing.assert_array_equal(same.unpack(data), data.reshape(1, 3, 4, 2))


@pytest.mark.parametrize(
    ("shape", "layout", "more", "wanted"),
    [
        ((1, 9, 1, 1), "NHWC", {}, (1, 9)),
        ((1, 1, 1, 9), "NHWC", {"axes": "NHWC"}, (1, 9)),
        ((1, 9, 1, 1), "NCHW4c", {}, (1, 9)),
        ((1, 9, 1, 1), "NCHW8w4c", {}, (9,)),
        ((1, 9, 1, 1), "NHWC", {"storage_strides": (99, 40, 20, 2), "storage_offset": 1, "size": 99}, (1, 9)),
        ((1, 5, 1, 7), "NCHW", {}, (1, 5, 7)),
        ((1, 5, 7, 1), "NHWC", {}, (1, 5, 7)),
        ((1, 5, 1, 7), "NHWC", {}, (5, 7)),
        ((1, 1, 1, 1), "NCHW", {}, (1,)),
        ((1, 5, 1, 4, 7), "NDHWC", {}, (1, 5, 4, 7)),
    ],
)
def test_axes_of_extent_1_that_the_model_lacks(
    shape: tuple[int, ...], layout: str, more: dict[str, Any], wanted: tuple[int, ...]
) -> None:
    """Runtimes return a classifier's vector as a picture of one pixel."""
    spec = nl.TensorSpec(shape, layout, "int16", **more)
    found = as_model(spec, wanted)
    assert shape_in_model(found) == wanted and found.size == spec.size
    buffer = np.arange(spec.size, dtype=np.int16)
    model = nl.Layout.of_rank(len(shape)).axes
    order = [spec.axes.index(axis) for axis in model]
    given = transposed(found.unpack(buffer), found.axes, False)
    assert given.tolist() == spec.unpack(buffer).transpose(order).reshape(wanted).tolist()


def test_scales_follow_axes_that_the_model_lacks() -> None:
    scales = nl.Quantization([0.5, 2.0, 1.0], [1, 0, 0], axis=3)
    spec = nl.TensorSpec.of_storage((1, 1, 1, 3), "NHWC", "int8", quantization=scales, name="y")
    found = as_model(spec, (1, 3))
    assert found.unpack(np.array([3, 3, 3], np.int8)).tolist() == [[1.0, 6.0, 3.0]] and found.name == "y"
    one = nl.TensorSpec((1, 3, 1, 1), "NCHW", "int8", quantization=nl.Quantization([0.5], [1], axis=2))
    assert as_model(one, (1, 3)).unpack(np.array([3, 4, 5], np.int8)).tolist() == [[1.0, 1.5, 2.0]]


@pytest.mark.parametrize("wanted", [(1, 8), (9, 1), (), (1, 1, 9), (1, 9, 1, 1)])
def test_other_extents_are_no_axes_too_many(wanted: tuple[int, ...]) -> None:
    spec = nl.TensorSpec((1, 9, 1, 1), "NHWC", "int8")
    assert as_model(spec, wanted).shape in (spec.shape, wanted)
    assert as_model(spec, wanted).size == 9
