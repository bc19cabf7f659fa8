"""Frames that were recorded as JPEG files: their loss is no fault, and hides none."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis import recorded_inputs
from npu_layout.diagnosis.input_checks import jpeg_files
from npu_layout.diagnosis.input_checks.jpeg_files import file_quality

SIDE = 40
HOW = {"color": "RGB", "mean": 0, "std": 255, "resize": "letterbox"}
SPEC = nl.TensorSpec((1, 3, SIDE, SIDE), "NCHW", name="image")


def shapes(seed: int) -> np.ndarray:
    """Squares and disks of all colours, with noise: what JPEG files lose most of."""
    rng = np.random.default_rng(seed)
    frame = np.full((48, 64, 3), rng.integers(0, 256, 3), np.uint8)
    for _ in range(12):
        x, y, size = (int(n) for n in rng.integers(0, 48, 3))
        colour = tuple(int(n) for n in rng.integers(0, 256, 3))
        if rng.integers(2):
            cv2.circle(frame, (x, y), 3 + size // 4, colour, -1)
        else:
            cv2.rectangle(frame, (x, y), (x + 4 + size // 3, y + 4 + size // 4), colour, -1)
    return np.clip(frame + rng.normal(0, 12, frame.shape), 0, 255).astype(np.uint8)


def dark(seed: int) -> np.ndarray:
    return shapes(seed) // 8


def smooth(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return cv2.resize(rng.integers(0, 256, (5, 7, 3)).astype(np.uint8), (128, 96), interpolation=cv2.INTER_CUBIC)


PICTURES = {"shapes": shapes, "dark": dark, "smooth": smooth}


def jpeg(frame: np.ndarray, quality: int) -> np.ndarray:
    return cv2.imdecode(cv2.imencode(".jpg", frame, [cv2.IMWRITE_JPEG_QUALITY, quality])[1], cv2.IMREAD_COLOR)


def judged(seen: list[np.ndarray], stored: list[np.ndarray], **how: object) -> nl.InputReport:
    """Return what is said of inputs that were made of `seen`, if the recording has the frames `stored`."""
    made = nl.Preprocessor(SPEC, **{**HOW, **how})
    runs = [({"image": made(x)[0], "frame": y}, {}) for x, y in zip(seen, stored)]
    return recorded_inputs(nl.Recording({"image": SPEC}, runs, {"preprocess": HOW})).reports["image"]


@pytest.mark.parametrize("quality", [50, 60, 75, 90])
@pytest.mark.parametrize("picture", PICTURES)
@pytest.mark.parametrize("seed", range(3))
def test_what_files_lose_is_no_fault(picture: str, quality: int, seed: int) -> None:
    frames = [PICTURES[picture](3 * seed + k) for k in range(3)]
    found = judged(frames, [jpeg(x, quality) for x in frames])
    assert found.verdict == "match", found.why


@pytest.mark.parametrize("quality", [50, 75])
@pytest.mark.parametrize("seed", range(3))
def test_faults_are_named_in_files_too(quality: int, seed: int) -> None:
    frames = [shapes(3 * seed + k) for k in range(3)]
    stored = [jpeg(x, quality) for x in frames]
    assert judged(frames, stored, color="BGR").fix == {**HOW, "color": "BGR"}
    assert "mirrored" in judged([np.ascontiguousarray(x[:, ::-1]) for x in frames], stored).why


@pytest.mark.parametrize("change", [lambda x: 255 - x, lambda x: np.roll(x, 16, 0)], ids=["negative", "rolled"])
def test_what_has_no_name_stays_a_fault(change: Callable[[np.ndarray], np.ndarray]) -> None:
    frames = [shapes(k) for k in range(3)]
    found = judged([change(x) for x in frames], [jpeg(x, 50) for x in frames])
    assert found.verdict != "match", found.why


TURNS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "BGR": lambda x: x,
    "RGB": lambda x: x[..., ::-1],
    "BGRA": lambda x: np.dstack([x, x[..., 0]]),
}


@pytest.mark.parametrize("size", [(48, 64), (600, 700)])
@pytest.mark.parametrize("source", TURNS)
@pytest.mark.parametrize("quality", [50, 75, 90])
def test_the_quality_of_a_file(size: tuple[int, int], source: str, quality: int) -> None:
    """Of large ones a part is looked at; a frame that was no file has none."""
    frame = cv2.resize(shapes(quality), size[::-1], interpolation=cv2.INTER_NEAREST)
    found = file_quality(TURNS[source](jpeg(frame, quality)), source)
    assert found is not None and abs(found - quality) <= 1
    assert file_quality(TURNS[source](frame), source) is None


@pytest.mark.parametrize("quality", [50, 75, 90])
def test_the_quality_of_a_gray_file(quality: int) -> None:
    gray = cv2.cvtColor(shapes(quality), cv2.COLOR_BGR2GRAY)
    data = cv2.imencode(".jpg", gray, [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
    assert file_quality(cv2.imdecode(data, cv2.IMREAD_GRAYSCALE), "GRAY") == quality
    assert file_quality(gray, "GRAY") is None


def test_a_frame_is_compressed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is judged with each of the usual means; a frame with another pixel is another one."""
    made: list[int] = []

    def counted(frame: np.ndarray, quality: int, beside: int = 0) -> np.ndarray:
        made.append(quality)
        return once(frame, quality, beside)

    once = jpeg_files.jpeg
    monkeypatch.setattr(jpeg_files, "jpeg", counted)
    frame = jpeg(np.roll(shapes(3), 5, 1), 75)
    found = file_quality(frame, "BGR")
    assert len(made) == 100 and file_quality(frame.copy(), "BGR") == found and len(made) == 100
    frame[8, 8] += 9
    file_quality(frame, "BGR")
    assert len(made) == 200
