"""The benchmark: each case is right before it is timed, every fast path has one, files are written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from npu_layout import kernels
from npu_layout.bench import benchmark as bench
from npu_layout.bench import peers
from npu_layout.bench.cases import Case, cases
from npu_layout.cli import main

CASES = list(cases())


@pytest.fixture(autouse=True)
def as_before() -> object:
    threads = kernels.get_num_threads(), cv2.getNumThreads()
    yield
    kernels.set_num_threads(threads[0])
    cv2.setNumThreads(threads[1])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.key} {case.title}")
def test_everything_that_is_timed_is_right(case: Case) -> None:
    libraries = peers.installed()
    assert {"numpy", "cv2", "onnxruntime"} <= libraries.keys()
    calls, _ = bench.ours(case)
    assert set(calls) == {bench.OURS, *kernels.backends()}
    for library, spelling, make in peers.PEERS[case.kind]:
        call = make(case) if library in libraries else None
        if call is not None:
            calls[f"{library}: {spelling}"] = call
    assert sum(name.startswith("numpy: ") for name in calls) == 1
    assert bench.check(case, calls) == {}


def test_what_is_wrong_is_found() -> None:
    case = CASES[0]
    calls, _ = bench.ours(case)
    calls["numpy: " + peers.PEERS["move"][0][1]] = peers.PEERS["move"][0][2](case)  # type: ignore[assignment]
    calls["other: zeros"] = lambda: np.zeros(case.target.size, case.target.stored)
    assert list(bench.check(case, calls)) == ["other: zeros"] and "other: zeros" not in calls


@pytest.mark.skipif(kernels.active() == "numpy", reason="the compiled kernels are turned off")
def test_every_fast_path_has_a_case() -> None:
    from npu_layout.kernels import native

    taken = {path for case in CASES for path in bench.ours(case)[1]}
    assert {path.name for path in native.FAST_PATHS} <= taken


@pytest.mark.skipif(
    "native (avx512)" not in kernels.backends(), reason="this machine has nothing above AVX2 to turn off"
)
def test_peers_are_held_to_the_instruction_set_of_the_kernels() -> None:
    script = (
        "from npu_layout.cli import main; main(['bench', 'a', '--quick']); import cv2; print(cv2.getCPUFeaturesLine())"
    )
    environment = {**os.environ, "NPU_LAYOUT_DISABLE": "avx512", "NPU_LAYOUT_KERNELS": "native"}
    ran = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert "kernels native (avx2)" in ran.stdout and "held to the same instruction set: cv2, numba, torch" in ran.stdout
    assert "*AVX2" in ran.stdout and "AVX512-SKX?" in ran.stdout.splitlines()[-1]  # ?: not to be used


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # matplotlib's own, on old Pythons
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {kind: tmp_path / f"bench.{kind}" for kind in ("json", "md", "png")}
    arguments = ["bench", "a'", "--quick", "--json", files["json"], "--markdown", files["md"], "--plot", files["png"]]
    assert main([str(a) for a in arguments]) == 0
    shown = capsys.readouterr().out
    assert kernels.active() in shown and "uint8 NCHW -> uint8 NHWC" in shown
    result = json.loads(files["json"].read_text())
    assert len(result["rows"]) == 2 and result["kernels"] == kernels.active()
    for row in result["rows"]:
        assert row["times"]["memcpy"]["ratio"] == 1 and row["times"][bench.OURS]["us"] > 0
    assert files["md"].read_text().count("\n|") == 4
    assert cv2.imread(str(files["png"])).shape[1] > 600


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "none-such"]) == 2
    assert "there are" in capsys.readouterr().out
    for arguments, status in ((["--version"], 0), (["nothing"], 2), ([], 2)):
        with pytest.raises(SystemExit) as end:
            main(arguments)
        assert end.value.code == status
