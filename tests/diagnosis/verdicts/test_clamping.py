"""What the ends of a range explain, and what they do not."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.comparison import OutputPart
from npu_layout.diagnosis.scoring.evidence import Evidence
from npu_layout.diagnosis.scoring.trials import Candidate
from npu_layout.diagnosis.verdicts import clamping
from tests.support.candidates import SHAPE, SPEC, evidence, scaled, stored


@pytest.mark.parametrize(("device", "fitted", "noise"), [(4.0, 0.25, False), (1.0, 0.2, True)])
def test_a_scale_that_clamps_what_the_device_does_not_is_of_noise(device: float, fitted: float, noise: bool) -> None:
    found = evidence(device)
    assert clamping.clamps_noise(found, scaled(found, fitted)) == noise


@pytest.mark.parametrize(("true", "cut"), [("clip", True), ("tanh", False), ("relu", False), ("cut relu", False)])
def test_a_function_that_explains_less_than_cut_values(true: str, cut: bool) -> None:
    """A layer that saturates returns the model's values between two ends; no function of the list does."""
    rng = np.random.default_rng(10)
    model = [(2 * rng.standard_normal(SHAPE)).astype(np.float32) for _ in range(4)]
    make = {"clip": lambda x: np.clip(x, -1.1, 0.8), "tanh": np.tanh, "relu": lambda x: np.maximum(x, 0)}
    make["cut relu"] = lambda x: np.clip(x, 0, 3)
    spec = nl.TensorSpec(SHAPE, "NCHW", "float32", name="y")
    device = [(make[true](x) + 0.03 * rng.standard_normal(SHAPE)).astype(np.float32).ravel() for x in model]
    found = Evidence(spec, device, model, (), 1)
    function = np.tanh if true == "clip" else make[true.split()[-1]]
    left = found.codes - function(found.wanted)
    ranking = found.rank([found.as_declared(), found.tried("activation", "", left)])
    c = next(c for c in ranking if c.cause == "activation")
    assert c.score > 6 and clamping.is_cut(found, c) == cut


def test_what_an_input_clamps() -> None:
    """Of 127 steps of 0.05 the ends are 6.4 from 0: of values that are twelve times larger, more than half."""
    found = Evidence(SPEC, *stored(), (), 1)
    for factor in (1, 12):
        answers = {k: factor * x for k, x in enumerate(stored()[1])}
        found.rank([found.as_declared()._replace(cause="preprocessing", answers=answers)])
        share = clamping.clamped_of_input(found, Candidate("preprocessing", "", 9.0, 9.0, {}))
        beyond = np.mean([(x < -128.5 * 0.05) | (x > 127.5 * 0.05) for x in answers.values()])
        assert share == pytest.approx(beyond, abs=0.02)
        assert (share > 0.5) == (factor == 12)


def test_channels_that_the_dtype_cannot_store_have_that_as_their_reason() -> None:
    """Two of four channels are below 0, where an int8 of zero point -128 ends."""
    rng = np.random.default_rng(1)
    sign = np.float32([[[[1]], [[-1]], [[1]], [[-1]]]])
    model = [np.abs(rng.standard_normal(SHAPE)).astype(np.float32) * sign for _ in range(2)]
    spec = nl.TensorSpec(SHAPE, "NCHW", "int8", quantization=nl.Quantization(0.03, -128), name="y")
    found = Evidence(spec, [spec.pack(x) for x in model], model, (), 1)
    parts = [
        OutputPart(1, 1, 4, 2.0),
        OutputPart(1, 2, 4, 2.0),
        OutputPart(1, 3, 4, 2.0, "it is 0"),
        OutputPart(2, 1, 9, 1),
    ]
    whys = [part.why for part in clamping.with_what_is_clamped(found, parts)]
    assert whys == ["most of the model's values there are beyond what the device can store", "", "it is 0", ""]
    assert clamping.with_what_is_clamped(found, parts[3:]) == parts[3:]
    alone = Evidence(spec, [spec.pack(x) for x in model], model, (), None)
    assert clamping.with_what_is_clamped(alone, parts) == parts
