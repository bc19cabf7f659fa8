"""Make a TensorSpec from Qualcomm QNN's Qnn_Tensor_t."""

from __future__ import annotations

from typing import Any

from ..buffers import Quantization, TensorSpec
from ..errors import LayoutError
from ..layouts import Layout
from ..support import checked_call, text_of
from .metadata import CHANNELS_LAST, Metadata, affine, check_axes, enum_name, extents_of, known, text

# QnnTypes.h: Qnn_DataType_t. The low byte is the width in decimal digits, the high one the kind.
_KINDS = {0: "INT", 1: "UINT", 2: "FLOAT", 3: "SFIXED_POINT", 4: "UFIXED_POINT", 5: "BOOL"}
_TYPES = {
    (kind << 8) + int(str(bits), 16): f"{name}_{bits}"
    for kind, name in _KINDS.items()
    for bits in (4, 8, 16, 32, 64)
    if (bits > 4 or "FIXED" in name) and (bits == 8 or name != "BOOL")
}
_NUMPY = {"INT": "int", "UINT": "uint", "FLOAT": "float", "SFIXED_POINT": "int", "UFIXED_POINT": "uint"}
_DTYPES = {
    name: "bool" if name == "BOOL_8" else _NUMPY[name.rpartition("_")[0]] + name.rpartition("_")[2]
    for name in _TYPES.values()
    if name not in ("FLOAT_8", "SFIXED_POINT_4", "UFIXED_POINT_4", "SFIXED_POINT_64", "UFIXED_POINT_64")
}
_ENCODINGS = ("SCALE_OFFSET", "AXIS_SCALE_OFFSET", "BW_SCALE_OFFSET", "BW_AXIS_SCALE_OFFSET")
_DEFINITIONS = {0: "IMPL_GENERATED", 1: "DEFINED", 0x7FFFFFFF: "UNDEFINED"}


@checked_call
def from_qnn(tensor: Any, *, axes: str | None = None) -> TensorSpec:
    """Return the spec of an input or output of a QNN graph: dense, in the order of its dimensions.

    Parameters
    ----------
    tensor
        A Qnn_Tensor_t's v1 or v2 (QAIRT SDK, include/QNN/QnnTypes.h), or an item of graphInputs and graphOutputs in
        the JSON of qnn-context-binary-utility (or its "info"): name, dimensions, rank, dataType (a number or a name),
        dataFormat, quantizeParams with encodingDefinition (JSON: definition), quantizationEncoding, and
        scaleOffsetEncoding (JSON: scaleOffset), axisScaleOffsetEncoding (JSON: axisScaleOffset) or those for a
        bitwidth. ``real = (q + offset) * scale``.
    axes
        The letters of the dimensions, which QNN does not report. None: channels last (NWC, NHWC, NDHWC), as QNN's own
        operations have them; a model that was converted with its ONNX layout preserved needs "NCHW".

    Returns
    -------
    TensorSpec with the axes in the order of dimensions.

    Raises
    ------
    NpuLayoutError
        On a missing field and an unknown enum; LayoutError on compressed formats, 4-bit types, and fields that
        contradict each other.

    Examples
    --------
    >>> how = dict(definition="DEFINED", quantizationEncoding="SCALE_OFFSET", scaleOffset=dict(scale=0.5, offset=-41))
    >>> from_qnn(dict(name="y", dimensions=[1, 4, 6, 5], dataType="QNN_DATATYPE_UFIXED_POINT_8", quantizeParams=how))
    TensorSpec((1, 4, 6, 5), 'NHWC', 'uint8', axes='NHWC', quantization=Quantization(0.5, 41), name='y')
    """
    given = Metadata("QNN tensor", tensor)
    inner = given.field("info", None)
    if inner is not None and given.field("dimensions", None) is None:
        given = Metadata("QNN tensor", inner)
    name = given.read("name", text, "")
    what = f"QNN tensor {name!r}"
    dims = _dims(given, what)
    flat = enum_name("QNN dataFormat", given.field("dataFormat", 0), {0: "FLAT_BUFFER"}, "QNN_TENSOR_DATA_FORMAT_")
    if flat not in ("FLAT_BUFFER", "DENSE"):
        raise LayoutError(f"{what}: dataFormat {flat}: expected FLAT_BUFFER; other formats have no layout here")
    kind = enum_name("QNN dataType", given.field("dataType"), _TYPES, "QNN_DATATYPE_")
    dtype = known("QNN dataType", kind, _DTYPES)
    letters = (
        text_of("axes", axes) if axes is not None else CHANNELS_LAST.get(len(dims)) or Layout.of_rank(len(dims)).axes
    )
    check_axes(what, f"axes {letters!r}", letters, len(dims), f"dimensions {dims}")
    quantization = _quantization(given, what, dtype, len(dims))
    if quantization is not None and "FIXED_POINT" not in kind:
        raise LayoutError(f"{what}: {kind} with a scale: expected a fixed-point type, which the scale belongs to")
    return TensorSpec(dims, Layout.plain(letters), dtype, quantization=quantization, name=name)


def _dims(given: Metadata, what: str) -> list[int]:
    rank = given.field("rank", None)
    dimensions = given.field("dimensions")
    if rank is not None and not isinstance(dimensions, (list, tuple)):  # a pointer of ctypes has no length
        dimensions = given.read("dimensions", lambda pointer: pointer[: given.whole("rank")])
    dims = extents_of(given.what, "dimensions", dimensions) or [1]
    if rank is not None and given.whole("rank") not in (len(dims), 0):
        raise LayoutError(f"{what}: rank is {rank}, but there are {len(dims)} dimensions: {dims}")
    return dims


def _quantization(given: Metadata, what: str, dtype: str, rank: int) -> Quantization | None:
    """Return what quantizeParams defines; None if it defines nothing."""
    params = given.part("quantizeParams")
    if params is None:
        return None
    defined = params.field("encodingDefinition", params.field("definition", 0x7FFFFFFF))
    if enum_name("QNN definition", defined, _DEFINITIONS, "QNN_DEFINITION_") != "DEFINED":
        return None
    encoding = params.field("quantizationEncoding")
    name = enum_name("QNN quantizationEncoding", encoding, _ENCODINGS, "QNN_QUANTIZATION_ENCODING_")
    if name not in _ENCODINGS:
        raise LayoutError(f"{what}: quantizationEncoding {name}: expected one of {', '.join(_ENCODINGS)}")
    words = name.lower().split("_")
    field = words[0] + "".join(word.capitalize() for word in words[1:])
    part = params.part(f"{field}Encoding") or params.part(field)
    if part is None:
        raise LayoutError(f"{what}: quantizationEncoding is {name}, but quantizeParams has no {field}Encoding")
    bits = part.whole("bitwidth", 0)
    if bits and bits != int("".join(c for c in dtype if c.isdigit()) or 0):
        raise LayoutError(f"{what}: bitwidth {bits} of {dtype}: values in the low bits of an element are not read here")
    if "AXIS" not in name:
        return affine(what, dtype, part.read("scale", float), -part.whole("offset"))
    scales, offsets = _by_axis(part, what)
    axis = part.whole("axis")
    if not 0 <= axis < rank:
        raise LayoutError(f"{what}: quantization axis {axis}: expected 0 to {rank - 1}")
    return affine(what, dtype, scales, [-offset for offset in offsets], axis)


def _by_axis(part: Metadata, what: str) -> tuple[list[float], list[int]]:
    """Return the scales and offsets along an axis; there are as many as the count says."""
    listed = "scaleOffset" if part.field("scaleOffset", None) is not None else "scaleOffsets"
    if part.field(listed, None) is None:  # Qnn_BwAxisScaleOffset_t
        count = part.whole("numElements")
        scales = part.read("scales", lambda given: [float(s) for s in given[:count]])
        offsets = part.field("offsets", None)
        zeros = [0] * count if offsets is None else extents_of(part.what, "offsets", offsets[:count])
    else:
        count = part.whole("numScaleOffsets", -1)
        pairs = part.read(listed, lambda given: list(given if count < 0 else given[:count]))
        count = len(pairs) if count < 0 else count
        each = [Metadata(f"{part.what} {listed}", pair) for pair in pairs]
        scales, zeros = [one.read("scale", float) for one in each], [one.whole("offset") for one in each]
    if not len(scales) == len(zeros) == count or not count:
        raise LayoutError(f"{what}: {len(scales)} scales and {len(zeros)} offsets: expected {count} of each")
    return scales, zeros
