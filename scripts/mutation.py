#!/usr/bin/env python3
"""Which faults would the tests not notice? Mutants of the inner wings by cosmic-ray, and the direct tests of each room.

    scripts/mutation.py                                    # 25 mutants of each room, always the same ones
    scripts/mutation.py layouts buffers/spec.py            # of these wings and rooms
    scripts/mutation.py --sample 0 layouts/storage.py      # every place of a room
    scripts/mutation.py --seed 7                           # other mutants

A mutant is drawn by its place first (an operator in the source), then by what stands there instead, so that a `+` with
eleven replacements counts no more than a `not` with one. It replaces the module in the memory of a forked process that
runs `tests/WING/test_ROOM.py`; no file of the checkout changes, and what tests start as programs of their own is not
mutated. Annotations, blocks for type checkers and lru_cache are left out, and so is `is` for `==`. Mutants that nobody
can tell from the original are listed with the reason in scripts/equivalent_mutants.json and do not count. A mutant that
uses five times the processor time of the unchanged module is killed.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EQUIVALENT = ROOT / "scripts" / "equivalent_mutants.json"
WINGS = ("layouts", "buffers", "frames", "specs", "comparison")
ASKED = 0.95
COMPANIONS = {"frames/geometry.py": ["tests/frames/test_mask_resampling.py"]}  # tests of a room in more than one file
MEMORY = 8 << 30  # bytes that a mutant may map
NOT_RUN = 70  # exit status of a process that did not reach the tests


@dataclass(frozen=True)
class Mutant:
    """A module with one change."""

    room: str
    number: int  # of the line
    line: str  # before and after, without indentation
    changed: str
    source: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.room, self.line, self.changed

    def __str__(self) -> str:
        return f"{self.room}:{self.number}\n    - {self.line}\n    + {self.changed}"


class _Runs(ast.NodeTransformer):
    """What a module does: no annotations, nothing for type checkers, no caches of results."""

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            return ast.Pass()
        for name in ("annotation", "returns"):
            if hasattr(node, name) and isinstance(getattr(node, name), ast.AST):
                setattr(node, name, ast.Constant("") if isinstance(node, ast.AnnAssign) else None)
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = [d for d in node.decorator_list if "id='lru_cache'" not in ast.dump(d)]
        return self.generic_visit(node)


def runs(source: str) -> str:
    return ast.dump(_Runs().visit(ast.parse(source)))


def differing(before: str, after: str) -> tuple[int, str, str]:
    """The number and the text of the lines that differ, before and after."""
    old, new = before.split("\n"), after.split("\n")
    first = next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1

    def text(lines: list[str]) -> str:
        return " ".join(line.strip() for line in lines[first : len(lines) - last])

    return first + 1, text(old), text(new)


def places(source: str) -> list[list[tuple[str, int]]]:
    """For each place of a module, what cosmic-ray can do there: names of operators, with the occurrence."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    tree, found = get_ast(source), {}
    for name in sorted(operator_names()):
        if "Variable" in name or (name.endswith(("_Is", "_IsNot")) and "_Is_" not in name and "_IsNot_" not in name):
            continue  # the first get what to insert; the second compare whether small integers are shared
        operator, occurrence = get_operator(name)(), 0
        for node in ast_nodes(tree):
            for place in operator.mutation_positions(node):
                family = "_".join(name.split("_")[:2]) + (str(occurrence) if name == "core/NumberReplacer" else "")
                found.setdefault((place, family), []).append((name, occurrence))
                occurrence += 1
    return [found[place] for place in sorted(found)]


def mutants(room: str, sample: int, seed: int) -> Iterator[Mutant]:
    """Draw mutants of a room; all places where ``sample`` is 0."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    source = (ROOT / "npu_layout" / room).read_text(encoding="utf-8")
    draw, unchanged, seen = random.Random(f"{seed} {room}"), runs(source), set()
    found = places(source)
    draw.shuffle(found)
    for variants in found:
        name, occurrence = draw.choice(variants)
        mutated = mutate_code(source, get_operator(name)(), occurrence)
        try:
            if mutated is None or mutated in seen or runs(mutated) == unchanged:
                continue
        except SyntaxError:
            continue
        seen.add(mutated)
        yield Mutant(room, *differing(source, mutated), mutated)
        if len(seen) == sample:
            return


class _Replaced(SourceFileLoader):
    """A module whose code is not that of its file."""

    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._source, self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def __init__(self, name: str, path: Path, source: str) -> None:
        self._name, self._path, self._source = name, path, source

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        loader = _Replaced(self._name, str(self._path), self._source)
        return spec_from_file_location(self._name, self._path, loader=loader)


def tests_of(room: str) -> list[str]:
    wing, _, name = room.partition("/")
    return [f"tests/{wing}/test_{name}", *COMPANIONS.get(room, [])]


def start(room: str, source: str, seconds: int) -> int:
    """Run the tests of a room with this source in a fork; its process number."""
    pid = os.fork()
    if pid:
        return pid
    code = NOT_RUN
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        null = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(null, stream)
        import pytest

        name = "npu_layout." + room[: -len(".py")].replace("/", ".")
        sys.meta_path.insert(0, _Finder(name, ROOT / "npu_layout" / room, source))
        quiet = ["-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
        code = 1  # if what follows raises: a mutant that breaks pytest's plugin of this package
        code = int(pytest.main(["-x", *quiet, *tests_of(room)]))
    finally:
        os._exit(code)


def baseline(room: str) -> int:
    """Seconds of processor time that a mutant may use; the unchanged tests pass."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _, status = os.waitpid(start(room, (ROOT / "npu_layout" / room).read_text(encoding="utf-8"), 3600), 0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if status:
        raise SystemExit(f"{' '.join(tests_of(room))} fail with the unchanged module")
    return int(5 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)) + 3


def survivors(chosen: list[Mutant], jobs: int, seconds: int) -> list[Mutant]:
    """The mutants that no test noticed."""
    waiting, running, lived = [*reversed(chosen)], {}, []
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop()
            running[start(mutant.room, mutant.source, seconds)] = mutant, time.monotonic()
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid in running:
            mutant, _ = running.pop(pid)
            if os.WIFEXITED(status) and os.WEXITSTATUS(status) == NOT_RUN:
                raise SystemExit(f"the tests did not run with {mutant}")
            lived += [mutant] if status == 0 else []
            continue
        for other, (_, began) in running.items():  # one that waits uses no processor time
            if time.monotonic() - began > 20 * seconds:
                os.killpg(other, signal.SIGKILL)
        time.sleep(0.01)
    return sorted(lived, key=lambda mutant: mutant.number)


def equivalent() -> dict[tuple[str, str, str], str]:
    """The reason of each mutant (room, line, changed line) that nobody can tell from the original."""
    listed = json.loads(EQUIVALENT.read_text(encoding="utf-8"))
    return {
        (room, e["line"], changed): e["reason"] for room, es in listed.items() for e in es for changed in e["mutants"]
    }


def rooms(chosen: list[str]) -> list[str]:
    every = [
        f"{wing}/{path.name}"
        for wing in WINGS
        for path in sorted((ROOT / "npu_layout" / wing).glob("*.py"))
        if path.name != "__init__.py"
    ]
    unknown = [name for name in chosen if name not in every and name not in WINGS]
    if unknown:
        raise SystemExit(f"neither a wing nor a room of one: {', '.join(unknown)}; wings: {', '.join(WINGS)}")
    return [room for room in every if not chosen or room in chosen or room.split("/")[0] in chosen]


def share(killed: int, counted: int) -> str:
    return f"{killed / counted:6.0%}" if counted else "     -"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", help="wings (layouts) or rooms (layouts/storage.py); all by default")
    parser.add_argument("--sample", type=int, default=25, help="mutants of each room; 0: one for each place")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw")
    parser.add_argument("--jobs", type=int, default=2, help="tests that run side by side")
    given = parser.parse_args()
    os.chdir(ROOT)
    os.nice(10)
    for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):  # before numpy: a fork keeps no thread
        os.environ[threads] = "1"
    os.environ["HYPOTHESIS_PROFILE"] = "mutation"  # the same examples for every mutant, none made smaller
    sys.path.insert(0, str(ROOT))
    for name in ("numpy", "cv2", "hypothesis", "onnxruntime", "pytest"):  # once, for every fork
        import_module(name)
    assert not any(name.startswith("npu_layout") for name in sys.modules)
    listed = equivalent()
    totals: dict[str, list[int]] = {}
    left: list[Mutant] = []
    print(f"{'room':32} {'mutants':>8} {'equal':>6} {'killed':>7} {'lived':>6} {'share':>6}", flush=True)
    for room in rooms(given.only):
        drawn = list(mutants(room, given.sample, given.seed))
        counted = [mutant for mutant in drawn if mutant.key not in listed]
        lived = survivors(counted, given.jobs, baseline(room)) if counted else []
        left += lived
        row = [len(drawn), len(drawn) - len(counted), len(counted) - len(lived), len(lived)]
        for name in (room.split("/")[0], "all"):
            totals[name] = [a + b for a, b in zip(totals.get(name, [0] * 4), row)]
        print(f"{room:32} {row[0]:8} {row[1]:6} {row[2]:7} {row[3]:6} {share(row[2], row[2] + row[3])}", flush=True)
        for mutant in lived:
            print(f"  survived: {mutant}", flush=True)
    print()
    for name, row in totals.items():
        print(f"{name:32} {row[0]:8} {row[1]:6} {row[2]:7} {row[3]:6} {share(row[2], row[2] + row[3])}")
    below = [n for n, row in totals.items() if row[2] < ASKED * (row[2] + row[3])]
    if below:
        print(f"less than {ASKED:.0%} of the mutants are killed: {', '.join(below)}")
    return int(bool(below))


if __name__ == "__main__":
    raise SystemExit(main())
