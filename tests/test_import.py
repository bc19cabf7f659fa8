"""`import npu_layout` loads numpy alone, and quickly."""

from __future__ import annotations

import subprocess
import sys

LOADED = """
import sys, sysconfig
before = set(sys.modules)
import npu_layout
files = {n.split(".")[0]: getattr(m, "__file__", None) or "" for n, m in sys.modules.items() if n not in before}
print(*sorted(n for n, f in files.items() if "site-packages" in f))
"""
COST = """
import time, numpy
start = time.perf_counter()
import npu_layout
print(time.perf_counter() - start)
"""


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_numpy_alone_is_loaded() -> None:
    assert run(LOADED) == "numpy"


def test_import_adds_under_30_ms() -> None:
    assert min(float(run(COST)) for _ in range(7)) < 0.030
