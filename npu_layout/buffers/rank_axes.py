"""Name the axes of a shape of which nobody says the order, and warn where its channels seem to be last."""

from __future__ import annotations

from collections.abc import Sequence

from ..layouts import Layout
from ..support import warn_caller

_COLORS, _SMALLEST = 3, 16  # channels of a picture, and its sides
_ARGUMENT = "layout='NHWC' (to an engine layouts={name: 'NHWC'})"


def axes_of_rank(what: str, shape: Sequence[int], answer: str = _ARGUMENT) -> str:
    """Return the letters of a shape of which nobody says the order: N, NC, NCW, NCHW or NCDHW.

    Warns if channels are last by the look of it: (1, 80, 80, 255), (1, 480, 640, 3). answer: what the caller of this
    library gives to say that they are.
    """
    axes = Layout.of_rank(len(shape)).axes
    if _looks_channels_last(shape):
        extents = ", ".join(f"{letter}={extent}" for letter, extent in zip(axes, shape))
        warn_caller(
            f"{what}: the order of shape {tuple(shape)} is not known, and read as {axes}: {extents}. If its channels "
            f"are last, give {answer}; if not, 'NCHW' says so"
        )
    return axes


def _looks_channels_last(shape: Sequence[int]) -> bool:
    """Whether a shape of four axes is that of a square map, or of a picture, whose channels are last."""
    if len(shape) != 4:
        return False
    _, rows, columns, last = shape
    return (rows == columns != last and rows > 1) or (last == _COLORS and min(rows, columns) >= _SMALLEST)
