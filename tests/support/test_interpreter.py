"""Where the library does not run: each is an ImportError that says why."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from npu_layout.support import interpreter


def test_this_is_the_main_interpreter() -> None:
    assert interpreter._is_main_interpreter() is True


def test_a_big_endian_machine_is_refused() -> None:
    code = "import sys; sys.byteorder = 'big'\nimport npu_layout.support.interpreter"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "ImportError: npu_layout does not run on a big-endian machine" in done.stderr


def test_a_subinterpreter_is_refused() -> None:
    """The module itself; tests/kernels/test_concurrency.py imports the whole library there."""
    names = ("_interpreters", "_xxsubinterpreters")
    if not any(map(importlib.util.find_spec, names)):
        pytest.skip("this Python was built without what makes one")
    code = f"""
import importlib.util, pathlib
for name in {names}:
    if importlib.util.find_spec(name):
        interpreters = importlib.import_module(name)
        break
path = pathlib.Path({interpreter.__file__!r})
one = interpreters.create()
try:
    failed = interpreters.run_string(one, f"exec(compile(open({{str(path)!r}}).read(), 'interpreter.py', 'exec'))")
    print(getattr(failed, "msg", failed))
except interpreters.RunFailedError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert "main interpreter only" in done.stdout, done
