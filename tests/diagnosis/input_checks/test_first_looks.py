"""A look at some values refuses nothing that all values would let pass, and saves making the others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.input_checks.first_looks import is_near
from npu_layout.diagnosis.input_checks.input_changes import Change
from npu_layout.diagnosis.input_checks.input_pairs import FrameInput, InputPair

HIGH, WIDE = 90, 120
HOW: dict[str, Any] = {"color": "RGB", "mean": [10.0, 20.0, 30.0], "std": [2.0, 4.0, 5.0], "resize": "stretch"}
SPECS = {
    "float32": nl.TensorSpec((1, 3, HIGH, WIDE)),
    "last": nl.TensorSpec((1, HIGH, WIDE, 3), axes="NHWC"),
    "int8": nl.TensorSpec((1, 3, HIGH, WIDE), "NCHW16c", "int8", quantization=nl.Quantization(0.8, -20)),
    "rows": nl.TensorSpec(
        (1, 3, HIGH, WIDE), "NCHW", "int8", quantization=nl.Quantization(np.linspace(0.5, 0.9, HIGH), axis=2)
    ),
    "uint8": nl.TensorSpec((1, 3, HIGH, WIDE), "NHWC", "uint8"),
    "thin": nl.TensorSpec((1, 3, 6, 2000)),
}
RNG = np.random.default_rng(0)
PLACES = {  # of the frame, where a picture differs
    "everywhere": (slice(None), slice(None)),
    "a corner": (slice(0, 9), slice(0, 7)),
    "a block": (slice(40, 52), slice(60, 72)),
    "a line": (slice(33, 34), slice(None)),
    "a pixel": (slice(46, 47), slice(58, 59)),
    "nowhere": (slice(0), slice(0)),
}


def made_of(spec: nl.TensorSpec, frame: np.ndarray, other: np.ndarray) -> tuple[InputPair, FrameInput]:
    """A pair whose input was made of `frame`, and the input that is made of another frame."""
    beside = InputPair(spec, {0: frame}, 0, np.zeros(spec.shape, np.float32), HOW)
    recorded = np.array(beside.made(beside.pixels(HOW, frame), HOW).values)
    pair = InputPair(spec, {0: frame}, 0, recorded, HOW)
    return pair, pair.made(pair.pixels(HOW, other), HOW)


def steps_off(pair: InputPair, values: np.ndarray, where: Any = ...) -> float:
    """The root mean square of the differences in steps, in float64."""
    axis = pair.spec.axes.index("C")
    std = np.ones(3) if pair.is_pixels else np.array(HOW["std"])
    units = (std / pair.step).reshape([3 if i == axis else 1 for i in range(4)])
    left = ((values.astype(np.float64) - pair.recorded) * units)[where]
    return math.sqrt(float((left**2).mean()))


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("name", SPECS)
def test_a_look_refuses_what_all_values_refuse(name: str, places: str) -> None:
    spec = SPECS[name]
    size = tuple(spec.shape[spec.axes.index(letter)] for letter in "HW")
    frame = RNG.integers(60, 200, (*size, 3)).astype(np.uint8)
    other = frame.copy()
    part = other[PLACES[places]]
    part += RNG.integers(5, 55, part.shape).astype(np.uint8)
    inner = tuple(slice(2, -2) if letter in "HW" else slice(None) for letter in spec.axes)
    for where in (..., inner):
        pair, made = made_of(spec, frame, other)
        off = steps_off(pair, np.array(made.values), where)
        change = Change("", lambda pair: FrameInput(pair.recorded), where=where)
        for most in (0.0, 0.01, 0.3, 1.0, 3.0, 0.999 * off, 1.001 * off + 1e-6):
            pair, made = made_of(spec, frame, other)
            assert is_near(pair, made, change, most) == (off <= most), (most, off)


@pytest.mark.parametrize("name", ["float32", "last", "int8", "uint8"])
def test_what_is_far_off_is_made_at_a_few_places(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    own = InputPair.as_stored

    def counting(self: InputPair, real: np.ndarray) -> np.ndarray:
        counted.append(real.size)
        return own(self, real)

    frame = RNG.integers(0, 256, (HIGH, WIDE, 3)).astype(np.uint8)
    pair, made = made_of(SPECS[name], frame, 255 - frame)
    monkeypatch.setattr(InputPair, "as_stored", counting)
    assert not is_near(pair, made, Change("", lambda pair: made), 1.0)
    assert len(counted) == 1 and counted[0] < frame.size / 4
    assert made.values.shape == pair.spec.shape and counted[1] == frame.size


def test_what_is_not_finite_is_far_off() -> None:
    pair, made = made_of(SPECS["float32"], *(np.zeros((HIGH, WIDE, 3), np.uint8),) * 2)
    for value in (np.nan, np.inf):
        values = np.full(pair.spec.shape, np.float32(value))
        assert not is_near(pair, FrameInput(values), Change("", lambda pair: made), 1e30)
