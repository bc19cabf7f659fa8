"""Another white balance, made here by hand; and what is none."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.input_checks.input_check import recorded_inputs
from tests.support.input_bench import DISTURBED, Bench, Picture, jpeg, lit, said_of_disturbed

WARM = np.array([0.8, 1.0, 1.25])  # of blue, green and red
CASES = [("plain", "uint8", "walk"), ("imagenet", "int8", "texture"), ("signed", "int16", "walk")]
QUANTISED = pytest.mark.parametrize("case", CASES, ids="-".join)


def balanced(picture: np.ndarray, factors: np.ndarray = WARM) -> np.ndarray:
    return np.clip(np.rint(picture * factors), 0, 255).astype(np.uint8)


@QUANTISED
def test_a_balanced_frame_is_named(case: tuple[str, str, str]) -> None:
    found = Bench(*case).of_frames(balanced)
    assert (found.verdict, found.fix) == ("preprocessing", None), str(found)
    assert "the frame with another white balance (blue times 0.80, green times 1.00, red times 1.25)" in found.why


@QUANTISED
def test_a_balanced_input_is_named(case: tuple[str, str, str]) -> None:
    """Its border is, too."""
    bench = Bench(*case)
    made = [np.clip(np.rint(bench.pixels(f) * WARM[::-1].reshape(1, 3, 1, 1)), 0, 255) for f in bench.frames]
    found = bench.judged([bench.stored(pixels) for pixels in made])
    assert (found.verdict, found.fix) == ("preprocessing", None), str(found)
    assert "the input with another white balance (blue times 0.80, green times 1.00, red times 1.25)" in found.why


def test_a_balance_of_floats_that_cuts_nothing_is_another_std() -> None:
    """The two make the same values, and one of them has a fix."""
    bench, factors = Bench("unit", "float32", "dim"), np.array([2.0, 1.5, 1.0])
    pixels = [bench.pixels(frame) * factors.reshape(1, 3, 1, 1) for frame in bench.frames]
    found = bench.judged([bench.stored(values) for values in pixels])
    assert found.fix is not None and "white balance" not in found.why, str(found)
    np.testing.assert_allclose(np.ravel(found.fix["std"]), 255 / factors, rtol=2e-3)


@pytest.mark.parametrize("frames", ["walk", "texture", "dim"])
@pytest.mark.parametrize(("arithmetic", "dtype"), [case[:2] for case in CASES] + [("imagenet", "float32")])
def test_silence_on_what_is_none(arithmetic: str, dtype: str, frames: str) -> None:
    """Noise, light, losses, other colours and pictures of one colour are no other white balance."""
    changes: list[Picture] = [
        *map(lit, (0.9, 1.2)),
        lambda x: cv2.add(x, (2, 2, 2, 0)),
        lambda x: jpeg(50)(balanced(x))[:, ::-1],
        lambda x: balanced(x, np.array([0.98, 1.0, 1.02])),
        lambda x: x[..., ::-1],
        lambda x: x * 0 + np.array([70, 90, 120], np.uint8),
    ]
    said = {what: said_of_disturbed(arithmetic, dtype, frames, what) for what in DISTURBED}
    said |= {str(i): Bench(arithmetic, dtype, frames).of_frames(change).why for i, change in enumerate(changes)}
    assert not {what: why for what, why in said.items() if "white balance" in why}


@pytest.mark.parametrize("side", [1, 5, 40])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "int8"])
def test_a_gray_model_has_no_balance(dtype: str, side: int) -> None:
    """Its inputs have one channel; what nothing explains stays without a cause, however small it is."""
    rng = np.random.default_rng(2)
    quantization = nl.Quantization(1 / 64, 3) if dtype == "int8" else None
    spec = nl.TensorSpec((1, 1, side, side), "NCHW", dtype, quantization=quantization)
    how = {"color": "GRAY", **({} if dtype == "uint8" else {"mean": 128, "std": 64})}
    runs = []
    for _ in range(3):
        frame = rng.integers(0, 256, (60, 60, 3), np.uint8)
        other = cv2.equalizeHist(rng.integers(0, 256, (60, 60), np.uint8))[..., None].repeat(3, 2)
        runs.append(({"image": nl.Preprocessor(spec, **how)(other)[0], "frame": frame}, {}))
    found = recorded_inputs(nl.Recording({"image": spec}, runs, {"preprocess": how})).reports["image"]
    assert found.fix is None and "white balance" not in str(found), str(found)
