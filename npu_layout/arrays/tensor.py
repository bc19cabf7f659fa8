"""Tensor: an ndarray that carries its memory format, also if the strides could be those of several formats."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from ..errors import LayoutError, NpuLayoutError
from ..layouts import Layout, LayoutLike, as_argument
from ..support import array_of, plain_array, shown
from .format_keeping import KEEPING_METHODS, PLAIN_METHODS, is_argument, may_keep
from .orders import arranged, axis_order, follows

T = TypeVar("T", bound="Tensor")


def carried_layout(x: Any) -> Layout | None:
    """Return the format that a Tensor carries; None of one that was made without, and of anything else."""
    return x._layout if isinstance(x, Tensor) else None


def _plain(x: Any) -> Any:
    return np.asarray(x) if isinstance(x, Tensor) else x


def _carried(result: Any, given: Iterable[Any]) -> Any:
    """Return a plain array in the format of the first Tensor with as many axes; without such a Tensor, as it is."""
    if type(result) is np.ndarray:
        for x in given:
            if isinstance(x, Tensor) and x._layout is not None and x.ndim == result.ndim:
                return x._in_format(result)
    return result


def _method(name: str, keeps: bool) -> Any:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        result = getattr(np.asarray(self), name)(*args, **kwargs)
        return _carried(result, (self,)) if keeps and not is_argument(result, args, kwargs) else result

    method.__name__ = name
    method.__doc__ = f"ndarray.{name}: {'in this format if it has as many axes' if keeps else 'a plain array'}."
    return method


def _attribute(name: str, keeps: bool) -> property:
    def get(self: Tensor) -> Any:
        return _carried(getattr(np.asarray(self), name), (self,) if keeps else ())

    def put(self: Tensor, value: Any) -> None:
        setattr(np.asarray(self), name, value)

    return property(get, put)


def _with_methods(cls: type[T]) -> type[T]:
    """Give the class those methods and attributes of ndarray that keep the format, or return plain arrays."""
    made = (
        (KEEPING_METHODS, True, _method),
        (PLAIN_METHODS, False, _method),
        ("real imag", True, _attribute),
        ("T mT", False, _attribute),
    )
    for names, keeps, make in made:
        for name in names.split():
            if hasattr(np.ndarray, name):
                setattr(cls, name, make(name, keeps))
    return cls


@_with_methods
class Tensor(np.ndarray):
    """An ndarray that carries its memory format as ``.layout``, also if its strides fit several formats.

    ``Tensor(x, layout)`` brings `x` into the format as :func:`asformat` does: a view of `x` if it already has the
    format, else a repacked copy. The axes stay the logical ones, and everything else is numpy's.

    These keep the format: basic slices, element-wise ufuncs, accumulate, reductions with keepdims, copy, astype, view,
    pickle, and numpy's where, clip, round, flip, sort, nan_to_num, zeros_like and the like. New memory has the format
    without gaps; slices share memory and may have gaps. If there are several Tensors, the result gets the format of the
    first one with as many axes as the result; plain arrays do not count. An array given as ``out=`` keeps its format.

    Everything else returns plain arrays: transposes, reshapes, integer and array indices, reductions that drop axes,
    products of matrices, results with more axes than any Tensor, copies in another ``order`` or with ``subok=False``.

    Raises
    ------
    LayoutError, NpuLayoutError
        As for asformat, and if shape or strides are set in place.

    Examples
    --------
    >>> x = Tensor(np.zeros((4, 1, 4, 4)), "NHWC")
    >>> (x[:2] + 1).layout, x.mean(axis=1, keepdims=True).layout, type(x[0]).__name__
    (Layout('NHWC'), Layout('NHWC'), 'ndarray')
    """

    __slots__ = ("_layout",)
    _layout: Layout | None

    def __new__(cls: type[T], x: Any, layout: LayoutLike) -> T:
        """Return `x` in the layout, as a Tensor."""
        order = axis_order(layout)
        return cls.of(arranged(plain_array("x", x), order), order.layout)

    @classmethod
    def of(cls: type[T], array: np.ndarray, layout: Layout) -> T:
        """Return a view of a plain `array` of any dtype as a Tensor of this layout.

        The array's memory is not checked: the caller knows that it has the layout's axes in the layout's order.
        NpuLayoutError only if `array` is no array or `layout` no Layout.
        """
        try:
            result = np.ndarray.view(array, cls)
        except TypeError:
            array_of(array, "array")
            raise
        if not isinstance(layout, Layout):
            raise NpuLayoutError(f"layout: expected a Layout, got {shown(layout)}")
        result._layout = layout
        return result

    def __array_finalize__(self, obj: Any) -> None:
        layout = getattr(obj, "_layout", None)
        if layout is not None and (self.shape != obj.shape or self.strides != obj.strides):
            layout = layout if self.shape == obj.shape and follows(self, axis_order(layout)) else None
        self._layout = layout

    @property
    def layout(self) -> Layout:
        """The format: the order of the axes in memory.

        LayoutError on a Tensor made without one, by ``x.view(Tensor)``.
        """
        if self._layout is None:
            raise LayoutError(f"this Tensor of shape {self.shape} was made without a layout; use Tensor(x, layout)")
        return self._layout

    def _in_format(self: T, result: np.ndarray) -> T:
        """Return a plain array of as many axes in this Tensor's format: the same memory if it has it, else repacked."""
        order = axis_order(self.layout)
        if result.transpose(order.stored).flags.c_contiguous or not follows(result, order):
            result = arranged(result, order)
        return self.of(result, order.layout)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        outs = kwargs.get("out") or ()
        plain = [_plain(x) for x in inputs]
        if outs:
            kwargs["out"] = tuple(_plain(x) for x in outs)
        elif "where" in kwargs:
            kwargs["out"] = None  # numpy removed it, and would warn that it is missing
        if "where" in kwargs:
            kwargs["where"] = _plain(kwargs["where"])
        first = _format_of(inputs, [*plain, kwargs.get("where", True)])
        explicit = ufunc.signature or {"order", "subok"} & kwargs.keys()
        if first is not None and method == "__call__" and not explicit and not outs:
            return _in_order(first, ufunc, plain, kwargs)
        results = getattr(ufunc, method)(*plain, **kwargs)
        if method in ("reduceat", "outer", "at") or explicit:
            inputs = ()
        if not isinstance(results, tuple):
            return outs[0] if outs else _carried(results, inputs)
        outs = outs or (None,) * len(results)
        return tuple(_carried(r, inputs) if out is None else out for r, out in zip(results, outs))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        found: dict[int, Tensor] = {}
        plain_args, plain_kwargs = _without(args, found), _without(kwargs, found)
        if not found:  # they are in a container of another kind
            result = super().__array_function__(func, types, args, kwargs)
            return np.asarray(result) if isinstance(result, Tensor) and result._layout is None else result
        result = func(*plain_args, **plain_kwargs)
        if id(result) in found:
            return found[id(result)]
        if is_argument(result, args, kwargs) or not may_keep(func.__name__, args, kwargs):
            return result
        return _carried(result, found.values())

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if self._layout is None or not all(type(part) is slice or part is Ellipsis for part in parts):
            return np.asarray(self)[_plain(key) if not isinstance(key, tuple) else key]
        return self.of(np.asarray(self)[key], self._layout)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("shape", "strides"):
            raise NpuLayoutError(f"{name} of a Tensor cannot be set in place: its layout would be wrong; use reshape")
        super().__setattr__(name, value)

    def resize(self, *args: Any, **kwargs: Any) -> None:
        """Raise NpuLayoutError, as setting the shape does."""
        self.shape = args

    def copy(self, order: Any = "K") -> Any:
        """Return a copy without gaps in this format; a plain array if the order "C", "F" or "A" is given."""
        plain = np.asarray(self)
        if order != "K" or self._layout is None:
            return plain.copy(order)
        return self.of(arranged(plain, axis_order(self._layout), True), self._layout)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return _carried(copy.deepcopy(np.asarray(self), memo), (self,))

    def astype(  # type: ignore[override]
        self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """Convert as ndarray.astype, in this format; a plain array if another order, or no subclass, is given."""
        plain = np.asarray(self)
        result = plain.astype(dtype, order, casting, subok, copy)
        if result is plain:
            return self
        return _carried(result, (self,)) if order == "K" and subok else result

    def view(self, *args: Any, **kwargs: Any) -> Any:
        """Return a view as ndarray.view does; a view of this type keeps the format."""
        result = super().view(*args, **kwargs)
        if isinstance(result, Tensor):
            result._layout = self._layout
        return result

    def __reduce__(self) -> Any:
        if self._layout is None:
            return super().__reduce__()
        return _restored, (type(self), np.asarray(self).transpose(axis_order(self._layout).stored), self._layout)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()

    def __repr__(self) -> str:
        known = "" if self._layout is None else f", layout={as_argument(self._layout)}"
        return f"{super().__repr__()[:-1]}{known})"


def _restored(kind: type[T], stored: np.ndarray, layout: Layout) -> T:
    return kind.of(stored.transpose(axis_order(layout).back), layout)


def _format_of(inputs: Sequence[Any], broadcast: Sequence[Any]) -> Tensor | None:
    """Return the first Tensor with as many axes as the result of a ufunc.

    None if there is none, if the result has no axes, or if an argument is an array of another library, which may handle
    the ufunc.
    """
    for x in inputs:
        if not isinstance(x, Tensor) and type(x) is not np.ndarray and hasattr(type(x), "__array_ufunc__"):
            return None
    rank = max(np.ndim(x) for x in broadcast)
    fitting = (x for x in inputs if isinstance(x, Tensor) and x._layout is not None and x.ndim == rank)
    return next(fitting, None) if rank else None


def _in_order(first: Tensor, ufunc: Any, plain: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call the ufunc on arrays transposed so that C order is the format of `first`, and transpose its results back."""
    order = axis_order(first.layout)
    rank = len(order.stored)

    def transposed(x: Any) -> Any:
        axes = np.ndim(x)
        if not axes:
            return x
        array = np.asarray(x)
        return (array if axes == rank else array.reshape((1,) * (rank - axes) + array.shape)).transpose(order.stored)

    def back(result: np.ndarray) -> Tensor:
        return first.of(result.transpose(order.back), order.layout)

    shapes = [np.shape(x) for x in plain]
    if any(shape and shape != first.shape for shape in shapes):
        try:
            np.broadcast_shapes(*shapes)
        except ValueError:
            return ufunc(*plain, **kwargs)  # numpy's error then names the shapes of the caller
    if np.ndim(kwargs.get("where", True)):
        kwargs["where"] = transposed(kwargs["where"])
    results = ufunc(*(transposed(x) for x in plain), order="C", **kwargs)
    return tuple(back(result) for result in results) if isinstance(results, tuple) else back(results)


def _without(x: Any, found: dict[int, Tensor]) -> Any:
    """Return `x`, its lists, tuples and dicts too, with plain arrays for Tensors; `found` maps their ids to Tensors."""
    if isinstance(x, Tensor):
        plain = np.asarray(x)
        found[id(plain)] = x
        return plain
    if type(x) in (list, tuple):
        return type(x)(_without(part, found) for part in x)
    if type(x) is dict:
        return {key: _without(part, found) for key, part in x.items()}
    return x
