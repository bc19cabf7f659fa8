"""What the device leaves to the host: softmax, normalisation, ReLU, argmax."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.computed.endings import endings
from npu_layout.diagnosis.scoring.evidence import Evidence
from tests.support.boards import same
from tests.support.endings import ending, smooth, verdict

MAPS = (1, 7, 12, 16)
NORMALISED = {"op": "LpNormalization", "axis": 1, "p": 2}


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("db", [40, 15])
def test_what_is_missing_is_named(dtype: str, db: float) -> None:
    inputs = smooth(MAPS)
    for model, text in (
        (ending(MAPS, "Softmax", axis=1), "a missing softmax"),
        (ending(MAPS, **NORMALISED), "a missing L2 normalisation"),
        (ending(MAPS, "Relu"), "a missing ReLU"),
    ):
        output = verdict(model, inputs, lambda x, y: x, db, dtype)
        assert output.verdict == "activation" and output.fix is None, str(output)
        assert output.why.startswith(f"The device's model ends in another way: {text}. "), output.why
        assert "Fix: end the device's model where the ONNX model ends" in output.why


@pytest.mark.parametrize("db", [30, 15, 10.5])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_nothing_is_missing_of_a_faultless_device(dtype: str, db: float) -> None:
    for seed in range(3):
        inputs = smooth(MAPS, seed=seed)
        for model in (ending(MAPS, "Softmax", axis=1), ending(MAPS, **NORMALISED), ending(MAPS, "Relu")):
            output = verdict(model, inputs, lambda x, y: y, db, dtype)
            assert output.verdict in ("match", "mismatch", "ambiguous"), str(output)
            assert output.verdict == "match" or db < 15, str(output)


def _saturated(db: float, dtype: str, device: bool, spoiled: float = 1.0, times: int = 4) -> nl.OutputReport:
    """A sigmoid of values that are mostly far from 0, which the device (if it lacks it) returns as they are."""
    inputs, rng = [times * x for x in smooth(MAPS)], np.random.default_rng(1)
    engine = nl.OnnxRuntimeEngine(ending(MAPS, "Sigmoid"), threads=1)
    values = []
    for x in inputs:
        y = x if device else engine.infer(x)["y"]
        values.append((y + rng.normal(size=y.shape) * y.std() * 10 ** (-db / 20)).astype(np.float32))
    q = nl.engines.calibrate(values, dtype)
    spec = nl.TensorSpec(MAPS, "NCHW", dtype, name="y", quantization=q)
    frames = [({"x": x}, {"y": spec.pack(v)}) for x, v in zip(inputs, values)]
    if q is not None:  # with another zero point, what is read is on both sides of zero
        spec = spec.replace(quantization=nl.Quantization(q.scale * spoiled, q.zero_point if spoiled == 1 else 0))
    return nl.validate(nl.Recording({"y": spec}, frames), engine).outputs["y"]


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint8"])
@pytest.mark.parametrize("db", [40, 20])
def test_a_sigmoid_that_is_missing_of_values_far_from_zero_is_named(db: float, dtype: str) -> None:
    """Of values that are nearly 0 and 1 the logarithms are nearly all noise: the device's sigmoids are compared."""
    output = _saturated(db, dtype, device=True)
    assert output.verdict == "activation" and output.fix is None, str(output)
    assert output.why.startswith("The device's model ends in another way: a missing sigmoid. "), output.why


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint8"])
@pytest.mark.parametrize("db", [40, 20, 10.5])
def test_no_sigmoid_is_missing_of_a_faultless_device(db: float, dtype: str) -> None:
    assert _saturated(db, dtype, device=False).verdict == "match"


@pytest.mark.parametrize("db", [30, 12])
@pytest.mark.parametrize("factor", [4, 40])
@pytest.mark.parametrize("times", [4, 12])
def test_another_scale_of_a_sigmoid_is_no_missing_one(times: int, factor: float, db: float) -> None:
    """A sigmoid of what is far apart is 0 or 1, as the model's values are: it takes the noise away."""
    output = _saturated(db, "int8", device=False, spoiled=factor, times=times)
    assert output.verdict == "quantization" and "sigmoid" not in output.why, str(output)


def test_class_numbers_for_scores() -> None:
    inputs, scores = smooth(MAPS), ending(MAPS)
    for keep in (True, False):
        output = verdict(
            scores,
            inputs,
            lambda x, y, keep=keep: np.expand_dims(y.argmax(1), 1)[:, 0 if not keep else slice(None)],
            60,
        )
        assert output.verdict == "activation" and "an extra argmax along axis 1" in output.why, str(output)
    wrong = verdict(scores, inputs, lambda x, y: np.roll(y, 5, 2).argmax(1), 60)
    assert wrong.verdict != "activation", str(wrong)


def test_scores_for_class_numbers() -> None:
    inputs = smooth(MAPS)
    model = ending(MAPS, "ArgMax", (1, 1, 12, 16), axis=1, keepdims=1)
    output = verdict(model, inputs, lambda x, y: x)
    assert output.verdict == "activation" and "a missing argmax along axis 1" in output.why, str(output)
    assert verdict(model, inputs, lambda x, y: y, 200).verdict == "match"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("db", [9, 15, 25])
def test_a_vector_with_a_single_large_value_has_no_missing_length(seed: int, db: float) -> None:
    """Whatever the device returns for a class that is sure is 1 after a normalisation."""
    rng = np.random.default_rng(seed)
    sure = [np.eye(20, dtype=np.float32)[[int(rng.integers(20))]] for _ in range(5)]
    noise = 10 ** (-db / 20)
    for dtype in ("float32", "int8"):
        output = verdict(ending((1, 20)), sure, lambda x, y: y * (1 + noise * rng.standard_normal(y.shape)), 80, dtype)
        assert output.verdict in ("match", "mismatch", "ambiguous"), str(output)


def test_no_relu_is_missing_of_values_that_are_never_negative() -> None:
    """Whatever the channels' scales are: what is zero and read as more stays an error."""
    rng = np.random.default_rng(4)
    spread = np.reshape([30.0, 12.0, 3.0, 0.3, 8.0, 1.0, 0.1], (1, 7, 1, 1))
    quiet = np.reshape([1, 1, 1, 1, 1, 0.02, 1], (1, 7, 1, 1))
    scales = nl.Quantization((spread.ravel() * 4 / 255).tolist(), [0] * 7, axis=1)
    spec = nl.TensorSpec(MAPS, "NCHW", "uint8", quantization=scales)
    model = [np.maximum(spread * quiet * rng.standard_normal(MAPS), 0).astype(np.float32) for _ in range(4)]
    noise = np.reshape([0.5, 0.5, 0.5, 0.1, 0.5, 0.5, 0.1], (1, 7, 1, 1))
    device = [spec.pack(np.maximum(y + noise * rng.standard_normal(MAPS), 0).astype(np.float32)) for y in model]
    found = Evidence(spec, device, model, (), 1)
    assert not [trial.text for trial in endings(found)]
    negative = nl.TensorSpec(MAPS, "NCHW", "float32")
    kept = [(y + np.where(y > 0, 0, -rng.random(MAPS) * spread)).astype(np.float32) for y in model]
    found = Evidence(negative, [y.ravel() for y in kept], model, (), 1)
    assert [trial.text for trial in endings(found)] == ["a missing ReLU"]


def test_no_relu_is_missing_of_probabilities() -> None:
    """With a zero point that is declared too high, what is 0 is read as less, and the ones are clamped."""
    rng, shape = np.random.default_rng(6), (1, 12, 40)
    powers = [np.exp(60 * rng.standard_normal(shape)) for _ in range(6)]
    model = [(x / x.sum(1, keepdims=True)).astype(np.float32) for x in powers]
    for x in model:
        x[x < 1e-7] = 0
    true, read = (
        nl.TensorSpec(shape, "NCW", "int8", quantization=nl.Quantization(1 / 256, zero_point), name="y")
        for zero_point in (-128, -108)
    )
    device = [true.pack(np.clip(x + 0.01 * rng.standard_normal(shape), 0, 1).astype(np.float32)) for x in model]
    assert "a missing ReLU" not in [trial.text for trial in endings(Evidence(read, device, model, (), 1))]
    frames = [({"x": x}, {"y": y}) for x, y in zip(model, device)]
    output = nl.validate(nl.Recording({"y": read}, frames), same(shape)).outputs["y"]
    assert output.verdict == "quantization" and output.fix.quantization.zero_point == -128, str(output)


@pytest.mark.parametrize("seed", range(8))
def test_scales_of_channels_give_a_missing_normalisation_no_other_weights(seed: int) -> None:
    """In real values the errors of channels with small scales hardly count, whatever was done to them."""
    rng = np.random.default_rng(seed)
    sizes = np.geomspace(0.02, 1, 32)
    vectors = [sizes * rng.standard_normal((1, 32)) for _ in range(12)]
    model = [(x / np.linalg.norm(x)).astype(np.float32) for x in vectors]
    largest = np.abs(np.concatenate(model)).max(0)
    scales = np.where(largest < 0.1, 3.0, 0.6) * largest / 127  # the large channels are clamped
    spec = nl.TensorSpec((1, 32), "NC", "int8", name="y", quantization=nl.Quantization(scales, [0] * 32, axis=1))
    device = [spec.pack((x + 0.04 * rng.standard_normal(x.shape)).astype(np.float32)) for x in model]
    recording = nl.Recording({"y": spec}, [({"x": x}, {"y": y}) for x, y in zip(model, device)])
    output = nl.validate(recording, same((1, 32))).outputs["y"]
    assert output.verdict != "activation", str(output)


def _powers(dtype: str, of: np.ufunc | None, noise: float, seed: int) -> nl.OutputReport:
    """The report of a device that returns these powers of the model's maps, with noise before that."""
    rng, spec = np.random.default_rng(seed), nl.TensorSpec(MAPS, "NCHW", dtype)
    model = smooth(MAPS, seed=seed)
    noisy = [(x + noise * 2 * rng.standard_normal(x.shape)).astype(np.float32) for x in model]
    stored = [spec.pack(x if of is None else of(x)) for x in noisy]
    recording = nl.Recording({"y": spec}, [({"x": x}, {"y": y}) for x, y in zip(model, stored)])
    return nl.validate(recording, same(MAPS)).outputs["y"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("noise", [0.0, 0.05, 0.2])
def test_powers_are_compared_by_their_logarithms(noise: float, dtype: str, seed: int) -> None:
    """A few large powers have all the noise; the bits of a float16 are nearly a logarithm, and were called int16."""
    output = _powers(dtype, np.exp, noise, seed)
    assert output.verdict == "activation" and "an extra exp, or a missing log" in output.why, str(output)
    assert _powers(dtype, None, noise, seed).verdict in ("match", "mismatch")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", [0.02, 0.2])
def test_positive_values_have_no_missing_logarithm(noise: float, seed: int) -> None:
    """Probabilities and depths of a faultless device, or of one with another scale, are no powers."""
    rng, spec = np.random.default_rng(seed), nl.TensorSpec(MAPS, "NCHW", "float32")
    for model in ([1 / (1 + np.exp(-3 * x)) for x in smooth(MAPS)], [np.exp(x) for x in smooth(MAPS)]):
        for factor in (1.0, 1.2):
            noisy = [factor * x * np.exp(noise * rng.standard_normal(x.shape)) for x in model]
            frames = [
                ({"x": x.astype(np.float32)}, {"y": spec.pack(y.astype(np.float32))}) for x, y in zip(model, noisy)
            ]
            output = nl.validate(nl.Recording({"y": spec}, frames), same(MAPS)).outputs["y"]
            assert output.verdict != "activation", str(output)
            assert factor > 1 or output.verdict == "match", str(output)


@pytest.mark.parametrize("seed", range(3))
def test_integers_without_a_scale_have_no_missing_normalisation(seed: int) -> None:
    """Divided by their length they are the embedding, whatever their scale is: that was not declared."""
    rng, scale = np.random.default_rng(seed), nl.Quantization(0.004)
    model = [x / np.linalg.norm(x) for x in rng.standard_normal((16, 1, 64)).astype(np.float32)]
    true = nl.TensorSpec((1, 64), "NC", "int8", quantization=scale, name="y")
    noisy = [(x + 0.3 * x.std() * rng.standard_normal(x.shape)).astype(np.float32) for x in model]
    for declared, words in ((None, ("quantization",)), (scale, ("match",))):
        frames = [({"x": x}, {"y": true.pack(y)}) for x, y in zip(model, noisy)]
        spec = nl.TensorSpec((1, 64), "NC", "int8", quantization=declared, name="y")
        output = nl.validate(nl.Recording({"y": spec}, frames), same((1, 64))).outputs["y"]
        assert output.verdict in words, str(output)
