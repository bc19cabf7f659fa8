"""Buffers that hold one colour, or in a part what was in them before; and pictures that are neither."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from tests.support.input_bench import FRAMES, SIDE, Bench

CASES = [("unit", "float32", "walk"), ("plain", "uint8", "walk"), ("imagenet", "int8", "texture")]
ANY = pytest.mark.parametrize("case", CASES, ids="-".join)


def stored(bench: Bench, noise: float = 0.0) -> list[np.ndarray]:
    rng, made = np.random.default_rng(5), [bench.pixels(frame).astype(np.float64) for frame in bench.frames]
    return [bench.stored(np.rint(np.clip(x + rng.normal(0, noise, x.shape), 0, 255))) for x in made]


@ANY
@pytest.mark.parametrize(
    ("colour", "name"), [(0, "black"), (255, "white"), (77, "pixel values of 77"), ((10, 60, 200), "[10, 60, 200]")]
)
def test_one_colour_is_named(case: tuple[str, str, str], colour: Any, name: str) -> None:
    """Of the whole buffer, or of the picture in its border."""
    bench = Bench(*case)
    step = 1 if case[1] != "int8" else 2
    blank = np.zeros((1, 3, SIDE, SIDE)) + np.reshape(colour, (-1, 1, 1))
    for rows in (slice(0, SIDE), slice(12, 84)):
        pixels = np.full((1, 3, SIDE, SIDE), 114.0)
        pixels[:, :, rows] = blank[:, :, rows]
        found = bench.judged([bench.stored(pixels) for _ in bench.frames])
        assert found.verdict == "preprocessing" and found.fix is None, str(found)
        assert "it is one colour, " in found.why and "the picture is in the buffer" in found.why, str(found)
        assert name in found.why or step > 1, str(found)


@pytest.mark.parametrize("case", [("unit", "float32", "dim"), ("plain", "uint8", "dim")], ids="-".join)
def test_black_is_no_gamma_of_a_dim_picture(case: tuple[str, str, str]) -> None:
    found = Bench(*case).of_frames(lambda x: x * 0)
    assert "it is one colour, black." in found.why and found.verdict == "preprocessing", str(found)


def test_zeros_are_no_black_if_the_mean_is_subtracted() -> None:
    bench = Bench("imagenet", "float32", "walk")
    found = bench.judged([np.zeros_like(x) for x in stored(bench)])
    assert "it is one colour, zeros." in found.why, str(found)


def test_a_camera_that_sees_one_colour_is_no_unfilled_buffer() -> None:
    bench = Bench("unit", "float32", "walk")
    bench.frames = [np.full_like(frame, 60) for frame in FRAMES["walk"]]
    found = bench.of_frames(lambda x: x + 40)
    assert "belongs" not in found.why, str(found)


@ANY
@pytest.mark.parametrize("noise", [0.0, 2.0])
@pytest.mark.parametrize("share", [0.41, 0.6])
def test_the_rest_of_a_buffer_is_of_an_earlier_frame(case: tuple[str, str, str], share: float, noise: float) -> None:
    """In the order of the buffer: of planes, a half of the second one may be the first that is not written."""
    bench = Bench(*case)
    bench.frames = [np.roll(frame, 60 * i, 1) for i, frame in enumerate(bench.frames)]
    buffers = stored(bench, noise)
    at = int(share * buffers[0].size)
    torn = [buffers[0], *(np.concatenate([x.ravel()[:at], buffers[0].ravel()[at:]]) for x in buffers[1:])]
    found = bench.judged(torn)
    assert (found.verdict, found.fix) == ("wrong_input", None), str(found)
    planar, row = case[1] == "float32", at // SIDE
    expected = f"from row {row % SIDE} of channel {row // SIDE} on" if planar else f"from row {at // (3 * SIDE)} on"
    near = f"from row {row % SIDE + 1} of channel {row // SIDE} on" if planar else f"from row {at // (3 * SIDE) + 1} on"
    assert expected in found.why or near in found.why, str(found)
    assert "it holds what frame 0 left in it" in found.why and "before all of it is written" in found.why, str(found)


@ANY
@pytest.mark.parametrize("first", [True, False])
def test_a_part_of_the_picture_is_black(case: tuple[str, str, str], first: bool) -> None:
    bench = Bench(*case)
    pixels = [bench.pixels(frame).astype(np.float64) for frame in bench.frames]
    for x in pixels:
        x[:, :, slice(12, 45) if first else slice(50, 84)] = 0
    found = bench.judged([bench.stored(np.rint(x)) for x in pixels])
    assert (found.verdict, found.fix) == ("preprocessing", None), str(found)
    where = "before row 45" if first else "from row 50 on"
    assert f"a part of it is, but {where} it holds one colour, black" in found.why, str(found)


def test_of_several_frames_each_is_said_that_is_torn_in_another_way() -> None:
    """Where the first buffer was never filled before, the rest of it is black; then it holds the frame before."""
    bench = Bench("plain", "uint8", "walk")
    bench.frames = [np.roll(frame, 60 * i, 1) for i, frame in enumerate(bench.frames)]
    buffers = stored(bench)
    row = 3 * SIDE

    def cut(x: np.ndarray, rest: np.ndarray, rows: int) -> np.ndarray:
        return np.concatenate([x.ravel()[: rows * row], rest.ravel()[rows * row :]])

    black = [cut(buffers[0], np.zeros_like(buffers[0]), 52), *buffers[1:]]
    found = bench.judged(black)
    assert found.verdict == "preprocessing" and ", but in frame 0, from row 52 on it holds one colour, " in found.why
    assert "in frame" not in bench.judged([cut(x, np.zeros_like(x), 52) for x in buffers]).why
    both = [black[0], *(cut(x, before, 60) for x, before in zip(buffers[1:], buffers))]
    found = bench.judged(both)
    assert found.verdict == "wrong_input" and "in frame 0, from row 52 on it holds one colour, black; in " in found.why
    others = [k for k in range(1, len(buffers)) if f"what frame {k - 1} left in it" in found.why]
    assert others and all(f"in frame {k}, from row 60 on it holds what frame {k - 1} left" in found.why for k in others)


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_where_little_moves_a_part_of_the_frame_before_is_not_all_of_it(noise: float) -> None:
    """All of the frame before explains more than half of what differs; and if it is all of it, it is no part."""
    bench, rng = Bench("unit", "float32", "walk"), np.random.default_rng(5)
    made = [bench.pixels(frame).astype(np.float64) for frame in bench.frames]
    part = [x if i == 0 else np.concatenate([x[:, :, :50], made[i - 1][:, :, 50:]], 2) for i, x in enumerate(made)]
    for pixels, words in ((part, "from row 5"), ([made[0], *made[:-1]], "what the camera's previous frame makes")):
        noisy = [np.rint(np.clip(x + rng.normal(0, noise, x.shape), 0, 255)) for x in pixels]
        found = bench.judged([bench.stored(x) for x in noisy])
        assert found.verdict == "wrong_input" and words in found.why, str(found)


def test_a_tear_is_no_resize_of_ones_own() -> None:
    """Which may change small pictures by more than the frame before does."""
    bench = Bench("unit", "float32", "walk")
    bench.spec = nl.TensorSpec((1, 1, 64, 64), "NCHW", "uint8")
    bench.how = {"color": "GRAY", "source": "BGR", "resize": "letterbox"}
    make = nl.Preprocessor(bench.spec, **bench.how)
    buffers = [make(frame)[0].copy() for frame in bench.frames]
    at = 33 * 64
    torn = [buffers[0], *(np.concatenate([x.ravel()[:at], buffers[0].ravel()[at:]]) for x in buffers[1:])]
    found = bench.judged([x.reshape(buffers[0].shape) for x in torn])
    assert found.verdict == "wrong_input" and "from row 3" in found.why and "what frame 0 left" in found.why, str(found)


def test_a_part_that_another_frame_explains_hardly_better_is_not_its() -> None:
    """The lower half is darker and has noise; the scene becomes lighter from frame to frame."""
    bench, rng = Bench("plain", "uint8", "texture"), np.random.default_rng(3)
    still = bench.frames[0].astype(np.float64)
    bench.frames = [np.clip(still + i, 0, 255).astype(np.uint8) for i in range(5)]
    made = [bench.pixels(frame).astype(np.float64) for frame in bench.frames]
    for x in made:
        x[:, :, 50:84] += rng.normal(-3, 2.9, x[:, :, 50:84].shape)
    found = bench.judged([bench.stored(np.rint(np.clip(x, 0, 255))) for x in made])
    assert "left in it" not in found.why, str(found)


def test_buffers_of_nan_are_no_colour() -> None:
    bench = Bench("unit", "float32", "walk")
    found = bench.judged([np.full_like(x, np.nan) for x in stored(bench)])
    assert not found and "one colour" not in found.why, str(found)


def _zoomed(x: np.ndarray) -> np.ndarray:
    """Fixed at the top: what differs grows from row to row."""
    return cv2.resize(x, (x.shape[1], int(1.1 * len(x))))[: len(x)]


@ANY
def test_other_changes_are_no_tear(case: tuple[str, str, str]) -> None:
    for change in (_zoomed, lambda x: cv2.GaussianBlur(x, (0, 0), 3), lambda x: 255 - x, lambda x: np.roll(x, 40, 0)):
        found = Bench(*case).of_frames(change)
        assert "a part of it" not in found.why and "one colour" not in found.why, str(found)
