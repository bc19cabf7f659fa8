"""Inputs made of a part a little off the noted one are named, and no other formula for the resize is."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.input_checks import near_parts
from npu_layout.diagnosis.input_checks.input_check import recorded_inputs
from tests.diagnosis.input_checks.test_input_check import walk
from tests.diagnosis.input_checks.test_input_sources import stored

FRAMES = walk()
SIDE = 40
IMAGE = nl.TensorSpec((1, 3, SIDE, SIDE))
QUANTISED = nl.TensorSpec((1, 3, SIDE, SIDE), "NHWC", "int8", quantization=nl.Quantization(1 / 255, -128))
ROIS = [(133 + 40 * i, 131 + 12 * i, 201, 155 + 7 * i) for i in range(5)]
SHIFTS = [(1, 1), (2, 2), (-1, -1), (1, 2), (0, -2), (-2, 1), (2, 0)]
SIZES = [(1, 0), (0, 1), (1, 1), (2, 2), (-1, -1), (2, -1), (0, -2)]


def report(
    by: tuple[int, ...], how: Any, spec: nl.TensorSpec = IMAGE, noise: float = 0, frames: Any = FRAMES, rois: Any = ROIS
) -> Any:
    """Of inputs made of the noted parts with `by` added to their four numbers. noise: pixel values."""
    how, rng = {"std": 255, **how}, np.random.default_rng(0)
    device, runs = nl.Preprocessor(spec, **how), []
    for frame, roi in zip(frames, rois):
        x = device(frame, roi_xywh=tuple(a + b for a, b in zip(roi, by)))[0]
        spread = noise * rng.standard_normal(x.shape)
        x = x + np.float32(spread / 255) if x.dtype == np.float32 else np.clip(np.rint(x + spread), -128, 127)
        x = x.astype(spec.element.unpacked).reshape(spec.storage_shape)
        runs.append(({"image": x, "frame": frame, "frame.roi_xywh": np.array(roi)}, {}))
    return recorded_inputs(nl.Recording({"image": spec}, runs, {"preprocess": how})).reports["image"]


def words(by: tuple[int, ...]) -> str:
    if any(by[2:]):
        names = zip(("x", "y", "width", "height"), by)
        return "roi_xywh with " + " and ".join(f"{name} {'+' if n > 0 else '-'} {abs(n)}" for name, n in names if n)
    ways = {"to the left of": -by[0], "to the right of": by[0], "above": -by[1], "below": by[1]}
    said = [f"{n} pixel{'s' if n > 1 else ''} {way}" for way, n in ways.items() if n > 0]
    return f"the part {' and '.join(said)} roi_xywh"


@pytest.mark.parametrize("resize", ["stretch", "letterbox"])
@pytest.mark.parametrize("spec", [IMAGE, QUANTISED], ids=["float32", "int8"])
@pytest.mark.parametrize("by", [*((*by, 0, 0) for by in SHIFTS), *((0, 0, *by) for by in SIZES)], ids=str)
def test_a_place_or_a_size_a_little_off_is_named(by: tuple[int, ...], spec: nl.TensorSpec, resize: str) -> None:
    for noise in (0, 0.5):
        found = report(by, {"resize": resize}, spec, noise)
        assert (found.verdict, found.fix) == ("geometry", None) and words(by) in found.why, (noise, str(found))


@pytest.mark.parametrize("by", [(1, 1, -2, -2), (-1, -1, 2, 2), (3, 0, 0, 0), (0, 0, 4, 0)], ids=str)
def test_others_that_fit_exactly_are_named(by: tuple[int, ...]) -> None:
    found = report(by, {"resize": "stretch"})
    assert found.verdict == "geometry" and words(by) in found.why, str(found)
    noisy = report(by, {"resize": "stretch"}, noise=2)
    assert noisy.fix is None and (words(by) in noisy.why or "it is what" not in noisy.why), str(noisy)


@pytest.mark.parametrize("by", [(1, 1, 0, 0), (0, 0, 2, 1)], ids=str)
def test_frames_that_are_resized_in_planes(by: tuple[int, ...]) -> None:
    frames = [stored("NV12", frame) for frame in FRAMES]
    how = {"source": "NV12", "yuv": "planes", "resize": "stretch"}
    found = report(by, how, frames=frames)
    assert found.verdict == "geometry" and f"{words(by)} makes (within 0.0 " in found.why, str(found)


def test_parts_of_the_size_of_the_input() -> None:
    """Both a part one pixel to the right, and an input shifted to the left: the border distinguishes them."""
    rois = [(x, y, SIDE, SIDE) for x, y, *_ in ROIS]
    found = report((2, 1, 0, 0), {}, rois=rois)
    assert words((2, 1, 0, 0)) in found.why, str(found)
    whole, runs = report((0, 0, 0, 0), {}, rois=rois), []
    assert whole.verdict == "match"
    device = nl.Preprocessor(IMAGE, std=255)
    for frame, roi in zip(FRAMES, rois):
        x = np.roll(device(frame, roi_xywh=roi)[0], (1, 2), (2, 3))
        runs.append(({"image": x, "frame": frame, "frame.roi_xywh": np.array(roi)}, {}))
    rolled = recorded_inputs(nl.Recording({}, runs, {"preprocess": {"std": 255}})).reports["image"]
    assert "it is what the input shifted by 2 pixels to the right and 1 pixel down makes" in rolled.why, str(rolled)


def test_what_fits_alike_is_named_together() -> None:
    """Vertical stripes: nothing is known of the rows."""
    stripes = [cv2.resize(frame[200:201], (640, 480)) for frame in FRAMES]
    found = report((1, 1, 0, 0), {"resize": "stretch"}, frames=stripes)
    assert found.verdict == "geometry", str(found)
    assert f"{words((1, 0, 0, 0))} or " in found.why and " or another such change makes" in found.why, str(found)


def other_resize(part: np.ndarray, rule: str) -> np.ndarray:
    height, width = part.shape[:2]
    if rule == "antialiased":
        return cv2.resize(cv2.GaussianBlur(part, (0, 0), width / SIDE / 2.5), (SIDE, SIDE))
    if rule == "lanczos":
        return cv2.resize(part, (SIDE, SIDE), interpolation=cv2.INTER_LANCZOS4)
    x, y = (
        np.linspace(0, n - 1, SIDE) if rule == "corners aligned" else np.arange(SIDE) * n / SIDE
        for n in (width, height)
    )
    grid = np.meshgrid(x.astype(np.float32), y.astype(np.float32))
    return cv2.remap(part, *grid, cv2.INTER_LINEAR)


@pytest.mark.parametrize("noise", [0, 0.6])
@pytest.mark.parametrize("quality", [None, 90])
@pytest.mark.parametrize("dimmer", [1, 8])
@pytest.mark.parametrize("rule", ["antialiased", "lanczos", "corners aligned", "corners"])
def test_it_is_silent_on_other_formulas(rule: str, dimmer: int, quality: int | None, noise: float) -> None:
    """Other code for the resize, JPEG, noise, dim frames: the part is the noted one."""
    runs, rng = [], np.random.default_rng(1)
    for frame, (x, y, w, h) in zip(FRAMES, ROIS):
        frame = frame // dimmer
        seen = frame
        if quality is not None:
            seen = cv2.imdecode(cv2.imencode(".jpg", frame, [cv2.IMWRITE_JPEG_QUALITY, quality])[1], 1)
        pixels = other_resize(np.ascontiguousarray(seen[y : y + h, x : x + w, ::-1]), rule)
        image = (pixels + noise * rng.standard_normal(pixels.shape)) / 255
        image = image.transpose(2, 0, 1)[None].astype(np.float32)
        runs.append(({"image": image, "frame": frame, "frame.roi_xywh": np.array((x, y, w, h))}, {}))
    found = recorded_inputs(nl.Recording({}, runs, {"preprocess": {"std": 255, "resize": "stretch"}})).reports["image"]
    assert "it is what" not in found.why or "it is what interpolation=" in found.why, str(found)
    if dimmer == 1:
        assert found.verdict == "match" or "interpolation=" in found.why, str(found)


@pytest.mark.parametrize("rule", ["corners aligned", "corners"])
def test_formulas_that_are_nearly_a_part(rule: str) -> None:
    """Of three pixels for one: those of a part larger by one on each side are near, those of one moved by one equal."""
    runs, noisy, rng = [], [], np.random.default_rng(2)
    for frame, (x, y, *_) in zip(FRAMES, ROIS):
        part = frame[y : y + 3 * SIDE, x : x + 3 * SIDE, ::-1].astype(np.float32)
        image = other_resize(part, rule).transpose(2, 0, 1)[None] / np.float32(255)
        runs.append(({"image": image, "frame": frame, "frame.roi_xywh": np.array((x, y, 3 * SIDE, 3 * SIDE))}, {}))
        spread = rng.standard_normal(image.shape).astype(np.float32) / 255
        noisy.append(({**runs[-1][0], "image": image + np.float32(0.6) * spread}, {}))
    for resize in ("stretch", "letterbox", "crop"):
        how = {"std": 255, "resize": resize}
        found = recorded_inputs(nl.Recording({}, runs, {"preprocess": how})).reports["image"]
        if rule == "corners":
            both = "it is what interpolation='nearest_floor' or " in found.why and words((-1, -1, 0, 0)) in found.why
            assert found.fix is None and both, str(found)
        else:
            assert found.verdict == "match" and "resize formula" in found.why, str(found)
        found = recorded_inputs(nl.Recording({}, noisy, {"preprocess": how})).reports["image"]
        assert found.verdict == "match" and "resize formula" in found.why, str(found)


def test_what_the_search_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing where the input is as declared; else some dozens of inputs of one frame."""
    made: list[Any] = []
    monkeypatch.setattr(near_parts, "_made", lambda pair, how, by: made.append(by) or pair.made(pair.pixels(how), how))
    report((0, 0, 0, 0), {})
    assert not made
    report((1, 1, 0, 0), {})
    assert 0 < len(made) < 100
