"""OpenVINO's ports: their layouts, and graphs as PrePostProcessor writes them, built of stand-ins for its nodes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl

PORT = {"names": ["image"], "shape": [1, 8, 6, 3], "element_type": "u8", "layout": "[N,H,W,C]"}


class Node:
    """A node of an ov.Model with what the reader asks of one."""

    def __init__(self, kind: str, value: Any = None) -> None:
        self.kind, self.value = kind, value
        self.sources: list[Node] = []
        self.readers: list[Node] = []

    def get_type_name(self) -> str:
        return self.kind

    def get_data(self) -> np.ndarray:
        return np.asarray(self.value)

    def inputs(self) -> list[Any]:
        def port(source: Node) -> Any:
            return SimpleNamespace(get_source_output=lambda: SimpleNamespace(get_node=lambda: source))

        return [port(source) for source in self.sources]

    def output(self, number: int) -> Any:
        assert number == 0
        readers = [SimpleNamespace(get_node=lambda reader=reader: reader) for reader in self.readers]
        return SimpleNamespace(get_target_inputs=lambda: readers)


def graph(*steps: Any, layout: str = "[N,H,W,C]", shape: Any = (1, 8, 6, 3), kind: str = "u8") -> Any:
    """The port of a parameter that goes through steps: a kind, and the values of its constants."""
    first = last = Node("Parameter")
    first.layout = SimpleNamespace(to_string=lambda: layout)  # type: ignore[attr-defined]
    for name, *constants in [*steps, ("Convolution", np.ones((4, 3, 1, 1)))]:
        node = Node(name)
        node.sources = [last, *(Node("Constant", value) for value in constants)]
        last.readers.append(node)
        last = node
    type_ = SimpleNamespace(get_type_name=lambda: kind)
    return SimpleNamespace(names={"x"}, partial_shape=shape, element_type=type_, get_node=lambda: first)


COLOR = ("Gather", np.array([2, 1, 0]), np.array([3]))
MEAN = ("Subtract", np.array([[[[10.0, 20.0, 30.0]]]]))
SCALE = ("Multiply", np.array([[[[0.25, 0.5, 0.125]]]]))
TURN = ("Transpose", np.array([0, 3, 1, 2]))


def test_layouts_and_types() -> None:
    spec = nl.specs.from_openvino(PORT)
    assert spec == nl.TensorSpec.of_storage((1, 8, 6, 3), "NHWC", "uint8", name="image")
    for layout, axes in (("NCHW", "NCHW"), ("[N,?,H,W]", "NAHW"), ("[...]", "NCHW"), ("N...", "NCHW"), (None, "NCHW"),
                         ("[N,C,BLOB,W]", "NCAW")):  # fmt: skip
        assert nl.specs.from_openvino({**PORT, "layout": layout}).axes == axes, layout
    for kind, dtype in (("f16", "float16"), ("bf16", "bfloat16"), ("boolean", "bool"), ("i64", "int64")):
        assert nl.specs.from_openvino({**PORT, "element_type": kind}).dtype == dtype
    assert nl.specs.from_openvino({**PORT, "shape": [], "layout": None}).shape == (1,)
    assert nl.specs.from_openvino({**PORT, "layout": None}, layout="nhwc").axes == "NHWC"
    assert nl.specs.from_openvino(PORT, layout="NHWC", name="y").name == "y"
    assert nl.specs.from_openvino({**PORT, "names": []}).name == ""
    assert nl.specs.from_openvino({**PORT, "names": None, "any_name": "z"}).name == "z"


@pytest.mark.parametrize(
    ("port", "options", "says"),
    [
        ({**PORT, "layout": "NCW"}, {}, "layout NCW has 3 axes, but the shape has 4"),
        ({**PORT, "layout": "NCHC"}, {}, "expected different letters"),
        (PORT, {"layout": "NCHW"}, "layout= is 'NCHW', but the port's is .N,H,W,C."),
        ({**PORT, "element_type": "u1"}, {}, "element_type 'u1': expected one of"),
        ({**PORT, "shape": [1, -1, 3, 4]}, {}, "1 or more"),
        ({**PORT, "shape": [1, 1.5, 3, 4]}, {}, "field 'shape': got 1.5"),
        (graph(shape=[1, SimpleNamespace(is_dynamic=True), 6, 3]), {}, "is dynamic: make it static before compile_mod"),
        (graph(), {"color": "GRAY"}, "color: expected one of None, BGR, RGB"),
        (PORT, {"color": "RGB"}, "no field 'get_node'"),
        (graph(MEAN, kind="f32"), {"color": "RGB"}, "a spec of float32 cannot contain"),
    ],
)
def test_refusals(port: Any, options: Any, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.specs.from_openvino(port, **options)


def test_what_a_prepostprocessor_put_into_the_graph() -> None:
    """Checked against OpenVINO 2026.4.1 itself by the engine's tests; here the order of the steps and of channels."""
    plain = nl.specs.from_openvino(graph())
    assert plain.channels is None and nl.specs.from_openvino(graph(), color="RGB") == plain
    turned = nl.specs.from_openvino(graph(("Convert",), COLOR, MEAN, SCALE, TURN), color="RGB")
    means = nl.Quantization([0.125, 0.5, 0.25], [30.0, 20.0, 10.0], 3)  # the buffer has the channels turned round
    assert turned == plain.replace(channels="BGR", quantization=means)
    straight = nl.specs.from_openvino(graph(("Convert",), MEAN, SCALE, COLOR), color="BGR")
    means = nl.Quantization([0.25, 0.5, 0.125], [10.0, 20.0, 30.0], 3)
    assert straight == plain.replace(channels="RGB", quantization=means)
    one = nl.specs.from_openvino(graph(("Divide", 2.0), ("Subtract", 3.0)), color="RGB")
    assert one == plain.replace(quantization=nl.Quantization(0.5, 6.0))
    late = graph(TURN, ("Subtract", np.reshape([1.0, 2.0, 3.0], (3, 1, 1))), ("Gather", [2, 1, 0], [1]))
    means = nl.Quantization([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], 3)
    assert nl.specs.from_openvino(late, color="RGB") == plain.replace(channels="BGR", quantization=means)


def test_the_models_own_steps_are_not_read() -> None:
    plain = nl.specs.from_openvino(graph())
    for step in (("Gather", [2, 1, 0], [2]), ("Gather", [0, 1, 2], [3]), ("Subtract", np.ones((1, 1, 6, 1))),
                 ("Add", 3.0), ("Relu",)):  # fmt: skip
        assert nl.specs.from_openvino(graph(step, COLOR), color="RGB") == plain, step
    for kind in ("Subtract", "Divide"):  # 255 - x is no x - 255
        turned = graph((kind, 255.0), COLOR)
        reader = turned.get_node().readers[0]
        reader.sources = reader.sources[::-1]
        assert nl.specs.from_openvino(turned, color="RGB") == plain, kind
    forked = graph(COLOR)
    forked.get_node().readers.append(Node("Relu"))
    assert nl.specs.from_openvino(forked, color="RGB") == plain


def test_preprocessor_writes_plain_pixels() -> None:
    """The spec's meaning of the integers undoes mean and std, so that the graph gets the pixels it normalises."""
    spec = nl.specs.from_openvino(graph(("Convert",), COLOR, MEAN, SCALE, TURN), color="RGB")
    frame = np.random.default_rng(0).integers(0, 256, (8, 6, 3), dtype=np.uint8)
    preprocess = nl.Preprocessor(spec, color="RGB", mean=(10, 20, 30), std=(4, 2, 8))
    buffer, _ = preprocess(frame)
    np.testing.assert_array_equal(np.asarray(buffer).reshape(8, 6, 3), frame)
