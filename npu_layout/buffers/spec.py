"""Describe a flat buffer as a tensor: the fields, what follows from them, and the description as a dict or as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import LayoutError
from ..layouts import Layout, LayoutLike, Shape, Storage, as_layout
from ..support import checked_call, shown
from .access import BufferAccess
from .elements import DTypeName, Element, element
from .quantization import Quantization
from .spec_checks import check_quantization, checked_channels, warn_of_storage_order
from .spec_fields import logical_of, replaced
from .stored import StoredTensor
from .written_forms import spec_arguments, spec_dict, spec_text


class TensorSpec(BufferAccess):
    """The description of a flat buffer: a tensor of `shape`, stored by `layout` in elements of `dtype`. Frozen.

    Parameters
    ----------
    shape
        Logical shape, in the order of the axes.
    layout
        Storage order: a tag or a Layout.
    dtype
        A numpy integer or float dtype (a foreign byte order too); "bfloat16", whose buffer is uint16; or "int4" or
        "uint4", whose buffer is uint8: two elements to a byte, the low half first ("int4_high" and "uint4_high": the
        high half first).
    axes
        The letters of the axes in the order of `shape`, if that is not the layout's default order (N C D H W).
    quantization
        What stored integers mean; None: they are not quantised.
    storage_shape
        Extents of the storage dimensions, if the memory has more outer blocks or longer extents than `shape` needs.
    storage_strides
        Elements from one index to the next, for each storage dimension, if rows or planes have a pitch.
    storage_offset
        Elements in front of the one with index 0.
    size
        Elements in the whole buffer. Default: up to the last storage element, pad lanes included; give it if a gap
        follows that element.
    name
        The tensor's name in the model.
    channels
        "RGB" or "BGR": the order of the colours in an input's buffer of three channels, if the runtime itself brings
        them into the model's order; None: the buffer has the model's order. A TensorSpec reorders nothing by it, and
        scales for each channel are in the buffer's order. Preprocessor and `validate` read it; the model's order is
        Preprocessor's `color`.

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
        storage = Storage.bind(order, shape, storage_shape, storage_strides, storage_offset, size)
        if axes is None and isinstance(layout, str):
            warn_of_storage_order(order, storage.shape)
        self._describe(storage, kind, quantization, name, channels)

    def _describe(
        self,
        storage: Storage,
        kind: Element,
        quantization: Quantization | None,
        name: str,
        channels: str | None,
    ) -> None:
        """Check what the elements of `storage` are, and set the fields."""
        storage.check_bytes(kind.buffer.itemsize)
        if quantization is not None:
            check_quantization(quantization, kind, storage)
        if not isinstance(name, str):
            raise LayoutError(f"{storage.describe()}: name: expected a string, got {shown(name)}")
        colors = None if channels is None else checked_channels(channels, storage)
        self.__dict__.update(
            shape=storage.shape,
            layout=storage.layout,
            dtype=DTypeName(kind.name),
            axes=storage.layout.axes,
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

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"TensorSpec is frozen; {name} cannot be deleted")

    def _key(self) -> tuple[Any, ...]:
        return self.storage, self.dtype, self.quantization, self.name, self.channels

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)

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

        Raises IndexError if an index is outside the shape (negative ones too).
        """
        return self.storage.offset(*index)

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
            Extents in the order of the tag, blocks included: (1, 80, 80, 255) for NHWC, (1, 16, 80, 80, 16) for
            NCHW16c.
        layout
            Storage order: a tag or a Layout.
        shape
            The logical shape, in the order of the axes, if stored extents are padded. A tag with blocks needs it.
        axes
            The letters of the axes in the logical order. Default: the tag's own order (NHWC for NHWC), but for a tag
            with blocks the layout's default order.
        dtype, quantization, storage_strides, storage_offset, size, name, channels
            As for TensorSpec.

        Raises
        ------
        LayoutError
            If the numbers do not fit the tag, or the tag has blocks and `shape` is missing.

        Examples
        --------
        >>> TensorSpec.of_storage((1, 80, 80, 255), "NHWC", "uint8")
        TensorSpec((1, 80, 80, 255), 'NHWC', 'uint8', axes='NHWC')
        >>> TensorSpec.of_storage((1, 80, 80, 255), "NHWC", "uint8", axes="NCHW").shape
        (1, 255, 80, 80)
        >>> TensorSpec.of_storage((1, 16, 80, 80, 16), "NCHW16c", "int8", shape=(1, 255, 80, 80))
        TensorSpec((1, 255, 80, 80), 'NCHW16c', 'int8')
        >>> TensorSpec.of_storage((1, 80, 80, 256), "NHWC", "int8", shape=(1, 80, 80, 255)).storage_strides
        (1638400, 20480, 256, 1)
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
        """Return a spec with new values for some fields, named as arguments of TensorSpec; the others stay.

        A storage shape, strides, an offset or a size that does not follow from the layout stays too. To replace shape,
        layout or axes of such a spec, replace these as well (None or 0: what follows from the layout). Raises the
        errors of TensorSpec, and NpuLayoutError on an unknown field.

        >>> TensorSpec((1, 3, 4, 4), "NHWC", "uint8").replace(dtype="int8", name="x")
        TensorSpec((1, 3, 4, 4), 'NHWC', 'int8', name='x')
        """
        if fields.keys() <= {"quantization", "name", "channels"}:  # the elements stay where they are
            same: TensorSpec = object.__new__(type(self))
            same._describe(self.storage, self.element, **{**self._meaning(), **fields})
            return same
        return type(self)(**replaced(self._tensor, fields))

    def _meaning(self) -> dict[str, Any]:
        """Return the fields that do not say where elements are."""
        return {"quantization": self.quantization, "name": self.name, "channels": self.channels}

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict; from_dict makes an equal spec of it."""
        return spec_dict(self._tensor)

    @classmethod
    def from_dict(cls, d: Any) -> TensorSpec:
        """Return the spec that the dict `d`, a result of to_dict, describes; only "shape" may not be missing.

        Raises NpuLayoutError on an unknown key or without a shape, else the errors of TensorSpec.
        """
        return cls(**spec_arguments(d))
