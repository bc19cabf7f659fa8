"""Names that tools have changed are matched with the model's, and what could be two tensors is left open."""

from __future__ import annotations

from npu_layout.exchange.layer_names import matched, plain_name
from npu_layout.exchange.onnx_graph import GraphTensor


def tensors(*names: str, nodes: tuple[str, ...] = ()) -> list[GraphTensor]:
    given = nodes or ("",) * len(names)
    return [GraphTensor(name, "Relu", node, (), None, "") for name, node in zip(names, given)]


def test_names_of_each_tool() -> None:
    model = tensors("/body.0/conv/Conv_output_0", "heat/out:0", "412", "x")
    qairt = ["_body_0_conv_Conv_output_0", "heat_out_0", "_412", "x", "x_extra"]
    folders = ["body.0/conv/Conv_output_0", "heat/out:0", "412", "x"]
    for names in (qairt, folders, [t.name for t in model]):
        found, unclear = matched(model, names)
        assert [*found.values()] == names[:4] and not unclear


def test_a_name_of_a_node() -> None:
    model = tensors("512", "513", "514", nodes=("/stem/Conv", "/split/Split", "/split/Split"))
    found, unclear = matched(model, ["stem_Conv", "split_Split"])
    assert found == {"512": "stem_Conv"} and not unclear


def test_two_tensors_of_one_name() -> None:
    model = tensors("a/b", "a_b", "c")
    found, unclear = matched(model, ["a_b", "c"])
    assert found == {"c": "c"} and unclear["a/b"] == unclear["a_b"] == "'a_b' could be 'a/b' or 'a_b'"
    assert matched(model, ["a_b", "a/b", "c"])[0] == {name: name for name in ("a/b", "a_b", "c")}


def test_two_files_of_one_tensor() -> None:
    found, unclear = matched(tensors("a/b"), ["a_b", "a.b"])
    assert not found and "'a_b', 'a.b' could be it" in unclear["a/b"]
    assert matched(tensors("a/b"), ["a/b", "a.b"])[0] == {"a/b": "a/b"}


def test_the_first_output_of_a_node_in_tensorflows_words() -> None:
    model = tensors("conv", "heat:0", "pool:1", "x", "y")
    found, unclear = matched(model, ["conv:0", "heat", "pool", "x:0", "x_0", "y", "y:0"])
    assert found == {"conv": "conv:0", "heat:0": "heat", "x": "x:0", "y": "y"} and not unclear
    assert matched(tensors("a", "a_0"), ["a:0"]) == ({"a_0": "a:0"}, {})


def test_plain_name() -> None:
    assert plain_name("//a..b__c:0") == "a_b_c_0" and plain_name("größe") == "gr_e" and plain_name("::") == ""
