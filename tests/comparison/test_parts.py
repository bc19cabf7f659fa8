"""Every channel, row, column and frame has to be explained, unless it is noise."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import npu_layout as nl
from npu_layout.comparison.parts import Parts
from tests.support.boards import CHANNELS, SHAPE, Board, network, spec_as


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
