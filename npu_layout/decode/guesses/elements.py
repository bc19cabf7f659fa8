"""Count the elements of a head's outputs: from their number follows how many classes outputs can have."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from ...buffers import TensorSpec
from ..heads.form import Form, Part
from ..heads.head import Head
from ..outputs.output_axes import Size


def class_counts(head: Head, specs: Sequence[TensorSpec], input_hw: Size) -> tuple[set[int], bool]:
    """Return the numbers of classes with which heads like this one have as many elements as the outputs together.

    Each further class adds a channel to the scores, and every element of the outputs is one of a part. The second value
    is whether a form fits whatever the number of classes: that of rows with labels. `head` has any number of classes.
    """
    given = sum(math.prod(spec.shape) for spec in specs)
    extents = {n for spec in specs for n in spec.shape}
    found, labelled = set(), False
    for form in head.forms:
        for cells in _cells(head, form, input_hw, extents):
            score = 0 if form.part("label") else _elements_of(form.part("score"), cells)
            for others in _others(head, form, cells, input_hw):
                left = given - others
                labelled |= not score and not left
                if score and left % score == 0:
                    found.add(head.classes + left // score)
    return {n for n in found if n > 0}, labelled


_Cells = Sequence[tuple[int, int]]  # of each level, and their anchors


def _cells(head: Head, form: Form, input_hw: Size, extents: set[int]) -> Iterator[_Cells]:
    """Yield the cells and anchors of each level; of rows, there are as many as an axis has elements."""
    if form.cells == "rows":
        yield from ([(n, 1)] for n in extents)
        return
    many = [max(1, len(level)) for level in head.anchors] or [1] * len(head.strides)
    cells = [math.prod(-(-extent // stride) for extent in input_hw) for stride in head.strides]
    levels = list(zip(cells, many))
    whole = len(head.priors) != sum(itertools.starmap(int.__mul__, levels)) or not head.anchors
    yield [(len(head.priors), 1)] if head.priors and form.cells == "list" and whole else levels


def _elements_of(part: Part | None, cells: _Cells) -> int:
    """Return the elements of each channel of a part, at all levels."""
    alone = part is None or part.shared or part.across
    return sum(count if alone else count * many for count, many in cells)


def _others(head: Head, form: Form, cells: _Cells, input_hw: Size) -> Iterator[int]:
    """Yield the elements of all outputs of the head, with each selection of the optional parts."""
    kept = head.prototypes
    total = 0 if kept is None else kept.channels * math.prod(-(-extent // kept.stride) for extent in input_hw)
    optional = []
    for part in form.parts:
        elements = 1 if part.role == "count" else part.count * _elements_of(part, cells)
        if part.optional:
            optional.append(elements)
        else:
            total += elements
    for chosen in itertools.product((0, 1), repeat=len(optional)):
        yield total + sum(n for n, is_there in zip(optional, chosen) if is_there)
