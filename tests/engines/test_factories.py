"""Engines by the name of their factory: what a project may write, and what is refused in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu_layout import NoDeviceError, NpuLayoutError
from npu_layout.engines import engine_named

MODULE = """
import sys
from npu_layout import NoDeviceError

class Engine:
    output_specs = ()
    def infer(self, inputs):
        return {}
    @classmethod
    def made(cls):
        return cls()

class Half:
    output_specs = ()

def absent():
    raise NoDeviceError("no driver")

def none():
    return None

def fails():
    raise OSError("bus error")

def leaves():
    exit()

def leaves_well():
    raise SystemExit(0)

def leaves_with_words():
    sys.exit("no board")

def stops():
    raise KeyboardInterrupt

number = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A project's module of its own name, since modules are imported once."""
    name = f"project_of_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    return name


@pytest.mark.parametrize("factory", ["Engine", "Engine.made"])
def test_a_factory_makes_an_engine(module: str, factory: str) -> None:
    engine = engine_named(f"{module}:{factory}")
    assert type(engine).__name__ == "Engine" and engine.infer({}) == {}
    assert engine_named(f"{module}:{factory}") is not engine


@pytest.mark.parametrize(
    ("factory", "says"),
    [
        ("nothing", "AttributeError: .*nothing"),
        ("Engine.nothing", "AttributeError: .*nothing"),
        ("fails", r"OSError: bus error\Z"),
        ("number", "TypeError: .*not callable"),
        ("Half", r"Half has no infer\Z"),
        ("dict", "AttributeError"),
        ("leaves", r"called exit\(\) instead of returning an engine\Z"),
        ("leaves_well", r"called exit\(0\) instead of"),
        ("leaves_with_words", r"called exit\('no board'\) instead of"),
    ],
)
def test_what_is_no_engine_is_refused(module: str, factory: str, says: str) -> None:
    with pytest.raises(NpuLayoutError, match=f"engine '{module}:{factory}': {says}") as caught:
        engine_named(f"{module}:{factory}")
    assert not isinstance(caught.value, NoDeviceError)


def test_what_an_object_lacks_is_listed() -> None:
    with pytest.raises(NpuLayoutError, match=r"engine 'builtins:object': object has no infer and no output_specs\Z"):
        engine_named("builtins:object")


@pytest.mark.parametrize(("factory", "says"), [("absent", r"\Ano driver\Z"), ("none", "accelerator is not here")])
def test_an_accelerator_that_is_absent_is_no_fault_of_the_factory(module: str, factory: str, says: str) -> None:
    with pytest.raises(NoDeviceError, match=says):
        engine_named(f"{module}:{factory}")


@pytest.mark.parametrize("name", ["", "board", "board:", ":engine"])
def test_names_that_are_no_factory(name: str) -> None:
    with pytest.raises(NpuLayoutError, match=f"engine '{name}': expected package.module:factory"):
        engine_named(name)


def test_a_module_that_is_not_there() -> None:
    with pytest.raises(NpuLayoutError, match="engine 'no_such_module:engine': ModuleNotFoundError"):
        engine_named("no_such_module:engine")


def test_a_module_that_ends_the_program_when_it_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ends_the_program.py").write_text("import sys; sys.exit(0)")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(NpuLayoutError, match=r"engine 'ends_the_program:Engine': called exit\(0\) instead of"):
        engine_named("ends_the_program:Engine")


def test_ctrl_c_is_no_fault_of_the_factory(module: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        engine_named(f"{module}:stops")
