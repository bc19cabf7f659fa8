"""Make a TensorSpec from ExecuTorch's description of an input or output."""

from __future__ import annotations

from typing import Any

from ..buffers import TensorSpec
from ..errors import LayoutError
from ..layouts import Layout
from ..support import checked_call, text_of
from .metadata import Metadata, check_bytes, converted, dtype_of, extents_of, text, whole_of

# runtime/core/portable_type/scalar_type.h, by number
_TYPES = {
    **dict(enumerate(("BYTE", "CHAR", "SHORT", "INT", "LONG", "HALF", "FLOAT", "DOUBLE"))),
    **{11: "BOOL", 15: "BFLOAT16", 27: "UINT16", 28: "UINT32", 29: "UINT64"},
}
_DTYPES = {
    **{"BYTE": "uint8", "CHAR": "int8", "SHORT": "int16", "INT": "int32", "LONG": "int64"},
    **{"HALF": "float16", "FLOAT": "float32", "DOUBLE": "float64", "BOOL": "bool", "BFLOAT16": "bfloat16"},
    **{f"{sign}INT{bits}": f"{sign.lower()}int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)},
    **{f"FLOAT{bits}": f"float{bits}" for bits in (16, 32, 64)},
}


@checked_call
def from_executorch(info: Any, *, name: str = "") -> TensorSpec:
    """Return the spec of an input or output of an ExecuTorch method: dense, in its dimension order.

    Parameters
    ----------
    info
        A TensorInfo (``method.metadata.input_tensor_meta(0)``: github.com/pytorch/executorch, extension/pybindings/
        pybindings.pyi) with the methods or fields sizes, dtype (a number of ScalarType, or a name such as
        torch.float32) and nbytes, or a torch tensor (shape, dtype). dim_order, if there is one, lists the dimensions
        from the outermost in memory: (0, 2, 3, 1) is channels last. Python's TensorInfo does not report it.
    name
        The tensor's name; "": the info's, if it has one.

    Returns
    -------
    TensorSpec with the axes N, NC, NCW, NCHW, NCDHW, or letters without a meaning.

    Raises
    ------
    NpuLayoutError
        On a missing field and an unknown type; LayoutError if dim_order, sizes or nbytes contradict each other.

    Examples
    --------
    >>> from_executorch(dict(sizes=(1, 3, 4, 5), dtype=6, nbytes=240), name="image")
    TensorSpec((1, 3, 4, 5), 'NCHW', 'float32', name='image')
    """
    given = Metadata("ExecuTorch info", info)
    name = text_of("name", name) or converted(given.what, "name", given.called("name", ""), text)
    what = f"ExecuTorch tensor {name!r}"
    field = "sizes" if given.field("sizes", None) is not None else "shape"
    sizes = extents_of(given.what, field, given.called(field)) or [1]
    dtype = dtype_of("ExecuTorch info dtype", given.called("dtype"), _TYPES, _DTYPES, "TORCH.")
    axes = Layout.of_rank(len(sizes)).axes
    order = given.called("dim_order", None)
    tag = axes if order is None else _tag(what, extents_of(given.what, "dim_order", order), axes)
    spec = TensorSpec(sizes, Layout(tag, axes), dtype, name=name)
    nbytes = whole_of(given.what, "nbytes", given.called("nbytes", 0))
    return check_bytes(what, "nbytes", nbytes, spec)


def _tag(what: str, order: list[int], axes: str) -> str:
    """Return the letters of the dimensions, the outermost in memory first."""
    if sorted(order) != list(range(len(axes))):
        raise LayoutError(f"{what}: dim_order {order}: expected each of 0 to {len(axes) - 1} once")
    return "".join(axes[i] for i in order)
