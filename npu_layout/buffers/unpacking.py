"""Plan how the buffer of a TensorSpec becomes a tensor: the target order, its dtype, and whether it needs a copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import LayoutError, NpuLayoutError
from ..layouts import Affine, Layout, LayoutLike, Plan, Shape, Storage, as_layout, plan_move
from ..support import naming
from .elements import element, kernel_name
from .stored import StoredTensor

Unpacking = tuple[Plan, Shape, np.dtype[Any], bool]  # plan, the result's shape and dtype, whether it may be a view


def plan_unpacking(spec: StoredTensor, to: LayoutLike | None, dtype: Any) -> Unpacking:
    """Return how to unpack `spec`; arguments and errors as TensorSpec.unpack."""
    kind = spec.element
    wanted = _result_dtype(spec, dtype)
    target = Storage.bind(_target_layout(spec, to), spec.storage.shape)
    kernel = kind.kernel if not kind.nibbles else kind.unpacked.name
    move = plan_move(spec.storage, target, kernel, kernel_name(wanted), real_values(spec, wanted))
    same = wanted == kind.buffer and move.arithmetic.moves_only and not kind.nibbles
    return move, target.storage_shape, wanted, same and (_is_one_run(move) or spec.storage == target)


def real_values(spec: StoredTensor, wanted: np.dtype[Any]) -> Affine | None:
    """Return the arithmetic that turns stored values into those of dtype `wanted`; None if they stay as they are."""
    if spec.quantization is None or wanted.kind != "f":
        return None
    return spec.quantization.affine(spec.quantized_axis, to_stored=False)


def _result_dtype(spec: StoredTensor, dtype: Any) -> np.dtype[Any]:
    unpacked = spec.element.unpacked
    if dtype is None:
        return np.dtype(np.float32) if spec.quantization is not None else unpacked
    kind = element(dtype)
    if kind.name != kind.unpacked.name:
        raise NpuLayoutError(
            f"{spec.describe()}: cannot unpack to {kind.name!r}; expected a dtype of numpy, in this machine's "
            f"byte order"
        )
    if kind.unpacked.kind != "f" and not np.can_cast(unpacked, kind.unpacked, "safe"):
        raise NpuLayoutError(
            f"{spec.describe()}: cannot unpack to {kind.unpacked} without losing values; "
            f"expected {unpacked} or a float dtype"
        )
    return kind.unpacked


def _target_layout(spec: StoredTensor, to: LayoutLike | None) -> Layout:
    with naming("to"):
        layout = Layout.plain(spec.axes) if to is None else as_layout(to)
    if sorted(layout.axes) != sorted(spec.axes):
        raise LayoutError(f"{spec.describe()}: to={layout} has axes {layout.axes}, expected the letters {spec.axes}")
    return layout if layout.axes == spec.axes else Layout(layout.tag, spec.axes)


def _is_one_run(move: Plan) -> bool:
    """Return whether the result is one contiguous run of the source."""
    loops = move.boxes[0].loops
    return len(move.boxes) == 1 and not move.fills and (not loops or loops == ((loops[0][0], 1, 1, 0),))
