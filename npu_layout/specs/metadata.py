"""Read fields of the metadata that a runtime reports of a tensor, with errors that name the field."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, Callable, NamedTuple

import numpy as np

from ..buffers import Quantization, element
from ..errors import NpuLayoutError

_MISSING = object()


class Metadata(NamedTuple):
    """The metadata of one tensor, a mapping or an object, and what messages call it."""

    what: str
    given: Any

    def field(self, name: str, default: Any = _MISSING) -> Any:
        """Return a field as given; `default` if it is missing or None."""
        given = self.given
        value = given.get(name, _MISSING) if hasattr(given, "get") else getattr(given, name, _MISSING)
        if value is not _MISSING and value is not None:
            return value
        if default is _MISSING:
            got = f"it has {', '.join(map(str, given)) or 'none'}" if isinstance(given, Mapping) else f"got {given!r}"
            if isinstance(given, (list, tuple)):
                got = f"got a {type(given).__name__} of {len(given)}: give one of its items"
            raise NpuLayoutError(f"{self.what} has no field {name!r}; {got}")
        return default

    def read(self, name: str, to: Callable[[Any], Any], default: Any = _MISSING) -> Any:
        """Return a field as `to` converts it; NpuLayoutError if it cannot."""
        value = self.field(name, default)
        try:
            return to(value)
        except (TypeError, ValueError, OverflowError, AttributeError, SyntaxError) as error:
            raise NpuLayoutError(f"{self.what} field {name!r}: got {value!r} ({error})") from None

    def whole(self, name: str, default: Any = _MISSING) -> int:
        """Return a field as an int; NpuLayoutError if it is not an integer."""
        return int(self.read(name, operator.index, default))

    def extents(self, name: str) -> list[int]:
        """Return a field as a list of ints; NpuLayoutError if it is not a sequence of integers."""
        found: list[int] = self.read(name, lambda given: [operator.index(n) for n in given])
        return found


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
    """Return a name as a str; bytes are UTF-8 and end at the first zero byte, as in C."""
    return name.split(b"\0")[0].decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
