"""The code on a page of the documentation: fenced blocks in their order, and what each must print.

A ``python`` block runs in the page's one namespace, a ``console`` block's ``$`` lines in a shell. A ``text`` block is
the output of the block before it, where ``...`` stands for anything; the lines of a console block that have no ``$``
are too. A ``bash`` block is shown and not run. What an ``include`` takes from another file counts as the page's own.

    python docs/blocks.py PAGE      # in an empty folder with a link to samples
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

RUN = ("python", "console")
SHOWN = ("bash", "none")  # commands that need a board or a network, and their output
_FENCE = re.compile(r"^```(\{?[a-z-]*\}?) *(.*?)\n(.*?)^```$", re.M | re.S)
_CHECK = doctest.OutputChecker().check_output
NOT_REPEATED = "scripts/"  # a test does not run the tests


class Block(NamedTuple):
    """Code of a page, and the output that it must have, or None."""

    language: str
    code: str
    output: str | None


def text(page: Path) -> str:
    """The page with its includes put in."""

    def included(match: re.Match[str]) -> str:
        if match[1] != "{include}":
            return match[0]
        found = text(page.parent / match[2])
        options = dict(re.findall(r"^:(start-after|end-before): (.+)$", match[3], re.M))
        if "start-after" in options:
            _, mark, found = found.partition(options["start-after"].strip('"'))
            assert mark, f"{page}: nothing in {match[2]} is {options['start-after']}"
        if "end-before" in options:
            found, mark, _ = found.partition(options["end-before"].strip('"'))
            assert mark, f"{page}: nothing in {match[2]} is {options['end-before']}"
        return found

    return _FENCE.sub(included, page.read_text(encoding="utf-8"))


def blocks(page: Path) -> list[Block]:
    """What is to be run, in order. AssertionError on a fence that is none of these."""
    prose = _FENCE.sub("", page.read_text(encoding="utf-8"))
    assert not re.search(r"^    \S", prose, re.M), f"{page}: indented code cannot be run"
    found: list[Block] = []
    for language, _, code in _FENCE.findall(text(page)):
        if language in RUN:
            found.append(Block(language, code, None))
        elif language in SHOWN:
            continue
        elif language == "text":
            assert found and found[-1].output is None, f"{page}: an output without its code:\n{code}"
            found[-1] = found[-1]._replace(output=code)
        else:
            assert language.startswith("{"), f"{page}: a block of {language or 'no language'} cannot be run:\n{code}"
    return found


def run(page: Path, languages: tuple[str, ...] = RUN) -> int:
    """Run the page's code in the current folder; how many blocks. AssertionError where an output differs."""
    names: dict[str, object] = {"__name__": "__main__"}
    found = [block for block in blocks(page) if block.language in languages]
    for block in found:
        if block.language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(block.code, str(page), "exec"), names)
            _compare(page, block.code, block.output, printed.getvalue())
            continue
        for command, output in _commands(block.code):
            if not command.startswith(NOT_REPEATED):
                shown = output or block.output
                _compare(page, command, shown, _shell(page, command, shown is not None))
    return len(found)


def _commands(code: str) -> Iterator[tuple[str, str | None]]:
    for part in re.split(r"^\$ ", code, flags=re.M)[1:]:
        command, _, output = part.replace("\\\n", " ").partition("\n")
        yield command.strip(), output or None


def _shell(page: Path, command: str, shown: bool) -> str:
    """What the command prints on stdout; a status of 1, "it does not match", only where that is shown."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1", "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True)
    assert done.returncode in ((0, 1) if shown else (0,)), f"{page.name}: {command}:\n{done.stdout}{done.stderr}"
    return done.stdout


def _compare(page: Path, code: str, wanted: str | None, got: str) -> None:
    if wanted is not None:
        ends = re.compile(r"[ \n]+$", re.M)  # blanks that nobody sees
        matches = _CHECK(ends.sub("", wanted), ends.sub("", got), doctest.ELLIPSIS)
        assert matches, f"{page.name}: the output of\n{code}\nis\n{got}\nnot\n{wanted}"


if __name__ == "__main__":
    print(run(Path(sys.argv[1])))
