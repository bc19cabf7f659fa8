"""`import npu_layout` loads numpy and what every program needs, quickly; the rest when it is first used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import npu_layout as nl

LOADED = """
import sys, sysconfig
before = set(sys.modules)
import npu_layout
files = {n.split(".")[0]: getattr(m, "__file__", None) or "" for n, m in sys.modules.items() if n not in before}
print(*sorted(n for n, f in files.items() if "site-packages" in f and n != "npu_layout"))
"""
MODULES = """
import sys, numpy
before = set(sys.modules)
import npu_layout
print(*(set(sys.modules) - before))
"""
# What a program may never use, and other packages of the standard library that cost more than they are worth at import.
NEEDLESS = {
    *("bench", "cli", "comparison", "decode", "diagnosis", "drawing", "engines", "exchange", "frames", "ops"),
    *("pytest_plugin", "recordings", "reports", "streams", "testing", "validation"),
    *("argparse", "asyncio", "bz2", "importlib.metadata", "json", "lzma", "multiprocessing", "pathlib", "shutil"),
    *("subprocess", "tempfile", "unicodedata", "uuid", "zipfile"),
}
HANDED_OUT = """
import npu_layout as nl
import npu_layout.{wing}
from npu_layout import {name}
print(nl.{wing}.{name} is nl.{name} is {name}, "{name}" in dir(nl))
"""
COST = """
import time
start = time.perf_counter()
import numpy
middle = time.perf_counter()
import npu_layout
print((time.perf_counter() - middle) / (middle - start))
"""


def run(code: str, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, env={**kept, **environment})
    return ran.stdout.strip()


def test_numpy_alone_is_loaded() -> None:
    assert run(LOADED) == "numpy"


def test_what_a_program_may_never_use_is_not_loaded() -> None:
    loaded = {name.removeprefix("npu_layout.") for name in run(MODULES).split()}
    assert "layouts" in loaded
    assert not loaded & NEEDLESS


def test_validate_loads_no_decoder_and_no_processes() -> None:
    """They take a seventh of the time until a small recording is validated."""
    of_decoder, of_processes = "npu_layout.decode.decoders.decoder", "multiprocessing"
    loaded = run("import sys, npu_layout as nl; nl.validate, nl.decode; print(*sys.modules)").split()
    assert "npu_layout.validation.conductor" in loaded
    assert not {of_decoder, of_processes, "npu_layout.decode.guesses.guessing"} & {*loaded}
    uses = "import sys, npu_layout as nl; nl.decode.Decoder, nl.validate_many; print(*sys.modules)"
    assert {of_decoder, of_processes} <= {*run(uses).split()}


def test_every_late_wing_is_named() -> None:
    """Wings stand in NEEDLESS, or are what the others are made of."""
    wings = {path.parent.name for path in Path(nl.__file__).parent.glob("*/__init__.py")}
    assert wings - NEEDLESS == {"arrays", "buffers", "kernels", "layouts", "specs", "support"}


@pytest.mark.parametrize("wing, name", [("engines", "SimulatedNpu"), ("diagnosis", "identify")])
def test_late_wings_are_there_when_asked_for(wing: str, name: str) -> None:
    assert run(f"import npu_layout as nl; print(nl.{wing}.__name__)") == f"npu_layout.{wing}"
    assert run(HANDED_OUT.format(wing=wing, name=name)) == "True True"


@pytest.mark.alone
def test_import_adds_less_than_half_of_numpys(tmp_path: Path) -> None:
    """As a user has it: compiled once, then read from the cache. Some 15 ms to numpy's 45."""
    assert min(float(run(COST, PYTHONPYCACHEPREFIX=str(tmp_path))) for _ in range(7)) < 0.5
