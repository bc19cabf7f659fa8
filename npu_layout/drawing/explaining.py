"""Read what is to be explained: a layout or several of one tensor, an index, a window, and the part that is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Union, overload

from ..buffers import TensorSpec
from ..errors import LayoutError, NpuLayoutError
from ..frames import FrameSpec, pixel_format
from ..layouts import Layout, as_layout
from ..support import checked_call, counted, flag, integers, items_of, naming
from . import reads
from .explanation import Explanation
from .frame_memory import FrameExplanation
from .reads import CACHE_LINE
from .shown_part import choose_part

Described = Union[str, Layout, TensorSpec]

_LONGEST_LINE = 1 << 30  # bytes of a cache line


@overload
def explain(layout: FrameSpec) -> FrameExplanation: ...


@overload
def explain(
    layout: Described,
    shape: Sequence[int] | None = ...,
    dtype: Any = ...,
    *,
    axes: str | None = ...,
    at: Sequence[int] | None = ...,
    window: Sequence[int] | None = ...,
    gray: bool = ...,
    compare: Described | Sequence[Described] = ...,
    part: Sequence[int] | None = ...,
    cache_line: int = ...,
) -> Explanation: ...


@checked_call
def explain(
    layout: Described | FrameSpec,
    shape: Sequence[int] | None = None,
    dtype: Any = None,
    *,
    axes: str | None = None,
    at: Sequence[int] | None = None,
    window: Sequence[int] | None = None,
    gray: bool = False,
    compare: Described | Sequence[Described] = (),
    part: Sequence[int] | None = None,
    cache_line: int = CACHE_LINE,
) -> Explanation | FrameExplanation:
    """Explain where a layout stores each element of a tensor, in numbers and as a picture.

    Parameters
    ----------
    layout
        A tag or a Layout; a TensorSpec, whose own shape, dtype, pitches and gaps are explained; or a FrameSpec without
        other arguments: then the result has the first bytes of each plane, as text (``str``) and as a picture
        (``save``, ``to_svg``).
    shape, axes
        The logical shape and the letters of its axes, as for TensorSpec.
    dtype
        The dtype of the elements; default: float32.
    at
        A logical index, whose offset is explained, and at which the window and the gray pixel start. Default: they
        start at the first element.
    window
        Extents of one convolution window over the last axes that are neither N nor C, such as (3, 3). It reads every
        channel, and at most 2**20 elements.
    gray
        Whether to mark the elements that one gray pixel reads: three channels.
    compare
        One or several other layouts, in which the same tensor is shown beside the first one.
    part
        Extents of the part that the picture shows, one for each logical axis, at most 4096 elements; default: as much
        as a reader can take in.
    cache_line
        Bytes of a cache line, in which the reads of the window and of the gray pixel are counted.

    Raises
    ------
    LayoutError
        If shape and layout do not match, the tensor has no axes, the window reaches beyond the tensor, or the part or
        the window is too large.
    IndexError
        If `at` is outside the shape.

    Examples
    --------
    >>> found = explain("NCHW16c", (1, 57, 46, 46), "int8", at=(0, 17, 2, 3))
    >>> found.formula
    'n*135424 + c//16*33856 + h*736 + w*16 + c%16'
    >>> found.place(0, 17, 2, 3), found.padding_bytes
    ('0*135424 + 1*33856 + 2*736 + 3*16 + 1 = 35377', 14812)
    >>> both = explain("NHWC", (1, 3, 8, 8), window=(3, 3), compare="NCHW")
    >>> len(both.reads[0].runs), len(both.compared[0].reads[0].runs)
    (3, 9)
    """
    if isinstance(layout, FrameSpec):
        return _of_frame(layout, (shape, dtype, axes, at, window, part, gray or None, compare or None))
    line = counted("cache_line", cache_line, _LONGEST_LINE, f"1 byte or more, up to {_LONGEST_LINE}")
    spec = _spec(layout, shape, dtype, axes)
    if not spec.axes:
        raise LayoutError(f"{spec.describe()}: expected a tensor with axes; one number is stored as it is")
    one = isinstance(compare, (str, Layout, TensorSpec))
    others: list[Any] = [compare] if one else items_of("compare", compare, object, "layouts")
    with naming("compare"):
        specs = [spec, *(_compared_spec(other, spec) for other in others)]
    index = None if at is None else _checked_index(spec, at)
    gray = flag("gray", gray)
    start = dict(zip(spec.axes, index or (0,) * len(spec.axes)))
    found = []
    for each in specs:
        marked = [] if window is None else [reads.window(each, window, start, line)]
        marked += [reads.gray(each, start, line)] if gray else []
        found.append(tuple(marked))
    reach = {}
    if window is not None:
        reach = dict(zip([a for a in spec.axes if a not in "NC"][-len(window) :], window))
    with naming("part"):
        extents = None if part is None else spec.layout.check_shape(part)
    shown = choose_part([s.storage for s in specs], start if at is not None else {}, reach, extents)
    made = [Explanation(s, index, r, shown) for s, r in zip(specs, found)]
    return Explanation(spec, index, found[0], shown, tuple(made[1:]))


def _of_frame(spec: FrameSpec, others: Sequence[Any]) -> FrameExplanation:
    if any(value is not None for value in others):
        raise NpuLayoutError(f"layout: {spec.describe()} is explained alone; leave the other arguments out")
    return FrameExplanation(spec)


def _checked_index(spec: TensorSpec, at: Any) -> tuple[int, ...]:
    index = integers("at", at, f"an index for each of {spec.axes}")
    try:
        spec.offset(*index)
    except IndexError as error:
        raise IndexError(f"at: {error}") from None
    return index


def _spec(layout: Described, shape: Sequence[int] | None, dtype: Any, axes: str | None) -> TensorSpec:
    if isinstance(layout, TensorSpec):
        if shape is not None or dtype is not None or axes is not None:
            raise NpuLayoutError(f"{layout.describe()} has its own shape, dtype and axes; give only the spec")
        return layout
    if shape is None:
        raise NpuLayoutError(f"layout {layout} needs a shape: give the logical shape, or a TensorSpec in place of both")
    try:
        order = as_layout(layout, axes)
    except LayoutError as error:
        raise LayoutError(f"{error}{_of_a_camera(layout)}") from None
    return TensorSpec(shape, order, "float32" if dtype is None else dtype)


def _of_a_camera(layout: Any) -> str:
    """Return what to write if the name is a pixel format's, or nothing."""
    try:
        pixel_format(layout)
    except NpuLayoutError:
        return ""
    return f"; {layout} is a pixel format: write explain(FrameSpec({layout!r}, (width, height)))"


def _compared_spec(other: Described, spec: TensorSpec) -> TensorSpec:
    """Return the spec to compare with, of the same axes and shape; LayoutError if it has others."""
    if not isinstance(other, TensorSpec):
        return TensorSpec(spec.shape, other, spec.dtype, axes=spec.axes)
    if (other.axes, other.shape) != (spec.axes, spec.shape):
        raise LayoutError(
            f"compare: {other.describe()} of axes {other.axes} is not {spec.describe()} of axes {spec.axes}"
        )
    return other
