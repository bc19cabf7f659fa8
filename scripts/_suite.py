"""Pytest's arguments and environment for each half of the suite, for the sessions of noxfile.py."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CSRC = ROOT / "npu_layout" / "kernels" / "csrc"
SLOW = bool(os.environ.get("NPU_LAYOUT_SLOW"))


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parts(kernels: str, chosen: list[str]) -> list[list[str]]:
    """Pytest's arguments for each part of one half. On several cores what measures time, signals or threads runs after
    the rest, with nothing beside it. The half with numpy leaves out what does not depend on kernels (ONCE in
    tests/conftest.py, and tests marked so), unless certain tests are asked for."""
    every = ["-m", "slow or not slow"] if SLOW else []
    if kernels == "numpy" and not chosen:
        every.append("--second-half")
    if chosen or cores() == 1:
        return [[*every, *chosen]]
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    marked = [str(path.relative_to(ROOT)) for path in tests if "mark.alone" in path.read_text(encoding="utf-8")]
    return [
        [*every, "-n", str(cores()), "--dist", "worksteal", "--alone", "never"],
        [*every, "--alone", "only", *marked],  # all files take longer to collect than these tests to run
    ]


def environment(kernels: str) -> dict[str, str]:
    """What one half sets. BLAS's threads beside other processes wait for each other: half of the time of some tests.
    Bytecode is written even where the shell says otherwise: each worker, and each script that a test starts, would
    compile again what it imports."""
    threads = {"OPENBLAS_NUM_THREADS": "1"} if cores() > 1 else {}
    return {"NPU_LAYOUT_KERNELS": kernels, "PYTHONDONTWRITEBYTECODE": "", **threads}
