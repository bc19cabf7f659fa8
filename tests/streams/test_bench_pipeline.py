"""scripts/bench_pipeline.py: the loops that it times give the same answers."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.support.paths import ROOT


def test_it_runs() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "bench_pipeline.py"), "--frames", "14", "--rounds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    difference = re.search(r"largest difference of the answers: (\S+)", done.stdout)
    assert difference and float(difference[1]) < 1e-3
    assert re.search(r"npu_layout stream, 2 +[0-9.]+ frames/s, [0-9.]+ times the plain loop", done.stdout)
    assert "own share of the stream" in done.stdout and "policy latest" in done.stdout
