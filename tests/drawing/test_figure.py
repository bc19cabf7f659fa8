"""What all panels share: what changes first in memory, the labels of cells, the planes that are shown."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.drawing.figure import Figure, digit, fastest_first
from tests.support.specs import EACH_SPEC


def figure(found: nl.Explanation) -> Figure:
    return Figure(found.views(), found.part)


@pytest.mark.parametrize(
    ("tag", "shape", "words"),
    [
        ("NCHW", (1, 3, 4, 5), "w moves first, then h, c"),
        ("NHWC", (2, 3, 4, 5), "c moves first, then w, h, n"),
        ("NCHW16c", (1, 57, 46, 46), "c%16 moves first, then w, h, c//16"),
        ("NCHW", (1, 7, 1, 1), "c moves first"),
        ("NCHW", (1, 1, 1, 1), ""),
    ],
)
def test_what_moves_first(tag: str, shape: tuple[int, ...], words: str) -> None:
    assert fastest_first(nl.TensorSpec(shape, tag)) == words


def test_the_digits_of_storage_dimensions() -> None:
    assert [digit("C", 1, 0), digit("C", 16, 0), digit("C", 1, 16), digit("C", 4, 8)] == [
        "c",
        "c//16",
        "c%16",
        "c//4%8",
    ]


@EACH_SPEC
def test_planes_contain_every_shown_element_once(spec: nl.TensorSpec) -> None:
    """Rows and columns are those of the part, and the name has the indices that number the planes."""
    found = nl.explain(spec)
    shared = figure(found)
    planes = [plane for group in shared.shown_planes() for plane in group]
    indices = [index for plane in planes for row in plane.rows for index in row]
    spans = [found.part[a] for a in spec.axes]
    wanted = [tuple(s.start + i for s, i in zip(spans, at)) for at in np.ndindex(*map(len, spans))]
    assert sorted(indices) == sorted(wanted)
    for plane in planes:
        for word in plane.name.split():
            axis = spec.axes.index(word[0].upper())
            assert {index[axis] for row in plane.rows for index in row} == {int(word[1:])}
    names = [plane.name for plane in planes]
    assert len(set(names)) == len(names)
    labels = [[shared.label(index) for row in plane.rows for index in row] for plane in planes]
    assert all(len(set(each)) == len(each) for each in labels), "a label is the place in the plane"


def test_long_numbers_are_counted_from_the_start_of_the_part() -> None:
    shared = figure(nl.explain("NCHW", (1, 3, 4000, 4000), at=(0, 0, 3000, 2000)))
    assert shared.since() == ", counted from h 3000, w 2000"
    assert shared.label((0, 1, 3002, 2001)) == "21" and shared.name((0, 1, 3002, 2001)) == "n0 c1 h3002 w2001"
    assert shared.legend() == f"One cell is one element. Its colour shows c; its digits are h w{shared.since()}."
    assert shared.shown().startswith("Shown: n 0, c 0-2, h 3000-")
    small = figure(nl.explain("NCHW", (1, 3, 4, 5)))
    assert small.since() == small.shown() == ""


def test_what_is_not_read_fades() -> None:
    shared = figure(nl.explain("NCHW", (1, 3, 4, 5)))
    (full, ink), (faded, pale) = (shared.paint((0, 1, 2, 3), read) for read in (True, False))
    assert full == shared.colours[(0, 1, 2, 3)] and ink != pale
    assert all(f >= c for f, c in zip(faded, full))
