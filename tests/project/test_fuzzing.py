"""What the fuzzers of scripts/fuzz came upon, run again: the corpora, minimised, and the input of every finding."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
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


def sources(at: Path) -> list[Path]:
    """Those of the core; the instruction sets first: they take longest."""
    return [*sorted(at.glob("simd/*.c")), *sorted(at.glob("*.c"))]


def built() -> list[str] | None:
    """The object files that setup.py left, as the package has them; None if one is missing or older than a source."""
    at, name = ROOT / "npu_layout" / "kernels" / "csrc", f"objects-{sys.implementation.cache_tag}"
    left = [ROOT / "build" / name / path.relative_to(ROOT).with_suffix(".o") for path in sources(at)]
    if not all(path.exists() for path in left):
        return None
    newest = max(path.stat().st_mtime_ns for path in [*at.glob("**/*.[ch]"), ROOT / "setup.py"])
    return [*map(str, left)] if min(path.stat().st_mtime_ns for path in left) > newest else None


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

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(compiled, sources(at)))
    for stale in set(map(str, kept.glob("*.o"))) - set(made):
        Path(stale).unlink(missing_ok=True)
    return made


def replay(tmp_path: Path, core: list[str] | None, name: str, *flags: str) -> int:
    """tests/native/fuzz_core.c, built with these flags, on all inputs of the core; how many there were. `core`: object
    files to link, else compiled with these flags."""
    at, program = ROOT / "npu_layout" / "kernels" / "csrc", tmp_path / "replay"
    options = ["-std=c11", "-ffp-contract=off", "-Wno-psabi", "-pthread", f"-I{at}", *flags]
    core = core or objects(options, ROOT / "build" / "replay" / name)
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
    ran(replay(tmp_path, built(), "plain", "-O0"), f"{RAN} on the compiled core")


@compiled
@pytest.mark.slow
def test_what_the_fuzzer_of_the_core_found_under_sanitizers(tmp_path: Path, ran: Callable[[int, str], None]) -> None:
    """Every buffer is allocated to the byte: AddressSanitizer sees what leaves one."""
    flags = ("-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    ran(
        replay(tmp_path, None, "sanitized", *flags),
        f"{RAN} on the compiled core under AddressSanitizer and UndefinedBehaviorSanitizer",
    )
