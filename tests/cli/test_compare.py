"""npu-layout compare: two dumps that agree in another layout, and a layer that is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import ran

COMMAND = ("compare", "onnx_layers", "board_layers", "--model", "model.onnx")


def test_compare(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = ran(capsys, *COMMAND)
    assert status == 0 and "No layer differs: 6 of 6 tensors" in out and "NHWC of float32" in out
    rows = out.splitlines()
    assert rows[0].split()[:3] == ["layer", "operator", "verdict"] and rows[1].startswith("image")
    file = Path("board_layers/c1.npy")
    np.save(file, np.load(file)[..., ::-1])  # other channels
    status, out, _ = ran(capsys, *COMMAND)
    assert status == 1 and "The first layer that differs is 'c1' (Conv)" in out
    found = json.loads(ran(capsys, *COMMAND, "--json")[1])
    assert found["first"]["name"] == "c1" and found["command"].startswith("npu-layout compare")
    assert [layer["verdict"] for layer in found["layers"]] == ["same", "same", "same", "differs", "same", "same"]


def test_the_limit_and_the_frame(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ran(capsys, *COMMAND, "--min-snr-db", "60")[0] == 1  # 8 bits
    assert ran(capsys, "compare", "good", "good", "--model", "model.onnx", "--frame", "4")[0] == 0
    assert ran(capsys, "compare", "good", "tree/wrong", "--model", "model.onnx")[0] == 0  # another layout is no fault
