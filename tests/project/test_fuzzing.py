"""What the fuzzers of scripts/fuzz came upon, run again: the corpora, minimised, and the input of every finding."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
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


def objects(flags: list[str], kept: Path) -> list[str]:
    """The core's object files, compiled side by side, and again only if sources, flags or the compiler change."""
    at = ROOT / "npu_layout" / "kernels" / "csrc"
    version = subprocess.run(["cc", "--version"], capture_output=True, check=True).stdout
    common = hashlib.sha256(version + repr(flags).encode())
    for header in sorted(at.glob("**/*.h")):
        common.update(header.read_bytes())
    kept.mkdir(parents=True, exist_ok=True)

    def compiled(source: Path) -> str:
        digest = common.copy()
        digest.update(source.read_bytes())
        made = kept / f"{source.stem}-{digest.hexdigest()[:20]}.o"
        if not made.exists():
            partial = made.with_suffix(f".{os.getpid()}")  # whoever else compiles it writes the same
            subprocess.run(["cc", *flags, "-c", str(source), "-o", str(partial)], check=True)
            partial.replace(made)
        return str(made)

    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the instruction sets first: they take longest
        made = list(pool.map(compiled, [*sorted(at.glob("simd/*.c")), *sorted(at.glob("*.c"))]))
    for stale in set(map(str, kept.glob("*.o"))) - set(made):
        Path(stale).unlink(missing_ok=True)
    return made


def replay(tmp_path: Path, name: str, *flags: str) -> int:
    """tests/native/fuzz_core.c, built with these flags, on all inputs of the core; how many there were."""
    at, program = ROOT / "npu_layout" / "kernels" / "csrc", tmp_path / "replay"
    options = ["-std=c11", "-ffp-contract=off", "-Wno-psabi", "-pthread", f"-I{at}", *flags]
    core = objects(options, ROOT / "build" / "replay" / name)
    harness = str(TESTS / "native" / "fuzz_core.c")
    subprocess.run(["cc", *options, "-DREPLAY", harness, *core, "-lm", "-o", str(program)], check=True)
    names = []
    for found, data in fuzzing.kept("core"):
        (tmp_path / found).write_bytes(data)
        names.append(found)
    done = subprocess.run([str(program), *names], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "as plain loops have them" in done.stdout, done.stdout + done.stderr
    return len(names)


CSRC = ROOT / "npu_layout" / "kernels" / "csrc"
compiled = pytest.mark.skipif(
    kernels.active() == "numpy" or not shutil.which("cc") or not CSRC.exists(), reason="the compiled core alone"
)


@compiled
def test_what_the_fuzzer_of_the_core_found(tmp_path: Path, ran: Callable[[int, str], None]) -> None:
    ran(replay(tmp_path, "plain", "-O0"), f"{RAN} on the compiled core")


@compiled
@pytest.mark.slow
def test_what_the_fuzzer_of_the_core_found_under_sanitizers(tmp_path: Path, ran: Callable[[int, str], None]) -> None:
    """Every buffer is allocated to the byte: AddressSanitizer sees what leaves one."""
    flags = ("-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    ran(
        replay(tmp_path, "sanitized", *flags),
        f"{RAN} on the compiled core under AddressSanitizer and UndefinedBehaviorSanitizer",
    )
