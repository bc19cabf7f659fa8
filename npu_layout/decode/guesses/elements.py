"""Count the elements of a head's outputs: from their number follows how many classes outputs can have."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...buffers import TensorSpec
from ..heads.form import Form, Part
from ..heads.grids import anchor_counts, cells_of, grid_of, grids_of
from ..heads.head import Head
from ..outputs.output_axes import Size


class FormElements(NamedTuple):
    """The elements that the outputs of one form of a head have.

    in_rows: they grow with the number of rows. classes: of the head. score: elements of one class, for a row if they
    grow; 0: any number of classes has as many. others: elements of all classes and parts, and how many more there are
    for each row; with each selection of the optional parts.
    """

    in_rows: bool
    classes: int
    score: int
    others: tuple[tuple[int, int], ...]


def head_elements(head: Head, input_hw: Size) -> tuple[FormElements, ...]:
    """Return the elements of each form of a head of any number of classes."""
    return tuple(_form_elements(head, form, input_hw) for form in head.forms)


class Counted(NamedTuple):
    """The elements of all outputs together, and the extents of their axes."""

    elements: int
    extents: frozenset[int]


def counted_outputs(specs: Sequence[TensorSpec]) -> Counted:
    """Return how many elements outputs have."""
    return Counted(sum(math.prod(spec.shape) for spec in specs), frozenset(n for spec in specs for n in spec.shape))


def class_counts(forms: Iterable[FormElements], given: Counted) -> tuple[set[int], bool]:
    """Return the numbers of classes with which the forms of a head have as many elements as the outputs together.

    Each further class adds a channel to the scores, and every element of the outputs is one of a part. The second value
    is whether a form fits whatever the number of classes: that of rows with labels. Of rows, there are as many as an
    axis has elements.
    """
    found, labelled = set(), False
    for form in forms:
        for rows in given.extents if form.in_rows else (1,):
            score = form.score * rows
            for fixed, each in form.others:
                left = given.elements - fixed - each * rows
                labelled |= not score and not left
                if score and left % score == 0:
                    found.add(form.classes + left // score)
    return {n for n in found if n > 0}, labelled


_Cells = Sequence[tuple[int, int]]  # of each level, and their anchors


def _form_elements(head: Head, form: Form, input_hw: Size) -> FormElements:
    in_rows, kept = form.cells == "rows", head.prototypes
    cells = [(1, 1)] if in_rows else _cells(head, form, input_hw)
    fixed = 0 if kept is None else kept.channels * math.prod(grid_of(input_hw, kept.stride))
    each, optional = 0, []
    for part in form.parts:
        grows = in_rows and part.role != "count"
        elements = 1 if part.role == "count" else part.count * _elements_of(part, cells)
        both = (0, elements) if grows else (elements, 0)
        if part.optional:
            optional.append(both)
        else:
            fixed, each = fixed + both[0], each + both[1]
    others = {
        (fixed + sum(n for n, _ in chosen), each + sum(n for _, n in chosen))
        for many in range(len(optional) + 1)
        for chosen in itertools.combinations(optional, many)
    }
    score = 0 if form.part("label") else _elements_of(form.part("score"), cells)
    return FormElements(in_rows, head.classes, score, tuple(sorted(others)))


def _cells(head: Head, form: Form, input_hw: Size) -> _Cells:
    """Return the cells and anchors of each level."""
    levels = list(zip(map(math.prod, grids_of(head, input_hw)), anchor_counts(head)))
    whole = len(head.priors) != cells_of(head, input_hw) or not head.anchors
    return [(len(head.priors), 1)] if head.priors and form.cells == "list" and whole else levels


def _elements_of(part: Part | None, cells: _Cells) -> int:
    """Return the elements of each channel of a part, at all levels."""
    alone = part is None or part.shared or part.across
    return sum(count if alone else count * many for count, many in cells)
