"""Geometry: sizes, exact inverses, and agreement with what cv2.resize really does."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from npu_layout.geometry import MODES

SIZE = st.tuples(st.integers(1, 4000), st.integers(1, 3000))
MODE = st.sampled_from(sorted(MODES))


@given(MODE, SIZE, SIZE, st.lists(st.floats(-100, 5000), min_size=4, max_size=4))
def test_points_and_boxes_return(mode: str, frame_wh: tuple, input_wh: tuple, values: list) -> None:
    g = MODES[mode](frame_wh, input_wh)
    near = 1e-6 * max(1, *frame_wh, *input_wh)
    points, box = np.array(values).reshape(2, 2), np.array(values)
    assert np.abs(g.points_to_input(g.points_to_frame(points)) - points).max() < near
    assert np.abs(g.points_to_frame(g.points_to_input(points)) - points).max() < near
    assert np.abs(g.boxes_to_input(g.boxes_to_frame(box)) - box).max() < near
    # The centre of pixel (i, j) as a point, and its edges as a box, are half a pixel apart in both pictures.
    i, j = values[0], values[1]
    edge = g.boxes_to_frame([i, j, i + 1, j + 1])
    centre = g.points_to_frame([i, j])
    assert np.abs((edge[:2] + edge[2:]) / 2 - 0.5 - centre).max() < near


@given(MODE, SIZE, SIZE)
def test_whole_pixels(mode: str, frame_wh: tuple, input_wh: tuple) -> None:
    g = MODES[mode](frame_wh, input_wh)
    x0, y0, x1, y1 = g.crop_xyxy
    assert 0 <= x0 < x1 <= frame_wh[0] and 0 <= y0 < y1 <= frame_wh[1]
    assert all(g.pad_ltrb[i] + g.resized_wh[i] + g.pad_ltrb[i + 2] == input_wh[i] for i in (0, 1))
    if mode == "letterbox":
        assert g.resized_wh[0] == input_wh[0] or g.resized_wh[1] == input_wh[1]
        scale = min(input_wh[0] / frame_wh[0], input_wh[1] / frame_wh[1])
        for got, size in zip(g.resized_wh, frame_wh):
            assert got == 1 or abs(got - size * scale) <= 0.5 + 1e-9
        assert 0 <= g.pad_ltrb[2] - g.pad_ltrb[0] <= 1 and 0 <= g.pad_ltrb[3] - g.pad_ltrb[1] <= 1
    if mode == "crop":
        w, h = x1 - x0, y1 - y0
        aspect = input_wh[0] / input_wh[1]
        assert w == frame_wh[0] or h == frame_wh[1]
        assert w == frame_wh[0] or w + 1 > math.floor(frame_wh[1] * aspect)
        assert h == frame_wh[1] or h + 1 > math.floor(frame_wh[0] / aspect)
        assert abs(x0 - (frame_wh[0] - x1)) <= 1 and abs(y0 - (frame_wh[1] - y1)) <= 1


@given(MODE, SIZE, SIZE)
def test_the_used_part_fills_the_input(mode: str, frame_wh: tuple, input_wh: tuple) -> None:
    g = MODES[mode](frame_wh, input_wh)
    left, top, right, bottom = g.pad_ltrb
    inner = [left, top, input_wh[0] - right, input_wh[1] - bottom]
    np.testing.assert_allclose(g.boxes_to_frame(inner), g.crop_xyxy, atol=1e-6)
    np.testing.assert_allclose(g.boxes_to_input(g.crop_xyxy), inner, atol=1e-6)


@pytest.mark.parametrize("mode", sorted(MODES))
@pytest.mark.parametrize(
    ("frame_wh", "input_wh"), [((160, 120), (64, 64)), ((60, 90), (200, 150)), ((97, 91), (71, 97))]
)
def test_a_dot_lands_where_cv2_puts_it(mode: str, frame_wh: tuple, input_wh: tuple) -> None:
    spec = nl.TensorSpec((1, 1, *input_wh[::-1]), "NCHW", "float32")
    preprocess = nl.Preprocessor(spec, resize=mode, source="GRAY", color="GRAY", pad_value=0, interpolation="area")
    x, y = frame_wh[0] // 2 + 3, frame_wh[1] // 2 - 4
    rows, columns = np.indices(frame_wh[::-1])
    frame = np.rint(255 * np.exp(-((rows - y) ** 2 + (columns - x) ** 2) / 32)).astype(np.uint8)
    buffer, g = preprocess(frame)
    weights = buffer[0, 0].astype(np.float64)
    rows, columns = np.indices(weights.shape)
    centroid = [(columns * weights).sum() / weights.sum(), (rows * weights).sum() / weights.sum()]
    assert np.abs(g.points_to_frame(centroid) - (x, y)).max() < 0.5


@given(
    MODE,
    st.tuples(st.integers(1, 24), st.integers(1, 24)),
    st.tuples(st.integers(1, 24), st.integers(1, 24)),
    st.integers(1, 20),
    st.integers(1, 20),
)
def test_masks_by_the_pixel(mode: str, frame_wh: tuple, input_wh: tuple, mask_w: int, mask_h: int) -> None:
    g = MODES[mode](frame_wh, input_wh)
    mask = np.arange(1, mask_w * mask_h + 1, dtype=np.int32).reshape(mask_h, mask_w)
    got = g.mask_to_frame(mask)
    assert got.shape == frame_wh[::-1] and got.dtype == mask.dtype
    x0, y0, x1, y1 = g.crop_xyxy
    for row in range(frame_wh[1]):
        for column in range(frame_wh[0]):
            if not (x0 <= column < x1 and y0 <= row < y1):
                assert got[row, column] == 0
                continue
            # exact: cell = ((column + 1/2 - x0) * resized / crop + pad) * mask_w / input_w
            cells = []
            for at, corner, far, side, cells_n in ((column, x0, x1, 0, mask_w), (row, y0, y1, 1, mask_h)):
                size = far - corner
                top = (2 * (at - corner) + 1) * g.resized_wh[side] + 2 * size * g.pad_ltrb[side]
                cell = top * cells_n / (2 * size * input_wh[side])
                cells.append((int(cell + 1e-9), int(cell - 1e-9)))
            allowed = {mask[min(r, mask_h - 1), min(c, mask_w - 1)] for r in cells[1] for c in cells[0]}
            assert got[row, column] in allowed


def test_a_mask_goes_there_and_back() -> None:
    g = nl.Geometry.letterbox((64, 48), (128, 128))
    mask = np.random.default_rng(3).random((48, 64)) > 0.5
    np.testing.assert_array_equal(g.mask_to_frame(g.mask_to_input(mask)), mask)
    smooth = cv2.GaussianBlur(mask.astype(np.float32), (0, 0), 3)
    back = g.mask_to_frame(g.mask_to_input(smooth, interpolation="linear"), interpolation="linear")
    assert np.abs(back - smooth).max() < 0.02
    assert g.mask_to_input(np.ones((48, 64, 2), np.uint8)).shape == (128, 128, 2)


def test_bad_input() -> None:
    g = nl.Geometry.stretch((4, 4), (8, 8))
    for call, says in (
        (lambda: g.points_to_frame([1, 2, 3]), r"\(\.\.\., 2\)"),
        (lambda: g.boxes_to_frame([[1, 2]]), r"\(\.\.\., 4\)"),
        (lambda: g.points_to_frame(["a", "b"]), "xy"),
        (lambda: g.mask_to_frame(np.zeros(3)), "mask"),
        (lambda: nl.Geometry.letterbox((0, 4), (8, 8)), "frame_wh"),
        (lambda: nl.Geometry((4, 4), (8, 8), (8, 8), (1, 0, 0, 0), (0, 0, 4, 4)), "pad_ltrb"),
        (lambda: nl.Geometry((4, 4), (8, 8), (8, 8), (0, 0, 0, 0), (0, 0, 5, 4)), "crop_xyxy"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            call()
    assert g.points_to_frame(np.zeros((0, 2))).shape == (0, 2)
    assert g.points_to_frame(np.zeros((3, 2), np.float32)).dtype == np.float32
