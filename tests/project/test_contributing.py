"""What CONTRIBUTING.md and its recipes name exists: files, and the functions and tables that they are said to have."""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import npu_layout as nl
from tests.support.paths import ROOT

RECIPES = sorted((ROOT / "docs" / "contributing").glob("*.md"))
PAGES = [ROOT / "CONTRIBUTING.md", *RECIPES]
HOUSE = Path(nl.__file__).parent

if not (ROOT / "noxfile.py").exists():
    pytest.skip("beside an installed wheel there are tests alone: no pages, no C", allow_module_level=True)

_LINK = re.compile(r"\]\(([^)#]+)(#[^)]*)?\)")
_CODE = re.compile(r"`([^`\n]+)`")
# In the text of a recipe: a name of Python's or C's; WING, ROOM, VENDOR and NAME stand for any.
_NAME = re.compile(r"(?:\w+\.)*([A-Za-z_]\w+)(?:\(.*\))?")
_PATH = re.compile(r"(?:npu_layout|tests|scripts|docs|samples)/[\w./]*")
_ANY = re.compile(r"WING|ROOM|VENDOR|NAME")
_LISTED = r"((?:`\w+`(?:,| and| or)? )+)"
_SAID_TO_BE_IN = re.compile(_LISTED + r"(?:\([^()]*\) )?(?:in|of) (?:the )?\[[^]]*\]\(([^)#]+)\)")


def there(path: str) -> bool:
    """Whether a path of the repository exists; the package may be installed elsewhere, without the checkout's own."""
    if path.startswith(".github") and not (ROOT / ".github").exists():
        return True  # a source distribution has none
    return (ROOT / path).exists() or (path.split("/")[0] == "npu_layout" and (HOUSE.parent / path).exists())


def links(page: Path) -> Iterator[str]:
    """The paths, from the root, of the page's links."""
    for target, _ in _LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in target:
            # Not resolve(): the root may be reached by a symbolic link.
            parts: list[str] = []
            for part in (*page.parent.relative_to(ROOT).parts, *target.split("/")):
                if part == "..":
                    parts.pop()
                else:
                    parts.append(part)
            yield "/".join(parts)


def code(page: Path) -> Iterator[str]:
    """What stands in backticks, blocks of commands left out."""
    yield from _CODE.findall(re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S))


def named_paths(page: Path) -> set[str]:
    """The paths of links, of what stands in backticks, and of commands."""
    written = set(links(page))
    for found in code(page):
        written.update(_PATH.findall("" if _ANY.search(found) else found))
    commands = re.findall(r"^ {4}(?:python )?(scripts/\S+.*)$", page.read_text(encoding="utf-8"), re.M)
    written.update(path for line in commands for path in _PATH.findall(line.partition("#")[0]))
    return written


def names(page: Path) -> set[str]:
    """The functions, classes, fields and tables in backticks: the last part of a dotted name, without its call."""
    found = {match[1] for match in map(_NAME.fullmatch, code(page)) if match}
    return {name for name in found if not _ANY.search(name)}


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def sources() -> Iterator[Path]:
    for folder in (HOUSE, ROOT / "tests", ROOT / "scripts"):
        for path in folder.rglob("*"):
            if path.suffix in (".py", ".c", ".h") and path != Path(__file__) and "__pycache__" not in path.parts:
                yield path
    yield from (ROOT / "npu_layout").rglob("*.[ch]")  # in a wheel there are none


@cache
def words() -> frozenset[str]:
    """Every identifier of the sources, and the modules' own names."""
    every: set[str] = set()
    for path in set(sources()):
        every.update(re.findall(r"\w+", text_of(path)))
        every.add(path.stem if path.stem != "__init__" else path.parent.name)
    return frozenset(every)


def test_lines_fit_an_editor() -> None:
    for page in PAGES:
        long = [line for line in page.read_text(encoding="utf-8").splitlines() if len(line) > 120]
        assert not long, f"{page.name}: more than 120 characters: {long[0]}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_exists(page: Path) -> None:
    paths = named_paths(page)
    assert paths, "a recipe links the files that it is about"
    missing = sorted(path for path in paths if not there(path))
    assert not missing, f"{page.name} names {missing}: moved or renamed?"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_name_exists(page: Path) -> None:
    missing = sorted(name for name in names(page) if name not in words())
    assert not missing, f"{page.name} names {missing}: renamed?"


def places(page: Path) -> Iterator[tuple[str, str]]:
    """(name, path) where the page has "`name` in [file](path)" or "`name` of [file](path)"; lists of names too."""
    text = re.sub(r"\s+", " ", page.read_text(encoding="utf-8"))
    for listed, target in _SAID_TO_BE_IN.findall(text):
        for name in re.findall(r"`(\w+)`", listed):
            yield name, target.replace("../", "")


def test_names_are_in_the_files_that_they_are_said_to_be_in() -> None:
    found = 0
    for page in RECIPES:
        for name, path in places(page):
            file = ROOT / path if (ROOT / path).exists() else HOUSE.parent / path
            assert re.search(rf"\b{name}\b", text_of(file)), f"{page.name}: {name} is not in {path}"
            found += 1
    assert found > 25


def test_contributing_is_one_page_that_links_every_recipe() -> None:
    text = PAGES[0].read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 100 and len(RECIPES) >= 6
    assert {path.relative_to(ROOT).as_posix() for path in RECIPES} <= set(links(PAGES[0]))


def from_the_top_down(rows: list[str], contract: str) -> bool:
    """Whether these are in the order of the layers of a contract in setup.cfg; a KeyError where one is in none."""
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    layers = settings[f"importlinter:contract:{contract}"]["layers"].splitlines()
    at = {name: floor for floor, line in enumerate(layers) for name in re.findall(r"\w+", line)}
    return [at[row] for row in rows] == sorted(at[row] for row in rows)


def test_the_table_of_wings_is_complete() -> None:
    """The wings in the order of the floors in setup.cfg, from the top down."""
    rows = re.findall(r"^\| `(\w+)` \|", PAGES[0].read_text(encoding="utf-8"), re.M)
    wings = {path.parent.name for path in HOUSE.glob("*/__init__.py")}
    assert len(rows) == len(wings) and set(rows) == wings
    assert from_the_top_down(rows, "floors")


def test_parts_of_a_wing_have_a_map() -> None:
    """docs/architecture.md has a table for each wing whose rooms are all in parts, with a row for each part."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    parts: dict[str, set[str]] = {}
    for door in HOUSE.glob("*/*/__init__.py"):
        if {path.name for path in door.parent.parent.glob("*.py")} == {"__init__.py"}:
            parts.setdefault(door.parent.parent.name, set()).add(door.parent.name)
    assert parts.keys() == {"decode", "diagnosis"}
    for wing, names_of in parts.items():
        table = re.search(rf"^\| `{wing}` \| its one idea \|.*\n((?:\|.*\n)+)", page, re.M)
        assert table is not None, f"{wing} has parts, and no table in docs/architecture.md"
        rows = re.findall(r"^\| `(\w+)` \|", table[1], re.M)
        assert len(rows) == len(names_of) and set(rows) == names_of and from_the_top_down(rows, wing)


def test_what_is_missing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    page, known = ROOT / "docs" / "contributing" / "layout_name.md", words()
    wrong = page.read_text(encoding="utf-8").replace("_ENTRIES", "_NO_ENTRIES").replace("/vendor_names.py", "/names.py")
    monkeypatch.setattr(Path, "read_text", lambda self, **_: wrong)
    assert names(page) - known == {"_NO_" + "ENTRIES"}
    assert [path for path in named_paths(page) if not there(path)] == ["npu_layout/layouts/names.py"]
    assert ("_NO_" + "ENTRIES", "npu_layout/layouts/names.py") in set(places(page))
