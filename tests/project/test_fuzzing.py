"""What the fuzzers of scripts/fuzz came upon, run again: the corpora, minimised, and the input of every finding."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Callable

import pytest

from npu_layout import kernels
from tests.support import fuzzing
from tests.support.paths import ROOT, TESTS

RAN = "inputs of fuzzers ran again"


@pytest.mark.parametrize("target", fuzzing.TARGETS)
def test_what_the_fuzzers_found(target: str, ran: Callable[[int, str], None]) -> None:
    count = 0
    for name, data in fuzzing.kept(target):
        try:
            fuzzing.TARGETS[target](data)
        except Exception as error:
            raise AssertionError(f"{target}: {name}: {data[:200]!r}") from error
        count += 1
    assert count > 10
    ran(count, RAN)


def replay(tmp_path: Path, *flags: str) -> int:
    """tests/native/fuzz_core.c, built with these flags, on all inputs of the core; how many there were."""
    at, program = ROOT / "npu_layout" / "kernels" / "csrc", tmp_path / "replay"
    sources = [TESTS / "native" / "fuzz_core.c", *at.glob("*.c"), *at.glob("simd/*.c")]
    options = ["-std=c11", "-ffp-contract=off", "-Wno-psabi", "-pthread", "-DREPLAY", f"-I{at}", *flags]
    subprocess.run(["cc", *options, *map(str, sources), "-lm", "-o", str(program)], check=True)
    names = []
    for name, data in fuzzing.kept("core"):
        (tmp_path / name).write_bytes(data)
        names.append(name)
    done = subprocess.run([str(program), *names], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "as plain loops have them" in done.stdout, done.stdout + done.stderr
    return len(names)


compiled = pytest.mark.skipif(kernels.active() == "numpy" or not shutil.which("cc"), reason="the compiled core alone")


@compiled
def test_what_the_fuzzer_of_the_core_found(tmp_path: Path, ran: Callable[[int, str], None]) -> None:
    ran(replay(tmp_path, "-O0"), f"{RAN} on the compiled core")


@compiled
@pytest.mark.slow
def test_what_the_fuzzer_of_the_core_found_under_sanitizers(tmp_path: Path, ran: Callable[[int, str], None]) -> None:
    """Every buffer is allocated to the byte: AddressSanitizer sees what leaves one."""
    flags = ("-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    ran(replay(tmp_path, *flags), f"{RAN} on the compiled core under AddressSanitizer and UndefinedBehaviorSanitizer")
