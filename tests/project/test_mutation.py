"""The list of equivalent mutants belongs to the lines that there are, and what the run leaves out has no effect."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def mutation() -> ModuleType:
    pytest.importorskip("resource", reason="no limits of processor time on this system")
    spec = importlib.util.spec_from_file_location("mutation_script", ROOT / "scripts" / "mutation.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look it up
    spec.loader.exec_module(module)
    return module


def test_equivalent_mutants_are_of_lines_that_there_are() -> None:
    import npu_layout

    package = Path(npu_layout.__file__).parent
    for room, entries in json.loads((ROOT / "scripts" / "equivalent_mutants.json").read_text("utf-8")).items():
        source = " ".join(line.strip() for line in (package / room).read_text("utf-8").splitlines())
        for entry in entries:
            assert entry["line"] in source, (room, entry["line"])
            assert entry["mutants"] and entry["line"] not in entry["mutants"]
            assert len(entry["reason"].split()) > 2, entry


def test_annotations_caches_and_what_type_checkers_read_are_no_mutants(mutation: ModuleType) -> None:
    source = "@lru_cache(maxsize=4)\ndef f(x: int | None) -> int:\n    y: int = 1 + x\n    return y\n"
    for old, new in (("=4", "=5"), ("int | None", "int & None"), ("-> int", "-> str"), ("y: int", "y: str")):
        assert mutation.runs(source.replace(old, new)) == mutation.runs(source), old
    assert mutation.runs(source.replace("1 + x", "1 - x")) != mutation.runs(source)


def test_the_lines_that_differ(mutation: ModuleType) -> None:
    before = "a\nb = 1\n  c\nd\n"
    assert mutation.differing(before, before.replace("  c", "  e")) == (3, "c", "e")
    assert mutation.differing(before, "a\nd\n") == (2, "b = 1 c", "")
    assert mutation.differing("a\na\n", "a\na\na\n")[1:] == ("", "a")


def test_rooms_of_wings(mutation: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    import npu_layout

    monkeypatch.setattr(mutation, "ROOT", Path(npu_layout.__file__).parents[1])  # it may be installed elsewhere
    assert mutation.rooms(["specs/rknn.py"]) == ["specs/rknn.py"]
    assert set(mutation.rooms(["specs"])) < set(mutation.rooms([])) and "specs/__init__.py" not in mutation.rooms([])
    with pytest.raises(SystemExit, match="neither a wing nor a room of one: nope"):
        mutation.rooms(["nope"])
    for room in mutation.rooms([]):
        assert all((ROOT / path).is_file() for path in mutation.tests_of(room)), room
