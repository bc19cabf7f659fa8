"""Every channel, row, column and frame has to be explained, unless it is noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import npu_layout as nl
from npu_layout.comparison.parts import Parts
from tests.support.boards import CHANNELS, SHAPE, Board, network, spec_as


def noisy(model: np.ndarray, seed: int = 1) -> np.ndarray:
    return model + np.random.default_rng(seed).standard_normal(model.shape) * 0.02


def maps(count: int = 4) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((1, 5, 6, 7)) for _ in range(count)]


def added(frames: list[tuple[np.ndarray, np.ndarray]], steps: Any = 0.0) -> Parts:
    parts = Parts(1, steps)
    for number, (device, model) in enumerate(frames):
        parts.add(10 + number, device, model)
    return parts


def test_what_follows_the_model_is_explained_and_so_is_what_never_does() -> None:
    models = maps()
    assert added([(noisy(m), m) for m in models]).unexplained() == []
    assert added([(m * 1.3, m) for m in models]).unexplained() == []
    assert added([(np.zeros_like(m), m) for m in models]).unexplained() == []  # no part shows what is usual
    assert added([]).unexplained() == Parts(1, 1.0).unexplained() == []


@pytest.mark.parametrize("where", [(slice(None), 3), (slice(None), slice(None), 2), (..., 4)])
def test_a_constant_part_is_found_with_its_value(where: Any) -> None:
    frames = []
    for model in maps():
        device = noisy(model)
        device[where] = 2.5
        frames.append((device, model))
    (part,) = added(frames).unexplained()
    axis = len(where) - 1 if where[0] is not Ellipsis else 3
    assert (part.axis, part.at, part.among) == (axis, {1: 3, 2: 2, 3: 4}[axis], (1, 5, 6, 7)[axis])
    assert part.why == "the device's values there are always 2.5"
    values = np.stack([model[where] for _, model in frames])
    assert part.span == values.max() - values.min()


def test_a_part_of_other_values_is_found_without_a_reason() -> None:
    frames, rng = [], np.random.default_rng(7)
    for model in maps():
        device = noisy(model)
        device[:, 0] = rng.standard_normal(device[:, 0].shape)
        frames.append((device, model))
    assert [(p.axis, p.at, p.among, p.why) for p in added(frames).unexplained()] == [(1, 0, 5, "")]


def test_frames_are_found_by_their_number() -> None:
    models = maps(6)
    devices = [noisy(m) for m in models]
    devices[2], devices[5] = devices[1], np.full_like(models[5], -1.0)
    found = added([*zip(devices, models)]).unexplained()
    assert [(p.axis, p.at, p.among) for p in found] == [(None, 12, 6), (None, 15, 6)]
    assert [p.why for p in found] == ["it repeats frame 11", "the device's values there are always -1"]
    assert found[0].span == models[2].max() - models[2].min()


@pytest.mark.parametrize("ends", [(-8.0, 7.0), (np.full(3, -8.0), np.array([7.0, 7.0, 7.0]))])
@pytest.mark.parametrize("again", [[9.0, 9.5, 12.0], [-9.0, 7.4, 20.0]])
def test_a_frame_that_is_clamped_as_the_one_before_does_not_repeat_it(ends: Any, again: list[float]) -> None:
    """A device that clamps is right to answer twice alike; one whose answer is within its range is not."""
    rng = np.random.default_rng(3)
    models = [rng.uniform(-6, 6, (1, 3, 1, 1)) for _ in range(8)]
    above = np.array(again).reshape(1, 3, 1, 1)
    models[4], models[5] = above, above + 40 * np.sign(above)
    devices = [np.clip(np.rint(m), -8, 7) for m in models]

    def whys(devices: list[np.ndarray], *given: Any) -> list[str]:
        parts = Parts(1, 1.0, *given)
        for frame, pair in enumerate(zip(devices, models)):
            parts.add(frame, *pair)
        return [part.why for part in parts.unexplained() if part.axis is None]

    assert np.array_equal(devices[4], devices[5])
    assert whys(devices, ends) == []
    assert whys(devices) == ["it repeats frame 4"]  # without ends
    stale = [*devices[:7], devices[6]]
    assert whys(stale, ends) == ["it repeats frame 6"]


@pytest.mark.parametrize("fixed", [(), (0, 1, 2, 3, 4, 5), (0, 3), (1, 2, 5)])
def test_a_frame_is_compared_with_the_one_before_whoever_keeps_it(fixed: tuple[int, ...]) -> None:
    """A caller may write the next frame over arrays that it does not declare fixed; its fixed ones are not touched."""
    models, expected = maps(6), Parts(1, 0.0)
    devices = [*models[:4], models[3], models[5]]
    for k, pair in enumerate(zip(devices, models)):
        expected.add(k, *(x.copy() for x in pair))
    found, reused = Parts(1, 0.0), (np.empty_like(models[0]), np.empty_like(models[0]))
    for k, pair in enumerate(zip(devices, models)):
        if k not in fixed:
            for over, x in zip(reused, pair):
                np.copyto(over, x)
        sums = found.add(k, *(pair if k in fixed else reused), k in fixed)
        assert np.isclose(sums.change[0], np.square(models[k] - models[k - 1]).sum() if k else 0, rtol=1e-12)
    assert found.unexplained() == expected.unexplained() != []
    for x, kept in zip(models, maps(6)):
        np.testing.assert_array_equal(x, kept)


def test_one_answer_for_every_frame() -> None:
    """Frozen: it never changes, and the model's answer changes by more than rounding, a third of a squared step."""
    base = maps(1)[0]

    def frozen(change: float, steps: Any = 0.0, scale: float = 1.0, again: bool = True) -> bool:
        first, second = base * scale, base * scale + change
        return added([(first, first), (first if again else second, second)], steps).frozen

    assert frozen(0.6, 1.0) and not frozen(0.55, 1.0) and frozen(-0.6, 1.0) and not frozen(0.6, 1.0, again=False)
    assert not frozen(0.0) and frozen(0.1) and frozen(1.2, 2.0) and not frozen(1.1, 2.0)
    peak = float(np.abs(base).max())
    assert frozen(0.12, scale=100 / peak) and not frozen(0.08, scale=100 / peak)  # a thousandth of the largest value
    assert not added([(base, base)]).frozen and not Parts(1, 0.0).frozen
    three = [(base, base), (base, base + 1), (base + 1, base + 2)]
    assert not added(three).frozen and added([*three[:2], (base, base + 2)]).frozen
    channels = np.array([0.1, 0.1, 0.1, 0.1, 2.0])  # their mean square decides: 0.8 squared
    assert frozen(0.55, channels) and not frozen(0.5, channels)


def test_parts_that_vary_by_less_than_half_a_step_are_lost() -> None:
    low, high = np.zeros((1, 4, 3)), np.zeros((1, 4, 3))
    high[0, :, 1] = 0.0, 0.4, 0.5, 3.0
    frames = [(low, low), (high, high)] * 16
    assert [(p.axis, p.at, p.among, p.span) for p in added(frames, 1.0).lost()] == [(1, 1, 4, 0.4)]
    by_channel = np.array([1.0, 0.5, 1.1, 7.0])
    lost = added(frames, by_channel).lost()
    assert [(p.axis, p.at) for p in lost if p.axis == 1] == [(1, 2), (1, 3)]
    assert added(frames, 0.0).lost() == []
    columns = np.zeros((1, 2, 3))
    columns[0, :, 0], columns[0, :, 1], columns[0, :, 2] = (0.0, 0.3), (5.0, 5.3), (-0.9, -0.5)
    lost = [(p.axis, p.at) for p in added([(columns, columns)] * 16, 1.0).lost() if p.axis == 2]
    assert lost == [(2, 0), (2, 2)]  # column 1 is far from 0: its level is seen


@pytest.mark.parametrize("axis", [1, None])
@pytest.mark.parametrize("count", [2, 3, 5, 10])
def test_classes_that_hardly_vary_in_a_few_frames_are_not_lost(axis: int | None, count: int) -> None:
    """Of a thousand numbers with one distribution some are always alike."""
    small = 0
    for seed in range(20):
        model = (1.5, 3.0)[seed % 2] * np.random.default_rng(seed).standard_normal((count, 1, 1000))
        parts = Parts(axis, 1.0)
        for frame, values in enumerate(model):
            parts.add(frame, np.round(values), values)
        small += np.count_nonzero(np.ptp(model, axis=0) < 0.5)
        assert parts.lost() == []
    assert small > 50 or count > 3


@pytest.mark.parametrize("axis", [1, None])
def test_a_score_beside_pixels_is_lost_in_three_frames(axis: int | None) -> None:
    rng, step = np.random.default_rng(0), 2.5
    parts = Parts(axis, step)
    for frame in range(3):
        values = np.array([[*rng.uniform(0, 640, 4), rng.uniform(0, 1)]])
        parts.add(frame, np.round(values / step) * step, values)
    assert [(p.axis, p.at) for p in parts.lost()] == [(1, 4)]


def test_the_worst_frames_have_eight_times_the_usual_error() -> None:
    model = maps(1)[0]
    errors = [1.0, 1.0, 8.1**0.5, 1.0, 7.9**0.5]
    worst = added([(model + error, model) for error in errors]).worst_frames()
    assert [(p.axis, p.at, p.among) for p in worst] == [(None, 12, 5)]
    assert worst[0].span == model.max() - model.min()


def test_faint_channels_need_more_than_their_noise_and_enough_values() -> None:
    """Of channels as faint as the error of the others nothing can be said; of those with few values neither."""
    rng, models = np.random.default_rng(3), maps(4)
    for size, says in ((0.01, False), (0.5, True)):
        frames = []
        for model in models:
            model = model.copy()
            model[:, 2] *= size
            device = model + rng.standard_normal(model.shape) * 0.02
            device[:, 2] = rng.standard_normal(device[:, 2].shape) * 0.02
            frames.append((device, model))
        found = [(p.axis, p.at) for p in added(frames).unexplained()]
        assert found == ([(1, 2)] if says else []), size
    for rows, says in ((15, False), (16, True)):
        model = rng.standard_normal((rows, 5))
        device = model + rng.standard_normal(model.shape) * 0.02
        device[:, 2] = 0.0
        parts = Parts(1, 0.0)
        parts.add(0, device, model)
        assert bool([p for p in parts.unexplained() if p.axis == 1]) is says, rows


@pytest.mark.parametrize(("off", "constant", "says"), [(0.7, False, False), (2.0, False, True), (0.7, True, True)])
@pytest.mark.parametrize("axis", [1, 3])
def test_a_channel_that_is_off_by_less_than_two_steps_is_explained(
    off: float, constant: bool, says: bool, axis: int
) -> None:
    """Of int8, over dim frames: its layers moved a faint channel, which varies by 1.1 steps, by as much."""
    rng, step, frames = np.random.default_rng(4), 0.1, []
    for _ in range(4):
        model = rng.standard_normal((1, 16, 8, 16))
        channel = (slice(None), 3) if axis == 1 else (..., 3)
        model[channel] = 0.42 + 0.11 * rng.standard_normal(model[channel].shape)
        device = model + 0.03 * rng.standard_normal(model.shape)
        device[channel] = 0.53 + off * 0.11 * rng.standard_normal(model[channel].shape) * (not constant)
        frames.append((device, model))
    assert [(p.axis, p.at) for p in added(frames, step).unexplained()] == ([(axis, 3)] if says else [])


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def spoiled(what: str, values: np.ndarray) -> np.ndarray:
    """`values` (frames, 1, channels, rows, columns) with one part that says nothing."""
    values, rng = values.copy(), np.random.default_rng(0)
    if what == "channel 0":
        values[:, :, 5] = 0
    if what == "channel random":
        values[:, :, 5] = rng.permutation(values[:, :, 5].ravel()).reshape(values[:, :, 5].shape)
    if what == "rows 0":
        values[..., -2:, :] = 0
    if what == "frame 0":
        values[6] = 0
    if what == "frame again":
        values[6] = values[5]
    return values


@pytest.mark.parametrize(
    "what, says",
    [
        ("channel 0", "Channel 5 of 19 does not follow the model: the device's values there are always 0."),
        ("channel random", "Channel 5 of 19 does not follow the model. "),
        (
            "rows 0",
            "2 of 12 places along axis 2 (10, 11) do not follow the model: the device's values there are always 0.",
        ),
        ("frame 0", "Frame 6 of 8 does not follow the model: the device's values there are always 0."),
        ("frame again", "Frame 6 of 8 does not follow the model: it repeats frame 5."),
    ],
)
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_every_part_has_to_be_explained(board: Board, what: str, says: str, dtype: str) -> None:
    values = spoiled(what, np.stack([a["maps"] for a in board.answers]))
    spec = spec_as(board, dtype=dtype, quantization=None if dtype == "float32" else board.spec.quantization)
    output = board.verdict(board.recording(spec, [{"maps": spec.pack(v)} for v in values]))
    assert output.verdict == "mismatch" and output.why.startswith(says), output.why


def test_what_is_hardly_more_than_noise_need_not_be_explained(board: Board) -> None:
    """Noise of 12 dB, and a channel with a tenth of the others' deviation: there it is more than what varies."""
    model = onnx.load_from_string(network())
    weight = next(i for i in model.graph.initializer if i.name == "maps_w")
    array = numpy_helper.to_array(weight).copy()
    array[5] *= 0.1
    weight.CopyFrom(numpy_helper.from_array(array, weight.name))
    engine = nl.OnnxRuntimeEngine(model.SerializeToString(), threads=1)
    answers, rng = [engine.infer(x)["maps"] for x in board.inputs], np.random.default_rng(0)
    noise = np.std(answers, axis=(0, 1, 3, 4)).mean() / 4
    spec = nl.TensorSpec(SHAPE, "NCHW", "float32")
    outputs = [spec.pack((a + noise * rng.standard_normal(a.shape)).astype(np.float32)) for a in answers]
    frames = [({"image": x}, {"maps": y}) for x, y in zip(board.inputs, outputs)]
    output = nl.validate(nl.Recording({"maps": spec}, frames), engine).outputs["maps"]
    assert output.channels[5].snr_db < 10 and output.verdict == "match", str(output)


@pytest.mark.parametrize("axis", [1, 2, 3])
def test_faint_parts_are_no_fault_of_even_noise(axis: int) -> None:
    """But where they are dead, and large enough to be reported."""
    rng = np.random.default_rng(11)
    shape = (1, 8, 24, 20)
    part = tuple([slice(None)] * axis + [-1])
    for faint, accused in ((0.001, False), (0.01, False), (1.0, True)):
        parts = Parts(1, 0.0)
        for number in range(8):
            model = rng.standard_normal(shape)
            model[part] *= faint
            device = model + 0.06 * rng.standard_normal(shape)
            if accused:
                device[part] = 0
            parts.add(number, device, model)
        assert [(p.axis, p.at) for p in parts.unexplained()] == ([(axis, shape[axis] - 1)] if accused else [])


def test_frames_that_fail_are_named(board: Board) -> None:
    """The rest is as good as ever; two frames have the noise that breaks the tolerance."""
    values, rng = [a["maps"] for a in board.answers], np.random.default_rng(0)
    noisy = [v + (k in (2, 5)) * 0.6 * v.std() * rng.standard_normal(v.shape) for k, v in enumerate(values)]
    outputs = [{"maps": board.spec.pack(v.astype(np.float32))} for v in noisy]
    output = board.verdict(board.recording(None, outputs), min_snr_db=20)
    assert output.verdict == "mismatch"
    assert output.why.endswith("2 of 8 frames (2, 5) have far larger errors than the others.")


def test_lost_channels_are_no_match(board: Board) -> None:
    """A scale shared by large boxes and small scores: the cosine is nearly 1."""
    factor = np.where(np.arange(CHANNELS) < 4, 1000.0, 1.0)[None, :, None, None].astype(np.float32)
    model = onnx.load_from_string(network())
    for initializer in model.graph.initializer:
        if initializer.name in ("maps_w", "maps_b"):
            array = numpy_helper.to_array(initializer)
            scaled = array * factor.reshape([CHANNELS] + [1] * (array.ndim - 1))
            initializer.CopyFrom(numpy_helper.from_array(scaled.astype(np.float32), initializer.name))
    engine = nl.OnnxRuntimeEngine(model.SerializeToString())
    answers = [engine.infer(x)["maps"] for x in board.inputs]
    spec = nl.TensorSpec(SHAPE, "NCHW", "int8", quantization=nl.engines.calibrate(answers, "int8"))
    frames = [({"image": x}, {"maps": spec.pack(a)}) for x, a in zip(board.inputs, answers)]
    output = nl.validate(nl.Recording({"maps": spec}, frames), engine).outputs["maps"]
    assert output.figures is not None and output.figures.cosine > 0.999
    assert output.dead == tuple(range(4, CHANNELS)) and output.verdict == "mismatch" and "lost" in output.why, str(
        output
    )


def test_channels_that_are_always_0_are_in_order(board: Board) -> None:
    zero = np.isin(np.arange(CHANNELS), (3, 6, 9))[None, :, None, None]
    model = onnx.load_from_string(network())
    model.graph.initializer.extend([numpy_helper.from_array((1 - zero).astype(np.float32), "keep")])
    model.graph.node[-1].output[0] = "all"
    model.graph.node.append(helper.make_node("Mul", ["all", "keep"], ["maps"]))
    outputs = [{"maps": board.spec.pack(a["maps"] * (1 - zero))} for a in board.answers]
    output = nl.validate(board.recording(None, outputs), model.SerializeToString()).outputs["maps"]
    assert output.verdict == "match", str(output)


@pytest.mark.parametrize(
    "small, large, lost",
    [
        (0.8, 100.0, [2, 3, 4, 5]),  # two codes in four of six channels, beside a range of a hundred steps
        (0.4, 100.0, [2, 3, 4, 5]),
        (0.8, 20.0, [5]),  # a dim picture: only what is within half a step
        (1.2, 100.0, []),
    ],
)
def test_channels_of_two_codes_beside_far_larger_ones_are_lost(small: float, large: float, lost: list[int]) -> None:
    span = np.array([large, large, small, small, small, small / 2]).reshape(1, 6, 1, 1)
    model = span * np.random.default_rng(0).random((8, 6, 12, 12))
    parts = Parts(1, 1.0)
    for frame, values in enumerate(model):
        parts.add(frame, np.round(values)[None], values[None])
    found = [p for p in parts.lost() if p.axis == 1]
    assert [p.at for p in found] == lost
    assert all(0 < p.steps < 1 and abs(p.steps - p.span) < 1e-9 for p in found)
