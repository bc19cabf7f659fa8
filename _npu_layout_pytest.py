"""Options and a fixture that pytest loads in every run.

It is beside the package, because to import a module of the package is to import numpy, and most runs of pytest have
nothing to do with it.
"""

from __future__ import annotations

from typing import Any

import pytest

RECORDED = pytest.StashKey["dict[str, int]"]()  # {folder: frames} of what was recorded in this run
ENGINES = pytest.StashKey["dict[str, Any]"]()  # {package.module:factory: engine}, each made once


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("npu_layout", "recordings of accelerators")
    group.addoption("--npu-record", action="store_true", help="record what is missing, on this machine's accelerator")
    group.addoption("--npu-update", action="store_true", help="record everything again, on this machine's accelerator")
    parser.addini("npu_engine", "package.module:factory of the engine that recordings are made with")
    parser.addini("npu_recordings", "folder of the recordings (default: recordings, beside the test's file)")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[RECORDED], config.stash[ENGINES] = {}, {}


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    recorded = config.stash.get(RECORDED, {})
    if recorded:
        terminalreporter.section("recorded on this machine's accelerator")
        for folder, frames in recorded.items():
            terminalreporter.line(f"{folder}: {frames} frames")


@pytest.fixture
def npu_recording(request: pytest.FixtureRequest) -> Any:
    """``npu_recording(name, inputs=None, *, engine=None, **about)`` -> npu_layout.Recording; see
    npu_layout.pytest_plugin.Recordings."""
    from npu_layout.pytest_plugin import Recordings

    config = request.config
    return Recordings(config, request.path, config.stash[RECORDED], config.stash[ENGINES])
