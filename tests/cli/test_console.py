"""The command line's output: tables and colours on a terminal, plain text elsewhere."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import sys
from pathlib import Path

import pytest

import npu_layout as nl
from npu_layout.cli import console
from tests.support.command_line import COMMAND, ran


def on_a_terminal(*arguments: str, columns: int = 100) -> tuple[int, str]:
    """(status, everything that a terminal of so many columns shows)."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS=str(columns))
        os.environ.pop("NO_COLOR", None)
        os.execv(sys.executable, [*COMMAND, *arguments])
    shown = io.BytesIO()
    while True:
        try:
            block = os.read(terminal, 4096)
        except OSError:  # Linux's word for the end of a terminal
            break
        if not block:
            break
        shown.write(block)
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.getvalue().decode()


@pytest.mark.filterwarnings("ignore:.*forkpty.*:DeprecationWarning")  # the child is replaced at once
def test_on_a_terminal(here: Path) -> None:
    status, shown = on_a_terminal("validate", "good", "model.onnx")
    assert status == 0 and "\u2503" in shown and re.search(r"\x1b\[1;32mmatch", shown), shown
    status, shown = on_a_terminal("validate", "tree", "model.onnx")
    assert status == 1 and re.search(r"\x1b\[1;31mlayout", shown) and "validating" in shown, shown


@pytest.mark.filterwarnings("ignore:.*forkpty.*:DeprecationWarning")
def test_on_a_narrow_terminal(here: Path) -> None:
    """Ten columns of two letters cannot be read."""
    status, shown = on_a_terminal("inspect", "good", columns=50)
    lines = [line.rstrip() for line in shown.splitlines()]
    assert status == 0 and "dtype       int8" in lines and "name        maps" in lines, shown
    assert "\u2503" in shown  # the tables of fewer columns are tables


def test_plain_where_rich_is_missing(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    status, out, _ = ran(capsys, "inspect", "good")
    assert status == 0 and "\u2503" not in out and "maps" in out


def test_a_plain_table(capsys: pytest.CaptureFixture[str]) -> None:
    console.table(("name", "bytes"), [("a", 7), ("a longer one", 1200)])
    assert capsys.readouterr().out == "name          bytes\na             7\na longer one  1200\n"


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    console.show_json({"a": [1, None, "\u00e9"]})
    assert json.loads(capsys.readouterr().out) == {"a": [1, None, "\u00e9"]}
    with pytest.raises(ValueError, match="JSON"):  # NaN is no JSON
        console.show_json(float("nan"))


def test_many_reports_end_with_how_many_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    console.show_reports(nl.Reports({"a": "no archive\nat all", "b": "gone"}))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["recording", "verdict", "outputs", "why"] and lines[-1] == "2 recordings: 2 error"
    console.show_reports(nl.Reports({}))
    assert capsys.readouterr().out == "0 recordings: none\n"
