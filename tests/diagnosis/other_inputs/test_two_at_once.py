"""Two changes of an input at once, one of them a border or a reading of the frame; and one alone, which stays one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from npu_layout.diagnosis.other_inputs.input_images import Image, MadeInput, Way
from npu_layout.diagnosis.other_inputs.two_at_once import BOTH, beside_readings
from tests.diagnosis.other_inputs.test_frame_fits import FRAMES, PRE, judged, made

MEAN, STD = (np.array(PRE[name])[:, None, None] for name in ("mean", "std"))


def gray(p: np.ndarray) -> np.ndarray:
    return np.repeat((p * np.array([0.299, 0.587, 0.114])[:, None, None]).sum(1, keepdims=True), 3, 1)


def gamma(p: np.ndarray) -> np.ndarray:
    return np.asarray(255 * (np.clip(p, 0, 255) / 255) ** 2.2)


def sign(p: np.ndarray) -> np.ndarray:
    return np.asarray(np.rint(p).clip(0, 255).astype(np.uint8) ^ 0x80, np.float64)


CHANGES: dict[str, tuple[Callable[[np.ndarray], np.ndarray], str, str]] = {
    "gray": (gray, "preprocessing", "in gray"),
    "gamma": (gamma, "preprocessing", "with a gamma of 2.2"),
    "sign": (sign, "input_layout", "the highest bit of every byte is inverted"),
}


def fed(change: Callable[[np.ndarray], np.ndarray], pad: int) -> list[np.ndarray]:
    """What the device sees: frames with a border, changed afterwards."""
    inputs = [(change(made(f, pad_value=pad) * STD + MEAN) - MEAN) / STD for f in FRAMES]
    return [x.astype(np.float32) for x in inputs]


@pytest.mark.parametrize("name, pad", [("gray", 0), ("gamma", 255), ("sign", 0)])
@pytest.mark.parametrize("noise", [0.01, 0.1])
def test_a_change_beside_another_border(name: str, pad: int, noise: float) -> None:
    change, verdict, words = CHANGES[name]
    output = judged(fed(change, pad), noise, recorded=noise == 0.01)
    assert output.verdict == verdict and output.fix is None, str(output)
    near = " or a border of 255 instead of 114" if name == "sign" else ""  # 128 or 127
    assert f"{words}" in output.why and f", and a border of {pad} instead of 114{near}. With that" in output.why


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("noise", [0.01, 0.3])
def test_a_change_alone_has_no_other_border(name: str, noise: float) -> None:
    change, verdict, words = CHANGES[name]
    output = judged(fed(change, 114), noise)
    assert output.verdict in (verdict, *(("ambiguous", "mismatch") if noise == 0.3 else ())), str(output)
    assert "and a border of" not in output.why.split("With that")[0]
    assert words in output.why or output.verdict == "mismatch"


def test_mean_and_std_of_another_reading() -> None:
    """By hand: pixels of the other reading, normalised twice, and clamped at the ends of what pixels make."""
    rng = np.random.default_rng(0)
    declared, other = (rng.uniform(0, 255, (1, 3, 4, 5)) for _ in range(2))
    mean, std = np.array([10.0, 20, 30]), np.array([2.0, 3, 4])
    x = ((declared - mean[:, None, None]) / std[:, None, None]).astype(np.float32)
    image = Image(x, 1, {"preprocess": {"mean": mean, "std": std}}, None)
    read = MadeInput(lambda: ((other - mean[:, None, None]) / std[:, None, None]).astype(np.float32))
    reading = Way(("source", "it"), "the frame is read as it is", {"source": "NV21", "color": "RGB"}, read)
    ways = {way.id: way for way in beside_readings(image, [reading])}
    once = (other - mean[:, None, None]) / std[:, None, None]
    twice = (once - mean[:, None, None]) / std[:, None, None]
    found = ways[BOTH, ("scale", "twice", ""), ("source", "it")]
    np.testing.assert_allclose(found.made.x, twice, rtol=1e-3, atol=1e-3)
    assert found.fix == {"source": "NV21", "color": "RGB", "mean": [30.0, 80.0, 150.0], "std": [4.0, 9.0, 16.0]}
    assert found.text == "mean and std applied twice, and the frame is read as it is" and found.combines
    clamped = ways[BOTH, ("scale", "twice", "all pixels"), ("source", "it")]
    low, high = ((end - mean) / std for end in (0, 255))
    np.testing.assert_allclose(clamped.made.x, np.clip(twice, low.min(), high.max()), rtol=1e-3, atol=1e-3)
    assert not list(beside_readings(Image(x * 1e6, 1, {}, None), [reading]))
