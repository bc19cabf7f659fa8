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

    The output is (1, columns + 1, rows, lanes): for each lane and row a score for each column, and last a score for
    "no lane". If "no lane" has not the best score, the lane crosses the row, at the mean of the columns weighted by
    their softmax (cfzd/Ultra-Fast-Lane-Detection, demo.py). As there, a lane of less than 3 points is left out. A lane
    does not cross a row that has a NaN, or an infinite score of a column.

    Parameters
    ----------
    spec, buffer
        The output as stored, in any layout and dtype, and its spec: (1, 101, 56, 4) of networks trained on TuSimple,
        (1, 201, 18, 4) of those trained on CULane.
    input_shape
        Height and width of the network's input, in pixels.
    rows
        (rows,) numbers: the row of pixels, counted from 1, in which each row of the output lies; y is one less. None:
        the published rows, TuSimple's if there are 56, CULane's if there are 18, scaled from a height of 288 pixels to
        that of `input_shape`.

    Returns
    -------
    A list with an array for each lane, float32 (n, 2): x, y in pixels of the network's input, from the top down;
    (0, 2) if the lane is not there. `Geometry.points_to_frame` maps them into the frame.

    Raises
    ------
    NpuLayoutError
        If `rows` has another length than the output has rows, or is None for other than 18 or 56 rows.
    LayoutError
        If the output has other axes.
    BufferSizeError
        If the buffer has another size than its spec.

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
            raise NpuLayoutError(f"rows: expected {crossed} numbers: only for 18 and 56 rows are there published ones")
        places = np.array(ROWS[crossed], np.float64) * height / _HEIGHT
    else:
        places = numbers_of("rows", rows).astype(np.float64)
        if places.shape != (crossed,):
            raise NpuLayoutError(f"rows: expected {crossed} numbers, one for each row, got shape {places.shape}")
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
