"""Make a TensorSpec from Horizon's and D-Robotics' hbDNNTensorProperties."""

from __future__ import annotations

from typing import Any

from ..buffers import Quantization, TensorSpec, axes_of_rank
from ..errors import LayoutError, NpuLayoutError
from ..layouts import Layout
from ..support import checked_call, text_of
from .metadata import (
    Metadata,
    affine,
    check_axes,
    converted,
    element_strides,
    enum_name,
    extents_of,
    first,
    itemsize_of,
    known,
    shape_of,
    text,
)

# dnn/hb_dnn.h: hbDNNDataType. Headers with alignedShape (X3, J5, X5) count pictures first, those without (S100) not.
_PICTURES = ("Y", "NV12", "NV12_SEPARATE", "YUV444", "RGB", "BGR")
_TENSORS = ("S4", "U4", "S8", "U8", "F16", "S16", "U16", "F32", "S32", "U32", "F64", "S64", "U64", "BOOL8")
_DTYPES = {
    "BOOL8": "bool",
    **{f"S{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"U{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"F{bits}": f"float{bits}" for bits in (16, 32, 64)},
}
_PIXELS = {"RGB", "BGR", "YUV444", "Y"}  # pictures of one plane: uint8
_LAYOUTS = {0: "NHWC", 2: "NCHW", 255: "NONE"}  # hbDNNTensorLayout
_QUANTIZATIONS = ("NONE", "SHIFT", "SCALE"), ("NONE", "SCALE")


@checked_call
def from_hobot(properties: Any, *, layout: str | None = None, name: str = "") -> TensorSpec:
    """Return the spec of a tensor in Horizon's or D-Robotics' runtime, padded as its stride or alignedShape says.

    Parameters
    ----------
    properties
        A hbDNNTensorProperties (D-Robotics' and Horizon's SDK, include/dnn/hb_dnn.h), or a mapping: validShape and
        alignedShape (structs with dimensionSize and numDimensions, or sequences), tensorLayout, tensorType,
        quantiType, scale (scaleLen, scaleData, zeroPointLen, zeroPointData), shift (shiftLen, shiftData), quantizeAxis,
        stride in bytes, alignedByteSize. Enums are numbers or names. The numbers of tensorType differ between chips:
        with alignedShape they count as those of X3, J5 and X5, where pictures come first; without it as those of S100.
        Or the properties of a pyDNNTensor of hobot_dnn.pyeasy_dnn (model.outputs[0].properties: shape, layout, dtype,
        tensor_type, and scale_data, which floats and pictures may lack), whose `buffer` is dense. Or what has such
        properties in a field of that name: a pyDNNTensor, a hbDNNTensor.
    layout
        The letters of validShape, if tensorLayout is NONE or missing, such as "NHWC". None: N, NC, NCW, NCHW or NCDHW
        by its rank, with a warning if channels are last by the look of it.
    name
        The tensor's name: hbDNNGetInputName, hbDNNGetOutputName.

    Returns
    -------
    TensorSpec with the axes in the order of validShape; RGB and BGR pictures are uint8, with `channels`.

    Raises
    ------
    NpuLayoutError
        On a missing field and an unknown enum; LayoutError on pictures of several planes (for FrameSpec), 4-bit types,
        strides that are not known yet (-1), and fields that contradict each other.

    Examples
    --------
    >>> says = dict(validShape=[1, 4, 6, 5], tensorType="F32", stride=[1024, 256, 32, 4], alignedByteSize=1024)
    >>> from_hobot(says, layout="NHWC").storage_strides
    (256, 64, 8, 1)
    """
    tensor = Metadata("Hobot tensor", properties)
    own = tensor.field("properties", None)
    given = _of_pyeasy_dnn(Metadata("Hobot properties", properties if own is None else own))
    name, layout = text_of("name", name), None if layout is None else text_of("layout", layout)
    what = f"Hobot tensor {name!r}"
    shape = _shape(given, "validShape")
    old = given.field("alignedShape", None) is not None
    kind, dtype = _type(given, what, old)
    axes = _axes(given, what, shape, layout)
    size = itemsize_of(dtype)
    places = _places(given, what, shape, size)
    whole = given.whole("alignedByteSize", 0)
    if whole % size or whole < 0:
        raise LayoutError(f"{what}: alignedByteSize {whole} is not a multiple of the {size} bytes of {dtype}")
    return TensorSpec(
        shape,
        Layout.plain(axes),
        dtype,
        quantization=_quantization(given, what, dtype, len(shape), old),
        **places,
        size=whole // size or None,
        name=name,
        channels=kind if kind in ("RGB", "BGR") else None,
    )


def _of_pyeasy_dnn(given: Metadata) -> Metadata:
    """Return the properties of a pyDNNTensor as fields of hbDNNTensorProperties; other metadata as it is.

    Its scales are those of the axis C if there are several (D-Robotics/rdk_model_zoo, the Python demos of the RDK X5).
    Of a tensor without scales scale_data is empty; the manual does not list it, so that it may be missing.
    """
    said = given.field("scale_data", None)
    listed = all(given.field(name, None) is not None for name in ("tensor_type", "dtype", "layout", "shape"))
    if given.field("validShape", None) is not None or (said is None and not listed):
        return given
    axes, kind = given.read("layout", text), given.read("tensor_type", text, "")
    dtype = given.read("dtype", text).lower()
    types = {name: word for word, name in _DTYPES.items()}
    fields = {
        "validShape": given.field("shape"),
        "tensorLayout": axes,
        "tensorType": kind if kind in _PICTURES else known("Hobot dtype", dtype, types),
    }
    if said is None and kind not in _PICTURES and not dtype.startswith("float"):
        raise NpuLayoutError(
            f"{given.what} of {dtype} have no scale_data: expected the scales, which say what its integers mean, or [] "
            f"if they are values as they are; give them with the other fields as a mapping"
        )
    scales = given.read("scale_data", lambda data: [float(v) for v in data], ())
    if scales:
        scale = {"scaleLen": len(scales), "scaleData": scales}
        fields.update(quantiType="SCALE", scale=scale, quantizeAxis=max(axes.find("C"), 0))
    return Metadata(given.what, fields)


def _shape(given: Metadata, field: str) -> list[int]:
    return shape_of(f"Hobot {field}", given.field(field), "numDimensions", "dimensionSize")


def _type(given: Metadata, what: str, old: bool) -> tuple[str, str]:
    """Return the name of the tensor's type, without prefix, and its dtype."""
    names = (*_PICTURES, *_TENSORS) if old else _TENSORS
    kind = enum_name("Hobot tensorType", given.field("tensorType"), names, "HB_DNN_TENSOR_TYPE_")
    kind = kind[len("HB_DNN_IMG_TYPE_") :] if kind.startswith("HB_DNN_IMG_TYPE_") else kind
    if kind in _PICTURES and kind not in _PIXELS:
        raise LayoutError(
            f"{what}: {kind} is a picture of several planes, which no layout describes: give FrameSpec to "
            "a Preprocessor as its target, as in FrameSpec('NV12', (width, height))"
        )
    if kind in _PIXELS:
        return kind, "uint8"
    return kind, known("Hobot tensorType", kind, _DTYPES)


def _axes(given: Metadata, what: str, shape: list[int], layout: str | None) -> str:
    """Return the letters of validShape: tensorLayout's, or `layout`, or those of the rank."""
    said = given.field("tensorLayout", None)
    found = "NONE" if said is None else enum_name("Hobot tensorLayout", said, _LAYOUTS, "HB_DNN_LAYOUT_")
    if found == "NONE":
        axes = layout or axes_of_rank(what, shape)
    elif layout not in (None, found):
        raise LayoutError(f"{what}: layout= is {layout!r}, but tensorLayout is {found}")
    else:
        axes = found
    check_axes(what, f"layout {axes}", axes, len(shape), "validShape")
    return axes


def _places(given: Metadata, what: str, shape: list[int], itemsize: int) -> dict[str, Any]:
    """Return storage_shape or storage_strides: of stride, where there is one that is not all zeros, or alignedShape."""
    if given.field("stride", None) is not None:
        steps = given.extents("stride")[: len(shape)]
        if any(step < 0 for step in steps):
            raise LayoutError(f"{what}: stride {steps} is -1 where you have to choose it: fill it in first")
        if any(steps):
            return {"storage_strides": element_strides(what, "stride", steps, shape, itemsize)}
    if given.field("alignedShape", None) is not None:
        aligned = _shape(given, "alignedShape")
        if len(aligned) != len(shape):
            raise LayoutError(f"{what}: alignedShape {aligned} and validShape {shape} have different ranks")
        return {"storage_shape": aligned}
    return {}


def _quantization(given: Metadata, what: str, dtype: str, rank: int, old: bool) -> Quantization | None:
    said = given.field("quantiType", 0)
    kind = enum_name("Hobot quantiType", said, _QUANTIZATIONS[0 if old or _shifts(given) else 1])
    if kind not in _QUANTIZATIONS[0]:
        raise LayoutError(f"{what}: quantiType {kind}: expected NONE, SHIFT or SCALE")
    if kind == "NONE":
        return None
    part = given.part(kind.lower())
    if part is None:
        raise LayoutError(f"{what}: quantiType is {kind}, but there is no {kind.lower()}")
    field = kind.lower()
    values = converted(part.what, field, _data(part, field, what), lambda data: [float(v) for v in data])
    axis = given.whole("quantizeAxis", -1) if len(values) > 1 else None
    if axis is not None and not 0 <= axis < rank:
        raise LayoutError(f"{what}: {len(values)} {field}s with quantizeAxis {axis}: expected 0 to {rank - 1}")
    if kind == "SHIFT":
        return Quantization.from_dfp(values if axis is not None else values[0], axis)
    zeros = extents_of(part.what, "zeroPointData", _data(part, "zeroPoint", what, 0)) or [0]
    if len(zeros) not in (1, len(values)):
        raise LayoutError(f"{what}: zeroPointLen {len(zeros)}: expected 0, 1 or {len(values)}, as scaleLen")
    return affine(what, dtype, values if axis is not None else values[0], zeros if axis is not None else zeros[0], axis)


def _shifts(given: Metadata) -> bool:
    return given.field("shift", None) is not None


def _data(part: Metadata, field: str, what: str, default: int | None = None) -> list[Any]:
    """Return the numbers of a pointer and its length: scaleData and scaleLen."""
    count = part.whole(f"{field}Len") if default is None else part.whole(f"{field}Len", default)
    if not count and default is not None:
        return []
    if not 0 < count <= 1 << 20:
        raise LayoutError(f"{what}: {field}Len {count}: expected 1 or more")
    values: list[Any] = part.read(f"{field}Data", first(count))
    return values
