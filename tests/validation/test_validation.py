"""validate names the planted fault and its fix, and nothing else."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import npu_layout as nl
from npu_layout.comparison.channels import channel_axis
from npu_layout.comparison.figures import Comparison
from npu_layout.comparison.labels import Labels
from npu_layout.comparison.parts import Parts
from npu_layout.diagnosis import causes
from npu_layout.diagnosis.case import Case
from npu_layout.reports import fixes
from npu_layout.validation.tolerances import passing

PRE = {"color": "RGB", "mean": [120.0, 115.0, 100.0], "std": [60.0, 58.0, 57.0], "resize": "letterbox"}
SIDE, CHANNELS = 48, 19
SHAPE = (1, CHANNELS, 12, 12)


def network(outputs: tuple[str, ...] = ("maps",), seed: int = 0) -> bytes:
    """Three convolutions of random weights, 3x48x48 -> 19x12x12 for each output."""
    rng = np.random.default_rng(seed)
    nodes, weights, last = [], [], "image"

    def conv(name: str, source: str, n: int, k: int, stride: int) -> None:
        channels = sizes[source]
        w = rng.standard_normal((n, channels, k, k)) * (2 / (channels * k * k)) ** 0.5
        weights.append(numpy_helper.from_array(w.astype(np.float32), name + "_w"))
        weights.append(numpy_helper.from_array(rng.standard_normal(n).astype(np.float32) * 0.3, name + "_b"))
        nodes.append(
            helper.make_node(
                "Conv", [source, name + "_w", name + "_b"], [name], strides=[stride] * 2, pads=[k // 2] * 4
            )
        )
        sizes[name] = n

    sizes = {"image": 3}
    for i, (n, stride) in enumerate(((16, 2), (24, 2))):
        conv(f"c{i}", last, n, 5, stride)
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"r{i}"]))
        last = f"r{i}"
        sizes[last] = n
    for name in outputs:
        conv(name, last, CHANNELS, 3, 1)
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, SIDE, SIDE])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in outputs],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def picture(seed: int) -> np.ndarray:
    """A frame of soft coloured blobs, BGR, 60 x 90."""
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 256, (5, 8, 3)).astype(np.uint8)
    return np.ascontiguousarray(cv2.resize(small, (90, 60), interpolation=cv2.INTER_CUBIC))


class Board:
    """A model, frames, and what an accelerator would say of them."""

    def __init__(self, frames: int = 8, **network_arguments: Any) -> None:
        self.engine = nl.OnnxRuntimeEngine(network(**network_arguments), threads=1)
        self.frames = [picture(i) for i in range(frames)]
        self.preprocessor = nl.Preprocessor(nl.TensorSpec((1, 3, SIDE, SIDE)), **PRE)
        self.inputs = [self.preprocessor(f)[0].reshape(1, 3, SIDE, SIDE).copy() for f in self.frames]
        self.answers = [self.engine.infer(x) for x in self.inputs]
        everything = [a for answer in self.answers for a in answer.values()]
        quantization = nl.engines.calibrate(everything, "int8")
        assert quantization is not None
        self.spec = nl.TensorSpec(SHAPE, "NCHW16c", "int8", quantization=quantization)

    def recording(self, declared: Any = None, outputs: Any = None, **meta: Any) -> nl.Recording:
        """outputs: of each frame {name: flat buffer}, or None: as the accelerator packs them."""
        names = list(self.answers[0])
        specs = declared if isinstance(declared, dict) else {name: declared or self.spec for name in names}
        given = outputs or [{name: self.spec.pack(a[name]) for name in names} for a in self.answers]
        frames = [({"image": x, "frame": f}, o) for x, f, o in zip(self.inputs, self.frames, given)]
        return nl.Recording(specs, frames, {"preprocess": PRE, **meta})

    def packed(self, spec: nl.TensorSpec) -> list[dict[str, np.ndarray]]:
        return [{"maps": spec.pack(a["maps"])} for a in self.answers]

    def changed(self, change: Any) -> list[dict[str, np.ndarray]]:
        return [{"maps": self.spec.pack(np.ascontiguousarray(change(a["maps"])))} for a in self.answers]

    def fed(self, change: Any) -> list[dict[str, np.ndarray]]:
        return [{"maps": self.spec.pack(self.engine.infer(change(x))["maps"])} for x in self.inputs]

    def verdict(self, recording: nl.Recording, **tolerances: Any) -> nl.OutputReport:
        return nl.validate(recording, self.engine, **tolerances).outputs["maps"]

    def reads(self, spec: nl.TensorSpec, buffers: list[dict[str, np.ndarray]]) -> bool:
        """Whether `spec` gives what the model said, to 2 % of its range."""
        return all(
            np.abs(spec.unpack(b["maps"]).transpose(["NCHW".index(k) for k in "NCHW"]) - a["maps"]).max()
            < 0.02 * np.ptp(a["maps"])
            for a, b in zip(self.answers, buffers)
        )


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def spec_as(board: Board, layout: str = "NCHW16c", dtype: str = "int8", **more: Any) -> nl.TensorSpec:
    return nl.TensorSpec(SHAPE, layout, dtype, **{"quantization": board.spec.quantization, **more})


def test_match(board: Board) -> None:
    report = nl.validate(board.recording(), board.engine)
    output = report.outputs["maps"]
    assert report and output.verdict == "match" and output.fix is None and report.verdict == "match", str(report)
    assert output.figures is not None and output.figures.snr_db > 30 and output.figures.cosine > 0.999
    assert output.figures.max_steps is not None and output.figures.max_steps <= 0.51
    assert len(output.channels) == CHANNELS and output.worst_channel is not None
    assert all(value == float(f"{value:.6g}") for value in output.passing.values())
    passing = nl.validate(board.recording(), board.engine, **output.passing)
    assert passing, str(passing)
    strict = {"max_abs": {"maps": output.figures.max_abs * 0.99}}
    failing = nl.validate(board.recording(), board.engine, **strict)
    assert failing.outputs["maps"].verdict == "mismatch" and "NOT held" in str(failing)
    assert json.loads(report.to_json())["outputs"]["maps"]["verdict"] == "match"


@pytest.mark.parametrize("true", ["NHWC", "NCHW", "CHWN", "NCHW8c", "NHCW16c", "NCWH"])
def test_layout(board: Board, true: str) -> None:
    actual = spec_as(board, true)
    declared = spec_as(board, "NCHW" if true != "NCHW" else "NHWC", size=max(actual.size, board.spec.size))
    buffers = [{"maps": np.resize(b["maps"], declared.size)} for b in board.packed(actual)]
    output = board.verdict(board.recording(declared, buffers))
    if true == "CHWN":  # with one image CHWN is NCHW
        assert output.verdict == "match"
    else:
        assert output.verdict == "layout" and board.reads(output.fix, buffers), str(output)


def test_the_shape_itself_is_wrong(board: Board) -> None:
    actual = spec_as(board, "NHWC")
    declared = nl.TensorSpec((1, 12, CHANNELS, 12), "NCHW", "int8", quantization=board.spec.quantization)
    output = board.verdict(board.recording(declared, board.packed(actual)))
    assert output.verdict == "layout" and board.reads(output.fix, board.packed(actual)), str(output)
    assert output.to_dict()["tolerances"]["min_snr_db"] == {"asked": 10, "found": None, "held": False}


def test_axes_of_one_may_be_left_out(board: Board) -> None:
    declared = nl.TensorSpec(SHAPE[1:], "CHW16c", "int8", quantization=board.spec.quantization)
    assert board.verdict(board.recording(declared)).verdict == "match"


def test_a_model_whose_channels_are_last(board: Board) -> None:
    model = onnx.load_from_string(network())
    model.graph.node[-1].output[0] = "first"
    model.graph.node.append(helper.make_node("Transpose", ["first"], ["maps"], perm=[0, 2, 3, 1]))
    shape = (1, *SHAPE[2:], CHANNELS)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("maps", TensorProto.FLOAT, shape))
    for layout in ("NHWC", "NHWC16c", "NCHW"):
        spec = nl.TensorSpec(shape, layout, "int8", axes="NHWC", quantization=board.spec.quantization)
        outputs = [{"maps": spec.pack(a["maps"].transpose(0, 2, 3, 1))} for a in board.answers]
        output = nl.validate(board.recording(spec, outputs), model.SerializeToString()).outputs["maps"]
        assert output.verdict == "match", str(output)


def test_quantization(board: Board) -> None:
    q = board.spec.quantization
    assert q is not None
    scale, zero_point = float(q.scale), int(q.zero_point)
    for declared in (
        spec_as(board, quantization=nl.Quantization(scale * 2, zero_point)),
        spec_as(board, quantization=nl.Quantization(scale * 0.7, zero_point)),
        spec_as(board, quantization=nl.Quantization(scale, zero_point + 60)),
        spec_as(board, quantization=None),
        spec_as(board, quantization=nl.Quantization(np.linspace(0.2, 3, CHANNELS) * scale, zero_point, 1)),
    ):
        output = board.verdict(board.recording(declared))
        assert output.verdict == "quantization" and board.reads(output.fix, board.packed(board.spec)), str(output)
    unsigned = spec_as(board, dtype="uint8")
    buffers = [{"maps": b["maps"].view(np.uint8)} for b in board.packed(board.spec)]
    output = board.verdict(board.recording(unsigned, buffers))
    assert output.verdict == "quantization" and output.fix.dtype == "int8", str(output)
    each = spec_as(
        board,
        quantization=nl.Quantization(
            np.ptp([a["maps"] for a in board.answers], (0, 1, 3, 4)) / 250, np.zeros(CHANNELS, int), 1
        ),
    )
    output = board.verdict(board.recording(board.spec, board.packed(each)))
    assert output.verdict == "quantization" and output.fix.quantization.axis is not None, str(output)


def test_channel_order(board: Board) -> None:
    rng = np.random.default_rng(0)
    swapped = np.arange(CHANNELS)
    swapped[[3, 11]] = 11, 3
    for order in (np.roll(np.arange(CHANNELS), 1), np.arange(CHANNELS)[::-1], rng.permutation(CHANNELS), swapped):
        output = board.verdict(board.recording(None, board.changed(lambda y, order=order: y[:, order])))
        assert output.verdict == "channel_order", str(output)
        read = board.spec.unpack(board.changed(lambda y, order=order: y[:, order])[0]["maps"])[:, output.fix]
        assert np.abs(read - board.answers[0]["maps"]).max() < 0.02 * np.ptp(board.answers[0]["maps"])


MEAN, STD = (np.array(PRE[key])[None, :, None, None] for key in ("mean", "std"))
REMADE = {
    "BGR": (lambda x: ((x * STD + MEAN)[:, ::-1] - MEAN) / STD, {"color": "BGR"}),
    "BGR after": (lambda x: x[:, ::-1], {"color": "BGR", "mean": PRE["mean"][::-1], "std": PRE["std"][::-1]}),
    "raw": (lambda x: x * STD + MEAN, {"mean": [0.0] * 3, "std": [1.0] * 3}),
    "no mean": (lambda x: (x * STD + MEAN) / STD, {"mean": [0.0] * 3}),
    "twice": (lambda x: (x - MEAN / 255) / (STD / 255), {}),
}


@pytest.mark.parametrize("what", REMADE)
def test_preprocessing(board: Board, what: str) -> None:
    change, fix = REMADE[what]
    output = board.verdict(board.recording(None, board.fed(lambda x: change(x).astype(np.float32))))
    assert output.verdict == "preprocessing", str(output)
    assert {k: output.fix[k] for k in fix} == fix
    pixels = board.inputs[0] * STD + MEAN
    if output.fix["color"] == "BGR":
        pixels = pixels[:, ::-1]
    mean, std = (np.array(output.fix[key])[None, :, None, None] for key in ("mean", "std"))
    np.testing.assert_allclose((pixels - mean) / std, change(board.inputs[0]), rtol=1e-3, atol=1e-3)


def test_input_bytes_in_another_layout(board: Board) -> None:
    def shuffled(x: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(x.transpose(0, 2, 3, 1)).reshape(x.shape)

    output = board.verdict(board.recording(None, board.fed(shuffled)))
    assert output.verdict == "preprocessing" and str(output.fix["target"].layout) == "NHWC", str(output)


@pytest.mark.parametrize(
    ("done", "says"),
    [
        ({"resize": "stretch"}, "Stretch instead of letterbox"),
        ({"resize": "letterbox_top_left"}, "Letterbox_top_left instead of letterbox"),
        ({"pad_value": 0}, "A border of 0 instead of 114"),
    ],
)
def test_the_way_the_frame_was_fitted(board: Board, done: dict[str, Any], says: str) -> None:
    fitted = nl.Preprocessor(nl.TensorSpec((1, 3, SIDE, SIDE)), **{**PRE, **done})
    outputs = [{"maps": board.spec.pack(board.engine.infer(fitted(f)[0])["maps"])} for f in board.frames]
    output = board.verdict(board.recording(None, outputs))
    assert output.verdict == "preprocessing" and output.fix == {**PRE, **done} and says in output.why, str(output)


def test_mean_and_std_that_no_preprocessor_takes_are_still_looked_at(board: Board) -> None:
    """Recordings from elsewhere may declare them in units of 0 to 1; the fault of these is another."""
    units = {**PRE, "mean": [m / 255 for m in PRE["mean"]], "std": [s / 255 for s in PRE["std"]]}
    pixels = [board.preprocessor(f)[0] * STD + MEAN for f in board.frames]
    inputs = [((p - MEAN / 255) / (STD / 255)).astype(np.float32) for p in pixels]
    stretch = nl.Preprocessor(nl.TensorSpec((1, 3, SIDE, SIDE)), resize="stretch", color="RGB")
    fed = [((stretch(f)[0] - MEAN / 255) / (STD / 255)).astype(np.float32) for f in board.frames]
    answers = [board.engine.infer(x)["maps"] for x in fed]
    spec = nl.TensorSpec(SHAPE, "NCHW", "float32")
    frames = [({"image": x, "frame": f}, {"maps": a}) for x, f, a in zip(inputs, board.frames, answers)]
    output = board.verdict(nl.Recording({"maps": spec}, frames, {"preprocess": units}))
    assert output.verdict == "preprocessing" and output.fix == {**units, "resize": "stretch"}, str(output)


def test_wrong_input(board: Board) -> None:
    packed = board.packed(board.spec)
    late = board.verdict(board.recording(None, packed[:1] + packed[:-1]))
    assert (late.verdict, late.fix) == ("wrong_input", -1), str(late)
    early = board.verdict(board.recording(None, packed[2:] + packed[:2]))
    assert (early.verdict, early.fix) == ("wrong_input", 2), str(early)
    shuffled = board.verdict(board.recording(None, [packed[i] for i in (3, 0, 7, 2, 6, 1, 4, 5)]))
    assert (shuffled.verdict, shuffled.fix) == ("wrong_input", None), str(shuffled)


def test_outputs_exchanged() -> None:
    board = Board(outputs=("a", "b"))
    outputs = [{"a": board.spec.pack(x["b"]), "b": board.spec.pack(x["a"])} for x in board.answers]
    report = nl.validate(board.recording(None, outputs), board.engine)
    for name in "ab":
        assert report.outputs[name].verdict == "output_order", str(report)
        assert report.outputs[name].fix == {"a": "b", "b": "a"}
    assert nl.validate(board.recording(), board.engine)
    only = [{"a": board.spec.pack(x["a"])} for x in board.answers]
    report = nl.validate(board.recording({"a": board.spec}, only), board.engine)
    assert report and "b were not recorded" in report.note


def test_a_name_that_holds_another_output() -> None:
    two = Board(outputs=("a", "b"))
    twice = [{"a": two.spec.pack(x["b"]), "b": two.spec.pack(x["b"])} for x in two.answers]
    report = nl.validate(two.recording(None, twice), two.engine)
    a, b = report.outputs["a"], report.outputs["b"]
    assert a.verdict == "output_order" and a.fix is None and "'a' and 'b' hold the same tensor" in a.why, str(a)
    assert b.verdict == "match" and "fix" not in str(a)
    alone = [{"a": o["a"]} for o in twice]
    report = nl.validate(two.recording({"a": two.spec}, alone), two.engine)
    assert report.outputs["a"].verdict == "output_order" and report.outputs["a"].fix == {"a": "b"}, str(report)


def test_specs_stay_with_the_names_of_exchanged_outputs() -> None:
    two = Board(outputs=("a", "b"))
    q = two.spec.quantization
    assert q is not None
    tight = nl.TensorSpec(SHAPE, "NHWC16c", "int8", quantization=nl.Quantization(3 * float(q.scale), 3))
    assert tight.size == two.spec.size
    specs = {"a": two.spec, "b": tight}
    outputs = [{"a": tight.pack(x["b"]), "b": two.spec.pack(x["a"])} for x in two.answers]
    report = nl.validate(two.recording(specs, outputs), two.engine)
    for name in "ab":
        assert report.outputs[name].verdict == "output_order", str(report)
        assert report.outputs[name].fix == {"a": "b", "b": "a"}
    renamed = [{"a": o["b"], "b": o["a"]} for o in outputs]
    assert nl.validate(two.recording(specs, renamed), two.engine)


def test_colours_and_resizing_at_once(board: Board) -> None:
    how = {**PRE, "color": "BGR", "resize": "stretch"}
    other = nl.Preprocessor(nl.TensorSpec((1, 3, SIDE, SIDE)), **how)
    values = [board.engine.infer(other(f)[0])["maps"] for f in board.frames]
    output = board.verdict(board.recording(None, [{"maps": board.spec.pack(v)} for v in values]))
    assert output.verdict == "preprocessing" and output.fix == how and "really done" in output.why, str(output)
    again = nl.Recording(
        {"maps": board.spec},
        [({"image": other(f)[0]}, {"maps": board.spec.pack(v)}) for f, v in zip(board.frames, values)],
        {"preprocess": output.fix},
    )
    assert board.verdict(again).verdict == "match"


def test_what_only_rounds_runs_the_model_once_a_frame(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[Any] = []
    infer = board.engine.infer
    monkeypatch.setattr(board.engine, "infer", lambda x: runs.append(x) or infer(x))
    assert nl.validate(board.recording(), board.engine) and len(runs) == len(board.frames)
    assert not nl.validate(board.recording(None, board.changed(lambda y: y[:, ::-1])), board.engine)
    assert len(runs) > 10 * len(board.frames)


def test_what_cannot_be_told(board: Board) -> None:
    flat = board.verdict(board.recording(None, board.changed(lambda y: 0 * y)))
    assert flat.verdict == "mismatch" and "gave 0 everywhere and for every frame" in flat.why
    frozen = board.verdict(board.recording(None, board.packed(board.spec)[:1] * 8))
    assert frozen.verdict == "mismatch" and "the same values for every frame" in frozen.why
    repeated = nl.Recording({"maps": board.spec}, [({"image": board.inputs[0]}, board.packed(board.spec)[0])] * 3)
    assert board.verdict(repeated).verdict == "match"
    other = Board(seed=7)
    unrelated = board.verdict(board.recording(None, other.packed(board.spec)))
    assert unrelated.verdict in ("mismatch", "ambiguous"), str(unrelated)
    one = Board(frames=1)
    assert one.verdict(one.recording()).verdict == "match"
    nhwc = one.verdict(one.recording(spec_as(one, "NCHW"), one.packed(spec_as(one, "NHWC"))))
    assert nhwc.verdict == "ambiguous" and "record more frames" in nhwc.why and "NHWC" in nhwc.why


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


def test_nothing_compared_is_a_failure(board: Board) -> None:
    report = nl.validate(nl.Recording({"maps": board.spec}, []), board.engine)
    assert not report and report.frames == 0 and "nothing was compared" in str(report)


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
        ("channel 0", "Channel 5 of 19 is explained by nothing: the device's values there are always 0."),
        ("channel random", "Channel 5 of 19 is explained by nothing. "),
        (
            "rows 0",
            "2 of 12 places along axis 2 (10, 11) are explained by nothing: the device's values there are always 0.",
        ),
        ("frame 0", "Frame 6 of 8 is explained by nothing: the device's values there are always 0."),
        ("frame again", "Frame 6 of 8 is explained by nothing: it repeats frame 5."),
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
        assert output.verdict == "mismatch" and "are explained by nothing" in output.why
    for change, text in ((lambda y: 1 / (1 + np.exp(-y)), "more"), (lambda y: np.log(y / (1 - y)), "less")):
        output = verdict(change)
        named = f"A sigmoid {text} than the model has, in 15 of 19 channels (4, 5, 6, 7, 8, 9, ...) explains"
        assert output.verdict == "mismatch" and output.why.startswith(named), output.why
    output = verdict(lambda y: np.roll(y, 1, 2))
    assert output.verdict == "channel_order" and output.fix == (0, 1, 2, 3, *range(5, 19), 4)
    given = answers[0].take(np.argsort(output.fix), output.channel_axis)
    names: dict[str, Any] = {"buffer": spec.pack(given)}
    exec(fixes.code(output.verdict, output.fix, output.spec, output.channel_axis) or "", names)
    assert np.array_equal(names["tensor"], answers[0])
    nl.Report({"maps": output}, 8, "model.onnx", "", {}).to_html(tmp_path / "page.html")
    assert f".take(order, axis={output.channel_axis})" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_where_channels_lie() -> None:
    rng = np.random.default_rng(0)
    boxes = rng.random((1, 300, 85)) * np.where(np.arange(85) < 4, 640, 1)
    scores = rng.normal(size=(1, 24, 97)) + 8 * (np.arange(97) == 96)  # of text, letter by letter
    heat = np.zeros((1, 17, 96))
    for joint, at in enumerate(rng.integers(40, 56, 17)):  # all near the middle
        heat[0, joint] = np.exp(-(((np.arange(96) - at) / 2) ** 2))
    for x, axis in (
        (np.zeros(()), None),
        (np.zeros(7), None),
        (rng.random((2, 7)), 1),
        (boxes, 2),
        (boxes.transpose(0, 2, 1), 1),
        (scores, 2),
        (heat, 1),
        (rng.random((1, 300, 85)), 1),
        (np.zeros((1, 300, 85)), 1),
        (np.full((1, 300, 85), np.nan), 1),
        (np.zeros((1, 0, 85)), 1),
        (np.zeros((1, 300, 0)), 1),
        (rng.integers(0, 9, (1, 1, 85)), 1),
        (np.zeros((1, 20, 20, 255)), 3),
        (np.zeros((1, 255, 20, 20)), 1),
        (np.zeros((1, 255, 20, 30)), 1),
        (np.zeros((1, 20, 20, 20)), 1),
        (np.zeros((1, 3, 20, 20, 85)), 4),
        (np.zeros((1, 3, 8, 20, 20)), 1),
        (rng.normal(size=(1, 12, 12, 16)) + rng.normal(size=(12, 1, 1)), 1),
        (rng.normal(size=(1, 12, 12, 16)) + rng.normal(size=16), 3),
    ):
        assert channel_axis(np.asarray(x)) == axis, x.shape


def test_a_spec_says_where_channels_lie(board: Board) -> None:
    """Of a model whose output has them last: nothing else would tell here."""
    model = onnx.load_from_string(network())
    model.graph.node[-1].output[0] = "raw"
    model.graph.node.append(helper.make_node("Transpose", ["raw"], ["maps"], perm=[0, 2, 3, 1]))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("maps", TensorProto.FLOAT, None))
    engine = nl.OnnxRuntimeEngine(model.SerializeToString(), threads=1)
    answers = [engine.infer(x)["maps"] for x in board.inputs]
    shape = answers[0].shape
    for axes in ("NHWC", "NCHW", "NWHC"):
        spec = nl.TensorSpec(shape, nl.Layout.plain(axes), "float32")
        frames = [({"image": x}, {"maps": spec.pack(a)}) for x, a in zip(board.inputs, answers)]
        output = nl.validate(nl.Recording({"maps": spec}, frames), engine).outputs["maps"]
        assert output and output.channel_axis == 3 and len(output.channels) == CHANNELS, str(output)
    high = np.abs(np.stack(answers)).max((0, 1, 2, 3)).astype(np.float64)
    q, wrong = (nl.Quantization(by * high / 127, axis=3) for by in (1, 3))
    actual, declared = (nl.TensorSpec(shape, "NCHW", "int8", quantization=k, name="maps") for k in (q, wrong))
    frames = [({"image": x}, {"maps": actual.pack(a)}) for x, a in zip(board.inputs, answers)]
    for spec, verdict in ((actual, "match"), (declared, "quantization")):
        output = nl.validate(nl.Recording({"maps": spec}, frames), engine).outputs["maps"]
        assert output.verdict == verdict and output.channel_axis == 3, str(output)
    again = nl.validate(nl.Recording({"maps": output.fix}, frames), engine)
    assert again, str(again)


def same(shape: tuple[int, ...]) -> bytes:
    """A model that gives what it gets."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "same", [x], [y])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(made.SerializeToString())


def test_a_softmax_along_the_last_axis_is_named() -> None:
    """Where the channels are taken to be along another one."""
    rng, spec = np.random.default_rng(2), nl.TensorSpec((1, 60, 20), "NCW", "float32", name="y")
    frames = []
    for _ in range(6):
        x = rng.normal(0, 3, spec.shape).astype(np.float32)
        frames.append(({"x": x}, {"y": np.exp(x) / np.exp(x).sum(2, keepdims=True)}))
    output = nl.validate(nl.Recording({"y": spec}, frames), same((1, 60, 20))).outputs["y"]
    assert output.verdict == "mismatch" and output.channel_axis == 1
    assert output.why.startswith("A softmax more than the model has, along axis 2 explains"), output.why


def test_a_whole_activation_is_not_said_to_be_one_of_a_part() -> None:
    """The sigmoid of pixels is 1 everywhere, with or without it in that channel."""
    rng, spec = np.random.default_rng(2), nl.TensorSpec((1, 3, 40), "NCW", "float32", name="y")
    frames = []
    for _ in range(6):
        x = (2 * rng.normal(size=spec.shape) + [[[0], [60], [0]]]).astype(np.float32)
        frames.append(({"x": x}, {"y": (1 / (1 + np.exp(-x)) + rng.normal(0, 0.02, x.shape)).astype(np.float32)}))
    output = nl.validate(nl.Recording({"y": spec}, frames), same((1, 3, 40))).outputs["y"]
    assert output.verdict == "mismatch", output.why
    assert output.why.startswith("A sigmoid more than the model has explains"), output.why


def test_few_values_do_not_prove_a_scale() -> None:
    """A scalar whose network rounds with a bias is no other scale; three times as much is."""
    rng, spec = np.random.default_rng(5), nl.TensorSpec((1, 1), "NC", "float32", name="y")
    values = rng.normal(size=(20, 1, 1)).astype(np.float32)
    for slope, verdict in ((1.2, "ambiguous"), (4.0, "quantization")):
        frames = [({"x": x}, {"y": (slope * x + rng.normal(0, 0.15, x.shape)).astype(np.float32)}) for x in values]
        output = nl.validate(nl.Recording({"y": spec}, frames), same((1, 1))).outputs["y"]
        assert output.verdict == verdict, str(output)


def test_a_cause_does_not_gain_at_the_cost_of_quiet_channels() -> None:
    """One loud channel is cut off by the device: an input of less contrast comes nearer, and explains nothing else."""
    rng, spec = np.random.default_rng(4), nl.TensorSpec((1, 8, 64), "NCW", "float32", name="y")
    references = [(rng.normal(size=spec.shape) * np.r_[50, [1] * 7][:, None]).astype(np.float32) for _ in range(6)]
    cut = [np.clip(r, -30, 30) for r in references]
    case = Case(spec, cut, references, (), 1)
    fainter = [(r * 0.6).astype(np.float32) for r in references]
    ranking = case.rank([*causes.declared(case), *causes.other_inputs(case, "faint", {}, dict(enumerate(fainter)), 1)])
    as_declared, faint = (next(e for e in ranking if e.cause == cause) for cause in ("match", "preprocessing"))
    assert faint.score > as_declared.score and faint.gain < 0, ranking


def slices(x: list[int], **ends: list[int]) -> bytes:
    """A model that gives the beginning of its input, up to other ends."""
    zero = numpy_helper.from_array(np.zeros(len(x), np.int64), "zero")
    lengths = [numpy_helper.from_array(np.array(end, np.int64), f"to_{k}") for k, end in ends.items()]
    nodes = [helper.make_node("Slice", ["x", "zero", f"to_{k}"], [k]) for k in ends]
    ports = [helper.make_tensor_value_info(k, TensorProto.FLOAT, s) for k, s in {"x": x, **ends}.items()]
    graph = helper.make_graph(nodes, "slices", ports[:1], ports[1:], [zero, *lengths])
    opset = [helper.make_opsetid("", 13)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()


@pytest.mark.parametrize("axes", ["NHWC", "HWC"])
def test_outputs_of_unknown_names_go_by_shape_where_the_model_has_channels_last(axes: str) -> None:
    model = slices([1, 8, 8, 3], a=[1, 8, 8, 3], b=[1, 4, 4, 3])
    specs = {f"o{n}": nl.TensorSpec((1, n, n, 3)[-len(axes) :], axes, axes=axes) for n in (4, 8)}
    given = [np.random.default_rng(i).random((1, 8, 8, 3), np.float32) for i in range(4)]
    frames = [({"x": x}, {"o4": x[:, :4, :4].reshape(-1), "o8": x.reshape(-1)}) for x in given]
    outputs = nl.validate(nl.Recording(specs, frames), model).outputs
    assert all(outputs.values()) and [o.against for o in outputs.values()] == ["b", "a"]
    assert [o.channel_axis for o in outputs.values()] == [3, 3]


def test_channels_of_a_cube_lie_where_the_model_has_them() -> None:
    shape, order = (1, 5, 5, 5), [0, 1, 2, 4, 3]
    scale = np.arange(1, 6, dtype=np.float32).reshape(1, 5, 1, 1)
    given = [(10 + np.random.default_rng(i).random(shape, np.float32)) * scale for i in range(4)]
    spec = nl.TensorSpec(shape, "NHWC", axes="NHWC")
    frames = [({"x": x}, {"y": spec.pack(x[:, order].transpose(0, 2, 3, 1))}) for x in given]
    output = nl.validate(nl.Recording({"y": spec}, frames), slices(list(shape), y=list(shape))).outputs["y"]
    assert output.verdict == "channel_order" and output.fix == tuple(order) and output.channel_axis == 1


def test_frames_that_fail_are_named(board: Board) -> None:
    """The rest is as good as ever; two frames have the noise that breaks the tolerance."""
    values, rng = [a["maps"] for a in board.answers], np.random.default_rng(0)
    noisy = [v + (k in (2, 5)) * 0.6 * v.std() * rng.standard_normal(v.shape) for k, v in enumerate(values)]
    outputs = [{"maps": board.spec.pack(v.astype(np.float32))} for v in noisy]
    output = board.verdict(board.recording(None, outputs), min_snr_db=20)
    assert output.verdict == "mismatch" and output.why.endswith("2 of 8 frames (2, 5) are far worse than the others.")


def test_saturation_is_named(board: Board) -> None:
    q = board.spec.quantization
    assert q is not None
    narrow = spec_as(board, "NCHW", quantization=nl.Quantization(float(q.scale) / 4, q.zero_point))
    output = board.verdict(board.recording(narrow, board.packed(narrow)))
    assert "% of the model's values are cut off by the range of the dtype" in output.why, output.why
    assert "cut off" not in board.verdict(board.recording()).why


@pytest.mark.parametrize("frames", [16, 32])
@pytest.mark.parametrize("noise", [0.03, 0.1, 0.18])
def test_one_noisy_value_a_frame_answers_its_own_frame(noise: float, frames: int) -> None:
    """The nearest of many predictions is near because there are many: that proves nothing."""
    model = onnx.load_from_string(network())
    model.graph.node[-1].output[0] = "all"
    model.graph.node.append(helper.make_node("ReduceMean", ["all"], ["mean"], axes=[1, 2, 3]))
    model.graph.node.append(helper.make_node("Reshape", ["mean", "shape"], ["maps"]))
    model.graph.initializer.append(numpy_helper.from_array(np.array([1, 1]), "shape"))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("maps", TensorProto.FLOAT, (1, 1)))
    engine = nl.OnnxRuntimeEngine(model.SerializeToString(), threads=1)
    many, spec = Board(frames), nl.TensorSpec((1, 1), "NC", "float32")
    answers = [engine.infer(x)["maps"] for x in many.inputs]

    def verdict(values: list[np.ndarray]) -> nl.OutputReport:
        rows = zip(many.inputs, many.frames, values)
        pairs = [({"image": x, "frame": f}, {"maps": spec.pack(y)}) for x, f, y in rows]
        return nl.validate(nl.Recording({"maps": spec}, pairs, {"preprocess": PRE}), engine).outputs["maps"]

    for seed in (0, 1, 13, 24):  # with 32 frames the last two were taken for other inputs
        rng = np.random.default_rng(seed)
        noisy = [(a + noise * np.std(answers) * rng.standard_normal(a.shape)).astype(np.float32) for a in answers]
        assert verdict(noisy).verdict == "match"
    assert verdict([answers[k] for k in np.random.default_rng(0).permutation(frames)]).verdict == "wrong_input"


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_an_activation_is_no_scale(board: Board, dtype: str) -> None:
    """A line through a sigmoid explains 9 dB and more, with a scale of its own."""
    values = [(1 / (1 + np.exp(-a["maps"]))).astype(np.float32) for a in board.answers]
    spec = spec_as(board, dtype=dtype, quantization=nl.engines.calibrate(values, dtype))
    output = board.verdict(board.recording(spec, [{"maps": spec.pack(v)} for v in values]))
    assert output.verdict == "mismatch" and output.why.startswith("A sigmoid more than the model has explains")
    cubes = [np.cbrt(a["maps"]).astype(np.float32) for a in board.answers]
    output = board.verdict(board.recording(spec, [{"maps": spec.pack(v / 4)} for v in cubes]))
    assert output.verdict == "mismatch" and "what that leaves depends on the value" in output.why, output.why


def test_a_channel_in_another_ones_place_is_no_scale(board: Board) -> None:
    def copied(y: np.ndarray) -> np.ndarray:
        return np.where(np.arange(CHANNELS)[None, :, None, None] == 5, y[:, 6:7], y)

    output = board.verdict(board.recording(None, board.changed(copied)))
    assert output.verdict == "mismatch" and output.why.startswith("Channel 5 of 19 is explained by nothing."), (
        output.why
    )


@pytest.mark.parametrize(
    "mean, std, says",
    [
        ([127.5] * 3, [127.5] * 3, "mean and std 127.5"),
        (PRE["mean"][::-1], PRE["std"][::-1], "mean and std of the channels in the opposite order"),
        ([255 / 219 * (m - 16) for m in PRE["mean"]], [255 / 219 * s for s in PRE["std"]], "pixels of 16 to 235"),
    ],
)
def test_another_models_mean_and_std(board: Board, mean: list[float], std: list[float], says: str) -> None:
    other = nl.Preprocessor(nl.TensorSpec((1, 3, SIDE, SIDE)), **{**PRE, "mean": mean, "std": std})
    values = [board.engine.infer(other(f)[0])["maps"] for f in board.frames]
    output = board.verdict(board.recording(None, [{"maps": board.spec.pack(v)} for v in values]))
    assert output.verdict == "preprocessing" and says in output.why.lower(), str(output)
    assert np.allclose(output.fix["mean"], mean) and np.allclose(output.fix["std"], std)


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


def ending(operator: str, *constants: float) -> bytes:
    """network(), and an operator behind its maps."""
    model = onnx.load_from_string(network())
    graph = model.graph
    graph.node[-1].output[0] = "raw"
    names = [f"k{i}" for i in range(len(constants))]
    graph.initializer.extend(numpy_helper.from_array(np.float32([c]), k) for k, c in zip(names, constants))
    graph.node.append(helper.make_node(operator, ["raw", *names], ["maps"]))
    return model.SerializeToString()


@pytest.mark.parametrize(
    ("model", "dtype", "verdict", "says"),
    [
        (ending("Log"), "float32", "match", r"values are NaN or infinite on both sides, and left out\."),
        (ending("Log"), "float16", "match", r"values are NaN or infinite on both sides, and left out\."),
        (ending("Log"), "int8", "mismatch", r"\d+ of 10944 values are NaN or infinite on one side alone"),
        (ending("Mul", 3e38), "float32", "match", "on both sides, and left out"),
        (ending("Mul", 3e38), "float16", "mismatch", r"values are .* on both sides, or, \d+ of them, on one\."),
        (ending("Div", 0), "float32", "mismatch", r"All 10944 values are NaN or infinite on both sides\."),
        (ending("Div", 0), "uint8", "mismatch", r"All 10944 values are NaN or infinite on one side alone\."),
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


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        ((0, 0, 0, 0), r"no values, its shape is \(0, 6\): nothing was compared"),
        ((0, 4, 4, 4), r"shape \(0, 6\) in frame 0 and \(4, 6\) in frame 3: nothing"),
        ((4, 3, 4, 4), r"shape \(4, 6\) in frame 0 and \(3, 6\) in frame 1: nothing"),
    ],
)
def test_an_output_that_cannot_be_compared_leaves_the_others_their_verdict(
    tmp_path: Path, counts: tuple[int, ...], says: str
) -> None:
    """As a detector's that finds more or less, or nothing."""
    shapes = {"x": [4, 6], "keep": [4], "found": ["n", 6], "y": [4, 6]}
    kinds = {"keep": TensorProto.BOOL}
    ports = {k: helper.make_tensor_value_info(k, kinds.get(k, TensorProto.FLOAT), s) for k, s in shapes.items()}
    nodes = [
        helper.make_node("Compress", ["x", "keep"], ["found"], axis=0),
        helper.make_node("Identity", ["x"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "nms", [ports["x"], ports["keep"]], [ports["found"], ports["y"]])
    opset = [helper.make_opsetid("", 13)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()
    rng = np.random.default_rng(0)
    specs = {k: nl.TensorSpec((4, 6), "NC", name=k) for k in ("found", "y")}
    given = [{"x": rng.random((4, 6), np.float32), "keep": np.arange(4) < n} for n in counts]
    frames = [(inputs, {"found": np.zeros(24, np.float32), "y": inputs["x"].reshape(-1)}) for inputs in given]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = nl.validate(nl.Recording(specs, frames), model)
        report.to_html(tmp_path / "page.html")
    found, y = report.outputs["found"], report.outputs["y"]
    assert not report and found.verdict == "ambiguous" and found.figures is None, found
    assert re.search(says, found.why) and y, report


def test_an_output_whose_shape_depends_on_the_preprocessing() -> None:
    """As many values as lie above a threshold: as many in each frame, and other ones of inputs made in other ways."""
    threshold = numpy_helper.from_array(np.array(0.5, np.float32), "threshold")
    flat = numpy_helper.from_array(np.array([-1], np.int64), "flat")
    nodes = [
        helper.make_node("Greater", ["x", "threshold"], ["above"]),
        helper.make_node("Reshape", ["above", "flat"], ["keep"]),
        helper.make_node("Compress", ["x", "keep"], ["found"]),
        helper.make_node("ReduceMean", ["x"], ["mean"], axes=[2], keepdims=0),
    ]
    shapes = {"x": [1, 3, 8, 8], "found": ["n"], "mean": [1, 3, 8]}
    ports = [helper.make_tensor_value_info(k, TensorProto.FLOAT, s) for k, s in shapes.items()]
    graph = helper.make_graph(nodes, "threshold", ports[:1], ports[1:], [threshold, flat])
    opset = [helper.make_opsetid("", 13)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()
    rng = np.random.default_rng(0)
    given = [rng.permutation(np.linspace(-1, 1, 192, dtype=np.float32)).reshape(1, 3, 8, 8) for _ in range(8)]
    engine = nl.OnnxRuntimeEngine(model)
    frames = [({"x": x}, {k: v.reshape(-1) for k, v in engine.infer(x[:, ::-1].copy()).items()}) for x in given]
    specs = {"found": nl.TensorSpec((48,), "N", axes="N"), "mean": nl.TensorSpec((1, 3, 8), "NCW")}
    outputs = nl.validate(nl.Recording(specs, frames), model).outputs
    assert outputs["found"].verdict == "preprocessing" and outputs["mean"].verdict != "match", outputs


def test_channels_that_are_always_0_are_in_order(board: Board) -> None:
    zero = np.isin(np.arange(CHANNELS), (3, 6, 9))[None, :, None, None]
    model = onnx.load_from_string(network())
    model.graph.initializer.extend([numpy_helper.from_array((1 - zero).astype(np.float32), "keep")])
    model.graph.node[-1].output[0] = "all"
    model.graph.node.append(helper.make_node("Mul", ["all", "keep"], ["maps"]))
    outputs = [{"maps": board.spec.pack(a["maps"] * (1 - zero))} for a in board.answers]
    output = nl.validate(board.recording(None, outputs), model.SerializeToString()).outputs["maps"]
    assert output.verdict == "match", str(output)


def test_a_tolerance_of_one_output_leaves_the_others_theirs() -> None:
    two = Board(outputs=("maps", "more"))
    noise = np.random.default_rng(0).standard_normal(SHAPE) * np.std(two.answers[0]["more"])
    outputs = [{k: two.spec.pack(y + (0.4 * noise if k == "more" else 0)) for k, y in a.items()} for a in two.answers]
    report = nl.validate(two.recording(None, outputs), two.engine, min_snr_db={"maps": 20})
    assert report.outputs["maps"].tolerances["min_snr_db"][0] == 20
    asked, found, held = report.outputs["more"].tolerances["min_snr_db"]
    assert asked == 10 and not held and found < 10 and report.outputs["more"].verdict == "mismatch"


def test_all_equal_agrees_in_no_argmax(board: Board) -> None:
    zero = board.verdict(board.recording(None, board.changed(lambda y: 0 * y)))
    assert zero.figures is not None and zero.figures.argmax_agreement == 0


def test_bad_input(board: Board) -> None:
    good = board.recording()

    def given(meta: Any = None, **inputs: Any) -> nl.Recording:
        return nl.Recording(good.specs, [(inputs or f.inputs, f.outputs) for f in good], meta)

    for recording, says in (
        (given(image=np.zeros((1, 3, 9, 9), np.float32)), "expects shape"),
        (given(a=board.inputs[0], b=np.zeros(1)), "needs 'image'"),
        (given(image=board.inputs[0].astype(np.uint8)), "give its spec"),
        (given({"preprocess": {"mean": "grey"}}), "preprocess: mean: expected 1 or 3"),
    ):
        with pytest.raises(nl.RecordingError, match=says):
            nl.validate(recording, board.engine)
    with pytest.raises(nl.NpuLayoutError, match="no output 'heat'"):
        nl.validate(good, board.engine, min_cosine={"heat": 0.9})
    float32 = spec_as(board, dtype="float32", quantization=None)
    floats = board.recording(float32, board.packed(float32))
    with pytest.raises(nl.NpuLayoutError, match="output 'maps' is stored as float32, which has no quantisation steps"):
        nl.validate(floats, board.engine, max_steps=1)
    with pytest.raises(nl.NpuLayoutError, match="finite number"):
        nl.validate(good, board.engine, min_snr_db=float("nan"))


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
    says = "values 30[0-9] to 99[0-9]; .* takes int8" if dtype == "int8" else "expects dtype uint8, got int64"
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


def test_equal_values_have_a_cosine_of_one() -> None:
    rng = np.random.default_rng(8)
    for _ in range(40):
        compared = Comparison(1)
        for number in range(3):
            x = rng.standard_normal((1, 3, 5, 7)) * 10 ** rng.uniform(-3, 3)
            compared.add(number, x, x.copy())
        assert compared.whole is not None and compared.whole.cosine == 1.0
    compared = Comparison(1)
    compared.add(0, np.full((1, 1, 2), 1e-310), np.array([[[1e-310, 2e-310]]]))
    assert passing(compared.whole)["max_abs"] == 1e-310


def test_labels_are_no_quantities() -> None:
    """Two classes exchanged are a fault, however near their numbers; a few others at borders are none."""
    shape = (1, 1, 24, 32)
    graph = helper.make_graph(
        [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.INT64)],
        "labels",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.INT64, shape)],
    )
    opset = [helper.make_opsetid("", 13)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()
    spec = nl.TensorSpec(shape, "NHWC", "uint8", name="y")
    rng = np.random.default_rng(4)
    maps = [rng.integers(0, 21, shape) for _ in range(12)]

    def judged(device: Any) -> Any:
        frames = [({"x": m.astype(np.float32)}, {"y": spec.pack(device(m))}) for m in maps]
        return nl.validate(nl.Recording({"y": spec}, frames), model).outputs["y"]

    same = judged(lambda m: m)
    assert same.verdict == "match" and same.why == f"All {12 * maps[0].size} labels are the model's.", str(same)
    healthy = judged(lambda m: np.where(rng.random(shape) < 0.02, rng.integers(0, 21, shape), m))
    assert healthy.verdict == "match" and 0.97 < healthy.figures.argmax_agreement < 0.99, str(healthy)
    swapped = judged(lambda m: np.select([m == 7, m == 8], [8, 7], m))
    assert swapped.verdict == "mismatch" and "7 as 8 (100 %), 8 as 7 (100 %)." in swapped.why, str(swapped)
    assert f"argmax agrees at {100 * np.mean([(m != 7) & (m != 8) for m in maps]):.1f} %" in str(swapped)


def test_labels_of_any_size() -> None:
    """Others of the device's than are counted are one; where the model's are many they are numbers."""
    labels = Labels()
    few, many = np.zeros((4, 100), int), np.arange(400).reshape(4, 100)
    labels.add(np.full((4, 100), 2**40), few)
    assert labels.confused() == [] and labels.equal == 0
    labels.add(np.full((4, 300), 7), np.zeros((4, 300), int))
    assert labels.confused() == [(0, 7, 0.75)]
    labels.add(many, many)
    assert labels.confused() == [] and labels.equal == 400
    labels.add(few, few + 2**40)
    assert labels.confused() == [] and labels.places == 2400


@pytest.mark.parametrize("axis", [1, 2, 3])
def test_faint_parts_are_no_fault_of_even_noise(axis: int) -> None:
    """But where they are dead, and large enough to be told."""
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


def test_a_fix_in_the_place_of_a_spec(board: Board) -> None:
    """Also where the arrays have the shape of the spec that was wrong."""
    wrong, right = nl.TensorSpec(SHAPE, "NHWC", name="maps"), nl.TensorSpec(SHAPE, name="maps")
    frames = [
        ({"image": x}, {"maps": a["maps"].reshape(wrong.storage_shape)}) for x, a in zip(board.inputs, board.answers)
    ]
    recording = nl.Recording({"maps": wrong}, frames)
    found = nl.validate(recording, board.engine).outputs["maps"]
    assert found.verdict == "layout" and found.fix == right, str(found)
    recording.specs["maps"] = found.fix
    assert nl.validate(recording, board.engine), str(nl.validate(recording, board.engine))
