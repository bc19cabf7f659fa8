"""ONNX test data: the onnx package itself writes and reads what is checked here."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import npu_layout as nl
from npu_layout import exchange
from tests.support.exchanged import SNAPSHOT, equal, recording, unpacked


def test_onnx_reads_what_is_exported(tmp_path: Path) -> None:
    original = recording()
    exchange.save(original, tmp_path / "sets", form="onnx")
    assert sorted(os.listdir(tmp_path / "sets")) == [f"test_data_set_{i}" for i in range(3)]
    for i, sides in enumerate(unpacked(original)):
        for kind, side in zip(("input", "output"), sides):
            for k, (name, array) in enumerate(side.items()):
                tensor = onnx.load_tensor(str(tmp_path / "sets" / f"test_data_set_{i}" / f"{kind}_{k}.pb"))
                read = onnx.numpy_helper.to_array(tensor)
                assert (tensor.name, read.dtype, read.shape) == (name, array.dtype, array.shape)
                np.testing.assert_array_equal(read, array)
    again = exchange.load(tmp_path / "sets")
    assert again.meta == {"source": {"form": "onnx"}}
    for (inputs, outputs), frame in zip(unpacked(original), again):
        equal({k: np.asarray(v) for k, v in inputs.items()}, frame.inputs)
        equal(outputs, frame.outputs)
    assert len(exchange.load(tmp_path / "sets" / "test_data_set_1")) == 1


def test_test_data_that_the_onnx_package_brings() -> None:
    """Their tensors often have no names; the model beside them has."""
    home = Path(onnx.__file__).parent / "backend" / "test" / "data"
    models = sorted(p.parent for part in ("simple", "pytorch-*") for p in home.glob(f"{part}/*/model.onnx"))
    models = [folder for folder in models if (folder / "test_data_set_0").is_dir()]
    assert len(models) > 50
    agreed = texts = 0
    for folder in models:
        try:
            loaded = exchange.load(folder)
        except nl.RecordingError as error:
            assert "data_type 8: expected numbers" in str(error) or "segment: " in str(error)
            texts += 1
            continue
        try:
            answers = nl.OnnxRuntimeEngine(folder / "model.onnx").infer(loaded.frames[0].inputs)
        except nl.NpuLayoutError:
            continue  # an operator of old that onnxruntime does not have
        assert list(answers) == list(loaded.frames[0].outputs)
        agreed += all(
            np.allclose(a, b, 1e-3, 1e-5) for a, b in zip(answers.values(), loaded.frames[0].outputs.values())
        )
    assert agreed > 40 and 0 < texts < 20


def test_names_of_onnx_tensors(tmp_path: Path) -> None:
    def write(name: str, tensor: str, **more: Any) -> onnx.TensorProto:
        proto = onnx.numpy_helper.from_array(np.zeros((1, 2), np.float32), tensor)
        for field, value in more.items():
            setattr(proto, field, value)
        (tmp_path / "test_data_set_0").mkdir(exist_ok=True)
        (tmp_path / "test_data_set_0" / name).write_bytes(proto.SerializeToString())
        return proto

    def graph(*outputs: str) -> None:
        ports = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [1, 2]) for n in ("x", *outputs)]
        nodes = [onnx.helper.make_node("Identity", ["x"], [name]) for name in outputs]
        model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", ports[:1], ports[1:]))
        (tmp_path / "model.onnx").write_bytes(model.SerializeToString())

    write("input_0.pb", "")
    write("output_0.pb", "")
    write("output_1.pb", "z")
    for step, says in (
        (lambda: None, r"input_0\.pb: name: the tensor has none"),
        (lambda: graph("y"), r"output_1\.pb: name: the model has no output 'z'"),
        (lambda: graph("z", "y"), r"output_1\.pb: name: 'z' is there twice"),
        (lambda: (tmp_path / "other.onnx").write_bytes(b""), "the tensor has none; give the model="),
    ):
        step()
        with pytest.raises(nl.RecordingError, match=says):
            exchange.load(tmp_path)
    with pytest.raises(nl.RecordingError, match=r"other\.onnx: expected an ONNX model"):
        exchange.load(tmp_path, model=tmp_path / "other.onnx")
    graph("y", "z")
    loaded = exchange.load(tmp_path, model=tmp_path / "model.onnx")
    assert [*loaded.frames[0].inputs, *loaded.frames[0].outputs] == ["x", "y", "z"]

    secret = tmp_path / "secret"
    secret.write_bytes(bytes(8))
    outer = write("output_0.pb", "y")
    onnx.external_data_helper.set_external_data(outer, "../secret")
    outer.ClearField("raw_data")
    (tmp_path / "test_data_set_0" / "output_0.pb").write_bytes(outer.SerializeToString())
    with pytest.raises(nl.RecordingError, match=r"output_0\.pb: external_data"):
        exchange.load(tmp_path, model=tmp_path / "model.onnx")
    for more, says in (
        ({"raw_data": bytes(7)}, "output_0.pb"),
        ({"data_type": onnx.TensorProto.STRING}, "data_type 8"),
        ({"data_type": onnx.TensorProto.BFLOAT16}, "data_type 16"),
        ({"data_type": 99}, "data_type 99"),
    ):
        write("output_0.pb", "y", **more)
        with pytest.raises(nl.RecordingError, match=says):
            exchange.load(tmp_path, model=tmp_path / "model.onnx")
    write("output_0.pb", "y")
    (tmp_path / "test_data_set_0").rename(tmp_path / "test_data_set_1")
    with pytest.raises(nl.RecordingError, match="test_data_set_0 is missing"):
        exchange.load(tmp_path)
    (tmp_path / "test_data_set_1" / "output_0.pb").rename(tmp_path / "test_data_set_1" / "output_2.pb")
    (tmp_path / "test_data_set_1").rename(tmp_path / "test_data_set_0")
    (tmp_path / "test_data_set_00").mkdir()  # which of both a reader took was a matter of the file system
    with pytest.raises(nl.RecordingError, match="test_data_set_0 and test_data_set_00 are one number"):
        exchange.load(tmp_path)
    (tmp_path / "test_data_set_00").rmdir()
    with pytest.raises(nl.RecordingError, match=r"output_0\.pb is missing"):
        exchange.load(tmp_path, model=tmp_path / "model.onnx")


def test_without_the_onnx_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    for attempt in (
        lambda: exchange.save(recording(), tmp_path / "sets", form="onnx"),
        lambda: exchange.load(tmp_path, form="onnx"),
        lambda: exchange.load(SNAPSHOT, model=SNAPSHOT / "model.onnx"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=r"pip install 'npu-layout\[onnx\]'"):
            attempt()
    assert os.listdir(tmp_path) == []
    assert exchange.load(SNAPSHOT, outputs=["arg"]).outputs == ("arg",)


@pytest.mark.parametrize(
    ("kind", "values", "fits"),
    [
        ("UINT8", [0, 255], True),
        ("UINT8", [300, 1], False),
        ("UINT8", [-1, 1], False),
        ("INT8", [-128, 127], True),
        ("INT8", [128, 0], False),
        ("UINT16", [65535, 0], True),
        ("INT16", [-32769, 0], False),
        ("INT32", [-(2**31), 2**31 - 1], True),
    ],
)
def test_integers_that_the_type_has_not_are_refused(kind: str, values: list[int], fits: bool, tmp_path: Path) -> None:
    """The onnx package cuts them to the type's bits."""
    proto = onnx.TensorProto(name="y", data_type=getattr(onnx.TensorProto, kind), dims=[2], int32_data=values)
    (tmp_path / "output_0.pb").write_bytes(proto.SerializeToString())
    if fits:
        assert exchange.load(tmp_path).frames[0].outputs["y"].tolist() == values
    else:
        with pytest.raises(nl.RecordingError, match=rf"output_0\.pb: int32_data: a value is beyond {kind.lower()}"):
            exchange.load(tmp_path)
