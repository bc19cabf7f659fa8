"""Read fields of the metadata that a runtime reports of a tensor, with errors that name the field."""

from __future__ import annotations

import ctypes
import operator
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Callable, NamedTuple

import numpy as np

from ..buffers import Quantization, TensorSpec, axes_of_rank, element
from ..errors import LayoutError, NpuLayoutError
from ..layouts import Layout, c_strides
from ..support import nearest, shown, text_of

_MISSING = object()
_BYTES = (ctypes.c_char, ctypes.c_byte, ctypes.c_ubyte)
CHANNELS_LAST = {1: "N", 2: "NC", 3: "NWC", 4: "NHWC", 5: "NDHWC"}  #: axes by rank
LISTED = (list, tuple, np.ndarray, ctypes.Array)  # what is a sequence, and no struct


class Metadata(NamedTuple):
    """The metadata of one tensor, a mapping or an object, and what messages call it."""

    what: str
    given: Any

    def field(self, name: str, default: Any = _MISSING) -> Any:
        """Return a field as given; `default` if it is missing or None."""
        given = _pointed(self.given)
        try:
            value = given.get(name, _MISSING) if hasattr(given, "get") else getattr(given, name, _MISSING)
        except Exception as error:  # of a property of the runtime's object
            says = f"{type(error).__name__}: {error}"
            raise NpuLayoutError(f"{self.what} field {name!r}: the runtime does not report it ({says})") from error
        if isinstance(given, (str, bytes)):  # whose methods are no fields
            value = _MISSING
        if value is not _MISSING and value is not None:
            return value
        if default is _MISSING:
            got = (
                f"it has {', '.join(map(str, given)) or 'none'}"
                if isinstance(given, Mapping)
                else f"got {shown(given)}"
            )
            if isinstance(given, LISTED) and not (isinstance(given, np.ndarray) and given.ndim == 0):
                got = f"got a {type(given).__name__} of {len(given)}: give one of its items"
            raise NpuLayoutError(f"{self.what} has no field {name!r}; {got}")
        return default

    def called(self, name: str, default: Any = _MISSING) -> Any:
        """Return a field, or what it returns if it is a method without arguments; `default` if it is missing."""
        value = self.field(name, default)
        try:
            return value() if callable(value) else value
        except Exception as error:  # of a method of the runtime's object
            says = f"{type(error).__name__}: {error}"
            raise NpuLayoutError(f"{self.what} method {name!r}: the runtime does not report it ({says})") from error

    def part(self, name: str) -> Metadata | None:
        """Return the metadata within a field, a struct or a pointer to one; None if it is missing or a null pointer."""
        value = _pointed(self.field(name, None))
        if type(value).__module__ == "_cffi_backend" and not value:
            value = None
        return None if value is None else Metadata(f"{self.what} {name}", value)

    def read(self, name: str, to: Callable[[Any], Any], default: Any = _MISSING) -> Any:
        """Return a field as `to` converts it; NpuLayoutError if it cannot."""
        return converted(self.what, name, self.field(name, default), to)

    def whole(self, name: str, default: Any = _MISSING) -> int:
        """Return a field as an int; NpuLayoutError if it is not an integer."""
        return whole_of(self.what, name, self.field(name, default))

    def extents(self, name: str) -> list[int]:
        """Return a field as a list of ints; NpuLayoutError if it is not a sequence of integers."""
        return extents_of(self.what, name, self.field(name))


def converted(what: str, field: str, value: Any, to: Callable[[Any], Any]) -> Any:
    """Return the value of a field of `what` as `to` converts it; NpuLayoutError if it cannot."""
    try:
        return to(value)
    except (TypeError, ValueError, OverflowError, AttributeError, LookupError, SyntaxError) as error:
        raise NpuLayoutError(f"{what} field {field!r}: got {value!r} ({error})") from None


def whole_of(what: str, field: str, value: Any) -> int:
    """Return the value of a field as an int; NpuLayoutError if it is not an integer."""
    return int(converted(what, field, value, operator.index))


def extents_of(what: str, field: str, value: Any) -> list[int]:
    """Return the value of a field as a list of ints; NpuLayoutError if it is not a sequence of integers."""
    found: list[int] = converted(what, field, value, lambda given: [operator.index(n) for n in given])
    return found


def _pointed(value: Any) -> Any:
    """Return what a pointer of ctypes points to, None of a null pointer; anything else as it is."""
    if not hasattr(type(value), "contents"):
        return value
    return value.contents if value else None


def shape_of(what: str, given: Any, count: str, extents: str) -> list[int]:
    """Return a shape: a sequence, or a struct with a field of extents, of which another field says the count."""
    if isinstance(given, LISTED):
        return extents_of(what, "shape", given)
    struct = Metadata(what, given)
    rank, sizes = struct.whole(count), struct.extents(extents)
    if not 1 <= rank <= len(sizes):
        raise LayoutError(f"{what}: {count} {rank}: expected 1 to {len(sizes)}")
    return sizes[:rank]


def fields_of(line: str, texts: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields that a program printed as ``name=value, ...``: texts, numbers, lists of whole numbers.

    Those in `texts` are texts whatever they contain. NpuLayoutError if a field is there twice, as in several lines.
    """
    found: dict[str, Any] = {}
    for name, value in re.findall(r"(\w+)\s*=\s*(\[[^\]]*\]|[^,\n]*)", line):
        given = value.strip()
        if name in found:
            raise NpuLayoutError(
                f"{name}={found[name]} and {name}={given}: expected the line of one tensor, got several"
            )
        if name in texts:
            found[name] = given
        elif given.startswith("["):
            found[name] = [int(number) for number in re.findall(r"-?\d+", given)]
        elif re.fullmatch(r"-?\d+", given):
            found[name] = int(given)
        else:
            found[name] = given
    return found


def enum_name(what: str, value: Any, by_number: Mapping[int, str] | Sequence[str], prefix: str = "") -> str:
    """Return the name of an enum's number, or of a name as vendors spell it: upper case, without `prefix`."""
    names = by_number if isinstance(by_number, Mapping) else dict(enumerate(by_number))
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and not hasattr(value, "name"):
        if int(value) in names:
            return names[int(value)]
        whole = sorted(names) == list(range(len(names)))
        expected = f"0..{len(names) - 1}" if whole else "one of " + ", ".join(map(str, names))
        raise NpuLayoutError(f"{what} {value}: expected {expected} ({', '.join(names.values())})")
    given = str(getattr(value, "name", value)).upper()
    if not isinstance(value, str):
        given = given.rpartition(".")[2]  # an enum that has no name prints as "Type.NAME"
    return given[len(prefix) :] if given.startswith(prefix) else given


def known(what: str, name: str, table: Mapping[str, str]) -> str:
    """Return what a table has for a vendor's name; NpuLayoutError lists the names that it has."""
    if name not in table:
        raise NpuLayoutError(f"{what} {name!r}: expected one of {', '.join(sorted(table))}{nearest(name, table)}")
    return table[name]


def dtype_of(
    what: str, value: Any, by_number: Mapping[int, str] | Sequence[str], dtypes: Mapping[str, str], prefix: str = ""
) -> str:
    """Return the dtype of a vendor's type, which is an enum's number or a name; NpuLayoutError if it is none."""
    return known(what, enum_name(what, value, by_number, prefix), dtypes)


def element_strides(what: str, field: str, given: Sequence[int], shape: Sequence[int], itemsize: int) -> list[int]:
    """Return strides in elements from strides in bytes, one for each extent; LayoutError if that is impossible.

    An axis of one element has no stride that matters, and vendors write 0 there: that becomes a dense buffer's.
    """
    if len(given) != len(shape):
        raise LayoutError(
            f"{what}: {field} {list(given)}: expected {len(shape)} of them, one for each of {list(shape)}"
        )
    strides = []
    for stride, extent, dense in zip(given, shape, c_strides(shape)):
        if extent == 1:
            strides.append(dense if stride % itemsize or stride < 1 else stride // itemsize)
        elif stride % itemsize or not stride:
            raise LayoutError(
                f"{what}: {field} {list(given)} are bytes: expected multiples of the {itemsize} bytes of an element, "
                f"got {stride} for an axis of {extent} elements"
            )
        else:
            strides.append(stride // itemsize)
    return strides


def check_axes(what: str, layout: str, axes: Sequence[str], rank: int, of: str) -> None:
    """Raise LayoutError if the letters of a layout are not as many as `of`, which messages call so, has extents."""
    if len(axes) != rank:
        raise LayoutError(f"{what}: {layout} has {len(axes)} axes, but {of} has {rank}")


def outermost_first(
    given: Metadata, what: str, fields: tuple[str, str], layout: str | None
) -> tuple[list[int], Layout]:
    """Return the shape and the layout of dense memory whose sizes are listed from the fastest one on.

    fields: the names of the sizes and of how many of them count. layout: the letters of the shape; None: those of its
    rank.
    """
    sizes = given.extents(fields[0])
    rank = given.whole(fields[1], len(sizes))
    if not 1 <= rank <= len(sizes):
        raise LayoutError(f"{what}: {fields[1]} {rank}: expected 1 to {len(sizes)}, as many as there are sizes {sizes}")
    shape = sizes[:rank][::-1]
    axes = axes_of_rank(what, shape) if layout is None else text_of("layout", layout)
    check_axes(what, f"layout {axes}", axes, rank, f"shape {shape}")
    return shape, Layout.plain(axes)


def itemsize_of(dtype: str) -> int:
    """Return the bytes of one element of a stored type."""
    return element(dtype).buffer.itemsize


def check_bytes(what: str, field: str, given: int, spec: TensorSpec, hint: str = "") -> TensorSpec:
    """Return a spec, if it needs as many bytes as the vendor reports, or the vendor reports none (0).

    hint: what the message ends with.
    """
    if given and given != spec.nbytes:
        raise LayoutError(
            f"{what}: {field} is {given} bytes, but {spec.describe()} needs {spec.nbytes}: shape, type and size "
            f"contradict each other{hint}"
        )
    return spec


def first(count: int) -> Callable[[Any], list[Any]]:
    """Return a reader of the first items of a sequence or a pointer; -1: of all items of a sequence."""
    return list if count < 0 else lambda items: [items[i] for i in range(count)]


def numbers(dtype: type) -> Callable[[Any], Any]:
    """Return a reader of numbers of any shape, as a 1-D array of `dtype`."""
    return lambda given: np.asarray(given, dtype).reshape(-1)


def pair(given: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return a scale and a zero point as arrays of one element each."""
    scale, zero_point = given
    return np.array([float(scale)]), np.array([operator.index(zero_point)], np.int64)


def affine(what: str, dtype: Any, scale: Any, zero_point: Any, axis: int | None = None) -> Quantization:
    """Return a quantization; NpuLayoutError if a zero point is outside the dtype's range, which no vendor allows."""
    kind = element(dtype)
    bits, signed = 4 if kind.nibbles else 8 * kind.unpacked.itemsize, kind.unpacked.kind == "i"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    for zero in np.ravel(zero_point).tolist():
        if not low <= zero <= high:
            raise NpuLayoutError(
                f"{what}: zero point {zero} is outside {kind.name} ({low} to {high}), so type and zero point belong to "
                f"different tensors: int{bits} and uint{bits} may be mixed up"
            )
    return Quantization(scale, zero_point, axis)


def text(name: Any) -> str:
    """Return a name as a str; bytes are UTF-8 and end at the first zero byte, as in C; TypeError on anything else.

    A struct of ctypes may have it as an array of bytes, signed ones too, one of cffi as an array or a pointer.
    """
    if type(name).__module__ == "_cffi_backend":
        name = sys.modules["_cffi_backend"].string(name)
    elif isinstance(name, ctypes.Array) and name._type_ in _BYTES:
        name = bytes(name)
    if not isinstance(name, (str, bytes)):
        raise TypeError("expected text, or the bytes of one")
    return str(name) if isinstance(name, str) else name.split(b"\0")[0].decode("utf-8", "replace")


def one_or_more(names: Any) -> Any:
    """Return a sequence of names; one name by itself is one."""
    return [names] if isinstance(names, (str, bytes)) else names
