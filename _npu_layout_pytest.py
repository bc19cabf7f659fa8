"""Options and a fixture that pytest loads in every run.

It is beside the package, because to import a module of the package is to import numpy, and most runs of pytest have
nothing to do with it.
"""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

RECORDED = pytest.StashKey["dict[str, int]"]()  # {folder: frames} of what was recorded in this run
ENGINES = pytest.StashKey["dict[str, Any]"]()  # {package.module:factory: engine}, each made once
STARTED = pytest.StashKey["int | None"]()  # nanoseconds: when this worker of pytest-xdist began; None of a run without
_SENT = "npu_layout_recorded"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("npu_layout", "recordings of accelerators")
    group.addoption("--npu-record", action="store_true", help="record what is missing, on this machine's accelerator")
    group.addoption("--npu-update", action="store_true", help="record everything again, on this machine's accelerator")
    parser.addini("npu_engine", "package.module:factory of the engine that recordings are made with")
    parser.addini("npu_recordings", "folder of the recordings (default: recordings, beside the test's file)")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[RECORDED], config.stash[ENGINES] = {}, {}
    config.stash[STARTED] = time.time_ns() if hasattr(config, "workerinput") else None


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send what a worker of pytest-xdist recorded to the process that writes the summary.

    Paths go as bytes: pytest-xdist sends no text that UTF-8 cannot encode, and a name on disk may be such a text.
    """
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[_SENT] = {os.fsencode(folder): n for folder, n in session.config.stash[RECORDED].items()}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    sent = getattr(node, "workeroutput", {}).get(_SENT, {})
    node.config.stash[RECORDED].update({os.fsdecode(folder): n for folder, n in sent.items()})


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    recorded = config.stash.get(RECORDED, {})
    if recorded:
        from npu_layout.support import isolated, many

        terminalreporter.section("recorded on this machine's accelerator")
        for folder, frames in recorded.items():
            terminalreporter.line(f"{isolated(folder)}: {many(frames, 'frame')}")


@pytest.fixture
def npu_recording(request: pytest.FixtureRequest) -> Any:
    """``npu_recording(name, inputs=None, *, engine=None, **about)`` -> npu_layout.Recording: the recording `name`, read
    from disk; --npu-record and --npu-update make it of `inputs`. See npu_layout.pytest_plugin.Recordings."""
    from npu_layout.pytest_plugin import Recordings

    config = request.config
    return Recordings(config, request.path, config.stash[RECORDED], config.stash[ENGINES], config.stash[STARTED])
