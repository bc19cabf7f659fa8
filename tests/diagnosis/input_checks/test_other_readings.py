"""Frames of Y, U and V that were read in another way, beside another argument or mirrored; and faultless ones."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.input_checks.input_check import recorded_inputs
from tests.diagnosis.input_checks.test_input_sources import SIZE, scene, stored

TARGET = nl.TensorSpec((1, 3, 30, 32), "NCHW", "float32", name="x")
BYTES = nl.TensorSpec((1, 3, 30, 32), "NHWC", "uint8", name="x")
HOW: dict[str, Any] = {"resize": "letterbox", "pad_value": 114, "mean": 0, "std": 255, "color": "RGB"}
READINGS = {
    "planes": ({"yuv": "planes"}, "yuv='planes'"),
    "matrix": ({"matrix": "bt709"}, "matrix='bt709' (BT.709)"),
    "range": ({"range": "full"}, "range='full' (0 to 255)"),
}
ARGUMENTS = {
    "resize": ({"resize": "stretch"}, "resize='stretch'"),
    "interpolation": ({"interpolation": "area"}, "interpolation='area'"),
    "border": ({"pad_value": 0}, "pad_value=0"),
    "mean": ({"mean": 0, "std": 1}, "mean=0, std=1 (mean and std forgotten)"),
    "color": ({"color": "BGR"}, "color='BGR'"),
}


def how_of(name: str, **how: Any) -> dict[str, Any]:
    """Arguments with a source of this format; `matrix` and `range` are the source's."""
    of_source = {key: how.pop(key) for key in ("matrix", "range") if key in how}
    return {**HOW, **how, "source": nl.FrameSpec(name, SIZE, **of_source)}


def made(frame: np.ndarray, spec: nl.TensorSpec, how: dict[str, Any]) -> np.ndarray:
    """The input in float32, or rounded pixels, by hand: a Preprocessor refuses some of the arithmetic."""
    fitting = {key: value for key, value in how.items() if key not in ("mean", "std")}
    pixels = nl.Preprocessor(TARGET, **fitting)(frame)[0]
    if spec is BYTES:
        return np.ascontiguousarray(np.rint(pixels).astype(np.uint8).transpose(0, 2, 3, 1))
    mean, std = (np.float32(how[key]).reshape(-1, 1, 1) for key in ("mean", "std"))
    return np.ascontiguousarray((pixels - mean) / std)


def judged(frames: list[np.ndarray], inputs: list[np.ndarray], spec: nl.TensorSpec, declared: dict[str, Any]) -> Any:
    runs = [({"x": x, "frame": frame}, {}) for x, frame in zip(inputs, frames)]
    how = nl.Preprocessor(TARGET, **declared).arguments
    return recorded_inputs(nl.Recording({"x": spec}, runs, {"preprocess": how})).reports["x"]


@pytest.mark.parametrize("name", ["NV12", "I420", "YUYV"])
@pytest.mark.parametrize("yuv", ["exact", "planes"])
def test_whether_planes_or_colours_were_resized(name: str, yuv: str) -> None:
    frames = [stored(name, scene(seed)) for seed in range(3)]
    other = {"exact": "planes", "planes": "exact"}[yuv]
    declared, really = how_of(name, yuv=yuv, resize="stretch"), how_of(name, yuv=other, resize="stretch")
    found = judged(frames, [made(frame, TARGET, really) for frame in frames], TARGET, declared)
    assert found.verdict == "preprocessing" and f"it is what yuv={other!r} makes" in found.why, str(found)
    assert found.fix["yuv"] == other
    for frame in frames:
        again = nl.Preprocessor(TARGET, **found.fix)(frame)[0]
        np.testing.assert_allclose(again, made(frame, TARGET, really), atol=1e-6)


PAIRS = [  # pixels have no mean; planes are not resized by area
    (reading, argument, spec)
    for reading, argument, spec in product(READINGS, ARGUMENTS, ("float32", "uint8"))
    if (argument, spec) != ("mean", "uint8") and (reading, argument) != ("planes", "interpolation")
]


@pytest.mark.parametrize(("reading", "argument", "dtype"), PAIRS)
def test_another_reading_beside_another_argument(reading: str, argument: str, dtype: str) -> None:
    spec = {"float32": TARGET, "uint8": BYTES}[dtype]
    (one, words), (other, beside) = READINGS[reading], ARGUMENTS[argument]
    frames = [stored("NV12", scene(seed)) for seed in range(3)]
    really = how_of("NV12", **one, **other)
    found = judged(frames, [made(frame, spec, really) for frame in frames], spec, how_of("NV12"))
    assert found.verdict == "preprocessing" and found.fix is not None, str(found)
    if argument != "color" or reading == "planes":
        assert f"it is what {words}, {beside} makes" in found.why, str(found)
    for frame in frames:
        again = made(frame, spec, {**HOW, **found.fix})
        assert np.abs(again.astype(float) - made(frame, spec, really)).max() < 1.1, str(found)


@pytest.mark.parametrize("reading", READINGS)
def test_another_reading_of_a_mirrored_input(reading: str) -> None:
    one, words = READINGS[reading]
    frames = [stored("NV12", scene(seed)) for seed in range(3)]
    inputs = [made(frame, TARGET, how_of("NV12", **one))[..., ::-1].copy() for frame in frames]
    found = judged(frames, inputs, TARGET, how_of("NV12"))
    assert (found.verdict, found.fix) == ("geometry", None), str(found)
    assert f"it is what {words} with the input mirrored from left to right makes" in found.why, str(found)


@pytest.mark.parametrize("resize", ["letterbox", "stretch"])
@pytest.mark.parametrize(("mean", "std"), [(0, 255), (127.5, 127.5)])
def test_what_is_as_declared_is_named_beside_no_reading(mean: float, std: float, resize: str) -> None:
    """Mean and std as declared are also those of a mistake, and the border is that of the input."""
    declared = how_of("NV12", resize=resize, mean=mean, std=std)
    frames, rng = [stored("NV12", scene(seed)) for seed in range(3)], np.random.default_rng(0)
    inputs = [made(frame, TARGET, {**declared, "yuv": "planes"}) for frame in frames]
    inputs = [(x + rng.normal(0, 0.4 / std, x.shape)).astype(np.float32) for x in inputs]
    found = judged(frames, inputs, TARGET, declared)
    assert found.verdict == "match" and "except for the resize formula" in found.why, str(found)


@pytest.mark.parametrize("seed", range(6))
def test_it_is_silent_on_the_faultless(seed: int) -> None:
    """Noise of any strength, and pictures of one's own, are no other reading."""
    rng, declared = np.random.default_rng(seed), how_of("NV12", yuv=("exact", "planes")[seed % 2])
    frames = [stored("NV12", scene(3 * seed + i)) for i in range(3)]
    right = [made(frame, TARGET, declared) for frame in frames]
    assert judged(frames, right, TARGET, declared).verdict == "match"
    for deviation in (0.5, 2, 8):
        noisy = [np.clip(x + rng.normal(0, deviation / 255, x.shape), 0, 1).astype(np.float32) for x in right]
        found = judged(frames, noisy, TARGET, declared)
        assert found.verdict == "match" or "no known change" in found.why, str(found)
    for change in (lambda x: 1 - x, lambda x: x * 0 + 0.3, lambda x: rng.random(x.shape).astype(np.float32)):
        found = judged(frames, [change(x).astype(np.float32) for x in right], TARGET, declared)
        assert found.fix is None and "no known change" in found.why, str(found)
