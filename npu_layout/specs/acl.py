"""Make a TensorSpec from the description of a tensor in Huawei's AscendCL."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..buffers import TensorSpec, axes_of_rank
from ..errors import LayoutError
from ..layouts import Layout
from ..support import checked_call, text_of, whole_numbers
from .metadata import Metadata, check_axes, check_bytes, dtype_of, enum_name, text

# acl/acl_base.h: aclDataType and aclFormat, by number
_TYPES = {
    **{0: "FLOAT", 1: "FLOAT16", 2: "INT8", 3: "INT32", 4: "UINT8", 6: "INT16", 7: "UINT16", 8: "UINT32"},
    **{9: "INT64", 10: "UINT64", 11: "DOUBLE", 12: "BOOL", 27: "BF16"},
}
_DTYPES = {
    name: {"FLOAT": "float32", "DOUBLE": "float64", "BF16": "bfloat16"}.get(name, name.lower())
    for name in _TYPES.values()
}
_FORMATS = {
    **{-1: "UNDEFINED", 0: "NCHW", 1: "NHWC", 2: "ND", 3: "NC1HWC0", 4: "FRACTAL_Z", 12: "NC1HWC0_C04", 16: "HWCN"},
    **{27: "NDHWC", 29: "FRACTAL_NZ", 30: "NCDHW", 32: "NDC1HWC0", 33: "FRACTAL_Z_3D", 35: "NC", 47: "NCL"},
}
_PLAIN = {**{order: order for order in ("NCHW", "NHWC", "HWCN", "NDHWC", "NCDHW", "NC")}, "NCL": "NCW"}
_UNSAID = ("ND", "UNDEFINED")  # formats without an order of axes
_BLOCKED = {"NC1HWC0": 5, "FRACTAL_NZ": 4}  # how many dims they have
_IMAGES = {"NC1HWC0"}  # whose height and width may be left out, if they are 1
_LETTERS = "BDEFGH"
_BATCHED = {"FRACTAL_NZ"}  # whose matrices may have dims before them


@checked_call
def from_acl(desc: Any, *, shape: Sequence[int] | None = None, layout: str | None = None) -> TensorSpec:
    """Return the spec of an input or output of a model in Huawei's AscendCL.

    Parameters
    ----------
    desc
        What AscendCL's queries return, in one mapping: name and dims (aclmdlGetOutputDims; pyACL's dictionary of
        acl.mdl.get_output_dims has these, and dimCount), format (aclmdlGetOutputFormat), data_type (or dataType;
        aclmdlGetOutputDataType), size in bytes (aclmdlGetOutputSizeByIndex). Enums are numbers of acl/acl_base.h, or
        names.
    shape
        The logical shape of a tensor in NC1HWC0, (N, C, H, W), because its dims (N, C1, H, W, C0) do not contain C; a
        shape (N, C) means that H and W are 1. For FRACTAL_NZ: (M, K), behind the axes of a batch of matrices, if any.
    layout
        The letters of dims, for the format ND, which says no order: "NHWC". None: N, NC, NCW, NCHW or NCDHW, with a
        warning if channels are last by the look of them.

    Returns
    -------
    TensorSpec with the axes in the order of dims, or of `shape`.

    Raises
    ------
    NpuLayoutError
        On a missing field and an unknown enum; LayoutError on dynamic dims, formats of weights, and fields that
        contradict each other, such as a size that AIPP has changed.

    Examples
    --------
    >>> desc = dict(name="heat", dims=[1, 4, 6, 6, 16], format=3, data_type=1, size=4608)
    >>> from_acl(desc, shape=(1, 57, 6, 6)).layout
    Layout('NCHW16c')
    """
    given = Metadata("ACL desc", desc)
    name = given.read("name", text, "")
    wanted = None if shape is None else whole_numbers("shape", shape, None, 1)
    letters = None if layout is None else text_of("layout", layout)
    what = f"ACL tensor {name!r}"
    dims = _dims(given, what)
    field = "dataType" if given.field("dataType", None) is not None else "data_type"
    dtype = dtype_of(f"ACL {field}", given.field(field), _TYPES, _DTYPES, "ACL_")
    order = enum_name("ACL format", given.field("format"), _FORMATS, "ACL_FORMAT_")
    if letters is not None and order not in _UNSAID and letters != _PLAIN.get(order):
        raise LayoutError(f"{what}: layout= is {letters!r}, but the format is {order}, which has an order of its own")
    if order in _BLOCKED:
        spec = _blocked(what, order, dims, wanted, dtype, name)
    elif order in _UNSAID or order in _PLAIN:
        axes = _PLAIN.get(order) or letters or axes_of_rank(what, dims)
        check_axes(what, f"format {order}", axes, len(dims), f"dims {dims}")
        if wanted is not None and list(wanted) != dims:
            raise LayoutError(f"{what}: shape {wanted} is given, but format {order} has the dims {dims}")
        spec = TensorSpec(dims, Layout.plain(axes), dtype, name=name)
    else:
        raise LayoutError(f"{what}: format {order}: expected {', '.join(_PLAIN)}, ND, NC1HWC0 or FRACTAL_NZ")
    aipp = "; of an input with AIPP give the dims of aclmdlGetInputDimsV2" if dtype == "uint8" else ""
    return check_bytes(what, "size", given.whole("size", 0), spec, aipp)


def _dims(given: Metadata, what: str) -> list[int]:
    dims = given.extents("dims")
    count = given.whole("dimCount", len(dims))
    if not 0 <= count <= len(dims):
        raise LayoutError(f"{what}: dimCount {count}: expected 0 to {len(dims)}, as many as there are dims {dims}")
    dims = dims[:count] or [1]
    if any(n < 1 for n in dims):
        raise LayoutError(f"{what}: dims {dims} are dynamic: set the batch, the image size or the dims first")
    return dims


def _blocked(what: str, order: str, dims: list[int], shape: Sequence[int] | None, dtype: str, name: str) -> TensorSpec:
    """Return a format of blocks: dims are the storage shape, the last of them is C0."""
    if shape is None:
        raise LayoutError(
            f"{what}: format {order}: dims {dims} are padded to blocks; give shape=, the logical one, and to an engine "
            f"shapes={{{name!r}: shape}}"
        )
    rank = _BLOCKED[order]
    before = len(dims) - rank if order in _BATCHED else 0
    if len(dims) != rank + max(0, before) or before > len(_LETTERS):
        raise LayoutError(f"{what}: format {order} has {rank} dims, got {dims}")
    layout = Layout.named(order, dims[-1])
    if len(shape) == 2 and order in _IMAGES:
        shape = (*shape, 1, 1)  # as models have the scores of classes
    if before:
        front = _LETTERS[:before]
        layout = Layout(front + layout.tag, front + layout.axes)
    spec = TensorSpec(shape, layout, dtype, name=name)
    if list(spec.storage_shape) != dims:
        raise LayoutError(
            f"{what}: dims {dims} are not those of {tuple(shape)} in {order}: expected {list(spec.storage_shape)} "
            f"({math.prod(spec.storage_shape)} elements)"
        )
    return spec
