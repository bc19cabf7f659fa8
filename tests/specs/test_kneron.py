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
