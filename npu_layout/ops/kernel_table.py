"""Which kernel serves each operator in each memory format, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import axis_order
from ..errors import LayoutError, NpuLayoutError
from ..support import items_of, naming, shown
from . import channels, elementwise, peak_search, pixels, resizing, top_channels
from .registry import AXES, tag_of

_ROOMS: tuple[Any, ...] = (channels, top_channels, elementwise, peak_search, pixels, resizing)
# Every operator, by name.
OPERATORS = {
    operator.name: operator
    for operator in sorted(
        (operator for room in _ROOMS for operator in room.OPERATORS),
        key=lambda operator: operator.name,
    )
}


class Table(dict[str, dict[str, str]]):
    """{operator: {format: kernel}}; as a string with a row for each operator."""

    def __str__(self) -> str:
        formats = list(next(iter(self.values()), {}))
        rows = [["", *formats], *([name, *(row[f] for f in formats)] for name, row in self.items())]
        widths = [max(map(len, column)) for column in zip(*rows)]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def table(formats: Sequence[str] = ("NCHW", "NHWC", "CHWN", "NHCW", "NWHC"), dtype: Any = "float32") -> Table:
    """Return which kernel serves each operator on arrays of a format and dtype; "generic": no kernel of its own.

    formats: tags without blocks, with the axes N, C, H and W. Returns a dict {operator: {format: kernel}} that prints
    as a table. LayoutError on other axes, NpuLayoutError on what is no dtype of numpy.

    >>> table(["NHWC", "NWHC"])["resize"]
    {'NHWC': 'cv2, image by image', 'NWHC': 'generic'}
    """
    tags: list[Any] = [*items_of("table: formats", formats, object, "tags")]
    with naming("table: formats"):
        orders = {f: axis_order(f) for f in tags}
    try:
        kind = np.dtype(dtype).name
    except (TypeError, ValueError) as error:
        raise NpuLayoutError(f"table: dtype {shown(dtype)}: {error}") from None
    for name, order in orders.items():
        if order.layout.axes != AXES:
            raise LayoutError(f"table: expected formats with the axes {AXES}, got {name!r}")
    return Table(
        {
            name: {f: operator.chosen(tag_of(order.stored), kind).name for f, order in orders.items()}
            for name, operator in OPERATORS.items()
        }
    )
