"""What is as declared, what is another code for the same, what a loss, and what no change explains."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

import npu_layout as nl
from tests.diagnosis.input_checks.test_input_check import FRAMES, HOW, SIDE, by, floats, judged, own, smooth


def test_another_code_for_the_same() -> None:
    exact = judged(own(floats))
    assert exact and "formula" not in exact.why, str(exact)
    assert judged(own(lambda frame: np.rint(floats(frame))))
    other = judged(own(smooth))
    assert other and "except for the resize formula: it differs by 8." in other.why, str(other)
    wrong = judged(own(lambda frame: smooth(frame)[..., ::-1]))
    assert wrong.fix == {**HOW, "color": "BGR"} and "it is what color='BGR' makes (within 8." in wrong.why, str(wrong)


def test_what_no_known_change_explains() -> None:
    both = judged(lambda frame: by(color="BGR")(255 - cv2.flip(frame, 1)))
    assert both.verdict == "preprocessing" and both.fix is None
    assert "pixel values in frame 4, and no known change explains that (frames 0, 2, 4" in both.why, str(both)
    mirrored = judged(own(lambda frame: floats(frame)[:, ::-1]))
    assert not mirrored and mirrored.fix is None
    numbers = iter(range(5))
    one = judged(lambda frame: by(color="BGR" if next(numbers) == 2 else "RGB")(frame))
    assert not one and one.fix is None and "in frame 2" in one.why, str(one)


@pytest.mark.parametrize("stored", [nl.Quantization(1 / 32, -3), None])
@pytest.mark.parametrize("value", [0, 255])
def test_an_input_of_one_colour_has_no_picture(stored: nl.Quantization | None, value: int) -> None:
    """As of a buffer that was recorded before it was filled. Not if one frame alone is so, or the camera sees it."""
    shape, dtype = (1, 3, SIDE, SIDE), "float32" if stored is None else "int8"
    spec = nl.TensorSpec(shape, "NHWC", dtype, quantization=stored, name="image")
    blank = np.full(spec.storage_shape, spec.pack(np.full(shape, (value - 128) / 64, np.float32)).flat[0])
    found = judged(lambda frame: blank, spec=spec)
    assert found.verdict == "preprocessing" and found.fix is None, str(found)
    assert "it is one colour, " in found.why and "the picture is in the buffer" in found.why, str(found)
    assert "roi_xywh" not in found.why
    plain = [np.full_like(frame, value) for frame in FRAMES]
    assert judged(by(spec, pad_value=value), {**HOW, "pad_value": value}, plain, spec=spec).verdict == "match"
    calls = iter(range(5))
    one = judged(lambda frame: blank if next(calls) == 2 else by(spec)(frame), spec=spec)
    assert not one and "one colour" not in one.why, str(one)


def test_an_antialiased_resize_of_smooth_frames_is_one_of_ones_own() -> None:
    """It is near cv2's area, but not to the pixel."""
    smooth = [cv2.GaussianBlur(frame, (0, 0), 9) for frame in FRAMES]
    small = own(lambda x: cv2.resize(cv2.GaussianBlur(x, (0, 0), 5), (48, 36), interpolation=cv2.INTER_LINEAR))
    found = judged(small, frames=smooth)
    assert found.verdict == "match" and "except for the resize formula" in found.why, found
    area = judged(by(interpolation="area"), frames=smooth)
    assert area.fix is not None and area.fix["interpolation"] == "area", area


def test_what_a_preprocessor_refuses_is_no_match() -> None:
    """Pixels of 0 to 255 in an input of 0 to 1: the input is as declared, and all of it is clamped."""
    spec = nl.TensorSpec((1, 3, SIDE, SIDE), "NHWC", "uint8", quantization=nl.Quantization(1 / 255, 0), name="image")
    pixels = by(nl.TensorSpec((1, 3, SIDE, SIDE), "NHWC"), mean=0, std=1)
    how = {**HOW, "mean": 0, "std": 1}
    found = judged(lambda frame: spec.pack(np.moveaxis(pixels(frame), 3, 1)), how, spec=spec)
    assert found.verdict == "preprocessing" and found.fix is None
    assert "but a Preprocessor refuses that: " in found.why and "mean=0, std=255 would fit" in found.why
    for how in ({"mean": 0, "std": 255}, {}):  # or neither is said
        said = {name: value for name, value in HOW.items() if name not in ("mean", "std")}
        assert judged(by(spec, mean=0, std=255), {**said, **how}, spec=spec).verdict == "match"
        white = [np.full_like(frame, 255) - frame // 250 for frame in FRAMES]
        assert judged(by(spec, mean=0, std=255), {**said, **how}, white, spec=spec).verdict == "match"


@pytest.mark.parametrize("quality", [53, 58, 64, 94])
def test_flat_frames_that_were_jpeg_files_are_no_fault(quality: int) -> None:
    """Each quality moves a flat colour to another one, by more or less than the qualities beside it."""

    def lossy(frame: np.ndarray) -> np.ndarray:
        return cv2.imdecode(cv2.imencode(".jpg", frame, [cv2.IMWRITE_JPEG_QUALITY, quality])[1], 1)

    for seed in range(6):
        rng = np.random.default_rng(seed)
        colours = rng.uniform(20, 235, (3, 1, 1, 3)) + rng.uniform(-20, 20, (3, 1, 2, 3)).repeat([40, 93], 2)
        noise = rng.normal(size=(3, 90, 133, 3)) * rng.choice([0, 0.7, 2])
        frames = list(np.clip(colours + noise, 0, 255).astype(np.uint8))
        found = judged(lambda frame: by()(lossy(frame)), frames=frames)
        assert found.verdict == "match", str(found)
        lit = judged(lambda frame: by()(np.clip(frame * 1.07 + 0.5, 0, 255).astype(np.uint8)), frames=frames)
        assert lit.verdict == "preprocessing", str(lit)


@pytest.mark.parametrize("quality", [55, 60, 75])
def test_frames_of_one_colour_that_were_recorded_as_jpeg_files(quality: int) -> None:
    """The file moves the colour that was fed, and no quality makes that of the file's."""
    for seed in range(12):
        fed = [
            np.full((90, 133, 3), colour, np.uint8) for colour in np.random.default_rng(seed).integers(20, 230, (3, 3))
        ]
        recorded = [cv2.imdecode(cv2.imencode(".jpg", x, [cv2.IMWRITE_JPEG_QUALITY, quality])[1], 1) for x in fed]
        of_file = {one.tobytes(): other for one, other in zip(recorded, fed)}
        found = judged(lambda frame, of=of_file: by()(of[frame.tobytes()]), frames=recorded)
        assert found.verdict == "match", str(found)
        assert judged(lambda frame, of=of_file: by()(of[frame.tobytes()] + 5), frames=recorded).verdict != "match"


def test_frames_of_different_sizes_that_no_change_explains() -> None:
    """The rows of each have a pitch of their own."""
    rng = np.random.default_rng(0)

    def picture(*size: int) -> np.ndarray:
        small = rng.integers(0, 256, (4, 5, 3)).astype(np.uint8)
        return cv2.resize(small, size, interpolation=cv2.INTER_CUBIC)

    frames = [picture(width, 70) for width in (90, 173, 41)]
    found = judged(lambda frame: by()(picture(*frame.shape[1::-1])), frames=frames)
    assert found.verdict == "preprocessing" and found.fix is None
