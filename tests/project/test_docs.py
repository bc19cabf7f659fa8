"""The code of the README and of every page of the documentation runs and prints what is shown; docstrings hold
examples; every public name is in the reference. The slow tests build the pages and look at them in a browser."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

import npu_layout as nl
from npu_layout.engines import registry
from tests.support.browser import Browser
from tests.support.paths import ROOT

README, DOCS = ROOT / "README.md", ROOT / "docs"
sys.path.insert(0, str(DOCS))
import blocks  # noqa: E402

PAGES = sorted(path.relative_to(DOCS).as_posix() for path in (*DOCS.glob("*.md"), *DOCS.glob("contributing/*.md")))
WRITTEN = {"index", "start", "layouts", "vendors", "decoding", "streams", "proving", "kernels"}
# Without code to run: definitions, the house, and recipes, which change the library; test_contributing.py checks what
# recipes name.
PROSE = {"architecture", "glossary", *(f"contributing/{path.stem}" for path in DOCS.glob("contributing/*.md"))}


def test_readme_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    monkeypatch.chdir(tmp_path)
    assert blocks.run(README) == 3


def test_the_readme_has_what_a_visitor_looks_for() -> None:
    """Five capabilities with a link each, one sentence on speed, and `validate` in ten lines."""
    text = README.read_text(encoding="utf-8")
    parts = dict(re.findall(r"^## (.+)\n\n((?:(?!## ).*\n)*)", text, re.M))
    does = re.findall(r"^- (.*(?:\n  \S.*)*)", parts["What it does"], re.M)
    assert len(does) == 5
    for capability in does:
        assert re.search(r"^\*\*It .*\(\[[\w ]+\]\(docs/\w+\.md\)\)\.$", capability, re.S), capability
        assert not re.search(r"[.?!]\s+[A-Z]", capability), f"more than one sentence: {capability}"
    assert len(re.findall(r"\.(?:\s|$)", parts["Speed"])) == 1 and "(docs/pictures/speed.svg)" in parts["Speed"]
    assert len([line for line in blocks.blocks(README)[2].code.splitlines() if line]) <= 10


def test_the_price_of_no_compiler_is_what_the_benchmark_says() -> None:
    """README and the first page name how much longer numpy takes: of the last run, to a quarter."""
    rows = json.loads((DOCS / "benchmarks.json").read_text(encoding="utf-8"))["conversions"]["rows"]
    ratios = [(row["case"], float(row["levels"][-1]) / float(row["levels"][0])) for row in rows if row["levels"]]
    conversions = [ratio for case, ratio in ratios if " -> " in case]
    decoders = [ratio for case, ratio in ratios if case.startswith("detect ")]
    for page in (README, DOCS / "start.md"):
        text = " ".join(page.read_text(encoding="utf-8").split())
        said = re.search(r"conversions take up to (\d+) times as long, decoders (\d+) to (\d+) times", text)
        assert said, page
        assert [int(n) for n in said.groups()] == pytest.approx(
            [max(conversions), min(decoders), max(decoders)], rel=0.25
        )


def test_the_readme_counts_the_runtimes_of_the_table() -> None:
    """Each kind of engine has a row in docs/vendors.md, and a runtime may have several."""
    table = (DOCS / "vendors.md").read_text(encoding="utf-8").partition("| runtime | specs | engine |")[2]
    runtime, kinds = "", {}
    for row in table.partition("\n\n")[0].splitlines()[2:]:
        name, _, engine = (cell.strip() for cell in row.strip("|").split("|", 2))
        runtime = name or runtime
        kinds.update(dict.fromkeys(re.findall(r"^`([\w-]+):`", engine), runtime))
    said = re.search(r"any of (\d+) runtimes", README.read_text(encoding="utf-8"))
    assert said and int(said[1]) == len(set(kinds.values()))
    assert set(kinds) == set(registry.OWN)


def test_there_are_pages_with_code() -> None:
    assert {f"{name}.md" for name in WRITTEN} <= set(PAGES)
    assert {f"{name}.md" for name in PROSE} <= set(PAGES) and len(PROSE) > 6
    counts = {name: len(blocks.blocks(DOCS / name)) for name in PAGES}
    for name in PROSE:
        found = blocks.blocks(DOCS / f"{name}.md")
        commands = [line for b in found for line in b.code.splitlines()]
        assert all(line.startswith(f"$ {blocks.NOT_REPEATED}") for line in commands), name
    assert all(counts[f"{name}.md"] for name in WRITTEN), counts
    shown = [block for name in PAGES for block in blocks.blocks(DOCS / name) if block.output]
    assert sum(counts.values()) > 60 and len(shown) > 30


@pytest.mark.parametrize("name", [name for name in PAGES if blocks.blocks(DOCS / name)])
def test_a_page_runs(name: str, tmp_path: Path) -> None:
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    command = [sys.executable, "-W", "error", str(DOCS / "blocks.py"), str(DOCS / name)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout) == len(blocks.blocks(DOCS / name))
    pictures = re.findall(r"\]\(made/([^)]+)\)", blocks.text(DOCS / name))
    assert all((tmp_path / picture).stat().st_size for picture in pictures)
    assert pictures or name != "layouts.md"


def test_the_memory_of_every_format_is_drawn() -> None:
    drawn = set(re.findall(r"\]\(made/(\w+)\.svg\)", blocks.text(DOCS / "frames.md")))
    with pytest.raises(nl.NpuLayoutError, match="expected one of ") as error:
        nl.FrameSpec("none", (8, 4))
    known = str(error.value).partition("expected one of ")[2].partition(", got")[0].split(", ")
    assert len(known) == 38 and drawn == {*known, "pitch"} - {"MJPEG"}


def test_every_page_is_in_the_contents() -> None:
    trees = re.findall(r"^```{toctree}\n(.*?)^```", (DOCS / "index.md").read_text(encoding="utf-8"), re.M | re.S)
    listed = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    assert len(listed) == len(set(listed))
    assert {f"{name}.md" for name in listed} - {"reference/index.md"} == set(PAGES) - {"index.md"}


def test_the_glossary_is_a_list_of_definitions() -> None:
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^(\w.*)\n: \S", text, re.M)
    assert len(terms) == len(set(terms)) == text.count("\n: ") > 30
    for entry in re.findall(r"^: (.*(?:\n  \S.*)*)", text, re.M):
        assert entry.endswith(".") and len(entry) < 420, entry


def test_outputs_are_compared(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n\n```text\n1\n```\n\n```console\n$ echo a b\na ...\n```\n")
    assert blocks.run(page) == 2
    for code in (
        "```python\nprint(1)\n```\n\n```text\n2\n```\n",
        "```python\nassert False\n```\n",
        "```console\n$ echo a\nb\n```\n",
        "```console\n$ false\n```\n",
        "```console\n$ exit 2\n...\n```\n",
        "```text\nan output of nothing\n```\n",
        "```c\nint x;\n```\n",
    ):
        page.write_text(code)
        with pytest.raises(AssertionError):
            blocks.run(page)


def test_docstrings_have_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = [importlib.import_module(m.name) for m in pkgutil.walk_packages(nl.__path__, "npu_layout.")]
    examples = sum(len(test.examples) for module in modules for test in finder.find(module))
    assert examples > 20


def documented() -> Iterator[str]:
    """The dotted names that the reference has a directive for."""
    for page in sorted((DOCS / "reference").glob("*.rst")):
        module = ""
        for directive, name, members in re.findall(
            r"^\.\. (currentmodule|auto\w+):: ([\w.]+)(?:\(\))?((?:\n   :.*)*)", page.read_text(), re.M
        ):
            if directive in ("currentmodule", "automodule"):
                module = name
                yield from (f"{module}.{member}" for member in re.findall(r"\w+", members.partition(":members:")[2]))
            else:
                yield f"{module}.{name}"


def test_the_reference_is_complete() -> None:
    there = set(documented())
    modules = {name for name in nl.__all__ if inspect.ismodule(getattr(nl, name))}
    assert modules == {"decode", "exchange", "kernels", "ops", "specs", "streams", "testing"}
    wanted = {f"npu_layout.{name}" for name in set(nl.__all__) - modules}
    wanted |= {f"npu_layout.specs.{name}" for name in nl.specs.__all__}
    wanted |= {f"npu_layout.decode.{name}" for name in nl.decode.__all__}
    wanted |= {f"npu_layout.streams.{name}" for name in nl.streams.__all__}
    wanted |= {"npu_layout.exchange.load", "npu_layout.exchange.save", "npu_layout.pytest_plugin.assert_matches"}
    assert not wanted - there and ".. automodule:: npu_layout.ops\n   :members:" in "".join(
        page.read_text() for page in (DOCS / "reference").glob("*.rst")
    )


def test_the_files_of_the_core_are_all_explained() -> None:
    """The table of docs/kernels.md has a row, or a part of one, for each C file, and no other."""
    page = (DOCS / "kernels.md").read_text(encoding="utf-8")
    files = page[page.index("## The files") : page.index("## Levels")]
    named = re.findall(
        r"`(\w+\.c)`", "".join(line.split("|")[1] for line in files.splitlines() if line.startswith("| `"))
    )
    assert sorted(named) == sorted(path.name for path in (ROOT / "npu_layout/kernels/csrc").glob("*.c"))


def test_the_verdicts_are_all_explained() -> None:
    from npu_layout.reports.report import VERDICTS

    rows = re.findall(r"^\| `(\w+)` \|", (DOCS / "proving.md").read_text(encoding="utf-8"), re.M)
    assert tuple(rows) == VERDICTS


@pytest.fixture(scope="module")
def built() -> Path:
    """The pages, made by scripts/docs, which fails on any warning."""
    done = subprocess.run([str(ROOT / "scripts" / "docs")], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "build" / "docs"


OVERFLOW = "document.scrollingElement.scrollWidth - document.documentElement.clientWidth"
BROKEN = "[...document.images].filter(i => !(i.complete && i.naturalWidth)).map(i => i.src)"
LINKS = "[...document.querySelectorAll('article a[href]')].map(a => a.href)"
# What is wider than its place must scroll within it.
CUT = """[...document.querySelectorAll('article pre, article table, article img')].filter(e => {
    for (let p = e; p.tagName != 'ARTICLE'; p = p.parentElement)
        if (['auto', 'scroll'].includes(getComputedStyle(p).overflowX)) return false;
    return e.getBoundingClientRect().right > document.documentElement.clientWidth;
}).map(e => e.outerHTML.slice(0, 200))"""


@pytest.mark.slow
def test_the_pages_in_a_browser(built: Path, tmp_path: Path) -> None:
    pages = sorted(path for path in built.rglob("*.html") if path.name != "report.html" and "_static" not in path.parts)
    assert len(pages) > 15
    ids: dict[str, set[str]] = {}
    links: set[str] = set()
    with Browser(tmp_path) as browser:
        for page in pages:
            for width, dark in ((400, False), (1400, True)):
                browser.show(page, width, dark)
                assert browser.run(OVERFLOW) <= 0, f"{page.name} is wider than {width} pixels"
                assert browser.run(CUT) == [], f"{page.name} at {width} pixels"
            assert browser.run(BROKEN) == []
            ids[page.as_uri()] = set(browser.run("[...document.querySelectorAll('[id]')].map(e => e.id)"))
            links |= set(browser.run(LINKS))
        assert browser.console == []
        outside = {url for url in browser.requests if not url.startswith(("file:", "data:"))}
        assert not outside, "something comes from elsewhere"
    local = {link for link in links if link.startswith("file:")}
    assert len(local) > 100
    for link in local:
        address, _, fragment = link.partition("#")
        if address in ids:
            assert not fragment or fragment in ids[address], link
        else:
            assert Path(unquote(address[len("file://") :])).is_file(), link
