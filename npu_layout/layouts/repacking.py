"""Copy a storage array from one layout to another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import LayoutError
from ..support import checked_call, naming, plain_array
from .layout import Layout, LayoutLike, Shape, as_layout, check_extents, logical_shape
from .outputs import check_distinct, check_out, without_overlap
from .planning import Plan, plan_move
from .spans import bind_array, span_of
from .storage import Storage


@checked_call
def repack(
    x: Any,
    src: LayoutLike,
    dst: LayoutLike,
    *,
    shape: Sequence[int] | None = None,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Copy a storage array from one layout to another: always a copy, of the same dtype.

    Parameters
    ----------
    x
        Storage array of `src`, of any dtype and any strides; its shape is ``Layout(src).storage_shape(shape)``.
    src, dst
        Tags or Layouts with the same axes, matched by letter.
    shape
        Logical shape in the order of `src`'s axes. None: no stored element is padding.
    out
        Storage array of `dst` to write to, with any strides; its pad elements are set to zero. Ctrl-C, or another
        signal whose handler raises, leaves it half written.

    Returns
    -------
    The storage array of `dst`: C-contiguous, or `out`.

    Raises
    ------
    LayoutError
        If layouts, shape and x do not fit each other.
    NpuLayoutError
        If `out` has another shape or dtype, is read-only or shares elements with x, or if its own elements overlap.

    Examples
    --------
    >>> import numpy as np
    >>> repack(np.arange(6).reshape(1, 2, 1, 3), "NCHW", "NHWC4c").tolist()
    [[[[[0, 3, 0, 0]], [[1, 4, 0, 0]], [[2, 5, 0, 0]]]]]
    """
    array = x if type(x) is np.ndarray else plain_array("x", x)
    asked = None if shape is None else check_extents("shape", shape)
    try:
        move, target_shape, described = _repacking(src, dst, array.shape, asked, array.dtype)
    except TypeError:  # what has no hash is no layout
        _layouts(src, dst)
        raise
    # The usual case of a hot loop; if it fails, the checks below find out why.
    if type(out) is np.ndarray and out.shape == target_shape and out.dtype is array.dtype and move.attempt(array, out):
        return out
    if out is None:
        result = np.empty(target_shape, array.dtype)
    else:
        result = check_out(out, target_shape, array.dtype, array, lambda: described)
        if span_of(result).copied:
            np.copyto(check_distinct(result, lambda: described), repack(array, src, dst, shape=shape))
            return result
        array = without_overlap(array, result)
    if array.flags.c_contiguous and result.flags.c_contiguous:
        move.run(array.reshape(-1), result.reshape(-1))
        return result
    src_storage, src_flat = bind_array(move.src.layout, move.src.shape, array)
    dst_storage, dst_flat = bind_array(move.dst.layout, move.dst.shape, result)
    name = move.arithmetic.src_dtype
    plan_move(src_storage, dst_storage, name, name, None, False).run(src_flat, dst_flat)
    return result


def _layouts(src: LayoutLike, dst: LayoutLike) -> tuple[Layout, Layout]:
    with naming("src"):
        source = as_layout(src)
    with naming("dst"):
        return source, as_layout(dst)


@lru_cache(maxsize=512)
def _repacking(
    src: LayoutLike, dst: LayoutLike, stored: Shape, shape: Shape | None, dtype: np.dtype[Any]
) -> tuple[Plan, Shape, str]:
    """Return the plan for dense arrays, the result's storage shape, and its description."""
    source, target = _layouts(src, dst)
    if sorted(source.axes) != sorted(target.axes):
        raise LayoutError(
            f"cannot repack layout {source} to {target}: axes {source.axes} and {target.axes} differ; "
            f"expected the same letters"
        )
    if dtype.hasobject or not dtype.itemsize:
        raise LayoutError(f"x: cannot repack dtype {dtype}; expected numbers")
    if shape is not None and len(stored) == 1 < len(source.dims):
        wanted = source.storage_shape(source.check_shape(shape))
        raise LayoutError(f"x: layout {source} of {shape} is stored as {wanted}, got {stored}: give x.reshape{wanted}")
    with naming("x"):
        full = logical_shape(source, stored)
    if 0 in stored:
        raise LayoutError(f"x: layout {source}: every extent must be 1 or more, got an array of {stored}")
    logical = full if shape is None else source.check_shape(shape)
    if shape is not None and stored != source.storage_shape(logical):
        raise LayoutError(
            f"layout {source} of {logical} is stored as {source.storage_shape(logical)}, got an array of {stored}"
        )
    by_letter = dict(zip(source.axes, logical))
    target_logical = tuple(by_letter[letter] for letter in target.axes)
    hint = " (without shape= no element of x counts as padding)" if shape is None and source.is_blocked else ""
    name = f"V{dtype.itemsize}"
    storage = Storage.bind(target, target_logical)
    storage.check_bytes(dtype.itemsize)
    move = plan_move(Storage.bind(source, logical), storage, name, name)
    return move, storage.storage_shape, f"layout {target} of {target_logical}{hint}"
