"""Print text, tables and JSON: on a terminal with rich's tables and colours if it is installed, else as plain text."""

from __future__ import annotations

import importlib.util
import json
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from ..reports import VERDICTS, Report, Reports, summary_line
from ..support import isolated

_STYLES = {
    **dict.fromkeys(VERDICTS, "bold red"),
    "error": "bold red",
    "match": "bold green",
    "ambiguous": "bold yellow",
}

_BORDERS = 3  # columns that a cell has beside its text


def show(text: str) -> None:
    """Print one line or more to stdout."""
    print(text)


def show_json(value: Any) -> None:
    """Print `value` as JSON to stdout."""
    print(json.dumps(value, indent=1, allow_nan=False))


def _is_rich() -> bool:
    return sys.stdout.isatty() and importlib.util.find_spec("rich") is not None


def _width(text: str) -> int:
    """Return the characters that a terminal shows of `text`: isolates and other marks have no width."""
    return len(text) if text.isascii() else sum(unicodedata.category(c) != "Cf" for c in text)


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print rows, which have a cell for each heading; verdicts are coloured.

    On a terminal that is too narrow for the headings, a row is a line for each cell.
    """
    cells = [[isolated(str(cell)) for cell in row] for row in rows]
    if not _is_rich():
        widths = [max(map(_width, column)) for column in zip(headings, *cells)]
        for row in (headings, *cells):
            print("  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths)).rstrip(" "))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = Console()
    if sum(_width(heading) + _BORDERS for heading in headings) >= terminal.width:
        longest = max(map(_width, headings))
        for row in cells:
            lines = (Text(f"{h:{longest}}  ").append(cell, _STYLES.get(cell)) for h, cell in zip(headings, row) if cell)
            terminal.print(*lines, "", sep="\n")
        return
    drawn = Table(*headings)
    for row in cells:
        drawn.add_row(*(Text(cell, _STYLES.get(cell, ""), overflow="fold") for cell in row))
    terminal.print(drawn)


def show_report(report: Report) -> None:
    """Print one recording's report; on a terminal, a table of its outputs precedes the text."""
    if _is_rich():
        rows = []
        for found in report.findings:
            f = getattr(found, "figures", None)
            figures = ("",) * 4
            if f is not None:
                steps = "" if f.max_steps is None else f"{f.max_steps:.1f}"
                figures = (f"{f.snr_db:.1f}", f"{f.cosine:.7f}", f"{f.max_abs:.6g}", steps)
            rows.append((found.title, found.verdict, *figures))
        table(("output", "verdict", "SNR dB", "cosine", "largest error", "steps"), rows)
    show(str(report))


def show_reports(reports: Reports) -> None:
    """Print a table of the recordings that do not match, and how many there are of each verdict."""
    rows = []
    for path, result in reports.items():
        if isinstance(result, str):
            rows.append((path, "error", "", result))
        elif not result:
            failed = [found for found in result.findings if not found]
            names = ", ".join(found.title for found in failed)
            rows.append((path, result.verdict, names, failed[0].why if failed else result.note))
    if rows:
        table(("recording", "verdict", "outputs", "why"), rows)
    show(summary_line(reports))
