"""Detections and their memory: rows, fields, and what is used again."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.decode.results.detections import Detections, Memory, detections, memory_for, memory_of
from npu_layout.decode.results.mask_crops import Masks


def some(n: int = 5, room: int = 8, points: tuple[int, int] | None = (2, 3)) -> Detections:
    memory = memory_for(room, points)
    for i, column in enumerate(memory):
        if column is not None:
            column[...] = np.arange(column.size).reshape(column.shape) + 100 * i
    masks = Masks([np.ones((i, 2), bool) for i in range(1, n + 1)], np.zeros((n, 2), np.int64), (9, 9))
    return detections(memory, n, masks)


def test_memory_has_the_fields_dtypes_and_shapes() -> None:
    memory = memory_for(7, (17, 3), True)
    assert list(Memory._fields) == ["xyxy", "confidence", "class_id", "level", "cell", "anchor", "keypoints", "xywha"]
    shapes = [column.shape for column in memory if column is not None]
    assert shapes == [(7, 4), (7,), (7,), (7,), (7,), (7,), (7, 17, 3), (7, 5)]
    kinds = ["float32"] * 2 + ["int64"] * 4 + ["float32"] * 2
    assert [column.dtype.name for column in memory if column is not None] == kinds
    assert memory_for(7).keypoints is None and memory_for(7).xywha is None and memory_for(0).xyxy.shape == (0, 4)
    part = memory.first(3)
    assert all(len(column) == 3 and np.shares_memory(column, whole) for column, whole in zip(part, memory))  # type: ignore[arg-type]


def test_rows_of_every_field_go_together() -> None:
    found = some()
    assert len(found) == 5 and repr(found) == "<Detections: 5 with keypoints and masks>"
    for rows, kept in (
        (slice(1, 3), [1, 2]),
        ([4, 0], [4, 0]),
        (found.class_id % 2 == 0, [0, 2, 4]),
        (np.arange(0), []),
    ):
        part = found[rows]
        assert part.xyxy.tolist() == [found.xyxy[i].tolist() for i in kept]
        assert part.cell.tolist() == [found.cell[i] for i in kept] and part.keypoints is not None
        assert part.keypoints.tolist() == [found.keypoints[i].tolist() for i in kept]  # type: ignore[index]
        assert [len(crop) for crop in part.masks] == [i + 1 for i in kept]
    for i, one in enumerate(found):
        assert len(one) == 1 and one.cell.tolist() == [found.cell[i]] == found[i - 5].cell.tolist()
        assert one.xyxy.shape == (1, 4) and len(one.masks) == 1
    with pytest.raises(IndexError, match="expected one of 5 detections, got 5"):
        found[5]


@pytest.mark.parametrize(
    "rows",
    (None, True, [[0, 1], [1, 2]], (np.array(3),), np.ones(3, bool), [0, 5], "xyxy", 1.5, (slice(None), 0), {}),
)
def test_what_picks_no_rows_is_refused(rows: Any) -> None:
    n = np.zeros(5, np.int64)
    found = Detections(np.zeros((5, 4), np.float32), np.zeros(5, np.float32), n, n, n, n)
    with pytest.raises(
        IndexError, match=r"expected a mask of bools, indices, a slice, or one index, got .*, of 5 dete"
    ):
        found[rows]
    with pytest.raises(IndexError, match=r"expected a mask of bools, .*, of 5 detections$"):
        found[found]  # type: ignore[index]


def test_fields_are_named_as_in_supervision() -> None:
    found = some()
    fields = found.fields()
    assert list(fields) == ["xyxy", "confidence", "class_id", "mask"] and fields["mask"].shape == (5, 9, 9)
    plain = Detections(*[column[:2] for column in memory_for(3)[:6]])  # type: ignore[index]
    assert list(plain.fields()) == ["xyxy", "confidence", "class_id"] and repr(plain) == "<Detections: 2>"


def test_fields_in_pixels_of_the_frame() -> None:
    """A frame of 40x20 in 20x20 pixels: halved, five rows of border above and below."""
    geometry = nl.Geometry.letterbox((40, 20), (20, 20))
    memory = memory_for(2, None, turned=True)
    memory.xyxy[:] = [[2, 7, 6, 13], [0, 5, 20, 15]]
    assert memory.xywha is not None
    memory.xywha[:] = [[4, 10, 4, 6, 0], [10, 10, 20, 10, 0]]
    crops = Masks([np.ones((6, 4), bool), np.ones((10, 20), bool)], np.array([[2, 7], [0, 5]]), (20, 20))
    found = detections(memory, 2, crops).fields(geometry)
    assert found["xyxy"].tolist() == [[4, 4, 12, 16], [0, 0, 40, 20]] and found["xyxy"].dtype == np.float32
    assert found["data"]["xyxyxyxy"][0].min(0).tolist() == [4, 4]
    assert found["data"]["xyxyxyxy"][0].max(0).tolist() == [12, 16]
    expected = np.zeros((2, 20, 40), bool)
    expected[0, 4:16, 4:12] = expected[1] = True
    np.testing.assert_array_equal(found["mask"], expected)
    assert detections(memory, 0, None).fields(geometry)["xyxy"].shape == (0, 4)
    with pytest.raises(nl.NpuLayoutError, match="geometry: expected"):
        detections(memory, 2, None).fields((40, 20))  # type: ignore[arg-type]
    with pytest.raises(nl.NpuLayoutError, match=r"expected one of an input of 20x20, as the masks .*, got 20x40"):
        detections(memory, 2, crops).fields(nl.Geometry.letterbox((40, 20), (20, 40)))
    memory.xyxy[0] = [6, 7, 2, 13]  # a negative width, as float sides may give it
    assert detections(memory, 1, None).fields(geometry)["xyxy"].tolist() == [[12, 4, 4, 16]]


def test_memory_is_used_again_if_it_fits() -> None:
    found = some()
    memory = memory_of(found, 8, (2, 3))
    assert np.shares_memory(memory.xyxy, found.xyxy) and len(memory.xyxy) == 8
    other = memory_of(found, 4, (17, 3))
    assert other.xyxy is memory.xyxy and other.keypoints is not None and other.keypoints.shape == (8, 17, 3)
    assert memory_of(found, 4).keypoints is None
    turned = memory_of(found, 4, (2, 3), True)
    assert turned.xyxy is memory.xyxy and turned.xywha is not None and turned.xywha.shape == (8, 5)
    with pytest.raises(nl.NpuLayoutError, match=r"out: expected .* room for 9 \(limit\), got room for 8"):
        memory_of(found, 9)
    with pytest.raises(nl.NpuLayoutError, match="got no memory of a Decoder's"):
        memory_of(found[:2], 1)
    with pytest.raises(nl.NpuLayoutError, match="out"):
        memory_of({}, 1)


def test_turned_boxes_have_corners_and_angles() -> None:
    memory = memory_for(3, None, True)
    assert memory.xywha is not None
    memory.xywha[:] = [[10, 20, 8, 4, 0], [10, 20, 8, 4, np.pi / 2], [0, 0, 2, 2, np.pi / 4]]
    memory.xyxy[:] = 0
    found = detections(memory, 3, None)
    corners = found.xyxyxyxy
    assert corners is not None and corners.shape == (3, 4, 2) and corners.dtype == np.float32
    assert corners[0].tolist() == [[6, 18], [14, 18], [14, 22], [6, 22]]
    np.testing.assert_allclose(corners[1], [[12, 16], [12, 24], [8, 24], [8, 16]], atol=1e-5)
    np.testing.assert_allclose(corners[2], [[0, -(2**0.5)], [2**0.5, 0], [0, 2**0.5], [-(2**0.5), 0]], atol=1e-6)
    assert found.angle is not None and found.angle.tolist() == memory.xywha[:, 4].tolist()
    part = found[[2, 0]]
    assert part.xywha is not None and part.xywha[:, 0].tolist() == [0, 10]
    fields = found.fields()
    assert list(fields) == ["xyxy", "confidence", "class_id", "data"]
    assert np.array_equal(fields["data"]["xyxyxyxy"], corners)
    upright = detections(memory_for(3), 3, None)
    assert upright.xyxyxyxy is None and upright.angle is None and upright[:1].xywha is None


def test_places_are_views_made_at_their_first_use() -> None:
    found = some()
    memory = found.__dict__["_memory"]
    assert not {"level", "cell", "anchor"} & found.__dict__.keys()
    for name in ("level", "cell", "anchor"):
        column = getattr(found, name)
        assert column is getattr(found, name) and np.shares_memory(column, getattr(memory, name))
        np.testing.assert_array_equal(column, getattr(memory, name)[:5])
    for again in (pickle.loads(pickle.dumps(some())), copy.copy(some()), copy.deepcopy(some())):
        np.testing.assert_array_equal(again.cell, found.cell)
    assert not hasattr(found, "cells")
    with pytest.raises(AttributeError, match=r"'Detections' object has no attribute 'cells'$"):
        found.cells  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(
    ("name", "meant"), [("boxes", "xyxy"), ("scores", "confidence"), ("labels", "class_id"), ("kpts", "keypoints")]
)
def test_names_of_other_libraries_are_answered_with_those_of_this_one(name: str, meant: str) -> None:
    found = some()
    assert hasattr(found, meant) and not hasattr(found, name)
    with pytest.raises(AttributeError, match=rf"no attribute '{name}'\. Is it {meant}\?$"):
        getattr(found, name)


@pytest.mark.parametrize("name", ["xyxy", "confidence", "class_id"])
def test_arrays_that_were_made_read_only_are_kept(name: str) -> None:
    found = detections(memory_for(8), 3, None)
    assert memory_of(found, 8) is memory_of(found, 8)
    getattr(found, name).flags.writeable = False
    with pytest.raises(nl.NpuLayoutError, match=r"out: expected arrays that can be written, got .* read-only"):
        memory_of(found, 8)
