"""The one gray rule, for every layout."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import kernels
from .errors import LayoutError, NpuLayoutError
from .layout import Layout
from .repack import LayoutLike, as_layout, check_out, logical_shape, repack

_ORDERS = {"BGR": (0, 1, 2), "RGB": (2, 1, 0)}  # where blue, green and red are
_DTYPES = ("uint8", "uint16", "float32")


def to_gray(
    image: Any,
    layout: LayoutLike,
    *,
    order: str = "BGR",
    to: LayoutLike | None = None,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Grayscale of an image stored in any layout: a copy, same dtype.

    Parameters
    ----------
    image
        Storage array of `layout`, uint8, uint16 or float32, any strides; its first three channels are read.
    layout
        Its tag or Layout; it has an axis C of at least 3.
    order
        "BGR" or "RGB": the order of those channels.
    to
        Storage order of the result; default: the same axis order, blocks dropped (their padding counts as real).
    out
        Array to write to, of the result's shape and dtype.

    Returns
    -------
    Storage array with C = 1. uint8 is bit-equal to cv2.cvtColor: (3735 B + 19235 G + 9798 R + 2**14) >> 15.

    Raises
    ------
    LayoutError, NpuLayoutError
        On an array that the layout cannot be, under 3 channels, another dtype, or an out that does not fit.

    Examples
    --------
    >>> import numpy as np
    >>> to_gray(np.full((3, 1, 2), 200, np.uint8), "CHW").tolist()
    [[[200, 200]]]
    """
    source = as_layout(layout)
    array = np.asarray(image)
    if order not in _ORDERS:
        raise NpuLayoutError(f"order: expected BGR or RGB, got {order!r}")
    if array.dtype.name not in _DTYPES or not array.dtype.isnative:
        raise NpuLayoutError(f"image of layout {source}: expected dtype {', '.join(_DTYPES)}, got {array.dtype}")
    shape = dict(zip(source.axes, logical_shape(source, array.shape)))
    if shape.get("C", 0) < 3:
        raise LayoutError(
            f"image of layout {source} and shape {array.shape}: expected an axis C of at least 3, got {shape.get('C')}"
        )
    if 0 in array.shape:
        raise LayoutError(f"image of layout {source} is empty: shape {array.shape}")
    shape["C"] = 1
    plain = Layout.plain(source.letters)
    target = plain if to is None else as_layout(to)
    if sorted(target.axes) != sorted(plain.axes):
        raise LayoutError(f"to={target}: expected the axes {plain.axes} of layout {source}, got {target.axes}")
    result_shape = target.storage_shape([shape[a] for a in target.axes])
    if out is not None:
        check_out(out, result_shape, array.dtype, array, lambda: f"to_gray of layout {source}")
    direct = target.tag == plain.tag
    work = out if direct and out is not None else np.empty([shape[a] for a in plain.axes], array.dtype)
    kernels.gray(*gray_views(array, source, work, order))
    if direct:
        return work
    return repack(work, plain, Layout(target.tag), out=out)


def gray_views(
    array: np.ndarray, layout: Layout, gray: np.ndarray, order: str = "BGR"
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Blue, green and red of a storage array, and the result (plain, C = 1): views of one shape."""
    blue, green, red = (array[_channel(layout, c)] for c in _ORDERS[order])
    return blue, green, red, _as_planes(gray, layout)


def _channel(layout: Layout, c: int) -> tuple[Any, ...]:
    index: list[Any] = []
    for dim in layout.dims:
        if layout.axes[dim.axis] != "C":
            index.append(slice(None))
        else:
            index.append(c // dim.step % dim.block if dim.block else c // dim.step)
    return tuple(index)


def _as_planes(gray: np.ndarray, source: Layout) -> np.ndarray:
    """`gray` (plain, C = 1) as a view with the dimensions of `source` that are not C's: blocks split, in place."""
    dims = [dim for dim in source.dims if source.axes[dim.axis] != "C"]
    view: Any = gray[tuple(0 if letter == "C" else slice(None) for letter in source.letters)]
    letters = [letter for letter in source.letters if letter != "C"]
    split: list[int] = []
    order: list[tuple[int, int]] = []
    for extent, letter in zip(view.shape, letters):
        mine = sorted((d for d in dims if source.axes[d.axis] == letter), key=lambda d: (-d.step, d.block > 0))
        inner = 1
        for dim in mine[1:]:
            inner *= dim.block
        split += [extent // inner, *(dim.block for dim in mine[1:])]
        order += [(dim.axis, dim.step if dim.block else 0) for dim in mine]
    if len(split) == view.ndim:
        return view  # type: ignore[no-any-return]
    wanted = [order.index((dim.axis, dim.step if dim.block else 0)) for dim in dims]
    return view.reshape(split).transpose(wanted)  # type: ignore[no-any-return]
