"""Kneron's descriptors as its documentation prints them; places are those of the loops in its runtime."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl

PREFIX = "KP_MODEL_TENSOR_DATA_LAYOUT_"


def described(kind: str, shape: Any, **more: Any) -> dict[str, Any]:
    return {"name": "y", "data_layout": PREFIX + kind, "tensor_shape_info": {"v1": {"shape_npu": list(shape)}}, **more}


def scales(*pairs: tuple[float, int], **more: Any) -> dict[str, Any]:
    listed = [{"scale": scale, "radix": radix} for scale, radix in pairs]
    return {"quantization_parameters": {"v1": {"quantized_fixed_point_descriptor_list": listed, **more}}}


def test_what_plus_1_prints() -> None:
    """An output of Tiny YOLO v3 on KL520, from the documentation of loading a model."""
    printed = {
        "index": 0,
        "name": "",
        "shape_npu": [1, 255, 7, 7],
        "shape_onnx": [],
        "data_layout": "ModelTensorDataLayout.KP_MODEL_TENSOR_DATA_LAYOUT_16W1C8B",
        "quantization_parameters": {
            "quantized_fixed_point_descriptor_list": {"0": {"scale": 1.4717674255371094, "radix": 2}}
        },
    }
    chip = "ModelTargetChip.KP_MODEL_TARGET_CHIP_KL520"
    spec = nl.specs.from_kneron(printed, chip=chip, name="heat")
    assert (spec.name, spec.shape, spec.axes, spec.dtype) == ("heat", (1, 255, 7, 7), "NCHW", "int8")
    assert spec.storage_shape == (1, 7, 255, 16) and spec.nbytes == 7 * 255 * 16
    assert spec.quantization == nl.Quantization.from_multiplier(1.4717674255371094 * 4)
    assert nl.specs.from_kneron(printed, chip=1, name="heat") == spec


def up(n: int, unit: int) -> int:
    return (n + unit - 1) // unit * unit


@pytest.mark.parametrize(("c", "h", "w"), [(20, 3, 5), (3, 4, 16), (1, 1, 1), (33, 2, 17)])
def test_places_are_those_of_the_runtime(c: int, h: int, w: int) -> None:
    """kp_inference.c: planes on KL720 and KL630, rows of channels on KL520."""
    shape = (1, c, h, w)
    of = nl.specs.from_kneron
    planes, rows = of(described("16W1C8B", shape), chip="KL630"), of(described("16W1C8B", shape), chip="KL520")
    wide, blocks = of(described("8W1C16B", shape), chip="KL720"), of(described("1W16C8B", shape), chip="KL720")
    image, dense = of(described("4W4C8B", shape), chip="KL720"), of(described("RAW_FLOAT", shape), chip="KL720")
    for k, y, x in np.ndindex(c, h, w):
        assert planes.offset(0, k, y, x) == k * h * up(w, 16) + y * up(w, 16) + x
        assert rows.offset(0, k, y, x) == y * c * up(w, 16) + k * up(w, 16) + x
        assert wide.offset(0, k, y, x) == k * h * up(w, 8) + y * up(w, 8) + x
        assert blocks.offset(0, k, y, x) == k // 16 * h * w * 16 + y * w * 16 + x * 16 + k % 16
        assert image.offset(0, k, y, x) == (k // 4 * h * up(w, 4) + y * up(w, 4) + x) * 4 + k % 4
        assert dense.offset(0, k, y, x) == (k * h + y) * w + x
    assert [s.dtype for s in (planes, wide, dense)] == ["int8", "int16", "float32"]
    assert planes.nbytes == rows.nbytes == c * h * up(w, 16) and wide.nbytes == 2 * c * h * up(w, 8)
    assert image.nbytes == up(c, 4) * h * up(w, 4)
    if c <= 4:
        assert of(described("4W4C8B", shape), chip="KL520").storage_shape == (1, h, 1, up(w, 16), 4)


@pytest.mark.parametrize("kind", ["16W1C8B", "1W16C8B", "1W16C8B_CH_COMPACT", "RAW_8B", "8W1C16B"])
def test_strides_of_kl730(kind: str) -> None:
    """The index of documentation and kp_inference.c: strides, and of 1W16C8B those of one group of channels."""
    shape = [1, 40, 3, 5]
    strides = {
        "16W1C8B": [1920, 48, 16, 1],
        "1W16C8B": [240, 1, 80, 16],
        "1W16C8B_CH_COMPACT": [720, 1, 240, 48],
        "RAW_8B": [600, 15, 5, 1],
        "8W1C16B": [960, 24, 8, 1],
    }[kind]
    info = {"version": 2, "v1": None, "v2": {"shape": shape, "stride_npu": strides}}
    for given in (info, SimpleNamespace(version=SimpleNamespace(name="VERSION_2"), v2=SimpleNamespace(**info["v2"]))):
        spec = nl.specs.from_kneron({"name": "y", "data_layout": PREFIX + kind, "tensor_shape_info": given})
        group = max(n * s for n, s in zip(shape, strides) if s != 1) - 16
        for index in np.ndindex(*shape):
            place = sum(i * s for i, s in zip(index, strides))
            if kind == "1W16C8B":
                place += index[1] // 16 * group
            assert spec.offset(*index) == place
        assert spec.size == {"16W1C8B": 1920, "1W16C8B": 720, "1W16C8B_CH_COMPACT": 720, "8W1C16B": 960}.get(kind, 600)
        assert spec.axes == "NCHW" and spec.dtype == ("int16" if kind == "8W1C16B" else "int8")


def test_pointers_of_kl730_have_a_length() -> None:
    import ctypes

    class Info(ctypes.Structure):
        """kp_tensor_shape_info_v2_t"""

        _fields_ = (
            ("shape_len", ctypes.c_uint32),
            ("shape", ctypes.POINTER(ctypes.c_int32)),
            ("stride_onnx", ctypes.POINTER(ctypes.c_uint32)),
            ("stride_npu", ctypes.POINTER(ctypes.c_uint32)),
        )

    info = Info(3, (ctypes.c_int32 * 3)(2, 3, 4), (ctypes.c_uint32 * 3)(12, 4, 1), (ctypes.c_uint32 * 3)(48, 16, 1))
    given = {"data_layout": PREFIX + "16W1C8B", "tensor_shape_info": {"version": 2, "v2": info}}
    spec = nl.specs.from_kneron(given, name="z")
    assert (spec.name, spec.shape, spec.axes, spec.storage_strides) == ("z", (2, 3, 4), "NCW", (48, 16, 1))


def test_scales_divide() -> None:
    one = described("RAW_8B", (1, 3, 1, 2), **scales((0.75, 7)))
    spec = nl.specs.from_kneron(one, chip="KL720")
    assert spec.quantization == nl.Quantization.from_multiplier(96)
    assert spec.unpack(np.full(6, 48, np.int8)).max() == np.float32(0.5)
    several = described("RAW_8B", (1, 3, 1, 2), **scales((1, 1), (2, 1), (1, -2), quantized_axis=1))
    spec = nl.specs.from_kneron(several, chip="KL720")
    assert spec.unpack(np.ones(6, np.int8))[0, :, 0, 0].tolist() == [0.5, 0.25, 4.0]
    without = described("RAW_8B", (1, 3, 1, 2), **scales((1, 1), (2, 1), (1, -2)))  # as in PLUS 1.x
    assert nl.specs.from_kneron(without, chip="KL720").quantization == spec.quantization
    for none in (described("RAW_FLOAT", (1, 3, 1, 2), **scales((1, 1))), described("RAW_8B", (1, 3, 1, 2), **scales())):
        assert nl.specs.from_kneron(none, chip="KL720").quantization is None


@pytest.mark.parametrize(
    ("given", "chip", "says"),
    [
        (described("16W1C8B", (1, 3, 4, 4)), None, "depends on the chip; give chip="),
        (described("16W1C8B", (1, 3, 4, 4)), "KL530", "chip KL530: expected one of KL520, KL630, KL720"),
        (described("16W1C8B", (1, 3, 4, 4)), 99, "Kneron chip 99: expected 1: KL520|Kneron chip 99: expected one of"),
        (described("1W16C8B", (1, 3, 4, 4)), "KL520", "1W16C8B on KL520: expected one of 16W1C8B"),
        (described("4W4C8B", (1, 5, 4, 4)), "KL520", "of 5 channels on KL520: the order of more than 4 is not known"),
        (described("16W1C8BHL", (1, 3, 4, 4)), "KL720", "16 low bytes, then 16 high bytes"),
        (described("NCHW", (1, 3, 4, 4)), "KL720", "Kneron data_layout 'NCHW': expected one of"),
        ({**described("RAW_8B", (1, 3, 4, 4)), "data_layout": 3}, "KL720", "numbers differ between releases"),
        (described("RAW_8B", (3, 4, 4)), "KL720", r"shape_npu \[3, 4, 4\]: expected N, C, H, W"),
        ({**described("RAW_8B", (1, 3, 4, 4)), "tensor_shape_info": {"v1": {}}}, "KL720", "no field 'shape_npu'"),
        (described("RAW_8B", (1, 2, 1, 1), **scales((1, 1), (2, 1), quantized_axis=7)), "KL720", "expected 0 to 3"),
        (described("RAW_8B", (1, 2, 1, 1), **scales((1, 1), (2, 1), quantized_axis=3)), "KL720", "2 scales"),
        (described("RAW_8B", (1, 2, 1, 1), **scales((0, 1))), "KL720", "expected positive numbers"),
        (described("RAW_8B", (1, 2, 1, 1), **scales((1, 999))), "KL720", "radix 999: expected -127 to 127"),
        (described("RAW_8B", (1, 2, 1, 1), **scales(("x", 1))), "KL720", "field 'scale'"),
    ],
)
def test_refusals(given: Any, chip: Any, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.specs.from_kneron(given, chip=chip)


def test_descriptors_are_in_the_order_of_their_numbers() -> None:
    """JSON has the number of a descriptor as text, of which "10" comes before "2"."""
    listed = {str(i): {"scale": 1 + i / 16, "radix": 3} for i in range(12)}
    params = {"quantized_axis": 1, "quantized_fixed_point_descriptor_list": dict(sorted(listed.items()))}
    given = {**described("RAW_8B", (1, 12, 1, 2)), "quantization_parameters": {"v1": params}}
    spec = nl.specs.from_kneron(given, chip="KL720")
    assert spec.quantization == nl.Quantization.from_multiplier([8 * (1 + i / 16) for i in range(12)], 1)
    listed["13"] = listed.pop("3")
    params["quantized_fixed_point_descriptor_list"] = listed
    with pytest.raises(nl.LayoutError, match="10, 11, 13: expected 0 to 11"):
        nl.specs.from_kneron(given, chip="KL720")


def test_what_plus_3_prints() -> None:
    """The input and the first output of Tiny YOLO v3 on KL520 (plus_python, load_nef_model.md): "data" for v1."""
    means = {"quantized_axis": 1, "quantized_fixed_point_descriptor_list": {"0": {"scale": {"value": 1.5}, "radix": 2}}}
    printed = {
        "index": 0,
        "name": "",
        "data_layout": f"ModelTensorDataLayout.{PREFIX}16W1C8B",
        "tensor_shape_info": {
            "version": "ModelTensorShapeInformationVersion.KP_MODEL_TENSOR_SHAPE_INFO_VERSION_1",
            "data": {"shape_npu": [1, 255, 7, 7], "shape_onnx": [1, 255, 7, 7]},
        },
        "quantization_parameters": {
            "version": "QuantizationParametersVersion.KP_MODEL_QUANTIZATION_PARAMS_VERSION_1",
            "data": means,
        },
    }
    spec = nl.specs.from_kneron(printed, chip="KL520", name="heat")
    assert spec.storage_shape == (1, 7, 255, 16) and spec.quantization == nl.Quantization.from_multiplier(6)
    printed["tensor_shape_info"] = {
        "version": "ModelTensorShapeInformationVersion.KP_MODEL_TENSOR_SHAPE_INFO_VERSION_2",
        "data": {"shape": [1, 7, 7, 3], "stride_onnx": [147, 21, 3, 1], "stride_npu": [784, 112, 16, 1]},
    }
    spec = nl.specs.from_kneron(printed, name="heat")
    assert (spec.shape, spec.storage_strides, spec.size) == ((1, 7, 7, 3), (784, 112, 16, 1), 784)


@pytest.mark.parametrize("kind", ["16W1C8B", "8W1C16B", "16W1C8BHL", "1W16C8B_CH_COMPACT"])
def test_what_is_retrieved_is_dense(kind: str) -> None:
    """kp_generic_inference_retrieve_fixed_node writes one element after the other, of HL too."""
    dtype = "int16" if kind in ("8W1C16B", "16W1C8BHL") else "int8"
    strided = {"version": 2, "v2": {"shape": [2, 3, 5], "stride_npu": [48, 16, 1]}}
    for given, shape in (
        (described(kind, (1, 3, 2, 5), **scales((0.5, 6))), (1, 3, 2, 5)),
        ({**described(kind, ()), "tensor_shape_info": strided, **scales((0.5, 6))}, (2, 3, 5)),
    ):
        fixed = nl.specs.from_kneron(given, retrieved="fixed")
        floats = nl.specs.from_kneron(given, retrieved="float")
        assert (fixed.shape, fixed.dtype, floats.dtype, floats.quantization) == (shape, dtype, "float32", None)
        assert fixed.quantization == nl.Quantization.from_multiplier(32)
        stored = np.arange(30, dtype=dtype)
        assert np.array_equal(fixed.unpack(stored), (stored / np.float32(32)).reshape(shape))
        assert np.array_equal(floats.unpack(stored.astype(np.float32)), stored.reshape(shape))


@pytest.mark.parametrize(
    ("given", "how", "says"),
    [
        (described("RAW_FLOAT", (1, 3, 2, 5)), "float", "Kneron PLUS retrieves no nodes of RAW_FLOAT"),
        (described("HW4C8B_KEEP_A", (1, 4, 2, 5)), "fixed", "Kneron PLUS retrieves no nodes of HW4C8B_KEEP_A"),
        (described("RAW_8B", (2, 3, 2, 5)), "fixed", r"shape_npu \[2, 3, 2, 5\]: .* one image, expected N to be 1"),
        (described("RAW_8B", (3, 2, 5)), "fixed", "expected N, C, H, W"),
        (described("RAW_8B", (1, 3, 2, 5)), "raw", "retrieved: expected fixed or float, got 'raw'"),
    ],
)
def test_what_is_not_retrieved(given: Any, how: str, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.specs.from_kneron(given, retrieved=how)


def test_images_of_plus_3_2() -> None:
    """The tables of "Supported NPU data layout format (KL730)": pixels of four bytes, both byte orders."""
    frame = np.random.default_rng(0).integers(-128, 128, (3, 5, 3))
    info = {"version": 2, "v2": {"shape": [1, 3, 3, 5], "stride_npu": [60, 1, 20, 4]}}
    given = {"name": "image", "data_layout": PREFIX + "HW4C8B_DROP_A", "tensor_shape_info": info}
    spec = nl.specs.from_kneron(given)
    buffer = spec.pack(frame.transpose(2, 0, 1)[None].astype(np.int8)).reshape(3, 5, 4)
    assert np.array_equal(buffer[..., :3], frame) and not buffer[..., 3].any()
    info = {"version": 2, "v2": {"shape": [1, 1, 3, 5], "stride_npu": [15, 15, 5, 1]}}
    for kind, first in (("HW1C16B_LE", [2, 1]), ("HW1C16B_BE", [1, 2])):
        spec = nl.specs.from_kneron({"data_layout": PREFIX + kind, "tensor_shape_info": info}, name="depth")
        stored = spec.pack(np.full((1, 1, 3, 5), 0x102, spec.stored))
        assert stored.view(np.uint8)[:2].tolist() == first


def test_strides_that_contradict_the_layout() -> None:
    info = {"version": 2, "v2": {"shape": [1, 40, 3, 5], "stride_npu": [600, 15, 5, 2]}}
    given = {"data_layout": PREFIX + "1W16C8B", "tensor_shape_info": info}
    with pytest.raises(nl.LayoutError, match="expected 1 for the channels of 1W16C8B"):
        nl.specs.from_kneron(given)
    info["v2"]["stride_npu"] = [600, 15, 5]
    with pytest.raises(nl.LayoutError, match="expected 4 of them"):
        nl.specs.from_kneron(given)
    info["v2"]["stride_npu"] = [600, 4, 5, 1]
    with pytest.raises(nl.LayoutError, match="elements overlap"):
        nl.specs.from_kneron({**given, "data_layout": PREFIX + "16W1C8B"})
