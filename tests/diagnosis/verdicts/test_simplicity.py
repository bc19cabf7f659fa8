"""What has no fitted numbers comes before what explains hardly more with them."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from tests.support.boards import same


def judged(
    model: list[np.ndarray], device: list[np.ndarray], stored: nl.TensorSpec, **more: nl.TensorSpec
) -> nl.OutputReport:
    declared = more.get("declared", stored)
    buffers = [stored.pack(np.float32(y)).view(str(declared.dtype)) for y in device]
    frames = [({"x": np.float32(x)}, {"y": y}) for x, y in zip(model, buffers)]
    recording = nl.Recording({"y": declared}, frames)
    return nl.validate(recording, same(model[0].shape)).outputs["y"]


def spec_of(values: list[np.ndarray], dtype: str) -> nl.TensorSpec:
    info, low, high = np.iinfo(dtype), min(float(np.min(values)), 0.0), float(np.max(values))
    scale = (high - low) / (info.max - info.min)
    q = nl.Quantization(scale, round(info.min - low / scale))
    return nl.TensorSpec(values[0].shape, "NCW", dtype, quantization=q)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dtype", ["uint8", "int16"])
def test_two_constant_channels_in_each_others_place(seed: int, dtype: str) -> None:
    """A scale of each channel makes one of the other; an order says so without any number."""
    rng, shape = np.random.default_rng(seed), (1, 4, 20)
    constant = np.array([[[0.5], [2.0], [0], [0]]])
    varies = np.array([[[0], [0], [1], [1]]])
    model = [constant + varies * rng.standard_normal(shape) for _ in range(8)]
    noise = 0.05 * np.std(model)
    order = [1, 0, 2, 3]
    for chosen, verdict, fix in ((order, "channel_order", (1, 0, 2, 3)), ([0, 1, 2, 3], "match", None)):
        device = [x[:, chosen] + noise * rng.standard_normal(shape) for x in model]
        found = judged(model, device, spec_of(device, dtype))
        assert (found.verdict, found.fix) == (verdict, fix), str(found)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("noise", [0.0, 0.03, 0.07, 0.1])
def test_the_bits_of_floats_are_nearly_their_logarithms(seed: int, noise: float) -> None:
    """An exp that was added, in float16, is no int16 buffer; an int16 buffer that is declared as float16 is one."""
    rng, shape = np.random.default_rng(seed), (1, 4, 48)
    model = [rng.standard_normal(shape) for _ in range(6)]
    device = [np.exp(x + noise * rng.standard_normal(shape)) for x in model]
    floats = nl.TensorSpec(shape, "NCW", "float16")
    assert judged(model, device, floats).verdict == "activation"
    noisy = [x + noise * rng.standard_normal(shape) for x in model]
    integers = nl.TensorSpec(shape, "NCW", "int16", quantization=nl.Quantization(0.0007, 15000))
    found = judged(model, noisy, integers, declared=floats)
    assert found.verdict == "quantization" and found.fix.dtype == "int16", str(found)


@pytest.mark.parametrize("seed", range(6))
def test_a_scale_that_a_normalisation_is_near(seed: int) -> None:
    """Both explain most; with a line of its own the normalisation would explain less, because it is bent."""
    rng, shape = np.random.default_rng(seed), (1, 4, 48)
    powers = [np.exp(2 * rng.standard_normal(shape)) for _ in range(6)]
    model = [p / p.sum(2, keepdims=True) for p in powers]
    device = [x + 0.2 * np.std(model) * rng.standard_normal(shape) for x in model]
    stored = spec_of(device, "int16")
    q = stored.quantization
    assert q is not None
    declared = stored.replace(quantization=nl.Quantization(float(q.scale) / 2, q.zero_point))
    assert judged(model, device, stored, declared=declared).verdict in ("quantization", "ambiguous")
    lengths = [x / np.linalg.norm(x, axis=2, keepdims=True) for x in model]
    noisy = [x + 0.1 * np.std(lengths) * rng.standard_normal(shape) for x in lengths]
    assert judged(model, noisy, spec_of(noisy, "int16")).verdict == "activation"
    assert judged(model, device, stored).verdict in ("match", "mismatch", "ambiguous")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("noise", [0.05, 0.3])
def test_bits_of_an_exp_with_a_scale_for_each_channel(seed: int, noise: float) -> None:
    """A device that errs in each channel by a number of its own has no int16 buffer, however well bits agree then."""
    rng, shape = np.random.default_rng(seed), (1, 6, 40)
    model = [0.02 * rng.standard_normal(shape) for _ in range(6)]
    biases = 0.02 * rng.standard_normal((1, 6, 1))
    device = [np.exp(x + biases + noise * 0.02 * rng.standard_normal(shape)) for x in model]
    found = judged(model, device, nl.TensorSpec(shape, "NCW", "float16"))
    assert found.verdict not in ("quantization", "layout", "match"), str(found)


@pytest.mark.parametrize("seed", range(4))
def test_two_frames_of_a_shuffle_are_no_delay(seed: int) -> None:
    """A shift of two of six frames explains as much as the order of all; of a device that is late it is the shift."""
    rng, shape = np.random.default_rng(seed), (1, 4, 60)
    model = [rng.standard_normal(shape) for _ in range(8)]
    spec = nl.TensorSpec(shape, "NCW", "float32")
    noisy = [x + 0.1 * rng.standard_normal(shape) for x in model]
    shuffled = judged(model[:6], [noisy[k] for k in (3, 2, 4, 5, 0, 1)], spec)
    assert (shuffled.verdict, shuffled.fix) == ("wrong_input", None), str(shuffled)
    late = judged(model[2:], noisy[:6], spec)
    assert (late.verdict, late.fix) == ("wrong_input", -2), str(late)
