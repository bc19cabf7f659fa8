"""Describe a flat buffer as a tensor: check, view, unpack and pack it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import LayoutError, NpuLayoutError
from ..layouts import (
    Layout,
    LayoutLike,
    Plan,
    Shape,
    Storage,
    as_layout,
    bind_array,
    check_distinct,
    check_out,
    plan_move,
    span_of,
    without_overlap,
)
from ..support import checked_call, plain_array, wanted_copy
from .elements import DTypeName, Element, element, kernel_name, pack_nibbles, unpack_nibbles
from .flat_memory import flat_memory
from .packing import plan_packing
from .quantization import Quantization
from .spec_checks import check_quantization, checked_channels, warn_of_storage_order
from .spec_fields import logical_of, replaced
from .stored import StoredTensor
from .unpacking import Unpacking, plan_unpacking, real_values
from .written_forms import spec_arguments, spec_dict, spec_text


class TensorSpec:
    """The description of a flat buffer: a tensor of `shape`, stored by `layout` in elements of `dtype`. Frozen.

    Parameters
    ----------
    shape
        Logical shape, in the order of the axes.
    layout
        Storage order: a tag or a Layout.
    dtype
        A numpy integer or float dtype (a foreign byte order too), or "bfloat16" (buffer: uint16), or "int4" /
        "uint4" (buffer: uint8, two elements a byte, the low half first; "int4_high" / "uint4_high": the high half).
    axes
        Order of `shape`, if it is not the layout's default (N C D H W).
    quantization
        What stored integers mean; None: they are not quantised.
    storage_shape, storage_strides, storage_offset
        What the tag cannot express, in elements: more outer blocks or a padded extent; row and plane pitches (one
        stride for each storage dimension); the place of index 0.
    size
        Elements of the whole buffer; default: up to and with the last storage element, pad lanes too. Give it
        if a gap follows.
    name
        The tensor's name in the model.
    channels
        "RGB" or "BGR": the colours in the three channels of an input's buffer, if the runtime puts them into the
        model's order by itself; None: the buffer has the model's order. Nothing here reorders by it, and an axis of a
        quantization is the buffer's. Preprocessor and `validate` read it; the model's order is Preprocessor's `color`.

    Raises
    ------
    LayoutError
        If the parts do not fit each other, or elements overlap.

    Examples
    --------
    >>> import numpy as np
    >>> spec = TensorSpec((1, 5, 1, 2), "NCHW4c", "int8", quantization=Quantization(0.5, 1))
    >>> spec.storage_shape, spec.size
    ((1, 2, 1, 2, 4), 16)
    >>> flat = np.arange(16, dtype=np.int8)
    >>> spec.unpack(flat)[0, :, 0].tolist()
    [[-0.5, 1.5], [0.0, 2.0], [0.5, 2.5], [1.0, 3.0], [3.5, 5.5]]
    >>> spec.unpack(flat[:-1])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    npu_layout.errors.BufferSizeError: buffer has 15 bytes; layout NCHW4c of (1,5,1,2) int8 needs 16 (C padded ...
    """

    shape: Shape
    layout: Layout
    dtype: str
    axes: str
    quantization: Quantization | None
    storage_shape: Shape
    storage_strides: Shape
    storage_offset: int
    size: int
    name: str
    channels: str | None
    storage: Storage
    element: Element
    _tensor: StoredTensor  # the same as a record
    _plans: dict[Any, Unpacking]  # by `to` and `dtype`
    _shapes: set[Shape]  # of buffers that passed every check

    @checked_call
    def __init__(
        self,
        shape: Sequence[int],
        layout: LayoutLike = "NCHW",
        dtype: Any = "float32",
        *,
        axes: str | None = None,
        quantization: Quantization | None = None,
        storage_shape: Sequence[int] | None = None,
        storage_strides: Sequence[int] | None = None,
        storage_offset: int = 0,
        size: int | None = None,
        name: str = "",
        channels: str | None = None,
    ) -> None:
        kind = element(dtype)
        order = as_layout(layout, axes)
        if axes is None and isinstance(layout, str):
            warn_of_storage_order(order, shape)
        storage = Storage.bind(order, shape, storage_shape, storage_strides, storage_offset, size)
        if quantization is not None:
            check_quantization(quantization, kind, storage)
        if not isinstance(name, str):
            raise LayoutError(f"{storage.describe()}: name: expected a string, got {name!r}")
        colors = None if channels is None else checked_channels(channels, storage)
        self.__dict__.update(
            shape=storage.shape,
            layout=order,
            dtype=DTypeName(kind.name),
            axes=order.axes,
            quantization=quantization,
            storage_shape=storage.storage_shape,
            storage_strides=storage.strides,
            storage_offset=storage.start,
            size=storage.size,
            name=name,
            channels=colors,
            storage=storage,
            element=kind,
            _tensor=StoredTensor(storage, kind, quantization, name, colors),
            _plans={},
            _shapes={(kind.buffer_size(storage.size),)},
        )

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"TensorSpec is frozen; make another one instead of setting {name}")

    def _key(self) -> tuple[Any, ...]:
        return self.storage, self.dtype, self.quantization, self.name, self.channels

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorSpec.from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        return spec_text(self._tensor)

    @property
    def stored(self) -> np.dtype[Any]:
        """The numpy dtype of the buffer."""
        return self.element.buffer

    @property
    def nbytes(self) -> int:
        """Bytes of the whole buffer."""
        return self.element.buffer_size(self.size) * self.stored.itemsize

    def describe(self) -> str:
        """Return the spec as messages name it: ``layout NCHW16c of (1,17,5,4) uint8``."""
        return self._tensor.describe()

    def offset(self, *index: Any) -> Any:
        """Return the element offset of a logical index in the buffer: int for ints, int64 array for integer arrays.

        Raises IndexError outside the shape.
        """
        return self.storage.offset(*index)

    def flat(self, buffer: Any) -> np.ndarray:
        """Return `buffer` as a 1-D array of the stored dtype: its own memory, never a copy.

        bytes, bytearray, memoryview, mmap, ctypes array or another C-contiguous buffer of `nbytes` bytes, or a
        C-contiguous ndarray of the stored dtype, or another library's array (``__dlpack__`` on the CPU,
        ``__array_interface__``): 1-D, or of the storage shape, in which dimensions of 1 may be left out or added, and
        neighbours merged. Raises BufferSizeError on another size, LayoutError on an array whose shape belongs to
        another order, NpuLayoutError on another dtype or a non-contiguous array.
        """
        return flat_memory(self._tensor, self._shapes, buffer)

    def view(self, flat: Any) -> np.ndarray:
        """Return the buffer as a strided array with the logical axes, of the stored dtype: no copy.

        bfloat16 is seen as its bits in uint16. Read-only if the buffer is. Raises LayoutError if no single view
        exists; for the rest see `flat`.
        """
        if self.element.nibbles:
            raise LayoutError(f"{self.describe()}: half bytes cannot be viewed without a copy; use unpack")
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
        """Return the tensor in the buffer, C-contiguous in logical axes order, or as the storage array of `to`.

        Parameters
        ----------
        flat
            See :meth:`flat`.
        to
            Storage order of the result; pad elements are zero (if memory is shared: as the buffer has them).
        dtype
            None: float32 if quantised, else the stored dtype (native byte order; bfloat16: float32; int4: int8).
            Of a quantised spec, a float dtype returns real values; an integer dtype that can represent the stored one
            returns stored values.
        out
            Array to write to, of the result's shape and dtype. Ctrl-C leaves it half written.
        copy
            None: memory is shared if the buffer already is that array. False: NpuLayoutError (a ValueError) if
            a copy is needed. True: always a copy.

        Raises
        ------
        BufferSizeError, NpuLayoutError, LayoutError
            On a buffer that does not fit, an out that does not, a dtype that would lose values.
        """
        move, shape, wanted, shares = self._unpacking(to, dtype)
        if copy is not None and copy is not True:  # False by identity below: numpy's bools are no such object
            copy = wanted_copy(copy)
        # The usual case of a hot loop; if it fails, the checks below find out why.
        if type(out) is np.ndarray and type(flat) is np.ndarray and not (copy is False or self.element.nibbles):
            fit = out.shape == shape and flat.dtype == self.stored and out.dtype == wanted
            if fit and flat.shape in self._shapes and move.attempt(flat, out):
                return out
        array = self.flat(flat)
        if out is None and copy is not True and shares:
            return array[self.storage_offset : self.storage_offset + move.dst.size].reshape(shape)
        if copy is False:
            why = "out= is given" if out is not None else f"result {move.dst.layout} of {wanted} differs from storage"
            raise NpuLayoutError(f"{self.describe()} cannot be unpacked without a copy: {why}")
        if self.element.nibbles:
            array = unpack_nibbles(array, self.element, self.size)
        if out is None:
            result = np.empty(shape, wanted)
            move.run(array, result.reshape(-1))
            return result
        check_out(out, shape, wanted, array, lambda: f"unpack of {self.describe()}")
        self._run_into(out, move, without_overlap(array, out), wanted)
        return out

    def _run_into(self, out: np.ndarray, move: Plan, array: np.ndarray, wanted: np.dtype[Any]) -> None:
        """Unpack `array`, the buffer's elements, into an `out` of any strides."""
        if out.flags.c_contiguous:
            move.run(array, out.reshape(-1))
        elif span_of(out).copied:
            check_distinct(out, lambda: f"unpack of {self.describe()}")
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
        """Return a buffer that contains `tensor`: 1-D, of the stored dtype, pad elements and gaps zero. A copy.

        Parameters
        ----------
        tensor
            Numbers of the logical shape, any strides. Floats are quantised if the spec is (as
            Quantization.quantize), and refused if it stores integers that are not; integers are used as stored
            values, and refused if they do not fit.
        out
            1-D array of the buffer's dtype and length to write to. Ctrl-C leaves it half written.

        Raises
        ------
        LayoutError
            On another shape.
        NpuLayoutError
            On values that the stored dtype cannot represent, and on an out that does not fit.
        """
        array = plain_array("tensor", tensor)
        affine = plan_packing(self._tensor, array)
        kind = self.element
        length = kind.buffer_size(self.size)
        if out is None:
            result = np.empty(length, self.stored)
        else:
            result = check_out(out, (length,), self.stored, array, lambda: f"pack of {self.describe()}")
            if not result.flags.c_contiguous:
                raise NpuLayoutError(f"out for pack of {self.describe()}: expected a contiguous array")
        memory = np.empty(self.size, kind.unpacked) if kind.nibbles else result
        src, flat = bind_array(Layout.plain(self.axes), self.shape, without_overlap(array, memory))
        plan_move(src, self.storage, kernel_name(array.dtype), kind.kernel, affine).run(flat, memory)
        if kind.nibbles:
            pack_nibbles(memory, kind, result)
        return result

    @classmethod
    @checked_call
    def of_storage(
        cls,
        stored: Sequence[int],
        layout: LayoutLike,
        dtype: Any = "float32",
        *,
        shape: Sequence[int] | None = None,
        axes: str | None = None,
        quantization: Quantization | None = None,
        storage_strides: Sequence[int] | None = None,
        storage_offset: int = 0,
        size: int | None = None,
        name: str = "",
        channels: str | None = None,
    ) -> TensorSpec:
        """Return the spec of a buffer whose shape is given in storage order, as TFLite, Hailo and Ascend list it.

        Parameters
        ----------
        stored
            Extents in the order of the letters of the tag, blocks too: (1, 80, 80, 255) of NHWC, (1, 16, 80, 80, 16) of
            NCHW16c.
        layout
            Storage order: a tag or a Layout.
        shape
            The logical shape, in the order of the axes, which the storage of blocks does not give.
        axes
            The logical order; default: the tag's own (NHWC for NHWC); of tags with blocks, the layout's.
        dtype, quantization, storage_strides, storage_offset, size, name, channels
            As for TensorSpec.

        Raises
        ------
        LayoutError
            If the numbers do not fit the tag, or shape= is missing where there are blocks.

        Examples
        --------
        >>> TensorSpec.of_storage((1, 80, 80, 255), "NHWC", "uint8")
        TensorSpec((1, 80, 80, 255), 'NHWC', 'uint8', axes='NHWC')
        >>> TensorSpec.of_storage((1, 80, 80, 255), "NHWC", "uint8", axes="NCHW").shape
        (1, 255, 80, 80)
        >>> TensorSpec.of_storage((1, 16, 80, 80, 16), "NCHW16c", "int8", shape=(1, 255, 80, 80))
        TensorSpec((1, 255, 80, 80), 'NCHW16c', 'int8')
        """
        order, logical = logical_of(stored, layout, shape, axes)
        return cls(
            logical,
            order,
            dtype,
            quantization=quantization,
            storage_shape=stored,
            storage_strides=storage_strides,
            storage_offset=storage_offset,
            size=size,
            name=name,
            channels=channels,
        )

    def replace(self, **fields: Any) -> TensorSpec:
        """Return a spec with other values of some fields, arguments of TensorSpec; the others stay.

        Storage shape, strides, offset and size that were given stay too, so that shape, layout or axes can only be
        replaced together with them (None or 0: what follows from the layout). Errors as of TensorSpec; NpuLayoutError
        on an unknown field.

        >>> TensorSpec((1, 3, 4, 4), "NHWC", "uint8").replace(dtype="int8", name="x")
        TensorSpec((1, 3, 4, 4), 'NHWC', 'int8', name='x')
        """
        return type(self)(**replaced(self._tensor, fields))

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict; from_dict makes an equal spec of it."""
        return spec_dict(self._tensor)

    @classmethod
    def from_dict(cls, d: Any) -> TensorSpec:
        """Return the spec of `d`, a result of to_dict; what is missing is default.

        Raises NpuLayoutError on an unknown or missing key.
        """
        return cls(**spec_arguments(d))
