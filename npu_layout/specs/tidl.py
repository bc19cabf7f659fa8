"""Make a TensorSpec from TI TIDL's sTIDL_IOBufDesc_t."""

from __future__ import annotations

from typing import Any

from ..buffers import Quantization, TensorSpec
from ..errors import LayoutError
from ..layouts import Layout
from ..support import checked_call, one_of, whole_number
from .metadata import LISTED, Metadata, affine, converted, dtype_of, enum_name, text, whole_of

# itidl_io.h: eTIDL_ElementType and eTIDL_TensorLayout, by number
_TYPES = (
    *("UNSIGNEDCHAR", "SIGNEDCHAR", "UNSIGNEDSHORT", "SIGNEDSHORT", "UNSIGNEDWORD", "SIGNEDWORD", "SINGLEPRECFLOAT"),
    *("UNSIGNEDDOUBLEWORD", "SIGNEDDOUBLEWORD"),
)
_DTYPES = dict(
    zip(_TYPES, ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "uint64", "int64")),
)
_LAYOUTS = ("NCHW", "NHWC")
_PREFIXES = {"input": "in", "output": "out"}
_MOST = 1 << 16  # buffers of a descriptor


@checked_call
def from_tidl(desc: Any, *, side: str = "output", index: int = 0) -> TensorSpec:
    """Return the spec of a buffer in TI's TIDL-RT: planes at their pitches, with a border around each plane.

    Parameters
    ----------
    desc
        A sTIDL_IOBufDesc_t (itidl_io.h; the file of the model's artifacts whose name ends in io_1.bin), or a mapping:
        outWidth, outHeight, outNumChannels, outPadL, outPadT, outPadR, outPadB, outElementType, and, if there are any,
        outDIM1, outDIM2, outNumBatches, outPadCh, outChannelPitch, outTensorScale, outZeroPoint, outLayout, outBufSize
        in elements, outDataName; and the same fields with "in" in place of "out". Each field is an array with an item
        for each buffer, or the number of a single buffer.
    side
        "input" or "output".
    index
        Which input or output: 0 is the first.

    Returns
    -------
    TensorSpec with the axes NCHW; NABCHW if DIM1 or DIM2, which become A and B, is not 1. The first element is padT
    rows and padL elements behind the buffer's beginning, as in TI's own copies (cp_data_in_tidlrt_tensor of its
    TIDL-RT; the document of the format adds the two). ``real = (q - zeroPoint) / tensorScale``; scale 1 with zero
    point 0 is no quantization: the integers are the values.

    Raises
    ------
    NpuLayoutError
        On a missing field and an unknown enum; LayoutError on channels last, whose pitches were not found, a scale that
        is not positive, and fields that contradict each other.

    Examples
    --------
    >>> border = dict(outPadL=1, outPadT=2, outPadR=1, outPadB=2)
    >>> desc = dict(outWidth=46, outHeight=46, outNumChannels=57, outElementType=1, outTensorScale=32.0, **border)
    >>> spec = from_tidl(desc)
    >>> spec.offset(0, 0, 0, 0), spec.storage_strides, spec.quantization
    (97, (136800, 2400, 48, 1), Quantization(0.03125, 0))
    """
    prefix, place = _PREFIXES[one_of("side", side, tuple(_PREFIXES))], whole_number("index", index)
    given = Metadata("TIDL desc", desc)
    count = given.whole({"in": "numInputBuf", "out": "numOutputBuf"}[prefix], _MOST)
    if not 0 <= place < min(count, _MOST):
        raise LayoutError(f"TIDL index {index}: expected 0 to {count - 1}, as many {side}s as there are")
    one = _DescribedBuffer(given, prefix, place)
    name = _name(one)
    what = f"TIDL {side} {name!r}"
    dtype = dtype_of("TIDL element type", one.value("ElementType"), _TYPES, _DTYPES, "TIDL_")
    order = enum_name("TIDL layout", one.value("Layout", 0), _LAYOUTS, "TIDL_LT_")
    if order not in _LAYOUTS[:1]:
        raise LayoutError(f"{what}: layout {order}: expected NCHW; the pitches of channels last were not found")
    return TensorSpec(dtype=dtype, quantization=_quantization(one, what, dtype), name=name, **_places(one, what))


class _DescribedBuffer:
    """The fields of one buffer of a descriptor."""

    def __init__(self, given: Metadata, prefix: str, index: int) -> None:
        self.given, self.prefix, self.index = given, prefix, index

    def value(self, field: str, default: Any = None) -> Any:
        """Return a field's value for this buffer; without a `default` the field has to be there."""
        name = self.prefix + field
        found = self.given.field(name) if default is None else self.given.field(name, default)
        if isinstance(found, LISTED):
            return self.given.read(name, lambda every: every[self.index])
        if self.index and found is not default:
            raise LayoutError(f"TIDL {name} is the number of one buffer; index {self.index}: expected 0")
        return found

    def whole(self, field: str, default: int | None = None) -> int:
        """Return it as an int."""
        return whole_of(self.given.what, field, self.value(field, default))


def _places(one: _DescribedBuffer, what: str) -> dict[str, Any]:
    """Return the arguments of TensorSpec that say where elements are."""
    shape = [one.whole(field, 1) for field in ("NumBatches", "DIM1", "DIM2")]
    shape += [one.whole(field) for field in ("NumChannels", "Height", "Width")]
    pads = [one.whole(f"Pad{edge}", 0) for edge in ("L", "T", "R", "B", "Ch")]
    if min(shape) < 1 or min(pads) < 0:
        raise LayoutError(f"{what}: extents {shape} and pads {pads}: expected 1 or more, and 0 or more")
    _, first, second, channels, height, width = shape
    left, top, right, bottom, more = pads
    line = left + width + right
    plane = one.whole("ChannelPitch", 0) or line * (top + height + bottom)
    group = plane * (channels + more)
    strides = [group * second * first, group * second, group, plane, line, 1]
    kept = [0, 3, 4, 5] if first == second == 1 else [*range(6)]
    return {
        "shape": [shape[i] for i in kept],
        "layout": Layout.plain("".join("NABCHW"[i] for i in kept)),
        "storage_strides": [strides[i] for i in kept],
        "storage_offset": top * line + left,
        "size": one.whole("BufSize", 0) or shape[0] * strides[0],
    }


def _name(one: _DescribedBuffer) -> str:
    """Return the tensor's name, which the struct has as signed bytes."""
    name: str = converted(one.given.what, f"{one.prefix}DataName", one.value("DataName", ""), text)
    return name


def _quantization(one: _DescribedBuffer, what: str, dtype: str) -> Quantization | None:
    """Return what integers mean; None if they are the values."""
    scale = converted(one.given.what, "TensorScale", one.value("TensorScale", 1.0), float)
    zero = one.whole("ZeroPoint", 0)
    if "float" in dtype or (scale == 1 and not zero):
        return None
    if not scale > 0:
        raise LayoutError(f"{what}: tensor scale {scale}: expected a positive number")
    return affine(what, dtype, 1.0 / scale, zero)
