#!/usr/bin/env python3
"""Instructions per element of each kernel's inner loop, on x86-64 with SSE2 and on aarch64 with NEON.

scripts/instructions.py [--write]: prints the table, or writes it to docs/instructions.md; exit status 1 where a loop on
NEON takes more than `LIMIT` times the vector instructions of its SSE2 counterpart and `REASONS` does not say why.

Both programs run under qemu-user with a plugin that counts (tests/native/count.c), at two sizes; the difference is what
the elements in between took. Needs gcc, gcc-aarch64-linux-gnu and qemu-user.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CSRC, NATIVE, TABLE = (
    ROOT / "npu_layout" / "kernels" / "csrc",
    ROOT / "tests" / "native",
    ROOT / "docs" / "instructions.md",
)
SIZES = (393216, 786432)  # large enough for loops to prefetch
LIMIT = 1.5
MACHINES = {"x86_64": "gcc", "aarch64": "aarch64-linux-gnu-gcc"}
TOOLS = {"gcc": "gcc", "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu", "qemu-x86_64": "qemu-user"}
FLAGS = ["-std=c11", "-O3", "-Wno-psabi", "-ffp-contract=off", "-pthread", "-static"]

REASONS: dict[str, str] = {}


class Count(NamedTuple):
    """Per element: all instructions, and those with a vector register among their operands."""

    all: float
    vector: float


def missing() -> str:
    """What cannot be run here, as a sentence; empty where everything can."""
    packages = sorted({package for tool, package in TOOLS.items() if not shutil.which(tool)})
    return f"instructions are not counted: apt install {' '.join(packages)}" if packages else ""


def build(folder: Path) -> None:
    plugin = ["-shared", "-fPIC", "-O2", str(NATIVE / "count.c"), "-o", str(folder / "count.so")]
    subprocess.run(["gcc", *plugin], check=True)
    sources = [NATIVE / "instructions.c", *CSRC.glob("*.c"), *CSRC.glob("simd/*.c")]
    for machine, compiler in MACHINES.items():
        command = [compiler, *FLAGS, f"-I{CSRC}", *map(str, sources), "-lm", "-o", str(folder / machine)]
        subprocess.run(command, check=True)


def counts(folder: Path, machine: str, case: str) -> Count:
    def run(size: int) -> tuple[int, ...]:
        command = [f"qemu-{machine}", "-plugin", str(folder / "count.so"), "-d", "plugin", str(folder / machine)]
        ran = subprocess.run([*command, case, str(size)], check=True, capture_output=True, text=True)
        return tuple(map(int, ran.stderr.split()))

    few, many = map(run, SIZES)
    return Count(*((b - a) / (SIZES[1] - SIZES[0]) for a, b in zip(few, many)))


def measured() -> dict[str, dict[str, Count]]:
    """Of each case, for each machine."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder)
        listed = subprocess.run([str(folder / "x86_64")], check=True, capture_output=True, text=True).stdout
        return {case: {m: counts(folder, m, case) for m in MACHINES} for case in listed.splitlines()}


def ratio(found: dict[str, Count]) -> float:
    """NEON's vector instructions against SSE2's; where a loop has (almost) none, all instructions against all."""
    sse, neon = found["x86_64"], found["aarch64"]
    few = min(sse.vector, neon.vector) < 0.01
    return neon.all / sse.all if few else neon.vector / sse.vector


def table(found: dict[str, dict[str, Count]]) -> str:
    compilers = [
        subprocess.run([compiler, "-dumpfullversion"], check=True, capture_output=True, text=True).stdout.strip()
        for compiler in MACHINES.values()
    ]
    lines = [
        "# Instructions per element",
        "",
        "The table counts the inner loops of the baseline, whose vectors have 16 bytes:",
        f"SSE2 (gcc {compilers[0]}) and NEON (gcc {compilers[1]}). `scripts/instructions.py --write` wrote it. The",
        f"rule is that no loop on NEON takes more than {LIMIT} times the vector instructions of its SSE2",
        "counterpart without a reason, which is given below the table. A load that SSE2 has within an",
        "operation is an instruction of its own on NEON.",
        "",
        "| Loop | SSE2: all | vector | NEON: all | vector | NEON / SSE2 |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for case, of in found.items():
        sse, neon = of["x86_64"], of["aarch64"]
        lines.append(
            f"| {case} | {sse.all:.2f} | {sse.vector:.2f} | {neon.all:.2f} | {neon.vector:.2f} | {ratio(of):.2f} |"
        )
    lines += ["", *(f"- {case}: {reason}" for case, reason in REASONS.items())]
    return "\n".join(lines).rstrip() + "\n"


def unexplained(found: dict[str, dict[str, Count]]) -> list[str]:
    return [case for case, of in found.items() if ratio(of) > LIMIT and case not in REASONS]


if __name__ == "__main__":
    if missing():
        sys.exit(missing())
    found = measured()
    if "--write" in sys.argv[1:]:
        TABLE.write_text(table(found))
    else:
        print(table(found), end="")
    if unexplained(found):
        sys.exit(f"more than {LIMIT} times, and no reason: {', '.join(unexplained(found))}")
