"""The core as a whole: every path has examples, programs refuse what leaves their buffers, and it needs no Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.paths import ROOT, TESTS
from tests.support.walks import (
    ALL,
    MACHINES,
    NARROW,
    NATIVE,
    NATIVE_TESTS,
    PATHS,
    SCALAR,
    WIDEST,
    native,
)


@pytest.mark.skipif(not NATIVE, reason="the compiled kernels are turned off")
def test_every_path_has_examples() -> None:
    assert {(kind, name) for kind, examples in ALL.items() for name in examples} == {
        (path.kind, path.name) for path in native.FAST_PATHS
    }
    assert len(PATHS) == len(native.FAST_PATHS)
    for path in native.FAST_PATHS:
        assert path.applies and path.steps.keys() == set(native.LEVELS)
    without = {path.name for path in native.FAST_PATHS if not path.steps[native.LEVEL]}
    assert without <= SCALAR | (NARROW if WIDEST == 16 else set()), "the best level has a vector step everywhere"


@pytest.mark.skipif(not NATIVE, reason="the compiled kernels are turned off")
def test_a_program_refuses_what_leaves_its_buffers() -> None:
    def made(loops: object, src: int = 0, dst: int = 0, sizes: tuple[int, int] = (100, 100)) -> object:
        return native._native.Program("base", sizes[0], 1, sizes[1], 1, (), ((loops, src, dst, 0),), None)

    made(((100, 1, 1, 0),))
    big = 1 << 62
    for loops, src, dst in (
        (((101, 1, 1, 0),), 0, 0),
        (((100, 1, 1, 0),), 1, 0),
        (((100, -1, 1, 0),), 98, 0),
        (((2, 1, big, 0),), 0, 0),
        (((big, big, big, 0),), 0, 0),
        (((0, 1, 1, 0),), 0, 0),
        (((1, 1, 1, 0),), -1, 0),
    ):
        with pytest.raises(ValueError, match=r"leaves its buffer|64 bits"):
            made(loops, src, dst)
    with pytest.raises(OverflowError):
        made(((2, 1, 1, 0),) * 17)
    program = made(((100, 1, 1, 0),))
    one, two = np.zeros(100, np.uint8), np.zeros(100, np.uint8)
    for source, target in ((one[:99], two), (one, two[:99]), (one[::2], two), (one, bytes(100))):
        with pytest.raises((ValueError, BufferError)):
            program.run(source, target)  # type: ignore[attr-defined]
    for part, parts in ((-1, 2), (2, 2), (0, 0), (0, 1 << 40)):
        with pytest.raises(ValueError, match="part"):
            program.run(one, two, part, parts)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="overlap"):
        program.run(one, one, 0, 2)  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("machine, name", NATIVE_TESTS)
def test_the_core_without_python(machine: str, name: str, tmp_path: Path) -> None:
    """tests/native: the loops and the pool alone, also where they run on an emulated machine."""
    compiler, runner = MACHINES[machine]
    if not all(shutil.which(tool) for tool in (compiler[0], *runner[:1])):
        pytest.skip(f"{machine}: needs {' and '.join((compiler[0], *runner))} (apt: gcc-aarch64-linux-gnu qemu-user)")
    csrc = ROOT / "npu_layout" / "kernels" / "csrc"
    sources = [TESTS / "native" / f"{name}.c", *csrc.glob("simd/level_*.c")]
    sources += csrc.glob("*.c")
    flags = ["-std=c11", "-O3", "-Wno-psabi", "-ffp-contract=off", "-pthread", f"-I{csrc}"]
    program = str(tmp_path / name)
    subprocess.run([*compiler, *flags, *map(str, sources), "-lm", "-o", program], check=True)
    ran = subprocess.run([*runner, program, *NATIVE_TESTS[machine, name]], capture_output=True, text=True)
    assert ran.returncode == 0 and ("equal" in ran.stdout or " 0 wrong" in ran.stdout), ran.stdout + ran.stderr


@pytest.mark.slow
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
