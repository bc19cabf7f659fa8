"""`import npu_layout` loads numpy alone, and quickly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LOADED = """
import sys, sysconfig
before = set(sys.modules)
import npu_layout
files = {n.split(".")[0]: getattr(m, "__file__", None) or "" for n, m in sys.modules.items() if n not in before}
print(*sorted(n for n, f in files.items() if "site-packages" in f and n != "npu_layout"))
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


@pytest.mark.alone
def test_import_adds_less_than_half_of_numpys(tmp_path: Path) -> None:
    """As a user has it: compiled once, then read from the cache. Some 20 ms to numpy's 80."""
    assert min(float(run(COST, PYTHONPYCACHEPREFIX=str(tmp_path))) for _ in range(7)) < 0.5
