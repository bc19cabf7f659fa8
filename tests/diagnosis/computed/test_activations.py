"""An activation more or less than the model has, in all channels or in some."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import npu_layout as nl
from npu_layout.diagnosis.computed.activations import activations
from npu_layout.diagnosis.scoring.evidence import Evidence
from npu_layout.reports import fixes
from tests.support.boards import CHANNELS, Board, network, same, spec_as
from tests.support.endings import ending, smooth, verdict


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def test_a_softmax_along_the_last_axis_is_named() -> None:
    """Where the channels are taken to be along another one."""
    rng, spec = np.random.default_rng(2), nl.TensorSpec((1, 60, 20), "NCW", "float32", name="y")
    frames = []
    for _ in range(6):
        x = rng.normal(0, 3, spec.shape).astype(np.float32)
        frames.append(({"x": x}, {"y": np.exp(x) / np.exp(x).sum(2, keepdims=True)}))
    output = nl.validate(nl.Recording({"y": spec}, frames), same((1, 60, 20))).outputs["y"]
    assert output.verdict == "activation" and output.channel_axis == 1
    assert output.why.startswith("The device's model ends in another way: an extra softmax, along axis 2. "), output.why


def _probabilities(largest: float, frames: int = 4) -> list[np.ndarray]:
    """Logits below that of a probability, of a deviation of 4, down to those of 3e-7."""
    rng, top = np.random.default_rng(0), np.log(largest / (1 - largest))
    return [(top - np.abs(4 * rng.normal(size=(1, 6, 30, 30)))).clip(-15).astype(np.float32) for _ in range(frames)]


def test_of_small_probabilities_a_missing_exp_looks_like_a_missing_sigmoid() -> None:
    """Their logits are nearly their logarithms: both are said where the device's steps hide the difference."""
    model = ending((1, 6, 30, 30), "Sigmoid")
    small = verdict(model, _probabilities(0.01), lambda x, y: x, 40, "int8")
    assert small.verdict == "activation", str(small)
    assert "another way: a missing sigmoid, or a missing exp, or an extra log. With that" in small.why, small.why
    for largest in (0.05, 0.9):
        large = verdict(model, _probabilities(largest), lambda x, y: x, 40, "int8")
        assert large.verdict == "activation" and "another way: a missing sigmoid. With that" in large.why, large.why


def test_what_is_exact_is_not_refused_for_what_rounding_leaves() -> None:
    """Of floats of few values, what rounding leaves depends on the value alone: that is no other function."""
    rng = np.random.default_rng(0)
    values = np.concatenate([9 + 0.3 * rng.normal(size=8), -11 + 0.3 * rng.normal(size=24)]).astype(np.float32)
    logits = [rng.choice(values, (1, 1, 40, 40)) for _ in range(3)]
    found = verdict(ending((1, 1, 40, 40), "Sigmoid"), logits, lambda x, y: x, 300)
    assert found.verdict == "activation" and "another way: a missing sigmoid." in found.why, str(found)


def test_a_whole_activation_is_not_said_to_be_one_of_a_part() -> None:
    """The sigmoid of pixels is 1 everywhere, with or without it in that channel."""
    rng, spec = np.random.default_rng(2), nl.TensorSpec((1, 3, 40), "NCW", "float32", name="y")
    frames = []
    for _ in range(6):
        x = (2 * rng.normal(size=spec.shape) + [[[0], [60], [0]]]).astype(np.float32)
        frames.append(({"x": x}, {"y": (1 / (1 + np.exp(-x)) + rng.normal(0, 0.02, x.shape)).astype(np.float32)}))
    output = nl.validate(nl.Recording({"y": spec}, frames), same((1, 3, 40))).outputs["y"]
    assert output.verdict == "activation", output.why
    assert output.why.startswith("The device's model ends in another way: an extra sigmoid. "), output.why


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_an_activation_is_no_scale(board: Board, dtype: str) -> None:
    """A line through a sigmoid explains 9 dB and more, with a scale of its own."""
    values = [(1 / (1 + np.exp(-a["maps"]))).astype(np.float32) for a in board.answers]
    spec = spec_as(board, dtype=dtype, quantization=nl.engines.calibrate(values, dtype))
    output = board.verdict(board.recording(spec, [{"maps": spec.pack(v)} for v in values]))
    assert output.verdict == "activation" and output.why.startswith(
        "The device's model ends in another way: an extra sigmoid. "
    )
    cubes = [np.cbrt(a["maps"]).astype(np.float32) for a in board.answers]
    output = board.verdict(board.recording(spec, [{"maps": spec.pack(v / 4)} for v in cubes]))
    assert output.verdict == "mismatch" and "the rest of the error depends on the value" in output.why, output.why


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("shape, count", [((1, 1000), 2), ((1, 10, 12, 16), 1), ((1, 10, 12, 16), 6)])
def test_another_sign_is_named(dtype: str, shape: tuple[int, ...], count: int) -> None:
    """A network whose last weights are negated, or that returns distances for scores, under 16 dB of noise."""
    rng = np.random.default_rng(len(shape) + count)
    spec = nl.TensorSpec(shape, "NC" if len(shape) == 2 else "NCHW", "float32", name="y")
    for whole in (True, False) if len(shape) > 2 else (True,):
        sign = np.float32(-1) if whole else np.where(np.arange(10) < 3, -1, 1).astype(np.float32).reshape(1, 10, 1, 1)
        xs = [rng.normal(0.5, 2, shape).astype(np.float32) for _ in range(count)]
        values = [(sign * x + rng.normal(0, 0.32, shape)).astype(np.float32) for x in xs]
        stored = spec if dtype == "float32" else spec_of(spec, values, dtype)
        frames = [({"x": x}, {"y": stored.pack(v)}) for x, v in zip(xs, values)]
        output = nl.validate(nl.Recording({"y": stored}, frames), same(shape)).outputs["y"]
        part = "" if whole else ", in 3 of 10 channels (0, 1, 2)"
        assert output.verdict == "activation" and output.fix is None, output.why
        assert f"ends in another way: the model's values with the other sign{part}. With" in output.why


def spec_of(spec: nl.TensorSpec, values: list[np.ndarray], dtype: str) -> nl.TensorSpec:
    return spec.replace(dtype=dtype, quantization=nl.engines.calibrate(values, dtype))


def test_probabilities_taken_from_one() -> None:
    """Of the background for those of the object; of two channels it is their order, which has a fix."""
    rng = np.random.default_rng(3)
    for channels in (1, 2, 5):
        shape = (1, channels, 200)
        spec = nl.TensorSpec(shape, "NCW", "float32", name="y")
        xs = [rng.uniform(0, 1, shape).astype(np.float32) for _ in range(3)]
        if channels == 2:
            xs = [np.concatenate([x[:, :1], 1 - x[:, :1]], 1) for x in xs]
        frames = [({"x": x}, {"y": (1 - x + rng.normal(0, 0.03, shape)).astype(np.float32)}) for x in xs]
        output = nl.validate(nl.Recording({"y": spec}, frames), same(shape)).outputs["y"]
        if channels == 2:
            assert (output.verdict, output.fix) == ("channel_order", (1, 0)), output.why
        else:
            assert output.verdict == "activation" and "another way: 1 minus the model's values. " in output.why


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("last", [False, True])
def test_scores_beside_boxes(board: Board, dtype: str, last: bool, tmp_path: Path) -> None:
    """Boxes in pixels are nearly all that varies: random scores are no match for that, before or behind them."""
    model = onnx.load_from_string(network())
    nodes, weights = model.graph.node, model.graph.initializer
    factor = np.where(np.arange(CHANNELS) < 4, 640.0, 1.0).reshape(1, CHANNELS, 1, 1).astype(np.float32)
    weights.extend([numpy_helper.from_array(factor, "f"), numpy_helper.from_array(np.array([1, CHANNELS, 144]), "s")])
    nodes[-1].output[0] = "raw"
    nodes.append(helper.make_node("Sigmoid", ["raw"], ["unit"]))
    nodes.append(helper.make_node("Mul", ["unit", "f"], ["scaled"]))
    nodes.append(helper.make_node("Reshape", ["scaled", "s"], ["flat"]))
    nodes.append(helper.make_node("Transpose", ["flat"], ["maps"], perm=[0, 2, 1] if last else [0, 1, 2]))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("maps", TensorProto.FLOAT, None))
    engine = nl.OnnxRuntimeEngine(model.SerializeToString(), threads=1)
    answers, rng = [engine.infer(x)["maps"] for x in board.inputs], np.random.default_rng(0)
    spec = nl.TensorSpec(answers[0].shape, "NCW", dtype, quantization=nl.engines.calibrate(answers, dtype))

    def verdict(change: Any) -> nl.OutputReport:
        frames = []
        for x, answer in zip(board.inputs, answers):
            scores = (answer if last else answer.transpose(0, 2, 1)).copy()
            scores[..., 4:] = change(scores[..., 4:])
            frames.append(({"image": x}, {"maps": spec.pack(scores if last else scores.transpose(0, 2, 1))}))
        return nl.validate(nl.Recording({"maps": spec}, frames), engine).outputs["maps"]

    healthy = verdict(lambda y: y)
    if dtype == "int8":  # a step is 2.5
        assert healthy.verdict == "mismatch" and healthy.dead == tuple(range(4, 19))
        assert healthy.why.startswith("15 of 19 channels (4, 5, 6, 7, 8, 9, ...) are lost")
        split = (
            "Fix: give them a scale of their own, as 2 outputs of the graph (0 to 3 and 4 to 18), cut before the node "
        )
        assert split in healthy.why and str(healthy).count("half a") == 1, str(healthy)
        q = spec.quantization
        assert q is not None
        half = nl.Quantization(float(q.scale) / 2, q.zero_point)
        halved = nl.TensorSpec(spec.shape, "NCW", dtype, quantization=half)
        frames = [({"image": x}, {"maps": spec.pack(answer)}) for x, answer in zip(board.inputs, answers)]
        output = nl.validate(nl.Recording({"maps": halved}, frames), engine).outputs["maps"]
        assert output.verdict == "quantization" and output.fix.quantization.scale == pytest.approx(q.scale, rel=0.02)
        return
    assert healthy.verdict == "match" and healthy.channel_axis == (2 if last else 1)
    for change in (lambda y: rng.random(y.shape), lambda y: 0 * y):
        output = verdict(change)
        assert output.verdict == "mismatch" and "do not follow the model" in output.why
    for change, text in ((lambda y: 1 / (1 + np.exp(-y)), "an extra"), (lambda y: np.log(y / (1 - y)), "a missing")):
        output = verdict(change)
        named = (
            f"The device's model ends in another way: {text} sigmoid, in 15 of 19 channels (4, 5, 6, 7, 8, 9, ...). "
        )
        assert output.verdict == "activation" and output.why.startswith(named), output.why
    output = verdict(lambda y: np.roll(y, 1, 2))
    assert output.verdict == "channel_order" and output.fix == (0, 1, 2, 3, *range(5, 19), 4)
    given = answers[0].take(np.argsort(output.fix), output.channel_axis)
    names: dict[str, Any] = {"buffer": spec.pack(given)}
    exec(fixes.code(output.verdict, output.fix, output.spec, output.channel_axis) or "", names)
    assert np.array_equal(names["tensor"], answers[0])
    nl.Report({"maps": output}, 8, "model.onnx", "", {}).to_html(tmp_path / "page.html")
    assert f".take(order, axis={output.channel_axis})" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("db", [40, 20])
def test_a_sigmoid_in_one_channel_is_not_a_factor_for_each(db: float) -> None:
    """A sigmoid of what one has returned is nearly a line, which fitted factors explain as well."""
    shape = (1, 9, 12, 16)
    inputs = [np.float32(1 / (1 + np.exp(-x))) for x in smooth(shape)]
    one = (np.arange(9) == 4).reshape(1, 9, 1, 1)
    output = verdict(ending(shape), inputs, lambda x, y: np.where(one, 1 / (1 + np.exp(-y)), y), db)
    assert output.verdict == "activation" and "an extra sigmoid, in 1 of 9 channels (4)" in output.why, output.why
    each = np.where(one, 0.24, 1.0)
    output = verdict(ending(shape), inputs, lambda x, y: y * each, db)
    assert "sigmoid" not in output.why.split(". With")[0] and output.verdict != "match", output.why
    assert verdict(ending(shape), inputs, lambda x, y: y, db).verdict == "match"


def test_a_normalisation_of_all_channels_is_not_one_of_a_part() -> None:
    """Each value of a normalised vector depends on all: a channel that is near one by chance has another cause."""
    rng, shape = np.random.default_rng(4), (1, 6, 16, 16)
    model = [rng.standard_normal(shape).astype(np.float32) for _ in range(2)]
    spec = nl.TensorSpec(shape, "NCHW", "float32")

    def texts(channels: list[int]) -> list[str]:
        values = [np.array(x) for x in model]
        for x, y in zip(model, values):
            y[:, channels] = (x / np.sqrt((x * x).sum(1, keepdims=True)))[:, channels]
        found = Evidence(spec, [spec.pack(y) for y in values], model, (), 1)
        return [t.text for t in activations(found) if "normalisation" in t.text]

    assert "an extra L2 normalisation" in texts([*range(6)])
    assert texts([3]) and not any("channels" in text for text in texts([3]))


def test_a_normalisation_shows_in_frames_whose_class_is_not_sure() -> None:
    """The frame that varies most is the one that it does not change."""
    rng = np.random.default_rng(4)
    sharp = np.where(np.arange(12) % 3, 1.5, 40.0)[:, None]
    logits = sharp * rng.standard_normal((12, 10))
    model = [np.float32(np.exp(x) / np.exp(x).sum())[None] for x in logits]
    device = [x / np.linalg.norm(x) for x in model]
    found = Evidence(nl.TensorSpec((1, 10), "NC"), device, model, (), 1)
    assert any("an extra L2 normalisation" in trial.text for trial in activations(found))


def test_probabilities_have_no_further_tanh() -> None:
    """Noise that is cut at the end of the dtype's range makes ones smaller on average, as a tanh does."""
    rng, shape = np.random.default_rng(3), (1, 4, 12, 12)
    spec = nl.TensorSpec(shape, "NCHW", "float32")

    def tried(low: float) -> set[str]:
        model = [rng.uniform(low, 1, shape).astype(np.float32) for _ in range(2)]
        found = Evidence(spec, [(x + 0.1 * rng.standard_normal(shape)).astype(np.float32) for x in model], model, (), 1)
        return {trial.text.partition(",")[0] for trial in activations(found)}

    assert "an extra tanh" not in tried(0) and "an extra tanh" in tried(-1)


@pytest.mark.parametrize(("best", "tried"), [(-np.inf, True), (24.0, True), (30.0, False)])
def test_a_function_along_an_axis_is_no_rival_of_what_explains_nearly_all(best: float, tried: bool) -> None:
    """It explains 14 dB of a board that is noisy."""
    rng, shape = np.random.default_rng(6), (1, 5, 16, 16)
    model = [2 * rng.standard_normal(shape).astype(np.float32) for _ in range(2)]
    spec = nl.TensorSpec(shape, "NCHW", "float32")
    powers = [np.exp(x) / np.exp(x).sum(1, keepdims=True) for x in model]
    noisy = [(p + 0.2 * p.std() * rng.standard_normal(shape)).astype(np.float32) for p in powers]
    found = Evidence(spec, [spec.pack(y) for y in noisy], model, (), 1)
    assert ("an extra softmax" in [trial.text for trial in activations(found, best)]) == tried
