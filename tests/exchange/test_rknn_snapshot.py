"""A snapshot that RKNN-Toolkit2 wrote is read whole, and a changed one is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import exchange
from tests.support.exchanged import SNAPSHOT, fingerprint
from tests.support.paths import SAMPLES

POSE = SAMPLES / "models" / "pose.onnx"


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
