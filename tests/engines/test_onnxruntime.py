"""Models in onnxruntime: specs, results, and what is refused before onnxruntime sees it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from npu_layout import Geometry, NpuLayoutError, TensorSpec
from npu_layout.engines import OnnxRuntimeEngine, SimulatedNpu
from tests.support.small_models import FLOAT, INT64, UINT8, build, helper, onnx


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


def test_threads_do_not_spin_after_a_run(twice):
    options = OnnxRuntimeEngine(twice)._session.get_session_options()
    assert options.get_session_config_entry("session.force_spinning_stop") == "1"


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
            lambda x: (x, Geometry.letterbox((4, 4), (3, 5))),
            r"input x: expected a buffer, got \(buffer, geometry\), as a Preprocessor returns; give its first item",
        ),
        (
            lambda x: x.astype(np.float64),
            r"input 'x' expects dtype float32, got float64",
        ),
        (lambda x: x.astype(">f4"), r"expects dtype float32, got >f4"),
        (lambda x: None, r"expects dtype float32, got None$"),
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
    if damage == "text":
        compiled = path.rename(tmp_path / "model.rknn")
        with pytest.raises(NpuLayoutError, match=r"; expected an ONNX model: .* opened by 'rknn:.*model\.rknn'$"):
            OnnxRuntimeEngine(compiled)
    if damage in contents:
        with pytest.raises(NpuLayoutError, match="model: onnxruntime cannot load it"):
            OnnxRuntimeEngine(contents[damage])


@pytest.mark.parametrize("number", [0, -1, 2.5, "2", None, 2**70])
def test_bad_threads_and_dimensions(twice, number):
    says = "expected a whole number of 1 or more, got "
    if number is not None:
        with pytest.raises(NpuLayoutError, match=f"threads: expected a whole number from 1 to 1024, got {number!r}"):
            OnnxRuntimeEngine(twice, threads=number)
    with pytest.raises(NpuLayoutError, match=f"dimensions: length of 'batch': {says}{number!r}"):
        OnnxRuntimeEngine(twice, dimensions={"batch": number})


@pytest.mark.parametrize("axis", ["batch size", "größe\u00a0n", "a\tb", "批次"])
def test_any_text_is_the_name_of_an_axis(axis):
    x, y = (helper.make_tensor_value_info(name, FLOAT, (axis, 3)) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "named", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    with OnnxRuntimeEngine(model.SerializeToString(), dimensions={axis: 2}) as engine:
        assert engine.input_specs[0].shape == (2, 3)


def test_what_is_no_model_and_no_dimensions(twice):
    with pytest.raises(NpuLayoutError, match=r"model: expected a path or the bytes of a model, got NoneType"):
        OnnxRuntimeEngine(None)
    with pytest.raises(NpuLayoutError, match=r"dimensions: expected {name: length}, got .2."):
        OnnxRuntimeEngine(twice, dimensions=[2])
    with pytest.raises(NpuLayoutError, match="dimensions: expected names that differ as text, got 1 and '1'"):
        OnnxRuntimeEngine(twice, dimensions={1: 2, "1": 3})
    with pytest.raises(NpuLayoutError, match=r"dimensions: expected the name of an axis, got '\\ud800'"):
        OnnxRuntimeEngine(twice, dimensions={"\ud800": 2})
    with pytest.raises(NpuLayoutError, match="threads: expected a whole number from 1 to 1024, got 100000"):
        OnnxRuntimeEngine(twice, threads=100000)  # before, onnxruntime started them, for ever


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


def test_bytes_of_a_model_whose_weights_are_elsewhere(tmp_path):
    weights = onnx.numpy_helper.from_array(np.ones((1, 2), np.float32), "w")
    model = onnx.ModelProto.FromString(
        build([helper.make_node("Add", ["x", "w"], ["y"])], [("x", FLOAT, (1, 2))], [("y", FLOAT, (1, 2))], [weights])
    )
    path = tmp_path / "m.onnx"
    onnx.save_model(model, str(path), save_as_external_data=True, location="m.data", size_threshold=0)
    assert OnnxRuntimeEngine(path).infer(np.zeros((1, 2), np.float32))["y"].tolist() == [[1, 1]]
    with pytest.raises(NpuLayoutError, match="give the model's path, its weights are beside it"):
        OnnxRuntimeEngine(path.read_bytes())


def test_a_sequence_is_an_array_of_objects():
    """Its parts may have one shape, of which numpy would make one array."""
    parts = helper.make_value_info("y", helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None)))
    graph = helper.make_graph(
        [helper.make_node("SplitToSequence", ["x"], ["y"], axis=0)],
        "parts",
        [helper.make_tensor_value_info("x", FLOAT, ("n", 2))],
        [parts],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    engine = OnnxRuntimeEngine(model.SerializeToString())
    for count in (1, 3):
        x = np.arange(2 * count, dtype=np.float32).reshape(count, 2)
        y = engine.infer(x)["y"]
        assert (y.shape, y.dtype) == ((count,), object) and [a.tolist() for a in y] == [[row] for row in x.tolist()]


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


def test_onnxruntime_is_imported_at_first_use():
    code = "import sys, npu_layout.engines; sys.exit('onnxruntime' in sys.modules or 'cv2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_outputs_that_share_memory_are_refused():
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Neg", ["x"], ["b"])]
    model = build(nodes, [("x", FLOAT, (1, 4))], [("a", FLOAT, (1, 4)), ("b", FLOAT, (1, 4))])
    x, memory = np.arange(4, dtype=np.float32).reshape(1, 4), np.full(8, 9, np.float32)
    simulated = SimulatedNpu(model, [TensorSpec((1, 4), "NC", "float32")] * 2)
    for engine in (OnnxRuntimeEngine(model), simulated):
        memory[:] = 9
        for parts in ((0, 0), (0, 3), (3, 0)):
            with pytest.raises(NpuLayoutError, match=r"out: [ab] and [ab] overlap; expected memory of its own"):
                engine.infer(x, out={name: memory[k : k + 4] for name, k in zip("ab", parts)})
        assert (memory == 9).all()
        engine.infer(x, out={"a": memory[4:], "b": memory[:4]})  # side by side
        assert memory.tolist() == [0, -1, -2, -3, 0, 1, 2, 3]


def test_a_model_that_declares_no_rank():
    """onnxruntime says the shape () of a rank that is not known; a run shows an output's."""
    node = helper.make_node("Reshape", ["x", "s"], ["y"])
    engine = OnnxRuntimeEngine(build([node], [("x", FLOAT, ("n", 2)), ("s", INT64, ("k",))], [("y", FLOAT, None)]))
    assert engine.output_shapes["y"] == ()
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    for shape in ((2, 3), (6,), (1, 3, 2)):
        y = engine.infer({"x": x, "s": np.array(shape)})["y"]
        assert y.shape == shape and np.array_equal(y.reshape(-1), x.reshape(-1))
    engine = OnnxRuntimeEngine(
        build([helper.make_node("Relu", ["x"], ["y"])], [("x", FLOAT, None)], [("y", FLOAT, None)])
    )
    assert engine.infer(np.ones(1, np.float32))["y"].tolist() == [1]
    with pytest.raises(
        NpuLayoutError, match=r"expects shape \(\), got \(3, 2\); it is a scalar, or the model declares no shape"
    ):
        engine.infer(x)


def test_no_path_is_no_model():
    with pytest.raises(NpuLayoutError, match="model: expected the path of a file, got ''"):
        OnnxRuntimeEngine("")


def test_every_length_that_is_not_fixed_is_named() -> None:
    """With the first one alone, each try was answered by the next."""
    shape = ("batch", 3, "height", "height")
    model = build([helper.make_node("Identity", ["x"], ["y"])], [("x", FLOAT, shape)], [("y", FLOAT, shape)])
    with pytest.raises(NpuLayoutError, match=r"dimensions=\{'batch': \.\.\., 'height': \.\.\.\} or fix it"):
        _ = OnnxRuntimeEngine(model).input_specs
    assert OnnxRuntimeEngine(model, dimensions={"batch": 1, "height": 8}).input_specs[0].shape == (1, 3, 8, 8)


@pytest.mark.parametrize("declared", [(1, 3, 8, 6), (1, 8, 6, 3), ("batch", 3, 8, 6)])
def test_an_input_of_nearly_the_right_shape_says_how_to_give_it(declared: tuple[int | str, ...]) -> None:
    """What is advised is accepted, and nothing is advised of other shapes."""
    model = build([helper.make_node("Identity", ["x"], ["y"])], [("x", FLOAT, declared)], [("y", FLOAT, declared)])
    engine = OnnxRuntimeEngine(model)
    x = np.random.default_rng(0).normal(size=[1 if isinstance(n, str) else n for n in declared]).astype(np.float32)
    last = declared[-1] == 3
    turned = np.ascontiguousarray(x.transpose(0, 3, 1, 2) if last else x.transpose(0, 2, 3, 1))
    for wrong, words in (
        (x[0], r"its first axis is missing: give (x\[None\])$"),
        (x[None], r"it has an axis too many: give (x\[0\])$"),
        (turned, rf"its channels are {'first' if last else 'last'}: give (x\.transpose\(.*\))$"),
    ):
        with pytest.raises(NpuLayoutError, match=words) as refused:
            engine.infer(wrong)
        advised = eval(str(refused.value).rpartition("give ")[2], {"x": wrong})
        np.testing.assert_array_equal(engine.infer(advised)["y"], x)
    with pytest.raises(NpuLayoutError, match=r"got \(1, 3, 9, 6\)$"):
        engine.infer(np.zeros((1, 3, 9, 6), np.float32))
