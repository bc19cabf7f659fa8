"""Make a TensorSpec from Rockchip's rknn_tensor_attr."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..buffers import Quantization, TensorSpec
from ..errors import NpuLayoutError
from ..layouts import BY_RANK, Layout, check_extents
from ..support import checked_call
from .metadata import Metadata, affine, dtype_of, enum_name, fields_of, itemsize_of, text
from .rknn_native import FIRST_API, Native, RknnTensor, atom_of, by_rule, native_buffer

# rknn_api.h: rknn_tensor_type, rknn_tensor_format, rknn_tensor_qnt_type, by number
_TYPES = ("FP32", "FP16", "INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "INT64", "BOOL", "INT4", "BF16")
_DTYPES = {
    "FP32": "float32",
    "FLOAT32": "float32",
    "FP16": "float16",
    "FLOAT16": "float16",
    "BF16": "bfloat16",
    "BFLOAT16": "bfloat16",
    "BOOL": "bool",
    **{name: name.lower() for name in _TYPES if "INT" in name},
}
_FORMATS = ("NCHW", "NHWC", "NC1HWC2", "UNDEFINED")
_QUANTIZATIONS = ("NONE", "DFP", "AFFINE_ASYMMETRIC")


def _enum(what: str, value: Any, names: Sequence[str], prefix: str) -> str:
    """Return the name of an enum of rknn_api.h, without its prefix."""
    return enum_name(f"RKNN {what}", value, names, prefix)


def _dims(attr: Metadata) -> tuple[int, ...]:
    dims = attr.extents("dims")
    count = attr.whole("n_dims", len(dims))
    if not 0 <= count <= len(dims):
        raise NpuLayoutError(f"RKNN n_dims {count}: expected 0 to {len(dims)}, as many as there are dims {dims}")
    return check_extents("RKNN dims", dims[:count])


def _quantization(attr: Metadata, dtype: str) -> Quantization | None:
    kind = _enum("qnt_type", attr.field("qnt_type", "NONE"), _QUANTIZATIONS, "RKNN_TENSOR_QNT_")
    if kind == "NONE" or "float" in dtype or dtype in ("bool", "int64"):
        return None
    if kind == "DFP":
        return Quantization.from_dfp(attr.whole("fl"))
    if kind in ("AFFINE_ASYMMETRIC", "AFFINE"):
        name = attr.read("name", text, "")
        return affine(f"RKNN tensor {name!r}", dtype, attr.read("scale", float), attr.whole("zp", 0))
    raise NpuLayoutError(f"RKNN qnt_type {kind!r}: expected NONE, DFP or AFFINE_ASYMMETRIC")


@checked_call
def from_rknn(attr: Any, native_attr: Any = None, *, target: str | None = None) -> TensorSpec:
    """Return the spec of a tensor from Rockchip's rknn_tensor_attr.

    Parameters
    ----------
    attr
        The logical attribute (RKNN_QUERY_OUTPUT_ATTR / INPUT_ATTR): name, dims, fmt, type, qnt_type, zp, scale, fl,
        w_stride. Enums are numbers or names ("INT8", "RKNN_TENSOR_INT8"). Or the line in which the vendor's demos print
        it, "index=0, name=..., n_dims=4, dims=[...], ...", whose scale has six decimals. Without native_attr and target
        the spec describes what rknn_outputs_get returns: contiguous, but for rows of w_stride pixels. A larger
        size_with_stride is accepted, since it belongs to the native buffer.
    native_attr
        The native attribute (RKNN_QUERY_NATIVE_OUTPUT_ATTR / NATIVE_INPUT_ATTR); the spec then describes the native
        buffer. C comes from `attr`, C2 from the native dims[4], C1 and the pitch of planes from size_with_stride; NCHW,
        NHWC and UNDEFINED are stored in the order of the native dims.
    target
        The chip, such as "rk3588". Without native_attr the spec then describes the native buffer by the rule that the
        vendor's compiler follows; an NHWC attribute of 1, 3 or 4 channels is the image input, NHWC with a padded width.
        For rk1808, rk3399pro, rv1109 and rv1126 `attr` is that of their own API (github.com/rockchip-linux/rknpu),
        whose tensors are contiguous and whose dims are fastest first: (46, 46, 57, 1) for an NCHW of (1, 57, 46, 46).

    Returns
    -------
    TensorSpec with the shape and axes of `attr` (NCHW or NHWC; other ranks: N, NC, NCW, NCDHW).

    Raises
    ------
    NpuLayoutError
        On a missing field, an unknown enum, chip or dtype, a zero point that the type cannot represent, and sizes that
        contradict each other.

    Examples
    --------
    >>> attr = dict(name="heat", dims=[1, 5, 3, 3], fmt="NCHW", type="INT8", qnt_type="AFFINE", zp=-3, scale=0.1)
    >>> from_rknn(attr, target="rk3588").storage_shape
    (1, 2, 3, 3, 16)
    """
    attr = Metadata("RKNN attr", _fields(attr))
    native_attr = None if native_attr is None else Metadata("RKNN native_attr", _fields(native_attr))
    source: Metadata = attr if native_attr is None else native_attr
    first_api = str(target).lower() in FIRST_API
    if first_api and native_attr is not None:
        raise NpuLayoutError(f"RKNN target {target!r} has no native attributes, got one")
    dims = _dims(attr)[::-1] if first_api else _dims(attr)
    axes = _axes(attr, dims)
    dtype = dtype_of("RKNN type", source.field("type"), _TYPES, _DTYPES, "RKNN_TENSOR_")
    name, quantization = attr.read("name", text, ""), _quantization(source, dtype)
    tensor = RknnTensor(dims, axes, {"dtype": dtype, "name": name, "quantization": quantization})
    itemsize = itemsize_of(dtype)
    size = _elements(tensor, source.whole("size_with_stride", 0), itemsize)
    if native_attr is not None:
        native = Native(_dims(native_attr), _format(native_attr, "NC1HWC2"), size, native_attr.whole("w_stride", 0))
        return native_buffer(tensor, native, None if target is None else atom_of(target, itemsize), itemsize)
    pitch = attr.whole("w_stride", 0)
    if first_api:
        return TensorSpec(dims, Layout.plain(axes), **tensor.common)
    return by_rule(tensor, pitch, None if target is None else atom_of(target, itemsize))


def _fields(attr: Any) -> Any:
    """Return an attribute as it is, or the fields of one that was printed."""
    return fields_of(attr, {"name"}) if isinstance(attr, str) and "=" in attr else attr


def _elements(tensor: RknnTensor, nbytes: int, itemsize: int) -> int:
    """Return how many elements a size in bytes has; two of 4 bits are in each byte."""
    if nbytes % itemsize:
        raise tensor.error(f"size_with_stride {nbytes} is not a multiple of the {itemsize} bytes of an element")
    return 2 * nbytes if tensor.common["dtype"] == "int4" else nbytes // itemsize


def _format(attr: Metadata, default: str) -> str:
    return _enum("fmt", attr.field("fmt", default), _FORMATS, "RKNN_TENSOR_")


def _axes(attr: Metadata, dims: tuple[int, ...]) -> str:
    """Return the axes of a logical attribute: those of its fmt, or the usual ones of its rank."""
    fmt = _format(attr, "UNDEFINED")
    if fmt not in ("NCHW", "NHWC", "UNDEFINED"):
        raise NpuLayoutError(
            f"RKNN attr {attr.read('name', text, '')!r} has fmt {fmt}: expected the logical attribute (NCHW or "
            f"NHWC), because the native dims do not determine C; give the native one as native_attr"
        )
    axes = fmt if len(dims) == 4 and fmt != "UNDEFINED" else BY_RANK.get(len(dims), "")
    if not axes:
        raise NpuLayoutError(f"RKNN dims {dims}: expected 1 to 5 of them")
    return axes
