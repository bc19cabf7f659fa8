"""Cells and colours of terminals of every kind."""

from __future__ import annotations

import io

import pytest

import npu_layout as nl
from npu_layout.drawing.palette import DISTINCT
from npu_layout.drawing.terminal import colour_depth


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TERM", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    assert colour_depth(Terminal())[0] == 8 and colour_depth(io.StringIO())[0] == 0
    assert colour_depth(io.StringIO(), "always")[0] == 8 and colour_depth(Terminal(), "never")[0] == 0
    monkeypatch.setenv("COLORTERM", "truecolor")
    assert colour_depth(Terminal())[0] == 24
    monkeypatch.setenv("NO_COLOR", "1")
    assert colour_depth(Terminal())[0] == 0 and colour_depth(Terminal(), "always")[0] == 24
    monkeypatch.setenv("NO_COLOR", "")  # https://no-color.org: "not an empty string"
    assert colour_depth(Terminal())[0] == 24


def test_cells_in_a_terminal() -> None:
    found = nl.explain("NHWC", (1, 3, 2, 2), "uint8", gray=True)
    assert "\x1b" not in found.terminal(0) and "[0.00] [1.00] [2.00]" in found.terminal(0)
    red, green, blue = ("\x1b[1;48;2;{};{};{};".format(*colour) for colour in DISTINCT[:3])
    coloured = found.terminal(24, columns=1)  # nothing beside each other
    memory = next(line for line in coloured.splitlines() if line.count(red) and line.count(green) == 1 and "h0" in line)
    assert memory.index(red) < memory.index(green) < memory.index(blue)
    assert "\x1b[1;48;5;" in found.terminal(8)
    wide, narrow = (nl.explain("NHWC", (1, 3, 4, 4), compare="NCHW").terminal(0, n) for n in (400, 60))
    assert any("NHWC memory" in line and "NCHW memory" in line for line in wide.splitlines())
    assert not any("NHWC memory" in line and "NCHW memory" in line for line in narrow.splitlines())
