"""LiteRtEngine where a board's image has another package with the interpreter, and delegates that are named."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import npu_layout as nl


class Interpreter:
    """An interpreter of a model that doubles, whose tensors are memory that each run overwrites."""

    given: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, **options: Any) -> None:
        Interpreter.given = options
        self.tensors = {0: np.zeros((1, 2, 2, 3), np.int8), 1: np.zeros((1, 2, 2, 3), np.int8)}

    def allocate_tensors(self) -> None:
        pass

    def _details(self, index: int, name: str) -> list[dict[str, Any]]:
        return [dict(index=index, name=name, shape=np.array([1, 2, 2, 3]), dtype=np.int8, quantization=(0.5, -3))]

    def get_input_details(self) -> list[dict[str, Any]]:
        return self._details(0, "x")

    def get_output_details(self) -> list[dict[str, Any]]:
        return self._details(1, "y")

    def set_tensor(self, index: int, array: np.ndarray) -> None:
        self.tensors[index][:] = array

    def get_tensor(self, index: int) -> np.ndarray:
        return self.tensors[index]

    def invoke(self) -> None:
        self.tensors[1][:] = 2 * self.tensors[0]


def load_delegate(library: str, options: Any = None) -> Any:
    if library == "nothing.so":
        raise ValueError("Failed to load delegate from nothing.so")
    return "loaded", library, options


PACKAGES = ("ai_edge_litert.interpreter", "tflite_runtime.interpreter", "tensorflow.lite.python.interpreter")


@pytest.fixture(params=PACKAGES)
def package(request: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """One package alone is installed."""
    for name in PACKAGES:
        monkeypatch.setitem(sys.modules, name, None)  # type: ignore[arg-type]
    parents = request.param.split(".")
    for i in range(1, len(parents)):
        monkeypatch.setitem(sys.modules, ".".join(parents[:i]), ModuleType(parents[i - 1]))
    library = ModuleType(request.param)
    library.Interpreter, library.load_delegate = Interpreter, load_delegate  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, request.param, library)
    return str(request.param)


def test_the_interpreter_that_is_there_is_used(package: str) -> None:
    with nl.LiteRtEngine(b"model", threads=2) as engine:
        assert Interpreter.given == {"model_content": b"model", "num_threads": 2, "experimental_delegates": None}
        first = engine.infer(np.arange(12, dtype=np.int8))["y"]
        engine.infer(np.zeros(12, np.int8))
        assert first.tolist() == [2 * i for i in range(12)], "a copy, whatever memory the interpreter returns"
        assert engine.output_specs[0].quantization == nl.Quantization(0.5, -3)


def test_delegates_are_loaded_by_the_same_package(package: str) -> None:
    ready = object()
    nl.LiteRtEngine(b"model", delegates=["libedgetpu.so.1", (Path("/usr/lib/libvx_delegate.so"), {"a": "b"}), ready])
    assert Interpreter.given["experimental_delegates"] == [
        ("loaded", "libedgetpu.so.1", None),
        ("loaded", "/usr/lib/libvx_delegate.so", {"a": "b"}),
        ready,
    ]
    for delegates, says in (
        (["nothing.so"], r"delegates: nothing\.so: cannot be loaded: Failed to load delegate"),
        ([("a.so", 3)], r"delegates: a\.so: expected {name: value} as options, got 3"),
        ("a.so", r"delegates: expected a list of libraries or delegates, got 'a\.so'; give \['a\.so'\]"),
        (3, "delegates: expected a list of libraries or delegates, got 3"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            nl.LiteRtEngine(b"model", delegates=delegates)  # type: ignore[arg-type]


def test_names_of_tensors(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One array of two inputs that have one name went into both of them."""
    interpreter = sys.modules[package].Interpreter  # type: ignore[attr-defined]
    (x,), (y,) = interpreter().get_input_details(), interpreter().get_output_details()
    monkeypatch.setattr(interpreter, "get_output_details", lambda _: [{**y, "name": ""}, {**y, "name": ""}])
    assert [spec.name for spec in nl.LiteRtEngine(b"model").output_specs] == ["output0", "output1"]
    monkeypatch.setattr(interpreter, "get_input_details", lambda _: [x, x])
    with pytest.raises(nl.NpuLayoutError, match="expected inputs with names of their own, got"):
        nl.LiteRtEngine(b"model")


@pytest.mark.parametrize("error", [ValueError, RuntimeError, OSError, MemoryError])
def test_what_it_cannot_load(package: str, monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    def fail(**given: Any) -> None:
        raise error("no room")

    monkeypatch.setattr(sys.modules[package], "Interpreter", fail)
    with pytest.raises(nl.NpuLayoutError, match=r"^model: cannot be loaded: no room$"):
        nl.LiteRtEngine(b"model")


def test_one_is_there_and_cannot_be_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As tflite_runtime, built for numpy 1, with numpy 2: the error said that another package is missing."""
    for name in PACKAGES:
        monkeypatch.setitem(sys.modules, name, None)  # type: ignore[arg-type]
    for name in ("tflite_runtime", PACKAGES[1]):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "tflite_runtime").mkdir()
    (tmp_path / "tflite_runtime" / "interpreter.py").write_text("raise ImportError('multiarray failed to import')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(nl.NpuLayoutError, match=r"tflite_runtime\.interpreter cannot be imported \(multiarray failed"):
        nl.LiteRtEngine(b"model")


def test_none_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PACKAGES:
        monkeypatch.setitem(sys.modules, name, None)  # type: ignore[arg-type]
    with pytest.raises(nl.NpuLayoutError, match=r"ai_edge_litert\.interpreter cannot be imported .*ai-edge-litert"):
        nl.LiteRtEngine(b"model")
