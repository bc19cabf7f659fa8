"""bench-layouts: what is timed is right in every format, caches are read as the machine states, files are written."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from npu_layout import kernels
from npu_layout.bench import formats as bench_layouts
from npu_layout.cli import main
from npu_layout.kernels.caches import USUAL, caches


@pytest.mark.parametrize("name", bench_layouts.OPERATORS)
def test_every_format_is_right_and_timed(name: str) -> None:
    row = bench_layouts.measure(bench_layouts.OPERATORS[name], "L1", 24 << 10, 0.001)
    assert row["wrong"] == {} and list(row["us"]) == list(bench_layouts.FORMATS)
    assert all(us > 0 for us in row["us"].values())
    assert bench_layouts.columns(row)[-1] in ("NCHW", "NHWC", "NHCW", "NCHW4c", "NCHW16c")


def test_what_is_wrong_is_found() -> None:
    def broken(source: object, target: object, flat: object, out: np.ndarray) -> bench_layouts.Call:
        return lambda: out

    row = bench_layouts.measure(bench_layouts.OPERATORS["gray"]._replace(make=broken), "L1", 8 << 10, 0.001)
    assert list(row["wrong"]) == list(bench_layouts.FORMATS) and row["us"] == {}
    assert bench_layouts.columns(row).count("WRONG") == 4


@pytest.mark.parametrize("name", bench_layouts.OPERATORS)
def test_sizes_fit(name: str) -> None:
    operator = bench_layouts.OPERATORS[name]
    for budget in (16 << 10, 512 << 10, 8 << 20):
        shape = bench_layouts.shape_of(operator, budget)
        source, target = bench_layouts.case(operator, "NCHW", shape)
        assert 0.5 * budget < source.nbytes + target.nbytes <= budget or shape[2] == 8


def test_caches(tmp_path: Path) -> None:
    for i, (level, kind, size) in enumerate(
        (("1", "Data", "48K"), ("1", "Instruction", "32K"), ("2", "Unified", "1024K"), ("3", "Unified", "32M"))
    ):
        folder = tmp_path / f"index{i}"
        folder.mkdir()
        for name, text in (("level", level), ("type", kind), ("size", size), ("coherency_line_size", "128")):
            (folder / name).write_text(text + "\n")
    found = caches(tmp_path)
    assert found.sizes == {1: 48 << 10, 2: 1 << 20, 3: 32 << 20} and found.line == 128 and found.last == 32 << 20
    assert str(found) == "L1 48 KiB, L2 1 MiB, L3 32 MiB, lines of 128 bytes"
    (tmp_path / "index2" / "size").write_text("what")
    for unknown in (caches(tmp_path), caches(tmp_path / "none")):
        assert unknown.sizes == USUAL and not unknown.known and "assumed" in str(unknown)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Path, "glob", lambda *_: (_ for _ in ()).throw(PermissionError("no")))
        assert caches(tmp_path).sizes == USUAL
    assert bench_layouts.sizes(found) == {"L1": 24 << 10, "L2": 512 << 10, "memory": 64 << 20}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # matplotlib's own, on old Pythons
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {kind: tmp_path / f"layouts.{kind}" for kind in ("json", "md", "png")}
    arguments = ["bench-layouts", "--quick", "--no-torch", "--operators", "gray", "argmax", "--sizes", "L1"]
    arguments += ["--json", str(files["json"]), "--markdown", str(files["md"]), "--plot", str(files["png"])]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert kernels.active() in shown and shown == files["md"].read_text()
    result = json.loads(files["json"].read_text())
    assert [row["operator"] for row in result["rows"]] == ["gray", "argmax of 32 channels"]
    assert cv2.imread(str(files["png"])).shape[1] > 600
    assert main(["bench-layouts", "--threads", "0"]) == 2
    for wrong in ("--operators", "none"), ("--sizes", "L9"):
        with pytest.raises(SystemExit) as end:
            main(["bench-layouts", *wrong])
        assert end.value.code == 2


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_networks_are_drawn_and_tabulated(tmp_path: Path) -> None:
    """With figures made up here, since torch is no need of the tests; it is measured in the test below."""
    row = bench_layouts.measure(bench_layouts.OPERATORS["gray"], "L1", 8 << 10, 0.001)
    times = {"channels_first": 4.0, "channels_last": 2.0}
    network = {
        "network": "VGG-like",
        "dtype": "float32",
        "shape": (1, 3, 8, 8),
        "ms": times,
        "gain": 100.0,
        "wrong": {},
    }
    about = dict(date="", processor="", caches="", threads=1, kernels="", python="", versions={"torch": "0"})
    result = {**about, "rows": [row], "networks": [network]}
    assert "| VGG-like | float32 | 1x3x8x8 | 4.00 ms        | 2.00 ms       | +100 % |" in bench_layouts.markdown(
        result
    )
    bench_layouts.plot(result, str(tmp_path / "a.png"))
    assert cv2.imread(str(tmp_path / "a.png")).shape[1] > 1200
