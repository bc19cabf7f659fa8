"""Run an operator: check its inputs, choose its kernel, and write the result in the right memory format."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..arrays import AxisOrder, Tensor, axis_order, carried_layout, empty_in, fitting_best, memory_format
from ..errors import LayoutError, NpuLayoutError
from ..layouts import Layout, Shape, check_distinct, check_out, distinct, near
from ..support import array_of, flag, plain_array
from .moving import move
from .registry import AXES, Kernel, OperatorKernels, serving

_LAYOUT = Layout(AXES)
_CHANNELS_LAST = Layout("NHWC")
_LETTERS = (AXES, "ABCD")  # that the axes of a Tensor may have


class Inputs(NamedTuple):
    """The inputs of an operator as plain arrays, and the format of its results."""

    operator: OperatorKernels
    arrays: tuple[np.ndarray, ...]
    sources: tuple[np.ndarray, ...]  # the memory in which they were given
    order: AxisOrder
    kind: type[Tensor] | None  # of the results

    @property
    def x(self) -> np.ndarray:
        """The only input, or the first."""
        return self.arrays[0]

    @property
    def kernel(self) -> Kernel:
        """The kernel for them."""
        return serving(self.operator, self.order.stored, self.arrays[0].dtype)

    def result(self, array: np.ndarray) -> np.ndarray:
        """Return a plain array in the results' format as the caller gets it."""
        return array if self.kind is None else self.kind.of(array, self.order.layout)


def checked_inputs(operator: OperatorKernels, *inputs: Any, values: bool = True, windows: bool = False) -> Inputs:
    """Check the inputs of an operator.

    `values`: it computes, so that it gets numbers in native byte order, bool as uint8; else it moves elements as they
    are. `windows`: see result_layout.
    """
    if len(inputs) == 1 and (type(inputs[0]) is np.ndarray or _carries(inputs[0])):
        (only,) = inputs
        array, kind = np.asarray(only), None if type(only) is np.ndarray else type(only)
        order = _order(None if kind is None else carried_layout(only), array.shape, array.strides, array.dtype)
        if order is not None:  # the usual case of a hot loop; else the checks below find the reason
            return Inputs(operator, (array,), (array,), order, kind)
    carrying = [x for x in inputs if _carries(x)]
    sources = tuple([_array(operator, x) for x in inputs])
    layout = _common(carrying, sources, windows)
    kind = type(carrying[0]) if carrying else None
    arrays = tuple([native(a) for a in sources]) if values else sources
    return Inputs(operator, arrays, sources, axis_order(_LAYOUT if layout is None else layout), kind)


@lru_cache(maxsize=1024)
def _order(layout: Layout | None, shape: Shape, strides: Shape, dtype: np.dtype[Any]) -> AxisOrder | None:
    """Return the order of results of one array, a Tensor's of that layout or a plain one.

    None if it is not an array of native numbers with the axes N, C, H and W.
    """
    if len(shape) != len(AXES) or dtype.kind not in "iuf" or not dtype.isnative:
        return None
    if layout is None:
        return axis_order(fitting_best(shape, strides, dtype.itemsize, AXES) or _LAYOUT)
    return axis_order(layout) if layout.axes in _LETTERS else None


def _array(operator: OperatorKernels, x: Any) -> np.ndarray:
    array = plain_array(operator.argument, x)
    if array.ndim != len(AXES):
        flat = "; of a stored buffer give spec.view(buffer) or spec.unpack(buffer)" * (array.ndim == 1)
        raise LayoutError(f"{operator}: expected an array with the axes N, C, H and W, got shape {array.shape}{flat}")
    if array.dtype.kind not in "biuf":
        raise NpuLayoutError(f"{operator}: expected real numbers, got dtype {array.dtype}")
    if _carries(x) and x.layout.axes not in _LETTERS:
        raise LayoutError(f"{operator}: expected a Tensor with the axes {AXES}, got {x.layout.axes} ({x.layout!r})")
    return array


def native(x: np.ndarray) -> np.ndarray:
    """Return numbers in the byte order of this machine, a view if they are; bool as uint8 of 0 and 1.

    An accelerator may store a True as another byte than 1; that is copied, because numpy reads it as 1 too.
    """
    if x.dtype.kind == "b":
        stored = x.view(np.uint8)
        return stored if stored.max(initial=0) <= 1 else np.not_equal(stored, 0).view(np.uint8)
    return x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="), order="K")


def _carries(x: Any) -> bool:
    return carried_layout(x) is not None


def result_layout(*inputs: Any, windows: bool = False) -> Layout | None:
    """Return the format of an operator's result, from the formats of its inputs.

    Equal formats are kept. Otherwise Tensors decide: the first one; or, for operators with `windows` (resize, pad),
    channels last if any Tensor has it, as PyTorch decides for convolutions and pooling. Plain arrays count only if
    there is no Tensor: then the format is the one that their strides show, if those that show one agree. None: C order.
    NpuLayoutError if an input is no array.

    >>> x, y = (Tensor(np.zeros((1, 3, 4, 5)), order) for order in ("CHWN", "NHWC"))
    >>> result_layout(x, y), result_layout(x, y, windows=True), result_layout(np.asarray(x), y)
    (Layout('CHWN'), Layout('NHWC'), Layout('NHWC'))
    """
    return _common([x for x in inputs if _carries(x)], inputs, flag("windows", windows))


def _common(carrying: Sequence[Tensor], inputs: Sequence[Any], windows: bool) -> Layout | None:
    """Return result_layout of inputs, some of which carry their format."""
    if carrying:
        last = windows and any(x.layout == _CHANNELS_LAST for x in carrying)
        return _CHANNELS_LAST if last else carrying[0].layout
    shown = {memory_format(array_of(x, "result_layout: inputs")) for x in inputs} - {None}
    return shown.pop() if len(shown) == 1 else None


def apply(inputs: Inputs, shape: Shape, dtype: Any, out: Any, **arguments: Any) -> np.ndarray:
    """Run the operator's kernel, and return `out`, or new memory in the results' format if it is None.

    The kernel is given one array, or a tuple of them if there are several inputs.
    """
    arrays = inputs.arrays
    x = arrays[0] if len(arrays) == 1 else arrays
    kernel = serving(inputs.operator, inputs.order.stored, arrays[0].dtype)
    if out is None:
        result = empty_in(shape, dtype, inputs.order)
        if result.size:
            kernel.run(x, result, order=inputs.order, **arguments)
        return inputs.result(result)
    target = checked_out(inputs, out, shape, dtype)
    if target.size and near(target, inputs.sources):
        result = empty_in(shape, dtype, inputs.order)
        kernel.run(x, result, order=inputs.order, **arguments)
        move(result, target)
    elif target.size:
        kernel.run(x, target, order=inputs.order, **arguments)
    return out  # type: ignore[no-any-return]


def checked_out(inputs: Inputs, out: Any, shape: Shape, dtype: Any) -> np.ndarray:
    """Return `out` as a plain array if results of that shape and dtype can be written there, else raise."""
    if type(out) is np.ndarray and fits(out.shape, out.strides, out.dtype, shape, dtype) and out.flags.writeable:
        return out  # the usual case of a hot loop; else the checks below find the reason
    plain = plain_array("out", check_out(out, shape, np.dtype(dtype), None, lambda: inputs.operator.name))
    return check_distinct(plain, lambda: inputs.operator.name)


@lru_cache(maxsize=1024)
def fits(shape: Shape, strides: Shape, dtype: np.dtype[Any], wanted: Shape, wanted_dtype: Any) -> bool:
    """Return whether an array of this shape, strides and dtype can be written with the shape and dtype wanted."""
    return shape == wanted and dtype == wanted_dtype and distinct(shape, strides, dtype.itemsize)
