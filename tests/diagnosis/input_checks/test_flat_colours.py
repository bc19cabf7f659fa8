"""Other colours differ where a picture is flat; another resize, and noise, do not."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.input_checks.flat_colours import colour_difference
from npu_layout.diagnosis.input_checks.input_check import recorded_inputs
from npu_layout.diagnosis.input_checks.input_pairs import InputPair

SIDE = 40
SPEC = nl.TensorSpec((1, 3, SIDE, SIDE))


def picture(seed: int) -> np.ndarray:
    """Flat areas of many colours, with fine stripes between them; 8-bit BGR."""
    rng, large = np.random.default_rng(seed), np.zeros((320, 320, 3), np.uint8)
    for y in range(0, 320, 64):
        for x in range(0, 320, 64):
            large[y : y + 64, x : x + 64] = rng.integers(30, 226, 3)
    large[::2, 160:220] = rng.integers(0, 256, 3)
    return large


FRAMES = [picture(seed) for seed in range(3)]


def made(frame: np.ndarray, **change: Any) -> np.ndarray:
    return nl.Preprocessor(SPEC, **{"std": 255, **change})(frame)[0]


def difference(recorded: list[np.ndarray]) -> float:
    pairs = [InputPair(SPEC, dict(enumerate(FRAMES)), i, x, {"std": 255}) for i, x in enumerate(recorded)]
    formulas = [[made(f, interpolation=how) for how in ("linear", "area", "nearest")] for f in FRAMES]
    return colour_difference(pairs, [made(f) for f in FRAMES], recorded, formulas)


def test_a_function_of_the_colour_is_measured() -> None:
    other = np.array([[0.8, 0.1, 0.1], [0.05, 0.9, 0.05], [0, 0.2, 0.8]], np.float32)
    recorded = [np.einsum("cd,ndhw->nchw", other, made(f)) for f in FRAMES]
    whole = np.sqrt(np.mean([np.square(255 * (x - made(f))) for x, f in zip(recorded, FRAMES)]))
    assert 0.7 * whole < difference(recorded) < 1.3 * whole
    brighter = [made(f) + np.float32(5 / 255) for f in FRAMES]
    assert difference(brighter) == pytest.approx(5, abs=0.01)
    for odd, x in zip((np.nan, np.inf, -np.inf), brighter):
        x[..., 3:9, 3:9] = odd
    assert difference(brighter) == pytest.approx(5, abs=0.01)


def test_formulas_and_noise_are_none() -> None:
    rng = np.random.default_rng(0)
    for how in ("area", "cubic", "nearest"):
        assert difference([made(f, interpolation=how) for f in FRAMES]) < 0.5
    for sigma in (1, 4):
        noisy = [(made(f) + sigma / 255 * rng.standard_normal(SPEC.shape)).astype(np.float32) for f in FRAMES]
        assert difference(noisy) < 0.25 * sigma


def test_nothing_is_known_of_pictures_whose_blocks_are_moved_by_other_resizes() -> None:
    rng = np.random.default_rng(0)
    large = rng.integers(0, 2, (80, 80, 3)).astype(np.uint8) * 255  # an eighth of the input's pixels is one of these
    frame = np.ascontiguousarray(large.repeat(4, 0).repeat(4, 1))
    x = made(frame)
    pair = InputPair(SPEC, {0: frame}, 0, x + 1, {"std": 255})
    assert colour_difference([pair], [x], [x + 1], [[x, made(frame[4:, 4:])]]) == 0


NOISE = nl.TensorSpec((1, 3, 96, 128))


def grain(seed: int, sigma: float) -> np.ndarray:
    """Areas of many colours with a camera's noise everywhere, so that nothing is flat."""
    rng = np.random.default_rng(seed)
    areas = rng.integers(50, 190, (6, 8, 3)).astype(np.uint8).repeat(40, 0).repeat(40, 1)
    return np.clip(areas + rng.normal(0, sigma, areas.shape), 0, 255).astype(np.uint8)


MIXED = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.1, 0.3, 0.6]], np.float32)  # no mean and std make it


@pytest.mark.parametrize("sigma", [10, 20])
@pytest.mark.parametrize("count", [1, 3])
def test_other_colours_of_noisy_pictures(count: int, sigma: float) -> None:
    """Interpolations differ by as much as the colours do, but not in the means of blocks."""
    frames = [grain(seed, sigma) for seed in range(count)]
    own = nl.Preprocessor(NOISE, std=255)

    def found(change: Any) -> Any:
        runs = [({"image": change(own(frame)[0], frame), "frame": frame}, {}) for frame in frames]
        return recorded_inputs(nl.Recording({}, runs, {"preprocess": {"std": 255, "mean": 0}})).reports["image"]

    other = found(lambda x, _: np.einsum("cd,ndhw->nchw", MIXED, x))
    assert other.verdict == "preprocessing" and "no known change" in other.why, str(other)
    assert sigma == 10 or "its colours are others" in other.why, str(other)
    rng = np.random.default_rng(9)
    for sound in (
        lambda x, _: x,
        lambda x, _: (x + 0.05 * rng.standard_normal(x.shape)).astype(np.float32),
        lambda _, frame: nl.Preprocessor(NOISE, std=255)(cv2.resize(frame, (240, 180)))[0],
        lambda _, frame: nl.Preprocessor(NOISE, std=255)(cv2.GaussianBlur(frame, (0, 0), 1))[0],
    ):
        assert found(sound).verdict == "match", str(found(sound))


@pytest.mark.parametrize("sigma", [4, 6])
@pytest.mark.parametrize("end", [0, 255])
def test_noise_that_is_cut_at_black_or_white_is_no_colour(end: int, sigma: float) -> None:
    """A picture of stripes, so that resizes differ by more than the noise, with large areas of black or white."""
    rng = np.random.default_rng(2)
    frames = [np.full_like(frame, end) for frame in FRAMES]
    for frame, small in zip(frames, FRAMES):
        frame[:, 200:220] = small[:, 200:220]
    own = nl.Preprocessor(nl.TensorSpec((1, 3, SIDE, SIDE), "NHWC", "uint8"))
    runs = []
    for frame in frames:
        noisy = np.rint(own(frame)[0] + rng.normal(0, sigma, (1, SIDE, SIDE, 3)))
        runs.append(({"image": np.clip(noisy, 0, 255).astype(np.uint8), "frame": frame}, {}))
    found = recorded_inputs(nl.Recording({}, runs, {"preprocess": own.arguments})).reports["image"]
    assert found.verdict == "match", str(found)


def sepia(frame: np.ndarray) -> np.ndarray:
    colours = frame.astype(np.float32) @ np.array([[0.86, 0.07, 0.07], [0.07, 0.86, 0.07], [0.07, 0.07, 0.86]])
    return np.rint(colours).astype(np.uint8)


def smooth(frame: np.ndarray) -> np.ndarray:
    return cv2.resize(cv2.GaussianBlur(frame, (0, 0), 3), (SIDE, SIDE))


@pytest.mark.parametrize("sigma", [0, 0.8])
def test_other_colours_are_no_resize_formula(sigma: float) -> None:
    rng = np.random.default_rng(1)

    def found(change: Any) -> Any:
        runs = []
        for frame in FRAMES:
            x = made(change(frame))
            x = (x + sigma / 255 * rng.standard_normal(x.shape)).astype(np.float32)
            runs.append(({"image": x, "frame": frame}, {}))
        return recorded_inputs(nl.Recording({}, runs, {"preprocess": {"std": 255, "mean": 0}})).reports["image"]

    colours = found(sepia)
    assert colours.verdict == "preprocessing" and colours.fix is None, str(colours)
    assert "where the picture is flat: its colours are others" in colours.why, str(colours)
    resized = found(lambda frame: smooth(frame))
    assert resized.verdict == "match" and "except for the resize formula" in resized.why, str(resized)
