"""Check that a spec's quantization and colours fit its dtype and its axes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ..errors import LayoutError
from ..layouts import COLOR_ORDERS, Layout, Storage
from ..support import shown
from .elements import Element
from .quantization import Quantization


def checked_channels(channels: Any, storage: Storage) -> str:
    """Return the colours in a buffer's channels; LayoutError if they are none that is known, or there are not three."""
    extents = dict(zip(storage.layout.axes, storage.shape))
    if not isinstance(channels, str) or channels not in COLOR_ORDERS:
        raise LayoutError(
            f"{storage.describe()}: channels: expected {' or '.join(map(repr, COLOR_ORDERS))}, or None if the buffer "
            f"has the model's order, got {shown(channels)}"
        )
    if extents.get("C") != 3:
        got = f"C of {extents['C']}" if "C" in extents else f"the axes {storage.layout.axes}"
        raise LayoutError(f"{storage.describe()}: channels={channels!r}: expected an axis C of 3 elements, got {got}")
    return str(channels)


def check_quantization(quantization: Quantization, kind: Element, storage: Storage) -> None:
    """Raise LayoutError if a quantization does not fit a tensor: its dtype, its axis, its number of scales."""
    if not isinstance(quantization, Quantization):
        pair = isinstance(quantization, (tuple, list)) and len(quantization) == 2
        hint = f"; give Quantization({', '.join(map(shown, quantization))})" if pair else ""
        raise LayoutError(f"quantization: expected a Quantization or None, got {shown(quantization)}{hint}")
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


def in_storage_order(layout: Layout, shape: Sequence[int]) -> bool:
    """Return whether a shape in the order of the axes looks like one in storage order.

    It does if the layout has channels last, and C equals H but not W: (1, 80, 80, 255), read as N, C, H, W.
    """
    outer = layout.letters
    if layout.is_blocked or not outer.endswith("C") or outer == layout.axes or not len(shape) == len(layout.axes) == 4:
        return False
    extents = dict(zip(layout.axes, shape))
    first, second = (extents[letter] for letter in outer[-3:-1])
    return bool(extents["C"] == first != second)


def warn_of_storage_order(layout: Layout, shape: Sequence[int]) -> None:
    """Warn where `in_storage_order`; for the constructor of TensorSpec: the warning names the line that called it."""
    if not in_storage_order(layout, shape):
        return
    words = ", ".join(f"{letter}={extent}" for letter, extent in zip(layout.axes, shape))
    call = f"TensorSpec({tuple(shape)}, {str(layout)!r}"
    warnings.warn(
        f"{call}) is read in the order of its axes, {words}. If the shape is in storage order, as TFLite and Hailo "
        f"list it, write TensorSpec.of_storage({tuple(shape)}, {str(layout)!r}); if not, say so: "
        f"{call}, axes={layout.axes!r})",
        stacklevel=4,  # this, the constructor, the check of its arguments (checked_call), its caller
    )
