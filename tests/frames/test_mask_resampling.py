"""Masks against a loop over pixels in fractions, and OpenCV's resize."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from npu_layout.errors import NpuLayoutError
from npu_layout.frames import mask_resampling
from npu_layout.frames.geometry import MODES, Geometry
from tests.support.geometries import MIXED, MODE, SIZE, SMALL, edge_to_frame, edge_to_input, geometries


def nearest_oracle(g: Geometry, mask: np.ndarray, to_frame: bool) -> np.ndarray:
    size, other = (g.frame_wh, g.input_wh) if to_frame else (g.input_wh, g.frame_wh)
    back = edge_to_input if to_frame else edge_to_frame
    left, top, right, bottom = g.pad_ltrb
    inside = g.crop_xyxy if to_frame else (left, top, g.input_wh[0] - right, g.input_wh[1] - bottom)
    result = np.zeros((size[1], size[0], *mask.shape[2:]), mask.dtype)
    for y in range(inside[1], inside[3]):
        for x in range(inside[0], inside[2]):
            u = back(g, 0, x + Fraction(1, 2)) * Fraction(mask.shape[1], other[0])
            v = back(g, 1, y + Fraction(1, 2)) * Fraction(mask.shape[0], other[1])
            result[y, x] = mask[math.floor(v), math.floor(u)]
    return result


def linear_oracle(g: Geometry, mask: np.ndarray, to_frame: bool) -> np.ndarray:
    size, other = (g.frame_wh, g.input_wh) if to_frame else (g.input_wh, g.frame_wh)
    back = edge_to_input if to_frame else edge_to_frame
    left, top, right, bottom = g.pad_ltrb
    in_input = (left, top, g.input_wh[0] - right, g.input_wh[1] - bottom)
    inside, source = (g.crop_xyxy, in_input) if to_frame else (in_input, g.crop_xyxy)

    def taps(axis: int, pixel: int) -> list[tuple[int, float]]:
        cells = mask.shape[1 - axis]
        scale = Fraction(cells, other[axis])
        position = back(g, axis, pixel + Fraction(1, 2)) * scale - Fraction(1, 2)
        half = Fraction(1, 2)
        held = [i for i in range(cells) if source[axis] * scale <= i + half <= source[axis + 2] * scale]
        floor = math.floor(position)
        weight = float(position - floor)
        if not held:  # no cell centre in the part: the cells around it
            held = [i for i in (math.floor(source[axis] * scale - half), math.ceil(source[axis] * scale - half))]
            held = [min(max(i, 0), cells - 1) for i in held]
        low, high = (min(max(i, held[0]), held[-1]) for i in (floor, floor + 1))
        return [(i, share) for i, share in ((low, 1 - weight), (high, weight)) if share]  # 0 * inf is NaN

    result = np.zeros((size[1], size[0], *mask.shape[2:]))
    for y in range(inside[1], inside[3]):
        for x in range(inside[0], inside[2]):
            for row, a in taps(1, y):
                for column, b in taps(0, x):
                    result[y, x] += a * b * mask[row, column].astype(np.float64)
    return result


SMALL_GEOMETRY = st.one_of(
    geometries(SMALL), st.builds(lambda mode, frame, size: MODES[mode](frame, size), MODE, SMALL, SMALL)
)


def random_mask(data: Any, size_wh: Any, dtype: str) -> np.ndarray:
    whole = data.draw(st.booleans())
    width, height = size_wh if whole else data.draw(SMALL)
    channels = data.draw(st.sampled_from([(), (1,), (3,)]))
    values = np.random.default_rng(data.draw(st.integers(0, 2**32))).integers(0, 255, (height, width, *channels))
    return (values > 127) if dtype == "bool" else values.astype(dtype)


@given(SMALL_GEOMETRY, st.booleans(), st.sampled_from(["bool", "uint8", "float32", "int64", "float16"]), st.data())
def test_nearest_mask_is_the_floor_of_the_exact_position(g: Geometry, to_frame: bool, dtype: str, data: Any) -> None:
    mask = random_mask(data, g.input_wh if to_frame else g.frame_wh, dtype)
    before = mask.copy()
    mask.flags.writeable = False
    got = (g.mask_to_frame if to_frame else g.mask_to_input)(mask)
    assert got.dtype == mask.dtype and got.flags.c_contiguous and not np.shares_memory(got, mask)
    np.testing.assert_array_equal(got, nearest_oracle(g, mask, to_frame))
    np.testing.assert_array_equal(mask, before)


@given(SMALL_GEOMETRY, st.booleans(), st.sampled_from(["bool", "uint8", "float32", "int32", "float64"]), st.data())
def test_linear_mask(g: Geometry, to_frame: bool, dtype: str, data: Any) -> None:
    mask = random_mask(data, g.input_wh if to_frame else g.frame_wh, dtype)
    got = (g.mask_to_frame if to_frame else g.mask_to_input)(mask, interpolation="linear")
    exact = linear_oracle(g, mask, to_frame)
    assert got.dtype == mask.dtype and got.shape == exact.shape
    if dtype == "bool":
        clear = np.abs(exact - 0.5) > 1e-5
        np.testing.assert_array_equal(got[clear], exact[clear] > 0.5)
    else:
        slack = 0.5 if dtype in ("uint8", "int32") else 0
        assert np.abs(got.astype(np.float64) - exact).max() <= slack + (1e-9 if dtype == "float64" else 2e-4)


@given(st.sampled_from(["letterbox", "stretch"]), SMALL, SMALL, st.integers(0, 2**32))
def test_linear_mask_is_a_resize_of_the_part_without_padding(mode: str, frame: Any, size: Any, seed: int) -> None:
    g = MODES[mode](frame, size)
    mask = np.random.default_rng(seed).random((size[1], size[0]), np.float32)
    left, top, _, _ = g.pad_ltrb
    part = np.ascontiguousarray(mask[top : top + g.resized_wh[1], left : left + g.resized_wh[0]])
    expected = cv2.resize(part, frame, interpolation=cv2.INTER_LINEAR)
    np.testing.assert_allclose(g.mask_to_frame(mask, interpolation="linear"), expected, rtol=0, atol=1e-5)


def test_a_network_grid_covers_the_whole_input() -> None:
    """A 46x46 map over 368x368 with padding of 82 pixels, 10.25 cells: its peak lands where the point does."""
    g = Geometry.letterbox((640, 354), (368, 368))
    rows, columns = np.mgrid[:46, :46]
    heat = np.exp(-((columns - 30) ** 2 + (rows - 20) ** 2) / 4).astype(np.float32)
    cell_centre = [(30 + 0.5) * 8 - 0.5, (20 + 0.5) * 8 - 0.5]
    expected = g.points_to_frame(cell_centre)
    for interpolation, tolerance in (("nearest", 0.51 * 8 * 640 / 368), ("linear", 1.0)):
        full = g.mask_to_frame(heat, interpolation=interpolation)
        assert full.shape == (354, 640)
        rows_at, columns_at = np.nonzero(full == full.max())
        peak = np.array([columns_at.mean(), rows_at.mean()])
        assert np.abs(peak - expected).max() <= tolerance
    stack = np.stack([heat, heat * 2], axis=-1)
    np.testing.assert_array_equal(g.mask_to_frame(stack)[..., 1], g.mask_to_frame(heat * 2))


def test_padding_and_the_rest_of_the_frame_are_zero() -> None:
    ones = np.ones((14, 12), np.uint8)
    for interpolation in ("nearest", "linear"):
        frame = MIXED.mask_to_frame(ones, interpolation=interpolation)
        assert frame[2:13, 3:17].all() and frame.sum() == 11 * 14
        back = MIXED.mask_to_input(frame, interpolation=interpolation)
        assert back[4:12, 1:10].all() and back.sum() == 8 * 9


def test_padding_never_bleeds_into_a_linear_mask() -> None:
    g = Geometry.letterbox((20, 10), (10, 10))
    mask = np.full((10, 10), np.nan, np.float32)
    mask[2:7] = 3  # rows 2 to 6 hold the frame
    assert (g.mask_to_frame(mask, interpolation="linear") == 3).all()


@given(st.one_of(st.tuples(MODE, SMALL), st.just(("stretch", (1, 1)))), st.booleans())
def test_masks_of_an_identity(mode_size: Any, linear: bool) -> None:
    mode, size = mode_size
    g = MODES[mode](size, size)
    mask = np.random.default_rng(1).random((size[1], size[0]), np.float32)
    for convert in (g.mask_to_frame, g.mask_to_input):
        got = convert(mask, interpolation="linear" if linear else "nearest")
        np.testing.assert_array_equal(got, mask)
        assert not np.shares_memory(got, mask)


@given(MODE, SMALL, st.integers(1, 5))
def test_an_enlarged_mask_comes_back_unchanged(mode: str, frame: Any, factor: int) -> None:
    g = MODES[mode](frame, (frame[0] * factor, frame[1] * factor))
    mask = np.random.default_rng(factor).random((frame[1], frame[0])) > 0.5
    np.testing.assert_array_equal(g.mask_to_frame(g.mask_to_input(mask)), mask)


def test_a_mask_goes_there_and_back() -> None:
    g = nl.Geometry.letterbox((64, 48), (128, 128))
    mask = np.random.default_rng(3).random((48, 64)) > 0.5
    np.testing.assert_array_equal(g.mask_to_frame(g.mask_to_input(mask)), mask)
    smooth = cv2.GaussianBlur(mask.astype(np.float32), (0, 0), 3)
    back = g.mask_to_frame(g.mask_to_input(smooth, interpolation="linear"), interpolation="linear")
    assert np.abs(back - smooth).max() < 0.02
    assert g.mask_to_input(np.ones((48, 64, 2), np.uint8)).shape == (128, 128, 2)


@given(MODE, SIZE, SIZE, st.data())
def test_nearest_masks_at_full_size(mode: str, frame: Any, size: Any, data: Any) -> None:
    """One line of cells each way, so that any size is cheap; every pixel of the longest side is checked."""
    axis = data.draw(st.integers(0, 1))
    frame = tuple(n if a == axis else 1 for a, n in enumerate(frame))
    size = tuple(n if a == axis else 1 for a, n in enumerate(size))
    g = MODES[mode](frame, size)
    mask = np.arange(1, size[axis] + 1, dtype=np.int32).reshape(size[1], size[0])
    got = g.mask_to_frame(mask).ravel()
    start, stop = g.crop_xyxy[axis], g.crop_xyxy[axis + 2]
    for i in range(frame[axis]):
        inside = start <= i < stop
        assert got[i] == (1 + math.floor(edge_to_input(g, axis, i + Fraction(1, 2))) if inside else 0)


def test_sizes_beyond_int64_are_exact() -> None:
    g = Geometry.stretch((3 * 10**16, 1), (7, 1))
    mask = np.arange(1000)[None]
    expected = [math.floor(Fraction(2 * i + 1, 14) * 1000) for i in range(7)]
    assert g.mask_to_input(mask)[0].tolist() == expected
    smooth = g.mask_to_input(mask.astype(float), interpolation="linear")[0]
    np.testing.assert_allclose(smooth, [(2 * i + 1) / 14 * 1000 - 0.5 for i in range(7)], rtol=1e-12)


def test_linear_integers_keep_their_range() -> None:
    g = Geometry.stretch((31, 7), (5, 3))
    for dtype in (np.uint8, np.int8, np.uint16, np.int32, np.uint32):
        for end in (np.iinfo(dtype).min, np.iinfo(dtype).max):
            mask = np.full((3, 5), end, dtype)
            assert (g.mask_to_frame(mask, interpolation="linear") == end).all()


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros(5),
        np.zeros((0, 5)),
        np.zeros((5, 5, 0)),
        np.zeros((1, 5, 5, 3)),
        np.zeros((5, 5), complex),
        np.full((5, 5), "a"),
        None,
        [[1, 2], [3]],
        7,
    ],
    ids=lambda bad: f"{type(bad).__name__}{getattr(bad, 'shape', '')}",
)
@pytest.mark.parametrize("method", ["mask_to_frame", "mask_to_input"])
def test_bad_masks(method: str, bad: Any) -> None:
    with pytest.raises(NpuLayoutError, match=r"mask: expected a non-empty array \(H, W\) or \(H, W, C\)"):
        getattr(MIXED, method)(bad)


def test_bad_interpolation() -> None:
    with pytest.raises(NpuLayoutError, match="interpolation: expected nearest or linear, got 'cubic'"):
        MIXED.mask_to_frame(np.zeros((2, 2)), interpolation="cubic")
    with pytest.raises(NpuLayoutError, match="integers of at most 32 bits, got int64"):
        MIXED.mask_to_input(np.zeros((2, 2), np.int64), interpolation="linear")


def test_masks_may_be_lists_and_views() -> None:
    mask = np.arange(14 * 12, dtype=np.uint8).reshape(14, 12)
    turned = np.asfortranarray(mask)
    np.testing.assert_array_equal(MIXED.mask_to_frame(mask.tolist()), MIXED.mask_to_frame(mask))
    for view in (turned, np.repeat(mask, 2, axis=1)[:, ::2], mask[::-1][::-1]):
        np.testing.assert_array_equal(MIXED.mask_to_frame(view), MIXED.mask_to_frame(mask))
        np.testing.assert_array_equal(
            MIXED.mask_to_frame(view, interpolation="linear"), MIXED.mask_to_frame(mask, interpolation="linear")
        )


@pytest.mark.parametrize("method", ["mask_to_frame", "mask_to_input"])
def test_a_leading_axis_of_one_is_no_row(method: str) -> None:
    square = Geometry.letterbox((64, 64), (32, 32))
    for shape, advice in (((1, 16, 16), r"give mask\[0\]"), ((1, 1, 16, 16), r"give mask\[0, 0\]")):
        with pytest.raises(NpuLayoutError, match=advice):
            getattr(square, method)(np.zeros(shape, np.uint8))
    for shape in ((1, 16, 15), (1, 7, 7), (2, 16, 15), (1, 16, 1)):  # rows, columns, channels
        assert getattr(square, method)(np.zeros(shape, np.uint8)).shape[2:] == shape[2:]


@pytest.mark.parametrize("method", ["mask_to_frame", "mask_to_input"])
def test_masks_before_rows_and_columns_are_refused(method: str) -> None:
    g = Geometry.stretch((80, 60), (160, 120))  # both 4 to 3
    with pytest.raises(
        nl.NpuLayoutError, match=r"\(5, 12, 16\), which has the proportions .* or mask\.transpose\(1, 2, 0\)"
    ):
        getattr(g, method)(np.zeros((5, 12, 16), np.uint8))
    width, height = g.frame_wh if method == "mask_to_frame" else g.input_wh
    for shape in ((12, 16, 5), (9, 12, 16), (12, 16, 12), (5, 3, 4)):  # C behind; both; few rows of a small map
        assert getattr(g, method)(np.zeros(shape, np.uint8)).shape == (height, width, shape[2])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("to_frame", [True, False])
@pytest.mark.filterwarnings("error")
def test_linear_masks_of_values_without_a_difference(dtype: str, to_frame: bool) -> None:
    """A pixel is NaN only if a cell that has a part in it is, or two that are infinite do not agree."""
    rng = np.random.default_rng(3)
    most = float(np.finfo(dtype).max)
    for trial in range(60):
        frame, size = ((int(n) for n in rng.integers(1, 9, 2)) for _ in range(2))
        g = MODES[list(MODES)[trial % len(MODES)]]((*frame,), (*size,))  # type: ignore[arg-type]
        shape = (g.input_wh if to_frame else g.frame_wh)[::-1]
        mask = rng.choice([-np.inf, np.inf, np.nan, most, -most, 1.0], shape, p=[0.3, 0.1, 0.05, 0.15, 0.1, 0.3])
        mask = (np.full(shape, -np.inf) if trial == 0 else mask).astype(dtype)
        got = (g.mask_to_frame if to_frame else g.mask_to_input)(mask, interpolation="linear")
        with np.errstate(invalid="ignore"):
            exact = linear_oracle(g, mask, to_frame)
        assert got.dtype == dtype and got.shape == exact.shape
        np.testing.assert_allclose(got.astype(np.float64), exact, rtol=2e-3, atol=most * 1e-5)


@pytest.mark.parametrize("frame, cells, rows", [((1920, 1080), (513, 513), 289), ((64, 48), (512, 512), 48)])
def test_columns_are_taken_of_few_rows(monkeypatch: pytest.MonkeyPatch, frame: Any, cells: Any, rows: int) -> None:
    """Each of their elements is copied by itself, where rows are copied as a whole."""
    taken: list[tuple[int, int]] = []

    class Watched:
        def __getattr__(self, name: str) -> Any:
            return getattr(np, name)

        def take(self, array: np.ndarray, indices: np.ndarray, axis: int) -> np.ndarray:
            taken.append((axis, len(array)))
            return np.take(array, indices, axis=axis)

    monkeypatch.setattr(mask_resampling, "np", Watched())
    mask = np.zeros(cells[::-1], np.uint8)
    assert Geometry.letterbox(frame, cells).mask_to_frame(mask).shape == frame[::-1]
    assert [count for axis, count in taken if axis == 1] == [rows]
