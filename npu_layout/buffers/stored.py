"""Record what a TensorSpec describes: the places of elements, their type, and what stored integers mean."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..layouts import Storage
from .elements import Element
from .quantization import Quantization


class StoredTensor(NamedTuple):
    """A layout bound to memory, an element type, a quantization, a name, and the order of colours.

    The other fields of a TensorSpec follow.
    """

    storage: Storage
    element: Element
    quantization: Quantization | None
    name: str
    channels: str | None = None

    @property
    def axes(self) -> str:
        """The letters of the logical axes, in the order of the shape."""
        return self.storage.layout.axes

    @property
    def quantized_axis(self) -> str:
        """The letter of the axis that the scales belong to; empty if they belong to none."""
        axis = None if self.quantization is None else self.quantization.axis
        return "" if axis is None else self.axes[axis]

    @property
    def given_places(self) -> dict[str, Any]:
        """The arguments of a TensorSpec that say where elements are, if they do not follow from layout and shape."""
        mine, plain = self.storage, Storage.bind(self.storage.layout, self.storage.shape)
        places = {
            "storage_shape": (mine.storage_shape, plain.storage_shape),
            "storage_strides": (mine.strides, plain.strides),
            "storage_offset": (mine.start, 0),
            "size": (mine.size, plain.size),
        }
        return {name: value for name, (value, default) in places.items() if value != default}

    def describe(self) -> str:
        """Return the tensor as messages name it: ``layout NCHW16c of (1,17,5,4) uint8``."""
        name = f"{self.name!r}: " if self.name else ""
        colours = f" {self.channels}" if self.channels else ""
        return f"{name}{self.storage.describe()} {self.element.name}{colours}"
