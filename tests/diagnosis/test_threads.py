"""Faults from public threads are named as docs/threads.md shows, and the same recordings without them are matches."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

from tests.support.paths import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
try:
    import threads as script
    from verdicts import models, rebuild
    from verdicts.threads import THREADS
finally:
    sys.path.remove(str(ROOT / "scripts"))

PAGE = (ROOT / "docs" / "threads.md").read_text(encoding="utf-8")
EACH = pytest.mark.parametrize("thread", THREADS, ids=[thread.address for thread in THREADS])


def without_figures(text: str) -> str:
    """The text without decimals and fitted zero points, which differ from one CPU to the next."""
    return re.sub(r"\d+\.\d+|(?<=zero point )-?\d+", "#", text)


@EACH
def test_what_is_reported(thread: Any) -> None:
    found = rebuild.answer(thread)
    assert found.judged == ("refused" if thread.refused else "right"), f"{found.verdict}: {found.error}\n{found.why}"
    assert without_figures(script.line(thread, found)) in without_figures(PAGE)


@EACH
def test_nothing_without_the_fault(thread: Any) -> None:
    found = rebuild.answer(thread, faulty=False)
    assert found.verdict == "match" and not found.error, f"{found.error}\n{found.why}"


def test_the_page() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| [")]
    refused = sum(bool(thread.refused) for thread in THREADS)
    assert len(rows) == len(THREADS) >= 30
    assert PAGE.startswith(script.head(len(THREADS), len(THREADS) - refused, refused))
    assert "right cause of 60," in script.head(67, 60, 7) and "names none for 7." in script.head(67, 60, 7)


def test_threads_are_public_and_different() -> None:
    links = [thread.link for thread in THREADS]
    assert len(set(links)) == len(links)
    assert all(re.fullmatch(r"https://[\w./-]+/\d+", link) for link in links)
    assert {thread.model for thread in THREADS} <= set(models.KINDS)


def test_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["doods2"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("right    https://github.com/snowzach/doods2/issues/108\n         channel_order: ")
    assert printed.endswith("1 threads: 1 right; 0 failed\n")
