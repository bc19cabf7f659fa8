"""Recordings of other tools' making come in as what they are or as one RecordingError, and go out as those tools take
them; the onnx package itself writes and reads what is checked here."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import npu_layout as nl
from npu_layout import exchange
from npu_layout.recordings.model_side import model_inputs, model_outputs
from tests.support.damage import damage
from tests.support.exchanged import PREPROCESS, SNAPSHOT, SPECS, equal, fingerprint, recording, unpacked
from tests.support.paths import SAMPLES

POSE = SAMPLES / "models" / "pose.onnx"


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


def test_a_snapshot_of_rknn_toolkit2(tmp_path: Path) -> None:
    before = fingerprint(SNAPSHOT)
    model = SNAPSHOT / "model.onnx"
    golden = exchange.load(SNAPSHOT, model=model, side="golden")
    (frame,) = golden
    assert list(frame.inputs) == ["im age", "k"] and golden.outputs == ("heat/out:0", "arg")
    for name, answer in nl.OnnxRuntimeEngine(model).infer(frame.inputs).items():  # golden is the float model
        np.testing.assert_allclose(frame.outputs[name], answer, rtol=1e-5, atol=1e-6)
    simulated = exchange.load(SNAPSHOT, model=model)
    assert simulated.meta == {"source": {"form": "rknn", "side": "simulator"}}
    error = np.abs(simulated.frames[0].outputs["heat/out:0"] - frame.outputs["heat/out:0"]).max()
    assert 1e-4 < error < 0.05  # int8
    assert simulated.specs["arg"] == nl.TensorSpec((1, 1, 5, 6), dtype="int64", name="arg")
    assert fingerprint(SNAPSHOT) == before

    board = tmp_path / "board"
    shutil.copytree(SNAPSHOT, board)
    shutil.copytree(board / "simulator", board / "runtime")
    assert exchange.load(board, model=model).meta["source"]["side"] == "runtime"
    np.save(board / "runtime" / "npy" / "arg.npy", np.zeros((1, 30), np.int64))
    for path, more, says in (
        (board, {"model": model}, r"runtime: layer 'arg' is int64 of \(1, 30\); golden's"),
        (SNAPSHOT, {"model": model, "side": "runtime"}, r"runtime/npy/heat_out_0\.npy: expected a file"),
        (SNAPSHOT, {"model": model, "side": "board"}, "side: expected one of runtime"),
        (SNAPSHOT, {}, "which layers are outputs"),
        (SNAPSHOT, {"outputs": "arg"}, "which layers are outputs"),
        (SNAPSHOT, {"outputs": ["nothing"]}, "no layer 'nothing'; there are im age"),
        (SNAPSHOT, {"outputs": ["a_b"]}, "a_b is the file of 'a/b', 'a_b'"),
        (SNAPSHOT, {"model": POSE}, "error_analysis.txt: inputs im age, k; the model has"),
    ):
        with pytest.raises(nl.RecordingError, match=says):
            exchange.load(path, **more)
    table = (board / "map_name_to_file.txt").read_text()
    for changed in (
        table.replace("arg.txt", "../a.txt"),
        table.replace("arg.txt", "/etc/passwd.txt"),
        table.replace("arg.txt", "arg.npy"),
        table.replace("layer_name", "layername_"),
        table.replace("-", "="),
        table + table.splitlines()[-1] + "\n",
        "",
    ):
        (board / "map_name_to_file.txt").write_text(changed)
        with pytest.raises(nl.RecordingError, match=r"map_name_to_file\.txt"):
            exchange.load(board, outputs=["heat/out:0"])


def test_what_is_asked_wrongly(tmp_path: Path) -> None:
    assert {name: form.exporter is not None for name, form in exchange.FORMS.items()} == {
        "raw": True,
        "polygraphy": True,
        "onnx": True,
        "rknn": False,
    }
    assert all(form.help for form in exchange.FORMS.values())
    for attempt, says in (
        (lambda: exchange.load(tmp_path, form="tflite"), "form 'tflite': expected one of raw, polygraphy, onnx, rknn"),
        (lambda: exchange.load(tmp_path, form="raw", runner="x"), "form 'raw' takes no runner; it takes specs, desc"),
        (lambda: exchange.load(tmp_path / "never"), "never: expected a file or a folder, got nothing"),
        (lambda: exchange.load(tmp_path / "a\0b"), "a\0b"),
        (lambda: exchange.load(tmp_path), "form cannot be told; give form=. raw: a folder of"),
        (
            lambda: exchange.save(recording(), tmp_path / "x", form="rknn"),
            "cannot be written; expected one of raw, poly",
        ),
        (lambda: exchange.save(recording(), tmp_path / "x", form="x"), "form 'x'"),
        (lambda: exchange.save(nl.Recording(SPECS, []), tmp_path / "x", form="raw"), "no frames"),
        (lambda: exchange.load(tmp_path, form="raw", specs={"y": "NHWC"}), "specs: expected"),  # type: ignore[dict-item]
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            attempt()
    assert os.listdir(tmp_path) == []
    exchange.save(recording(), tmp_path / "both", form="onnx")
    (tmp_path / "both" / "spec.json").write_text("{}")
    with pytest.raises(nl.RecordingError, match="could be raw or onnx"):
        exchange.load(tmp_path / "both")


@pytest.mark.parametrize("form", ["raw", "polygraphy", "onnx"])
def test_an_export_is_whole_or_not_there(tmp_path: Path, form: str) -> None:
    class Broken(list):  # type: ignore[type-arg]
        def __iter__(self) -> Any:
            return (frame if i < 2 else 1 / 0 for i, frame in enumerate(super().__iter__()))

    broken = recording()
    broken.frames = Broken(broken.frames)
    assert len(broken) > 2
    with pytest.raises(ZeroDivisionError):
        exchange.save(broken, tmp_path / "new", form=form)
    assert os.listdir(tmp_path) == []
    (tmp_path / "there").write_text("mine")
    with pytest.raises(nl.RecordingError, match="exists"):
        exchange.save(recording(), tmp_path / "there", form=form)
    assert fingerprint(tmp_path) == {"there": hashlib.sha256(b"mine").hexdigest()}


def test_inputs_as_the_model_takes_them() -> None:
    spec = nl.TensorSpec((1, 2, 1, 1), "NHWC", "int8", quantization=nl.Quantization(0.5))
    buffer = np.array([2, -4], np.int8)
    for words, says in (
        ({"mean": [1, 2, 3]}, "mean: expected 1 or 2"),
        ({"std": "x"}, "std"),
        ({"mean": [[1]]}, "mean"),
        ("RGB", "expected a mapping"),
    ):
        plain = nl.Recording({"x": nl.TensorSpec((1, 2), "NC", "int8")}, [({"x": buffer}, {})], {"preprocess": words})
        with pytest.raises(nl.RecordingError, match=f"meta: preprocess: {says}"):
            model_inputs(plain, plain.frames[0])
    quantised = nl.Recording({"x": spec}, [({"x": buffer}, {})], {"preprocess": PREPROCESS})  # normalised before
    assert model_inputs(quantised, quantised.frames[0])["x"].ravel().tolist() == [1, -2]
    unsaid = nl.Recording({"x": nl.TensorSpec((1, 2), "NC", "int8")}, [({"x": buffer}, {})])
    assert model_inputs(unsaid, unsaid.frames[0])["x"].dtype == np.int8 and not model_outputs(unsaid, unsaid.frames[0])


def matmul(axes: str, dtype: int, name: str) -> bytes:
    """3 channels to 4, of 4 x 5 places, quantised as 1/128 with zero point 128 where dtype is UINT8. The lengths of its
    output are left open."""
    shape = [{"N": 1, "C": 3, "H": 4, "W": 5}[letter] for letter in axes]
    w = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    held = {"w": w[..., None, None] if axes == "NCHW" else w.T, "s": np.float32(1 / 128), "z": np.uint8(128)}
    whole = [] if dtype == TensorProto.FLOAT else [helper.make_node("DequantizeLinear", [name, "s", "z"], ["real"])]
    operator = helper.make_node("Conv" if axes == "NCHW" else "MatMul", ["real" if whole else name, "w"], ["y/z:0"])
    taken = helper.make_tensor_value_info(name, dtype, shape)
    given = helper.make_tensor_value_info("y/z:0", TensorProto.FLOAT, [*axes])
    constants = [numpy_helper.from_array(np.asarray(v), k) for k, v in held.items()]
    graph = helper.make_graph([*whole, operator], "small", [taken], [given], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()


@pytest.mark.parametrize("form", ["polygraphy", "onnx"])
@pytest.mark.parametrize("takes", ["float", "uint8"])
@pytest.mark.parametrize(("model_axes", "spec_axes"), [("NCHW", "NCHW"), ("NCHW", "NHWC"), ("NHWC", "NHWC")])
def test_for_a_model_exports_are_what_validate_compares(
    tmp_path: Path, form: str, takes: str, model_axes: str, spec_axes: str
) -> None:
    """The board has other names, axes and stored integers than the model, and was recorded with the camera's frame."""
    model = matmul(model_axes, TensorProto.FLOAT if takes == "float" else TensorProto.UINT8, "a/b:0")
    (tmp_path / "model.onnx").write_bytes(model)
    extents = {"N": 1, "C": 3, "H": 4, "W": 5}
    one, shape = nl.Quantization(1 / 128, 128), [extents[k] for k in spec_axes]
    image = nl.TensorSpec(shape, "NHWC8h", "uint8", axes=spec_axes, quantization=one)
    each = nl.Quantization([0.02, 0.03, 0.04, 0.05], [1, 2, 3, 4], axis=spec_axes.index("C"))
    shape = [{**extents, "C": 4}[k] for k in spec_axes]
    heat = nl.TensorSpec(shape, "NCHW16c", "int8", axes=spec_axes, quantization=each)
    engine, rng, frames, wanted = nl.OnnxRuntimeEngine(model), np.random.default_rng(1), [], []
    for _ in range(3):
        codes = rng.integers(0, 256, (1, 3, 4, 5)).astype(np.uint8)
        given = codes if takes == "uint8" else (codes.astype(np.float32) - 128) / np.float32(128)
        given = np.ascontiguousarray(given.transpose(["NCHW".index(k) for k in model_axes]))
        answer = engine.infer(given)["y/z:0"].transpose([model_axes.index(k) for k in "NCHW"])
        board = codes.transpose(["NCHW".index(k) for k in spec_axes])
        inputs = {"x": image.pack(np.ascontiguousarray(board)), "frame": np.zeros((7, 7, 3), np.uint8)}
        flat = heat.pack(np.ascontiguousarray(answer.transpose(["NCHW".index(k) for k in spec_axes])))
        frames.append((inputs, {"heat": flat}))
        real = heat.unpack(flat).transpose([spec_axes.index(k) for k in model_axes])
        wanted.append(({"a/b:0": given}, {"y/z:0": np.ascontiguousarray(real)}))
    recorded = nl.Recording({"x": image, "heat": heat}, frames)
    exchange.save(recorded, tmp_path / "out", form=form, model=tmp_path / "model.onnx")
    again = exchange.load(tmp_path / "out", **({"model": tmp_path / "model.onnx"} if form == "onnx" else {}))
    for frame, (inputs, outputs) in zip(again, wanted):
        equal(frame.inputs, inputs)
        equal(frame.outputs, outputs)
    figures = [nl.validate(r, model).outputs[name].figures for r, name in ((recorded, "heat"), (again, "y/z:0"))]
    assert figures[0] is not None and figures[1] is not None and figures[0].snr_db == figures[1].snr_db > 30


def test_an_output_that_is_not_the_models_is_not_exported_as_that(tmp_path: Path) -> None:
    model = matmul("NHWC", TensorProto.FLOAT, "x")
    frames = [({"x": np.zeros((1, 4, 5, 3), np.float32)}, {"heat": np.zeros(80, np.float32)})]
    flat = nl.Recording({"heat": nl.TensorSpec((1, 80), "NC")}, frames)
    with pytest.raises(nl.RecordingError, match=r"'heat': .* the shape \(1, 80\) .* 'y/z:0' of shape \(1, 4, 5, 4\)"):
        exchange.save(flat, tmp_path / "flat", form="onnx", model=model)
    assert os.listdir(tmp_path) == []


def test_exports_without_a_model_leave_the_camera_out_alone(tmp_path: Path) -> None:
    spec = nl.TensorSpec((1, 2), "NC", "int8", quantization=nl.Quantization(0.5), name="y")
    camera = np.zeros((7, 7, 3), np.uint8)
    for inputs in ({"frame": camera, "x": np.ones(3)}, {"frame": np.ones(3)}):
        folder = tmp_path / str(len(inputs))
        exchange.save(nl.Recording({"y": spec}, [(inputs, {"y": np.int8([1, 2])})]), folder, form="polygraphy")
        ((name, array),) = exchange.load(folder).frames[0].inputs.items()
        assert name == [*inputs][-1] and array.tolist() == [1, 1, 1]


def sources(tmp_path: Path) -> dict[str, tuple[Path, dict[str, Any]]]:
    """One folder of every form, and what else its loading takes."""
    for form in ("raw", "polygraphy", "onnx"):
        exchange.save(recording(2), tmp_path / form, form=form)
    shutil.copytree(SNAPSHOT, tmp_path / "rknn")
    (tmp_path / "rknn" / "model.onnx").unlink()
    return {
        "raw": (tmp_path / "raw", {}),
        "polygraphy": (tmp_path / "polygraphy", {}),
        "onnx": (tmp_path / "onnx", {}),
        "rknn": (tmp_path / "rknn", {"outputs": ["heat/out:0", "arg"]}),
    }


def damages(tmp_path: Path, form: str, seed: int, count: int) -> tuple[int, int]:
    """(how many loaded, how many were refused)"""
    folder, more = sources(tmp_path)[form]
    outside = tmp_path / "outside"
    outside.write_bytes(bytes(64))
    rng, loaded = random.Random(seed), 0
    for _ in range(count):
        victim = tmp_path / "victim"
        shutil.copytree(folder, victim)
        done = damage(rng, victim, outside)
        before = fingerprint(victim)
        try:
            found = exchange.load(victim, form=rng.choice([form, None]), **more)
            for frame in found:
                model_inputs(found, frame)
                model_outputs(found, frame)
            loaded += 1
        except nl.RecordingError as error:
            assert str(victim) in str(error) or "meta: preprocess" in str(error), (done, error)
        assert fingerprint(victim) == before, done
        shutil.rmtree(victim)
    return loaded, count - loaded


FORMS = ["raw", "polygraphy", "onnx", "rknn"]


@pytest.mark.parametrize("form", FORMS)
def test_damaged_files_load_or_are_refused(tmp_path: Path, form: str) -> None:
    loaded, refused = damages(tmp_path, form, 1, 150)
    assert loaded and refused > 40


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_ten_thousand_damaged_files(tmp_path: Path, form: str) -> None:
    loaded, refused = damages(tmp_path, form, 2, 2500)
    assert loaded and refused > 700
