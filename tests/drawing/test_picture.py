"""The picture cell by cell: the same colours in planes and memory, padding, what is read."""

from __future__ import annotations

import pytest

import npu_layout as nl
from npu_layout.drawing.figure import Figure
from npu_layout.drawing.palette import INK, WHITE, hexadecimal, mix
from npu_layout.drawing.picture import draw, planes_across
from npu_layout.drawing.scene import Stroke
from tests.support import oracle
from tests.support.specs import EACH_SPEC, place, rects


@EACH_SPEC
def test_a_cell_of_memory_has_its_planes_colour(spec: nl.TensorSpec) -> None:
    found = nl.explain(spec)
    cells = rects(found.to_svg())
    figure = Figure(found.views(), found.part)
    places = []
    for index in oracle.indices(spec.shape):
        if not all(i in found.part[a] for a, i in zip(spec.axes, index)):
            continue
        name = " ".join(f"{a.lower()}{i}" for a, i in zip(spec.axes, index))
        plane, memory = cells.pop(name), cells.pop(f"{name} at {place(spec, index)}")
        assert plane.get("fill") == memory.get("fill") == hexadecimal(figure.colours[index])
        places.append((place(spec, index), float(memory.get("y", 0)), float(memory.get("x", 0))))
    ordered = sorted(places)
    assert [p[1:] for p in ordered] == sorted(p[1:] for p in places), "address order is reading order"
    assert all("padding at " in title for title in cells)


def test_padding_is_drawn() -> None:
    found = nl.explain("NCHW16c", (1, 20, 2, 2))
    pads = [title for title in rects(found.to_svg()) if title.startswith("padding")]
    assert len(pads) == found.padding == 48


def test_what_is_read_keeps_its_colour_and_the_rest_fades() -> None:
    found = nl.explain("NHWC", (1, 3, 224, 224), window=(3, 3), compare="NCHW")
    for explanation in (found, found.compared[0]):
        read = set(explanation.reads[0].offsets.tolist())
        figure = Figure(found.views(), found.part)
        cells = rects(nl.explain(explanation.spec, window=(3, 3)).to_svg())
        marked = {title for title in cells if " at " in title and int(title.split(" at ")[1]) in read}
        assert len(marked) == 27
        for title, rect in cells.items():
            if " at " in title and title[0] == "n":
                index = tuple(int(word[1:]) for word in title.split(" at ")[0].split())
                colour = figure.colours[index]
                assert rect.get("fill") == hexadecimal(colour if title in marked else mix(colour, WHITE, 0.82))
    assert "Shown: n 0, c 0-2, h 0-4, w 0-4" in found.to_svg()


@pytest.mark.parametrize("count, room, across", [(3, 9, 3), (8, 5, 4), (7, 5, 5), (12, 5, 4), (20, 1, 1), (1, 4, 1)])
def test_tiles_in_a_row(count: int, room: int, across: int) -> None:
    """As many as divide their number, if those use more than half of the room."""
    assert planes_across(count, room) == across


def test_panels_stand_beside_each_other_as_far_as_the_picture_is_wide() -> None:
    found = nl.explain("NCHW", (1, 3, 4, 4), compare=["NHWC", "CHWN"])
    sizes = {width: draw(found.views(), found.part, width) for width in (1, 1000, 5000)}
    titles = {
        width: [(i.x, i.y) for i in scene.items if getattr(i, "text", "").endswith(" memory")]
        for width, scene in sizes.items()
    }
    assert all(len(places) == 3 for places in titles.values())
    assert len({x for x, _ in titles[1]}) == 1 and len({y for _, y in titles[1]}) == 3
    assert len({x for x, _ in titles[5000]}) == 3 and len({y for _, y in titles[5000]}) == 1
    assert sizes[1].height > sizes[5000].height and sizes[1].width < sizes[5000].width


def test_frames_are_drawn_around_what_is_read_without_inner_lines() -> None:
    found = nl.explain("NCHW", (1, 1, 4, 4), window=(2, 3))
    strokes = [i for i in draw(found.views(), found.part).items if isinstance(i, Stroke) and i.colour == INK]
    assert len(strokes) == 2 * (2 + 3)


@pytest.mark.parametrize(
    ("pitch", "label"),
    [(90_000, "+89998"), (99_999, "+99997"), (400_000, "+400k"), (999_501, "+999k"), (999_502, "+1.0M")],
)
def test_a_skip_has_room_for_its_count(pitch: int, label: str) -> None:
    """Exact up to five digits, rounded beyond."""
    spec = nl.TensorSpec((1, 2, 1, 2), "NCHW", "int8", storage_strides=(2 * pitch, pitch, 2, 1))
    assert f">{label}<" in nl.explain(spec).to_svg()
