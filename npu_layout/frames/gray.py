"""Convert images in any layout to grayscale, bit-equal to OpenCV."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import kernels
from ..errors import LayoutError, NpuLayoutError
from ..layouts import (
    CHANNEL_ORDERS,
    COLOR_ORDERS,
    Layout,
    LayoutLike,
    as_layout,
    check_distinct,
    check_out,
    logical_shape,
    repack,
)
from ..support import checked_call, naming, plain_array

Views = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
_DTYPES = ("uint8", "uint16", "float32")


@checked_call
def to_gray(
    image: Any,
    layout: LayoutLike,
    *,
    order: str = "BGR",
    to: LayoutLike | None = None,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Return the grayscale of an image stored in any layout: a copy, of the same dtype.

    Parameters
    ----------
    image
        Storage array of `layout`: uint8, uint16 or float32, with any strides. Its first three channels are read.
    layout
        Tag or Layout of `image`, with an axis C of at least 3.
    order
        "BGR" or "RGB": the order of these channels.
    to
        Tag or Layout of the result. Default: the axes in the order of `layout`, without its blocks, whose padding
        becomes pixels.
    out
        Array to write to, of the result's shape and dtype; it is returned.

    Returns
    -------
    Storage array with C = 1. uint8 is bit-equal to cv2.cvtColor: (3735 B + 19235 G + 9798 R + 2**14) >> 15.

    Raises
    ------
    LayoutError, NpuLayoutError
        On an array that does not fit the layout, fewer than 3 channels, another dtype, and an `out` that does not fit.

    Examples
    --------
    >>> import numpy as np
    >>> to_gray(np.full((3, 1, 2), 200, np.uint8), "CHW").tolist()
    [[[200, 200]]]
    """
    array = image if type(image) is np.ndarray else plain_array("image", image)
    try:
        work = _graying(layout, array.shape, array.dtype, order, to)
    except TypeError:  # what has no hash is no layout, or no order
        as_layout(layout)
        with naming("to"):
            as_layout(layout if to is None else to)
        raise NpuLayoutError(f"order: expected BGR or RGB, got {order!r}") from None
    # The usual case of a hot loop; if it fails, the checks below find out why.
    if type(out) is np.ndarray and out.shape == work.result_shape and out.dtype is array.dtype:
        done = work.attempts[0](array, out)
        if done:
            return out
    if out is not None:
        check_out(out, work.result_shape, array.dtype, array, lambda: f"to_gray of layout {work.source}")
        check_distinct(out, lambda: f"to_gray of layout {work.source}")
    gray = out if work.direct and out is not None else np.empty(work.plain_shape, array.dtype)
    kernels.gray(*work.views(array, gray))
    if work.direct:
        work.remember(array, gray)
        return gray
    return repack(gray, work.plain, work.target, out=out)


class Graying(NamedTuple):
    """How to view the channels and the result for one layout and shape."""

    source: Layout
    plain: Layout
    target: Layout
    plain_shape: tuple[int, ...]
    result_shape: tuple[int, ...]
    direct: bool  # the result is plain
    channels: tuple[tuple[Any, ...], ...]  # indices of blue, green and red
    pixel: tuple[Any, ...]  # index of the result's only channel
    split: tuple[int, ...]  # its shape with blocks split, as the source has them, and their order
    order: tuple[int, ...]
    attempts: list[Callable[[np.ndarray, np.ndarray], bool]]  # writes gray of a dense image; False if it cannot

    def remember(self, image: np.ndarray, gray: np.ndarray) -> None:
        """Make what writes gray of other images, if these arrays are dense and it is compiled."""
        if self.attempts[0] is _never and image.flags.c_contiguous and gray.flags.c_contiguous:
            made = kernels.gray_of(self.views(image, gray), image, gray)
            if made is not None:
                self.attempts[0] = made.attempt

    def views(self, image: np.ndarray, gray: np.ndarray) -> Views:
        """Return blue, green, red and the result as views of one shape; no copy."""
        blue, green, red = self.channels
        result = gray[self.pixel].reshape(self.split).transpose(self.order)
        return image[blue], image[green], image[red], result


@lru_cache(maxsize=256)
def _graying(
    layout: LayoutLike, stored: tuple[int, ...], dtype: np.dtype[Any], order: str, to: LayoutLike | None
) -> Graying:
    source = as_layout(layout)
    extents = _checked_extents(source, stored, dtype, order)
    plain = Layout.plain(source.letters)
    with naming("to"):
        target = plain if to is None else as_layout(to)
    if sorted(target.axes) != sorted(plain.axes):
        raise LayoutError(f"to={target}: expected the axes {plain.axes} of layout {source}, got {target.axes}")
    split, axes = _split(source, extents)
    return Graying(
        source,
        plain,
        Layout(target.tag),
        tuple(extents[a] for a in plain.axes),
        target.storage_shape([extents[a] for a in target.axes]),
        target.tag == plain.tag,
        tuple(_channel(source, c) for c in CHANNEL_ORDERS[order].bgr),
        tuple(0 if letter == "C" else slice(None) for letter in source.letters),
        split,
        axes,
        [_never],
    )


def _never(image: np.ndarray, gray: np.ndarray) -> bool:
    """Run no program: what a conversion without a compiled one calls."""
    return False


def _checked_extents(source: Layout, stored: tuple[int, ...], dtype: np.dtype[Any], order: str) -> dict[str, int]:
    """Return the extents of the gray image by letter, C = 1; an error if the image has no colours to read."""
    if order not in COLOR_ORDERS:
        raise NpuLayoutError(f"order: expected BGR or RGB, got {order!r}")
    if dtype.name not in _DTYPES or not dtype.isnative:
        raise NpuLayoutError(f"image of layout {source}: expected dtype {', '.join(_DTYPES)}, got {dtype}")
    extents = dict(zip(source.axes, logical_shape(source, stored)))
    if extents.get("C", 0) < 3:
        raise LayoutError(
            f"image of layout {source} and shape {stored}: expected an axis C of at least 3, got {extents.get('C')}"
        )
    if 0 in stored:
        raise LayoutError(f"image of layout {source} is empty: shape {stored}")
    return {**extents, "C": 1}


def _split(source: Layout, extents: dict[str, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape of a plain image with its axes split into the blocks of `source`, and their order there."""
    dims = [dim for dim in source.dims if source.axes[dim.axis] != "C"]
    split: list[int] = []
    places: list[tuple[int, int]] = []
    for letter in source.letters:
        if letter == "C":
            continue
        own = sorted((d for d in dims if source.axes[d.axis] == letter), key=lambda d: (-d.step, d.block > 0))
        inner = math.prod(dim.block for dim in own[1:])
        split += [extents[letter] // inner, *(dim.block for dim in own[1:])]
        places += [(dim.axis, dim.step if dim.block else 0) for dim in own]
    return tuple(split), tuple(places.index((dim.axis, dim.step if dim.block else 0)) for dim in dims)


def gray_views(image: np.ndarray, layout: Layout, gray: np.ndarray) -> Views:
    """Return blue, green, red and the result `gray` (plain, C = 1) as views of one shape, for the kernel."""
    return _graying(layout, image.shape, image.dtype, "BGR", None).views(image, gray)


def _channel(layout: Layout, c: int) -> tuple[Any, ...]:
    index: list[Any] = []
    for dim in layout.dims:
        if layout.axes[dim.axis] != "C":
            index.append(slice(None))
        else:
            index.append(c // dim.step % dim.block if dim.block else c // dim.step)
    return tuple(index)
