"""Inputs that two changes at once make, made here by hand; and what is no such input."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

from npu_layout.diagnosis.input_checks.input_pairs import InputPair
from npu_layout.diagnosis.input_checks.two_changes import two_changes
from tests.support.input_bench import DISTURBED, FRAMES, Bench, Picture, said_of_disturbed

TURNED: dict[str, tuple[Picture, str, str]] = {
    "mirrored": (lambda x: x[:, ::-1], "geometry", "the frame mirrored from left to right"),
    "rotated": (lambda x: x[::-1, ::-1], "geometry", "the frame rotated by 180 degrees"),
}
CHANGED: dict[str, tuple[Picture, str, str]] = {
    **TURNED,
    "gamma": (lambda x: np.rint(255 * (x / 255) ** 2.2).astype(np.uint8), "preprocessing", "a gamma of 2.2"),
    "brighter": (lambda x: cv2.add(x, (30, 30, 30, 0)), "preprocessing", "the pixel values, plus 30"),
}
FLOATS = [("unit", "float32", "walk"), ("imagenet", "float32", "texture")]
CASES = [*FLOATS, ("plain", "uint8", "walk"), ("imagenet", "int8", "texture"), ("signed", "uint8", "walk")]


@pytest.mark.parametrize("change", CHANGED)
@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_other_colours_beside_another_change(case: tuple[str, str, str], change: str) -> None:
    made, verdict, words = CHANGED[change]
    found = Bench(*case).of_frames(made, color="BGR")
    assert (found.verdict, found.fix) == (verdict, None), str(found)
    assert "it is what color='BGR' with " in found.why and words in found.why, str(found)


@pytest.mark.parametrize("what", ["uint8", "int8"])
def test_other_colours_beside_the_other_sign(what: str) -> None:
    bench = Bench("plain" if what == "uint8" else "imagenet", what, "walk")
    stored = [bench.stored(bench.pixels(frame, color="BGR")) for frame in bench.frames]
    found = bench.judged([(x.view(np.uint8) ^ 0x80).view(x.dtype) for x in stored])
    assert (found.verdict, found.fix) == ("input_layout", None), str(found)
    assert "it is what color='BGR' with the input with the highest bit" in found.why, str(found)


@pytest.mark.parametrize("how", [{"mean": 0, "std": 1}, {"resize": "stretch"}], ids=["forgotten", "stretched"])
@pytest.mark.parametrize("change", TURNED)
@pytest.mark.parametrize("case", FLOATS, ids="-".join)
def test_other_arguments_beside_a_turned_frame(case: tuple[str, str, str], change: str, how: dict[str, Any]) -> None:
    made, verdict, words = TURNED[change]
    found = Bench(*case).of_frames(made, **how)
    assert (found.verdict, found.fix) == (verdict, None), str(found)
    assert f"with {words}" in found.why and ("resize='stretch'" if "resize" in how else "mean=0, std=1") in found.why


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_the_frame_before_in_other_colours(case: tuple[str, str, str]) -> None:
    bench = Bench(*case)
    late = [bench.frames[-1], *bench.frames[:-1]]
    found = bench.judged([bench.stored(bench.pixels(frame, color="BGR")) for frame in late])
    assert (found.verdict, found.fix) == ("wrong_input", None), str(found)
    assert "it is what color='BGR' with the camera's previous frame makes" in found.why, str(found)


@pytest.mark.parametrize("change", TURNED)
@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_the_frame_before_turned(case: tuple[str, str, str], change: str) -> None:
    made, _, words = TURNED[change]
    bench = Bench(*case)
    late = [bench.frames[-1], *bench.frames[:-1]]
    found = bench.judged([bench.stored(bench.pixels(made(frame))) for frame in late])
    assert (found.verdict, found.fix) == ("wrong_input", None), str(found)
    words = words.replace("the frame ", "the camera's previous frame, ")
    assert f"it is what {words} makes" in found.why, str(found)


@pytest.mark.parametrize("pad", [31, 0])
@pytest.mark.parametrize("change", TURNED)
@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_another_border_beside_a_turned_frame(case: tuple[str, str, str], change: str, pad: int) -> None:
    made, verdict, words = TURNED[change]
    found = Bench(*case).of_frames(made, pad_value=pad)
    assert (found.verdict, found.fix) == (verdict, None), str(found)
    assert f"it is what pad_value={pad} with {words} makes" in found.why, str(found)


@pytest.mark.parametrize("case", [*FLOATS, ("signed", "float32", "texture")], ids="-".join)
def test_another_layout_beside_mean_and_std_forgotten(case: tuple[str, str, str]) -> None:
    bench = Bench(*case)
    pixels = [bench.pixels(frame) for frame in bench.frames]
    found = bench.judged([x.transpose(0, 2, 3, 1).reshape(x.shape).astype(np.float32) for x in pixels])
    assert (found.verdict, found.fix) == ("input_layout", None), str(found)
    assert "mean=0, std=1" in found.why and "with the input stored as NHWC and read as NCHW" in found.why, str(found)


def _gray(x: np.ndarray) -> np.ndarray:
    return np.repeat(cv2.cvtColor(x, cv2.COLOR_BGR2GRAY)[..., None], 3, 2)


COLOURS: dict[str, tuple[Picture, str]] = {
    "gray": (_gray, "the frame in gray makes"),
    "gamma": (CHANGED["gamma"][0], "the frame with a gamma of 2.2 makes"),
}


ARGUMENTS: list[tuple[tuple[str, str, str], dict[str, Any]]] = [
    *((case, {"resize": "stretch"}) for case in CASES),
    *((case, {"mean": 0, "std": 1}) for case in FLOATS),  # integers would saturate
]


@pytest.mark.parametrize("change", COLOURS)
@pytest.mark.parametrize(("case", "how"), ARGUMENTS)
def test_other_arguments_beside_other_colours(case: tuple[str, str, str], how: dict[str, Any], change: str) -> None:
    made, words = COLOURS[change]
    found = Bench(*case).of_frames(made, **how)
    assert (found.verdict, found.fix) == ("preprocessing", None), str(found)
    argument = "resize='stretch'" if "resize" in how else "mean=0, std=1 (mean and std forgotten)"
    assert f"it is what {argument} with {words}" in found.why, str(found)


@pytest.mark.parametrize("case", CASES[2:], ids="-".join)
def test_another_resize_beside_the_other_sign(case: tuple[str, str, str]) -> None:
    bench = Bench(*case)
    stored = [bench.stored(bench.pixels(frame, resize="stretch")) for frame in bench.frames]
    found = bench.judged([(x.view(np.uint8) ^ 0x80).view(x.dtype) for x in stored])
    assert (found.verdict, found.fix) == ("input_layout", None), str(found)
    assert "it is what resize='stretch' with the input with the highest bit" in found.why, str(found)


@pytest.mark.parametrize("case", [*FLOATS, ("signed", "float32", "texture")], ids="-".join)
def test_the_other_sign_of_pixels_whose_mean_and_std_were_forgotten(case: tuple[str, str, str]) -> None:
    bench = Bench(*case)
    found = bench.judged([(bench.pixels(f).astype(np.uint8) ^ 0x80).astype(np.float32) for f in bench.frames])
    assert (found.verdict, found.fix) == ("input_layout", None), str(found)
    assert "mean=0, std=1" in found.why and "with the input with the highest bit of every pixel" in found.why


def test_pixels_stored_as_they_are_with_the_other_sign() -> None:
    """Bytes of a camera copied into an int8 input that has a mean, a std and a scale."""
    bench = Bench("imagenet", "int8", "texture")
    made = [bench.pixels(frame).astype(np.uint8).transpose(0, 2, 3, 1) for frame in bench.frames]
    found = bench.judged([np.ascontiguousarray(x).view(np.int8) for x in made])
    assert (found.verdict, found.fix) == ("input_layout", None), str(found)
    assert "(pixels stored as they are) with the input with the highest bit" in found.why, str(found)


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_silence_on_what_is_none(case: tuple[str, str, str]) -> None:
    """Noise, light, losses and pictures of one's own are no two changes."""
    changes: list[Picture] = [
        lambda x: cv2.GaussianBlur(x, (0, 0), 3),
        lambda x: 255 - x,
        lambda x: x * 0 + 77,
    ]
    said = {what: said_of_disturbed(*case, what) for what in DISTURBED}
    said |= {str(i): Bench(*case).of_frames(change).why for i, change in enumerate(changes)}
    assert not {what: why for what, why in said.items() if " with the " in why}


def test_no_two_changes_have_one_fix() -> None:
    bench = Bench("imagenet", "float32", "walk")
    one = InputPair(bench.spec, {0: FRAMES["walk"][0]}, 0, np.zeros(bench.spec.shape, np.float32), bench.how)
    changes = [*two_changes(bench.how, [one], True, 2)]
    assert len({change.words for change in changes}) == len(changes) > 100
    assert all(change.how is None and not change.kind and " with " in change.words for change in changes)
    turned = [change for change in changes if change.verdict == "wrong_input" and "mirrored from" in change.words]
    assert not turned, "of a frame that has none before or after"
    unscaled = [change.words for change in two_changes(bench.how, [one], False, 2)]
    assert unscaled and not any("mean=" in words for words in unscaled)
