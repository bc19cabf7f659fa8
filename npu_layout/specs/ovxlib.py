"""Make a TensorSpec from the attributes of a tensor of VeriSilicon's ovxlib: Khadas VIM3, i.MX 8M Plus, TIM-VX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..buffers import Quantization, TensorSpec
from ..errors import LayoutError
from ..support import checked_call, text_of
from .metadata import Metadata, affine, outermost_first

# vsi_nn_types.h, vsi_nn_type_e, of vx_types.h; ksnn's npu_data_type_e
_DTYPES = {
    **{2: "int8", 3: "uint8", 4: "int16", 5: "uint16", 6: "int32", 7: "uint32", 8: "int64", 9: "uint64"},
    **{0x0A: "float32", 0x0B: "float64", 0x0F: "float16", 0x11: "bool", 0x81A: "bfloat16"},
}
_QUANTIZATIONS = {0: "NONE", 1: "DFP", 2: "AFFINE", 3: "PERCHANNEL", 0xFF: "NONE"}  # vsi_nn_qnt_type_e
# ksnn's union: where each kind has its numbers
_UNION = {"DFP": "dynamic_fixed_point", "AFFINE": "affine_asymmetric", "PERCHANNEL": "affine_perchannel_symmetric"}


@checked_call
def from_ovxlib(attr: Any, *, layout: str | None = None, name: str = "") -> TensorSpec:
    """Return the spec of a tensor in VeriSilicon's ovxlib, as it is in the NPU's host memory: dense.

    Parameters
    ----------
    attr
        A vsi_nn_tensor_attr_t (VeriSilicon/TIM-VX, src/tim/vx/internal/include/vsi_nn_tensor.h), the same struct as
        ksnn returns (`KSNN.nn_get_output_tensor_info`), or a mapping: size, the fastest one first (W, H, C, N),
        dim_num, dtype with vx_type (ksnn: nn_type), fmt, and the quantization: qnt_type and, beside it or in a union,
        fl (``real = q / 2**fl``) or scale and zero_point (``real = (q - zero_point) * scale``), or scales and
        channel_dim, which counts from the fastest axis. Enums are numbers.
    layout
        The letters of the sizes, outermost first, if they are not N, NC, NCW, NCHW, NCDHW by their number: "NHWC" of
        sizes that begin with the channels. `fmt` is not read: ovxlib's header says that it does not use it.
    name
        The tensor's name, which the struct does not have.

    Returns
    -------
    TensorSpec with the axes and the shape outermost first, which is `size` in reverse.

    Raises
    ------
    NpuLayoutError
        On a missing field and an unknown enum; LayoutError on 4-bit types and fields that contradict each other.

    Examples
    --------
    >>> dtype = dict(vx_type=3, qnt_type=2, scale=0.5, zero_point=128)
    >>> from_ovxlib(dict(size=[46, 46, 57, 1, 0, 0, 0, 0], dim_num=4, dtype=dtype), name="heat")
    TensorSpec((1, 57, 46, 46), 'NCHW', 'uint8', quantization=Quantization(0.5, 128), name='heat')
    """
    given, name = Metadata("ovxlib attr", attr), text_of("name", name)
    what = f"ovxlib tensor {name!r}"
    shape, order = outermost_first(given, what, ("size", "dim_num"), layout)
    dtype = Metadata("ovxlib dtype", given.field("dtype"))
    field = "vx_type" if dtype.field("nn_type", None) is None else "nn_type"
    kind = _DTYPES[_number(dtype, field, _DTYPES)]
    quantization = _quantization(dtype, what, kind, len(shape))
    return TensorSpec(shape, order, kind, quantization=quantization, name=name)


def _number(given: Metadata, name: str, known: Mapping[int, str]) -> int:
    """Return an enum's number, which ctypes has as a byte where ksnn declares a char."""
    value = given.field(name)
    number = value[0] if isinstance(value, bytes) and len(value) == 1 else given.whole(name)
    if number not in known:
        numbers = ", ".join(f"{n} ({word})" for n, word in known.items())
        raise LayoutError(f"{given.what} {name} {number}: expected one of {numbers}")
    return number


def _quantization(dtype: Metadata, what: str, kind: str, rank: int) -> Quantization | None:
    """Return what integers mean; None if nothing is said, or of floats."""
    within = dtype.part("qdata") or dtype
    name = _QUANTIZATIONS[_number(within, "qnt_type", _QUANTIZATIONS)]
    if name == "NONE" or "int" not in kind:
        return None
    union = within.part("meanful")
    data = within if union is None else union.part(_UNION[name]) or union
    if name == "DFP":
        return Quantization.from_dfp(data.whole("fl"))
    if name == "AFFINE":
        return affine(what, kind, data.read("scale", float), data.whole("zero_point"))
    channel, count = data.whole("channel_dim"), data.whole("scale_dim")
    if not 0 <= channel < rank:
        raise LayoutError(f"{what}: channel_dim {channel}: expected 0 to {rank - 1}, counted from the fastest axis")
    scales = data.read("scales", lambda given: [float(n) for n in given[:count]])
    zeros = data.whole("zero_points_dim", 0)
    zero_points = data.read("zero_points", lambda given: [int(n) for n in given[:zeros]]) if zeros else 0
    return affine(what, kind, scales, zero_points, rank - 1 - channel)
