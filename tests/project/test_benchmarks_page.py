"""BENCHMARKS.md and the README's chart are what scripts/benchmarks_page.py makes of docs/benchmarks.json."""

from __future__ import annotations

import html
import json
import re
import runpy

from tests.support.paths import ROOT


def test_the_page_and_the_chart_are_what_the_script_makes() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "benchmarks_page.py"))
    data = json.loads((ROOT / "docs" / "benchmarks.json").read_text(encoding="utf-8"))
    assert (ROOT / "BENCHMARKS.md").read_text(encoding="utf-8") == script["page"](data)
    chart = (ROOT / "docs" / "pictures" / "speed.svg").read_text(encoding="utf-8")
    assert chart == script["chart"](data)
    labels = re.findall(r'<text x="(\d+)" y="\d+" text-anchor="end" [^>]*>([^<]*)<', chart)
    assert len(labels) > 5
    for right, label in labels:  # ends there; a letter of 12 pixels is 6 or 7 wide
        assert 6.5 * len(html.unescape(label)) < int(right), label


def test_the_readme_says_what_the_rows_say() -> None:
    rows = json.loads((ROOT / "docs" / "benchmarks.json").read_text(encoding="utf-8"))["conversions"]["rows"]
    ahead = sum(float(row["ours"]) < float(row["peer"]) for row in rows)
    median = sorted(float(row["faster"]) for row in rows)[len(rows) // 2]
    said = re.search(r"(\d+) of (\d+)\s+rows\s.*?by a median of ([\d.]+) times", readme(), re.S)
    assert said and said.groups() == (str(ahead), str(len(rows)), str(median))


def test_the_page_counts_as_the_readme_does() -> None:
    """Rows ahead by the digits of the table; those said to be ahead and those listed as lost are all rows."""
    page = (ROOT / "BENCHMARKS.md").read_text(encoding="utf-8")
    ahead, every = re.search(r"by state: warm (\d+) of (\d+), ", page).groups()  # type: ignore[union-attr]
    lost, again = re.search(r"in (\d+) of (\d+) rows, on warm buffers:", page).groups()  # type: ignore[union-attr]
    assert every == again and int(ahead) + int(lost) == int(every)
    said = re.search(r"(\d+) of (\d+)\s+rows", readme())
    assert said and said.groups() == (ahead, every)
    whole = page.partition("\n## Conversions\n")[2].partition("\n\n|")[2].partition("\n\n")[0].splitlines()[2:]
    assert len(whole) == int(every)
    cells = [row.strip("|").split("|") for row in whole]
    assert sum(float(cell[2].split()[0]) < float(cell[4].split()[0]) for cell in cells) == int(ahead)


def test_the_readme_is_short() -> None:
    assert len(readme().splitlines()) <= 130


def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")
