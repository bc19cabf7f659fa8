"""Recordings of other tools come in as what they are or as one RecordingError, and go out as those tools read them."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import npu_layout as nl
from npu_layout import exchange
from npu_layout.recordings.model_inputs import model_inputs
from npu_layout.recordings.model_outputs import model_outputs
from tests.support.damage import damage
from tests.support.exchanged import SNAPSHOT, SPECS, equal, fingerprint, recording


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
        (lambda: exchange.load(tmp_path, form="raw", runner="x"), "form 'raw' accepts no runner; it accepts specs"),
        (lambda: exchange.load(tmp_path / "never"), "never: expected a file or a folder, got nothing"),
        (lambda: exchange.load(tmp_path / "a\0b"), r"path: .*a\\x00b"),
        (lambda: exchange.load(tmp_path), "form is not recognised; give form=. raw: a folder of"),
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


@pytest.mark.parametrize("form", ["raw", "polygraphy", "onnx"])
def test_edits_that_no_recording_has_are_not_saved(form: str, tmp_path: Path) -> None:
    spec = nl.TensorSpec((1, 2, 1, 3), "NHWC", "int8")
    recording = nl.Recording({"y": spec}, [({}, {"y": np.zeros(6, np.int8)})])
    recording.meta["note"] = {1, 2}
    with pytest.raises(nl.RecordingError, match="meta: expected what JSON can represent"):
        exchange.save(recording, tmp_path / "a", form=form)
    del recording.meta["note"]
    recording.specs["y"] = nl.TensorSpec((1, 2, 1, 4), "NHWC", "int8")
    with pytest.raises(nl.RecordingError, match=r"frame 0: output 'y': buffer has 6 bytes; .* needs 8"):
        exchange.save(recording, tmp_path / "a", form=form)
    assert not list(tmp_path.iterdir())
