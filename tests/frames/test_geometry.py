"""Geometry against fractions, and what OpenCV really does to an image."""

from __future__ import annotations

import dataclasses
import math
import subprocess
import sys
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import npu_layout as nl
from npu_layout.errors import NpuLayoutError
from npu_layout.frames.geometry import MODES, Geometry
from tests.support.geometries import ANY, MIXED, MODE, SIZE, edge_to_frame, edge_to_input

# --- the record


@given(MODE, SIZE, SIZE)
@example("letterbox", (1, 3000), (4000, 1))
@example("crop", (1, 3000), (4000, 1))
@example("crop", (4000, 1), (1, 3000))
def test_the_numbers_always_fit(mode: str, frame: Any, size: Any) -> None:
    g = MODES[mode](frame, size)
    assert (g.frame_wh, g.input_wh) == (frame, size)
    for axis in range(2):
        assert g.pad_ltrb[axis] + g.resized_wh[axis] + g.pad_ltrb[axis + 2] == size[axis]
        if mode == "letterbox_top_left":
            assert g.pad_ltrb[axis] == 0
        else:
            assert g.pad_ltrb[axis + 2] - g.pad_ltrb[axis] in (0, 1)
        left, right = g.crop_xyxy[axis], frame[axis] - g.crop_xyxy[axis + 2]
        assert left >= 0 and right - left in (0, 1)
    if not mode.startswith("letterbox"):
        assert g.resized_wh == size and g.pad_ltrb == (0, 0, 0, 0)
    if mode != "crop":
        assert g.crop_xyxy == (0, 0, *frame)


@given(SIZE, SIZE)
def test_letterbox_fills_one_side_and_keeps_the_aspect(frame: Any, size: Any) -> None:
    g = Geometry.letterbox(frame, size)
    scale = min(Fraction(size[0], frame[0]), Fraction(size[1], frame[1]))
    wanted = [scale * n for n in frame]
    assert any(wanted[a] == size[a] == g.resized_wh[a] for a in range(2))
    for got, ideal in zip(g.resized_wh, wanted):
        assert got == max(1, round(ideal))  # Fraction rounds half to even
        assert abs(got - ideal) <= Fraction(1, 2) or (got == 1 and ideal < 1)


@given(SIZE, SIZE)
def test_letterbox_is_that_of_ultralytics(frame: Any, size: Any) -> None:
    ratio = min(size[1] / frame[1], size[0] / frame[0])
    floating = [n * ratio for n in frame]
    assume(all(abs(x % 1 - 0.5) > 1e-6 and x >= 0.5 for x in floating))  # there the floating scale decides by chance
    width, height = (round(x) for x in floating)
    half_w, half_h = (size[0] - width) / 2, (size[1] - height) / 2
    left, right = round(half_w - 0.1), round(half_w + 0.1)
    top, bottom = round(half_h - 0.1), round(half_h + 0.1)
    g = Geometry.letterbox(frame, size)
    assert (g.resized_wh, g.pad_ltrb) == ((width, height), (left, top, right, bottom))


@given(SIZE, SIZE)
def test_at_the_top_left_it_is_as_large(frame: Any, size: Any) -> None:
    middle, corner = Geometry.letterbox(frame, size), Geometry.letterbox(frame, size, center=False)
    assert corner.resized_wh == middle.resized_wh and corner.pad_ltrb[:2] == (0, 0)


@given(SIZE, SIZE)
def test_crop_is_the_largest(frame: Any, size: Any) -> None:
    x0, y0, x1, y1 = Geometry.crop(frame, size).crop_xyxy
    width, height = x1 - x0, y1 - y0
    aspect = Fraction(*size)
    assert width == frame[0] or height == frame[1]
    if (width, height) != frame:
        one_more = Fraction(width + 1, height) / aspect if width < frame[0] else aspect / Fraction(width, height + 1)
        assert one_more > 1
    if width > 1 and height > 1:
        short = Fraction(width, height) / aspect if height == frame[1] else aspect / Fraction(width, height)
        assert short <= 1 or (width, height) == frame


@pytest.mark.parametrize(
    ("mode", "frame", "size", "resized", "pad", "crop"),
    [
        ("letterbox", (1920, 1080), (640, 640), (640, 360), (0, 140, 0, 140), (0, 0, 1920, 1080)),
        ("letterbox", (640, 427), (320, 320), (320, 214), (0, 53, 0, 53), (0, 0, 640, 427)),  # 213.5 to even
        ("letterbox", (640, 425), (320, 320), (320, 212), (0, 54, 0, 54), (0, 0, 640, 425)),  # 212.5 to even
        ("letterbox", (480, 641), (100, 320), (100, 134), (0, 93, 0, 93), (0, 0, 480, 641)),
        ("letterbox", (3, 4), (9, 8), (6, 8), (1, 0, 2, 0), (0, 0, 3, 4)),  # odd padding: more at the right
        ("letterbox", (4000, 1), (10, 10), (10, 1), (0, 4, 0, 5), (0, 0, 4000, 1)),
        ("letterbox", (368, 368), (368, 368), (368, 368), (0, 0, 0, 0), (0, 0, 368, 368)),
        ("letterbox_top_left", (1920, 1080), (640, 640), (640, 360), (0, 0, 0, 280), (0, 0, 1920, 1080)),
        ("letterbox_top_left", (480, 641), (100, 320), (100, 134), (0, 0, 0, 186), (0, 0, 480, 641)),
        ("letterbox_top_left", (3, 4), (9, 8), (6, 8), (0, 0, 3, 0), (0, 0, 3, 4)),
        ("stretch", (1920, 1080), (300, 301), (300, 301), (0, 0, 0, 0), (0, 0, 1920, 1080)),
        ("crop", (1920, 1080), (224, 224), (224, 224), (0, 0, 0, 0), (420, 0, 1500, 1080)),
        ("crop", (10, 5), (2, 1), (2, 1), (0, 0, 0, 0), (0, 0, 10, 5)),
        ("crop", (10, 7), (4, 4), (4, 4), (0, 0, 0, 0), (1, 0, 8, 7)),  # odd rest: more at the right
        ("crop", (7, 10), (4, 4), (4, 4), (0, 0, 0, 0), (0, 1, 7, 8)),
        ("crop", (1000, 1), (1, 1000), (1, 1000), (0, 0, 0, 0), (499, 0, 500, 1)),
    ],
)
def test_worked_examples(mode: str, frame: Any, size: Any, resized: Any, pad: Any, crop: Any) -> None:
    assert MODES[mode](frame, size) == Geometry(frame, size, resized, pad, crop)


def test_frozen_hashable_plain_ints() -> None:
    g = Geometry.letterbox(np.array([1920, 1080]), [np.int32(640), 640])  # type: ignore[arg-type]
    assert (
        g == Geometry.letterbox((1920, 1080), (640, 640))
        and len({g, Geometry.letterbox((1920, 1080), (640, 640))}) == 1
    )
    for value in dataclasses.astuple(g):
        assert type(value) is tuple and {type(v) for v in value} == {int}
    with pytest.raises(dataclasses.FrozenInstanceError):
        g.frame_wh = (1, 1)  # type: ignore[misc]


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("frame", [(5, 3), (5, 9), (8, 8), (8, 3), (9, 8), (1, 1), (16, 4), (4, 16), (9, 9)])
def test_a_letterbox_without_scaleup_enlarges_nothing(center: bool, frame: tuple[int, int]) -> None:
    """As Ultralytics' LetterBox: the scale is at most 1."""
    width, height = frame
    scale = min(Fraction(8, width), Fraction(8, height), Fraction(1))
    resized = (round(width * scale), round(height * scale))
    left, top = ((8 - resized[0]) // 2, (8 - resized[1]) // 2) if center else (0, 0)
    pad = (left, top, 8 - resized[0] - left, 8 - resized[1] - top)
    made = Geometry.letterbox(frame, (8, 8), center=center, scaleup=False)
    assert made == Geometry(frame, (8, 8), resized, pad, (0, 0, *frame))
    assert (made == Geometry.letterbox(frame, (8, 8), center=center)) == (max(frame) >= 8)


@pytest.mark.parametrize(
    "bad", [(0, 5), (-1, 5), (5,), (5, 5, 5), (5.0, 5), (True, 5), (np.True_, 5), "55", None, 5, (None, 5), (np.nan, 5)]
)
@pytest.mark.parametrize("mode", sorted(MODES))
def test_bad_sizes(mode: str, bad: Any) -> None:
    with pytest.raises(NpuLayoutError, match="frame_wh: expected 2 whole numbers of at least 1, got"):
        MODES[mode](bad, (5, 5))
    with pytest.raises(NpuLayoutError, match="input_wh: expected 2 whole numbers of at least 1, got"):
        MODES[mode]((5, 5), bad)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"resized_wh": (9, 7)}, r"expected input_wh \(12, 14\), got \(12, 13\)"),
        ({"pad_ltrb": (1, 4, 1, 2)}, r"expected input_wh \(12, 14\), got \(11, 14\)"),
        ({"pad_ltrb": (-1, 4, 4, 2)}, "pad_ltrb: expected 4 whole numbers of at least 0"),
        ({"pad_ltrb": (1, 4)}, "pad_ltrb: expected 4 whole numbers of at least 0"),
        ({"crop_xyxy": (3, 2, 21, 13)}, r"inside frame_wh \(20, 15\), got \(3, 2, 21, 13\)"),
        ({"crop_xyxy": (3, 2, 17, 16)}, "crop_xyxy: expected x0 < x1"),
        ({"crop_xyxy": (3, 2, 3, 13)}, "crop_xyxy: expected x0 < x1"),
        ({"crop_xyxy": (3, 9, 17, 2)}, "crop_xyxy: expected x0 < x1"),
        ({"crop_xyxy": (-1, 2, 17, 13)}, "crop_xyxy: expected 4 whole numbers of at least 0"),
        ({"resized_wh": (0, 8)}, "resized_wh: expected 2 whole numbers of at least 1"),
    ],
)
def test_bad_records(change: Any, message: str) -> None:
    with pytest.raises(NpuLayoutError, match=message):
        dataclasses.replace(MIXED, **change)


# --- points and boxes


def in_order(corners: list[Any]) -> list[Any]:
    """The corners of a box: x0 <= x1, y0 <= y1."""
    (x0, x1), (y0, y1) = sorted(corners[::2]), sorted(corners[1::2])
    return [x0, y0, x1, y1]


@pytest.mark.parametrize("name", ["boxes_to_frame", "boxes_to_input"])
def test_boxes_of_another_kind_are_refused(name: str) -> None:
    """x, y, width, height given for corners came out as nonsense."""
    convert = getattr(MIXED, name)
    good = [[1, 2, 3, 4], [5, 5, 5, 5], [np.nan, 1, 0, 2]]
    assert convert(good).shape == (3, 4)
    for wrong, at in (
        ([[1, 2, 3, 4], [200, 5, 30, 40]], "box 1"),
        ([5, 9, 6, 8], "box"),
        ([[[2, 0, 1, 0]]], r"box \(0, 0\)"),
    ):
        with pytest.raises(
            NpuLayoutError, match=f"boxes_xyxy: {at}: expected x0 <= x1 and y0 <= y1, got .*give the corners"
        ):
            convert(wrong)


@given(ANY, st.data())
def test_points_and_boxes_are_the_exact_formula(g: Geometry, data: Any) -> None:
    numbers = st.integers(-5000, 5000)
    values = in_order(data.draw(st.lists(numbers, min_size=4, max_size=4)))
    half = Fraction(1, 2)
    for i, x in enumerate(values):
        edge, back = edge_to_frame(g, i % 2, Fraction(x)), edge_to_input(g, i % 2, Fraction(x))
        centre = edge_to_frame(g, i % 2, x + half) - half
        centre_back = edge_to_input(g, i % 2, x + half) - half
        for got, exact in (
            (g.boxes_to_frame(values)[i], edge),
            (g.boxes_to_input(values)[i], back),
            (g.points_to_frame(np.reshape(values, (2, 2))).flat[i], centre),
            (g.points_to_input(np.reshape(values, (2, 2))).flat[i], centre_back),
        ):
            assert abs(Fraction(float(got)) - exact) <= 4e-15 * max(1, abs(exact), 4000)


@given(ANY, st.lists(st.floats(-0.5, 1.5), min_size=4, max_size=4))
def test_there_and_back(g: Geometry, share: list[float]) -> None:
    share = in_order(share)
    in_frame = np.multiply(share, g.frame_wh * 2)
    in_input = np.multiply(share, g.input_wh * 2)
    tolerance = 1e-6 * max(g.frame_wh)
    np.testing.assert_allclose(g.boxes_to_frame(g.boxes_to_input(in_frame)), in_frame, rtol=0, atol=tolerance)
    np.testing.assert_allclose(g.boxes_to_input(g.boxes_to_frame(in_input)), in_input, rtol=0, atol=tolerance)
    points, other = in_frame.reshape(2, 2), in_input.reshape(2, 2)
    np.testing.assert_allclose(g.points_to_frame(g.points_to_input(points)), points, rtol=0, atol=tolerance)
    np.testing.assert_allclose(g.points_to_input(g.points_to_frame(other)), other, rtol=0, atol=tolerance)


@given(ANY)
def test_the_edges_of_the_parts_correspond_exactly(g: Geometry) -> None:
    left, top, _, _ = g.pad_ltrb
    part = [left, top, left + g.resized_wh[0], top + g.resized_wh[1]]
    assert g.boxes_to_frame(part).tolist() == list(g.crop_xyxy)
    assert g.boxes_to_input(g.crop_xyxy).tolist() == part


@given(SIZE, MODE, st.lists(st.floats(-1e300, 1e300), min_size=4, max_size=4))
def test_a_frame_of_the_input_size_is_left_alone(size: Any, mode: str, values: list[float]) -> None:
    g, values = MODES[mode](size, size), in_order(values)
    for convert in (g.boxes_to_frame, g.boxes_to_input):
        assert convert(values).tolist() == values
    for convert in (g.points_to_frame, g.points_to_input):
        assert convert(np.reshape(values, (2, 2))).ravel().tolist() == values


def test_detections_have_their_boxes() -> None:
    """Ours and supervision's have them as xyxy."""
    g = Geometry.letterbox((640, 480), (320, 320))
    boxes = np.float32([[10, 50, 60, 90]])
    found = SimpleNamespace(xyxy=boxes)
    assert np.array_equal(g.boxes_to_frame(found), g.boxes_to_frame(boxes))
    assert np.array_equal(g.boxes_to_input(found), g.boxes_to_input(boxes))
    found.xyxy = boxes[:, [2, 1, 0, 3]]  # of a network whose sides are negative: no x, y, width, height
    assert np.array_equal(g.boxes_to_frame(found), g.boxes_to_frame(boxes)[:, [2, 1, 0, 3]])
    with pytest.raises(NpuLayoutError, match="expected x0 <= x1"):
        g.boxes_to_frame(found.xyxy)


def test_points_are_half_a_pixel_inside_boxes() -> None:
    points = np.array([[0.0, 0.0], [7.25, 3.5]])
    edges = MIXED.boxes_to_frame((points + 0.5).reshape(4)).reshape(2, 2)
    np.testing.assert_allclose(MIXED.points_to_frame(points), edges - 0.5, rtol=0, atol=1e-12)


@given(ANY, st.data())
def test_points_that_count_as_edges_are_mapped_as_boxes_are(g: Geometry, data: Any) -> None:
    x0, y0, x1, y1 = sorted(data.draw(st.lists(st.integers(-500, 4000), min_size=4, max_size=4)))
    for way in ("to_frame", "to_input"):
        box = getattr(g, f"boxes_{way}")([x0, y0, x1, y1])
        corners = getattr(g, f"points_{way}")([[x0, y0], [x1, y1]], edges=True)
        assert corners.reshape(4).tolist() == box.tolist()


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "int64", "uint8", "uint32", ">f4", ">i2"])
@pytest.mark.parametrize("method", ["points_to_frame", "points_to_input", "boxes_to_frame", "boxes_to_input"])
def test_dtypes_shapes_and_untouched_input(method: str, dtype: str) -> None:
    last = 2 if method.startswith("points") else 4
    values = np.arange(3 * 5 * last).reshape(3, 5, last).astype(dtype)
    values.flags.writeable = False
    before = values.tobytes()
    got = getattr(MIXED, method)(values)
    assert got.dtype == (np.float32 if dtype.endswith(("f4", "float32")) else np.float64)
    assert got.shape == values.shape and values.tobytes() == before and not np.shares_memory(got, values)
    exact = getattr(MIXED, method)(values.astype(np.float64))
    np.testing.assert_array_equal(got, exact.astype(got.dtype))
    np.testing.assert_array_equal(getattr(MIXED, method)(values[::-1, ::2]), got[::-1, ::2])
    np.testing.assert_array_equal(getattr(MIXED, method)(values[0, 0].tolist()), exact[0, 0])
    same = Geometry.stretch((9, 9), (9, 9))
    assert not np.shares_memory(getattr(same, method)(values), values)
    for empty in (np.zeros((0, last), dtype), np.zeros((2, 0, last), dtype)):
        assert getattr(MIXED, method)(empty).shape == empty.shape
    assert getattr(MIXED, method)([]).shape == (0, last)


def test_nan_and_infinity_pass() -> None:
    nan, inf = math.nan, math.inf
    got = MIXED.points_to_frame([[nan, 1], [inf, -inf]])
    assert np.isnan(got[0, 0]) and got[0, 1] == MIXED.points_to_frame([0, 1])[1] and got[1].tolist() == [inf, -inf]
    clipped = MIXED.boxes_to_frame([nan, -inf, inf, nan], clip=True)
    assert np.isnan(clipped[[0, 3]]).all() and clipped[1:3].tolist() == [0, 20]
    assert MIXED.boxes_to_frame(np.full(4, 3e38, np.float32)).tolist() == [inf] * 4


def test_clip() -> None:
    far = [[-50, -60, 70, 80], [1, 4, 10, 12]]
    assert MIXED.boxes_to_frame(far)[0].min() < 0
    assert MIXED.boxes_to_frame(far, clip=True).tolist() == [[0, 0, 20, 15], [3, 2, 17, 13]]
    assert MIXED.boxes_to_input(far, clip=True)[0].tolist() == [0, 0, 12, 14]
    padding = Geometry.letterbox((20, 10), (10, 10)).boxes_to_frame([0, 0, 10, 10], clip=True)
    assert padding.tolist() == [0, 0, 20, 10]


@pytest.mark.parametrize(
    "bad",
    [
        [1, 2, 3],
        np.zeros((4, 3)),
        5,
        None,
        [[1, 2], [3]],
        [1j, 2],
        ["1", "2"],
        [True, False],
        np.zeros((0, 3)),
        np.zeros((2, 2), object),
        np.zeros(2, "M8[s]"),
        np.zeros((2, 0)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("method", ["points_to_frame", "points_to_input", "boxes_to_frame", "boxes_to_input"])
def test_bad_points_and_boxes(method: str, bad: Any) -> None:
    name, last = ("points_xy", 2) if method.startswith("points") else ("boxes_xyxy", 4)
    with pytest.raises(NpuLayoutError, match=rf"{name}: expected integers or floats of shape \(\.\.\., {last}\), got "):
        getattr(MIXED, method)(bad)


# --- against OpenCV


@pytest.mark.parametrize("interpolation", ["INTER_LINEAR", "INTER_CUBIC", "INTER_AREA", "INTER_NEAREST_EXACT"])
@pytest.mark.parametrize(
    ("mode", "frame", "size"),
    [
        ("letterbox", (640, 360), (160, 160)),
        ("letterbox", (97, 61), (368, 368)),
        ("letterbox_top_left", (97, 61), (368, 368)),
        ("letterbox_top_left", (301, 400), (224, 224)),
        ("letterbox", (301, 400), (224, 224)),
        ("letterbox", (50, 70), (50, 91)),
        ("stretch", (640, 360), (128, 144)),
        ("stretch", (60, 33), (301, 200)),
        ("crop", (640, 360), (128, 144)),
        ("crop", (60, 90), (301, 200)),
    ],
)
def test_a_blob_comes_back_to_where_it_was(mode: str, frame: Any, size: Any, interpolation: str) -> None:
    g = MODES[mode](frame, size)
    x0, y0, x1, y1 = g.crop_xyxy
    centre = np.array([x0 + 0.4 * (x1 - x0), y0 + 0.55 * (y1 - y0)])
    sigma = max(2.0, 0.8 * (x1 - x0) / g.resized_wh[0], 0.8 * (y1 - y0) / g.resized_wh[1])
    xs, ys = np.arange(frame[0])[None, :], np.arange(frame[1])[:, None]
    image = np.exp(-((xs - centre[0]) ** 2 + (ys - centre[1]) ** 2) / (2 * sigma**2)).astype(np.float32)
    left, top, right, bottom = g.pad_ltrb
    small = cv2.resize(image[y0:y1, x0:x1], g.resized_wh, interpolation=getattr(cv2, interpolation))
    small = cv2.copyMakeBorder(small, top, bottom, left, right, cv2.BORDER_CONSTANT, value=(0,))
    weights = small.astype(np.float64)
    total = weights.sum()
    centroid = [
        (weights * np.arange(size[0])[None, :]).sum() / total,
        (weights * np.arange(size[1])[:, None]).sum() / total,
    ]
    assert small.shape == (size[1], size[0])
    tolerance = 0.5 if interpolation == "INTER_NEAREST_EXACT" else 0.05
    assert np.abs(g.points_to_frame(centroid) - centre).max() <= tolerance + 1e-3
    assert np.abs(g.points_to_input(centre) - centroid).max() <= tolerance * max(
        1, size[0] / (x1 - x0), size[1] / (y1 - y0)
    )


@pytest.mark.parametrize("mode", ["letterbox", "stretch"])
@pytest.mark.parametrize(("frame", "size"), [((64, 48), (96, 96)), ((64, 48), (40, 40)), ((37, 53), (80, 64))])
def test_a_dot_and_its_edges(mode: str, frame: Any, size: Any) -> None:
    """One bright pixel through INTER_AREA: its box holds all of the light, its point is the middle of it."""
    g = MODES[mode](frame, size)
    image = np.zeros((frame[1], frame[0]), np.float32)
    image[30, 21] = 1
    left, top, right, bottom = g.pad_ltrb
    small = cv2.resize(image, g.resized_wh, interpolation=cv2.INTER_AREA)
    small = cv2.copyMakeBorder(small, top, bottom, left, right, cv2.BORDER_CONSTANT, value=(0,))
    rows, columns = np.nonzero(small > 1e-6)
    lit = np.array([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
    box = g.boxes_to_input([21, 30, 22, 31])
    assert (np.abs(lit - box) < 1 + 1e-9).all()
    middle = [(small.sum(axis=axis) * np.arange(size[axis])).sum() / small.sum() for axis in range(2)]
    assert np.abs(g.points_to_frame(middle) - (21, 30)).max() < 0.5


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


def test_geometry_needs_no_opencv() -> None:
    code = (
        "import sys, numpy as np; from npu_layout.frames.geometry import Geometry; "
        "g = Geometry.letterbox((9, 5), (4, 4)); g.mask_to_frame(np.ones((4, 4)), interpolation='linear'); "
        "print(sorted({'cv2', 'onnxruntime'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_columns_that_are_too_many_are_named() -> None:
    with pytest.raises(NpuLayoutError, match=r"got float64 of shape \(3, 17, 3\); if .* give points_xy\[..., :2\]"):
        MIXED.points_to_frame(np.zeros((3, 17, 3)))
    with pytest.raises(NpuLayoutError, match=r"give boxes_xyxy\[..., :4\]"):
        MIXED.boxes_to_frame(np.zeros((3, 6)))
    with pytest.raises(NpuLayoutError, match=r"got float64 of shape \(3, 1\)$"):
        MIXED.points_to_frame(np.zeros((3, 1)))
