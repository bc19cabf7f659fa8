"""npu-layout, run in this process or in one of its own."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from npu_layout.cli import main

COMMAND = [sys.executable, "-c", "import sys; from npu_layout.cli import main; sys.exit(main())"]


def ran(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    status = main([*arguments])
    out, err = capsys.readouterr()
    return status, out, err


def started(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
        **more,
    )
