"""The command runs as a module: its result, its messages and its exit status are the same."""

from __future__ import annotations

import subprocess
import sys

import npu_layout as nl


def test_the_package_runs_as_the_command() -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "npu_layout.cli", *arguments], capture_output=True, text=True)

    ended = run("--version")
    assert (ended.returncode, ended.stdout) == (0, f"npu_layout {nl.__version__}, kernels {nl.kernels.active()}\n")
    ended = run("inspect", "nowhere")
    assert ended.returncode == 2 and "nowhere" in ended.stderr
