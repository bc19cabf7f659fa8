"""The benchmark's verb: it writes files and explains what it cannot do."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import pytest

from npu_layout import kernels
from npu_layout.bench import contenders
from npu_layout.cli import main


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # matplotlib's own, on old Pythons
@pytest.mark.usefixtures("small_caches")
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {kind: tmp_path / f"bench.{kind}" for kind in ("json", "md", "png")}
    arguments = ["bench", "a'", "--quick", "--json", files["json"], "--markdown", files["md"], "--plot", files["png"]]
    assert main([str(a) for a in arguments]) == 0
    shown = capsys.readouterr().out
    assert kernels.active() in shown and "uint8 NCHW -> uint8 NHWC" in shown
    result = json.loads(files["json"].read_text())
    assert len(result["rows"]) == 2 and result["kernels"] == kernels.active()
    for row in result["rows"]:
        assert row["times"]["memcpy"]["ratio"] == 1 and row["times"][contenders.OURS]["us"] > 0
    assert files["md"].read_text().count("\n|") == 4
    assert cv2.imread(str(files["png"])).shape[1] > 600


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    for given in (["none-such"], ["b", "none-such"]):
        assert main(["bench", *given]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.startswith("npu-layout bench: no case 'none-such'; there are 5-D, BGR, ")
    for arguments, status in ((["--version"], 0), (["nothing"], 2), ([], 2)):
        with pytest.raises(SystemExit) as end:
            main(arguments)
        assert end.value.code == status
