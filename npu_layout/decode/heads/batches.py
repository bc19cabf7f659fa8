"""Refuse outputs of several inputs by name, where answers are those of one: lists, and maps of one image."""

from __future__ import annotations

from typing import Any

from ...buffers import TensorSpec
from ...errors import LayoutError
from ...support import instance

_IMAGE = frozenset("NCHW")


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


def one_image(what: str, spec: Any, reader: str) -> tuple[int, int, int]:
    """Return channels, rows and columns of the map of one image; LayoutError if an output is none.

    what, reader: the argument, and who reads it, for messages.
    """
    refuse_batch(instance(what, spec, TensorSpec), reader)
    axes = spec.axes
    if set(axes) != _IMAGE or spec.shape[axes.index("N")] != 1:
        raise LayoutError(f"{what}: {spec.describe()}: expected one image with the axes N, C, H and W")
    channels, rows, columns = (spec.shape[axes.index(letter)] for letter in "CHW")
    return channels, rows, columns
