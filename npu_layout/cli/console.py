"""What the command line says: rich's tables and colours where it is installed and somebody looks, else plain text."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from ..reports import VERDICTS, Report, Reports, summary_line

_STYLES = {
    **dict.fromkeys(VERDICTS, "bold red"),
    "error": "bold red",
    "match": "bold green",
    "ambiguous": "bold yellow",
}


def say(text: str) -> None:
    """Print one line or more on stdout."""
    print(text)


def say_json(value: Any) -> None:
    """`value` as JSON on stdout."""
    print(json.dumps(value, indent=1, allow_nan=False))


def _looked_at() -> bool:
    return sys.stdout.isatty() and importlib.util.find_spec("rich") is not None


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Rows of a cell for each heading; verdicts are coloured."""
    cells = [[str(cell) for cell in row] for row in rows]
    if not _looked_at():
        widths = [max(map(len, column)) for column in zip(headings, *cells)]
        for row in (headings, *cells):
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(*headings)
    for row in cells:
        shown.add_row(*(Text(cell, _STYLES.get(cell, ""), overflow="fold") for cell in row))
    Console().print(shown)


def say_report(report: Report) -> None:
    """One recording's report: before its text, a table of what was judged where somebody looks."""
    if _looked_at():
        rows = []
        for found in report.findings:
            f = getattr(found, "figures", None)
            figures = ("",) * 4
            if f is not None:
                steps = "" if f.max_steps is None else f"{f.max_steps:.1f}"
                figures = (f"{f.snr_db:.1f}", f"{f.cosine:.7f}", f"{f.max_abs:.6g}", steps)
            rows.append((found.title, found.verdict, *figures))
        table(("output", "verdict", "SNR dB", "cosine", "largest error", "steps"), rows)
    say(str(report))


def say_reports(reports: Reports) -> None:
    """Many recordings: a table of those that do not match, and how many there are of each verdict."""
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
    say(summary_line(reports))
