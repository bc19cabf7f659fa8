"""Recorded outputs find the model's, with its axes and its channels."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import npu_layout as nl
from npu_layout.validation.pairing import Pairing
from tests.support.boards import CHANNELS, SHAPE, Board, network, slices


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


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


def test_a_spec_says_where_channels_lie(board: Board) -> None:
    """Of a model whose output has them last: nothing else would show it here."""
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


@pytest.mark.parametrize("axes", ["NHWC", "HWC"])
def test_outputs_of_unknown_names_go_by_shape_where_the_model_has_channels_last(axes: str) -> None:
    model = slices([1, 8, 8, 3], a=[1, 8, 8, 3], b=[1, 4, 4, 3])
    specs = {f"o{n}": nl.TensorSpec((1, n, n, 3)[-len(axes) :], axes, axes=axes) for n in (4, 8)}
    given = [np.random.default_rng(i).random((1, 8, 8, 3), np.float32) for i in range(4)]
    frames = [({"x": x}, {"o4": x[:, :4, :4].reshape(-1), "o8": x.reshape(-1)}) for x in given]
    outputs = nl.validate(nl.Recording(specs, frames), model).outputs
    assert all(outputs.values()) and [o.against for o in outputs.values()] == ["b", "a"]
    assert [o.channel_axis for o in outputs.values()] == [3, 3]


def test_channels_of_a_cube_are_where_the_model_has_them() -> None:
    shape, order = (1, 5, 5, 5), [0, 1, 2, 4, 3]
    scale = np.arange(1, 6, dtype=np.float32).reshape(1, 5, 1, 1)
    given = [(10 + np.random.default_rng(i).random(shape, np.float32)) * scale for i in range(4)]
    spec = nl.TensorSpec(shape, "NHWC", axes="NHWC")
    frames = [({"x": x}, {"y": spec.pack(x[:, order].transpose(0, 2, 3, 1))}) for x in given]
    output = nl.validate(nl.Recording({"y": spec}, frames), slices(list(shape), y=list(shape))).outputs["y"]
    assert output.verdict == "channel_order" and output.fix == tuple(order) and output.channel_axis == 1


def test_every_output_is_resolved_once() -> None:
    two = Board(outputs=("a", "b"))
    recording = two.recording({"a": two.spec}, [{"a": two.spec.pack(x["a"])} for x in two.answers])
    references = two.answers[0]
    pairing = Pairing(recording, references)
    (output,) = pairing.outputs
    assert (output.name, output.model.name, output.channel_axis) == ("a", "a", 1) and pairing.missing == ["b"]
    assert output.spec == output.recorded == two.spec and not output.model.silent and output.comparison is None
    pairing.check({"a": references["a"][:, :3], "b": references["b"]}, 5)
    assert "in frame 5" in output.model.silent and list(pairing.comparable(references)) == ["b"]
    empty = Pairing(recording, {"a": references["a"][:0]}).outputs[0].model
    assert "has no values" in empty.silent
