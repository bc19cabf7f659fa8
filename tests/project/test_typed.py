"""A user's program under mypy --strict, and the stubs of the compiled core against the core itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import npu_layout as nl
from tests.public_face import items
from tests.support.paths import TESTS

SCRIPT = TESTS / "support" / "typed_script.py"
HOME = Path(nl.__file__).parent.parent
NATIVE = any(name.startswith("native") for name in nl.kernels.backends())


def run(*command: object, at: Path) -> str:
    """What it prints, as where the package is installed: mypy finds an editable one by its path only."""
    path = {} if HOME.name == "site-packages" else {"MYPYPATH": str(HOME)}
    ran = subprocess.run(
        [sys.executable, *map(str, command)], cwd=at, env={**os.environ, **path}, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_the_script_uses_every_public_name() -> None:
    text = SCRIPT.read_text()
    names = {item.name.rpartition(".")[2] for item in items()} - {"__call__"}
    assert not sorted(name for name in names if not re.search(rf"\b{name}\b", text))


def test_a_users_script_is_typed(tmp_path: Path) -> None:
    assert (Path(nl.__file__).parent / "py.typed").exists()
    options = ["--strict", "--config-file=", "--follow-imports=silent", f"--cache-dir={os.devnull}"]
    if tuple(map(int, np.__version__.split(".")[:2])) < (2, 3):
        options.append("--allow-any-generics")  # there, np.ndarray has no default parameters
    assert "Success" in run("-m", "mypy", *options, SCRIPT, at=tmp_path)


def test_a_users_script_runs(tmp_path: Path) -> None:
    ports = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (1, 3, 8, 8)) for name in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", ports[:1], ports[1:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, str(tmp_path / "relu.onnx"))
    assert run(SCRIPT, "relu.onnx", tmp_path, at=tmp_path).endswith("typed and run\n")


@pytest.mark.skipif(not NATIVE, reason="the compiled kernels were not built, or are turned off")
def test_the_stubs_of_the_core(tmp_path: Path) -> None:
    """Every name and argument, both ways. The rest of the package is checked by mypy itself, with the newest numpy."""
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nignore_errors = True\n")
    at = HOME if HOME.name != "site-packages" else tmp_path
    assert "Success" in run("-m", "mypy.stubtest", "npu_layout.kernels._native", "--mypy-config-file", config, at=at)
