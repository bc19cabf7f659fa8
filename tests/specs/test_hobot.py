"""hbDNNTensorProperties of both generations of the header, as structs with pointers, and as mappings."""

from __future__ import annotations

import ctypes
import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl


class Shape(ctypes.Structure):
    """hbDNNTensorShape"""

    _fields_ = (("dimensionSize", ctypes.c_int32 * 8), ("numDimensions", ctypes.c_int32))


class Scale(ctypes.Structure):
    """hbDNNQuantiScale"""

    _fields_ = (
        ("scaleLen", ctypes.c_int32),
        ("scaleData", ctypes.POINTER(ctypes.c_float)),
        ("zeroPointLen", ctypes.c_int32),
        ("zeroPointData", ctypes.POINTER(ctypes.c_int32)),
    )


class Shift(ctypes.Structure):
    """hbDNNQuantiShift"""

    _fields_ = (("shiftLen", ctypes.c_int32), ("shiftData", ctypes.POINTER(ctypes.c_uint8)))


class OnS100(ctypes.Structure):
    """hbDNNTensorProperties without pictures, shifts and aligned shapes"""

    _fields_ = (
        ("validShape", Shape),
        ("tensorType", ctypes.c_int32),
        ("scale", Scale),
        ("quantiType", ctypes.c_int),
        ("quantizeAxis", ctypes.c_int32),
        ("alignedByteSize", ctypes.c_int64),
        ("stride", ctypes.c_int64 * 8),
    )


class OnX5(ctypes.Structure):
    """hbDNNTensorProperties with them"""

    _fields_ = (
        ("validShape", Shape),
        ("alignedShape", Shape),
        ("tensorLayout", ctypes.c_int32),
        ("tensorType", ctypes.c_int32),
        ("shift", Shift),
        ("scale", Scale),
        ("quantiType", ctypes.c_int),
        ("quantizeAxis", ctypes.c_int32),
        ("alignedByteSize", ctypes.c_int32),
        ("stride", ctypes.c_int32 * 8),
    )


def shape(*sizes: int) -> Shape:
    return Shape((ctypes.c_int32 * 8)(*sizes), len(sizes))


def scales(values: list[float], zeros: list[int]) -> Scale:
    return Scale(len(values), (ctypes.c_float * 9)(*values), len(zeros), (ctypes.c_int32 * 9)(*zeros))


SAYS: dict[str, Any] = dict(validShape=[1, 4, 6, 5], tensorType="F32", stride=[1024, 256, 32, 4], alignedByteSize=1024)


def test_an_s100s_struct_with_strides_in_bytes() -> None:
    given = OnS100(shape(1, 4, 6, 5), 2, scales([0.5], [3]), 1, -1, 256, (ctypes.c_int64 * 8)(256, 64, 8, 1))
    spec = nl.specs.from_hobot(given, layout="NHWC", name="y")
    assert (spec.shape, spec.axes, spec.dtype, spec.nbytes, spec.name) == ((1, 4, 6, 5), "NHWC", "int8", 256, "y")
    assert spec.quantization == nl.Quantization(0.5, 3)
    for h, w, c in itertools.product(range(4), range(6), range(5)):
        assert spec.offset(0, h, w, c) == h * 64 + w * 8 + c
    memory = np.arange(64, dtype=np.float32).repeat(4)
    floats = nl.specs.from_hobot(SAYS, layout="NHWC")
    assert floats.unpack(memory)[0, 3, 5, 4] == memory[3 * 64 + 5 * 8 + 4]
    many = scales([0.5, 0.25, 1.0, 2.0, 4.0], [])
    given = OnS100(shape(1, 4, 6, 5), 8, many, 1, 3, 480, (ctypes.c_int64 * 8)(480, 120, 20, 4))
    assert nl.specs.from_hobot(given).quantization == nl.Quantization([0.5, 0.25, 1.0, 2.0, 4.0], 0, 3)


def test_an_x5s_struct_with_an_aligned_shape() -> None:
    shifts = Shift(5, (ctypes.c_uint8 * 5)(1, 2, 3, 4, 5))
    given = OnX5(shape(1, 4, 6, 5), shape(1, 4, 8, 8), 0, 14, shifts, Scale(), 1, 3, 1024)
    spec = nl.specs.from_hobot(given)
    assert (spec.dtype, spec.axes, spec.storage_shape, spec.nbytes) == ("int32", "NHWC", (1, 4, 8, 8), 1024)
    assert spec.quantization == nl.Quantization.from_dfp([1, 2, 3, 4, 5], 3)
    given.tensorLayout, given.quantiType = 2, 0
    assert nl.specs.from_hobot(given).axes == "NCHW" and nl.specs.from_hobot(given).quantization is None
    given = OnX5(shape(1, 3, 8, 6), shape(1, 3, 8, 6), 2, 5, Shift(), Scale(), 0, 0, 144)
    image = nl.specs.from_hobot(given)
    assert (image.dtype, image.channels, image.axes) == ("uint8", "BGR", "NCHW")


@pytest.mark.parametrize(
    ("old", "new", "dtype"),
    [(8, 2, "int8"), (9, 3, "uint8"), (10, 4, "float16"), (11, 5, "int16"), (12, 6, "uint16"), (13, 7, "float32"),
     (14, 8, "int32"), (15, 9, "uint32"), (16, 10, "float64"), (17, 11, "int64"), (18, 12, "uint64"), (19, 13, "bool")],
)  # fmt: skip
def test_numbers_of_types_differ_by_the_header(old: int, new: int, dtype: str) -> None:
    plain = {"validShape": [1, 7]}
    assert nl.specs.from_hobot({**plain, "tensorType": new}).dtype == dtype
    assert nl.specs.from_hobot({**plain, "alignedShape": [1, 8], "tensorType": old}).dtype == dtype


def test_dense_tensors() -> None:
    for stride in (None, [0, 0, 0, 0]):
        spec = nl.specs.from_hobot({**SAYS, "stride": stride, "alignedByteSize": 480})
        assert spec == nl.TensorSpec((1, 4, 6, 5), "NCHW")


@pytest.mark.parametrize(
    ("change", "options", "says"),
    [
        ({"stride": [-1, -1, 32, 4]}, {}, "is -1 where you have to choose it"),
        ({"stride": [-1, -1, 32, 4], "alignedByteSize": -1}, {}, "is -1 where you have to choose it"),
        ({"stride": [1024, 254, 32, 4]}, {}, "expected multiples of the 4 bytes of an element, got 254"),
        ({"stride": [1024, 256, 16, 4]}, {}, "elements overlap"),
        ({"stride": [1024, 256]}, {}, "expected 4 of them"),
        ({"alignedByteSize": 600}, {}, "size 150 is too small"),
        ({"alignedByteSize": 1023}, {}, "alignedByteSize 1023 is not a multiple of the 4 bytes"),
        ({"tensorType": "HB_DNN_IMG_TYPE_NV12"}, {}, "NV12 is a picture of several planes.*as its target"),
        ({"tensorType": 1, "alignedShape": [1, 4, 6, 5]}, {}, "NV12 is a picture of several planes"),
        ({"tensorType": "HB_DNN_TENSOR_TYPE_S4"}, {}, "'S4': expected one of"),
        ({"tensorType": 25}, {}, "tensorType 25: expected 0..13"),
        ({"tensorLayout": "NHWC"}, {"layout": "NCHW"}, "layout= is 'NCHW', but tensorLayout is NHWC"),
        ({}, {"layout": "NC"}, "layout NC has 2 axes, but validShape has 4"),
        ({"stride": None, "alignedShape": [4, 6, 5]}, {}, "have different ranks"),
        ({"stride": None, "alignedShape": [1, 4, 6, 4]}, {}, "does not fit layout"),
        ({"quantiType": "SCALE"}, {}, "quantiType is SCALE, but there is no scale"),
        ({"quantiType": "SCALE", "scale": dict(scaleLen=0, scaleData=None)}, {}, "scaleLen 0: expected 1 or more"),
        ({"quantiType": 7}, {}, "quantiType 7"),
        (
            {"tensorType": "S8", "stride": None, "alignedByteSize": 0, "quantiType": "SCALE",
             "scale": dict(scaleLen=2, scaleData=[1.0, 2.0]), "quantizeAxis": -1},
            {},
            "2 scales with quantizeAxis -1: expected 0 to 3",
        ),
        (
            {"tensorType": "S8", "stride": None, "alignedByteSize": 0, "quantiType": "SCALE",
             "scale": dict(scaleLen=1, scaleData=[1.0], zeroPointLen=2, zeroPointData=[1, 2])},
            {},
            "zeroPointLen 2: expected 0, 1 or 1",
        ),
        ({"quantiType": "SCALE", "scale": dict(scaleLen=1, scaleData=[0.5])}, {}, "float32 cannot be quantised"),
    ],
)  # fmt: skip
def test_refusals(change: Any, options: Any, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.specs.from_hobot({**SAYS, **change}, **options)


def properties(**changed: Any) -> SimpleNamespace:
    """What pyeasy_dnn has for a pyDNNTensor, here for one with a scale for each channel."""
    scales = np.linspace(0.1, 0.4, 4, dtype=np.float32)
    given = dict(tensor_type="int32", dtype="int32", layout="NHWC", shape=(1, 2, 3, 4), scale_data=scales)
    return SimpleNamespace(**{**given, **changed})


def test_pyeasy_dnn() -> None:
    spec = nl.specs.from_hobot(properties(), name="out")
    stored = np.arange(24, dtype=np.int32).reshape(1, 2, 3, 4)
    expected = stored * np.linspace(0.1, 0.4, 4, dtype=np.float32)
    np.testing.assert_allclose(spec.unpack(stored), expected, rtol=1e-6)
    assert spec.name == "out" and spec.shape == (1, 2, 3, 4) and spec.axes == "NHWC"
    plain = nl.specs.from_hobot(properties(dtype="float32", tensor_type="float32", layout="NCHW", scale_data=[]))
    assert plain.dtype == "float32" and plain.axes == "NCHW" and plain.quantization is None
    one = nl.specs.from_hobot(properties(dtype="int8", scale_data=np.float32([0.5])))
    assert one.quantization == nl.Quantization(0.5)
    planes = nl.specs.from_hobot(properties(layout="NCHW", shape=(1, 4, 2, 3)))
    assert planes.quantization is not None and planes.quantization.axis == 1
    with pytest.raises(nl.LayoutError, match="NV12_SEPARATE is a picture of several planes"):
        nl.specs.from_hobot(properties(tensor_type="NV12_SEPARATE", dtype="uint8", scale_data=[]))
    with pytest.raises(nl.NpuLayoutError, match="Hobot dtype 'complex64': expected"):
        nl.specs.from_hobot(properties(dtype="complex64"))
    with pytest.raises(nl.NpuLayoutError, match=r"no field 'layout'; got types.SimpleNamespace$"):
        nl.specs.from_hobot(properties(layout=None))


def test_a_tensor_in_the_place_of_its_properties() -> None:
    """model.outputs[0], and a hbDNNTensor, which have them in a field."""
    tensor = SimpleNamespace(properties=properties(), buffer=np.zeros((1, 2, 3, 4), np.int32), name="other")
    for given in (tensor, vars(tensor)):
        assert nl.specs.from_hobot(given, name="out") == nl.specs.from_hobot(properties(), name="out")
    assert nl.specs.from_hobot({"properties": SAYS}) == nl.specs.from_hobot(SAYS)
    with pytest.raises(nl.NpuLayoutError, match="Hobot properties has no field 'validShape'; got a list of 1: give"):
        nl.specs.from_hobot([tensor])


def test_pyeasy_dnn_without_scales() -> None:
    """An empty scale_data is no scale; of integers that lack the field nobody knows what they mean."""
    whole = nl.specs.from_hobot(properties(scale_data=np.zeros(0, np.float32)))
    assert (whole.dtype, whole.quantization) == ("int32", None)
    listed = vars(properties(dtype="float32", tensor_type="float32"))
    del listed["scale_data"]
    for given in (listed, SimpleNamespace(**listed), {**listed, "scale_data": None}):
        spec = nl.specs.from_hobot(given)
        assert (spec.dtype, spec.axes, spec.shape, spec.quantization) == ("float32", "NHWC", (1, 2, 3, 4), None)
    picture = nl.specs.from_hobot({**listed, "dtype": "uint8", "tensor_type": "BGR", "shape": (1, 8, 8, 3)})
    assert (picture.dtype, picture.channels) == ("uint8", "BGR")
    with pytest.raises(
        nl.NpuLayoutError, match=r"^Hobot properties of int8 have no scale_data: expected .* or \[\] if"
    ):
        nl.specs.from_hobot({**listed, "dtype": "int8"})
    with pytest.raises(nl.NpuLayoutError, match="no field 'validShape'"):
        nl.specs.from_hobot({name: value for name, value in listed.items() if name != "dtype"})
