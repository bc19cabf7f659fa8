"""Compute the arguments of a TensorSpec from a shape in storage order, and from another spec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import LayoutError, NpuLayoutError
from ..layouts import Layout, LayoutLike, as_layout, check_extents
from .stored import StoredTensor

_PLACES = ("storage_shape", "storage_strides", "storage_offset", "size")
_ORDER = ("shape", "layout", "axes")


def logical_of(
    stored: Sequence[int], layout: LayoutLike, shape: Sequence[int] | None, axes: str | None
) -> tuple[Layout, Sequence[int]]:
    """Return the layout and the logical shape of a buffer whose storage shape is given; see TensorSpec.of_storage."""
    order = as_layout(layout, axes)
    extents = check_extents(f"stored: shape of layout {order} in storage order", stored)
    if len(extents) != len(order.dims):
        raise LayoutError(
            f"stored: layout {order} has {len(order.dims)} storage dimensions; the shape {extents} has {len(extents)}"
        )
    if axes is None and not order.is_blocked:
        order = Layout.plain(order.tag)
    if shape is not None:
        return order, shape
    if order.is_blocked:
        raise LayoutError(
            f"stored: layout {order} has blocks, so that {extents} does not give the logical shape, without padding: "
            f"give shape=, in the order {order.axes}"
        )
    of_letter = dict(zip(order.letters, extents))
    return order, tuple(of_letter[letter] for letter in order.axes)


def replaced(spec: StoredTensor, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of TensorSpec that differ from those of `spec` in `fields`; see TensorSpec.replace."""
    storage = spec.storage
    known = {
        "shape": storage.shape,
        "layout": storage.layout,
        "dtype": spec.element.name,
        "axes": spec.axes,
        "quantization": spec.quantization,
        **spec.given_places,
        "name": spec.name,
        "channels": spec.channels,
    }
    unknown = sorted(set(fields) - set(known) - set(_PLACES))
    if unknown:
        expected = ", ".join(dict.fromkeys([*known, *_PLACES]))
        raise NpuLayoutError(f"TensorSpec.replace: no field {unknown[0]!r}; expected {expected}")
    changed = [name for name in _ORDER if name in fields]
    left = [name for name in _PLACES if name in known and name not in fields]
    if changed and left:
        raise LayoutError(
            f"TensorSpec.replace: {' and '.join(changed)} of {spec.describe()}, which has its own {', '.join(left)}: "
            f"give {'it' if len(left) == 1 else 'them'} too, or {', '.join(f'{name}=None' for name in left)} for what "
            f"follows from the layout"
        )
    if "layout" in fields and "axes" not in fields:
        known["axes"] = _same_letters(fields["layout"], spec.axes)
    merged = {**known, **fields}
    if merged.get("storage_offset", 0) is None:
        merged["storage_offset"] = 0
    return merged


def _same_letters(layout: LayoutLike, axes: str) -> str | None:
    """Return the logical order `axes` for another layout of the same letters, else None: the layout's own order."""
    order = as_layout(layout)
    return axes if not isinstance(layout, Layout) and set(order.axes) == set(axes) else None
