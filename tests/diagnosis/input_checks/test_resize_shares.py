"""Another resize, or noise: which share of a difference other resizes make."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis import recorded_inputs
from npu_layout.diagnosis.input_checks.input_pairs import InputPair
from npu_layout.diagnosis.input_checks.resize_shares import NOISE, share_of_resizes

SIDE = 40
HOW = {"color": "RGB", "mean": 0, "std": 1, "resize": "stretch"}
SPEC = nl.TensorSpec((1, 3, SIDE, SIDE), "NCHW")


def picture(seed: int) -> np.ndarray:
    """A BGR frame of shapes and texture."""
    rng = np.random.default_rng(seed)
    frame = cv2.resize(rng.integers(0, 256, (9, 12, 3)).astype(np.uint8), (160, 120), interpolation=cv2.INTER_NEAREST)
    return np.clip(frame + rng.normal(0, 8, frame.shape), 0, 255).astype(np.uint8)


def resized(frame: np.ndarray, interpolation: int) -> np.ndarray:
    rgb = cv2.resize(np.ascontiguousarray(frame[..., ::-1]), (SIDE, SIDE), interpolation=interpolation)
    return np.ascontiguousarray(np.moveaxis(rgb, 2, 0)[None], np.float32)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("what", ["lanczos", "half a pixel", "blurred", "noise", "noise, coarse"])
def test_noise_is_no_resize(what: str, seed: int) -> None:
    frame, rng = picture(seed), np.random.default_rng(seed)
    made = resized(frame, cv2.INTER_LINEAR)
    moved = np.ascontiguousarray(np.roll(frame, 2, 1))
    recorded = {
        "lanczos": lambda: resized(frame, cv2.INTER_LANCZOS4),
        "half a pixel": lambda: resized(moved, cv2.INTER_LINEAR),
        "blurred": lambda: resized(cv2.GaussianBlur(frame, (0, 0), 2), cv2.INTER_LINEAR),
        "noise": lambda: made + rng.normal(0, 5, made.shape).astype(np.float32),
        "noise, coarse": lambda: made + rng.integers(-1, 2, made.shape).astype(np.float32) * 8,
    }[what]()
    pair = InputPair(SPEC, {0: frame}, 0, recorded, HOW)
    others = [resized(frame, way) for way in (cv2.INTER_NEAREST, cv2.INTER_AREA, cv2.INTER_CUBIC)]
    assert (share_of_resizes(pair, made, others) < NOISE) == what.startswith("noise")


def test_an_exact_input_has_no_share() -> None:
    frame = picture(0)
    made = resized(frame, cv2.INTER_LINEAR)
    assert share_of_resizes(InputPair(SPEC, {0: frame}, 0, made, HOW), made, [made]) == 0


def test_the_report_calls_noise_noise() -> None:
    frames = [picture(seed) for seed in range(3)]
    rng = np.random.default_rng(0)
    made = [nl.Preprocessor(SPEC, **HOW)(frame)[0].reshape(SPEC.shape) for frame in frames]

    def why(recorded: list[np.ndarray]) -> str:
        runs = [({"image": x, "frame": frame}, {}) for x, frame in zip(recorded, frames)]
        found = recorded_inputs(nl.Recording({"image": SPEC}, runs, {"preprocess": HOW})).reports["image"]
        assert found.verdict == "match", str(found)
        return found.why

    assert "noise, which no other resize makes" in why([x + rng.normal(0, 4, x.shape).astype(np.float32) for x in made])
    assert "except for the resize formula" in why([resized(frame, cv2.INTER_LANCZOS4) for frame in frames])
