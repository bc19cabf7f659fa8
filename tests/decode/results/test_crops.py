"""Outlines of masks, against pixels that are filled one by one; and masks that are not there."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode


def filled(mask: np.ndarray) -> np.ndarray:
    """The mask without holes: what the outside cannot reach by steps to one of four neighbours."""
    h, w = mask.shape
    outside, left = set(), [(y, x) for y in range(-1, h + 1) for x in (-1, w)]
    left += [(y, x) for y in (-1, h) for x in range(-1, w + 1)]
    while left:
        y, x = left.pop()
        if (y, x) in outside or not (-1 <= y <= h and -1 <= x <= w):
            continue
        if 0 <= y < h and 0 <= x < w and mask[y, x]:
            continue
        outside.add((y, x))
        left += [(y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)]
    return np.array([[(y, x) not in outside for x in range(w)] for y in range(h)], bool).reshape(h, w)


@pytest.mark.parametrize("seed", range(8))
def test_outlines_that_are_filled_are_the_mask_without_its_holes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    h, w = rng.integers(1, 12, 2)
    x, y = rng.integers(0, 20, 2)
    crops = [rng.random((h, w)) < rng.choice([0.2, 0.6, 0.9]), np.zeros((3, 3), bool), np.zeros((0, 0), bool)]
    masks = decode.Masks(crops, np.array([[x, y], [1, 1], [0, 0]]), (32, 32))
    outlines = masks.polygons(0)
    drawn = np.zeros((32, 32), np.uint8)
    for outline in outlines:
        assert outline.dtype == np.float32 and outline.shape[1:] == (2,)
        cv2.fillPoly(drawn, [outline.astype(np.int32)], 1)
    wanted = np.zeros((32, 32), bool)
    wanted[y : y + h, x : x + w] = filled(crops[0])
    assert np.array_equal(drawn.astype(bool), wanted)
    areas = [cv2.contourArea(outline) for outline in outlines]
    assert areas == sorted(areas, reverse=True)
    assert masks.polygons(1) == [] and masks.polygons(-1) == []


def test_an_outline_in_the_frame() -> None:
    """A rectangle of the input, in a frame of twice the size below a bar of 8 rows."""
    crop = np.ones((4, 6), bool)
    masks = decode.Masks([crop], np.array([[10, 20]]), (64, 64))
    (outline,) = masks.polygons(0)
    assert sorted(map(tuple, outline.tolist())) == [(10, 20), (10, 23), (15, 20), (15, 23)]
    geometry = nl.Geometry.letterbox((128, 96), (64, 64))
    inside = geometry.points_to_frame(outline)
    np.testing.assert_allclose(inside.min(0), [20.5, 24.5])  # centres of the first pixels: (10.5 * 2 - 0.5, ...)
    np.testing.assert_allclose(inside.max(0), [30.5, 30.5])
    with pytest.raises(IndexError, match="i: expected one of 1 masks, got 1"):
        masks.polygons(1)
    with pytest.raises(nl.NpuLayoutError, match="i: expected a whole number"):
        masks.polygons("first")


def test_rows_of_masks() -> None:
    masks = decode.Masks([np.ones((n, 2), bool) for n in range(3)], np.arange(6).reshape(3, 2), (64, 64))
    for rows, kept in ((slice(1, 3), [1, 2]), ([2, 0], [2, 0]), (np.array([True, False, True]), [0, 2]), ([], [])):
        part = masks[rows]
        assert [len(crop) for crop in part] == kept and part.offsets.tolist() == masks.offsets[kept].tolist()
    assert len(masks[-1]) == 2 and len(masks[np.int64(1)]) == 1
    with pytest.raises(IndexError, match="expected one of 3 masks, got 3"):
        masks[3]
    for wrong in (True, None, 1.5, [3], [[0, 1], [1, 0]], np.ones(2, bool), "first"):
        with pytest.raises(IndexError, match=r"expected a mask of bools, .* of 3 masks$"):
            masks[wrong]


def test_outlines_of_crops_that_are_views() -> None:
    whole = np.zeros((8, 8), bool)
    whole[::2] = True
    masks = decode.Masks([whole[::2, ::2], whole.T], np.zeros((2, 2), int), (8, 8))
    assert len(masks.polygons(0)) == 1 and len(masks.polygons(1)) == 4


def test_a_mask_into_memory_that_is_read_only_is_refused() -> None:
    masks = decode.Masks([np.ones((2, 3), bool)], np.array([[1, 0]]), (4, 5))
    out = np.zeros((4, 10), bool)[:, ::2]
    assert masks.full(0, out=out) is out and out[:2, 1:4].all() and out.sum() == 6
    out.flags.writeable = False
    with pytest.raises(nl.NpuLayoutError, match="out: expected an array that can be written"):
        masks.full(0, out=out)
