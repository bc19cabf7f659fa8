"""The memory of a described tensor: take its flat buffer, view it, unpack the tensor from it, pack a tensor into it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import LayoutError, NpuLayoutError
from ..layouts import (
    Layout,
    LayoutLike,
    Plan,
    Shape,
    Storage,
    bind_array,
    check_distinct,
    check_out,
    plan_move,
    span_of,
    without_overlap,
)
from ..support import checked_call, plain_array, wanted_copy
from .elements import Element, kernel_name, pack_nibbles, unpack_nibbles
from .flat_memory import check_order, flat_memory
from .packing import plan_packing
from .stored import StoredTensor
from .unpacking import Unpacking, plan_unpacking, real_values


class BufferAccess:
    """How the flat buffer of a TensorSpec, which sets these fields, is read and written."""

    shape: Shape
    axes: str
    storage_offset: int
    size: int
    storage: Storage
    element: Element
    _tensor: StoredTensor  # the same as a record
    _plans: dict[Any, Unpacking]  # by `to` and `dtype`
    _shapes: set[Shape]  # of buffers that passed every check

    def flat(self, buffer: Any) -> np.ndarray:
        """Return `buffer` as a 1-D array of the stored dtype: its own memory, never a copy.

        Parameters
        ----------
        buffer
            `nbytes` bytes in C order: bytes, bytearray, memoryview, mmap, a ctypes array or another object with
            Python's buffer protocol; an ndarray of the stored dtype; or another library's array (``__dlpack__`` on the
            CPU, ``__array_interface__``). What has a shape is 1-D or of the storage shape, in which dimensions of 1
            may be left out or added, and neighbouring dimensions merged.

        Raises
        ------
        BufferSizeError
            On another number of bytes.
        LayoutError
            On a shape that belongs to another order of the axes.
        NpuLayoutError
            On another dtype, and on an array that is not C-contiguous.
        """
        return flat_memory(self._tensor, self._shapes, buffer)

    def view(self, flat: Any) -> np.ndarray:
        """Return the buffer as a strided array of the logical shape and the stored dtype: a view, never a copy.

        flat: as for the method `flat`, with its errors. bfloat16 is seen as its bits, in uint16. The view is read-only
        if the buffer is. Raises LayoutError if an axis has no single stride in the buffer, as an axis in several blocks
        has none, and on elements of half a byte.
        """
        if self.element.nibbles:
            raise LayoutError(f"{self._tensor.describe()}: half bytes cannot be viewed without a copy; use unpack")
        strides = self.storage.view_strides()
        array = self.flat(flat)
        size = array.itemsize
        return np.ndarray(
            self.shape,
            array.dtype,
            array,
            self.storage_offset * size,
            tuple(s * size for s in strides),
        )

    def unpack(
        self,
        flat: Any,
        *,
        to: LayoutLike | None = None,
        dtype: Any = None,
        out: np.ndarray | None = None,
        copy: bool | None = None,
    ) -> np.ndarray:
        """Return the tensor in the buffer: a C-contiguous array of the logical shape, or the storage array of `to`.

        Parameters
        ----------
        flat
            The buffer, as for the method :meth:`flat`.
        to
            A tag or Layout with the same axes: the storage order of the result. Its pad elements are zero; if the
            result shares memory with the buffer, they are what the buffer has there. None: the logical order.
        dtype
            The result's dtype, one of numpy's in this machine's byte order. None: float32 if the spec is quantised,
            else the stored dtype (float32 for bfloat16, int8 for int4, uint8 for uint4). If the spec is quantised, a
            float dtype returns real values, and an integer dtype that can represent the stored one stored values.
        out
            Array to write to, of the result's shape and dtype and any strides; it is returned. Ctrl-C leaves it half
            written.
        copy
            None: the result is a view if the buffer already is that array, else a copy. False: NpuLayoutError (a
            ValueError) if a copy is needed. True: always a copy.

        Raises
        ------
        BufferSizeError, NpuLayoutError, LayoutError
            On a buffer or an `out` that does not fit, on other axes of `to`, and on a dtype that would lose values.
        """
        move, shape, wanted, shares = self._unpacking(to, dtype)
        if copy is not None and copy is not True:  # False by identity below: numpy's bools are no such object
            copy = wanted_copy(copy)
        # The usual case of a hot loop; if it fails, the checks below find out why.
        if type(out) is np.ndarray and type(flat) is np.ndarray and not (copy is False or self.element.nibbles):
            fit = out.shape == shape and flat.dtype == self.element.buffer and out.dtype == wanted
            if fit and flat.shape in self._shapes and move.attempt(flat, out):
                return out
        array = self.flat(flat)
        if out is None and copy is not True and shares:
            return array[self.storage_offset : self.storage_offset + move.dst.size].reshape(shape)
        if copy is False:
            why = "out= is given" if out is not None else f"as {move.dst.layout} of {wanted} it is not what is stored"
            raise NpuLayoutError(f"{self._tensor.describe()} cannot be unpacked without a copy: {why}")
        if self.element.nibbles:
            array = unpack_nibbles(array, self.element, self.size)
        if out is None:
            result = np.empty(shape, wanted)
            move.run(array, result.reshape(-1))
            return result
        check_out(out, shape, wanted, array, lambda: f"unpack of {self._tensor.describe()}")
        self._run_into(out, move, without_overlap(array, out), wanted)
        return out

    def _run_into(self, out: np.ndarray, move: Plan, array: np.ndarray, wanted: np.dtype[Any]) -> None:
        """Unpack `array`, the buffer's elements, into an `out` of any strides."""
        if out.flags.c_contiguous:
            move.run(array, out.reshape(-1))
        elif span_of(out).copied:
            check_distinct(out, lambda: f"unpack of {self._tensor.describe()}")
            result = np.empty(out.shape, wanted)
            move.run(array, result.reshape(-1))
            np.copyto(out, result)
        else:
            target, memory = bind_array(move.dst.layout, move.dst.shape, out)
            affine = real_values(self._tensor, wanted)
            plan_move(self.storage, target, self.element.kernel, kernel_name(wanted), affine, False).run(array, memory)

    def _unpacking(self, to: LayoutLike | None, dtype: Any) -> Unpacking:
        key = (to, dtype)
        try:
            cached: Unpacking | None = self._plans.get(key)
        except TypeError:
            cached, key = None, (None, ())
        if cached is not None:
            return cached
        result = plan_unpacking(self._tensor, to, dtype)
        if dtype is None or isinstance(dtype, (str, type)):
            self._plans[key] = result
        return result

    @checked_call
    def pack(self, tensor: Any, *, out: np.ndarray | None = None) -> np.ndarray:
        """Return a 1-D buffer of the stored dtype with a copy of `tensor` in it; pad elements and gaps are zero.

        Parameters
        ----------
        tensor
            Numbers of the logical shape, with any strides. Floats are quantised, as by Quantization.quantize, if the
            spec is quantised; they are refused if it stores integers without a quantization. A float beyond the range
            of a narrower float dtype becomes infinity, as in numpy. Integers count as stored values, and are refused if
            the stored dtype cannot represent them.
        out
            1-D array of the buffer's dtype and length to write to; it is returned. Ctrl-C leaves it half written.

        Raises
        ------
        LayoutError
            On another shape.
        NpuLayoutError
            On values that the stored dtype cannot represent, and on an `out` that does not fit.
        """
        array = plain_array("tensor", tensor)
        affine = plan_packing(self._tensor, array)
        kind = self.element
        length = kind.buffer_size(self.size)
        if out is None:
            result = np.empty(length, self.element.buffer)
        else:
            result = check_out(out, (length,), self.element.buffer, array, lambda: f"pack of {self._tensor.describe()}")
            if not result.flags.c_contiguous:
                raise NpuLayoutError(f"out for pack of {self._tensor.describe()}: expected a contiguous array")
        memory = np.empty(self.size, kind.unpacked) if kind.nibbles else result
        src, flat = bind_array(Layout.plain(self.axes), self.shape, without_overlap(array, memory))
        plan_move(src, self.storage, kernel_name(array.dtype), kind.kernel, affine).run(flat, memory)
        if kind.nibbles:
            pack_nibbles(memory, kind, result)
        return result


def record_of(spec: BufferAccess) -> StoredTensor:
    """Return what a TensorSpec says as a record."""
    return spec._tensor


def check_out_order(spec: BufferAccess, shape: Shape) -> None:
    """Raise LayoutError if an `out` of this shape has another order of axes than the buffer of the spec."""
    check_order(spec._tensor, spec._shapes, shape, "out")
