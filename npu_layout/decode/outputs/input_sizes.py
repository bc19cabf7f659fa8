"""Name sizes of an input that outputs may belong to, if they fit no head at the size that was given."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from ...buffers import TensorSpec
from ...errors import LayoutError
from ..arithmetic.mask_logits import planes_of
from ..heads.grids import cells_of, grid_of
from ..heads.head import Head
from .fitting import check_batches, fit
from .output_axes import Size, anchors_first, channels_last
from .places import Fitted

MOST = 4  #: sizes that a message names, the likeliest first
_STRIDES = ((8, 16, 32), (4, 8, 16, 32), (8, 16, 32, 64))  # of lists, level by level
_ANCHORS = (1, 3)
_FINEST = (4, 8, 16, 32)  # strides of a network's largest maps
#: Other readings of shapes without letters, and what a message says of the first such shape, by axes.
_READINGS: tuple[tuple[Callable[[Sequence[TensorSpec]], tuple[TensorSpec, ...]], str], ...] = (
    (channels_last, "their order is N, H, W, C: then say so, TensorSpec.of_storage({0}, 'NHWC', ...)"),
    (anchors_first, "their first axis has the anchors: then it is no batch, TensorSpec({1}, 'NCDHW', ...)"),
)
_UNIT, _LEAST, _LARGEST = 32, 128, 2048  # sides of an input of a list: multiples of the usual coarsest stride


def fit_or_name_input(
    head: Head, specs: Sequence[TensorSpec], input_hw: Size, names: Mapping[str, Sequence[str]]
) -> Fitted:
    """Return what `fit` does; the LayoutError ends with what to change: an order of axes, the input, or the head."""
    try:
        return fit(head, specs, input_hw, names)
    except LayoutError as error:
        words = _if_read_otherwise(head, specs, input_hw, names)
        fitting = words or _of_fitting(head, specs, input_hw, names)
        # Before `_of_maps`: maps in another order than theirs can look like those of an input that nobody has.
        words = words or ("" if fitting else _of_both(head, specs, input_hw, names))
        if not words:
            check_batches(specs)  # whose error says all
        words = words or _of_maps(head, specs, input_hw) or fitting
        words = words or guessing(input_hw, "names the heads that they fit")
        raise LayoutError(f"{error}; {words}") from None


def guessing(size: Size, answer: str) -> str:
    """Return, in words, what answers which heads fit: a call of the library, and a command for who has a recording."""
    command = f"npu-layout decode RECORDING --input {size[0]}x{size[1]}"
    return f"decode.guess(specs, {size}), or `{command}` without --head, {answer}"


def _fits(head: Head, specs: Sequence[TensorSpec], input_hw: Size, names: Mapping[str, Sequence[str]]) -> bool:
    try:
        fit(head, specs, input_hw, names)
    except LayoutError:
        return False
    return True


def _if_read_otherwise(
    head: Head, specs: Sequence[TensorSpec], input_hw: Size, names: Mapping[str, Sequence[str]]
) -> str:
    """Return in words that outputs fit if the axes of shapes without letters are others than those of their rank."""
    for read, words in _READINGS:
        turned = read(specs)
        first = next((spec.shape for spec, other in zip(specs, turned) if spec != other), None)
        if first is not None and _fits(head, turned, input_hw, names):
            return f"they fit if {words.format(first, (1, *first))}"
    return ""


def _of_both(head: Head, specs: Sequence[TensorSpec], input_hw: Size, names: Mapping[str, Sequence[str]]) -> str:
    """Return in words that outputs fit if their axes are others and the input is another, if one size alone fits."""
    for read, words in _READINGS:
        turned = read(specs)
        first = next((spec.shape for spec, other in zip(specs, turned) if spec != other), None)
        if first is None:
            continue
        sizes = input_sizes(turned, input_hw, lambda one: {cells_of(head, one)})
        found = [size for size in sizes if _fits(head, turned, size, names)]
        if len(found) == 1:
            why = words.format(first, (1, *first))
            return f"they fit if the input is {found[0]}, not {input_hw}, and if {why}"
    return ""


def _of_maps(head: Head, specs: Sequence[TensorSpec], input_hw: Size) -> str:
    """Return in words the one input to which maps with a head's strides belong, whatever else does not fit."""
    grids = sorted({planes[1:] for planes in map(planes_of, specs) if planes is not None}, reverse=True)
    grids = grids[1:] if head.prototypes and len(grids) > len(head.strides) else grids  # whose cells are the finest
    inputs = {(rows * stride, columns * stride) for stride, (rows, columns) in zip(sorted(head.strides), grids)}
    alike = len(grids) == len(set(head.strides)) and any(form.cells == "grid" for form in head.forms)
    if not alike or len(inputs) != 1 or inputs == {input_hw}:
        return ""
    cells = ", ".join(f"{rows}x{columns}" for rows, columns in grids)
    return f"maps of {cells} cells belong to an input of {inputs.pop()}, not {input_hw}"


def _of_fitting(head: Head, specs: Sequence[TensorSpec], input_hw: Size, names: Mapping[str, Sequence[str]]) -> str:
    """Return in words the inputs whose outputs would fit the head; lists of cells fit several."""
    sizes = input_sizes(specs, input_hw, lambda one: {cells_of(head, one)})
    found = [str(size) for size in sizes if _fits(head, specs, size, names)]
    *others, last = found[:MOST] or [""]
    return (
        f"these outputs fit an input of {', '.join(others)}{' or ' * bool(others)}{last}, not {input_hw}"
        if found
        else ""
    )


def input_sizes(
    specs: Sequence[TensorSpec], size: Size, lengths: Callable[[Size], Collection[int]] | None = None
) -> Iterator[Size]:
    """Yield other heights and widths with which such outputs may have been computed, those of the same form first.

    lengths: how long lists of the cells of an input are; None: as usual heads have them.
    """
    grids = [planes[1:] for planes in map(planes_of, specs) if planes is not None and min(planes[1:]) > 1]
    if grids:
        rows, columns = max(grids)
        found = [(rows * stride, columns * stride) for stride in _FINEST]
    else:
        cells, known = {max(spec.shape) for spec in specs if len(spec.shape) > 1}, lengths or _usual_lengths
        found = [one for one in _sizes_like(size) if not cells.isdisjoint(known(one))]
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


def _usual_lengths(size: Size) -> set[int]:
    """Return how long lists of the cells of such an input are."""
    counts = [sum(math.prod(grid_of(size, stride)) for stride in strides) for strides in _STRIDES]
    return {count * anchors for count, anchors in itertools.product(counts, _ANCHORS)}
