"""Name sizes of an input that outputs may belong to, if they fit no head at the size that was given."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from ...buffers import TensorSpec
from ..arithmetic.mask_logits import planes_of
from ..outputs.output_axes import Size

_STRIDES = ((8, 16, 32), (4, 8, 16, 32), (8, 16, 32, 64))  # of lists, level by level
_ANCHORS = (1, 3)
_FINEST = (4, 8, 16, 32)  # strides of a network's largest maps
_UNIT, _LEAST, _LARGEST = 32, 128, 2048  # sides of an input of a list: multiples of the usual coarsest stride


def input_sizes(specs: Sequence[TensorSpec], size: Size) -> Iterator[Size]:
    """Yield other heights and widths with which such outputs may have been computed, those of the same form first."""
    grids = [planes[1:] for planes in map(planes_of, specs) if planes is not None and min(planes[1:]) > 1]
    if grids:
        rows, columns = max(grids)
        found = [(rows * stride, columns * stride) for stride in _FINEST]
    else:
        cells = {max(spec.shape) for spec in specs if len(spec.shape) > 1}
        found = [one for one in _sizes_like(size) if _cells_of(one) & cells]
    form = size[0] / size[1]
    for one in sorted(dict.fromkeys(found), key=lambda one: abs(math.log(one[0] / one[1] / form))):
        if one != size:
            yield one


def _sizes_like(size: Size) -> Iterator[Size]:
    """Yield squares, sizes of the same form as one, and those with one side of it."""
    sides = range(_LEAST, _LARGEST + 1, _UNIT)
    common = math.gcd(*size)
    rows, columns = (extent // common for extent in size)
    squares = ((side, side) for side in sides)
    alike = ((rows * n, columns * n) for n in range(1, _LARGEST // max(rows, columns) + 1))
    others = (both for side in sides for both in ((side, size[1]), (size[0], side)))
    yield from (one for one in itertools.chain(squares, alike, others) if all(n in sides for n in one))


def _cells_of(size: Size) -> set[int]:
    """Return how long lists of the cells of such an input are."""
    counts = [sum(math.prod(-(-extent // s) for extent in size) for s in strides) for strides in _STRIDES]
    return {count * anchors for count, anchors in itertools.product(counts, _ANCHORS)}
