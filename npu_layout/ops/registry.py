"""Operators on (N,C,H,W) arrays: in which format results lie, and the registry of kernels, format by format."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Callable, NamedTuple, TypeVar, Union

import numpy as np

from ..arrays import Order, Tensor, empty_in, fitting_best, memory_format, order_of
from ..buffers import Quantization, kernel_name
from ..errors import LayoutError, NpuLayoutError
from ..layouts import Affine, Layout, Shape, affine_copy, check_distinct, check_out, distinct, near
from ..support import array_of, plain_array

AXES = "NCHW"
GENERIC = "generic"
_LAYOUT = Layout(AXES)
_LAST = Layout("NHWC")
_LETTERS = (AXES, "ABCD")  # of a Tensor
CORE = "bool int8 uint8 int16 uint16 int32 float16 float32"  # dtypes of the core's loops, bool as uint8

Run = TypeVar("Run", bound=Callable[..., Any])


class Kernel(NamedTuple):
    """A row of the registry: `run(x, out, order=..., **arguments)` takes arrays with the logical axes, of any strides
    (top_k: `run(x, values, channels)`, peaks: `run(x, threshold, radius)`); `dtypes`: of x, by name, None for all."""

    pattern: str
    dtypes: frozenset[str] | None
    name: str
    run: Callable[..., Any]


_KERNELS: dict[str, list[Kernel]] = {}


def kernel(operator: str, pattern: str = "*", dtypes: str | None = None, name: str = GENERIC) -> Callable[[Run], Run]:
    """Register the decorated function as what does `operator` on arrays whose layout's tag is like `pattern`, with the
    wildcards of fnmatch ("*HW*": H right before W), and whose dtype is among the names in `dtypes`. The first that fits
    is taken; GENERIC does what no other does, however slowly."""

    def register(run: Run) -> Run:
        rows = _KERNELS.setdefault(operator, [])
        row = Kernel(pattern, None if dtypes is None else frozenset(dtypes.split()), name, run)
        rows.insert(len(rows) if name == GENERIC else sum(k.name != GENERIC for k in rows), row)
        _serving.cache_clear()
        return run

    return register


def chosen(operator: str, tag: str, dtype: str) -> Kernel:
    """The kernel for arrays of a plain layout with the axes NCHW, by its tag, and of a dtype, by its name."""
    return next(
        k for k in _KERNELS[operator] if fnmatchcase(tag, k.pattern) and (k.dtypes is None or dtype in k.dtypes)
    )


def operators() -> list[str]:
    """Every operator with a kernel."""
    return sorted(_KERNELS)


class Given(NamedTuple):
    """The inputs of an operator as plain arrays, and how its results lie."""

    operator: str
    arrays: tuple[np.ndarray, ...]
    sources: tuple[np.ndarray, ...]  # the memory that they were given in
    order: Order
    kind: type[Tensor] | None  # of the results

    @property
    def x(self) -> np.ndarray:
        """The only input, or the first."""
        return self.arrays[0]

    def result(self, array: np.ndarray) -> np.ndarray:
        """A plain array in the results' format, as the caller gets it."""
        return array if self.kind is None else self.kind.of(array, self.order.layout)


def given(operator: str, *inputs: Any, values: bool = True, windows: bool = False) -> Given:
    """Check the inputs of an operator. `values`: it computes, so that it gets native numbers, bool as uint8; else it
    moves elements as they are. `windows`: see result_layout."""
    if len(inputs) == 1 and (type(inputs[0]) is np.ndarray or _carries(inputs[0])):
        (only,) = inputs
        array, kind = np.asarray(only), None if type(only) is np.ndarray else type(only)
        order = _order(only._layout if kind else None, array.shape, array.strides, array.dtype)
        if order is not None:  # the usual case of a hot loop; else the checks below say why
            return Given(operator, (array,), (array,), order, kind)
    carrying = [x for x in inputs if _carries(x)]
    sources = tuple([_array(operator, x) for x in inputs])
    layout = _common(carrying, sources, windows)
    kind = type(carrying[0]) if carrying else None
    arrays = tuple([_native(a) for a in sources]) if values else sources
    return Given(operator, arrays, sources, order_of(_LAYOUT if layout is None else layout), kind)


@lru_cache(maxsize=1024)
def _order(layout: Layout | None, shape: Shape, strides: Shape, dtype: np.dtype[Any]) -> Order | None:
    """How results of one array lie, a Tensor's of that layout or a plain one; None where it is not one of native
    numbers with the axes N, C, H and W."""
    if len(shape) != len(AXES) or dtype.kind not in "iuf" or not dtype.isnative:
        return None
    if layout is None:
        return order_of(fitting_best(shape, strides, dtype.itemsize, AXES) or _LAYOUT)
    return order_of(layout) if layout.axes in _LETTERS else None


def _array(operator: str, x: Any) -> np.ndarray:
    array = plain_array(x)
    if array.ndim != len(AXES):
        raise LayoutError(f"{operator}: expected an array with the axes N, C, H and W, got shape {array.shape}")
    if array.dtype.kind not in "biuf":
        raise NpuLayoutError(f"{operator}: expected real numbers, got dtype {array.dtype}")
    if _carries(x) and x.layout.axes not in _LETTERS:
        raise LayoutError(f"{operator}: expected a Tensor with the axes {AXES}, got {x.layout.axes} ({x.layout!r})")
    return array


def _native(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "b":
        return x.view(np.uint8)
    return x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="), order="K")


def _carries(x: Any) -> bool:
    return isinstance(x, Tensor) and x._layout is not None


def result_layout(*inputs: Any, windows: bool = False) -> Layout | None:
    """The format of an operator's result, from the formats of its inputs.

    Equal formats are kept. Else Tensors decide, the first one, or, for operators with `windows` (resize, pad), channels
    last where any of them has it, as PyTorch decides for convolutions and pooling. Plain arrays have a say where there
    is no Tensor: the format in which all lie whose strides tell. None: C order. NpuLayoutError on what is no array.

    >>> x, y = (Tensor(np.zeros((1, 3, 4, 5)), order) for order in ("CHWN", "NHWC"))
    >>> result_layout(x, y), result_layout(x, y, windows=True), result_layout(np.asarray(x), y)
    (Layout('CHWN'), Layout('NHWC'), Layout('NHWC'))
    """
    return _common([x for x in inputs if _carries(x)], inputs, windows)


def _common(carrying: Sequence[Tensor], inputs: Sequence[Any], windows: bool) -> Layout | None:
    """result_layout of inputs of which some carry their format."""
    if carrying:
        return _LAST if windows and any(x.layout == _LAST for x in carrying) else carrying[0].layout
    told = {memory_format(array_of(x, "result_layout")) for x in inputs} - {None}
    return told.pop() if len(told) == 1 else None


def apply(given: Given, shape: Shape, dtype: Any, out: Any, **arguments: Any) -> np.ndarray:
    """Run the operator's kernel on the inputs (one array, or all of them where there are several) into `out`, or into
    new memory in the results' format."""
    x = given.x if len(given.arrays) == 1 else given.arrays
    row = serving(given)
    if out is None:
        result = empty_in(shape, dtype, given.order)
        if result.size:
            row.run(x, result, order=given.order, **arguments)
        return given.result(result)
    target = checked_out(given, out, shape, dtype)
    if target.size and near(target, given.sources):
        result = empty_in(shape, dtype, given.order)
        row.run(x, result, order=given.order, **arguments)
        move(result, target)
    elif target.size:
        row.run(x, target, order=given.order, **arguments)
    return out  # type: ignore[no-any-return]


def serving(given: Given) -> Kernel:
    """The kernel for these inputs."""
    return _serving(given.operator, given.order.stored, given.arrays[0].dtype)


@lru_cache(maxsize=1024)
def _serving(operator: str, stored: Shape, dtype: np.dtype[Any]) -> Kernel:
    return chosen(operator, tag_of(stored), kernel_name(dtype))


def tag_of(stored: Shape) -> str:
    """The tag of the layout in which the axes lie so, outermost first, spelt NCHW."""
    return "".join(AXES[i] for i in stored)


def checked_out(given: Given, out: Any, shape: Shape, dtype: Any) -> np.ndarray:
    """`out` as a plain array, if results of that shape and dtype can be written there."""
    if type(out) is np.ndarray and fits(out.shape, out.strides, out.dtype, shape, dtype) and out.flags.writeable:
        return out  # the usual case of a hot loop; else the checks below say why
    plain = plain_array(check_out(out, shape, np.dtype(dtype), None, lambda: given.operator))
    return check_distinct(plain, lambda: given.operator)


@lru_cache(maxsize=1024)
def fits(shape: Shape, strides: Shape, dtype: np.dtype[Any], wanted: Shape, wanted_dtype: Any) -> bool:
    """Whether results of the shape and dtype wanted can be written to an array that lies so."""
    return shape == wanted and dtype == wanted_dtype and distinct(shape, strides, dtype.itemsize)


def convert(x: np.ndarray, out: np.ndarray, affine: Affine | None = None, dtype: str | None = None) -> None:
    """out = affine(x), both with the axes NCHW and any strides, apart; `dtype`: what out holds, such as int4."""
    names = kernel_name(x.dtype), dtype or kernel_name(out.dtype)
    if affine is None and x.dtype == out.dtype:
        names = (f"V{x.itemsize}", f"V{x.itemsize}")
    affine_copy(_LAYOUT, x, out, *names, affine)


def move(x: np.ndarray, out: np.ndarray) -> None:
    """out = x, of one dtype, apart."""
    if x.size:
        convert(x, out)


def rounded(values: np.ndarray, out: np.ndarray) -> None:
    """out = the integers nearest to floats, half to even, saturated at what both dtypes can hold."""
    info = np.iinfo(out.dtype)
    most: Any = values.dtype.type(info.max)
    if int(most) > info.max:
        most = np.nextafter(most, values.dtype.type(0))
    out[...] = np.clip(np.rint(values), info.min, most)


Stored = Union[Quantization, tuple[Any, Any], None]  # what quantization= takes


def as_quantization(given: Stored, operator: str) -> Quantization:
    """A Quantization, or the one of a pair of scale and zero point."""
    if isinstance(given, Quantization):
        return given
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise NpuLayoutError(f"{operator}: quantization: expected a Quantization or (scale, zero_point), got {given!r}")
    if type(given[0]) is float and type(given[1]) in (int, float):
        return _quantization(*given)
    return Quantization(*given)


_quantization = lru_cache(maxsize=256, typed=True)(Quantization)


def along(known: Quantization, shape: Shape, operator: str) -> Quantization:
    """`known` with its axis counted from the front. NpuLayoutError where it does not fit the shape."""
    axis = known.axis
    if axis is None:
        return known
    if not -len(shape) <= axis < len(shape) or shape[axis] != known.count:
        raise NpuLayoutError(f"{operator}: quantization has {known.count} scales along axis {axis}; got shape {shape}")
    return known if axis >= 0 else Quantization(known.scale, known.zero_point, axis % len(shape))


def stored_as(given: Stored, x: Given) -> Quantization | None:
    """What `quantization=` says of the only input; None where it is not given."""
    if given is None:
        return None
    array = x.arrays[0]
    if array.dtype.kind not in "iu":
        raise NpuLayoutError(f"{x.operator}: quantization is for stored integers, got dtype {array.dtype}")
    return along(as_quantization(given, x.operator), array.shape, x.operator)


def to_real(known: Quantization | None) -> Affine | None:
    """The arithmetic from stored integers to real values; None: they are real."""
    return None if known is None else known.affine(AXES[known.axis or 0], to_stored=False)


def real(x: np.ndarray, known: Quantization | None, order: Order) -> np.ndarray:
    """Stored integers, or any numbers, as float32 in that order."""
    result = empty_in(x.shape, np.float32, order)
    if x.size:
        convert(x, result, to_real(known))
    return result
