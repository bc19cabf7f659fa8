"""Check that a spec's quantization and colours fit its dtype and its axes."""

from __future__ import annotations

from typing import Any

from ..errors import LayoutError
from ..layouts import COLOR_ORDERS, Storage
from .elements import Element
from .quantization import Quantization


def checked_channels(channels: Any, storage: Storage) -> str:
    """Return the colours in a buffer's channels; LayoutError if they are none that is known, or there are not three."""
    extents = dict(zip(storage.layout.axes, storage.shape))
    if not isinstance(channels, str) or channels not in COLOR_ORDERS:
        raise LayoutError(
            f"{storage.describe()}: channels: expected {' or '.join(map(repr, COLOR_ORDERS))}, or None if the buffer "
            f"has the model's order, got {channels!r}"
        )
    if extents.get("C") != 3:
        got = f"C of {extents['C']}" if "C" in extents else f"the axes {storage.layout.axes}"
        raise LayoutError(f"{storage.describe()}: channels={channels!r}: expected an axis C of 3 elements, got {got}")
    return str(channels)


def check_quantization(quantization: Quantization, kind: Element, storage: Storage) -> None:
    """Raise LayoutError if a quantization does not fit a tensor: its dtype, its axis, its number of scales."""
    if not isinstance(quantization, Quantization):
        raise LayoutError(f"quantization: expected a Quantization or None, got {quantization!r}")
    if kind.unpacked.kind not in "iu":
        raise LayoutError(f"{storage.describe()}: dtype {kind.name} cannot be quantised; expected an integer dtype")
    axis = quantization.axis
    if axis is None:
        return
    rank = len(storage.shape)
    if not -rank <= axis < rank:
        raise LayoutError(f"{storage.describe()}: quantization axis {axis} is outside -{rank}..{rank - 1}")
    if quantization.count != storage.shape[axis]:
        raise LayoutError(
            f"{storage.describe()}: axis {axis} ({storage.layout.axes[axis]}) has {storage.shape[axis]} elements, "
            f"but quantization has {quantization.count} scales"
        )
