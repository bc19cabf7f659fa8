"""The C core without Python, on this machine and an emulated one, and the table of its instructions."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.paths import ROOT, TESTS

MACHINES = {"this machine": (["cc"], []), "aarch64": (["aarch64-linux-gnu-gcc", "-static"], ["qemu-aarch64"])}
NATIVE_TESTS = {
    ("this machine", "check"): ["200000"],
    ("this machine", "threads"): ["10", "5"],
    ("this machine", "scan"): ["20000"],
    ("this machine", "rows"): ["20000"],
    ("aarch64", "check"): ["50000"],
    ("aarch64", "scan"): ["3000"],
    ("aarch64", "rows"): ["3000"],
    ("aarch64", "threads"): ["10", "0"],  # no forks: qemu-user crashes if a process with threads forks
}


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.parametrize("machine, name", NATIVE_TESTS)
def test_the_core_without_python(machine: str, name: str, tmp_path: Path) -> None:
    """tests/native: the loops and the pool without Python, also on an emulated machine."""
    compiler, runner = MACHINES[machine]
    if not all(shutil.which(tool) for tool in (compiler[0], *runner[:1])):
        pytest.skip(f"{machine}: needs {' and '.join((compiler[0], *runner))} (apt: gcc-aarch64-linux-gnu qemu-user)")
    csrc = ROOT / "npu_layout" / "kernels" / "csrc"
    sources = [TESTS / "native" / f"{name}.c", *csrc.glob("simd/*.c")]
    sources += csrc.glob("*.c")
    flags = ["-std=c11", "-O3", "-Wno-psabi", "-ffp-contract=off", "-pthread", f"-I{csrc}"]
    program = str(tmp_path / name)
    subprocess.run([*compiler, *flags, *map(str, sources), "-lm", "-o", program], check=True)
    ran = subprocess.run([*runner, program, *NATIVE_TESTS[machine, name]], capture_output=True, text=True)
    assert ran.returncode == 0 and ("equal" in ran.stdout or " 0 wrong" in ran.stdout), ran.stdout + ran.stderr


@pytest.mark.slow
@pytest.mark.once
def test_the_table_of_instructions_is_true() -> None:
    """docs/instructions.md: within a tenth (compilers differ), and no loop beyond its rule without a reason."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import instructions
    finally:
        del sys.path[0]
    if instructions.missing():
        pytest.skip(instructions.missing())
    found = instructions.measured()
    assert not instructions.unexplained(found)
    written = [line.split("|") for line in instructions.TABLE.read_text().splitlines() if line.startswith("| ")][1:]
    assert [row[1].strip() for row in written] == list(found)
    for _, case, *numbers, ratio, _ in written:
        of = found[case.strip()]
        expected = [*of["x86_64"], *of["aarch64"]]
        np.testing.assert_allclose([float(x) for x in numbers], expected, rtol=0.1, atol=0.02, err_msg=case)
        assert abs(float(ratio) - instructions.ratio(of)) < 0.15, case
