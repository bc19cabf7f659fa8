"""Records that describe work to the kernels: a box of nested loops, and the arithmetic for each element."""

from __future__ import annotations

from collections.abc import Sequence
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

    A loop is (extent, source stride, destination stride, parameter stride), in elements. The outermost comes first, by
    destination stride; neighbours that are one walk are one loop.
    """

    loops: tuple[tuple[int, int, int, int], ...]
    src: int
    dst: int
    param: int


class Arithmetic(NamedTuple):
    """Two dtypes, by name, and the numbers of each channel: float32 arrays of one length, or None.

    ``y = ((x - shift) * scale) / divisor`` in float32, subtract then multiply, never fused. An integer
    destination with a zero point gets ``saturate(rint(y) + zero_point)``, or ``saturate(rint(y + zero_point))``
    if the zero point is a float. NaN becomes its lowest value, as in onnxruntime's QuantizeLinear.
    """

    src_dtype: str
    dst_dtype: str
    shift: np.ndarray | None = None
    scale: np.ndarray | None = None
    divisor: np.ndarray | None = None
    zero_point: np.ndarray | None = None
    float_zero_point: bool = False

    @classmethod
    def make(
        cls,
        src_dtype: str,
        dst_dtype: str,
        fields: Sequence[Any] | None,
        channels: int,
    ) -> Arithmetic:
        """Return the arithmetic of (shift, scale, divisor, zero_point, float_zero_point), or of None for no steps.

        The first four are tuples of 1 or `channels` values, or None.
        """
        if fields is None:
            return cls(src_dtype, dst_dtype)
        arrays: list[np.ndarray | None] = []
        for values, dtype in zip(fields[:4], (np.float32, np.float32, np.float32, np.float64)):
            if values is None:
                arrays.append(None)
                continue
            array = np.empty(channels, dtype)
            array[:] = values
            array.flags.writeable = False
            arrays.append(array)
        shift, scale, divisor, zero_point = arrays
        return cls(src_dtype, dst_dtype, shift, scale, divisor, zero_point, bool(fields[4]))

    @property
    def itemsizes(self) -> tuple[int, int]:
        """The bytes of an element of the source and of the destination."""
        src, dst = (_ITEMSIZES.get(name) or np.dtype(name).itemsize for name in self[:2])
        return src, dst

    @property
    def moves_only(self) -> bool:
        """Whether elements are moved unchanged, whatever they mean."""
        return self.src_dtype == self.dst_dtype and all(p is None for p in self[2:6])
