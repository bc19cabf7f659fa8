"""Make a TensorSpec from ncnn's Mat."""

from __future__ import annotations

import math
from typing import Any

from ..buffers import TensorSpec
from ..errors import LayoutError
from ..layouts import BY_RANK, Layout, c_strides
from ..support import checked_call, flag, text_of
from .metadata import Metadata, itemsize_of

_DTYPES = {4: "float32", 1: "int8"}  # by the bytes of a scalar; two bytes are float16 or bfloat16


@checked_call
def from_ncnn(mat: Any, *, dtype: Any = None, batch: bool = True, name: str = "") -> TensorSpec:
    """Return the spec of the memory of an ncnn Mat: gaps behind its planes, and blocks of `elempack` scalars.

    Parameters
    ----------
    mat
        An ncnn Mat (an extractor's output), or a mapping of its fields (github.com/Tencent/ncnn, src/mat.h): dims, w,
        h, d, c, elemsize, elempack, cstep. w, h, d, c and cstep count elements of elempack scalars; elemsize is the
        bytes of such an element. Observed in ncnn 1.0.20261020.
    dtype
        The type of a scalar, which a Mat does not report. None: float32 if a scalar has four bytes, int8 if it has one;
        for two bytes give "float16" or "bfloat16".
    batch
        Whether the shape begins with an N of 1, which the ONNX model has and a Mat does not.
    name
        The blob's name.

    Returns
    -------
    TensorSpec with the axes NC, NCW, NCHW or NCDHW, by dims, without N if `batch` is False. Its size is `cstep * c`
    elements, the gap of the last plane included, as Mat::total() counts them.

    Raises
    ------
    NpuLayoutError
        On a missing field, a type that is not known, and numbers that contradict each other (LayoutError).

    Examples
    --------
    >>> mat = dict(dims=3, w=13, h=13, d=1, c=5, elemsize=4, elempack=1, cstep=172)
    >>> spec = from_ncnn(mat)
    >>> spec.shape, spec.storage_strides, spec.nbytes
    ((1, 5, 13, 13), (860, 172, 13, 1), 3440)
    """
    given = Metadata("ncnn mat", mat)
    name, batch = text_of("name", name), flag("batch", batch)
    dims, pack = given.whole("dims"), given.whole("elempack", 1)
    w, h, d, c = (given.whole(field, 1) for field in "whdc")
    if given.whole("n", 1) > 1:
        raise LayoutError(f"ncnn mat {name!r}: n is {given.whole('n')}; expected one image, give the Mat of each")
    if dims not in (1, 2, 3, 4) or min(w, h, d, c, pack) < 1:
        raise LayoutError(
            f"ncnn mat {name!r}: dims {dims}, w {w}, h {h}, d {d}, c {c}, elempack {pack}: expected 1 to 4 dims and "
            f"1 or more of each; an empty Mat has no memory"
        )
    extents = {1: (w,), 2: (h, w), 3: (c, h, w), 4: (c, d, h, w)}[dims]
    if w * h * d * c != math.prod(extents):
        raise LayoutError(f"ncnn mat {name!r}: dims is {dims}, but w, h, d and c are {w}, {h}, {d} and {c}")
    kind = _dtype(given, name, dtype, pack)
    plane = w * h * d
    step = given.whole("cstep", plane)
    if step < plane:
        raise LayoutError(f"ncnn mat {name!r}: cstep {step} is shorter than a plane of {plane} elements")
    return _spec(extents, pack, step, kind, BY_RANK[dims + 1] if batch else BY_RANK[dims + 1][1:], name)


def _dtype(given: Metadata, name: str, dtype: Any, pack: int) -> Any:
    """Return the scalars' type, given or by their bytes; LayoutError if the bytes do not fit."""
    size = given.whole("elemsize")
    if size % pack or size < 1:
        raise LayoutError(f"ncnn mat {name!r}: elemsize {size} is not a multiple of elempack {pack}")
    if dtype is None:
        dtype = _DTYPES.get(size // pack)
        if dtype is None:
            raise LayoutError(
                f"ncnn mat {name!r}: a Mat does not report the type of its scalars of {size // pack} bytes; give "
                f"dtype= (float16, or bfloat16 with use_bf16_storage)"
            )
    if itemsize_of(dtype) != size // pack:
        raise LayoutError(f"ncnn mat {name!r}: dtype {dtype!r} does not fit scalars of {size // pack} bytes")
    return dtype


def _spec(extents: tuple[int, ...], pack: int, step: int, dtype: Any, axes: str, name: str) -> TensorSpec:
    """Return the spec of these extents, the first of which counts blocks; planes are `step` elements apart."""
    letters = axes[-len(extents) :]
    front = (1,) * (len(axes) - len(extents))
    planes = extents[0] if len(extents) > 2 else 1
    strides = list(c_strides(extents))
    if len(extents) > 2:
        strides[0] = step
    blocked = pack > 1
    tag = axes + (f"{pack}{letters[0].lower()}" if blocked else "")
    return TensorSpec(
        (*front, extents[0] * pack, *extents[1:]),
        Layout(tag, axes),
        dtype,
        storage_strides=[*(step * planes * pack for _ in front), *(s * pack for s in strides), *([1] * blocked)],
        size=step * planes * pack,
        name=name,
    )
