"""Networks that are sure of themselves: nearly all values are 0 or 1, frames are alike, vectors are as long as others.

What random weights never return, and trained ones always do. Each fault here was once called something else.
"""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from tests.support.boards import PRE, Board, same

LETTERS, COLUMNS, FRAMES = 37, 32, 18
TEXT = (1, COLUMNS, LETTERS)


def judged(
    model: list[np.ndarray], device: list[np.ndarray], stored: nl.TensorSpec, declared: nl.TensorSpec | None = None
) -> nl.OutputReport:
    """The report of a device that stores its values by one spec, declared by another; the model returns its input."""
    specs = {"y": declared or stored}
    pairs = [({"x": x}, {"y": stored.pack(y)}) for x, y in zip(model, device)]
    return nl.validate(nl.Recording(specs, pairs), same(model[0].shape)).outputs["y"]


def probabilities(seed: int, rare: int | None = None) -> list[np.ndarray]:
    """Of each column the probabilities of the letters: mostly blank, and a few letters, of which one is sure.

    rare: a letter that is in no word, and is a little likely in one column of one frame.
    """
    rng = np.random.default_rng(seed)
    frames = []
    for frame in range(FRAMES):
        logits = rng.normal(0, 1.5, TEXT)
        logits[..., 0] += 9
        for column in rng.permutation(COLUMNS)[:8]:
            logits[0, column, [letter for letter in [int(rng.integers(1, LETTERS))] if letter != rare]] += 17
        if rare is not None:
            logits[..., rare] = -12
            logits[0, 5, rare] = logits[0, 5].max() - 1.2 if frame == 3 else -12
        powers = np.exp(logits - logits.max(-1, keepdims=True))
        frames.append((powers / powers.sum(-1, keepdims=True)).astype(np.float32))
    return frames


def spec_of(shape: tuple[int, ...], dtype: str, low: float, high: float, layout: str = "NCW") -> nl.TensorSpec:
    steps = np.iinfo(dtype).max - np.iinfo(dtype).min
    scale = (high - low) / steps
    zero_point = round(np.iinfo(dtype).min - low / scale)
    return nl.TensorSpec(shape, layout, dtype, quantization=nl.Quantization(scale, zero_point))


def scaled(spec: nl.TensorSpec, factor: float) -> nl.TensorSpec:
    q = spec.quantization
    assert q is not None
    return spec.replace(quantization=nl.Quantization(float(q.scale) * factor, q.zero_point))


@pytest.mark.parametrize("factor", [0.5, 1.3, 2.0])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_another_scale_of_probabilities_is_no_missing_sigmoid(dtype: str, factor: float) -> None:
    """The logits of 0 and 1 saturate in any scale, and agree where another scale saturates, too."""
    model, stored = probabilities(0), spec_of(TEXT, dtype, 0, 1)
    found = judged(model, model, stored, scaled(stored, factor))
    assert found.verdict == "quantization" or (found.verdict == "ambiguous" and factor < 1), str(found)
    if found.verdict == "quantization":
        np.testing.assert_allclose(found.fix.quantization.scale, stored.quantization.scale, rtol=0.02)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_a_scale_that_clamps_what_is_sure(dtype: str) -> None:
    """Ones agree with every scale that clamps them: what is between decides, and that no converter clamps so many."""
    model, stored = probabilities(0), spec_of(TEXT, dtype, 0, 1)
    for factor in (0.7, 0.77):
        found = judged(model, model, stored, scaled(stored, factor))
        assert found.verdict == "quantization", str(found)
        np.testing.assert_allclose(found.fix.quantization.scale, stored.quantization.scale, rtol=0.02)
    rng, clamping = np.random.default_rng(1), spec_of(TEXT, dtype, 0, 0.7)
    for noise in (0, 0.004, 0.01, 0.02, 0.05):
        noisy = [(x + noise * rng.standard_normal(x.shape)).astype(np.float32) for x in model]
        for spec in (stored, clamping):
            found = judged(model, noisy, spec)
            assert found.verdict in ("match", "mismatch", "ambiguous"), str(found)


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_noise_that_is_cut_at_zero_is_no_zero_point(dtype: str) -> None:
    """The mean of what noise leaves of many zeros is above the end of the range, where the zero point is."""
    model, stored, rng = probabilities(11), spec_of(TEXT, dtype, 0, 1), np.random.default_rng(11)
    noisy = [(x + rng.normal(0, 0.016, x.shape)).astype(np.float32) for x in model]
    assert judged(model, noisy, stored).verdict == "match"
    q, off = stored.quantization, 20 if dtype == "int8" else 5120
    assert q is not None
    declared = stored.replace(quantization=nl.Quantization(float(q.scale), int(q.zero_point) + off))
    found = judged(model, noisy, stored, declared)
    assert found.verdict == "quantization" and found.fix.quantization.zero_point == q.zero_point, str(found)


@pytest.mark.parametrize("db", [12, 20, 40])
def test_letters_that_say_nothing_of_a_layout_and_columns_that_do(db: float) -> None:
    """Noise is larger than what most letters vary by; read by columns, the layout explains all of the words."""
    model, rng = probabilities(12), np.random.default_rng(12)
    level = float(np.std(model)) * 10 ** (-db / 20)
    noisy = [(x + rng.normal(0, level, x.shape)).astype(np.float32) for x in model]
    stored, declared = spec_of(TEXT, "int16", -0.2, 1.2), spec_of(TEXT, "int16", -0.2, 1.2, "NWC")
    found = judged(model, noisy, stored, declared)
    assert found.verdict == "layout" and found.fix.layout == stored.layout, str(found)
    assert judged(model, noisy, stored).verdict in ("match", "mismatch", "ambiguous")


def test_a_second_softmax_along_the_columns() -> None:
    """Of values of 0 to 1 it is nearly a line, with a scale of its own for each letter."""
    model, rng = probabilities(13), np.random.default_rng(13)
    for axis in (1, 2):
        powers = [np.exp(x) for x in model]
        again = [p / p.sum(axis, keepdims=True) for p in powers]
        noisy = [(x + rng.normal(0, 0.02 * np.std(again), x.shape)).astype(np.float32) for x in again]
        low, high = float(np.min(noisy)), float(np.max(noisy))
        found = judged(model, noisy, spec_of(TEXT, "int16", low, high))
        assert found.verdict == "activation" and "an extra softmax" in found.why, str(found)


@pytest.mark.parametrize("db", [20, 30])
def test_tokens_with_a_scale_of_their_own(db: float) -> None:
    """Declared with one for all; the values of a token are no channels."""
    rng = np.random.default_rng(14)
    size = rng.uniform(1, 3, (1, 36, 1))
    model = [(size * rng.standard_normal((1, 36, 48))).astype(np.float32) for _ in range(6)]
    noisy = [(x * (1 + 10 ** (-db / 20) * rng.standard_normal(x.shape))).astype(np.float32) for x in model]
    most = np.abs(np.stack(noisy)).max((0, 1, 3))
    each = nl.TensorSpec((1, 36, 48), "NCW", "int8", quantization=nl.Quantization(most / 127, axis=1))
    one = each.replace(quantization=nl.Quantization(float(most.max()) / 127))
    found = judged(model, noisy, each, one)
    assert found.verdict == "quantization" and found.channel_axis == 1, str(found)
    np.testing.assert_allclose(found.fix.quantization.scale, most / 127, rtol=0.1)
    assert judged(model, noisy, each).verdict == judged(model, noisy, one).verdict == "match"


def test_a_classifier_of_which_few_classes_are_seen_twice() -> None:
    """What one value shows of a factor is no factor; what some classes show refutes one factor for all."""
    rng = np.random.default_rng(15)
    factor = np.geomspace(0.02, 0.2, 20)[rng.permutation(20)]
    for twice in (0, 4):
        classes = [*range(20), *range(twice)]
        model = [(0.97 * np.eye(20)[k] + 0.03 * rng.dirichlet(np.ones(20)))[None].astype(np.float32) for k in classes]
        for f, wrong in ((factor, "quantization"), (np.full(20, 0.1), "activation"), (np.ones(20), "activation")):
            device = [(x * f + rng.normal(0, 0.0005, x.shape)).astype(np.float32) for x in model]
            found = judged(model, device, nl.TensorSpec((1, 20), "NC", "float32"))
            right = {"quantization": "activation", "activation": "quantization"}[wrong]
            assert found.verdict in (right, "match", "mismatch", "ambiguous"), str(found)
    assert found.verdict == "match"


def test_a_missing_sigmoid_is_one() -> None:
    rng = np.random.default_rng(3)
    logits = [rng.normal(0, 2, TEXT).astype(np.float32) for _ in range(FRAMES)]
    model = [(1 / (1 + np.exp(-x))).astype(np.float32) for x in logits]
    for spec in (spec_of(TEXT, "int8", -8, 8), nl.TensorSpec(TEXT, "NCW", "float32")):
        found = judged(model, logits, spec)
        assert found.verdict == "activation" and "a missing sigmoid" in found.why, str(found)


@pytest.mark.parametrize("frames", [1, 3, 24])
@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_another_scale_of_unit_vectors_is_no_missing_normalisation(frames: int, factor: float) -> None:
    rng = np.random.default_rng(frames)
    model = [rng.standard_normal((1, 64)).astype(np.float32) for _ in range(frames)]
    model = [x / np.linalg.norm(x) for x in model]
    stored = spec_of((1, 64), "int8", -0.45, 0.45, "NC")
    found = judged(model, model, stored, scaled(stored, factor))
    assert found.verdict != "activation", str(found)
    lengths = [x * float(rng.uniform(2, 9)) for x in model]
    found = judged(model, lengths, spec_of((1, 64), "int16", -6, 6, "NC"))
    assert found.verdict == ("activation" if frames > 1 else "quantization"), str(found)


@pytest.mark.parametrize("seed", range(8))
def test_one_frame_again_and_again_proves_what_one_frame_proves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.dirichlet(np.full(20, 0.4)).astype(np.float32)[None]
    stored = spec_of((1, 20), "int8", 0, 1, "NC")
    noisy = [(y + rng.normal(0, 0.004, y.shape)).astype(np.float32)] * FRAMES
    found = judged([y] * FRAMES, noisy, stored)
    assert found.verdict in ("match", "ambiguous"), str(found)


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.2])
def test_tokens_in_one_order_are_channels_and_no_sorted_rows(noise: float) -> None:
    rng = np.random.default_rng(7)
    model = [rng.standard_normal((1, 36, 48)).astype(np.float32) for _ in range(6)]
    order = rng.permutation(36)
    device = [(x[:, order] + noise * rng.standard_normal(x.shape)).astype(np.float32) for x in model]
    found = judged(model, device, spec_of((1, 36, 48), "int16", -6, 6))
    assert found.verdict == "channel_order" and found.channel_axis == 1, str(found)
    assert found.fix == tuple(np.argsort(order)), found.fix
    sorted_rows = [x[:, np.argsort(-x[0, :, 0])] for x in model]
    assert judged(model, sorted_rows, spec_of((1, 36, 48), "int16", -6, 6)).verdict == "activation"


def test_two_columns_exchanged() -> None:
    model = probabilities(4)
    order = np.arange(COLUMNS)
    order[[9, 21]] = 21, 9
    found = judged(model, [x[:, order] for x in model], spec_of(TEXT, "int16", 0, 1))
    assert found.verdict == "channel_order" and found.channel_axis == 1, str(found)
    assert [found.fix[9], found.fix[21]] == [21, 9], found.fix


@pytest.mark.parametrize("seed", range(6))
def test_a_letter_that_is_likely_once_may_be_missed(seed: int) -> None:
    """One value is no channel that does not follow the model; a letter of many columns is."""
    model, rng = probabilities(seed, rare=25), np.random.default_rng(seed)
    device = [np.array(x) for x in model]
    for x in device:
        x[..., 25] = rng.uniform(0, 0.02, x[..., 25].shape)
    found = judged(model, device, spec_of(TEXT, "int16", 0, 1))
    assert found.verdict == "match", str(found)
    for x in device:
        x[..., 0] = 0.5
    found = judged(model, device, spec_of(TEXT, "int16", 0, 1))
    assert found.verdict == "mismatch", str(found)


def test_parts_along_another_axis_than_the_channels() -> None:
    """Columns that do not follow the model, of an output that is read with its letters as channels."""
    model, rng = probabilities(5), np.random.default_rng(5)
    device = [np.array(x) for x in model]
    for x in device:
        x[:, 3:30] = rng.random((1, 27, LETTERS))
    for dtype in ("int16", "uint8"):
        found = judged(model, device, spec_of(TEXT, dtype, 0, 1))
        assert found.verdict in ("mismatch", "ambiguous"), str(found)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_a_relu_that_leaves_nothing_of_some_channels(dtype: str) -> None:
    """Logits that are always negative, as of anchors without an object, are 0 behind it."""
    rng = np.random.default_rng(8)
    shape = (1, 12, 16, 16)
    middle = np.linspace(-9, 4, 12).reshape(1, 12, 1, 1)
    model = [(middle + rng.standard_normal(shape)).astype(np.float32) for _ in range(4)]
    spec = nl.TensorSpec(shape, "NHWC", "float32") if dtype == "float32" else spec_of(shape, dtype, -12, 8, "NHWC")
    found = judged(model, [np.maximum(x, 0) for x in model], spec)
    assert found.verdict == "activation" and "an extra ReLU." in found.why, str(found)


def test_an_input_that_saturates_is_one_explanation_of_several() -> None:
    board = Board()
    top = max((255 - mean) / std for mean, std in zip(PRE["mean"], PRE["std"]))
    raw = board.fed(lambda x: np.full_like(x, top))  # as raw pixels, clamped to the range that was calibrated
    found = board.verdict(board.recording(None, raw))
    assert found.verdict in ("mismatch", "ambiguous") and found.fix is None, str(found)
    assert "the same values for every frame" in found.why, found.why


@pytest.mark.parametrize("seed", range(4))
def test_a_second_softmax_with_a_constant_error_of_each_class(seed: int) -> None:
    """Zero points of the classes fit the constant errors, too; they are no more likely for that."""
    rng = np.random.default_rng(seed)
    model = []
    for k in [*range(8), *range(8)]:
        x = 0.02 * rng.dirichlet(np.full(20, 5.0))
        x[k] += 0.98
        model.append(x[None].astype(np.float32))
    powers = [np.exp(x) for x in model]
    again = np.stack([p / p.sum() for p in powers])
    bias = 0.8 * rng.standard_normal((1, 20))
    errors = (bias + 0.6 * rng.standard_normal(again.shape)) * again.std() * 10 ** (-18 / 20)
    device = (again + errors).astype(np.float32)
    found = judged(model, list(device), spec_of((1, 20), "int16", float(device.min()), float(device.max()), "NC"))
    assert found.verdict == "activation" and "an extra softmax" in found.why, str(found)
    device = (np.stack(model) + errors).astype(np.float32)
    found = judged(model, list(device), spec_of((1, 20), "int16", float(device.min()), float(device.max()), "NC"))
    assert found.verdict in ("match", "ambiguous"), str(found)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("true", [1.0, 0.8])
def test_a_scale_that_clamps_what_the_device_does_not_is_not_named(seed: int, true: float) -> None:
    """Noise of what a network is sure of is cut at the end, and what is not cut is no more than noise."""
    rng = np.random.default_rng(seed)
    model = [(0.98 * np.eye(100)[[k]] + 0.02 * rng.dirichlet(np.ones(100))).astype(np.float32) for k in range(24)]
    stored = spec_of((1, 100), "uint8", 0, true, "NC")
    noisy = [(x * (1 + 0.25 * rng.standard_normal(x.shape))).astype(np.float32) for x in model]
    assert judged(model, noisy, stored).verdict in ("match", "mismatch", "ambiguous")
    found = judged(model, noisy, stored, scaled(stored, 2))
    if found.verdict == "quantization":
        assert float(found.fix.quantization.scale) >= 0.85 * float(stored.quantization.scale), str(found)
    else:
        assert found.verdict in ("match", "mismatch", "ambiguous"), str(found)


def test_a_scale_that_clamps_as_the_device_does_is_named() -> None:
    model, stored = probabilities(3), spec_of(TEXT, "int16", 0, 0.7)
    found = judged(model, model, stored, scaled(stored, 2))
    assert found.verdict == "quantization", str(found)
    np.testing.assert_allclose(found.fix.quantization.scale, stored.quantization.scale, rtol=0.02)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("db", [15, 40])
def test_a_scale_of_each_column_declared_as_one(seed: int, dtype: str, db: float) -> None:
    """Nearly all values are at the zero point, the end of the range, and the ones of a column show its scale."""
    model, rng = probabilities(seed), np.random.default_rng(seed)
    noisy = [(x + 10 ** (-db / 20) * np.std(model) * rng.standard_normal(x.shape)).astype(np.float32) for x in model]
    info = np.iinfo(dtype)
    scales = rng.uniform(1.2, 3, COLUMNS) / (info.max - info.min)
    each = nl.TensorSpec(TEXT, "NCW", dtype, quantization=nl.Quantization(scales, [info.min] * COLUMNS, axis=1))
    one = each.replace(quantization=nl.Quantization(float(scales.max()), info.min))
    found = judged(model, noisy, each, one)
    assert found.verdict == "quantization" and found.channel_axis == 1, str(found)
    np.testing.assert_allclose(found.fix.quantization.scale, scales, rtol=0.1)
    for declared in (each, one):
        assert judged(model, noisy, declared).verdict in ("match", "ambiguous", "mismatch")


@pytest.mark.parametrize("short", [0.9, 0.95, 1.05])
def test_a_class_that_is_clamped_alike_leaves_no_other_scale(short: float) -> None:
    """The range ends below what is sure: the values agree to 60 dB, whatever the small ones are multiplied by."""
    rng = np.random.default_rng(0)
    model = [0.005 * rng.random((1, 10)).astype(np.float32) for _ in range(4)]
    for sure, values in enumerate(model):
        values[0, sure] = 0.98
    device = [np.float32(short) * values for values in model]
    stored = spec_of((1, 10), "int16", 0, 0.75, "NC")
    assert stored.quantization is not None
    for frames in (1, 4):
        assert judged(model[:frames], device[:frames], stored).verdict == "match"
    found = judged(model, model, stored, scaled(stored, 2.0))
    assert found.verdict == "quantization", str(found)
    assert found.fix.quantization.scale == pytest.approx(stored.quantization.scale, rel=1e-3)
    found = judged(model[:1], model[:1], stored, scaled(stored, 2.0))
    assert found.verdict in ("mismatch", "ambiguous") and found.fix is None, str(found)  # one frame proves little
