"""The README's code runs, block after block, and the docstrings hold examples."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import npu_layout as nl

README = Path(__file__).parent.parent / "README.md"


def test_readme_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) > 3
    (tmp_path / "samples").symlink_to(README.parent / "samples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)
    assert "needs 640 (C padded from 17 to 32)" in capsys.readouterr().out


def test_docstrings_have_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = [importlib.import_module(m.name) for m in pkgutil.walk_packages(nl.__path__, "npu_layout.")]
    examples = sum(len(test.examples) for module in modules for test in finder.find(module))
    assert examples > 20
