"""Which kernels run is chosen by the environment."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.support.kernel_walks import NATIVE

if NATIVE:
    pass


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
