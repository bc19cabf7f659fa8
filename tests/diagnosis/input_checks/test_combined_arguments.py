"""Inputs that two or three other arguments make, made here by hand."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.input_checks.combined_arguments import combined_arguments
from npu_layout.diagnosis.input_checks.input_check import recorded_inputs
from npu_layout.diagnosis.input_checks.input_pairs import InputPair
from tests.diagnosis.input_checks.test_input_check import HOW, IMAGE, MEAN, STD, judged, own, walk
from tests.support.boards import SIDE
from tests.support.input_bench import FRAMES, Bench
from tests.support.resized_pixels import nearest

M, S = np.array(MEAN), np.array(STD)
DONE = {  # mean and std that are the mistake's, and what the report calls it
    "raw": (0 * M, 0 * S + 1, "mean and std forgotten)"),
    "unit": (0 * M, 0 * S + 255, "mean and std forgotten, but divided by 255)"),
    "no mean": (0 * M, S, "mean forgotten)"),
    "multiplied": (M, 1 / S, "multiplied by std, not divided)"),
    "right": (M, S, ""),
}


def as_read(frame: np.ndarray, color: str, stretched: bool) -> np.ndarray:
    """(3, SIDE, SIDE) pixels of a frame of 480 x 640, letterboxed as declared or stretched, by OpenCV alone."""
    size = (SIDE, SIDE) if stretched else (SIDE, SIDE * 3 // 4)
    image = np.full((SIDE, SIDE, 3), 114.0)
    rows = slice(None) if stretched else slice(SIDE // 8, SIDE - SIDE // 8)
    image[rows] = cv2.resize(frame, size)
    return (image if color == "BGR" else image[..., ::-1]).transpose(2, 0, 1)


@pytest.mark.parametrize("color, stretched, done", [*product(("RGB", "BGR"), (False, True), DONE)])
def test_several_arguments_are_named_with_their_fix(color: str, stretched: bool, done: str) -> None:
    mean, std, words = DONE[done]
    changed = (color == "BGR") + stretched + bool(words)
    found = judged(
        lambda frame: ((as_read(frame, color, stretched) - mean[:, None, None]) / std[:, None, None]).astype(
            np.float32
        )[None]
    )
    assert found.verdict == ("preprocessing" if changed else "match"), str(found)
    if changed:
        fix: dict[str, Any] = dict(found.fix)
        assert fix["color"] == color and (fix["resize"] == "stretch") == stretched, str(found)
        np.testing.assert_allclose([fix["mean"], fix["std"]], [mean, std], rtol=1e-5)
        assert words in found.why and found.why.count("makes (within") == 1


def bordered(frame: np.ndarray, color: str, at_the_top: bool, border: tuple[int, int, int]) -> np.ndarray:
    """(1, 3, SIDE, SIDE) values of a frame of 480 x 640 with a border in the result's order, by OpenCV alone."""
    small = cv2.resize(frame, (SIDE, SIDE * 3 // 4))[..., :: 1 if color == "BGR" else -1]
    above = 0 if at_the_top else SIDE // 8
    image = cv2.copyMakeBorder(small, above, SIDE // 4 - above, 0, 0, cv2.BORDER_CONSTANT, value=border)
    return ((image - M) / S).astype(np.float32).transpose(2, 0, 1)[None]


@pytest.mark.parametrize("declared", ["letterbox", "stretch"])
@pytest.mark.parametrize("color", ["RGB", "BGR"])
@pytest.mark.parametrize("at_the_top", [False, True])
@pytest.mark.parametrize("border", [(0, 0, 0), (77, 77, 77), (200, 10, 30)])
def test_any_border_is_named_beside_other_colours_and_another_resize(
    declared: str, color: str, at_the_top: bool, border: tuple[int, int, int]
) -> None:
    resize = "letterbox_top_left" if at_the_top else "letterbox"
    for dim in (1.0, 0.25):
        frames = [(frame * dim).astype(np.uint8) for frame in walk(2)]
        make = partial(bordered, color=color, at_the_top=at_the_top, border=border)
        found = judged(make, {**HOW, "resize": declared}, frames)
        assert found.verdict == "preprocessing" and found.fix is not None, str(found)
        assert (found.fix["color"], found.fix["resize"]) == (color, resize), str(found)
        np.testing.assert_allclose(np.broadcast_to(found.fix["pad_value"], 3), border, atol=1)


def test_those_of_two_come_before_those_of_three() -> None:
    pair = InputPair(IMAGE, {0: walk(1)[0]}, 0, np.zeros(IMAGE.shape, np.float32), HOW)
    changes = combined_arguments(HOW, pair, scaled=True)
    assert [change.changes for change in changes] == sorted(change.changes for change in changes)
    assert {change.changes for change in changes} == {2, 3}
    assert len({change.words for change in changes}) == len(changes)
    unscaled = combined_arguments(HOW, pair, scaled=False)
    assert unscaled and all(change.how["mean"] is HOW["mean"] for change in unscaled if change.how)
    gray = {**HOW, "color": "GRAY", "mean": 100, "std": 50}
    one = nl.TensorSpec((1, 1, SIDE, SIDE))
    pair = InputPair(one, {0: walk(1)[0]}, 0, np.zeros(one.shape, np.float32), gray)
    assert all(change.how["color"] == "GRAY" for change in combined_arguments(gray, pair, True) if change.how)


@pytest.mark.parametrize("frames", list(FRAMES))
@pytest.mark.parametrize("done", ["raw", "unit"])
def test_a_raw_frame_of_opencv(frames: str, done: str) -> None:
    """BGR and without mean and std: what a script writes that knows neither."""
    bench = Bench("imagenet", "float32", frames)
    mean, std = (0, 1) if done == "raw" else (0, 255)
    found = bench.of_frames(lambda x: x, color="BGR", mean=mean, std=std)
    assert found.fix and (found.fix["color"], found.fix["std"]) == ("BGR", [float(std)] * 3), str(found)


@pytest.mark.parametrize("frames", list(FRAMES))
@pytest.mark.parametrize("quality", [50, 75, 95])
def test_frames_that_were_jpeg_files_and_another_resize_are_no_two_arguments(frames: str, quality: int) -> None:
    """Losses that no formula makes exactly leave the verdict that they had: nothing else is named for them."""
    for arithmetic, dtype in (("imagenet", "float32"), ("unit", "int8"), ("plain", "uint8")):
        bench = Bench(arithmetic, dtype, frames)
        encoded = [cv2.imdecode(cv2.imencode(".jpg", f, [1, quality])[1], 1) for f in bench.frames]
        found = bench.judged([bench.stored(bench.pixels(f)) for f in encoded])
        assert found and found.verdict == "match", str(found)
        small = [cv2.resize(cv2.GaussianBlur(f, (0, 0), 1.2), None, fx=0.5, fy=0.5) for f in bench.frames]
        found = bench.judged([bench.stored(bench.pixels(f)) for f in small])
        assert found.verdict == "match" or found.fix is None or "resize" in str(found), str(found)


NUMBERS = {  # mean and std
    "one std": (0.0, 200.0),
    "both": (128.0, 256.0),
    "of each channel": ([90.0, 100.5, 110.25], [300.0, 280.0, 310.0]),
}


@pytest.mark.parametrize("numbers", list(NUMBERS))
@pytest.mark.parametrize("frames", list(FRAMES))
def test_mean_and_std_that_are_no_usual_mistake(numbers: str, frames: str) -> None:
    bench = Bench("unit", "float32", frames)
    mean, std = NUMBERS[numbers]
    found = bench.of_frames(lambda x: x, mean=mean, std=std)
    assert found.verdict == "preprocessing" and found.fix is not None, str(found)
    assert found.fix["mean"] == np.broadcast_to(mean, 3).tolist(), str(found)  # as they were written
    assert found.fix["std"] == np.broadcast_to(std, 3).tolist(), str(found)
    assert "-0" not in found.why and found.fix["color"] == "RGB", str(found)


@pytest.mark.parametrize("side", [4, 5, 8])
def test_numbers_of_an_input_of_few_values(side: int) -> None:
    spec, how = nl.TensorSpec((1, 3, side, side)), {"mean": 0, "std": 255, "resize": "stretch"}
    used = {**how, "mean": [90.0, 100.0, 110.0], "std": [40.0, 50.0, 60.0]}
    frame = np.random.default_rng(1).integers(0, 256, (side, side, 3), np.uint8)
    runs = [({"image": nl.Preprocessor(spec, **used)(frame)[0], "frame": frame}, {})]
    found = recorded_inputs(nl.Recording({"image": spec}, runs, {"preprocess": how})).reports["image"]
    assert found.fix is not None and (found.fix["mean"], found.fix["std"]) == (used["mean"], used["std"]), str(found)


@pytest.mark.parametrize("color", ["RGB", "BGR"])
@pytest.mark.parametrize("pad", [0, 37])
@pytest.mark.parametrize(
    ("arithmetic", "mean", "std"), [("imagenet", 0, 1), ("imagenet", 0, 255), ("unit", 127.5, 127.5)]
)
def test_a_border_beside_another_mean_and_std(arithmetic: str, mean: float, std: float, pad: int, color: str) -> None:
    """The border is measured by the mean and std that were used, not by those that were declared."""
    bench = Bench(arithmetic, "float32", "walk")
    found = bench.of_frames(lambda x: x, mean=mean, std=std, pad_value=pad, color=color)
    assert found.verdict == "preprocessing" and found.fix is not None, str(found)
    assert (found.fix["mean"], found.fix["std"]) == ([mean] * 3, [std] * 3), str(found)
    assert (np.ravel(found.fix["pad_value"]) == pad).all() and found.fix["color"] == color, str(found)


@pytest.mark.parametrize("frames", list(FRAMES))
@pytest.mark.parametrize("arithmetic", ["unit", "signed"])
def test_a_mean_of_nothing_is_0_whatever_float16_rounds(arithmetic: str, frames: str) -> None:
    """Beside a std of many decimals, it had the noise of rounding, which a Preprocessor refuses as a mean of 0 to 1."""
    bench = Bench(arithmetic, "float32", frames)
    std = [58.395, 57.12, 57.375]
    made = [bench.pixels(frame)[0] / np.float32(np.reshape(std, (3, 1, 1))) for frame in bench.frames]
    found = bench.judged([x.astype(np.float16).astype(np.float32)[None] for x in made])
    assert found.verdict == "preprocessing" and found.fix is not None, str(found)
    assert found.fix["mean"] == [0.0] * 3 and found.fix["std"] == pytest.approx(std, abs=0.02), str(found)


@pytest.mark.parametrize(
    "how", [{"color": "BGR"}, {"resize": "stretch"}, {"color": "BGR", "resize": "stretch"}], ids=str
)
@pytest.mark.parametrize("frames", list(FRAMES))
def test_numbers_that_are_no_usual_mistake_beside_other_arguments(frames: str, how: dict[str, Any]) -> None:
    """Frames of 4:3, so that a letterbox, a stretched picture and a cropped one differ."""
    bench = Bench("unit", "float32", frames)
    mean, std = NUMBERS["of each channel"]
    found = bench.of_frames(lambda x: x, mean=mean, std=std, **how)
    assert found.verdict == "preprocessing" and found.fix is not None, str(found)
    assert (found.fix["mean"], found.fix["std"]) == (mean, std), str(found)
    assert (found.fix["color"], found.fix["resize"]) == (how.get("color", "RGB"), how.get("resize", "letterbox"))
    assert all(f"{name}={value!r}, " in found.why for name, value in how.items()), str(found)


def test_numbers_that_a_preprocessor_refuses_are_no_fix() -> None:
    bench = Bench("unit", "float32", "walk")
    found = bench.of_frames(lambda x: x, mean=0.5, std=200)
    assert found.verdict == "preprocessing" and found.fix is None and "mean=0.5, std=200 makes" in found.why, str(found)


@pytest.mark.parametrize("frames", list(FRAMES))
@pytest.mark.parametrize("resize", ["letterbox", "stretch"])
def test_no_other_numbers_are_named_where_none_are(frames: str, resize: str) -> None:
    """Noise, light, gamma, losses and other pictures are no mean and std."""
    bench = Bench("unit", "float32", frames)
    bench.how["resize"] = resize
    rng = np.random.default_rng(3)
    changed: list[Any] = [lambda x, n=n: np.clip(x + rng.normal(0, n, x.shape), 0, 255) for n in (0, 1, 3, 12, 40)]
    changed += [lambda x, f=f, b=b: np.clip(x * f + b, 0, 255) for f, b in ((0.98, 1), (1.02, 0), (0.7, 0), (1, 25))]
    changed += [lambda x, p=p: 255 * (x / 255) ** p for p in (0.5, 0.95, 2.2)]
    changed += [lambda x, q=q: cv2.imdecode(cv2.imencode(".jpg", x, [1, q])[1], 1) for q in (20, 50, 80)]
    changed += [
        lambda x: cv2.GaussianBlur(x, (0, 0), 3),
        lambda x: x[::2, ::2],
        lambda x: 255 - x,
        lambda x: 0 * x + 90,
    ]
    for i, change in enumerate(changed):
        found = bench.of_frames(lambda x, change=change: np.rint(change(x)).astype(np.uint8))
        declared = [bench.how[name] for name in ("mean", "std")]
        named = None if found.fix is None else [found.fix[name] for name in ("mean", "std")]
        assert named in (None, declared) or "(" in found.why.partition(" makes ")[0], (i, str(found))


def mixed(frame: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return cv2.resize(frame, (48, 36)) @ weights


def test_a_picture_of_ones_own_is_named_by_nothing() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        weights = rng.uniform(-0.3, 1.0, (3, 3))
        found = judged(own(partial(mixed, weights=weights)))
        assert found.verdict == "preprocessing" and found.fix is None, str(found)


def with_detail(seed: int, noise: float = 0.0) -> np.ndarray:
    frame = walk(1)[0].astype(float) + np.random.default_rng(seed).normal(0, 25, (480, 640, 3))
    return np.clip(frame + np.random.default_rng(seed + 1).normal(0, noise, frame.shape), 0, 255).astype(np.uint8)


@pytest.mark.parametrize(
    ("name", "resized"), [("nearest", nearest), ("cubic", partial(cv2.resize, interpolation=cv2.INTER_CUBIC))]
)
@pytest.mark.parametrize(("what", "noise"), [("color", 0.0), ("mean", 0.0), ("color", 6.0)])
def test_an_interpolation_beside_another_argument(name: str, resized: Any, what: str, noise: float) -> None:
    """Both are in the fix if that remakes the input; under noise, which no interpolation makes, one is named."""
    runs = []
    for seed in range(3):
        frame = with_detail(seed)
        image = np.full((SIDE, SIDE, 3), 114.0)
        image[SIDE // 8 : SIDE - SIDE // 8] = resized(with_detail(seed, noise), (SIDE, SIDE * 3 // 4))
        pixels = (image if what == "color" else image[..., ::-1]).transpose(2, 0, 1)
        made = (pixels - M[:, None, None]) / S[:, None, None] if what == "color" else pixels
        runs.append(({"image": made.astype(np.float32)[None], "frame": frame}, {}))
    found = recorded_inputs(nl.Recording({}, runs, {"preprocess": HOW})).reports["image"]
    fix = dict(found.fix)
    assert fix["color"] == ("BGR" if what == "color" else "RGB"), str(found)
    assert np.allclose(fix["mean"], M if what == "color" else 0), str(found)
    assert fix.get("interpolation") == (None if noise else name), str(found)
    assert (f", interpolation='{name}' makes (within 0.0 pixel values" in found.why) == (not noise), str(found)


@pytest.mark.parametrize("case", [("plain", "uint8", "walk"), ("imagenet", "float32", "walk")], ids="-".join)
def test_an_interpolation_beside_two_other_arguments(case: tuple[str, str, str]) -> None:
    bench = Bench(*case)
    found = bench.of_frames(lambda x: x, color="BGR", pad_value=0, interpolation="nearest")
    assert found.fix is not None, str(found)
    assert {k: found.fix[k] for k in ("color", "pad_value", "interpolation")} == {
        "color": "BGR", "pad_value": 0, "interpolation": "nearest",
    }, str(found)  # fmt: skip


def test_an_interpolation_beside_a_std_that_makes_it_small() -> None:
    """In steps as declared, where a pixel value is 1, inputs of 0 to 1 differ by less than one whatever made them."""
    found = Bench("plain", "float32", "walk").of_frames(lambda x: x, std=255, interpolation="nearest")
    assert found.fix is not None and found.fix["interpolation"] == "nearest", str(found)
    assert np.allclose(found.fix["std"], 255) and "std=255" in found.why, str(found)
    found = Bench("plain", "float32", "walk").of_frames(lambda x: x, std=255)
    assert found.fix is not None and found.fix.get("interpolation", "linear") == "linear", str(found)
