"""Noise on what was fed, or on the frame that was recorded, and changes that leave something like it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest

from tests.support.input_bench import FRAMES, Bench

Change = Callable[[np.random.Generator, np.ndarray], np.ndarray]
CASES = [("unit", "float32", "walk"), ("plain", "uint8", "texture"), ("imagenet", "int8", "dim")]
ANY = pytest.mark.parametrize("case", CASES, ids="-".join)


def white(deviation: float) -> Change:
    return lambda rng, x: x + rng.normal(0, deviation, x.shape)


def shot(gain: float) -> Change:
    """Of a sensor: its variance grows with the light, and its amplifier adds some. The border has none."""
    return lambda rng, x: _around(x, x + rng.normal(0, 1, x.shape) * np.sqrt(gain * x + 4))


def fed(case: tuple[str, str, str], change: Change, also: Change = lambda rng, x: x, **how: str) -> Any:
    """The report on inputs whose pixels, (1, 3, H, W), were changed in two ways before they were stored."""
    bench, rng = Bench(*case), np.random.default_rng(7)
    made = [bench.pixels(frame, **how).astype(np.float64) for frame in bench.frames]
    return bench.judged([bench.stored(np.rint(np.clip(also(rng, change(rng, x)), 0, 255))) for x in made])


@ANY
@pytest.mark.parametrize("noise", [white(3), white(4), shot(0.1), shot(0.3)], ids=["3", "4", "dim", "dark"])
def test_noise_is_no_fault(case: tuple[str, str, str], noise: Change) -> None:
    found = fed(case, noise)
    assert found, str(found)


def test_noise_is_said_with_its_size() -> None:
    found = fed(("unit", "float32", "dim"), white(4))
    assert (
        found and "except for noise of 4.0 pixel values" in str(found) and "no known change makes it" in str(found)
    ), str(found)
    found = fed(("unit", "float32", "dim"), white(10))
    assert not found and "it differs by noise of 9." in str(found) and "two exposures" in str(found), str(found)
    assert "fix:" not in str(found)


@ANY
@pytest.mark.parametrize("size", [(32, 24), (320, 240)], ids=["enlarged", "reduced"])
def test_two_exposures_have_two_noises(case: tuple[str, str, str], size: tuple[int, int]) -> None:
    """The recorded frame and the one that was fed; a resize makes neighbours of an enlarged frame alike."""
    bench, rng = Bench(*case), np.random.default_rng(3)
    still = [cv2.resize(frame, size, interpolation=cv2.INTER_AREA) for frame in FRAMES[case[2]]]
    for deviation in (1.5, 3.0):
        recorded, other = (
            [np.clip(np.rint(x + rng.normal(0, deviation, x.shape)), 0, 255).astype(np.uint8) for x in still]
            for _ in range(2)
        )
        bench.frames = recorded
        found = bench.judged([bench.stored(bench.pixels(frame)) for frame in other])
        assert found.verdict == "match", str(found)


def _around(x: np.ndarray, change: np.ndarray) -> np.ndarray:
    """Changed within the picture of a letterbox, which is 72 of 96 rows."""
    made = x.copy()
    made[:, :, 12:84] = change[:, :, 12:84]
    return made


def _patch(x: np.ndarray) -> np.ndarray:
    made = x.copy()
    made[:, :, 30:50, 30:50] = made[:, :, 30:50, 30:50] * 0.8 + 25
    return made


def _wrong_pixels(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    return np.where(rng.random(x.shape) < 0.004, (x + 100) % 256, x)


def _vignette(x: np.ndarray) -> np.ndarray:
    y = np.linspace(-1, 1, x.shape[2])[:, None]
    return x * (1 - 0.1 * (y**2 + y.T**2))


def _row(x: np.ndarray) -> np.ndarray:
    made = x.copy()
    made[:, :, 40] = 255 - made[:, :, 40]
    return made


CHANGES: dict[str, Change] = {
    "a darker rim": lambda rng, x: _around(x, _vignette(x)),
    "another patch": lambda rng, x: _patch(x),
    "a few wrong pixels": _wrong_pixels,
    "brighter by three": lambda rng, x: _around(x, x + 3),
    "four bits": lambda rng, x: x // 16 * 16,
    "another row": lambda rng, x: _row(x),
    "stronger colours": lambda rng, x: _around(x, x + 0.5 * (x - x.mean(1, keepdims=True))),
    "other contrast at edges": lambda rng, x: _around(
        x, 2 * x - cv2.blur(x[0].transpose(1, 2, 0), (5, 5)).transpose(2, 0, 1)
    ),
}


def _smeared(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    noise = rng.normal(0, 6, x.shape)
    return x + (noise + np.roll(noise, 1, 3) + np.roll(noise, 2, 3)) / 3


def _in_a_patch(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    noise = rng.normal(0, 3, x.shape)
    noise[:, :, 40:50, 40:50] *= 2.5
    return x + noise


def _sparse(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    wrong = rng.choice([-25, 0, 25], x.shape, p=[0.01, 0.98, 0.01])
    return x + wrong + rng.normal(0, 2, x.shape)


def _at_edges(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    smooth = cv2.blur(x[0].transpose(1, 2, 0), (5, 5))
    slope = sum(np.abs(np.gradient(smooth, axis=axis)).sum(axis=2) for axis in (0, 1))
    return x + rng.normal(0, 2.5, x.shape) * np.where(slope > np.quantile(slope, 0.85), 2.2, 1)


UNEVEN = {"smeared": _smeared, "in a patch": _in_a_patch, "few large": _sparse, "at edges": _at_edges}


@pytest.mark.parametrize("what", UNEVEN)
def test_uneven_noise_is_another_thing(what: str) -> None:
    """Each has one property of noise alone less."""
    found = fed(("plain", "uint8", "texture"), UNEVEN[what])
    assert not found or "noise" not in str(found), str(found)


@pytest.mark.parametrize("noise", [0.0, 2.0])
@pytest.mark.parametrize("case", CASES[:2], ids="-".join)
@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_no_noise(case: tuple[str, str, str], what: str, noise: float) -> None:
    found = fed(case, CHANGES[what], white(noise))
    assert not found or "noise" not in str(found), str(found)


@pytest.mark.parametrize(("case", "deviation"), [*((case, 3.0) for case in CASES[:2]), (CASES[2], 1.0)])
@pytest.mark.parametrize("turned", ["mirrored from left to right", "rotated by 180 degrees"])
def test_other_colours_of_a_turned_frame_under_noise(case: tuple[str, str, str], turned: str, deviation: float) -> None:
    axes = (2, 3) if "180" in turned else (3,)
    found = fed(case, lambda rng, x: np.flip(x, axes), white(deviation), color="BGR")
    assert (found.verdict, found.fix) == ("geometry", None), str(found)
    assert f"it is what color='BGR' with the frame {turned} makes" in found.why, str(found)


@pytest.mark.parametrize("deviation", [0.0, 3.0])
@pytest.mark.parametrize("case", CASES[:2], ids="-".join)
def test_other_colours_of_a_shifted_input(case: tuple[str, str, str], deviation: float) -> None:
    found = fed(case, lambda rng, x: np.roll(x, (1, -2), (2, 3)), white(deviation), color="BGR")
    assert (found.verdict, found.fix) == ("geometry", None), str(found)
    assert "color='BGR' with the input shifted by 2 pixels to the left and 1 pixel down" in found.why, str(found)


@pytest.mark.parametrize("case", [("plain", "uint8", "texture"), ("imagenet", "int8", "texture")], ids="-".join)
def test_the_frame_before_under_noise(case: tuple[str, str, str]) -> None:
    """Of the first frame no such input can be made."""
    bench, rng = Bench(*case), np.random.default_rng(7)
    made = [bench.pixels(frame).astype(np.float64) for frame in (bench.frames[0], *bench.frames[:-1])]
    found = bench.judged([bench.stored(np.rint(np.clip(white(6)(rng, x), 0, 255))) for x in made])
    assert found.verdict == "wrong_input" and "the camera's previous frame" in found.why, str(found)
