"""Fitted scales, zero points and lines that are the declared ones but for some per cent, and those that are not."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.scoring.evidence import Evidence
from npu_layout.diagnosis.scoring.trials import Trial
from npu_layout.diagnosis.stored import slight_scales
from tests.support.boards import same

SHAPE = (1, 4, 12, 12)
EACH = nl.Quantization(np.full(4, 0.05), np.zeros(4, int), axis=1)
ALL = nl.Quantization(0.05)


def evidence(quantization: nl.Quantization, true: nl.Quantization | None = None, noise: float = 0.0) -> Evidence:
    """A device that stores what the model returns, with noise, and its declared quantization; or a `true` one."""
    rng = np.random.default_rng(5)
    model = [rng.standard_normal(SHAPE).astype(np.float32) for _ in range(4)]
    spec = nl.TensorSpec(SHAPE, "NCHW", "int8", quantization=quantization)
    stored = spec.replace(quantization=true or quantization)
    device = [(y + noise * rng.standard_normal(SHAPE)).astype(np.float32) for y in model]
    return Evidence(spec, [stored.pack(y) for y in device], model, (), 1)


def trial(found: Evidence, **changes: object) -> Trial:
    """The candidate that the output is as declared but for these fields of its spec."""
    spec = found.spec.replace(**changes)
    codes, left = found.read_as(spec, found.wanted)
    return Trial("quantization", "", spec, codes, left, True, spec, parameters=1)


@pytest.mark.parametrize(
    ("scale", "zero_point", "slight"),
    [(1.3, 0, True), (1 / 1.3, 0, True), (1.7, 0, False), (1 / 1.7, 0, False), (1.0, 3, True), (1.0, 40, False)],
)
def test_one_scale_and_zero_point(scale: float, zero_point: int, slight: bool) -> None:
    found = evidence(ALL)
    other = trial(found, quantization=nl.Quantization(0.05 * scale, zero_point))
    assert slight_scales.is_slight(found, other) == slight
    assert not slight_scales.is_slight(found, other, 1.0001) or scale == 1.0


def test_another_dtype_or_none_is_no_slight_change() -> None:
    found = evidence(ALL)
    assert not slight_scales.is_slight(found, trial(found, dtype="uint8"))
    assert not slight_scales.is_slight(found, trial(found, quantization=None))


@pytest.mark.parametrize(("slope", "offset", "slight"), [(0.9, 0.0, True), (0.5, 0.0, False), (1.0, 2.0, False)])
def test_a_line(slope: float, offset: float, slight: bool) -> None:
    found = evidence(ALL)
    line = trial(found)._replace(line=(slope, offset))
    assert slight_scales.is_slight(found, line) == slight


@pytest.mark.parametrize(
    ("factors", "noise", "some"),
    [
        ([1, 1, 1, 1.3], 0.0, True),
        ([1, 1.3, 1.3, 1.3], 0.0, False),
        ([1, 1, 1, 1.05], 0.0, False),
        ([1, 1, 1, 0.5], 0.0, False),
        ([1, 1, 1, 0.5], 0.1, False),
        ([1, 1, 1, 0.6], 0.1, True),  # 20 dB: a device that errs much moves a channel by a factor of 1.7
        ([0.5, 0.6, 0.5, 0.5], 0.1, False),
    ],
)
def test_some_channels(factors: list[float], noise: float, some: bool) -> None:
    true = nl.Quantization(0.05 * np.array(factors), np.zeros(4, int), axis=1)
    for declared in (EACH, ALL):
        found = evidence(declared, true, noise)
        other = trial(found, quantization=true)
        assert slight_scales.is_of_some_channels(found, other) == some
        assert slight_scales.has_scales_of_channels(other.spec)
    assert not slight_scales.is_of_some_channels(evidence(ALL), trial(evidence(ALL), quantization=EACH))


@pytest.mark.parametrize(("shrinks", "slight"), [(1.4, True), (2.5, False)])
def test_channels_that_shrink_to_their_means(shrinks: float, slight: bool) -> None:
    """Far from zero the zero point moves with the scale; as far without it, it is another zero point."""
    rng, means = np.random.default_rng(6), np.array([0.0, 3.0, -4.0, 5.0]).reshape(1, 4, 1, 1)
    model = [(means + 0.2 * rng.standard_normal(SHAPE)).astype(np.float32) for _ in range(4)]
    spec = nl.TensorSpec(SHAPE, "NCHW", "int8", quantization=EACH)
    found = Evidence(spec, [spec.pack(y) for y in model], model, (), 1)
    scales = np.array([0.05, 0.05, 0.05, 0.05 * shrinks])
    moved = np.rint(means.ravel() / 0.05 - means.ravel() / scales).astype(int)
    assert abs(moved[3]) > 20
    for zero_points, expected in ((moved, slight), (-moved, False)):
        q = nl.Quantization(scales, zero_points, axis=1)
        assert slight_scales.is_slight(found, trial(found, quantization=q)) == expected


@pytest.mark.parametrize(
    ("changes", "forgotten"),
    [
        ({"quantization": nl.Quantization(0.05, -5)}, True),
        ({"quantization": nl.Quantization(0.05, 3)}, False),
        ({"quantization": nl.Quantization(0.051, -5)}, False),
        ({"quantization": nl.Quantization([0.05] * 4, [-5] * 4, axis=1)}, False),
        ({"quantization": nl.Quantization(0.05, -5), "dtype": "uint8"}, False),
        ({"quantization": None}, False),
    ],
)
@pytest.mark.parametrize("declared", [0, 2])
def test_a_zero_point_that_was_forgotten(changes: dict[str, object], forgotten: bool, declared: int) -> None:
    found = evidence(nl.Quantization(0.05, declared))
    expected = forgotten and declared == 0
    assert slight_scales.forgets_a_zero_point(found, trial(found, **changes)) == expected


def read(stored: np.ndarray, model: np.ndarray, spec: nl.TensorSpec) -> nl.OutputReport:
    """The report of these stored values and the model's, (frames, ...) each."""
    frames = [({"x": x}, {"y": y}) for x, y in zip(model, stored)]
    return nl.validate(nl.Recording({"y": spec}, frames), same(spec.shape)).outputs["y"]


def maps(seed: int, channels: int, scale: float) -> tuple[np.ndarray, nl.TensorSpec]:
    """Smooth maps of six frames, and a spec of a scale, declared without a zero point."""
    rng = np.random.default_rng(seed)
    small = rng.standard_normal((6, 1, channels, 6, 6)) * rng.uniform(0.7, 1.5, (channels, 1, 1))
    model = small.repeat(3, 3).repeat(3, 4).astype(np.float32)
    return model, nl.TensorSpec(model.shape[1:], "NCHW", "int8", quantization=nl.Quantization(scale), name="y")


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("channels", [4, 27])
@pytest.mark.parametrize("zero_point", [-5, 4, 5])
def test_a_small_zero_point_that_was_not_declared_is_named(zero_point: int, channels: int, seed: int) -> None:
    """It is 2 % of the range, and as declared 10 to 13 dB are explained, as many as a sound device may explain."""
    model, spec = maps(seed, channels, 0.06)
    rng = np.random.default_rng(seed)
    stored = np.clip(np.rint((model + 0.04 * rng.standard_normal(model.shape)) / 0.06) + zero_point, -128, 127)
    output = read(stored.astype(np.int8), model, spec)
    assert output.verdict == "quantization", str(output)
    q = output.fix.quantization
    assert (round(float(q.scale), 9), int(q.zero_point)) == (0.06, zero_point)


def _cut_to_a_grid(rng: np.random.Generator, x: np.ndarray, steps: float) -> np.ndarray:
    """A layer before the last stores steps that are larger, and cuts off: the mean is off by half of one."""
    grid = 2 * steps
    return grid * np.floor(x / grid)


def _cut_often(rng: np.random.Generator, x: np.ndarray, steps: float) -> np.ndarray:
    """Layers that have the output's scale cut off half a step each."""
    for _ in range(6):
        x = np.floor(x + rng.random(x.shape) - 0.5)
    return x


def _biased(rng: np.random.Generator, x: np.ndarray, steps: float) -> np.ndarray:
    """Each channel has a bias of its own, of one sign in all."""
    bias = steps * rng.uniform(0.4, 1.6, (1, 1, x.shape[2], 1, 1))
    bias[:, :, :2] = np.reshape([0.6 * steps, 1.4 * steps], (1, 1, 2, 1, 1))
    return x + bias


def _drifting(rng: np.random.Generator, x: np.ndarray, steps: float) -> np.ndarray:
    """All channels are off alike, each frame by another number."""
    return x + steps * np.linspace(0.5, 1.5, len(x)).reshape(-1, 1, 1, 1, 1)


def _bfloat16_cut(rng: np.random.Generator, x: np.ndarray, steps: float) -> np.ndarray:
    """Sums whose digits behind the seventh are cut off in each of many layers."""
    for _ in range(10):
        x = (x.astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32)
        x = x * np.float32(1.01)
    return x / np.float32(1.01**10)


def _towards_an_end(rng: np.random.Generator, x: np.ndarray, steps: float) -> np.ndarray:
    """The values shrink towards the largest or the smallest, so that those near 0 move by so many steps."""
    end = x.max() if steps > 0 else x.min()
    return end + (x - end) * max(1 - steps / end, 0.94)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("channels", [4, 27])
@pytest.mark.parametrize("steps", [-5.0, 4.5, 5.0])
@pytest.mark.parametrize("device", [_cut_to_a_grid, _cut_often, _biased, _drifting, _bfloat16_cut, _towards_an_end])
def test_what_arithmetic_moves_has_no_other_zero_point(device: object, steps: float, channels: int, seed: int) -> None:
    model, spec = maps(seed, channels, 0.06)
    rng = np.random.default_rng(seed)
    moved = device(rng, model / 0.06, steps)  # type: ignore[operator]
    stored = np.clip(np.rint(moved + 0.7 * rng.standard_normal(model.shape)), -128, 127).astype(np.int8)
    output = read(stored, model, spec)
    assert output.verdict in ("match", "mismatch", "ambiguous"), str(output)


@pytest.mark.parametrize(("moved", "of", "slight"), [(9, 1, True), (9, 16, False), (14, 1, False), (4, 16, True)])
def test_zero_points_of_channels_count_by_their_root_mean_square(moved: int, of: int, slight: bool) -> None:
    """5.1 steps are 2 % of the range; of one channel more may be, but not 12.7: that is its own mistake."""
    rng, shape = np.random.default_rng(5), (1, 16, 6, 6)
    model = [rng.standard_normal(shape).astype(np.float32) for _ in range(4)]
    each = nl.Quantization(np.full(16, 0.05), np.zeros(16, int), axis=1)
    spec = nl.TensorSpec(shape, "NCHW", "int8", quantization=each)
    found = Evidence(spec, [spec.pack(x) for x in model], model, (), 1)
    other = trial(found, quantization=nl.Quantization(np.full(16, 0.05), [moved] * of + [0] * (16 - of), axis=1))
    assert slight_scales.is_slight(found, other) == slight


@pytest.mark.parametrize(("dtype", "end"), [("int8", -128), ("uint8", 0), ("int16", -32768)])
def test_a_zero_point_at_the_end(dtype: str, end: int) -> None:
    """Only there does calibration put that of values that are never negative."""
    for zero_point, lowest, at_the_end in ((end, 0.0, True), (end + 1, 0.0, False), (end, -0.5, False)):
        quantization = nl.Quantization(0.05, zero_point)
        spec = nl.TensorSpec((1, 50), "NC", dtype, quantization=quantization)
        model = [np.linspace(lowest, 2, 50, dtype=np.float32)[None]]
        assert slight_scales.is_at_the_end(Evidence(spec, [spec.pack(model[0])], model, (), 1)) == at_the_end
    floats = nl.TensorSpec((1, 50), "NC", "float32")
    assert not slight_scales.is_at_the_end(Evidence(floats, [model[0].ravel()], [abs(model[0])], (), 1))
