"""Scales that are declared along the wrong axis, for other channels, or for another output."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

import npu_layout as nl
from npu_layout.diagnosis.scoring.evidence import Evidence
from npu_layout.diagnosis.stored.declared_scales import declared_scales
from tests.support.endings import ending


@pytest.mark.parametrize("shape, true, declared", [((1, 12, 12), 2, 1), ((1, 12, 12), 1, 2), ((1, 9, 9, 9), 3, 1)])
def test_scales_along_another_axis(shape: tuple[int, ...], true: int, declared: int) -> None:
    rng, letters = np.random.default_rng(0), "NCW" if len(shape) == 3 else "NCHW"
    scales = rng.uniform(0.01, 0.2, shape[true])
    by = scales.reshape([-1 if k == true else 1 for k in range(len(shape))])
    inputs = [(rng.normal(0, 30, shape) * by).astype(np.float32) for _ in range(5)]
    stored, read = (
        nl.TensorSpec(shape, letters, "int8", quantization=nl.Quantization(scales, 0, axis), name="y")
        for axis in (true, declared)
    )
    frames = [({"x": x}, {"y": stored.pack(x)}) for x in inputs]
    output = nl.validate(nl.Recording({"y": read}, frames), ending(shape)).outputs["y"]
    assert output.verdict == "quantization", str(output)
    assert output.fix.quantization.axis == true and np.allclose(output.fix.quantization.scale, scales, rtol=0.05)
    right = nl.validate(nl.Recording({"y": stored}, frames), ending(shape)).outputs["y"]
    assert right.verdict == "match", str(right)


@pytest.mark.parametrize(
    "shape, letters, true, declared", [((1, 12, 20, 12), "NHWC", 3, 1), ((1, 12, 12, 20), "NCHW", 1, 2)]
)
def test_scales_along_a_side_of_maps_that_are_not_square(
    shape: tuple[int, ...], letters: str, true: int, declared: int
) -> None:
    rng = np.random.default_rng(0)
    scales = rng.uniform(0.01, 0.2, shape[true])
    by = scales.reshape([-1 if k == true else 1 for k in range(4)])
    inputs = [(rng.normal(0, 30, shape) * by).astype(np.float32) for _ in range(5)]
    stored, read = (
        nl.TensorSpec(shape, letters, "int8", axes=letters, quantization=nl.Quantization(scales, 0, axis), name="y")
        for axis in (true, declared)
    )
    frames = [({"x": x}, {"y": stored.pack(x)}) for x in inputs]
    output = nl.validate(nl.Recording({"y": read}, frames), ending(shape)).outputs["y"]
    assert output.verdict == "quantization" and output.fix.quantization.axis == true, str(output)
    right = nl.validate(nl.Recording({"y": stored}, frames), ending(shape)).outputs["y"]
    assert right.verdict == "match", str(right)


def test_only_axes_of_that_length() -> None:
    shape = (1, 6, 8)
    spec = nl.TensorSpec(shape, "NCW", "int8", quantization=nl.Quantization([0.1] * 6, 0, 1))
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    assert not list(declared_scales(Evidence(spec, [spec.pack(x)] * 2, [x] * 2, (), 1)))


MAPS = (1, 8, 10, 12)
STRETCH = np.geomspace(1, 6, 8).reshape(1, 8, 1, 1)


def maps(frames: int) -> list[np.ndarray]:
    """Channels of other sizes each."""
    rng = np.random.default_rng(3)
    return [(rng.normal(0, 1, MAPS) * STRETCH).astype(np.float32) for _ in range(frames)]


def scales_of(values: list[np.ndarray]) -> nl.Quantization:
    low, high = (f(np.stack(values), (0, 1, 3, 4)) for f in (np.min, np.max))
    scales = (high - low) / 65535
    return nl.Quantization(scales, np.rint(-32768 - low / scales).astype(int), 1)


@pytest.mark.parametrize("frames", [1, 4])
@pytest.mark.parametrize("db", [10, 30])
@pytest.mark.parametrize("by", [1, -1, 0, None])
def test_scales_of_the_next_channel(by: int | None, db: float, frames: int) -> None:
    """by: channels by which each scale is moved; 0: they are in reverse; None: they are right."""
    inputs, rng = maps(frames), np.random.default_rng(1)
    device = [x + STRETCH * rng.normal(0, 10 ** (-db / 20), MAPS) for x in inputs]
    right = scales_of(device)
    order = np.arange(8) if by is None else np.arange(8)[::-1] if by == 0 else np.roll(np.arange(8), by)
    wrong = nl.Quantization(np.asarray(right.scale)[order], np.asarray(right.zero_point)[order], 1)
    stored, read = (nl.TensorSpec(MAPS, "NHWC", "int16", quantization=q, name="y") for q in (right, wrong))
    pairs = [({"x": x}, {"y": stored.pack(y.astype(np.float32))}) for x, y in zip(inputs, device)]
    output = nl.validate(nl.Recording({"y": read}, pairs), ending(MAPS)).outputs["y"]
    if by is None:
        assert output.verdict in ("match", "mismatch") and output.fix is None, str(output)
        return
    assert output.verdict == "quantization", str(output)
    assert np.allclose(output.fix.quantization.scale, right.scale, rtol=1e-4)


def test_scales_that_are_alike_have_no_order() -> None:
    alike = nl.Quantization([0.1, 0.1005, 0.1], 0, 1)
    spec = nl.TensorSpec((1, 3, 4), "NCW", "int8", quantization=alike)
    x = np.random.default_rng(0).normal(size=(1, 3, 4)).astype(np.float32)
    assert not list(declared_scales(Evidence(spec, [spec.pack(x)] * 2, [x] * 2, (), 1)))


@pytest.mark.parametrize("db", [8, 15, 30])
@pytest.mark.parametrize("factor", [1.15, 1.5, 4.0])
@pytest.mark.parametrize("exchanged", [True, False])
def test_the_scale_of_another_output(factor: float, db: float, exchanged: bool) -> None:
    """Two outputs have each the other's scale. A scale that is nearly the same needs 15 dB."""
    x, rng = helper.make_tensor_value_info("x", TensorProto.FLOAT, MAPS), np.random.default_rng(1)
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, MAPS) for name in "ab"]
    nodes = [helper.make_node("Identity", ["x"], ["a"]), helper.make_node("Neg", ["x"], ["b"])]
    graph = helper.make_graph(nodes, "two", [x], ports)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()
    scales = {"a": 0.2, "b": 0.2 / factor}
    specs = {k: nl.TensorSpec(MAPS, "NCHW", "int8", quantization=nl.Quantization(s, 3)) for k, s in scales.items()}
    pairs = []
    for given in maps(4):
        noisy = [s * given + 2 * rng.normal(0, 10 ** (-db / 20), MAPS) for s in (1, -1)]
        stored = {k: specs[k].pack(y.astype(np.float32)) for k, y in zip("ab", noisy)}
        pairs.append(({"x": given}, stored))
    declared = {"a": specs["b"], "b": specs["a"]} if exchanged else specs
    report = nl.validate(nl.Recording(declared, pairs), model)
    for name, output in report.outputs.items():
        named = output.verdict == "quantization"
        assert named or (output.verdict in ("match", "mismatch", "ambiguous") and output.fix is None), str(output)
        assert not (named and not exchanged), str(output)
        assert named or not exchanged or factor < 1.5 or (factor < 2 and db < 30), str(output)
        assert not named or float(output.fix.quantization.scale) == pytest.approx(scales[name], rel=0.05)
