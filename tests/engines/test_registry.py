"""Engines by kind, by suffix, by another package's entry point, and by a project's factory."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import npu_layout as nl
from npu_layout.engines import registry
from npu_layout.support import plugins
from tests.support import runtime_models as models


def test_by_kind_and_by_suffix(tmp_path: Path) -> None:
    path = models.onnx(tmp_path / "m.onnx")
    for name in (f"onnx:{path}", path, str(path)):
        with nl.open_engine(name, threads=1) as engine:
            assert isinstance(engine, nl.OnnxRuntimeEngine) and isinstance(engine, nl.Engine)
    known = plugins(registry.GROUP, registry.OWN)
    assert set(registry.SUFFIXES.values()) <= set(registry.OWN) <= set(known)
    assert all(callable(known[name].load()) for name in registry.OWN)


def test_the_docstring_names_every_kind_and_suffix() -> None:
    text = " ".join(str(nl.open_engine.__doc__).split())
    kinds, suffixes = re.findall(r"The kinds are (.*?) and those of|its suffix is (.*?)\. Or", text)
    assert kinds[0].split(", ") == list(registry.OWN)
    assert re.split(", | or ", suffixes[1]) == sorted(registry.SUFFIXES)


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    for name, words in (
        ("onnx:nowhere.onnx", "model nowhere.onnx: no such file"),
        ("nowhere.tflite", "nowhere.tflite: no such file"),
        (
            "nothing",
            r"no KIND:MODEL \(acl, appbuilder, axelera, axera, deepx, depthai, executorch, hailo, hobot, imx500",
        ),
        ("not_there:make", "not_there:make"),
        ("yolov8n.pt", "engine 'yolov8n.pt': expected a model that a runtime runs; export this one to ONNX first"),
        ("a.bin", r"engine 'a.bin': expected the runtime's kind before it: hobot: .*, appbuilder: \(a context"),
        ("a.engine", "no engine here runs such models; an object of yours with infer and output_specs is one"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=words):
            nl.open_engine(name)
    path = models.onnx(tmp_path / "m.onnx")
    with pytest.raises(nl.NpuLayoutError, match=r"engine 'onnx': options .*colour"):
        nl.open_engine(path, colour=1)
    with pytest.raises(nl.NpuLayoutError, match="a factory accepts no options, got threads"):
        nl.open_engine("module:factory", threads=1)


def test_a_projects_factory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a_board.py").write_text("class E:\n    output_specs = []\n    def infer(self, x): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert type(nl.open_engine("a_board:E")).__name__ == "E"
    sys.modules.pop("a_board")


def test_a_kind_that_is_unknown_is_no_missing_file(tmp_path: Path) -> None:
    for kind in ("tflite", "coral", "edge-tpu"):
        with pytest.raises(nl.NpuLayoutError, match=f"got '{kind}'; for models .tflite it is litert"):
            nl.open_engine(f"{kind}:m.tflite")
    for path in ("m.tflite", "a/b:m.tflite", str(tmp_path / "b:m.tflite")):
        with pytest.raises(nl.NpuLayoutError, match=r"no such file|not installed|pip install"):
            nl.open_engine(path)
