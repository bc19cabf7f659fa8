"""Two causes at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import npu_layout as nl
from tests.support.boards import PRE, SHAPE, Board, ending, same, spec_as
from tests.support.endings import smooth

LARGE, SMALL = (1, 7, 16, 24), (1, 7, 8, 12)
MEAN, STD = (np.array(PRE[key])[None, :, None, None] for key in ("mean", "std"))


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


@pytest.fixture(scope="module")
def two() -> Board:
    return Board(outputs=("a", "b"))


def _bgr(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x[:, ::-1])


def test_colours_and_a_scale(board: Board, tmp_path: Path) -> None:
    q = board.spec.quantization
    assert q is not None
    halved = spec_as(board, quantization=nl.Quantization(float(q.scale) / 2, q.zero_point))
    report = nl.validate(board.recording(halved, board.fed(_bgr)), board.engine)
    output = report.outputs["maps"]
    assert output.verdict == "quantization" and output.also == ("preprocessing",), str(output)
    assert output.fix.quantization.scale == pytest.approx(q.scale, rel=0.02)
    assert output.why.startswith("Two causes at once. The stored numbers do not have the declared scale"), output.why
    assert "And the input was made in another way than declared: " in output.why and "BGR" in output.why
    assert output.to_dict()["also"] == ["preprocessing"] and "maps: quantization, preprocessing" in str(output)
    second = board.verdict(board.recording(output.fix, board.fed(_bgr)))
    assert second.verdict == "preprocessing" and second.also == () and second.fix["color"] == "BGR"
    report.to_html(tmp_path / "page.html")
    assert "Two causes at once" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_colours_and_a_layout(board: Board) -> None:
    nhwc = spec_as(board, "NHWC")
    fed = [{"maps": nhwc.pack(board.engine.infer(_bgr(x))["maps"])} for x in board.inputs]
    output = board.verdict(board.recording(spec_as(board, "NCHW"), fed))
    assert output.verdict == "layout" and output.also == ("preprocessing",), str(output)
    assert output.fix.storage.layout == nhwc.storage.layout


def test_colours_and_a_zero_point(board: Board) -> None:
    q = board.spec.quantization
    assert q is not None
    moved = spec_as(board, quantization=nl.Quantization(q.scale, int(q.zero_point) + 30))
    output = board.verdict(board.recording(moved, board.fed(_bgr)))
    assert (output.verdict, output.also) == ("quantization", ("preprocessing",)), str(output)
    assert abs(float(output.fix.quantization.zero_point) - float(q.zero_point)) <= 1


@pytest.mark.parametrize(("db", "named"), [(14, False), (18, True)])
def test_scales_of_channels_beside_colours(board: Board, db: float, named: bool) -> None:
    """Lines of channels fit much: those of a noisy device may as well be of an input that was not tried."""
    rng, shape = np.random.default_rng(0), (1, SHAPE[1], 1, 1)
    factor, offset = rng.uniform(0.5, 2, shape), rng.normal(0, 0.5, shape)
    answers = [factor * board.engine.infer(_bgr(x))["maps"] + offset for x in board.inputs]
    deviation = np.stack(answers).std((0, 1, 3, 4)).reshape(shape) * 10 ** (-db / 20)
    noisy = [(y + deviation * rng.standard_normal(y.shape)).astype(np.float32) for y in answers]
    q = nl.engines.calibrate(noisy, "int8")
    spec = nl.TensorSpec(SHAPE, "NCHW", "int8", quantization=q)
    output = board.verdict(board.recording(spec, [{"maps": spec.pack(y)} for y in noisy]))
    both = ("quantization", ("preprocessing",))
    assert ((output.verdict, output.also) == both) == named, str(output)
    assert named or output.verdict in ("mismatch", "ambiguous"), str(output)


def test_late_frames_and_a_zero_point(board: Board) -> None:
    q = board.spec.quantization
    assert q is not None
    moved = spec_as(board, quantization=nl.Quantization(q.scale, int(q.zero_point) - 30))
    answers = [board.answers[-1], *board.answers[:-1]]
    output = board.verdict(board.recording(moved, [{"maps": board.spec.pack(a["maps"])} for a in answers]))
    assert (output.verdict, output.also) == ("quantization", ("wrong_input",)), str(output)
    assert abs(float(output.fix.quantization.zero_point) - float(q.zero_point)) <= 1


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-x)), np.float32)


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize(("fed", "also"), [(_bgr, ("preprocessing",)), (np.asarray, ())])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_sigmoid_beside_colours(twice: bool, fed: Any, also: tuple[str, ...], noise: float) -> None:
    """Also of a model that ends in one; and alone it is one cause."""
    board, rng = Board(), np.random.default_rng(0)
    engine = nl.OnnxRuntimeEngine(ending("Sigmoid"), threads=1) if twice else board.engine
    spec, outputs = nl.TensorSpec(SHAPE, "NHWC", "int16", quantization=nl.Quantization(1 / 65535, -32768)), []
    for x in board.inputs:
        y = _sigmoid(engine.infer(fed(x))["maps"])
        outputs.append({"maps": spec.pack(y + np.float32(noise * y.std()) * rng.standard_normal(y.shape))})
    output = nl.validate(board.recording(spec, outputs), engine).outputs["maps"]
    assert (output.verdict, output.also, output.fix) == ("activation", also, None), str(output)
    assert "an extra sigmoid" in output.why and ("BGR" in output.why) == bool(also), output.why


def _in_other_order(board: Board, change: Any, db: float, dtype: str, factor: float = 1.0) -> nl.OutputReport:
    """What is said of noisy values that a function changed, and that are stored in another layout and scale."""
    rng, values = np.random.default_rng(1), []
    for answer in board.answers:
        y = answer["maps"]
        noisy = y + rng.normal(size=y.shape) * y.std() * 10 ** (-db / 20)
        values.append(np.asarray(change(noisy), np.float32))
    q = nl.engines.calibrate(values, dtype)
    stored = nl.TensorSpec(SHAPE, "NHWC", dtype, quantization=q)
    wrong = None if q is None else nl.Quantization(q.scale * factor, q.zero_point)
    spec = nl.TensorSpec(SHAPE, "NCHW", dtype, quantization=wrong)
    return board.verdict(board.recording(spec, [{"maps": stored.pack(v)} for v in values]))


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("an extra sigmoid", _sigmoid),
        ("an extra tanh", np.tanh),
        ("the model's values with the other sign", np.negative),
        ("an extra ReLU", lambda x: np.maximum(x, 0)),
    ],
)
@pytest.mark.parametrize("db", [35, 18])
def test_a_function_and_a_layout(board: Board, text: str, change: Any, db: float) -> None:
    """A line through a curve, fitted beside the layout, is no cause that both would have to be better than."""
    output = _in_other_order(board, change, db, "float16")
    assert (output.verdict, output.also) == ("layout", ("activation",)) and text in output.why, str(output)
    assert str(output.fix.layout) == "NHWC" and output.fix.dtype == "float16"
    alone = float(output.why.split("single cause, to ")[1].split(" dB")[0])
    assert alone < float(output.why.split("agree to ")[1].split(" dB")[0]), output.why


@pytest.mark.parametrize("dtype", ["int8", "float16"])
@pytest.mark.parametrize("db", [35, 18, 10])
def test_a_layout_has_no_function_that_is_another_one(board: Board, db: float, dtype: str) -> None:
    def clipped(x: np.ndarray) -> np.ndarray:
        return np.clip(x, -0.7 * x.std(), 0.7 * x.std())

    for change in (np.asarray, clipped, lambda x: x * abs(x), lambda x: x / (1 + np.exp(-x))):
        assert _in_other_order(board, change, db, dtype).also == ()
    if dtype == "int8":
        scaled = _in_other_order(board, np.asarray, db, dtype, 0.5)
        assert scaled.also == () and scaled.verdict in ("layout", "quantization"), str(scaled)


def test_the_picture_of_two_causes_is_of_its_frame(tmp_path: Path) -> None:
    """The pair is found in six of the frames; the page shows what both causes make of one of them."""
    board = Board(frames=10)
    spec = nl.TensorSpec(SHAPE, "NHWC", "int16", quantization=nl.Quantization(1 / 65535, -32768))
    both = [_sigmoid(board.engine.infer(_bgr(x))["maps"]) for x in board.inputs]
    report = nl.validate(board.recording(spec, [{"maps": spec.pack(y)} for y in both]), board.engine)
    output = report.outputs["maps"]
    assert (output.verdict, output.also) == ("activation", ("preprocessing",)), str(output)
    exhibit = output.exhibit
    assert exhibit is not None and exhibit.frame > 1, "a frame whose number among the six is another one"
    shown = exhibit.answers[output.ranking[0].trial]
    far = [float(np.abs(shown - y).max()) for y in both]
    assert int(np.argmin(far)) == exhibit.frame and min(far) < 1e-3, far
    report.to_html(tmp_path / "page.html")


@pytest.mark.parametrize(("axis", "words"), [(3, "from left to right"), (2, "from top to bottom"), ((2, 3), "by 180")])
def test_a_mirrored_input_and_a_layout(board: Board, axis: Any, words: str) -> None:
    def mirrored(x: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(np.flip(x, axis))

    nhwc = spec_as(board, "NHWC")
    fed = [{"maps": nhwc.pack(board.engine.infer(mirrored(x))["maps"])} for x in board.inputs]
    output = board.verdict(board.recording(spec_as(board, "NCHW"), fed))
    assert (output.verdict, output.also) == ("layout", ("geometry",)) and words in output.why, str(output)
    assert output.fix.storage.layout == nhwc.storage.layout
    alone = board.verdict(board.recording(None, board.fed(mirrored)))
    assert (alone.verdict, alone.also) == ("geometry", ()), str(alone)


def test_exchanged_outputs_and_a_layout(two: Board) -> None:
    q = two.spec.quantization
    nhwc, nchw = (nl.TensorSpec(SHAPE, layout, "int8", quantization=q) for layout in ("NHWC", "NCHW"))
    outputs = [{"a": nhwc.pack(x["b"]), "b": nhwc.pack(x["a"])} for x in two.answers]
    report = nl.validate(two.recording({"a": nchw, "b": nchw}, outputs), two.engine)
    for output in report.outputs.values():
        assert output.verdict == "layout" and output.also == ("output_order",), str(output)


def _two_sizes() -> nl.OnnxRuntimeEngine:
    """A model that returns its input as 'a', and the means of 2x2 values as 'b'."""
    nodes = [
        helper.make_node("Identity", ["x"], ["a"]),
        helper.make_node("AveragePool", ["x"], ["b"], kernel_shape=[2, 2], strides=[2, 2]),
    ]
    infos = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in zip("xab", (LARGE, LARGE, SMALL))
    ]
    graph = helper.make_graph(nodes, "sizes", infos[:1], infos[1:])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return nl.OnnxRuntimeEngine(made.SerializeToString(), threads=1)


@pytest.mark.parametrize("db", [40, 15])
@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_exchanged_outputs_of_other_shapes_and_a_layout(dtype: str, db: float, tmp_path: Path) -> None:
    engine, rng, sides = _two_sizes(), np.random.default_rng(2), {"a": LARGE, "b": SMALL}
    inputs = smooth(LARGE, frames=4)
    answers = [engine.infer(x) for x in inputs]
    noisy = [{k: y + 10 ** (-db / 20) * y.std() * rng.standard_normal(y.shape) for k, y in a.items()} for a in answers]
    q = {k: nl.engines.calibrate([a[k] for a in noisy], dtype) for k in sides}
    nhwc, nchw = (
        {k: nl.TensorSpec(shape, layout, dtype, quantization=q[k]) for k, shape in sides.items()}
        for layout in ("NHWC", "NCHW")
    )
    frames = [({"x": x}, {"a": nhwc["b"].pack(y["b"]), "b": nhwc["a"].pack(y["a"])}) for x, y in zip(inputs, noisy)]

    def said(specs: dict[str, nl.TensorSpec]) -> nl.Report:
        return nl.validate(nl.Recording({"a": specs["b"], "b": specs["a"]}, frames), engine)

    report = said(nchw)
    for name, output in report.outputs.items():
        assert (output.verdict, output.also) == ("layout", ("output_order",)), str(report)
        assert str(output.fix.layout) == "NHWC" and output.fix.shape == sides["b" if name == "a" else "a"]
    report.to_html(tmp_path / "page.html")
    assert "Two causes at once" in (tmp_path / "page.html").read_text(encoding="utf-8")
    second = said(nhwc)
    assert {k: o.fix for k, o in second.outputs.items()} == {k: {"a": "b", "b": "a"} for k in "ab"}, str(second)
    frames = [(one, {k: rng.permutation(buffer) for k, buffer in out.items()}) for one, out in frames]
    assert all(o.verdict == "mismatch" and not o.also for o in said(nchw).outputs.values()), "no values are explained"


@pytest.mark.parametrize("wrong", [True, False])
@pytest.mark.parametrize("noise", [0.05, 0.15])
def test_a_layout_beside_an_input_that_another_output_shows(two: Board, wrong: bool, noise: float) -> None:
    """Of many inputs few are tried beside a layout; the device had one, which the other output's reading shows."""
    q, rng = two.spec.quantization, np.random.default_rng(0)
    nhwc, nchw = (nl.TensorSpec(SHAPE, layout, "int8", quantization=q) for layout in ("NHWC", "NCHW"))
    pairs = []
    for x in two.inputs:
        pixels = np.clip(x * STD + MEAN, 0, 255)
        fed = ((255 * (pixels / 255) ** 2.2 - MEAN) / STD).astype(np.float32)
        answer = two.engine.infer(fed if wrong else x)
        noisy = {k: (y + noise * y.std() * rng.standard_normal(SHAPE)).astype(np.float32) for k, y in answer.items()}
        pairs.append(({"image": x}, {k: nhwc.pack(y) for k, y in noisy.items()}))
    report = nl.validate(nl.Recording({"a": nchw, "b": nhwc}, pairs, {"preprocess": PRE}), two.engine)
    a, b = report.outputs["a"], report.outputs["b"]
    assert (a.verdict, str(a.fix.layout), a.also) == ("layout", "NHWC", ("preprocessing",) * wrong), str(report)
    assert (b.verdict, b.also) == ("preprocessing" if wrong else "match", ()), str(report)
    assert not wrong or "with a gamma of 2.2" in a.why


@pytest.mark.parametrize("db", [40, 12, 7, 4])
def test_one_cause_or_none(board: Board, db: float) -> None:
    rng = np.random.default_rng(0)

    def noisy(y: np.ndarray) -> np.ndarray:
        return np.asarray(y + rng.normal(size=y.shape) * y.std() * 10 ** (-db / 20), np.float32)

    for outputs, verdicts in (
        (board.changed(noisy), {"match", "mismatch", "ambiguous"}),
        (
            [{"maps": board.spec.pack(noisy(board.engine.infer(_bgr(x))["maps"]))} for x in board.inputs],
            {"preprocessing"},
        ),
    ):
        output = board.verdict(board.recording(None, outputs))
        assert output.also == () and (output.verdict in verdicts or db < 8), str(output)


def test_what_is_wrong_in_frames_that_are_not_looked_at_is_no_pair() -> None:
    """Of a classifier whose commonest class is dead, most frames are right; those are no proof of two causes."""
    rng = np.random.default_rng(3)
    classes = [k % 7 if k != 9 else 7 for k in range(20)]
    model = [(0.9 * np.eye(20)[k] + 0.1 * rng.dirichlet(np.ones(20)))[None].astype(np.float32) for k in classes]
    device = [np.array(x) for x in model]
    for x in device:
        x += rng.normal(0, 0.02, x.shape).astype(np.float32)
        x[:, 7] = 0
    spec = nl.TensorSpec((1, 20), "NC", "int8", quantization=nl.Quantization(1 / 255, -128))
    frames = [({"x": x}, {"y": spec.pack(y)}) for x, y in zip(model, device)]
    output = nl.validate(nl.Recording({"y": spec}, frames), same((1, 20))).outputs["y"]
    assert output.also == () and output.verdict in ("match", "mismatch", "ambiguous"), str(output)


@pytest.mark.parametrize("sharp", [2.0, 4.0, 6.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_sigmoid_of_probabilities_is_one_cause(sharp: float, seed: int) -> None:
    """Most are rounded to the same few steps, where a scale with a tanh is as near as the sigmoid."""
    rng = np.random.default_rng(seed)
    powers = [np.exp(sharp * rng.standard_normal((1, 100))) for _ in range(24)]
    model = [(p / p.sum()).astype(np.float32) for p in powers]
    level = np.std([1 / (1 + np.exp(-x)) for x in model], 0) * 10 ** (-33 / 20)
    device = [(1 / (1 + np.exp(-x)) + level * rng.standard_normal(x.shape)).astype(np.float32) for x in model]
    spec = nl.TensorSpec((1, 100), "NC", "int8", quantization=nl.Quantization(float(np.max(device)) / 255, -128))
    for stored, found in ((device, ("activation",)), (model, ("match",))):
        frames = [({"x": x}, {"y": spec.pack(y)}) for x, y in zip(model, stored)]
        output = nl.validate(nl.Recording({"y": spec}, frames), same((1, 100))).outputs["y"]
        assert output.also == () and output.verdict in (*found, "mismatch", "ambiguous"), str(output)


@pytest.mark.parametrize("seed", range(4))
def test_a_forgotten_zero_point_of_probabilities_is_one_cause(seed: int) -> None:
    """Six frames of a vector have no channels: there a tanh with another scale explains more than all frames show."""
    rng = np.random.default_rng(seed)
    powers = [np.exp(4 * rng.standard_normal((1, 100))) for _ in range(16)]
    model = [(p / p.sum()).astype(np.float32) for p in powers]
    noise = np.std(model) * 10 ** (-29 / 20)
    device = [(x + noise * rng.standard_normal(x.shape)).astype(np.float32) for x in model]
    q = nl.Quantization(float(np.max(model)) / 65535, -32768)
    spec = nl.TensorSpec((1, 100), "NC", "int16", quantization=q)
    for declared, found in ((spec.replace(quantization=nl.Quantization(q.scale)), "quantization"), (spec, "match")):
        frames = [({"x": x}, {"y": spec.pack(y)}) for x, y in zip(model, device)]
        output = nl.validate(nl.Recording({"y": declared}, frames), same((1, 100))).outputs["y"]
        assert output.verdict == found and output.also == (), str(output)
        if declared is not spec:
            assert output.fix.quantization.zero_point == -32768, output.fix
            assert output.fix.quantization.scale == pytest.approx(q.scale, rel=0.03), output.fix


@pytest.mark.parametrize("seed", range(6))
def test_the_bits_of_floats_are_no_logarithm(seed: int) -> None:
    """Read as integers, they are nearly that: with a missing exp they are the floats."""
    rng = np.random.default_rng(seed)
    model = [np.abs(rng.standard_normal((1, 4, 20)) * np.r_[100, 100, np.ones(18)]) + 0.1 for _ in range(2)]
    spec = nl.TensorSpec((1, 4, 20), "NCW", "float16")
    noisy = [x * (1 + 0.25 * rng.standard_normal(x.shape)) for x in model]
    frames = [({"x": np.float32(x)}, {"y": spec.pack(np.float32(y))}) for x, y in zip(model, noisy)]
    output = nl.validate(nl.Recording({"y": spec}, frames), same((1, 4, 20))).outputs["y"]
    assert output.verdict in ("match", "mismatch", "ambiguous") and output.also == (), str(output)
