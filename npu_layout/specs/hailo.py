"""Make a TensorSpec from HailoRT's description of a stream."""

from __future__ import annotations

from typing import Any

from ..buffers import Quantization, TensorSpec
from ..errors import LayoutError, NpuLayoutError
from ..layouts import Layout
from ..support import checked_call, flag, shown
from .metadata import LISTED, Metadata, affine, enum_name, itemsize_of, known, text, whole_of

# hailort.h: hailo_format_type_t and hailo_format_order_t, by number
_TYPES = ("AUTO", "UINT8", "UINT16", "FLOAT32")
_DTYPES = {"UINT8": "uint8", "UINT16": "uint16", "FLOAT32": "float32"}
_ORDER_NAMES = (
    *("AUTO", "NHWC", "NHCW", "FCR", "F8CR", "NHW", "NC", "BAYER_RGB", "12_BIT_BAYER_RGB", "HAILO_NMS", "RGB888"),
    *("NCHW", "YUY2", "NV12", "NV21", "HAILO_YYUV", "HAILO_YYVU", "RGB4", "I420", "HAILO_YYYYUV"),
    *("HAILO_NMS_WITH_BYTE_MASK", "HAILO_NMS_ON_CHIP", "HAILO_NMS_BY_CLASS", "HAILO_NMS_BY_SCORE"),
)
_HOST = {  # orders of host buffers: the order of the axes in memory
    **dict.fromkeys(("NHWC", "FCR", "F8CR", "BAYER_RGB", "RGB4"), "NHWC"),
    **{"NHW": "NHW", "NC": "NC", "NCHW": "NCHW"},
}
_DEVICE = {
    "F8CR": "NHCW8c",
    **{order: order for order in ("NHWC", "NHCW", "NC", "NHW")},
    **dict.fromkeys(("FCR", "RGB888"), "NHWC"),
}
_TRANSPOSED = 2  # HAILO_FORMAT_FLAGS_TRANSPOSED


@checked_call
def from_hailo(info: Any, *, format_type: Any = None, order: Any = None, device: bool = False) -> TensorSpec:
    """Return the spec of the buffer of a Hailo stream, on the host or on the device.

    Parameters
    ----------
    info
        A hailo_vstream_info_t (github.com/hailo-ai/hailort, hailort/libhailort/include/hailo/hailort.h), pyhailort's
        VStreamInfo or InferStream, or a mapping: name, shape (height, width, features: a struct or a sequence),
        format with type, order and flags, quant_info with qp_scale and qp_zp, or quant_infos, one of them or one for
        each feature. With `device` a hailo_stream_info_t, whose hw_shape is read.
    format_type
        The type that the stream was asked for (FormatType of the vstream's parameters): AUTO, UINT8, UINT16, FLOAT32.
        None: that of the info. FLOAT32 is what HailoRT has dequantised, so the spec has no quantization.
    order
        The order that the stream was asked for, such as NCHW; None or AUTO: the info's.
    device
        Describe the buffer as the device has it: NHCW8c for F8CR, rows and pixels padded to hw_shape.

    Returns
    -------
    TensorSpec with the axes NHWC, NCHW, NC, or NHW, as the host's order has them; N is 1.

    Raises
    ------
    NpuLayoutError
        On missing fields and unknown enums; LayoutError on lists of boxes (NMS), YUV pictures, transposed frames, and
        fields that contradict each other.

    Examples
    --------
    >>> quant_info = dict(qp_scale=0.0075, qp_zp=41.5)
    >>> format = dict(type="UINT8", order="FCR", flags=0)
    >>> from_hailo(dict(name="heat", shape=(46, 46, 57), format=format, quant_info=quant_info))
    TensorSpec((1, 46, 46, 57), 'NHWC', 'uint8', axes='NHWC', quantization=Quantization(0.0075, 41.5), name='heat')
    """
    given, device = Metadata("Hailo info", info), flag("device", device)
    name = given.read("name", text, "")
    what = f"Hailo stream {name!r}"
    form = Metadata("Hailo info format", given.field("format"))
    named = _asked(form, "order", order, _ORDER_NAMES, "HAILO_FORMAT_ORDER_")
    if "NMS" in named:
        raise LayoutError(
            f"{what}: order {named} is a list of boxes of variable length, which no TensorSpec describes; "
            f"decode.hailo_nms reads it"
        )
    orders = _DEVICE if device else _HOST
    if named not in orders:
        side = "the device" if device else "the host"
        raise LayoutError(
            f"{what}: order {named}: expected an order of tensors on {side} ({', '.join(orders)}); pictures in YUV are "
            f"for FrameSpec"
        )
    flags = form.field("flags", 0)
    if whole_of(what, "flags", getattr(flags, "value", flags)) & _TRANSPOSED:
        raise LayoutError(
            f"{what}: flags have TRANSPOSED: height and width are exchanged; expected a stream without that flag"
        )
    kind = _asked(form, "type", format_type, _TYPES, "HAILO_FORMAT_TYPE_")
    dtype = known("Hailo format type", kind, _DTYPES)
    layout = Layout(orders[named], None if device else orders[named])
    extents = _extents(given, what, "shape")
    shape = [extents[letter] for letter in layout.axes]
    padded = _padded(given, what, named, extents, layout, dtype) if device or named == "RGB4" else None
    axis = layout.axes.index("C") if "C" in layout.axes else None
    quantization = _quantization(given, what, dtype, extents["C"], axis) if dtype != "float32" else None
    return TensorSpec(shape, layout, dtype, quantization=quantization, storage_shape=padded, name=name)


def _asked(form: Metadata, field: str, asked: Any, names: tuple[str, ...], prefix: str) -> str:
    """Return the enum that was asked for, or the info's where that is None or AUTO."""
    argument = {"type": "format_type"}.get(field, field)
    found = "AUTO" if asked is None else enum_name(argument, asked, names, prefix)
    if found not in names:
        raise LayoutError(f"{argument}: expected one of {', '.join(names)}, got {shown(asked)}")
    if found == "AUTO":
        found = enum_name(f"Hailo format {field}", form.field(field), names, prefix)
    if found == "AUTO":
        raise LayoutError(f"Hailo format {field} is AUTO: expected what the stream has; give it by {argument}=")
    return found


def _extents(given: Metadata, what: str, field: str) -> dict[str, int]:
    """Return N, H, W and C of a struct with height, width and features, or of pyhailort's tuples."""
    shape = given.field(field)
    if isinstance(shape, LISTED):
        extents = given.extents(field)
        sizes = {3: extents, 2: [*extents, 1], 1: [1, 1, *extents]}.get(len(extents))
        if sizes is None:
            raise LayoutError(f"{what}: {field} {extents}: expected height, width and features")
    else:
        struct = Metadata(f"Hailo {field}", shape)
        sizes = [struct.whole(part) for part in ("height", "width", "features")]
    return dict(zip("NHWC", (1, *sizes)))


def _padded(
    given: Metadata, what: str, named: str, extents: dict[str, int], layout: Layout, dtype: str
) -> list[int] | None:
    """Return the storage shape with padding: hw_shape on the device, rows of a multiple of 4 bytes for RGB4."""
    if named == "RGB4":
        row = extents["W"] * extents["C"] * itemsize_of(dtype)
        if row % 4:
            raise LayoutError(
                f"{what}: rows of {row} bytes are padded to {-(-row // 4) * 4}: no whole number of pixels"
            )
        return None
    if given.field("hw_shape", None) is None:
        raise NpuLayoutError(f"{what}: device=True needs the hw_shape of a hailo_stream_info_t, which this info lacks")
    stored = _extents(given, what, "hw_shape")
    if any(stored[letter] < extents[letter] for letter in "HWC"):
        raise LayoutError(f"{what}: hw_shape {given.field('hw_shape')} is smaller than shape {given.field('shape')}")
    if layout.is_blocked:
        stored["C"] = -(-stored["C"] // 8)
    return [*(stored[letter] for letter in layout.letters), *([8] if layout.is_blocked else [])]


def _quantization(given: Metadata, what: str, dtype: str, features: int, axis: int | None) -> Quantization | None:
    """Return the quantization of quant_infos or quant_info; None if there is none."""
    infos = given.field("quant_infos", None)
    if infos is None:
        infos = [given.field("quant_info", None)]
    parts = [Metadata("Hailo quant_info", one) for one in given.read("quant_infos", list, infos) if one is not None]
    if not parts:
        return None
    scales = [part.read("qp_scale", float) for part in parts]
    zero_points = [part.read("qp_zp", float) for part in parts]
    if len(parts) == 1:
        if scales[0] == 0:
            raise LayoutError(f"{what}: quant_info has a scale of 0: there are several, give quant_infos")
        return affine(what, dtype, scales[0], zero_points[0])
    if axis is None or len(parts) != features:
        raise LayoutError(f"{what}: {len(parts)} quant_infos: expected one, or one for each of {features} features")
    return affine(what, dtype, scales, zero_points, axis)
