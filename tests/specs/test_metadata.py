"""Fields of mappings and of objects, and numbers that cannot be what a runtime declares."""

from __future__ import annotations

import ctypes
import operator
import re
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.specs.metadata import (
    Metadata,
    affine,
    check_axes,
    check_bytes,
    element_strides,
    enum_name,
    fields_of,
    itemsize_of,
    known,
    numbers,
    outermost_first,
    pair,
    shape_of,
    text,
)

GIVEN = {"dims": [np.int32(2), 3], "count": np.uint8(4), "scale": "0.5", "nothing": None}


@pytest.mark.parametrize("given", [GIVEN, SimpleNamespace(**GIVEN)], ids=["mapping", "object"])
def test_fields(given: Any) -> None:
    attr = Metadata("some attr", given)
    assert attr.field("count") == 4 and attr.field("absent", 7) == 7 and attr.field("nothing", 7) == 7
    assert attr.whole("count") == 4 and type(attr.whole("count")) is int and attr.whole("absent", 9) == 9
    extents = attr.extents("dims")
    assert extents == [2, 3] and {type(n) for n in extents} == {int}
    assert attr.read("scale", float) == 0.5


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"a": 1, "b": 2}, "some attr has no field 'dims'; it has a, b"),
        ({}, "some attr has no field 'dims'; it has none"),
        ("text", "some attr has no field 'dims'; got 'text'"),
        ([1, 2], "some attr has no field 'dims'; got a list of 2: give one of its items"),
        (5, "some attr has no field 'dims'; got 5"),
        ({"dims": None}, "some attr has no field 'dims'; it has dims"),
    ],
)
def test_a_missing_field_is_named_with_what_is_there(given: Any, message: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=f"^{re.escape(message)}$"):
        Metadata("some attr", given).extents("dims")


@pytest.mark.parametrize("value", [1.5, "2", [1]])
def test_a_whole_number_is_no_other_type(value: Any) -> None:
    with pytest.raises(nl.NpuLayoutError, match=re.escape(f"some attr field 'zp': got {value!r} (")):
        Metadata("some attr", {"zp": value}).whole("zp")
    with pytest.raises(nl.NpuLayoutError, match="field 'zp'"):
        Metadata("some attr", {"zp": [value]}).read("zp", lambda given: operator.index(given[0]))


def test_numbers_and_pairs() -> None:
    got = numbers(np.float64)([[1, 2], [3, 4]])
    assert got.dtype == np.float64 and got.tolist() == [1, 2, 3, 4]
    scale, zero_point = pair((0.5, np.int32(-3)))
    assert (scale.tolist(), zero_point.tolist(), zero_point.dtype) == ([0.5], [-3], np.int64)
    with pytest.raises(TypeError):
        pair((0.5, 1.5))


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [("int8", -128, 127), ("uint8", 0, 255), ("int16", -(2**15), 2**15 - 1), ("uint16", 0, 2**16 - 1),
     ("int4", -8, 7), ("uint4", 0, 15)],
)  # fmt: skip
def test_zero_points_are_stored_values(dtype: str, low: int, high: int) -> None:
    for zero in (low, high):
        assert affine("y", dtype, 0.5, zero) == nl.Quantization(0.5, zero)
    for zero in (low - 1, high + 1):
        with pytest.raises(nl.NpuLayoutError, match=f"^y: zero point {zero} is outside {dtype} .{low} to {high}."):
            affine("y", dtype, [0.5, 0.25], [low, zero], axis=0)


def test_text_ends_at_the_first_zero_byte() -> None:
    assert text(b"heat\0\0rest") == "heat" and text("heat") == "heat"
    assert text(b"\xff") == "\N{REPLACEMENT CHARACTER}"


def test_structs_within_structs_and_null_pointers() -> None:
    class Inner(ctypes.Structure):
        _fields_ = (("scale", ctypes.c_float),)

    class Outer(ctypes.Structure):
        _fields_ = (("inner", ctypes.POINTER(Inner)), ("own", Inner))

    inner = Inner(0.5)
    attr = Metadata("some attr", Outer(ctypes.pointer(inner), Inner(0.25)))
    pointed, own = attr.part("inner"), attr.part("own")
    assert pointed is not None and pointed.what == "some attr inner" and pointed.read("scale", float) == 0.5
    assert own is not None and own.read("scale", float) == 0.25
    assert Metadata("some attr", Outer()).part("inner") is None and attr.part("absent") is None


def test_names_of_enums() -> None:
    class Printed:
        def __str__(self) -> str:
            return "Kind.int8"

    names = ("FLOAT", "INT8")
    for given in (1, np.int32(1), "INT8", "int8", "ANY_INT8", SimpleNamespace(name="ANY_INT8"), Printed()):
        assert enum_name("kind", given, names, "ANY_") == "INT8", given
    assert enum_name("kind", 7, {7: "SEVEN"}) == "SEVEN" and enum_name("kind", "else", names) == "ELSE"
    with pytest.raises(nl.NpuLayoutError, match=re.escape("kind 2: expected 0..1 (FLOAT, INT8)")):
        enum_name("kind", 2, names)
    with pytest.raises(nl.NpuLayoutError, match=re.escape("kind 2: expected one of 1, 7 (ONE, SEVEN)")):
        enum_name("kind", 2, {1: "ONE", 7: "SEVEN"})
    with pytest.raises(nl.NpuLayoutError, match="kind 'X': expected one of A, B"):
        known("kind", "X", {"B": "b", "A": "a"})


def test_strides_in_bytes() -> None:
    assert element_strides("y", "steps", [256, 64, 16, 4], [2, 4, 3, 5], 4) == [64, 16, 4, 1]
    assert element_strides("y", "steps", [0, 64, -16, 4], [1, 4, 3, 5], 4) == [60, 16, -4, 1]
    assert element_strides("y", "steps", [96, 64, 16, 4], [1, 4, 3, 5], 4)[0] == 24
    with pytest.raises(nl.LayoutError, match=r"y: steps .64, 18, 4. are bytes: expected multiples of the 4 bytes"):
        element_strides("y", "steps", [64, 18, 4], [4, 3, 5], 4)
    spec = nl.TensorSpec((2, 3), "NC", "int16")
    assert check_bytes("y", "size", 12, spec) is check_bytes("y", "size", 0, spec) is spec
    with pytest.raises(nl.LayoutError, match=r"y: size is 13 bytes, but layout NC of .2,3. int16 needs 12"):
        check_bytes("y", "size", 13, spec)
    assert (itemsize_of("bfloat16"), itemsize_of("float64"), itemsize_of("int4")) == (2, 8, 1)


def test_pointers_to_structs_are_followed() -> None:
    class Attr(ctypes.Structure):
        _fields_ = (("count", ctypes.c_uint32),)

    given = Attr(7)
    assert Metadata("some attr", ctypes.pointer(given)).whole("count") == 7
    with pytest.raises(nl.NpuLayoutError, match="some attr has no field 'count'; got None"):
        Metadata("some attr", ctypes.POINTER(Attr)()).whole("count")
    with pytest.raises(nl.NpuLayoutError, match="got a Attr_Array_2 of 2: give one of its items"):
        Metadata("some attr", (Attr * 2)()).whole("count")


def test_fields_that_were_printed() -> None:
    line = "  index=0, name=a b=c, n_dims = 4, dims=[1, 84 80,80], zp=-128, scale=0.003922, empty=, fmt=NCHW\n"
    assert fields_of(line) == {
        "index": 0, "name": "a b=c", "n_dims": 4, "dims": [1, 84, 80, 80], "zp": -128, "scale": "0.003922", "empty": "",
        "fmt": "NCHW",
    }  # fmt: skip
    assert fields_of("text") == {}


def test_shapes_are_sequences_or_structs() -> None:
    for given in ([1, 2, 3], (1, 2, 3), np.array([1, 2, 3]), (ctypes.c_int * 3)(1, 2, 3)):
        assert shape_of("some shape", given, "rank", "dims") == [1, 2, 3]
    assert shape_of("some shape", SimpleNamespace(rank=2, dims=[4, 5, 0]), "rank", "dims") == [4, 5]
    for rank in (0, 4, -1):
        with pytest.raises(nl.LayoutError, match=f"some shape: rank {rank}: expected 1 to 3"):
            shape_of("some shape", {"rank": rank, "dims": [4, 5, 0]}, "rank", "dims")
    with pytest.raises(nl.NpuLayoutError, match="some shape field 'shape'"):
        shape_of("some shape", [1, "x"], "rank", "dims")


def test_a_layout_has_as_many_letters_as_there_are_extents() -> None:
    check_axes("X 'y'", "layout NC", "NC", 2, "shape (1, 2)")
    with pytest.raises(nl.LayoutError, match=r"^X 'y': layout NC has 2 axes, but shape \(1, 2, 3\) has 3$"):
        check_axes("X 'y'", "layout NC", "NC", 3, "shape (1, 2, 3)")


def test_methods_of_text_are_no_fields() -> None:
    with pytest.raises(nl.NpuLayoutError, match="Hailo info has no field 'format'; got 'yolov5m"):
        nl.specs.from_hailo("yolov5m.hef")


def test_sizes_from_the_fastest_one_on() -> None:
    given, fields = Metadata("tensor", dict(size=[46, 45, 57, 1, 0, 0], count=4)), ("size", "count")
    shape, layout = outermost_first(given, "x", fields, None)
    assert shape == [1, 57, 45, 46] and layout == nl.Layout("NCHW")
    shape, layout = outermost_first(given, "x", fields, "NHWC")
    assert shape == [1, 57, 45, 46] and layout.axes == "NHWC"
    for count, letters, says in ((0, None, "count 0: expected 1 to 6"), (7, None, "count 7"), (4, "NHC", "has 3 axes")):
        with pytest.raises(nl.LayoutError, match=f"x: .*{says}"):
            outermost_first(Metadata("tensor", dict(size=[46, 45, 57, 1, 0, 0], count=count)), "x", fields, letters)


def test_a_field_that_raises() -> None:
    """As pyhailort's properties do that a stream of another kind has."""

    class Info:
        @property
        def shape(self) -> Any:
            raise RuntimeError("Format order has no shape")

    for default in ((), (None,)):
        with pytest.raises(nl.NpuLayoutError, match=r"^some info field 'shape': .* \(RuntimeError: Format order"):
            Metadata("some info", Info()).field("shape", *default)
    released = memoryview(b"abcd")
    released.release()
    with pytest.raises(nl.NpuLayoutError, match=r"field 'format': .* \(ValueError: operation forbidden on released"):
        nl.specs.from_hailo(released)


OPEN = {  # shapes whose order the metadata leaves open
    "hobot": lambda shape, **how: nl.specs.from_hobot(dict(validShape=shape, tensorType="F32"), **how),
    "openvino": lambda shape, **how: nl.specs.from_openvino(dict(names=["x"], shape=shape, element_type="f32"), **how),
    "sophgo": lambda shape, **how: nl.specs.from_sophgo(
        dict(output_names=["x"], output_dtypes=[0], output_scales=[1.0], stages=[dict(output_shapes=[shape])]), **how
    ),
    "axera": lambda shape, layout="UNKNOWN": nl.specs.from_axera(
        dict(pName="x", pShape=shape, nShapeSize=len(shape), eLayout=layout, eDataType="FLOAT32", nSize=0)
    ),
    "nnarchive": lambda shape, **how: nl.specs.from_nnarchive(dict(name="x", dtype="float32", shape=shape, **how)),
}


@pytest.mark.parametrize("reader", OPEN)
@pytest.mark.parametrize("shape", [(1, 80, 80, 255), (1, 224, 224, 3), (1, 480, 640, 3), (4, 20, 20, 1), (1, 8, 8, 64)])
def test_channels_that_seem_to_be_last_are_warned_of(reader: str, shape: tuple[int, ...]) -> None:
    with pytest.warns(UserWarning) as found:
        spec = OPEN[reader](list(shape))
    assert spec.axes == "NCHW" and spec.shape == shape and [one.filename for one in found] == [__file__]
    words = str(found[0].message)
    assert f"shape {shape}" in words and f"C={shape[1]}, H={shape[2]}, W={shape[3]}" in words and "'NHWC'" in words
    for layout in ("NHWC", "NCHW"):  # no warning, which would be an error here
        assert OPEN[reader](list(shape), layout=layout).axes == layout


@pytest.mark.parametrize("reader", OPEN)
@pytest.mark.parametrize(
    "shape",
    [
        *((1, 3, 224, 224), (1, 255, 80, 80), (1, 84, 8400, 1), (1, 1000, 1, 1), (1, 1, 1, 1000), (1, 64, 64, 64)),
        *((1, 17, 64, 48), (1, 3, 24, 94), (1, 1, 100, 7), (1, 8, 32, 3), (1, 84, 8400), (1, 3, 80, 80, 85), (80, 80)),
    ],
)
def test_nothing_is_said_of_other_shapes(reader: str, shape: tuple[int, ...]) -> None:
    axes = {2: "NC", 3: "NCW", 4: "NCHW", 5: "NCDHW"}[len(shape)]
    assert OPEN[reader](list(shape)).axes == axes


def _wide(letters: str) -> Any:
    """Return letters of two or four bytes each: their memory is no UTF-8."""
    return (ctypes.c_wchar * len(letters))(*letters)


def test_text_of_c(monkeypatch: pytest.MonkeyPatch) -> None:
    assert text((ctypes.c_byte * 4)(*b"ab\0c")) == "ab" and text(b"\xc3\xa9") == "\u00e9"
    pointer = type("CData", (), {"__module__": "_cffi_backend"})()
    monkeypatch.setitem(
        sys.modules, "_cffi_backend", SimpleNamespace(string=lambda given: b"heat" * (given is pointer))
    )
    assert text(pointer) == "heat"
    assert text((ctypes.c_char * 5)(*b"heat")) == "heat" and text((ctypes.c_ubyte * 2)(*b"a\0")) == "a"
    for other in (3, None, ["a"], object(), (ctypes.c_int * 2)(104, 0), (ctypes.c_float * 1)(1.0), _wide("heat")):
        with pytest.raises(TypeError, match="expected text"):
            text(other)


def test_a_printed_name_of_digits_is_text() -> None:
    line = "index=0, name=495, n_dims=2, dims=[1, 5], fmt=[x"
    assert fields_of(line, {"name"})["name"] == "495" and fields_of(line)["name"] == 495
    attr = "index=0, name=495, n_dims=4, dims=[1, 5, 3, 3], fmt=NCHW, type=INT8, qnt_type=AFFINE, zp=-3, scale=0.1"
    assert nl.specs.from_rknn(attr, target="rk3588").name == "495"


def test_lines_of_several_tensors_are_not_mixed() -> None:
    """The last one's fields were taken, in silence."""
    line = "  index=0, name=a, n_dims=4, dims=[1, 5, 3, 3], fmt=NCHW, type=INT8, qnt_type=AFFINE, zp=-3, scale=0.1\n"
    assert nl.specs.from_rknn(line).name == "a"
    with pytest.raises(nl.NpuLayoutError, match=r"^index=0 and index=1: expected the line of one tensor, got several$"):
        nl.specs.from_rknn(line + line.replace("index=0", "index=1"))
