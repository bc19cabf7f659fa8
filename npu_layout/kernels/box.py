"""Records that describe work to the kernels: a box of nested loops, and the arithmetic for each element."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

_NIBBLES = {"int4": (-8, 7), "uint4": (0, 15)}
_ITEMSIZES = {"bfloat16": 2, "int4": 1, "uint4": 1}  # numpy knows these only if ml_dtypes is imported


@cache
def limits(dtype: str) -> tuple[int, int]:
    """Return the lowest and highest value of an integer dtype, by name; int4 and uint4 too."""
    if dtype in _NIBBLES:
        return _NIBBLES[dtype]
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


class Box(NamedTuple):
    """Nested loops over a source, a destination and the parameters, and the element at which each of them starts.

    A loop is (extent, source stride, destination stride, parameter stride), in elements. Loops are sorted by their
    destination stride, the outermost first. Adjacent loops are merged if one loop steps through the same elements.
    """

    loops: tuple[tuple[int, int, int, int], ...]
    src: int
    dst: int
    param: int


class Affine(NamedTuple):
    """``y = ((x - shift) * scale) / divisor`` in float32, subtract then multiply, never fused.

    Each of shift, scale and divisor is None, or 1 value, or a value for each index of `axis`. An integer destination
    stores ``saturate(rint(y) + zero_point)``, or ``saturate(rint(y + zero_point))`` if `float_zero_point`; NaN becomes
    its lowest value, as in onnxruntime's QuantizeLinear. For other destinations the zero point is None.

    The values are tuples, by which plans are cached; the kernels read arrays, which `arrays` returns, and ignore
    `axis`, a letter of a layout.
    """

    axis: str = "C"
    shift: Any = None
    scale: Any = None
    divisor: Any = None
    zero_point: Any = None
    float_zero_point: bool = False

    @property
    def values(self) -> tuple[Any, Any, Any, Any]:
        """The values of shift, scale, divisor and zero point."""
        return self[1:5]

    def arrays(self, channels: int) -> Affine:
        """Return the same with arrays of `channels` values, read-only: float32, and a float64 zero point.

        A zero point that float64 cannot represent is an array of Python's integers.
        """
        arrays: list[np.ndarray | None] = []
        zero: Any = np.float64 if self.zero_point is None or all(float(z) == z for z in self.zero_point) else object
        for values, dtype in zip(self.values, (np.float32, np.float32, np.float32, zero)):
            if values is None:
                arrays.append(None)
                continue
            array = np.empty(channels, dtype)
            array[:] = values
            array.flags.writeable = False
            arrays.append(array)
        shift, scale, divisor, zero_point = arrays
        return Affine(self.axis, shift, scale, divisor, zero_point, bool(self.float_zero_point))


class Arithmetic(NamedTuple):
    """Two dtypes, by name, and what is computed between them, with arrays of one length (`Affine.arrays`)."""

    src_dtype: str
    dst_dtype: str
    affine: Affine = Affine()

    @property
    def itemsizes(self) -> tuple[int, int]:
        """The bytes of an element of the source and of the destination."""
        src, dst = (_ITEMSIZES.get(name) or np.dtype(name).itemsize for name in self[:2])
        return src, dst

    @property
    def moves_only(self) -> bool:
        """Whether elements are moved unchanged, without any arithmetic."""
        return self.src_dtype == self.dst_dtype and all(p is None for p in self.affine.values)
