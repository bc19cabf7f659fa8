"""Make a TensorSpec from VeriSilicon VIPLite's vip_buffer_create_params_t."""

from __future__ import annotations

from typing import Any

from ..buffers import Quantization, TensorSpec
from ..errors import LayoutError
from ..support import checked_call, text_of
from .metadata import Metadata, affine, dtype_of, enum_name, outermost_first

# vip_lite.h: vip_buffer_format_e and vip_buffer_quantize_format_e, by number
_TYPES = (
    *("FP32", "FP16", "UINT8", "INT8", "UINT16", "INT16", "CHAR", "BFP16", "INT32", "UINT32", "INT64", "UINT64"),
    *("FP64", "INT4", "UINT4"),
)
_DTYPES = {
    **{name: name.lower() for name in _TYPES if "INT" in name and name not in ("INT4", "UINT4")},
    **{"FP32": "float32", "FP16": "float16", "BFP16": "bfloat16", "FP64": "float64", "BOOL8": "bool"},
}
_QUANTIZATIONS = ("NONE", "DYNAMIC_FIXED_POINT", "TF_ASYMM")


@checked_call
def from_viplite(params: Any, *, layout: str | None = None, name: str = "") -> TensorSpec:
    """Return the spec of a buffer in VeriSilicon's VIPLite, which Allwinner, Amlogic and others use: dense.

    Parameters
    ----------
    params
        A vip_buffer_create_params_t (vip_lite.h), filled by vip_query_input or vip_query_output, or a mapping:
        num_of_dims, sizes, the fastest one first (W, H, C, N), data_format, quant_format, quant_data with dfp
        (fixed_point_pos: ``real = q / 2**fixed_point_pos``) and affine (scale, zeroPoint: ``real = (q - zeroPoint) *
        scale``). Enums are numbers or names.
    layout
        The letters of the sizes, outermost first, if they are not N, NC, NCW, NCHW, NCDHW by their number: "NHWC" of
        sizes that begin with the channels.
    name
        The tensor's name (VIP_BUFFER_PROP_NAME).

    Returns
    -------
    TensorSpec with the axes and the shape outermost first, which is `sizes` in reverse. There is no padding between
    rows, planes or images.

    Raises
    ------
    NpuLayoutError
        On a missing field and an unknown enum; LayoutError on 4-bit types and fields that contradict each other.

    Examples
    --------
    >>> affine = dict(affine=dict(scale=0.5, zeroPoint=128))
    >>> params = dict(num_of_dims=4, sizes=[46, 46, 57, 1, 0, 0], data_format=2, quant_format=2, quant_data=affine)
    >>> from_viplite(params, name="heat")
    TensorSpec((1, 57, 46, 46), 'NCHW', 'uint8', quantization=Quantization(0.5, 128), name='heat')
    """
    given = Metadata("VIPLite params", params)
    name = text_of("name", name)
    what = f"VIPLite tensor {name!r}"
    shape, order = outermost_first(given, what, ("sizes", "num_of_dims"), layout)
    dtype = dtype_of("VIPLite data_format", given.field("data_format"), _TYPES, _DTYPES, "VIP_BUFFER_FORMAT_")
    quantization = _quantization(given, what, dtype)
    return TensorSpec(shape, order, dtype, quantization=quantization, name=name)


def _quantization(given: Metadata, what: str, dtype: str) -> Quantization | None:
    """Return what integers mean; None if nothing is said, or of floats."""
    said = given.field("quant_format", 0)
    kind = enum_name("VIPLite quant_format", said, _QUANTIZATIONS, "VIP_BUFFER_QUANTIZE_")
    if kind not in _QUANTIZATIONS:
        raise LayoutError(f"{what}: quant_format {kind}: expected one of {', '.join(_QUANTIZATIONS)}")
    if kind == "NONE" or "int" not in dtype:
        return None
    data = Metadata("VIPLite quant_data", given.field("quant_data"))
    if kind == "TF_ASYMM":
        part = Metadata("VIPLite affine", data.field("affine"))
        return affine(what, dtype, part.read("scale", float), part.whole("zeroPoint"))
    return Quantization.from_dfp(Metadata("VIPLite dfp", data.field("dfp")).whole("fixed_point_pos"))
