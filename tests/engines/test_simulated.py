"""The simulated accelerator: its buffers are what the formula of the layout says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from onnx import TensorProto, helper

from npu_layout import BufferSizeError, NpuLayoutError, Quantization, TensorSpec
from npu_layout.engines import OnnxRuntimeEngine, SimulatedNpu
from tests.support.boards import SHAPE, SIDE, network


def test_simulated_buffer_against_the_formula(twice, ramp):
    quantization = Quantization(0.25, -3)
    npu = SimulatedNpu(twice, [TensorSpec((1, 5, 3, 2), "NCHW4c", "int8", quantization=quantization)])
    result = npu.infer(ramp)
    flat = result["y"]
    assert npu.output_specs[0].name == "y"
    assert (flat.dtype, flat.shape) == (np.int8, (2 * 3 * 2 * 4,))
    wanted = [0] * flat.size
    for c, h, w in itertools.product(range(5), range(3), range(2)):
        real = 2.0 * float(ramp[0, c, h, w])
        wanted[((c // 4 * 3 + h) * 2 + w) * 4 + c % 4] = max(-128, min(127, round(real / 0.25) - 3))
    assert flat.tolist() == wanted
    np.testing.assert_array_equal(npu.last_float["y"], ramp * np.float32(2))
    back = npu.output_specs[0].unpack(flat)
    assert np.abs(back - npu.last_float["y"]).max() <= 0.125


def test_simulated_with_other_axes_is_transposed(twice, ramp):
    taken = TensorSpec((1, 3, 2, 5), "NHWC", "uint8", axes="NHWC", quantization=Quantization(0.5, 6))
    given = TensorSpec((1, 3, 2, 5), "NHWC", "float16", axes="NHWC")
    npu = SimulatedNpu(OnnxRuntimeEngine(twice), [given], inputs=[taken])
    stored = np.arange(30, dtype=np.uint8).reshape(1, 3, 2, 5)
    flat = npu.infer(stored.tobytes())["y"]
    for n, (h, w, c) in enumerate(itertools.product(range(3), range(2), range(5))):
        assert float(flat[n]) == 2 * 0.5 * (int(stored[0, h, w, c]) - 6)
        assert npu.last_float["y"][0, c, h, w] == float(flat[n])
    assert [s.name for s in npu.input_specs] == ["x"]
    with pytest.raises(BufferSizeError, match="29 bytes"):
        npu.infer(stored.tobytes()[:-1])


def test_simulated_of_a_model_that_is_nhwc_itself(twice, ramp):
    """Its shape (1,5,3,2) has other letters there than here: nothing is transposed."""
    spec = TensorSpec((1, 5, 3, 2), "NCHW", "float32", axes="NHWC")
    npu = SimulatedNpu(twice, [spec], [spec])
    buffers = npu.infer(spec.pack(ramp))
    np.testing.assert_array_equal(npu.last_float["y"], 2 * ramp)
    np.testing.assert_array_equal(buffers["y"], (2 * ramp).transpose(0, 3, 1, 2).ravel())


def test_specs_are_matched_by_name_then_by_order(pair):
    by_name = [TensorSpec((1, 2, 2, 2), "NHWC", name="m"), TensorSpec((2, 3), "NC")]
    npu = SimulatedNpu(pair, by_name)
    assert [(s.name, s.shape) for s in npu.output_specs] == [
        ("z", (2, 3)),
        ("m", (1, 2, 2, 2)),
    ]
    inputs = {
        "b": np.arange(6, dtype=np.float32).reshape(2, 3),
        "a": np.ones((1, 2, 2, 2), np.float32),
    }
    assert npu.infer(inputs)["z"].tolist() == [0, -1, -2, -3, -4, -5]
    assert npu.input_specs == npu.engine.input_specs


@pytest.mark.parametrize(
    ("specs", "words"),
    [
        ([], "expected one for each of z, m; got none"),
        (
            [TensorSpec((2, 3), "NC")],
            "expected one for each of z, m; got one without a name",
        ),
        (
            [TensorSpec((2, 3), "NC", name="q"), TensorSpec((1, 2, 2, 2))],
            "'q' does not exist, expected z, m",
        ),
        (
            [TensorSpec((3, 2), "NC"), TensorSpec((1, 2, 2, 2))],
            r"'z' has shape \(2,3\); its spec has \(3,2\)",
        ),
        (
            [TensorSpec((2, 3), "NC", name="z"), TensorSpec((2, 3), "NC", name="z")],
            "expected one for each",
        ),
    ],
)
def test_specs_that_do_not_fit(pair, specs, words):
    with pytest.raises(NpuLayoutError, match=words):
        SimulatedNpu(pair, specs)


def test_the_run_of_another_thread_changes_no_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another run ends while the first one packs its buffers."""
    npu = SimulatedNpu(network(outputs=("a", "b")), [TensorSpec(SHAPE, "NHWC", "float32", name=name) for name in "ab"])
    first, second = (np.full((1, 3, SIDE, SIDE), v, np.float32) for v in (0.1, 0.9))
    expected, other = npu.infer(first), []
    pack = TensorSpec.pack

    def packed(spec: TensorSpec, *given: object, **more: object) -> np.ndarray:
        if not other:
            other.append({})
            other[0] = npu.infer(second)
        return pack(spec, *given, **more)

    monkeypatch.setattr(TensorSpec, "pack", packed)
    found = npu.infer(first)
    assert all(np.array_equal(found[name], expected[name]) for name in "ab")
    assert not any(np.array_equal(other[0][name], expected[name]) for name in "ab")


@pytest.mark.parametrize("channels", [None, "RGB", "BGR"])
def test_simulated_that_converts_colours(channels):
    """The model reads RGB: BGR is turned, and scales belong to the buffer's channels."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, 3, 2, 2)) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "same", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()
    quantization = Quantization([0.5, 1.0, 2.0], 0, axis=1)
    spec = TensorSpec((1, 3, 2, 2), "NHWC", "int8", quantization=quantization, channels=channels)
    stored = np.arange(12, dtype=np.int8).reshape(2, 2, 3)
    npu = SimulatedNpu(model, [TensorSpec((1, 3, 2, 2))], [spec])
    npu.infer(stored.tobytes())
    real = (stored * np.float32([0.5, 1.0, 2.0])).transpose(2, 0, 1)
    np.testing.assert_array_equal(npu.last_float["y"][0], real[::-1] if channels == "BGR" else real)
