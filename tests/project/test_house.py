"""Who may import whom and what from outside; no module asks which layout it has."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections import namedtuple
from collections.abc import Iterator
from functools import cache
from inspect import ismodule
from pathlib import Path

import pytest

import npu_layout as nl
from npu_layout.layouts import NAMED
from tests.support.paths import ROOT

HOUSE = Path(nl.__file__).parent

OUTSIDE = {"numpy", "npu_layout"}  # at import; these at first use:
LATE = {
    "arrays.watched_call": {"cv2"},
    "frames.canvas": {"cv2"},
    "frames.fitting": {"cv2"},
    "frames.pictures": {"cv2"},
    "ops.resizing": {"cv2"},
    "engines.onnxruntime": {"onnxruntime"},
    "kernels.fallback.moving": {"cv2"},
    "kernels.fallback.converting": {"cv2"},
    "kernels.fallback.gray": {"cv2"},
    "decode.other_answers.regions": {"cv2"},
    "decode.results.crops": {"cv2"},
    "exchange.onnx_graph": {"onnx"},
    "exchange.raw": {"cv2"},
    "exchange.toolchains": {"cv2"},
    "reports.pictures": {"cv2"},
    "bench.peers.answers": {"cv2", "onnx", "onnxruntime", "supervision", "torch", "torchvision"},
    "bench.peers.calls": {"numba", "onnx", "onnxruntime"},
    "bench.peers.conversions": {"cv2", "onnx", "torch"},
    "bench.peers.frames": {"cv2"},
    "bench.peers.planes": {"cv2"},
    "bench.peers.instances": {"cv2"},
    "bench.peers.libraries": {"cv2", "torch"},
    "bench.peers.moves": {"cv2", "einops", "onnx", "torch"},
    "bench.peers.pictures": {"cv2", "onnx", "openvino", "torch"},
    "bench.peers.reductions": {"onnx", "torch"},
    "bench.peers.resizers": {"PIL", "av", "kornia_rs", "openvino", "torch"},
    "bench.benchmark": {"rich"},
    "bench.tables": {"matplotlib"},
    "bench.formats": {"matplotlib"},
    "bench.networks": {"torch"},
    "cli.completion": {"shtab"},
    "cli.console": {"rich"},
    "support.progress": {"rich"},
    "pytest_plugin": {"pytest"},
    "streams.captures": {"cv2"},
    "streams.sources": {"cv2"},
    "cli.decoding": {"cv2"},
    "decode.results.overlay": {"cv2"},
    "diagnosis.input_checks.histograms": {"cv2"},
    "diagnosis.input_checks.input_changes": {"cv2"},
    "diagnosis.input_checks.white_balance": {"cv2"},
    "diagnosis.input_checks.white_noise": {"cv2"},
    "drawing.scene": {"cv2"},
    "recordings.sources": {"cv2"},
    "arrays.tracker": {"cv2"},
}
# Rooms of a wing that others may enter without its front door.
SIDE_DOORS = {"kernels.caches", "kernels.native"}


@cache
def modules() -> dict[str, ast.Module]:
    return {
        ".".join(path.relative_to(HOUSE).with_suffix("").parts).replace(".__init__", ""): ast.parse(path.read_text())
        for path in sorted(HOUSE.rglob("*.py"))
    }


def imports(tree: ast.AST) -> Iterator[str]:
    """The package from outside of every import below `tree`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").split(".")[0]


def standard(name: str) -> bool:
    if hasattr(sys, "stdlib_module_names"):
        return name in sys.stdlib_module_names
    return name not in set().union(OUTSIDE, *LATE.values(), {"pytest", "hypothesis"})


def test_imports_go_down_only() -> None:
    """The contracts in setup.cfg hold."""
    pytest.importorskip("importlinter", reason="import-linter needs Python 3.10")
    command = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", command, str(ROOT / "setup.cfg")], cwd=HOUSE.parent, capture_output=True, text=True
    )
    assert done.returncode == 0 and "6 kept, 0 broken" in done.stdout, done.stdout + done.stderr


def test_a_wing_is_entered_by_its_front_door() -> None:
    """``from ..layouts import Layout``, never ``from ..layouts.layout import Layout``; setup.cfg has who may enter."""
    entered = 0
    for name, tree in modules().items():
        depth = name.count(".") + (1 if (HOUSE / name.replace(".", "/")).is_dir() else 0)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level > depth and node.module:
                entered += 1
                assert "." not in node.module or node.module in SIDE_DOORS, f"{name} enters {node.module} by a window"
    assert entered > 200


def test_every_wing_says_what_it_hands_out() -> None:
    for name in {name.split(".")[0] for name in modules() if "." in name}:
        door = importlib.import_module(f"npu_layout.{name}")
        assert door.__doc__ and "\n\nImports " in door.__doc__, f"{name}: what may it import?"
        assert all(hasattr(door, handed) for handed in door.__all__), name
        # A room named as what its wing hands out would take the name's place when it is imported.
        rooms = {path.stem for path in (HOUSE / name).iterdir()}
        hidden = {handed for handed in door.__all__ if handed in rooms and not ismodule(getattr(door, handed))}
        assert not hidden, f"{name}: {hidden} are rooms and names"


def private_names(tree: ast.AST) -> set[str]:
    """The names with an underscore that a room gives to attributes: of self, or in the body of a class."""
    found = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and is_own(n)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            targets = [t for n in node.body for t in getattr(n, "targets", [getattr(n, "target", n)])]
            found |= {getattr(t, "name", None) or getattr(t, "id", "") for t in targets}
    return {name for name in found if name.startswith("_") and not name.startswith("__")}


def is_own(node: ast.Attribute) -> bool:
    """Whether it is an attribute of self, of cls or of super()."""
    of = node.value.func if isinstance(node.value, ast.Call) else node.value
    return isinstance(of, ast.Name) and of.id in ("self", "cls", "super")


def test_no_room_uses_private_attributes_of_another_rooms_objects() -> None:
    """``decoder._use(backend)`` beside its class is its own; elsewhere a function of that room does it.

    Attributes of other packages' objects, such as argparse's, are no names of ours.
    """
    ours = {name: private_names(tree) for name, tree in modules().items()}
    every = set().union(*ours.values()) - set(dir(namedtuple("_", "")))
    assert len(every) > 300
    assert "_fitted" in ours["decode.decoders.decoder"] and "_work" not in ours["decode.heads.head"]
    used = [
        f"{name}:{node.lineno} {ast.unparse(node)}"
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in every - ours[name] and not is_own(node)
    ]
    assert not used


#: Public in two wings, so that they stay: the form of a head's exports, and that of recordings in other tools' files.
TWICE = {"Form": ("decode", "exchange")}


def test_one_name_is_one_class() -> None:
    """A reader who searches for a class finds one, with an underscore or without."""
    where: dict[str, list[str]] = {}
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                where.setdefault(node.name.lstrip("_"), []).append(name)
    twice = {name: rooms for name, rooms in where.items() if len(rooms) > 1}
    assert len(where) > 300 and twice.keys() == TWICE.keys(), twice
    for name, wings in TWICE.items():
        assert sorted(room.split(".")[0] for room in twice[name]) == [*wings], twice[name]
        assert all(name in importlib.import_module(f"npu_layout.{wing}").__all__ for wing in wings), "one is not public"


def test_what_comes_from_outside() -> None:
    for name, tree in modules().items():
        top = {other for node in tree.body for other in imports(node) if not is_function(node)}
        every = set(imports(tree))
        assert {n for n in top if not standard(n)} <= OUTSIDE, name
        late = LATE.get(name, set())
        assert {n for n in every if not standard(n)} <= OUTSIDE | late, name
        assert late <= every, f"{name} no longer imports {late - every}"
    assert LATE.keys() <= modules().keys()


def test_locks_that_an_interrupt_may_leave_taken_are_of_one_room() -> None:
    """safe_locks.py makes all; streams/borrowing.py returns a lock by itself that worker threads alone take."""
    made = {
        str(path)
        for path, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in ("Lock", "RLock", "Condition", "Semaphore")
    }
    assert made == {"support.safe_locks", "streams.borrowing"}, made


def is_function(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.ClassDef))


def compared_with_text(tree: ast.AST) -> Iterator[str]:
    """Source of every comparison that has a layout's name or tag on one side."""
    known = {entry.upper() for entry in NAMED} | {"NCHW", "NHWC", "CHWN", "NHCW", "HWC", "CHW"}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare):
            continue
        texts = {
            constant.value.upper()
            for constant in ast.walk(node)
            if isinstance(constant, ast.Constant) and isinstance(constant.value, str)
        }
        if texts & known:
            yield ast.unparse(node)


def test_no_module_asks_which_layout_it_has() -> None:
    # These read a field of the vendor's, whose values happen to be spelt so.
    allowed = {"specs.mnn", "specs.rknn", "specs.rknn_native"}
    asking = {name: found for name, tree in modules().items() if (found := list(compared_with_text(tree)))}
    assert asking.keys() == allowed, asking
    assert list(compared_with_text(ast.parse("if layout == 'NHWC': pass")))
