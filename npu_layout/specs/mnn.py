"""Make a TensorSpec from MNN's Tensor or Var."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import LayoutError
from ..layouts import BY_RANK, Layout
from ..support import checked_call, counted, text_of
from .metadata import CHANNELS_LAST, Metadata, enum_name, extents_of

# include/MNN/Tensor.hpp, Tensor::DimensionType
_DIMENSIONS = ("TENSORFLOW", "CAFFE", "CAFFE_C4")
_ORDERS = {
    "TENSORFLOW": "NHWC",
    "CAFFE": "NCHW",
    "CAFFE_C4": "NC4HW4",
    **{order: order for order in ("NHWC", "NCHW", "NC4HW4")},  # include/MNN/expr/Expr.hpp, Dimensionformat
}
_DTYPES = {"FLOAT": "float32", "DOUBLE": "float64", "INT": "int32", "INT64": "int64", "UINT8": "uint8"}
_AXES = {"NHWC": CHANNELS_LAST, "NCHW": BY_RANK}


@checked_call
def from_mnn(tensor: Any, *, dtype: Any = None, block: int = 4, name: str = "") -> TensorSpec:
    """Return the spec of the host memory of an MNN tensor: NCHW, NHWC or NC4HW4.

    Parameters
    ----------
    tensor
        An MNN.Tensor with host memory (getShape(), getDimensionType(), getNumpyData()), an MNN.expr Var (shape,
        data_format, dtype), or a mapping with shape and dimension_type: a name (Tensorflow, Caffe, Caffe_C4), its
        number (0, 1, 2: github.com/alibaba/MNN, include/MNN/Tensor.hpp), or NHWC, NCHW, NC4HW4 (include/MNN/expr/
        Expr.hpp). Observed in MNN 3.6.1.
    dtype
        The type; None: that of getNumpyData(), or the Var's. A Tensor reports it as a capsule that only MNN compares
        (``tensor.getDataType() == MNN.Halide_Type_Float``).
    block
        Channels in a block of NC4HW4: 4 in host tensors. The tensors of a session can have more, which MNN does not
        report: copy them to a host tensor first.
    name
        The tensor's name: the key of getSessionOutputAll.

    Returns
    -------
    TensorSpec with the axes of the shape: NCHW for CAFFE and CAFFE_C4, NHWC for TENSORFLOW. In NC4HW4 the blocks of
    channels are outside the images of a batch (source/backend/cpu/CPUTensorConvert.cpp).

    Raises
    ------
    NpuLayoutError
        On a missing field, an order or type that is not known, and a dtype that contradicts the tensor's (LayoutError).

    Examples
    --------
    >>> from_mnn({"shape": (1, 5, 3, 3), "dimension_type": "CAFFE_C4"}, dtype="float32").storage_shape
    (2, 1, 3, 3, 4)
    """
    given = Metadata("MNN tensor", tensor)
    name, block = text_of("name", name), counted("block", block)
    shape = _shape(given)
    said = given.called("dimension_type", given.called("getDimensionType", given.field("data_format", None)))
    if said is None:
        said = given.field("dimension_type")
    order = enum_name("MNN dimension type", said, _DIMENSIONS, "TENSOR_DIMENSIONTYPE_")
    if order not in _ORDERS:
        raise LayoutError(f"MNN dimension type {order!r}: expected one of {', '.join(_ORDERS)}")
    layout = _layout(_ORDERS[order], len(shape), block, name)
    return TensorSpec(shape, layout, _dtype(given, dtype, name), name=name)


def _shape(given: Metadata) -> tuple[int, ...]:
    field = "getShape" if given.field("shape", None) is None and given.field("getShape", None) is not None else "shape"
    return tuple(extents_of(given.what, field, given.called(field))) or (1,)


def _dtype(given: Metadata, dtype: Any, name: str) -> Any:
    """Return the type that is given or found; LayoutError if these differ, or there is none."""
    found = given.field("dtype", None)
    if found is not None:
        found = _DTYPES.get(enum_name("MNN dtype", found, ()), found)
    elif given.field("getNumpyData", None) is not None:
        found = np.asarray(given.called("getNumpyData")).dtype
    if found is None and dtype is None:
        raise LayoutError(f"MNN tensor {name!r}: no dtype is known: give dtype=")
    if found is None or dtype is None:
        return dtype if found is None else found
    if TensorSpec((1,), Layout.plain("N"), dtype).dtype != TensorSpec((1,), Layout.plain("N"), found).dtype:
        raise LayoutError(f"MNN tensor {name!r}: dtype= is {dtype!r}, but the tensor's is {found}")
    return dtype


def _layout(order: str, rank: int, block: int, name: str) -> Layout:
    if order == "NC4HW4":
        if rank != 4:
            raise LayoutError(f"MNN tensor {name!r}: NC4HW4 of {rank} axes: expected 4; copy it to an NCHW tensor")
        return Layout.named("NC4HW4", block)
    axes = _AXES[order].get(rank, "")
    return Layout.plain(axes) if axes else Layout.of_rank(rank)
