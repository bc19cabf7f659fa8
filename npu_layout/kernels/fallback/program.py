"""Run moves and conversions by numpy and OpenCV: the fallback of the compiled programs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..box import Arithmetic, Box
from .converting import converting
from .moving import Step, filling, moving

_ROW = 256  # one more row to set costs as much as so many more bytes


class Program:
    """The fallback of a compiled program: the same boxes, by numpy and OpenCV."""

    def __init__(self, dst_size: int, fills: Sequence[Box], boxes: Sequence[Box], arithmetic: Arithmetic) -> None:
        size = arithmetic.itemsizes[1]
        rows = sum(math.prod(k[0] for k in box.loops[:-1]) for box in fills)
        written = sum(math.prod(k[0] for k in box.loops) for box in (*fills, *boxes))
        if written == dst_size and rows * _ROW > dst_size * size:
            fills = (Box(((dst_size, 0, 1, 0),), 0, 0, 0),)
        self._steps: list[Step] = [filling(box, size) for box in fills]
        for box in boxes:
            self._steps += [moving(box, size)] if arithmetic.moves_only else converting(box, arithmetic)

    def run(self, src: np.ndarray, dst: np.ndarray) -> None:
        """Move `src` (1-D) into `dst` (1-D); ValueError if they overlap."""
        if np.may_share_memory(src, dst):
            raise ValueError("source and destination overlap")
        for step in self._steps:
            step(src, dst)
