"""The pass over a recording: what goes into the model, what is compared, what is kept."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

import npu_layout as nl
from npu_layout.validation.comparing import chosen
from tests.support.boards import PRE, SHAPE, SIDE, Board, ending


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def test_the_accelerators_own_input(board: Board) -> None:
    """uint8 NHWC, mean and std in the compiled model."""
    pixels = nl.TensorSpec((1, 3, SIDE, SIDE), "NHWC", "uint8", name="image")
    to_pixels = nl.Preprocessor(pixels, color="RGB", resize="letterbox")
    frames = [
        ({"image": to_pixels(f)[0].ravel()}, {"maps": board.spec.pack(a["maps"])})
        for f, a in zip(board.frames, board.answers)
    ]
    recording = nl.Recording({"maps": board.spec, "image": pixels}, frames, {"preprocess": PRE})
    assert nl.validate(recording, board.engine), str(nl.validate(recording, board.engine))
    wrong = nl.TensorSpec((1, 3, SIDE, SIDE), "NCHW", "uint8", name="image")
    output = board.verdict(nl.Recording({"maps": board.spec, "image": wrong}, frames, {"preprocess": PRE}))
    assert output.verdict == "preprocessing" and "correct the input's spec" in output.why, str(output)
    assert output.fix["target"] == nl.TensorSpec((1, 3, SIDE, SIDE), "NCHW", "uint8")
    assert "Mean and std of the fix are what the accelerator's model does to the pixels" in output.why


@pytest.mark.parametrize(("dtype", "zero_point"), [("uint8", 0), ("int8", -128)])
def test_a_model_that_takes_integers(dtype: str, zero_point: int) -> None:
    """It takes the stored ones of a quantised input, as SimulatedNpu gives them; and none that it cannot hold."""
    shape = (1, 3, 8, 8)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = helper.make_graph(
        [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT)],
        "cast",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
    )
    opset = [helper.make_opsetid("", 13)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()
    x = nl.TensorSpec(shape, "NHWC", dtype, quantization=nl.Quantization(1 / 255, zero_point), name="x")
    y = nl.TensorSpec(shape, "NHWC", name="y")
    npu = nl.SimulatedNpu(model, [y], inputs=[x])
    rng = np.random.default_rng(5)
    frames = []
    for _ in range(4):
        buffer = rng.integers(0, 256, x.size).astype(np.uint8).view(dtype)
        frames.append(({"x": buffer}, npu.infer(buffer)))
    report = nl.validate(nl.Recording({"x": x, "y": y}, frames), model)
    assert report and report.outputs["y"].figures.max_abs == 0, str(report)
    wide = [({"x": rng.integers(300, 999, shape)}, outputs) for _, outputs in frames]
    says = "values 30[0-9] to 99[0-9]; .* needs int8" if dtype == "int8" else "expects dtype uint8, got int64"
    with pytest.raises(nl.RecordingError, match=says):
        nl.validate(nl.Recording({"y": y}, wide), model)


def test_steps_are_those_of_each_place() -> None:
    """Scales along H: an error of 400 small steps is not half a large one."""
    shape = (1, 4, 8, 8)
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])],
        "same",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
    )
    opset = [helper.make_opsetid("", 13)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()
    scales = nl.Quantization([1e-3] * 4 + [1.0] * 4, axis=2)
    rng = np.random.default_rng(3)
    for axes in ("NCHW", "NHWC"):
        q = scales if axes == "NCHW" else nl.Quantization(scales.scale, axis=-3)
        extents = [shape["NCHW".index(k)] for k in axes]
        spec = nl.TensorSpec(extents, axes, "int16", axes=axes, quantization=q, name="y")
        frames = []
        for _ in range(6):
            x = rng.uniform(-20, 20, shape).astype(np.float32)
            wrong = x.copy()
            wrong[0, 1, 0, 3] += 0.4
            order = ["NCHW".index(k) for k in axes]
            frames.append(({"x": x}, {"y": spec.pack(wrong.transpose(order))}))
        report = nl.validate(nl.Recording({"y": spec}, frames), model, max_steps=1.0, min_snr_db=None)
        figures = report.outputs["y"].figures
        assert 399 < figures.max_steps < 401 and not report, str(report)
        assert 399 < report.outputs["y"].channels[1].max_steps < 401 > 1 > report.outputs["y"].channels[0].max_steps


def test_not_a_number(board: Board) -> None:
    spec = nl.TensorSpec(SHAPE, "NHWC", "float32")
    outputs = board.packed(spec)
    outputs[3]["maps"][17] = np.nan
    outputs[5]["maps"][18] = np.inf
    output = board.verdict(board.recording(spec, outputs))
    assert output.verdict == "mismatch" and "2 of 21888 values are NaN or infinite" in output.why
    outputs[2]["maps"][:] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "2738 of 21888 values are NaN" in board.verdict(board.recording(spec, outputs)).why
    nothing = board.verdict(board.recording(spec, [{"maps": np.full_like(o["maps"], np.nan)} for o in outputs]))
    assert nothing.verdict == "mismatch" and nothing.why.startswith("All 21888 values are NaN"), nothing.why


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_values_beyond_float16(dtype: str) -> None:
    """A device that computes in float16, whatever it returns; not one whose other values are beyond it, or are NaN."""
    small = Board(frames=4)
    engine = nl.OnnxRuntimeEngine(ending("Mul", 50000), threads=1)
    spec = nl.TensorSpec(SHAPE, "NHWC", dtype)
    with np.errstate(over="ignore"):
        values = [engine.infer(x)["maps"].astype(np.float16).astype(np.float32) for x in small.inputs]
    count = sum(int(np.isinf(x).sum()) for x in values)
    assert 0 < count < sum(x.size for x in values)

    def why(changes: Sequence[tuple[float, float]]) -> str:
        changed = [x.copy() for x in values]
        for before, after in changes:
            changed[0].ravel()[np.flatnonzero(changed[0] == before)[0]] = after
        with np.errstate(over="ignore"):
            packed = [{"maps": spec.pack(x)} for x in changed]
        output = nl.validate(small.recording(spec, packed), engine).outputs["maps"]
        assert output.verdict == "mismatch"
        return output.why

    said = why([])
    assert re.match(rf"{count} of {4 * values[0].size} values are infinite on the device where .* beyond 65504,", said)
    assert re.search(r"finite, they agree to an SNR of [67]\d\.\d dB\. Fix: compile the layers", said), said
    others = [(np.inf, np.nan), (np.inf, -np.inf), *([(np.inf, 70000.0)] if dtype == "float32" else [])]
    for change in others:
        said = why([change])
        assert re.search("values are NaN or infinite on (one side only|the device alone), the first at", said), said


@pytest.mark.parametrize(
    ("model", "dtype", "verdict", "says"),
    [
        (ending("Log"), "float32", "match", r"values are NaN or infinite on both sides and are not compared\."),
        (ending("Log"), "float16", "match", r"values are NaN or infinite on both sides and are not compared\."),
        (
            ending("Log"),
            "int8",
            "mismatch",
            r"\d+ of 10944 values are NaN or infinite in the model alone, the first at",
        ),
        (ending("Mul", 3e38), "float32", "match", "on both sides and are not compared"),
        (ending("Mul", 3e38), "float16", "mismatch", r"are .* on both sides, or, \d+ of them, on one side only\."),
        (ending("Div", 0), "float32", "mismatch", r"All 10944 values are NaN or infinite on both sides\."),
        (ending("Div", 0), "uint8", "mismatch", r"All 10944 values are NaN or infinite in the model alone\."),
    ],
)
def test_a_model_that_gives_no_numbers(tmp_path: Path, model: bytes, dtype: str, verdict: str, says: str) -> None:
    """Said in the report, and nowhere else."""
    small = Board(frames=4)
    engine = nl.OnnxRuntimeEngine(model, threads=1)
    quantization = nl.Quantization(0.05, 3) if "int" in dtype else None
    spec = nl.TensorSpec(SHAPE, "NHWC", dtype, quantization=quantization)
    with np.errstate(over="ignore"):
        packed = [{"maps": spec.pack(engine.infer(x)["maps"])} for x in small.inputs]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = nl.validate(small.recording(spec, packed), engine)
        json.dumps(report.to_dict(), allow_nan=False)
        report.to_html(tmp_path / "page.html")
    output = report.outputs["maps"]
    assert output.verdict == verdict and re.search(says, output.why), output.why
    assert bool(output.channels) == bool(output.ranking) == ("All 10944" not in output.why)


@pytest.mark.parametrize("count", [1, 32, 33, 100, 4001])
@pytest.mark.parametrize("megabytes", [0, 1, 40, 1000])
def test_kept_frames_are_few_and_in_runs(count: int, megabytes: int) -> None:
    """Runs of four, from the first frame to the last, within the memory that is for them."""
    kept = sorted(chosen(count, megabytes << 20))
    room = 32 if megabytes < 8 else max(4, 256 // megabytes)
    assert kept[0] == 0 and kept[-1] == count - 1 if len(kept) > 4 else kept == list(range(len(kept)))
    assert len(kept) == count if count <= room else room - 4 < len(kept) <= room
    assert count <= room or all(kept[k : k + 4] == list(range(kept[k], kept[k] + 4)) for k in range(0, len(kept), 4))


def classifier() -> bytes:
    """Probabilities, a name, and probabilities by class, as converters of scikit-learn's models make them."""
    by_class = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    weights = np.random.default_rng(0).standard_normal((8, 6)).astype(np.float32)
    names = dict(keys_int64s=range(6), values_strings=list("abcdef"))
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["p"]),
            helper.make_node("ArgMax", ["p"], ["k"], axis=1, keepdims=0),
            helper.make_node("LabelEncoder", ["k"], ["label"], domain="ai.onnx.ml", **names),
            helper.make_node("ZipMap", ["p"], ["by_class"], domain="ai.onnx.ml", classlabels_int64s=range(6)),
        ],
        "classifier",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 8))],
        [
            helper.make_tensor_value_info("label", TensorProto.STRING, (2,)),
            helper.make_tensor_value_info("p", TensorProto.FLOAT, (2, 6)),
            helper.make_value_info("by_class", helper.make_sequence_type_proto(by_class)),
        ],
        [helper.make_tensor("w", TensorProto.FLOAT, (8, 6), weights.ravel())],
    )
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx.ml", 2)]
    made: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    return made


def test_outputs_that_are_no_numbers_are_left_out() -> None:
    engine = nl.OnnxRuntimeEngine(classifier())
    rng = np.random.default_rng(1)
    inputs = [{"x": rng.standard_normal((2, 8)).astype(np.float32)} for _ in range(20)]
    frames = [(x, {"p": engine.infer(x)["p"]}) for x in inputs]
    report = nl.validate(nl.Recording({"p": nl.TensorSpec((2, 6), "NC")}, frames), engine)
    assert report and list(report.outputs) == ["p"], str(report)
    frames = [(x, {"label": np.zeros(2, np.int64)}) for x in inputs]
    labels = nl.Recording({"label": nl.TensorSpec((2,), "N", "int64")}, frames)
    with pytest.raises(nl.RecordingError, match=r"output 'label': model returns a tensor\(string\), which"):
        nl.validate(labels, engine)


def masks(kind: str) -> nl.OnnxRuntimeEngine:
    """A model that returns two classes: of each pixel the larger channel, or whether each channel is above zero."""
    weights = np.random.default_rng(0).standard_normal((2, 3, 5, 5)).astype(np.float32)
    last = {
        "int64": helper.make_node("ArgMax", ["maps"], ["y"], axis=1),
        "bool": helper.make_node("Greater", ["maps", "zero"], ["y"]),
    }[kind]
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["maps"], pads=[2] * 4), last],
        "masks",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3, 24, 20))],
        [
            helper.make_tensor_value_info(
                "y", helper.np_dtype_to_tensor_dtype(np.dtype(kind)), (1, 1 + (kind == "bool"), 24, 20)
            )
        ],
        [
            helper.make_tensor("w", TensorProto.FLOAT, weights.shape, weights.ravel()),
            helper.make_tensor("zero", TensorProto.FLOAT, (), [0.0]),
        ],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return nl.OnnxRuntimeEngine(made.SerializeToString())


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [(kind, dtype) for kind in ("int64", "bool") for dtype in ("uint8", "int32", "bool", "float32")],
)
def test_masks_of_two_classes_vary(kind: str, dtype: str) -> None:
    """By less than a step, which is no rounding: the model's own values are whole."""
    engine, rng = masks(kind), np.random.default_rng(1)
    inputs = [{"x": rng.standard_normal((1, 3, 24, 20)).astype(np.float32)} for _ in range(6)]
    answers = [engine.infer(x)["y"] for x in inputs]
    spec = nl.TensorSpec(answers[0].shape, "NHWC", dtype)

    def judged(change: Callable[[np.ndarray], np.ndarray], order: str = "NHWC") -> nl.Report:
        stored = nl.TensorSpec(spec.shape, order, dtype)
        frames = [
            (x, {"y": stored.pack(change(y.astype(np.uint8)).astype(dtype)).ravel()}) for x, y in zip(inputs, answers)
        ]
        return nl.validate(nl.Recording({"y": spec}, frames), engine, progress=False)

    assert judged(lambda y: y)
    assert judged(lambda y: y ^ (rng.random(y.shape) < 0.01)).verdict == "match"
    assert judged(lambda y: rng.integers(0, 2, y.shape)).verdict == "mismatch"
    assert judged(lambda y: 1 - y).verdict in ("mismatch", "quantization", "activation")
    assert judged(lambda y: y[..., ::-1]).verdict == "geometry"
    if kind == "bool":
        assert judged(lambda y: y, "NCHW").outputs["y"].fix.layout == nl.Layout("NCHW")
