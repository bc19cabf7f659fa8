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
