"""Factors of channels in outputs of floats, and boxes in pixels."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis import Situation, diagnose
from npu_layout.diagnosis.computed.factors import _sides_of, factors
from npu_layout.diagnosis.scoring.evidence import Evidence
from tests.support.endings import ending, smooth, verdict

MAPS, BOXES = (1, 9, 12, 16), (1, 12, 300)


def test_a_factor_for_each_channel_is_named() -> None:
    each = np.geomspace(0.01, 0.2, 9).reshape(1, 9, 1, 1)
    for db in (40, 20):
        output = verdict(ending(MAPS), smooth(MAPS), lambda x, y: y * each, db)
        assert output.verdict == "activation" and output.fix is None, str(output)
        assert "each channel has a factor of its own, of 0.01" in output.why, output.why


@pytest.mark.parametrize("db", [40, 20])
def test_factors_of_one_frame(db: float) -> None:
    """Its maps have values enough; those of a faultless device do not ask for factors."""
    each = np.geomspace(0.3, 3, 9).reshape(1, 9, 1, 1)
    output = verdict(ending(MAPS), smooth(MAPS, 1), lambda x, y: y * each, db)
    assert output.verdict == "activation" and "each channel has a factor of its own" in output.why, str(output)
    assert verdict(ending(MAPS), smooth(MAPS, 1), lambda x, y: y, db).verdict == "match"


@pytest.mark.parametrize("db", [40, 20, 12])
def test_one_factor_is_no_factor_for_each(db: float) -> None:
    output = verdict(ending(MAPS), smooth(MAPS), lambda x, y: 0.1 * y, db)
    assert output.verdict == "quantization" and output.fix is None, str(output)
    assert verdict(ending(MAPS), smooth(MAPS), lambda x, y: y, db).verdict == "match"


@pytest.mark.parametrize("shrunk", [0.9, 0.8])
def test_sizes_of_boxes_that_a_device_shrinks(shrunk: float) -> None:
    """They have the sides that their centres have; what is 0.8 times as large is another unit."""
    rng = np.random.default_rng(0)
    sides = np.array([640, 480, 640, 480, *[1] * 8], np.float32).reshape(1, 12, 1)
    model = [(rng.uniform(0, 1, BOXES) * sides).astype(np.float32) for _ in range(4)]
    sizes = np.where(np.isin(np.arange(12), (2, 3)), shrunk, 1).reshape(1, 12, 1)
    device = [(m / sides * sizes + 0.06 * rng.normal(size=BOXES)).astype(np.float32) for m in model]
    found = _evidence(device, model)
    assert list(_sides_of(found, 1, [1 / 640, 1 / 480])) == ([0, 1, 2, 3] if shrunk == 0.9 else [0, 1])
    whole = "4 of 12 channels (0, 1, 2, 3) are divided by 480, 640"
    assert any(t.text.startswith(whole) for t in factors(found, [480, 640])) == (shrunk == 0.9)


def _evidence(device: list[np.ndarray], model: list[np.ndarray]) -> Evidence:
    spec = nl.TensorSpec(BOXES, "NCW", "float32")
    return Evidence(spec, [spec.pack(d) for d in device], model, (), 1)


def test_boxes_in_pixels() -> None:
    rng = np.random.default_rng(0)
    model = [rng.uniform(0, 1, BOXES).astype(np.float32) for _ in range(4)]
    sides = np.array([640, 480, 640, 480, *[1] * 8], np.float32).reshape(1, 12, 1)
    for device, ways in (
        ([m * sides for m in model], "multiplied by 480, 640: the device's are in pixels, the model's of 0 to 1"),
        (model, "divided by 480, 640: the device's are of 0 to 1, the model's in pixels"),
    ):
        wanted = model if device is not model else [m * sides for m in model]
        (trial,) = factors(_evidence(device, wanted), [480, 640])
        assert trial.cause == "activation" and trial.text == f"4 of 12 channels (0, 1, 2, 3) are {ways}"
        assert np.abs(trial.left).max() < 1e-3
        assert all(t.text != trial.text for t in factors(_evidence(device, wanted), [224]))


@pytest.mark.parametrize(("frames", "db"), [(1, 20), (4, 20), (4, 10)])
@pytest.mark.parametrize("last", [True, False])
def test_boxes_beside_scores_are_no_line(frames: int, db: float, last: bool) -> None:
    """A line goes through boxes and scores, which are two clusters; the numbers of a box may be along either axis."""
    rng = np.random.default_rng(2)
    places = rng.uniform([8, 8, 4, 4], [56, 56, 12, 12], (frames, 256, 4))
    rows = np.concatenate([places, rng.uniform(0, 0.2, (frames, 256, 6))], 2).astype(np.float32)
    by = np.array([1 / 64] * 4 + [1] * 6, np.float32)
    model = [x[None] if last else x.T[None].copy() for x in rows]
    device = [x * (by if last else by[:, None]) for x in model]
    spread = 10 ** (-db / 20) * float(np.std(device))
    noisy = [(y + spread * rng.standard_normal(y.shape)).astype(np.float32) for y in device]
    spec = nl.TensorSpec(model[0].shape, "NCW", "float32")
    for axis in (1, 2):
        found = Evidence(spec, [spec.pack(y) for y in noisy], model, (), axis)
        (trial,) = factors(found, [64])
        what = "channels" if (axis == 2) == last else f"places along axis {2 if last else 1}"
        text = f"4 of 10 {what} (0, 1, 2, 3) are divided by 64: the device's are of 0 to 1, the model's in pixels"
        if (axis == 2) != last or db > 10:  # of less, boxes vary by less than the noise within such channels
            assert trial.text == text and trial.cause == "activation"


def test_boxes_of_a_model_with_an_image() -> None:
    """The sides are those of the model's input."""
    shape = (1, 3, 40, 60)
    by = np.array([60.0, 40.0, 60.0]).reshape(1, 3, 1, 1)
    inputs = [np.abs(x) for x in smooth(shape)]
    output = verdict(ending(shape), inputs, lambda x, y: y / by)
    assert output.verdict == "activation" and "all channels are divided by 40, 60" in output.why, str(output)


@pytest.mark.parametrize("seed", range(8))
def test_a_channel_of_noise_has_no_factor(seed: int) -> None:
    """A line through noise is nearly flat: its slope is no factor, which others would differ from."""
    rng, shape = np.random.default_rng(seed), (1, 6, 12, 12)
    model = [np.abs(rng.standard_normal(shape)).astype(np.float32) for _ in range(6)]
    device = [y + 0.05 * rng.standard_normal(shape) for y in model]
    for y in device:
        y[:, 2] = 4 + 0.5 * rng.standard_normal(shape[2:])
    spec = nl.TensorSpec(shape, "NCHW", "float32")
    of = Evidence(spec, [spec.pack(np.float32(y)) for y in device], model, (), 1)
    assert all(t.cause != "activation" for t in factors(of, []))
    each = np.geomspace(0.01, 0.2, 6).reshape(1, 6, 1, 1)
    of = Evidence(spec, [spec.pack(np.float32(y * each)) for y in device], model, (), 1)
    assert any("each channel has a factor of its own" in t.text for t in factors(of, []))


@pytest.mark.parametrize(("db", "certain"), [(30, True), (13, False)])
def test_two_numbers_of_each_channel_of_a_noisy_device_are_not_certain(db: float, certain: bool) -> None:
    """A device that cuts what it computes shrinks and moves each channel by its own; factors alone it has not."""
    each = np.geomspace(0.2, 0.9, 9).reshape(1, 9, 1, 1)
    offsets = np.linspace(0.2, 1.5, 9).reshape(1, 9, 1, 1)
    moved = verdict(ending(MAPS), smooth(MAPS), lambda x, y: each * y + offsets * y.std(), db)
    assert (moved.verdict == "activation") == certain, str(moved)
    factor = verdict(ending(MAPS), smooth(MAPS), lambda x, y: each**2 * y, db)
    assert factor.verdict == "activation", str(factor)


def test_factors_that_hardly_differ_are_none() -> None:
    """Lines through values far from zero differ by their offsets, and factors alone explain as much."""
    rng = np.random.default_rng(1)
    model = [(5 + 0.2 * rng.standard_normal(BOXES)).astype(np.float32) for _ in range(2)]
    odd = (np.arange(12) % 2).reshape(1, 12, 1)
    for factor, named in ((np.where(odd, 0.92, 1.0), False), (np.where(odd, 0.6, 1.0), True)):
        slope = np.where(odd, 0.8, 1.15) * factor
        device = [5 * factor + slope * (x - 5) + 0.1 * rng.standard_normal(BOXES) for x in model]
        found = _evidence([y.astype(np.float32) for y in device], model)
        assert ("each channel" in " ".join(t.text for t in factors(found, ()))) == named


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("db", [15, 30])
@pytest.mark.parametrize("by", [1.0, 1 / 64])
def test_boxes_of_integers_beside_scores(dtype: str, db: float, by: float) -> None:
    """One scale for boxes and scores, of a model whose boxes are in pixels; by: 1 if the device's are, too."""
    rng, shape = np.random.default_rng(2), (1, 10, 256)
    each = np.array([by] * 4 + [1.0] * 6).reshape(1, 10, 1)
    model, device = [], []
    for _ in range(4):
        boxes = rng.uniform(np.reshape([8, 8, 4, 4], (4, 1)), np.reshape([56, 56, 40, 40], (4, 1)), (4, 256))
        x = np.concatenate([boxes, rng.uniform(0, 1, (6, 256))])[None].astype(np.float32)
        noise = x.std((0, 2), keepdims=True) * rng.normal(0, 10 ** (-db / 20), shape)
        model.append(x)
        device.append(((x + noise) * each).astype(np.float32))
    spec = nl.TensorSpec(shape, "NCW", dtype, quantization=nl.engines.calibrate(device, dtype))
    stored = [spec.pack(y) for y in device]
    found = Evidence(spec, stored, model, (), 1)
    ranking, judgement = diagnose(found, Situation("y", range(4), {"y": model}, {}, (), (64,)), False, None)
    if by == 1:
        assert judgement.verdict in ("match", "mismatch"), judgement.why
        assert not [c for c in ranking if "in pixels" in c.text]
        return
    assert judgement.verdict == "activation", judgement.why
    assert "4 of 10 channels (0, 1, 2, 3) are divided by 64: the device's are of 0 to 1" in judgement.why


@pytest.mark.parametrize("factor", [64, 1 / 64])
def test_a_scale_of_all_values_is_no_side_of_an_image(factor: float) -> None:
    rng, q = np.random.default_rng(0), nl.Quantization(0.05, 3)
    model = [rng.normal(0, 1, BOXES).astype(np.float32) for _ in range(4)]
    stored = nl.TensorSpec(BOXES, "NCW", "int8", quantization=q)
    spec = stored.replace(quantization=nl.Quantization(0.05 * factor, 3))
    found = Evidence(spec, [stored.pack(x) for x in model], model, (), 1)
    _, judgement = diagnose(found, Situation("y", range(4), {"y": model}, {}, (), (64, 48)), False, None)
    assert judgement.verdict == "quantization" and float(judgement.fix.quantization.scale) == pytest.approx(0.05)
