"""How the axes of lists and maps are read: by their grid, by letters, and as the other outputs are."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.decode.outputs.output_axes import Axes, flat_axes, grid_axes, read_alike
from tests.support.output_specs import spec_of

LISTS = ("NCW", "NWC")


def test_lists_are_read_whichever_axis_has_the_cells() -> None:
    for shape, channel, columns, channels in (
        ((1, 84, 8400), 1, 2, 84),
        ((1, 8400, 84), 2, 1, 84),
        ((8400, 4), 1, 0, 4),
        ((1, 8400), 0, 1, 1),
        ((1, 8400, 1), 2, 1, 1),
    ):
        found = list(flat_axes(spec_of(shape), 8400))
        assert [(a.channel, a.rows, a.columns, a.channels) for a in found] == [(channel, None, columns, channels)], (
            shape
        )
    for shape in ((1, 84, 8401), (1, 2, 3, 8400), (2, 3, 8400)):
        assert list(flat_axes(spec_of(shape), 8400)) == []


def test_lists_of_as_many_cells_as_channels() -> None:
    """Letters that say the opposite of what other lists have are not believed, and not passed over."""
    listed = nl.TensorSpec.of_storage((1, 84, 84), "NWC")
    with pytest.raises(
        nl.LayoutError, match=r"as many cells as channels.*, \'NCW\'\) if channels come first in memory"
    ):
        list(flat_axes(listed, 84))
    assert list(flat_axes(listed, 84, channels_last=True)) == [Axes(2, None, 1, None, 84)]
    for sure in (nl.TensorSpec((1, 84, 84), "NCW"), nl.TensorSpec((1, 84, 84), "NWC"), spec_of((1, 84, 84))):
        assert list(flat_axes(sure, 84)) == [Axes(1, None, 2, None, 84)]
    decoders = [decode.Decoder(decode.yolov8(80), [nl.TensorSpec((1, 84, 84), layout)], (64, 64)) for layout in LISTS]
    values = np.random.default_rng(0).random((84, 84), np.float32)
    found = [
        decoder([x.ravel()], confidence=0.9) for decoder, x in zip(decoders, (values, np.ascontiguousarray(values.T)))
    ]
    assert len(found[0]) and decode.same(*found, pixels=0, score=0)
    with pytest.raises(nl.LayoutError, match="as many cells as channels"):
        decode.Decoder(decode.yolov8(80), [listed], (64, 64))
    assert "as many cells as channels" in decode.guess([listed], (64, 64)).why


def _square(n: int, classes: int) -> tuple[decode.Head, np.ndarray, np.ndarray]:
    """SSD whose boxes are its priors, boxes (n, 4) and scores (n, 1 + classes): prior i has class i modulo classes."""
    priors = [(0.1 + 0.8 * i / n, 0.5, 0.05, 0.05) for i in range(n)]
    scores = np.full((n, 1 + classes), 0.1, np.float32)
    for i in range(n):
        scores[i, 1 + i % classes] = 0.6 + 0.3 * i / n
    return decode.ssd(priors, classes, activation="none"), np.zeros((n, 4), np.float32), scores


def _answers(head: decode.Head, specs: list[nl.TensorSpec], buffers: list[np.ndarray]) -> list[tuple[int, int, int]]:
    found = decode.Decoder(head, specs, (1000, 1000))(buffers, confidence=0.5)
    middles = found.xyxy[:, [0, 2]].mean(1)
    rows = zip(middles, found.class_id.tolist(), found.confidence)
    return sorted((round(float(x)), label, round(1000 * float(score))) for x, label, score in rows)


@pytest.mark.parametrize(("n", "classes"), [(22, 21), (21, 21), (4, 21), (4, 2), (91, 90)])
@pytest.mark.parametrize("cells_first", [True, False])
@pytest.mark.parametrize("lettered", [True, False])
def test_as_many_priors_as_classes(n: int, classes: int, cells_first: bool, lettered: bool) -> None:
    """Letters of a rank, as an engine's specs have them, say nothing: one output tells it of the other."""
    head, boxes, scores = _square(n, classes)
    specs = []
    for name, x in (("boxes", boxes), ("scores", scores)):
        shape = (1, *(x.shape if cells_first and not lettered else x.shape[::-1]))
        specs.append(nl.TensorSpec(shape, "NWC" if cells_first and lettered else "NCW", name=name))
    buffers = [np.ascontiguousarray(x if cells_first else x.T).ravel() for x in (boxes, scores)]
    expected = [(round(100 + 800 * i / n), i % classes, round(600 + 300 * i / n)) for i in range(n)]
    assert _answers(head, specs, buffers) == expected
    assert _answers(head, specs[::-1], buffers[::-1]) == expected


def test_four_priors_of_four_classes_are_refused_without_letters() -> None:
    head, boxes, scores = _square(4, 3)
    specs = [nl.TensorSpec((1, 4, 4), "NCW", name=name) for name in ("boxes", "scores")]
    with pytest.raises(nl.LayoutError, match=r"as many cells as channels, and no .*Spec\(\(1, 4, 4\), 'NWC'"):
        decode.Decoder(head, specs, (1000, 1000))
    specs = [nl.TensorSpec((1, 4, 4), "NWC", name=name) for name in ("boxes", "scores")]
    found = _answers(head, specs, [boxes.ravel(), scores.ravel()])
    assert [label for _, label, _ in found] == [0, 1, 2, 0]


def test_maps_are_read_by_their_grid() -> None:
    for shape, axes, expected in (
        ((1, 64, 6, 8), None, Axes(1, 2, 3, None, 64)),
        ((1, 6, 8, 64), "NHWC", Axes(3, 1, 2, None, 64)),
        ((64, 6, 8), "CHW", Axes(0, 1, 2, None, 64)),
        ((1, 3, 6, 8, 85), None, None),
    ):
        assert next(grid_axes(spec_of(shape, axes=axes), (6, 8), 1), None) == expected, shape
    anchored = list(grid_axes(spec_of((1, 3, 85, 6, 8)), (6, 8), 3))
    assert anchored == [Axes(2, 3, 4, 1, 85)]
    assert list(grid_axes(spec_of((1, 3, 6, 8, 85)), (6, 8), 3)) == [Axes(4, 2, 3, 1, 85)]
    turned = list(grid_axes(spec_of((1, 96, 10)), (6, 8), 2))
    assert turned == [Axes(2, None, 1, None, 10, True)]


def test_as_many_channels_as_rows_and_columns() -> None:
    """The other levels say which axis has them; without those, channels are before rows and columns."""
    for order in ((2, 3, 4), (4, 2, 3)):
        shapes = {side: (1, 3, *((8, side, side) if order[0] == 2 else (side, side, 8))) for side in (8, 4)}
        levels = [[(k, axes) for axes in grid_axes(spec_of(s), (s[3], s[3]), 3)] for k, s in enumerate(shapes.values())]
        assert len(levels[0]) == 2 and len(levels[1]) == 1
        channel, rows, columns = order
        assert read_alike(levels) == [[(k, Axes(channel, rows, columns, 1, 8))] for k in (0, 1)]
        assert read_alike(levels[:1]) == [[(0, Axes(2, 3, 4, 1, 8))]]


def test_letters_of_anchors_and_channels() -> None:
    """The spec's letters say what extents do not; those of the rank alone, and those that fit no way, say nothing."""
    for shape, axes, expected in (
        ((1, 3, 20, 20, 20), "NAHWC", Axes(4, 2, 3, 1, 20)),
        ((1, 3, 20, 20, 20), "NACHW", Axes(2, 3, 4, 1, 20)),
        ((1, 3, 20, 20, 20), "NXYZC", Axes(4, 2, 3, 1, 20)),
        ((3, 20, 20, 20), "AHWC", Axes(3, 1, 2, 0, 20)),
        ((1, 20, 20, 20, 3), "NHWCA", Axes(3, 1, 2, 4, 20)),
        ((1, 3, 20, 20, 20), "NXHCW", Axes(2, 3, 4, 1, 20)),
        ((1, 3, 20, 20, 20), None, Axes(2, 3, 4, 1, 20)),
    ):
        assert next(grid_axes(spec_of(shape, axes=axes), (20, 20), 3)) == expected, (shape, axes)
    assert list(grid_axes(spec_of((1, 8, 8, 8, 8), axes="NHWAC"), (8, 8), 8)) == [Axes(4, 1, 2, 3, 8)]
    assert len(list(grid_axes(spec_of((1, 8, 8, 8, 8)), (8, 8), 8))) == 8


def test_an_order_that_all_levels_have() -> None:
    """Eight anchors of eight channels: no level alone says the order, and one order is common to all."""
    levels = [[(k, axes) for axes in grid_axes(spec_of((1, 8, n, n, 8)), (n, n), 8)] for k, n in enumerate((8, 4, 2))]
    assert all(len(ways) > 1 for ways in levels) and levels[0][0][1] != levels[1][0][1]
    assert read_alike(levels) == [[(k, Axes(4, 2, 3, 1, 8))] for k in range(3)]
    assert read_alike([[], *levels, []])[0] == []


def test_as_many_rows_as_channels() -> None:
    assert list(flat_axes(spec_of((1, 6, 6)), 6)) == [Axes(1, None, 2, None, 6)]
    assert list(flat_axes(spec_of((1, 6, 6)), 6, channels_last=True)) == [Axes(2, None, 1, None, 6)]
