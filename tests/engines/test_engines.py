"""The engines, on models of a few nodes made here."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest

from npu_layout import BufferSizeError, NpuLayoutError, Quantization, TensorSpec
from npu_layout.engines import OnnxRuntimeEngine, SimulatedNpu, calibrate

onnx = pytest.importorskip("onnx")
helper = onnx.helper
FLOAT, INT64, UINT8 = (
    onnx.TensorProto.FLOAT,
    onnx.TensorProto.INT64,
    onnx.TensorProto.UINT8,
)


def build(nodes, inputs, outputs, initializers=()):
    values = [[helper.make_tensor_value_info(*v) for v in vs] for vs in (inputs, outputs)]
    graph = helper.make_graph(nodes, "tiny", *values, list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()


@pytest.fixture
def twice():
    """y = x + x, (1,5,3,2)."""
    shape = (1, 5, 3, 2)
    return build(
        [helper.make_node("Add", ["x", "x"], ["y"])],
        [("x", FLOAT, shape)],
        [("y", FLOAT, shape)],
    )


@pytest.fixture
def pair():
    """Two inputs, two outputs named against the alphabet, of ranks 2 and 4."""
    nodes = [
        helper.make_node("Neg", ["b"], ["z"]),
        helper.make_node("Relu", ["a"], ["m"]),
    ]
    inputs = [("b", FLOAT, (2, 3)), ("a", FLOAT, (1, 2, 2, 2))]
    return build(nodes, inputs, [("z", FLOAT, (2, 3)), ("m", FLOAT, (1, 2, 2, 2))])


@pytest.fixture
def ramp():
    return np.linspace(-3, 4, 30, dtype=np.float32).reshape(1, 5, 3, 2)


def test_specs_and_result(twice, ramp):
    engine = OnnxRuntimeEngine(twice, threads=1)
    (given,), (taken,) = engine.output_specs, engine.input_specs
    assert (given.name, given.shape, str(given.layout), given.dtype) == (
        "y",
        (1, 5, 3, 2),
        "NCHW",
        "float32",
    )
    assert (taken.name, taken.shape, taken.axes) == ("x", (1, 5, 3, 2), "NCHW")
    for inputs in (ramp, {"x": ramp}):
        result = engine.infer(inputs)
        assert list(result) == ["y"]
        np.testing.assert_array_equal(result["y"], ramp * np.float32(2))


def test_strided_input_and_a_path(twice, ramp, tmp_path):
    path = tmp_path / "twice.onnx"
    path.write_bytes(twice)
    result = OnnxRuntimeEngine(path).infer(np.asfortranarray(ramp))["y"]
    np.testing.assert_array_equal(result, ramp * np.float32(2))
    assert str(path) in repr(OnnxRuntimeEngine(str(path)))


def test_several_inputs_and_outputs_keep_the_models_order(pair):
    engine = OnnxRuntimeEngine(pair)
    assert [(s.name, s.axes) for s in engine.input_specs] == [
        ("b", "NC"),
        ("a", "NCHW"),
    ]
    a, b = np.full((1, 2, 2, 2), -1, np.float32), np.ones((2, 3), np.float32)
    result = engine.infer({"a": a, "b": b})
    assert list(result) == ["z", "m"]
    assert (result["z"] == -1).all() and not result["m"].any()
    for inputs, words in (
        (b, "2 inputs"),
        ({"b": b}, "got b"),
        ({"b": b, "a": a, "c": a}, "got b, a, c"),
    ):
        with pytest.raises(NpuLayoutError, match=words):
            engine.infer(inputs)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda x: x.astype(np.float64),
            r"input 'x' expects dtype float32, got float64",
        ),
        (lambda x: x.astype(">f4"), r"expects dtype float32, got >f4"),
        (lambda x: x[0], r"expects shape \(1,5,3,2\), got \(5, 3, 2\)"),
        (
            lambda x: x.transpose(0, 2, 3, 1),
            r"expects shape \(1,5,3,2\), got \(1, 3, 2, 5\)",
        ),
        (
            lambda x: np.concatenate([x, x]),
            r"expects shape \(1,5,3,2\), got \(2, 5, 3, 2\)",
        ),
    ],
)
def test_wrong_input_is_named_before_onnxruntime_sees_it(twice, ramp, change, words):
    with pytest.raises(NpuLayoutError, match=words):
        OnnxRuntimeEngine(twice).infer(change(ramp))


@pytest.mark.parametrize("damage", ["missing", "folder", "empty", "text", "short"])
def test_unusable_model(twice, tmp_path, damage):
    path = tmp_path / "broken.onnx"
    contents = {"empty": b"", "text": b"no model at all", "short": twice[:-9]}
    if damage == "folder":
        path.mkdir()
    elif damage in contents:
        path.write_bytes(contents[damage])
    with pytest.raises(NpuLayoutError, match=r"broken\.onnx: .") as caught:
        OnnxRuntimeEngine(path)
    assert "\n" not in str(caught.value)
    if damage in contents:
        with pytest.raises(NpuLayoutError, match="model: onnxruntime cannot load it"):
            OnnxRuntimeEngine(contents[damage])


@pytest.mark.parametrize("number", [0, -1, 2.5, "2", None, 2**70])
def test_bad_threads_and_dimensions(twice, number):
    says = "expected a whole number of 1 or more, got "
    if number is not None:
        with pytest.raises(NpuLayoutError, match=f"threads: {says}{number!r}"):
            OnnxRuntimeEngine(twice, threads=number)
    with pytest.raises(NpuLayoutError, match=f"dimensions: length of 'batch': {says}{number!r}"):
        OnnxRuntimeEngine(twice, dimensions={"batch": number})


def test_what_is_no_model_and_no_dimensions(twice):
    with pytest.raises(NpuLayoutError, match=r"model: expected a path or the bytes of a model, got NoneType"):
        OnnxRuntimeEngine(None)
    with pytest.raises(NpuLayoutError, match=r"dimensions: expected {name: length}, got .2."):
        OnnxRuntimeEngine(twice, dimensions=[2])


def test_free_axes_are_shown_and_can_be_fixed():
    shape = ("batch", 3)
    model = build(
        [helper.make_node("Neg", ["x"], ["y"])],
        [("x", FLOAT, shape)],
        [("y", FLOAT, shape)],
    )
    engine = OnnxRuntimeEngine(model)
    assert engine.input_shapes == {"x": shape} and engine.output_shapes == {"y": shape}
    with pytest.raises(
        NpuLayoutError,
        match=r"\(batch,3\): the length of batch is not fixed; give .*dimensions=",
    ):
        _ = engine.input_specs
    assert engine.infer(np.ones((7, 3), np.float32))["y"].shape == (7, 3)
    with pytest.raises(NpuLayoutError, match=r"expects shape \(batch,3\), got \(7, 4\)"):
        engine.infer(np.ones((7, 4), np.float32))
    fixed = OnnxRuntimeEngine(model, dimensions={"batch": 2})
    assert fixed.input_specs[0].shape == fixed.output_specs[0].shape == (2, 3)
    nameless = build(
        [helper.make_node("Neg", ["x"], ["y"])],
        [("x", FLOAT, (None, 3))],
        [("y", FLOAT, (None, 3))],
    )
    with pytest.raises(
        NpuLayoutError,
        match=r"\(\?,3\): the length of \? is not fixed; fix it in the model",
    ):
        _ = OnnxRuntimeEngine(nameless).input_specs


def test_ranks_and_dtypes():
    shapes = [(), (4,), (1, 2), (1, 2, 3), (1, 2, 1, 1, 1), (1, 1, 1, 1, 1, 2)]
    nodes = [helper.make_node("Identity", [f"i{n}"], [f"o{n}"]) for n in range(6)]
    engine = OnnxRuntimeEngine(
        build(
            nodes,
            [(f"i{n}", INT64 if n % 2 else UINT8, s) for n, s in enumerate(shapes)],
            [(f"o{n}", INT64 if n % 2 else UINT8, s) for n, s in enumerate(shapes)],
        )
    )
    specs = engine.input_specs
    assert [s.axes for s in specs] == ["A", "N", "NC", "NCW", "NCDHW", "ABCDEF"]
    assert [s.dtype for s in specs] == ["uint8", "int64"] * 3
    assert specs[0].shape == (1,)
    inputs = {s.name: np.ones(s.shape, s.dtype) for s in specs}
    result = engine.infer(inputs)
    assert [a.shape for a in result.values()] == [s.shape for s in engine.output_specs]


def test_what_no_spec_can_describe():
    model = build(
        [helper.make_node("Identity", ["x"], ["y"])],
        [("x", onnx.TensorProto.STRING, (1,))],
        [("y", onnx.TensorProto.STRING, (1,))],
    )
    with pytest.raises(NpuLayoutError, match=r"output 'y' is a tensor\(string\)"):
        _ = OnnxRuntimeEngine(model).output_specs


def test_a_failure_inside_onnxruntime_is_one_line():
    table = helper.make_tensor("t", FLOAT, (3,), [1, 2, 3])
    model = build(
        [helper.make_node("Gather", ["t", "i"], ["y"])],
        [("i", INT64, (1,))],
        [("y", FLOAT, (1,))],
        [table],
    )
    with pytest.raises(NpuLayoutError, match="model: onnxruntime failed: ") as caught:
        OnnxRuntimeEngine(model).infer(np.array([9]))
    assert "\n" not in str(caught.value)


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


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int4", "uint4"])
def test_calibration_covers_the_range_and_keeps_zero(dtype):
    values = [np.array([-0.7, 0.1], np.float32), np.array([[2.9]])]
    quantization = calibrate(values, dtype)
    assert quantization is not None
    bits = int("".join(filter(str.isdigit, dtype)))
    assert quantization.scale == pytest.approx(3.6 / (2**bits - 1), rel=1e-6)
    stored = quantization.quantize(np.array([-0.7, 0.0, 2.9]), dtype)
    assert quantization.dequantize(stored)[1] == 0
    np.testing.assert_allclose(quantization.dequantize(stored), [-0.7, 0, 2.9], atol=quantization.scale)


def test_calibration_of_nothing_and_of_what_is_not_finite():
    assert calibrate(np.zeros(3), "int8") == Quantization(1.0, -128)
    assert calibrate([], "float32") is None
    for bad in (np.nan, np.inf):
        with pytest.raises(NpuLayoutError, match="finite"):
            calibrate(np.array([0.0, bad, 1.0]), "int8")


def test_onnxruntime_is_imported_at_first_use():
    code = "import sys, npu_layout.engines; sys.exit('onnxruntime' in sys.modules or 'cv2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
