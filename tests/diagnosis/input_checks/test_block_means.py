"""Other colours, contrast of each region and text move the means of blocks; resizes, losses and noise do not."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.input_checks.block_means import means_difference
from npu_layout.diagnosis.input_checks.input_check import recorded_inputs
from npu_layout.diagnosis.input_checks.input_pairs import InputPair

SIDE = 128
SPEC = nl.TensorSpec((1, 3, SIDE, SIDE))
HOW = {"std": 255, "mean": 0}
PHOTO = Path(__file__).parents[3] / "samples" / "data" / "demo.jpg"


def whole(pixels: Any) -> np.ndarray:
    return np.clip(np.rint(pixels), 0, 255).astype(np.uint8)


@cache
def frame(number: int) -> np.ndarray:
    """Return a part of a photograph, a gradient with noise, or thin lines: interpolations differ by 10 to 20."""
    rng = np.random.default_rng(number)
    if number == 0:
        photo = cv2.imread(str(PHOTO))
        y, x = (int(rng.integers(0, extent - 400)) for extent in photo.shape[:2])
        return cv2.resize(photo[y : y + 250, x : x + 400], (160, 100), interpolation=cv2.INTER_AREA)
    y, x = np.mgrid[:100, :160] / 160
    colours = np.stack([60 + 120 * x, 70 + 90 * y, 190 - 60 * x - 60 * y], -1)
    if number == 1:
        return whole(colours + rng.normal(0, 24, colours.shape))
    image = whole(colours)
    for _ in range(40):
        ends = rng.integers(0, (160, 100), (2, 2))
        cv2.line(image, *map(tuple, ends.tolist()), rng.integers(0, 256, 3).tolist(), 1)
    return image


def made(image: np.ndarray, **change: Any) -> np.ndarray:
    return nl.Preprocessor(SPEC, **{**HOW, **change})(image)[0]


def judged(change: Callable[[np.ndarray], np.ndarray], sigma: float = 0.0, resize: Any = made) -> Any:
    """Return the report of inputs that were made of changed frames, with noise on the pixels."""
    rng, runs = np.random.default_rng(1), []
    for number in range(3):
        fed = resize(change(frame(number)))
        fed = np.clip(fed + sigma / 255 * rng.standard_normal(fed.shape), 0, 1).astype(np.float32)
        runs.append(({"image": fed, "frame": frame(number)}, {}))
    return recorded_inputs(nl.Recording({}, runs, {"preprocess": HOW})).reports["image"]


def contrast_of_regions(image: np.ndarray) -> np.ndarray:
    ycc = cv2.cvtColor(image, cv2.COLOR_BGR2YCrCb)
    ycc[..., 0] = cv2.createCLAHE(4.0, (8, 8)).apply(np.ascontiguousarray(ycc[..., 0]))
    return cv2.cvtColor(ycc, cv2.COLOR_YCrCb2BGR)


def saturated(image: np.ndarray) -> np.ndarray:
    hsv = cv2.cvtColor(image, cv2.COLOR_BGR2HSV).astype(float)
    hsv[..., 1] *= 1.8
    return cv2.cvtColor(whole(hsv), cv2.COLOR_HSV2BGR)


def curved(image: np.ndarray) -> np.ndarray:
    x = image / 255.0
    return whole(255 * x * x * (3 - 2 * x))


def with_text(image: np.ndarray) -> np.ndarray:
    cv2.putText(out := image.copy(), "12:00", (8, 60), cv2.FONT_HERSHEY_SIMPLEX, 1.5, (255, 255, 255), 4)
    return out


def stretched(image: np.ndarray) -> np.ndarray:
    low, high = np.percentile(image, [4, 96], axis=(0, 1))
    return whole((image - low) * 255 / (high - low))


def in_shade(image: np.ndarray) -> np.ndarray:
    return whole(image * np.linspace(0.3, 1.0, image.shape[1])[:, None])


def balanced(image: np.ndarray) -> np.ndarray:
    """Return the picture with a white balance of its own."""
    means = image.mean((0, 1))
    return whole(image * (means.mean() / means) ** 2)


def exposed(image: np.ndarray) -> np.ndarray:
    """Return the picture with an exposure of its own."""
    return whole(image * (1.3 if image[..., 0].mean() > image[..., 1].mean() else 0.8))


def a_little(change: Callable[[np.ndarray], np.ndarray], image: np.ndarray) -> np.ndarray:
    """Return a picture that differs by 9 pixel values, root mean square: less than other interpolations do."""
    off = change(image).astype(float) - image
    return whole(image + off * 9 / np.sqrt(np.square(off).mean()))


OTHERS = [contrast_of_regions, saturated, curved, with_text, stretched, in_shade, balanced, exposed]


@pytest.mark.parametrize("sigma", [0.0, 3.0])
@pytest.mark.parametrize("change", OTHERS)
def test_another_picture_is_no_resize_formula(change: Any, sigma: float) -> None:
    found = judged(partial(a_little, change), sigma)
    assert found.verdict == "preprocessing" and found.fix is None, str(found)
    assert "no known change explains that" in found.why, str(found)


def test_the_note_says_where_it_differs() -> None:
    found = judged(partial(a_little, with_text))
    assert "pixel values in the means of blocks of 8 x 8 pixels, which no resize formula and no loss" in found.why


def jpeg(image: np.ndarray, quality: int) -> np.ndarray:
    return cv2.imdecode(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1], cv2.IMREAD_COLOR)


def pil(name: str) -> Callable[[np.ndarray], np.ndarray]:
    """Return a resize by Pillow, of RGB, as the model's input."""
    image = pytest.importorskip("PIL.Image", reason="Pillow, which matplotlib brings, is not installed")

    def resize(frame: np.ndarray) -> np.ndarray:
        small = image.fromarray(np.ascontiguousarray(frame[..., ::-1])).resize((SIDE, 80), getattr(image, name))
        whole = np.full((SIDE, SIDE, 3), 114, np.float32)
        whole[24:104] = small
        return np.moveaxis(whole / np.float32(255), 2, 0)[None]

    return resize


def in_two_steps(image: np.ndarray) -> np.ndarray:
    return cv2.resize(image, (144, 90))


def blurred(image: np.ndarray) -> np.ndarray:
    return cv2.GaussianBlur(image, (0, 0), 0.8)


def sharpened(image: np.ndarray) -> np.ndarray:
    return whole(1.5 * image.astype(float) - 0.5 * cv2.GaussianBlur(image, (0, 0), 1.5))


def in_yuv420(image: np.ndarray) -> np.ndarray:
    return cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_BGR2YUV_I420), cv2.COLOR_YUV2BGR_I420)


SAME = [
    *((f"jpeg {quality}", lambda x, quality=quality: jpeg(x, quality)) for quality in (50, 70, 90)),
    ("two steps", in_two_steps),
    ("blurred", blurred),
    ("sharpened", sharpened),
    ("yuv420", in_yuv420),
]


@pytest.mark.parametrize("sigma", [0.0, 3.0])
@pytest.mark.parametrize(("name", "change"), SAME, ids=[name for name, _ in SAME])
def test_the_same_picture_is_a_match(name: str, change: Any, sigma: float) -> None:
    found = judged(change, sigma)
    assert found.verdict == "match", str(found)


@pytest.mark.parametrize("name", ["BILINEAR", "HAMMING", "BICUBIC", "LANCZOS"])
@pytest.mark.parametrize("sigma", [0.0, 3.0])
def test_pillows_resizes_are_a_match(name: str, sigma: float) -> None:
    found = judged(lambda x: x, sigma, pil(name))
    assert found.verdict == "match", str(found)
    found = judged(lambda x: jpeg(x, 70), sigma, pil(name))
    assert found.verdict == "match", str(found)


def difference(change: Callable[[np.ndarray], np.ndarray]) -> float:
    """Return the measure for one frame, of pixels that were changed after the resize."""
    x = made(frame(0))
    pair = InputPair(SPEC, {0: frame(0)}, 0, x, HOW)
    formulas = [x, *(made(frame(0), interpolation=name) for name in ("area", "cubic", "nearest"))]
    return means_difference([pair], [x], [change(x).astype(np.float32)], [formulas])


def test_it_is_measured_beside_what_interpolations_move() -> None:
    moved = difference(lambda x: x + 20 / 255)
    assert 15 < moved < 20
    assert difference(lambda x: x) == 0
    assert difference(lambda x: x + 0.1 / 255) < 0.1
    of_resizes = [difference(lambda x, how=how: made(frame(0), interpolation=how)) for how in ("area", "nearest")]
    assert of_resizes == [0, 0]


def test_noise_is_none_and_what_is_not_finite_does_not_count() -> None:
    rng = np.random.default_rng(0)
    for sigma in (1, 5, 20):
        assert difference(lambda x, sigma=sigma: x + sigma / 255 * rng.standard_normal(x.shape)) < 0.1 * sigma

    def spoilt(x: np.ndarray) -> np.ndarray:
        y = x + np.float32(20 / 255)
        y[..., 3:9, 3:9], y[0, 0, 50, 50] = np.nan, np.inf
        return y

    assert 15 < difference(spoilt) < 20


@pytest.mark.parametrize("end", [0, 255])
def test_blocks_near_black_or_white_do_not_count(end: int) -> None:
    """There a half of the noise is cut off, which moves the mean."""
    x, noise = np.full(SPEC.shape, abs(end - 12) / 255, np.float32), np.random.default_rng(0)
    pair = InputPair(SPEC, {0: frame(0)}, 0, x, HOW)
    cut = np.clip(x + 12 / 255 * noise.standard_normal(x.shape), 0, 1).astype(np.float32)
    assert abs(cut.mean() - x.mean()) * 255 > 0.9
    assert means_difference([pair], [x], [cut], [[x]]) == 0
