"""Another brightness or gamma, made here by hand; and what is none."""

from __future__ import annotations

import re

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.input_checks.input_check import recorded_inputs
from npu_layout.diagnosis.input_checks.input_pairs import InputPair
from npu_layout.diagnosis.input_checks.lighting import lighting
from tests.support.input_bench import DISTURBED, Bench, Picture, jpeg, lit, noisy, said_of_disturbed

CASES = [("plain", "uint8", "walk"), ("imagenet", "int8", "texture"), ("unit", "float32", "walk")]
ANY = pytest.mark.parametrize("case", CASES, ids="-".join)


def of_gamma(power: float) -> Picture:
    return lambda x: np.rint(255 * (x / 255) ** power).astype(np.uint8)


@ANY
@pytest.mark.parametrize("power", [1.5, 0.6])
def test_a_gamma_that_is_not_usual_is_no_brightness(case: tuple[str, str, str], power: float) -> None:
    found = Bench(*case).of_frames(of_gamma(power))
    assert (found.verdict, found.fix) == ("preprocessing", None), str(found)
    assert f"the frame with a gamma of {power:.2g}" in found.why and "times the pixel values" not in found.why


@ANY
@pytest.mark.parametrize("disturbed", [jpeg(70), noisy(3.0)], ids=["jpeg", "noise"])
def test_a_brightness_under_noise_is_named(case: tuple[str, str, str], disturbed: Picture) -> None:
    """What it leaves is large, and no function of the pixel."""
    found = Bench(*case).of_frames(lambda x: lit(0.8)(disturbed(x)))
    says = r"is what another brightness \(0\.(79|80|81) times the pixel values(, (plus|minus) 1)?\) makes"
    assert re.search(says, found.why), str(found)


@ANY
def test_a_contrast_that_cuts_off_is_named(case: tuple[str, str, str]) -> None:
    """The frame is cut off at both ends before it is resized, which bends the line a little."""
    found = Bench(*case).of_frames(lambda x: np.clip(128 + 1.6 * (x.astype(float) - 128), 0, 255).astype(np.uint8))
    assert re.search(r"another brightness \(1\.(5[5-9]|6\d) times the pixel values, minus 7\d\)", found.why), str(found)


def test_a_curve_that_is_neither() -> None:
    """Dark and bright pixels are moved to the middle or away from it: a line leaves a bend."""
    bench = Bench("unit", "float32", "walk")
    for sign in (1, -1):
        curve = np.clip(np.arange(256) + sign * 40 * np.sin(np.arange(256) / 255 * 2 * np.pi), 0, 255).astype(np.uint8)
        found = bench.of_frames(lambda x, curve=curve: cv2.LUT(x, curve))
        assert found.verdict == "preprocessing" and "no known change explains that" in found.why, str(found)


@pytest.mark.parametrize("what", DISTURBED)
@ANY
def test_noise_and_losses_have_no_gamma(case: tuple[str, str, str], what: str) -> None:
    assert "gamma" not in said_of_disturbed(*case, what)


def test_nothing_is_fitted_to_one_colour() -> None:
    bench = Bench("unit", "float32", "walk")
    frame = np.full((30, 40, 3), 90, np.uint8)
    how = {**bench.how, "resize": "stretch"}
    pair = InputPair(bench.spec, {0: frame}, 0, bench.stored(bench.pixels(frame // 2)).reshape(bench.spec.shape), how)
    assert list(lighting(how, [pair])) == []


@pytest.mark.parametrize("size", [(80, 60), (320, 240)])
@pytest.mark.parametrize("thickness", [1, 2])
def test_an_equalised_histogram_of_line_art_is_no_gamma(size: tuple[int, int], thickness: int) -> None:
    """Of few values in a picture, a gamma makes one right, and no other."""
    rng, bench = np.random.default_rng(4), Bench("unit", "float32", "walk")
    frames = []
    for _ in range(5):
        paper = np.full((*size[::-1], 3), 255, np.uint8)
        for _ in range(6):
            ends = rng.integers(0, size, (2, 2)).tolist()
            cv2.line(paper, ends[0], ends[1], (int(rng.integers(100, 220)),) * 3, thickness, cv2.LINE_AA)
        frames.append(paper)
    bench.frames = frames
    equal = {frame.tobytes(): cv2.merge([cv2.equalizeHist(frame[..., i]) for i in range(3)]) for frame in frames}
    found = bench.of_frames(lambda x: equal[x.tobytes()])
    assert "gamma" not in found.why and "brightness" not in found.why, str(found)


@ANY
def test_gray_frames_have_no_other_colours(case: tuple[str, str, str]) -> None:
    """Whatever is wrong with their inputs: a change of colours cannot be made of them."""
    bench = Bench(*case)
    bench.how["source"], bench.frames = "GRAY", [frame[..., 1].copy() for frame in bench.frames]
    for change in (lambda x: 255 - x, lambda x: np.roll(x, 9, 0)):
        found = bench.of_frames(change)
        assert (found.verdict, found.fix) == ("preprocessing", None), str(found)


@pytest.mark.parametrize(("first", "factor"), [(9, 1.3), (9, 1.6), (39, 1.4), (12, 1.6)])
def test_more_saturation_of_strong_colours_is_no_brightness(first: int, factor: float) -> None:
    """A fitted brightness explains more than a half of it, and leaves no function of the pixel."""

    def shapes(number: int) -> np.ndarray:
        rng = np.random.default_rng(number)
        image = np.full((128, 160, 3), rng.integers(120, 220, 3), np.uint8)
        for _ in range(8):
            x, y, size = rng.integers(0, 128, 3).tolist()
            cv2.rectangle(image, (x, y), (x + size // 2, y + size // 2), rng.choice([30, 120, 230], 3).tolist(), -1)
        return image

    def saturated(image: np.ndarray) -> np.ndarray:
        hsv = cv2.cvtColor(image, cv2.COLOR_BGR2HSV).astype(float)
        hsv[..., 1] = np.minimum(factor * hsv[..., 1], 255)
        return cv2.cvtColor(hsv.astype(np.uint8), cv2.COLOR_HSV2BGR)

    make = nl.Preprocessor(nl.TensorSpec((1, 3, 128, 128)), std=255)
    frames = [shapes(first + number) for number in range(3)]
    runs = [({"image": make(saturated(frame))[0], "frame": frame}, {}) for frame in frames]
    found = recorded_inputs(nl.Recording({}, runs, {"preprocess": make.arguments})).reports["image"]
    assert found.verdict == "preprocessing" and "no known change explains that" in found.why, str(found)
