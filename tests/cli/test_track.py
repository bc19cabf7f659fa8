"""npu-layout track: the sample, exit status, exceptions as Python shows them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from npu_layout import cli
from npu_layout.arrays.call_sites import call_site
from npu_layout.cli import track as cli_track
from tests.support.paths import SAMPLES
from tests.support.untracked import all_is_put_back, untouched

__all__ = ["all_is_put_back", "untouched"]  # fixtures of every test here

SAMPLE = SAMPLES / "lost_layout.py"

pytestmark = pytest.mark.once


def test_the_sample_loses_three_times_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    source = SAMPLE.read_text().splitlines()
    planted = {number for number, line in enumerate(source, 1) if "# lost:" in line}
    assert len(planted) == 3
    assert cli.main(["track", "--json", str(SAMPLE)]) == 1
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert {call["line"] for call in found["calls"] if call["fault"]} == planted and not found["kept"]
    faults = [call for call in found["calls"] if call["fault"]]
    assert (
        len(faults) == 3 and found["calls"][:3] == faults and all(os.path.samefile(c["file"], SAMPLE) for c in faults)
    )
    assert [call["copied_nbytes"] for call in faults] == [2 * 4 * 3 * 48 * 64 * 4, 4 * 3 * 48 * 64 * 4, 4 * 48 * 64]
    assert err.count("stored as NCHW") == 2
    assert cli.main(["track", "--json", str(SAMPLE), "--kept"]) == 0
    out, err = capsys.readouterr()
    assert not [call for call in json.loads(out)["calls"] if call["fault"]] and err.count("stored as NHWC") == 2


def test_both_ways_of_the_sample_give_the_same() -> None:
    done = [subprocess.run([sys.executable, SAMPLE, *o], capture_output=True, text=True) for o in ([], ["--kept"])]
    assert done[0].stdout.replace("NCHW", "NHWC") == done[1].stdout and done[1].stdout.count("mean") == 2, done


def command(*arguments: Any, cwd: Any = None) -> subprocess.CompletedProcess[str]:
    code = "import sys; from npu_layout.cli import main; sys.exit(main(sys.argv[1:]))"
    root = str(SAMPLE.parent.parent)
    environment = {**os.environ, "PYTHONPATH": root}
    return subprocess.run(
        [sys.executable, "-c", code, "track", *map(str, arguments)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
    )


def test_the_command_shows_a_table() -> None:
    done = command(SAMPLE.name, cwd=SAMPLE.parent)
    lines = done.stdout.splitlines()
    assert done.returncode == 1 and done.stderr == ""
    assert [line[:4] for line in lines[3:6]] == ["lost"] * 3 and "lost_layout.py:" in lines[3], done.stdout
    assert "3 lost the format, 0 copied without need" in lines[-1]


SCRIPT = """
import sys, helper
import numpy as np, npu_layout as nl
print("out", sys.argv, __name__, __file__.endswith("script.py"), vars(sys.modules["__main__"]) is globals())
x = nl.Tensor(np.zeros((2, 3, 4, 5)), "NHWC")
{}
"""


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ("x + 1", 0, ""),
        ("x.tobytes()", 1, ""),
        ("x.tobytes(); sys.exit(0)", 1, ""),
        ("sys.exit(7)", 7, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit('no camera')", 1, "no camera\n"),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt\n"),
        ("import os; os._exit(5)", 5, ""),
    ],
)
def test_exit_status(tmp_path: Path, body: str, status: int, words: str) -> None:
    (tmp_path / "helper.py").write_text("")
    (tmp_path / "script.py").write_text(SCRIPT.format(body))
    done = command("script.py", "--json", "-x", "--help", "3", cwd=tmp_path)
    assert done.returncode == status and done.stderr.endswith(words), done.stderr
    if "_exit" not in body:
        assert done.stdout.startswith("out ['script.py', '--json', '-x', '--help', '3'] __main__ True True\n"), (
            done.stdout
        )


@pytest.mark.parametrize(
    "body",
    [
        "def f():\n    return {}['key']\nf()",
        "try:\n    x.reshape(7)\nexcept ValueError as error:\n    raise RuntimeError('reading') from error",
        "try:\n    np.asarray(x, order='?')\nexcept ValueError:\n    np.ascontiguousarray(x, 7, 8)",
        "sys.excepthook = lambda *what: print('hooked', what[0].__name__, file=sys.stderr)\n1 / 0",
        "raise ValueError",
        "if True:\nx",
    ],
)
def test_exceptions_are_shown_as_python_would(tmp_path: Path, body: str) -> None:
    (tmp_path / "helper.py").write_text("")
    (tmp_path / "script.py").write_text(SCRIPT.format(body))
    plain = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True)
    done = command("script.py", cwd=tmp_path)
    assert done.returncode == plain.returncode == 1 and plain.stderr

    def relative(text: str) -> str:
        return text.replace(str(tmp_path) + os.sep, "")

    assert relative(done.stderr) == relative(plain.stderr)
    if "if True" not in body:
        assert "kinds of calls" in done.stdout and done.stdout.startswith(plain.stdout)


def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for script, why in ((tmp_path / "none.py", "no such file"), (tmp_path, "is a directory")):
        assert cli.main(["track", str(script)]) == 2
        assert capsys.readouterr().err == f"npu-layout track: {script}: {why}\n"
    with pytest.raises(SystemExit) as end:
        cli.main(["track"])
    assert end.value.code == 2


def test_the_process_is_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys\nsys.argv = ['other']\nsys.path.append('nowhere')\n1 / 0\n")
    argv, path, main = sys.argv, [*sys.path], sys.modules["__main__"]
    assert cli.main(["track", str(script), "a"]) == 1
    assert sys.argv is argv and sys.path == path and sys.modules["__main__"] is main
    out, err = capsys.readouterr()
    assert "ZeroDivisionError" in err and "0 kinds of calls" in out


def test_tracebacks_that_refer_to_each_other_end() -> None:
    a, b = ValueError("a"), ValueError("b")
    a.__context__, b.__cause__ = b, a
    cli_track._trim_tracebacks(a, set())
    assert isinstance(call_site(sys._getframe()), tuple) and isinstance(types.TracebackType, type)
