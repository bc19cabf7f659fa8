"""Read lanes of a road: where each lane crosses each of some rows, as scores of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...buffers import TensorSpec
from ...errors import LayoutError, NpuLayoutError
from ...support import checked_call, numbers_of
from ..arithmetic.activations import activated
from ..heads.batches import refuse_batch
from ..heads.records import height_and_width
from .answers import checked_spec

# cfzd/Ultra-Fast-Lane-Detection, data/constant.py: rows of an input of so many pixels, by how many rows there are
_HEIGHT = 288
ROWS = {
    56: tuple(range(64, 288, 4)),  # tusimple_row_anchor
    18: (121, 131, 141, 150, 160, 170, 180, 189, 199, 209, 219, 228, 238, 248, 258, 267, 277, 287),  # culane_row_anchor
}
_FEWEST = 3  # points of a lane, as in demo.py


@checked_call
def lanes(spec: TensorSpec, buffer: Any, input_shape: Sequence[int] = (288, 800), rows: Any = None) -> list[np.ndarray]:
    """Return the lanes in the output of Ultra-Fast-Lane-Detection.

    The output is (1, columns + 1, rows, lanes): for each lane and row, scores of columns and of no lane, the last one.
    A lane crosses a row where no lane is not the best score: at the mean of the columns, weighted by their softmax
    (cfzd/Ultra-Fast-Lane-Detection, demo.py). Lanes of less than 3 points are none, as there. Where a score
    is NaN, or a column's infinite, a lane does not cross the row.

    Parameters
    ----------
    spec, buffer
        The output, (1, 101, 56, 4) of TuSimple's networks and (1, 201, 18, 4) of CULane's; in any layout and dtype.
    input_shape
        Height and width of the network's input, in pixels.
    rows
        Pixels of the input from its top to each row. None: those of TuSimple, if there are 56, or of CULane, 18, of 288
        pixels, in the same share of another height.

    Returns
    -------
    For each lane float32 (n, 2): x, y in pixels of the network's input, from the top down; (0, 2) where there is none.
    `Geometry.points_to_frame` maps them.

    Raises
    ------
    NpuLayoutError
        On rows that are not as many as the output's; LayoutError if the output has other axes; BufferSizeError.

    Examples
    --------
    >>> scores = np.zeros((1, 3, 18, 1), np.float32)  # two columns, and no lane
    >>> scores[0, 2] = 9
    >>> scores[0, 1, 15:] = 99
    >>> lanes(TensorSpec(scores.shape), scores.ravel(), (288, 800))[0].tolist()
    [[1597.0, 266.0], [1597.0, 276.0], [1597.0, 286.0]]
    """
    given, (height, width) = checked_spec("lanes", spec), height_and_width(input_shape)
    refuse_batch(given, "lanes")
    shape = given.shape
    if len(shape) != 4 or shape[0] != 1 or shape[1] < 3:
        raise LayoutError(f"lanes: {given.describe()}: expected (1, columns + 1, rows, lanes)")
    columns, crossed = shape[1] - 1, shape[2]
    if rows is None:
        if crossed not in ROWS:
            raise NpuLayoutError(f"rows: expected the places of the output's {crossed} rows; 18 and 56 are published")
        places = np.array(ROWS[crossed], np.float64) * height / _HEIGHT
    else:
        places = numbers_of("rows", rows).astype(np.float64)
        if places.shape != (crossed,):
            raise NpuLayoutError(f"rows: expected {crossed} numbers, as the output has rows, got shape {places.shape}")
    scores = given.unpack(buffer)[0]
    shares = activated("softmax", scores[:columns], 0)
    x = (shares * np.arange(1.0, columns + 1)[:, None, None]).sum(0) * (width - 1) / (columns - 1) - 1
    there = (scores.argmax(0) != columns) & np.isfinite(x)
    found = []
    for lane in range(shape[3]):
        seen = np.flatnonzero(there[:, lane])
        seen = seen if len(seen) >= _FEWEST else seen[:0]
        found.append(np.stack([x[seen, lane], places[seen] - 1], 1).astype(np.float32))
    return found
