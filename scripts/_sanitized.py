"""A copy of the library whose core has sanitizers, and its tests, for the session `sanitize` of noxfile.py."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nox
from _suite import CSRC, ROOT, cores

MEMORY = "address,undefined"  # AddressSanitizer and UndefinedBehaviorSanitizer
#: Tests beside those of the kernels that run on a sanitized core.
SANITIZED = (
    "tests/buffers/test_random_conversions.py",
    "tests/project/test_fuzzing.py::test_what_the_fuzzers_found[pictures]",
    *("tests/decode/test_boundary.py", "tests/decode/test_backends_agree.py"),
    *(f"tests/decode/decoders/test_{room}.py" for room in ("decoder", "compiling", "finishing", "gathering")),
    *(f"tests/decode/zoo/test_{room}.py" for room in ("networks", "detectors", "dense", "faces")),
    *(f"tests/decode/results/test_{room}.py" for room in ("suppression", "mask_crops")),
    "tests/ops/test_stored_buffers.py",
    *(f"tests/frames/test_{room}.py" for room in ("gray", "fitting", "fitting_yuv", "source_formats")),
)


def copy_to(home: Path) -> None:
    """Copy what another core is tested with. The tests come along: pytest puts their folder before PYTHONPATH."""
    shutil.rmtree(home, ignore_errors=True)
    for name in ("npu_layout", "tests", "scripts", "docs", "samples"):
        shutil.copytree(ROOT / name, home / name, ignore=shutil.ignore_patterns("*.so", "__pycache__", "made"))
    shutil.copy(ROOT / "setup.cfg", home)


class SanitizedCore:
    """The core, compiled with sanitizers in a folder that has a copy of the library and its tests."""

    def __init__(self, session: nox.Session, home: Path) -> None:
        self.session, self.home = session, home
        self.compiler = os.environ.get("CC", "gcc").split()  # as setuptools reads it
        flags = f"-I{CSRC} -std=c11 -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all -ffp-contract=off".split()
        self.flags = [*flags, "-Wno-psabi", "-pthread"]
        copy_to(home)

    def objects(self, sanitizers: str) -> list[str]:
        """Compile what knows no Python, and return the object files."""
        (self.home / sanitizers).mkdir()
        shared = [*self.compiler, *self.flags, "-fPIC", f"-fsanitize={sanitizers}", "-c"]
        loops = [str(path) for path in [*sorted(CSRC.glob("*.c")), *sorted(CSRC.glob("simd/*.c"))]]
        largest = sorted(loops, key=lambda path: -os.path.getsize(path))
        with ThreadPoolExecutor(cores()) as pool:  # one file after the other takes most of an hour
            done = pool.map(
                lambda path: subprocess.run([*shared, path], cwd=self.home / sanitizers, check=True), largest
            )
            self.session.log(f"compiled {len(list(done))} files with {sanitizers}")
        return [str(path) for path in sorted((self.home / sanitizers).glob("*.o"))]

    def natively(self, name: str, sanitizers: str, compiled: list[str], *arguments: str) -> str:
        """Return what a program of tests/native prints."""
        source, program = str(ROOT / "tests" / "native" / f"{name}.c"), str(self.home / name)
        command = [*self.compiler, *self.flags, f"-fsanitize={sanitizers}", source, *compiled, "-lm", "-o", program]
        self.session.run(*command, external=True)
        env = {"TSAN_OPTIONS": "die_after_fork=0"}
        return str(self.session.run(program, *arguments, env=env, silent=True, external=True)).strip()

    def link(self, compiled: list[str]) -> None:
        """Make the extension of the objects and the binding."""
        include, suffix = sysconfig.get_path("include"), sysconfig.get_config_var("EXT_SUFFIX")
        binding = [str(path) for path in sorted(CSRC.glob("binding/*.c"))]
        core = str(self.home / "npu_layout" / "kernels" / f"_native{suffix}")
        shared = [*self.flags, f"-fsanitize={MEMORY}", "-fPIC", "-shared", f"-I{include}"]
        self.session.run(*self.compiler, *shared, *binding, *compiled, "-o", core, external=True)

    def environment(self) -> dict[str, str]:
        """Return the environment in which Python loads the copy, with the sanitizers' libraries before it."""
        found = [
            subprocess.run(
                [*self.compiler, f"-print-file-name=lib{name}.so"], capture_output=True, text=True, check=True
            ).stdout
            for name in ("asan", "ubsan")
        ]
        env = {key: value for key, value in os.environ.items() if key != "HYPOTHESIS_PROFILE"}
        env.update(PYTHONPATH=str(self.home), NPU_LAYOUT_KERNELS="native", ASAN_OPTIONS="detect_leaks=0")
        env["LD_PRELOAD"] = " ".join(map(str.strip, found))
        where = f"import importlib.util as u; assert u.find_spec('npu_layout').origin.startswith({str(self.home)!r})"
        subprocess.run([sys.executable, "-c", where], cwd="/", env=env, check=True)
        return env

    def test(self, env: dict[str, str]) -> str:
        """Run the tests, and return how many passed; the session fails if one does not, or ran on another core."""
        # Not test_concurrency: its threads and forks are for ThreadSanitizer. pytest itself, not -m pytest, which would
        # find the package here first.
        kernels = [str(p) for p in sorted(self.home.glob("tests/kernels/test_*.py")) if p.name != "test_concurrency.py"]
        pytest = [str(Path(sys.executable).with_name("pytest")), "-p", "no:cacheprovider", "-n", str(cores())]
        log, sanitized = [], False
        command = [*pytest, "--dist", "worksteal", *kernels, *SANITIZED, *self.session.posargs]
        with subprocess.Popen(command, cwd=self.home, env=env, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            for line in running.stdout:
                print(line, end="", flush=True)
                log += re.findall(r"\d+ passed", line)
                sanitized |= f" in {self.home / 'npu_layout'}, kernels: native" in line
        if not sanitized:
            self.session.error("the tests did not run on the sanitized core")
        if running.returncode:
            self.session.error("the kernels' tests failed under the sanitizers")
        return str(log[-1])
