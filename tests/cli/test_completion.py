"""npu-layout completion: the scripts complete verbs, options and files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from npu_layout.cli import command as cli
from npu_layout.cli import completion
from tests.support.command_line import ran


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion(capsys: pytest.CaptureFixture[str], tmp_path: Path, shell: str) -> None:
    script = ran(capsys, "completion", shell)[1]
    assert all(word in script for word in ("validate", "--min-cosine", "--workers"))
    if shell == "bash":
        (tmp_path / "recorded").mkdir()
        (tmp_path / "complete").write_text(script)
        ask = (
            "source ./complete; COMP_WORDS=(npu-layout {}); COMP_CWORD={}; COMP_LINE=npu-layout; "
            '_shtab_npu_layout; echo "${{COMPREPLY[@]}}"'
        )

        def completed(words: str, at: int) -> list[str]:
            command = ["bash", "--norc", "-c", ask.format(words, at)]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False)
            return done.stdout.split()

        assert completed("va", 1) == ["validate"]
        assert "--min-cosine" in completed("validate --min", 2)
        assert "recorded" in completed("validate rec", 2)


def test_completion_without_its_extra(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    status, _, err = ran(capsys, "completion", "bash")
    assert status == 2 and "pip install 'npu-layout[cli]'" in err


def test_every_file_is_completed_as_one() -> None:
    metavars = {a.metavar for a in completion.actions(cli.parser()) if isinstance(a.metavar, str)}
    assert metavars >= completion.FILES
