"""Make a TensorSpec from AXERA's AX_ENGINE_IO_META_T."""

from __future__ import annotations

from typing import Any

from ..buffers import TensorSpec, axes_of_rank
from ..errors import LayoutError
from ..layouts import Layout
from ..support import checked_call, text_of
from .metadata import Metadata, check_bytes, dtype_of, element_strides, enum_name, extents_of, first, itemsize_of, text

# ax_engine_type.h: AX_ENGINE_TENSOR_LAYOUT_T, AX_ENGINE_DATA_TYPE_T, AX_ENGINE_COLOR_SPACE_T, by number
_LAYOUTS = ("UNKNOWN", "NHWC", "NCHW")
_TYPES = {
    **{0: "UNKNOWN", 1: "UINT8", 2: "UINT16", 3: "FLOAT32", 4: "SINT16", 5: "SINT8", 6: "SINT32", 7: "UINT32"},
    **{8: "FLOAT64", 9: "BFLOAT16", 100: "UINT10_PACKED", 101: "UINT12_PACKED", 102: "UINT14_PACKED"},
    103: "UINT16_PACKED",
}
_DTYPES = {
    name: name.lower().replace("sint", "int")
    for name in _TYPES.values()
    if name != "UNKNOWN" and not name.endswith("PACKED")
}
_COLORS = {
    **{0: "FEATUREMAP", 1: "RAW10", 2: "RAW12", 3: "RAW16", 4: "NV12", 5: "NV21", 6: "RGB", 7: "BGR", 8: "RGBA"},
    **{9: "GRAY", 10: "YUV444", 11: "RAW14", 12: "RAW8"},
}
_TENSORS = {"FEATUREMAP", "RGB", "BGR", "RGBA", "GRAY", "YUV444", "RAW8", "RAW16"}


@checked_call
def from_axera(meta: Any, *, name: str = "") -> TensorSpec:
    """Return the spec of an input or output in AXERA's runtime: dense, or with the pitches in pStride.

    Parameters
    ----------
    meta
        An AX_ENGINE_IO_META_T (ax_engine_type.h; declared in github.com/AXERA-TECH/pyaxengine, axengine/
        _axe_capi.py), or a mapping: pName, pShape, nShapeSize, eLayout, eDataType, nSize in bytes, pStride in bytes,
        pExtraMeta with eColorSpace. Enums are numbers or names; a null pStride or pExtraMeta is None. Of pStride
        nothing but the declaration was found: that its unit is bytes is an assumption, which nSize checks. If eLayout
        is UNKNOWN, axes are N, NC, NCW, NCHW or NCDHW, with a warning if channels are last by the look of the shape.
    name
        The tensor's name, if pName is a pointer that only its own library reads.

    Returns
    -------
    TensorSpec with the axes in the order of pShape. A picture in RGB or BGR has `channels`, if it has three.

    Raises
    ------
    NpuLayoutError
        On a missing field and an unknown enum; LayoutError on pictures of several planes (for FrameSpec), packed
        types, and fields that contradict each other.

    Examples
    --------
    >>> meta = dict(pName="x", pShape=[1, 8, 6, 3], nShapeSize=4, eLayout=1, eDataType=1, nSize=144)
    >>> from_axera({**meta, "pExtraMeta": dict(eColorSpace=7)})
    TensorSpec((1, 8, 6, 3), 'NHWC', 'uint8', axes='NHWC', name='x', channels='BGR')
    """
    given = Metadata("AXERA meta", meta)
    name = text_of("name", name) or _name(given)
    what = f"AXERA tensor {name!r}"
    shape = _numbers(given, "pShape", given.whole("nShapeSize", -1), what)
    color = _color(given, what)
    dtype = dtype_of("AXERA eDataType", given.field("eDataType"), _TYPES, _DTYPES, "AX_ENGINE_DT_")
    order = enum_name("AXERA eLayout", given.field("eLayout", 0), _LAYOUTS, "AX_ENGINE_TENSOR_LAYOUT_")
    if order not in _LAYOUTS:
        raise LayoutError(f"{what}: eLayout {order}: expected one of {', '.join(_LAYOUTS)}")
    said = len(shape) == 4 and order in _LAYOUTS[1:]
    axes = order if said else axes_of_rank(what, shape, "the metadata an eLayout 'NHWC'")
    steps = None
    if given.read("pStride", bool, False):  # a null pointer is false
        found = _numbers(given, "pStride", len(shape), what)
        steps = element_strides(what, "pStride", found, shape, itemsize_of(dtype)) if any(found) else None
    channels = color if color in ("RGB", "BGR") and dict(zip(axes, shape)).get("C") == 3 else None
    size = given.whole("nSize", 0)
    spec = TensorSpec(shape, Layout.plain(axes), dtype, storage_strides=steps, name=name, channels=channels)
    if steps is None or size < spec.nbytes:
        return check_bytes(what, "nSize", size, spec)
    if size % itemsize_of(dtype):
        raise LayoutError(f"{what}: nSize {size} is not a multiple of the {itemsize_of(dtype)} bytes of {dtype}")
    return spec.replace(size=size // itemsize_of(dtype))


def _name(given: Metadata) -> str:
    """Return pName as text; "" of a pointer."""
    name = given.field("pName", given.field("name", ""))
    return text(name) if isinstance(name, (str, bytes)) else ""


def _numbers(given: Metadata, field: str, count: int, what: str) -> list[int]:
    """Return the numbers of a sequence or a pointer, `count` of them; -1: all of a sequence."""
    if count == 0 or count < -1 or count > 32:
        raise LayoutError(f"{what}: nShapeSize {count}: expected 1 to 32")
    return extents_of(given.what, field, given.read(field, first(count)))


def _color(given: Metadata, what: str) -> str:
    """Return the colour space, if it is one of tensors."""
    extra = given.part("pExtraMeta")
    if extra is None:
        return "FEATUREMAP"
    said = extra.field("eColorSpace", 0)
    color = enum_name("AXERA eColorSpace", said, _COLORS, "AX_ENGINE_CS_")
    if color not in _TENSORS:
        raise LayoutError(f"{what}: {color} is a picture of several planes or packed samples: use FrameSpec")
    return color
