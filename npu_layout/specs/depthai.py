"""Make a TensorSpec from DepthAI's TensorInfo."""

from __future__ import annotations

from typing import Any

from ..buffers import Quantization, TensorSpec
from ..errors import LayoutError
from ..layouts import Layout
from .metadata import Metadata, affine, dtype_of, element_strides, itemsize_of, text

# include/depthai/common/TensorInfo.hpp: each hex digit of an order is an axis, the outermost first
_AXES = {1: "W", 2: "H", 3: "C", 4: "N"}
_DTYPES = {
    "FP16": "float16",
    "U8F": "uint8",
    "INT": "int32",
    "FP32": "float32",
    "I8": "int8",
    "FP64": "float64",
    "U16F": "uint16",
}
_TYPES = tuple(_DTYPES)  # by number


def from_depthai(info: Any) -> TensorSpec:
    """Return the spec of a tensor in Luxonis DepthAI, for memory that begins at the tensor's `offset` in the NNData.

    Parameters
    ----------
    info
        A TensorInfo (``nndata.getAllLayers()[0]``), or a mapping of its fields (github.com/luxonis/depthai-core,
        include/depthai/common/TensorInfo.hpp): order, dataType, dims, strides, name, numDimensions, quantization,
        qpScale, qpZp. order is a number whose hex digits are axes (0x4213 is N, H, W, C) or a name; dims and strides
        are in that order, strides in bytes; ``real = (q - qpZp) * qpScale``. Observed in depthai 3.12.0.

    Returns
    -------
    TensorSpec with the axes in the order of dims. Its buffer is ``nndata.getData()[info.offset:]``, cut to `nbytes`.

    Raises
    ------
    NpuLayoutError
        On a missing field, an unknown type, and dims, strides, order or quantisation that contradict each other
        (LayoutError).

    Examples
    --------
    >>> info = dict(name="y", order=0x4321, dataType="FP16", dims=[1, 5, 3, 4], strides=[0, 32, 8, 2])
    >>> spec = from_depthai(info)
    >>> spec.axes, spec.dtype, spec.storage_strides
    ('NCHW', 'float16', (60, 16, 4, 1))
    """
    given = Metadata("DepthAI info", info)
    name = given.read("name", text, "")
    what = f"DepthAI tensor {name!r}"
    dims = given.extents("dims")
    axes = _order(what, given.field("order"))
    if len(axes) != len(dims) or given.whole("numDimensions", len(dims)) != len(dims):
        raise LayoutError(
            f"{what}: order {axes}, numDimensions {given.field('numDimensions', len(dims))} and dims {dims} contradict "
            f"each other: expected as many dims as the order has axes"
        )
    dtype = dtype_of("DepthAI dataType", given.field("dataType"), _TYPES, _DTYPES)
    steps = given.extents("strides") if given.field("strides", None) is not None else []
    strides = element_strides(what, "strides", steps, dims, itemsize_of(dtype)) if steps else None
    moving = [i for i, extent in enumerate(dims) if extent > 1]
    return TensorSpec(
        dims,
        Layout.plain(axes),
        dtype,
        quantization=_quantization(given, what, dtype),
        storage_strides=strides,
        size=dims[moving[0]] * strides[moving[0]] if strides and moving else None,  # as getTensorSize counts
        name=name,
    )


def _order(what: str, given: Any) -> str:
    """Return the axes of an order: a number's hex digits, or a name's letters."""
    value = getattr(given, "value", given)
    try:
        digits = [int(digit, 16) for digit in f"{value:x}"] if not isinstance(value, str) else None
    except (TypeError, ValueError):
        digits = []
    axes = str(value).upper() if digits is None else "".join(_AXES.get(digit, "?") for digit in digits)
    if not axes or not set(axes) <= set(_AXES.values()) or len(set(axes)) != len(axes):
        raise LayoutError(
            f"{what}: order {given!r}: expected different hex digits of 1 W, 2 H, 3 C, 4 N, such as 0x4213, or letters"
        )
    return axes


def _quantization(given: Metadata, what: str, dtype: str) -> Quantization | None:
    if not given.field("quantization", False):
        return None
    scale, zero_point = given.read("qpScale", float), given.read("qpZp", float, 0.0)
    if "int" not in dtype:
        raise LayoutError(f"{what}: quantization is set for {dtype}: expected integers, whose scale qpScale is")
    return affine(what, dtype, scale, int(zero_point) if zero_point == int(zero_point) else zero_point)
