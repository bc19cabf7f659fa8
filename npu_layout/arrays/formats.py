"""Memory formats of numpy arrays: bring an array into a layout, and read which layout it has."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import LayoutError
from ..layouts import Layout, LayoutLike
from ..support import array_of, checked_call, plain_array, shown, wanted_copy
from .orders import arranged, axis_order, check_rank, empty_in, fitting_best, letters_of
from .tensor import Tensor, carried_layout


@checked_call
def asformat(x: Any, layout: LayoutLike, copy: bool | None = None) -> np.ndarray:
    """Return an array of the shape and the values of `x` that is contiguous in `layout`: only the memory differs.

    Parameters
    ----------
    x
        Array, or what numpy.asarray accepts, with the layout's logical axes; any dtype and strides.
    layout
        A tag or Layout without blocks, of any rank.
    copy
        As for numpy.asarray. None: `x` itself or a view of it, if its memory already has that order, else one copy.
        False: NpuLayoutError (a ValueError) if a copy is needed. True: always a copy.

    Returns
    -------
    A Tensor for a Tensor, else a plain array, with the strides of ``strides(shape, layout)``, in bytes. If extents of 1
    make two layouts the same memory, it is a view with these strides.

    Raises
    ------
    LayoutError
        On a blocked layout and on another rank.
    NpuLayoutError
        On a masked array, whose mask would be lost.

    Examples
    --------
    >>> x = np.arange(12).reshape(1, 3, 2, 2)
    >>> y = asformat(x, "NHWC")
    >>> y.strides == (96, 8, 48, 24), bool((y == x).all()), asformat(y, "NHWC") is y
    (True, True, True)
    """
    order = axis_order(layout)
    wanted = wanted_copy(copy)
    array = plain_array("x", x, wanted)
    result = arranged(array, order, wanted)
    if not isinstance(x, Tensor):
        return result
    return x if result is array and carried_layout(x) == order.layout else type(x).of(result, order.layout)


@checked_call
def clone(x: Any, layout: LayoutLike | None = None) -> np.ndarray:
    """Return a copy of `x` without gaps: in `layout`, else in a Tensor's own layout or the order of the strides of `x`.

    Shape and dtype stay the same; a Tensor becomes a Tensor, anything else a plain array. Arguments and errors are as
    for `asformat`.

    >>> clone(np.zeros((2, 8, 3, 3))[:, ::2], "NHWC").strides
    (288, 8, 96, 32)
    """
    if layout is None and not isinstance(x, Tensor):
        return plain_array("x", x).copy(order="K")
    return asformat(x, x.layout if layout is None else layout, copy=True)


@checked_call
def empty_like(x: Any, dtype: Any = None, layout: LayoutLike | None = None) -> np.ndarray:
    """Return an array of the shape of `x`, not initialised: a Tensor for a Tensor, else a plain array.

    dtype: default that of `x`. layout: the memory format; default a Tensor's own, or the order of the strides of `x`.
    Raises the errors of `empty`.

    >>> from npu_layout import empty
    >>> empty_like(empty((2, 3, 4, 5), "uint8", "NHWC"), "float32").strides
    (240, 4, 60, 12)
    """
    array = plain_array("x", x)
    wanted = array.dtype if dtype is None else dtype
    if layout is None and not isinstance(x, Tensor):
        try:
            return np.empty_like(array, wanted, order="K")
        except (TypeError, ValueError) as error:
            raise LayoutError(f"empty_like: dtype {shown(dtype)}: {error}") from None
    order = axis_order(x.layout if layout is None else layout)
    check_rank("x", array.shape, order)
    result = empty_in(array.shape, wanted, order)
    return type(x).of(result, order.layout) if isinstance(x, Tensor) else result


@checked_call
def memory_format(x: np.ndarray, axes: str | None = None) -> Layout | None:
    """Return the layout of `x`: a Tensor's own, else the one that its strides show; None if they leave it open.

    If several layouts fit the strides (:func:`fitting_formats` lists them, and explains gaps and negative strides),
    channels first and channels last are preferred to the rest, then layouts with the batch outermost. None: two equally
    preferred layouts fit, as for (4,1,4,4), or no layout fits, as for an expanded array.

    Parameters
    ----------
    x
        An array of any dtype.
    axes
        The letters of its axes, if they are not N, NC, NCW, NCHW, NCDHW by rank: "CHW" for an image.

    Raises
    ------
    NpuLayoutError, LayoutError
        If x is no array, or `axes` does not fit it.

    Examples
    --------
    >>> image = np.zeros((480, 640, 3)).transpose(2, 0, 1)
    >>> memory_format(image, "CHW"), memory_format(image[:, :8, :8], "CHW"), memory_format(np.zeros((4, 1, 4, 4)))
    (Layout('HWC'), Layout('HWC'), None)
    """
    carried = carried_layout(x)
    if carried is not None:
        return carried
    array = array_of(x, "memory_format: x")
    return fitting_best(array.shape, array.strides, array.itemsize, letters_of(array, axes))
