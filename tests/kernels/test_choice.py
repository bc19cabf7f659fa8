"""Which kernels run is chosen by the environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from npu_layout import kernels
from tests.support.kernel_walks import BACKENDS, NATIVE
from tests.support.paths import ROOT


def chosen(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "import npu_layout as nl; print(nl.kernels.active())"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


def test_the_kernels_are_chosen_by_the_environment() -> None:
    assert chosen(NPU_LAYOUT_KERNELS="numpy").stdout == "numpy\n"
    wrong = chosen(NPU_LAYOUT_KERNELS="fast")
    assert wrong.returncode and "expected auto, native or numpy" in wrong.stderr
    if not NATIVE:
        return
    off: list[str] = []
    for name in NATIVE:
        assert chosen(NPU_LAYOUT_KERNELS="native", NPU_LAYOUT_DISABLE=",".join(off)).stdout == f"{name}\n"
        off.append(name[len("native (") : -1])
    assert chosen(NPU_LAYOUT_KERNELS="native", NPU_LAYOUT_DISABLE="base").returncode == 0


AS_ON_ANOTHER_MACHINE = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("npu_layout.kernels._native", {path!r})
core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core)
core.LEVELS.clear(), core.FAST.clear()
core.COMPILED[:] = ["avx512"]
sys.modules[spec.name] = core
import numpy as np, npu_layout as nl
print(nl.kernels.active(), nl.TensorSpec((1, 3, 2, 2), "NHWC", "int8").unpack(np.arange(12, dtype=np.int8)).ravel()[:5])
"""


@pytest.mark.skipif(not NATIVE, reason="the compiled core alone")
def test_kernels_for_other_machines_alone_are_not_used() -> None:
    """NPU_LAYOUT_LEVELS of setup.py, and the wheel on another machine: numpy, with a warning; an error if asked for."""
    from npu_layout.kernels import _native

    code = AS_ON_ANOTHER_MACHINE.format(path=_native.__file__)
    for wanted, output, word in (("auto", "numpy [0 3 6 9 1]\n", "RuntimeWarning"), ("native", "", "ImportError")):
        env = {**os.environ, "NPU_LAYOUT_KERNELS": wanted}
        ran = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
        assert ran.stdout == output and word in ran.stderr, ran.stderr
        assert "compiled for avx512 alone (NPU_LAYOUT_LEVELS)" in ran.stderr
    assert {name[len("native (") : -1] for name in NATIVE} <= set(_native.COMPILED)


def test_setup_knows_the_levels() -> None:
    if not (ROOT / "setup.py").exists():
        pytest.skip("needs a checkout")
    for levels, expected in (("mmx", "expected all, native, or some of base, sse4, avx2, avx512"), ("native", "")):
        env = {**os.environ, "NPU_LAYOUT_LEVELS": levels}
        ran = subprocess.run([sys.executable, "setup.py", "--name"], cwd=ROOT, env=env, capture_output=True, text=True)
        assert expected in ran.stderr and (ran.returncode == 0) == (not expected), ran.stderr


def test_calls_that_name_none_use_the_active_backend(activate: Callable[[str], None]) -> None:
    """Compiled detectors exist for no other backend than those of the core."""
    boxes, scores = np.float32([[0, 0, 4, 4], [0, 0, 4, 5], [9, 9, 12, 12]]), np.float32([0.5, 0.7, 0.6])
    for name in BACKENDS:
        activate(name)
        assert kernels.active() == name and kernels.backends() == BACKENDS
        kept = kernels.nms(boxes, scores, None, 1, (0.5, False, 0.0, 0.0), 9)
        assert (kept is None) == (name == "numpy")
        for other in BACKENDS:
            kept = kernels.nms(boxes, scores, None, 1, (0.5, False, 0.0, 0.0), 9, backend=other)
            assert kept is None if other == "numpy" else kept.tolist() == [1, 2]
    for name in ("fast", "native (mmx)", ""):
        with pytest.raises(KeyError):
            kernels.activate(name)
        assert kernels.active() == BACKENDS[-1]


def test_a_list_of_backends_is_the_callers() -> None:
    kernels.backends().clear()
    assert kernels.backends() == BACKENDS and BACKENDS[-1] == "numpy"


def test_the_number_of_threads() -> None:
    before = kernels.get_num_threads()
    for given, expected in ((1, 1), (np.int64(3), 3), (64, 64), (1000, 64)):
        kernels.set_num_threads(given)
        assert kernels.get_num_threads() == (expected if NATIVE else 1)
    for bad in (0, -1, 1.5, "2", None):
        with pytest.raises(ValueError, match=r"n: expected"):
            kernels.set_num_threads(bad)
    kernels.set_num_threads(before)
