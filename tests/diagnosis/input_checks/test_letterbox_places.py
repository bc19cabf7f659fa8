"""Letterboxes whose picture is at another side or corner, made here by hand."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis import recorded_inputs
from npu_layout.diagnosis.input_checks.input_pairs import InputPair
from npu_layout.diagnosis.input_checks.letterbox_places import placed
from tests.support.input_bench import FRAMES

SIDE = 64
SPEC = nl.TensorSpec((1, 3, SIDE, SIDE), "NHWC", "uint8", name="image")
SMALL = [cv2.resize(frame, (40, 30), interpolation=cv2.INTER_AREA) for frame in FRAMES["walk"]]


def found(frames: list[np.ndarray], noise: float = 0.0, **how: object) -> object:
    """The report on pictures of 48 rows, of 48 columns, or of their own size, at the bottom and the right."""
    rng, runs = np.random.default_rng(0), []
    for frame in frames:
        enlarges = how.get("scaleup", True)
        factor = SIDE / max(frame.shape[:2]) if enlarges else 1.0
        tall, wide = (round(extent * factor) for extent in frame.shape[:2])
        canvas = np.full((SIDE, SIDE, 3), 114, np.uint8)
        canvas[SIDE - tall :, SIDE - wide :] = (
            cv2.resize(frame, (wide, tall))[..., ::-1] if enlarges else frame[..., ::-1]
        )
        fed = np.clip(np.rint(canvas + rng.normal(0, noise, canvas.shape)), 0, 255).astype(np.uint8)
        runs.append(({"image": fed.reshape(-1), "frame": frame}, {}))
    meta = {"preprocess": {"color": "RGB", "resize": "letterbox", "std": 255, **how}}
    return recorded_inputs(nl.Recording({"image": SPEC}, runs, meta)).reports["image"]


@pytest.mark.parametrize("noise", [0.0, 3.0])
@pytest.mark.parametrize(
    ("frames", "how", "words"),
    [
        (FRAMES["walk"], {}, "at the bottom of"),
        (FRAMES["walk"], {"resize": "letterbox_top_left"}, "at the bottom of"),
        ([frame.transpose(1, 0, 2).copy() for frame in FRAMES["walk"]], {}, "at the right of"),
        (SMALL, {"scaleup": False}, "at the bottom right of"),
    ],
    ids=["landscape", "top left", "portrait", "small"],
)
def test_a_picture_at_another_place(frames: list[np.ndarray], how: dict[str, object], words: str, noise: float) -> None:
    report = found(frames, noise, **how)
    assert (report.verdict, report.fix) == ("geometry", None), str(report)
    assert f"it is what the picture {words} its letterbox makes" in report.why, str(report)


def test_what_a_preprocessor_makes_is_no_other_place() -> None:
    how = {"color": "RGB", "std": 255, "resize": "letterbox"}
    for resize in ("letterbox", "letterbox_top_left"):
        make = nl.Preprocessor(SPEC, color="RGB", resize=resize)
        runs = [({"image": make(frame)[0], "frame": frame}, {}) for frame in FRAMES["walk"]]
        report = recorded_inputs(nl.Recording({"image": SPEC}, runs, {"preprocess": how})).reports["image"]
        assert report.fix is None if resize == "letterbox" else report.fix["resize"] == resize, str(report)
    pair = InputPair(SPEC, {0: SMALL[0]}, 0, np.zeros(SPEC.shape), {**how, "scaleup": False})
    assert len({change.words for change in placed(pair.declared, pair)}) == 7
    assert not [*placed({**how, "resize": "stretch"}, pair)]
    square = InputPair(SPEC, {0: SMALL[0][:30, :30]}, 0, np.zeros(SPEC.shape), how)
    assert not [*placed(how, square)]
