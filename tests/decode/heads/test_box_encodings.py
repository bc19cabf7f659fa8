"""What the table says of each encoding is what its arithmetic does, and what heads are refused by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from npu_layout import NpuLayoutError, decode
from npu_layout.decode.decoders.encodings import EDGES, Cells
from npu_layout.decode.heads.box_encodings import ENCODINGS
from npu_layout.kernels import detecting

EVERY = pytest.mark.parametrize("name", ENCODINGS)


def test_the_same_encodings_are_everywhere() -> None:
    assert set(ENCODINGS) == set(EDGES) == set(detecting.ENCODINGS)


@EVERY
def test_what_a_box_depends_on(name: str) -> None:
    """Edges change with the anchor, the unit, the cell and the factor of centres if the table says so, and else not."""
    known = ENCODINGS[name]
    how = decode.Boxes(name, 3 if known.binned else 16)
    x = np.random.default_rng(0).uniform(0.1, 0.9, (1, how.channels + (2 if known.numbers == 2 else 0)))
    at = Cells(how, np.array([[3.0, 5.0]]), 16.0, np.array([[20.0, 44.0]]), np.array([640.0, 480.0]), 1.0)

    def changes(**other: object) -> bool:
        return not np.array_equal(EDGES[name](at, x), EDGES[name](at._replace(**other), x))

    assert changes(anchor=at.anchor + 1) == (known.anchored or known.offset)
    assert changes(unit=at.unit + 1) == known.scaled
    assert changes(cell=at.cell + 1) == changes(stride=8.0) == (not known.decoded)
    assert changes(spread=2.0) == known.spread


@pytest.mark.parametrize("name", [name for name, known in ENCODINGS.items() if known.sides and not known.binned])
def test_a_side_moves_one_edge_outwards(name: str) -> None:
    how = decode.Boxes(name)
    at = Cells(how, np.array([[3.0, 5.0]]), 16.0, np.ones((1, 2)), np.ones(2), 1.0)
    still, moved = EDGES[name](at, np.zeros((1, 4))), EDGES[name](at._replace(), np.eye(4))
    assert np.array_equal(moved - still, np.diag([-16.0, -16.0, 16.0, 16.0]))


@EVERY
def test_heads_are_refused_by_the_table(name: str) -> None:
    known, parts = ENCODINGS[name], (decode.Part("score", 2), decode.Part("box", decode.Boxes(name).channels))
    form = decode.Form("maps", parts, decode.Boxes(name, center=0.0))

    def is_refused(*args: object, **kwargs: object) -> bool:
        try:
            decode.Head("x", 2, (8,), *args, **kwargs)  # type: ignore[arg-type]
        except NpuLayoutError:
            return True
        return False

    anchors, priors = (((10.0, 13.0),),), ((0.5, 0.5, 0.1, 0.1),)
    assert is_refused((form,)) == known.anchored and not is_refused((form,), anchors)
    assert is_refused((form,), anchors, priors=priors) == (not known.offset)
    two = (decode.Part("offset", 2), parts[0], replace(parts[1], count=2))
    try:
        decode.Form("two parts", two, form.boxes)
    except NpuLayoutError:
        assert not (known.split or known.numbers == 2)
    else:
        assert known.split or known.numbers == 2
    try:
        decode.Boxes(name, spreads=(1.05,))
    except NpuLayoutError as error:
        assert not known.spread and "'center_exp' and 'sigmoid_exp' have some" in str(error)
    else:
        assert known.spread
