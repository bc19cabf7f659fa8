"""HailoRT's streams: structs and pyhailort's tuples, orders on both sides, float zero points, what is no tensor."""

from __future__ import annotations

import ctypes
import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl

QUANT = dict(qp_scale=0.0075, qp_zp=41.5, limvals_min=0.0, limvals_max=1.0)
HEAT = dict(
    name="net/heat",
    shape=(3, 4, 5),
    format=dict(type="UINT8", order="NHWC", flags=0),
    quant_info=QUANT,
    hw_shape=(3, 8, 5),
)


class Shape(ctypes.Structure):
    """hailo_3d_image_shape_t"""

    _fields_ = (("height", ctypes.c_uint32), ("width", ctypes.c_uint32), ("features", ctypes.c_uint32))


class Format(ctypes.Structure):
    """hailo_format_t"""

    _fields_ = (("type", ctypes.c_int), ("order", ctypes.c_int), ("flags", ctypes.c_int))


class Quant(ctypes.Structure):
    """hailo_quant_info_t"""

    _fields_ = tuple((name, ctypes.c_float) for name in ("qp_zp", "qp_scale", "limvals_min", "limvals_max"))


class Info(ctypes.Structure):
    """hailo_vstream_info_t, without its union of shapes"""

    _fields_ = (
        ("name", ctypes.c_char * 128),
        ("network_name", ctypes.c_char * 128),
        ("direction", ctypes.c_int),
        ("format", Format),
        ("shape", Shape),
        ("quant_info", Quant),
    )


def heat(order: Any = "NHWC", type: Any = "UINT8", flags: Any = 0, **change: Any) -> dict[str, Any]:
    return {**HEAT, "format": dict(type=type, order=order, flags=flags), **change}


def test_a_struct_as_hailort_fills_it_in() -> None:
    info = Info(b"net/heat", b"net", 1, Format(2, 3, 1), Shape(3, 4, 5), Quant(41.5, 0.5, 0, 1))
    spec = nl.specs.from_hailo(info)
    assert (spec.shape, spec.axes, spec.dtype, spec.name) == ((1, 3, 4, 5), "NHWC", "uint16", "net/heat")
    assert spec.quantization == nl.Quantization(0.5, 41.5)
    for index in itertools.product(range(1), range(3), range(4), range(5)):
        assert spec.offset(*index) == (index[1] * 4 + index[2]) * 5 + index[3]


def test_pyhailorts_tuples_and_enums() -> None:
    enum = SimpleNamespace
    form = enum(type=enum(name="UINT8"), order=enum(name="NHWC"), flags=enum(name="NONE", value=0))
    given = enum(**{**HEAT, "format": form, "quant_info": enum(**QUANT)})
    assert nl.specs.from_hailo(given) == nl.specs.from_hailo(HEAT)
    assert nl.specs.from_hailo(heat("NC", shape=(57,))).shape == (1, 57)
    argmax = nl.specs.from_hailo(heat("NHW", shape=(3, 4), quant_info=dict(qp_scale=1.0, qp_zp=0.0)))
    assert (argmax.shape, argmax.axes) == ((1, 3, 4), "NHW")


def test_what_was_asked_for_wins() -> None:
    floats = nl.specs.from_hailo(HEAT, format_type="FLOAT32")
    assert (floats.dtype, floats.quantization) == ("float32", None)
    assert nl.specs.from_hailo(HEAT, format_type="AUTO", order=0) == nl.specs.from_hailo(HEAT)
    planes = nl.specs.from_hailo(HEAT, order="HAILO_FORMAT_ORDER_NCHW")
    assert planes == nl.TensorSpec(
        (1, 5, 3, 4), "NCHW", "uint8", quantization=nl.Quantization(0.0075, 41.5), name="net/heat"
    )


@pytest.mark.parametrize("order", ["FCR", "F8CR", "RGB4"])
def test_host_buffers_are_dense(order: str) -> None:
    assert nl.specs.from_hailo(heat(order, shape=(3, 4, 5))) == nl.specs.from_hailo(HEAT)


def test_device_buffers() -> None:
    spec = nl.specs.from_hailo(heat("F8CR", shape=(3, 4, 13), hw_shape=(3, 4, 16)), device=True)
    for h, w, c in itertools.product(range(3), range(4), range(13)):
        assert spec.offset(0, c, h, w) == ((h * 2 + c // 8) * 4 + w) * 8 + c % 8
    assert (spec.axes, spec.nbytes) == ("NCHW", 3 * 4 * 16)
    rows = nl.specs.from_hailo(heat("NHCW"), device=True)
    assert (str(rows.layout), rows.storage_shape) == ("NHCW", (1, 3, 5, 8))
    assert nl.specs.from_hailo(HEAT, device=True).storage_shape == (1, 3, 8, 5)


def test_a_scale_for_each_feature() -> None:
    infos = [dict(qp_scale=0.5 * (i + 1), qp_zp=float(i)) for i in range(5)]
    spec = nl.specs.from_hailo({**HEAT, "quant_infos": infos})
    assert spec.quantization == nl.Quantization([0.5, 1.0, 1.5, 2.0, 2.5], [0, 1, 2, 3, 4], 3)
    assert nl.specs.from_hailo({**HEAT, "quant_infos": infos}, order="NCHW").quantization.axis == 1  # type: ignore[union-attr]
    assert nl.specs.from_hailo({**HEAT, "quant_infos": [QUANT]}) == nl.specs.from_hailo(HEAT)
    assert nl.specs.from_hailo({**HEAT, "quant_info": None}).quantization is None
    stored = np.full(60, 45, np.uint8)
    assert nl.specs.from_hailo(HEAT).unpack(stored)[0, 0, 0, 0] == np.float32(3.5) * np.float32(0.0075)


@pytest.mark.parametrize(
    ("info", "options", "says"),
    [
        (heat("HAILO_NMS_BY_CLASS"), {}, "a list of boxes of variable length"),
        (heat(9), {}, "HAILO_NMS is a list of boxes"),
        (heat("NV12"), {}, "expected an order of tensors on the host .* FrameSpec"),
        (heat("NHCW"), {}, "expected an order of tensors on the host"),
        (heat("NCHW"), {"device": True}, "expected an order of tensors on the device"),
        (heat(flags=2), {}, "TRANSPOSED"),
        (heat(type="AUTO"), {}, "type is AUTO: expected what the stream has; give it by format_type="),
        (heat(type=7), {}, "type 7: expected 0..3"),
        (HEAT, {"format_type": "INT8"}, "format_type: expected one of AUTO, UINT8"),
        (heat("RGB4", shape=(3, 5, 3)), {}, "rows of 15 bytes are padded to 16: no whole number of pixels"),
        ({**HEAT, "hw_shape": (3, 2, 5)}, {"device": True}, "hw_shape .3, 2, 5. is smaller than shape"),
        ({**HEAT, "hw_shape": None}, {"device": True}, "device=True needs the hw_shape"),
        ({**HEAT, "shape": (1, 3, 4, 5)}, {}, "expected height, width and features"),
        ({**HEAT, "quant_infos": [QUANT, QUANT]}, {}, "2 quant_infos: expected one, or one for each of 5 features"),
        ({**HEAT, "quant_info": dict(qp_scale=0.0, qp_zp=0.0)}, {}, "scale of 0: there are several, give quant_infos"),
        ({**HEAT, "quant_info": dict(qp_scale=1.0, qp_zp=300.0)}, {}, "zero point 300.0 is outside uint8"),
        ({**HEAT, "format": None}, {}, "no field 'format'"),
    ],
)
def test_refusals(info: Any, options: Any, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.specs.from_hailo(info, **options)
