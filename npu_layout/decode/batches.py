"""Refuse outputs of several inputs by name, where answers are those of one."""

from __future__ import annotations

from ..buffers import TensorSpec
from ..errors import LayoutError


def refuse_batch(spec: TensorSpec, what: str) -> None:
    """Raise LayoutError that says how to give one input's part, if an output has those of several.

    what: who reads outputs of one input, as the message begins.
    """
    if len(spec.shape) > 2 and spec.axes[0] == "N" and spec.shape[0] != 1:
        n, one = spec.shape[0], (1, *spec.shape[1:])
        raise LayoutError(
            f"{spec.describe()}: a batch of {n}; {what} reads outputs of one input: give "
            f"spec.replace(shape={one}), and of each buffer, if N is outermost, buffer.reshape({n}, -1)[i]"
        )
