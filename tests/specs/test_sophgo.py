"""bm_net_info_t as a struct with pointers, and as a mapping: scales of both directions, stages, what contradicts."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import npu_layout as nl


class Shape(ctypes.Structure):
    """bm_shape_t"""

    _fields_ = (("num_dims", ctypes.c_int), ("dims", ctypes.c_int * 8))


class Stage(ctypes.Structure):
    """bm_stage_info_t"""

    _fields_ = (
        ("input_shapes", ctypes.POINTER(Shape)),
        ("output_shapes", ctypes.POINTER(Shape)),
        ("input_mems", ctypes.c_void_p),
        ("output_mems", ctypes.c_void_p),
    )


class Net(ctypes.Structure):
    """bm_net_info_t"""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("is_dynamic", ctypes.c_bool),
        ("input_num", ctypes.c_int),
        ("input_names", ctypes.POINTER(ctypes.c_char_p)),
        ("input_dtypes", ctypes.POINTER(ctypes.c_int)),
        ("input_scales", ctypes.POINTER(ctypes.c_float)),
        ("output_num", ctypes.c_int),
        ("output_names", ctypes.POINTER(ctypes.c_char_p)),
        ("output_dtypes", ctypes.POINTER(ctypes.c_int)),
        ("output_scales", ctypes.POINTER(ctypes.c_float)),
        ("stage_num", ctypes.c_int),
        ("stages", ctypes.POINTER(Stage)),
        ("max_input_bytes", ctypes.POINTER(ctypes.c_size_t)),
        ("max_output_bytes", ctypes.POINTER(ctypes.c_size_t)),
        ("input_zero_point", ctypes.POINTER(ctypes.c_int)),
        ("output_zero_point", ctypes.POINTER(ctypes.c_int)),
    )


def of(kind: Any, *values: Any) -> Any:
    return (kind * len(values))(*values)


def shapes(*several: tuple[int, ...]) -> Any:
    return of(Shape, *(Shape(len(one), (ctypes.c_int * 8)(*one)) for one in several))


def net() -> Net:
    """One input, two outputs, compiled for one image and for four."""
    stages = of(
        Stage,
        Stage(shapes((1, 3, 8, 6)), shapes((1, 5, 4, 3), (1, 7))),
        Stage(shapes((4, 3, 8, 6)), shapes((4, 5, 4, 3), (4, 7))),
    )
    return Net(
        b"net", False, 1, of(ctypes.c_char_p, b"x"), of(ctypes.c_int, 2), of(ctypes.c_float, 64.0),
        2, of(ctypes.c_char_p, b"y", b"z"), of(ctypes.c_int, 3, 0), of(ctypes.c_float, 0.25, 1.0),
        2, stages, of(ctypes.c_size_t, 576), of(ctypes.c_size_t, 240, 112), None, of(ctypes.c_int, 7, 0),
    )  # fmt: skip


def test_a_struct() -> None:
    spec = nl.specs.from_sophgo(net(), side="input")
    assert (spec.name, spec.shape, spec.axes, spec.dtype) == ("x", (1, 3, 8, 6), "NCHW", "int8")
    assert spec.quantization == nl.Quantization.from_multiplier(64)  # q = real * 64
    spec = nl.specs.from_sophgo(net(), index=0, stage=1)
    assert (spec.name, spec.shape, spec.dtype) == ("y", (4, 5, 4, 3), "uint8")
    assert spec.quantization == nl.Quantization(0.25, 7)  # real = (q - 7) / 4
    assert np.all(spec.unpack(np.full(240, 9, np.uint8)) == 0.5)
    assert nl.specs.from_sophgo(net(), index=1) == nl.TensorSpec((1, 7), "NC", name="z")


GIVEN: dict[str, Any] = dict(
    output_num=1, output_names=["y"], output_dtypes=["BM_INT8"], output_scales=[0.5], max_output_bytes=[60],
    stage_num=1, stages=[dict(output_shapes=[[1, 5, 4, 3]])],
)  # fmt: skip


def test_a_mapping() -> None:
    spec = nl.specs.from_sophgo(GIVEN, layout="NHWC")
    assert (spec.axes, spec.shape, spec.quantization) == ("NHWC", (1, 5, 4, 3), nl.Quantization(0.5, 0))
    assert nl.specs.from_sophgo({**GIVEN, "output_scales": [1.0]}).quantization is None  # integers are the values
    assert nl.specs.from_sophgo({**GIVEN, "output_scales": [1.0], "output_zero_point": [3]}).quantization is not None


@pytest.mark.parametrize(
    ("number", "dtype"),
    [(0, "float32"), (1, "float16"), (2, "int8"), (3, "uint8"), (4, "int16"), (5, "uint16"), (6, "int32"),
     (7, "uint32"), (8, "bfloat16")],
)  # fmt: skip
def test_types_by_number(number: int, dtype: str) -> None:
    given = {**GIVEN, "output_dtypes": [number], "output_scales": [1.0], "max_output_bytes": None}
    assert nl.specs.from_sophgo(given).dtype == dtype


@pytest.mark.parametrize(
    ("change", "options", "says"),
    [
        ({}, {"index": 1}, "index 1: output_num is 1"),
        ({"output_num": None}, {"index": 1}, "field 'output_names'"),
        ({}, {"index": -1}, "index -1"),
        ({}, {"stage": 1}, "stage 1: stage_num is 1"),
        ({}, {"side": "both"}, "side: expected input or output, got 'both'"),
        ({}, {"side": "input"}, "no field 'input_names'"),
        ({}, {"layout": "NC"}, "layout NC has 2 axes, but the shape .1, 5, 4, 3. has 4"),
        ({"output_dtypes": [9]}, {}, "'INT4': expected one of"),
        ({"output_dtypes": [11]}, {}, "dtype 11: expected 0..10"),
        ({"output_dtypes": [0], "max_output_bytes": None}, {}, "float32 with scale 0.5 and zero point 0: floats have"),
        ({"output_scales": [0.0]}, {}, "scale 0.0: expected a positive number"),
        ({"output_scales": [float("nan")]}, {}, "scale nan: expected a positive number"),
        ({"output_zero_point": [200]}, {}, "zero point 200 is outside int8"),
        ({"max_output_bytes": [59]}, {}, "max_output_bytes 59, but .* needs 60"),
        ({"stages": [dict(output_shapes=[dict(num_dims=9, dims=[1] * 8)])]}, {}, "num_dims 9: expected 1 to 8"),
        ({"stages": [dict(output_shapes=[dict(num_dims=2, dims=[1])])]}, {}, "num_dims 2: expected 1 to 1"),
        ({"stages": [dict(output_shapes=[[1, -1]])]}, {}, "-1"),
    ],
)
def test_refusals(change: Any, options: Any, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.specs.from_sophgo({**GIVEN, **change}, **options)
