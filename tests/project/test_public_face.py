"""The public names and signatures stay as they are written down, and their docstrings say what a user has to know."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Iterator

import pytest

import npu_layout
from tests.public_face import FILE, Item, is_annotation, items, lines, modules

ITEMS = {item.name: item for item in items()}
SHAPE = re.compile(r"\b(shapes?|axes|axis|1-D|flat|views?|planes?)\b|\([A-Za-z0-9]+, ?[A-Za-z0-9]")
DTYPE = re.compile(r"\b(dtypes?|u?int(8|16|32|64)|float(16|32|64)|bool|bytes)\b")
ERROR = re.compile(r"\b[A-Z]\w*Error\b|[Rr]aises\s+nothing")
UNITS = {  # end of a parameter's name: words of which its docstring has one
    "_wh _xy _xyxy _ltrb": r"pixels?",
    "strides storage_offset": r"elements?|bytes?|pixels?",
    "mean std": r"units",
    "cache_line width": r"bytes?|pixels?",
    "threads": r"threads?",
}


def test_names_and_signatures() -> None:
    """As in public_face.txt, so that a user's program is broken by nobody unawares."""
    written = FILE.read_text(encoding="utf-8").splitlines()
    changes = [
        line for line in difflib.unified_diff(written, lines(), n=0, lineterm="") if line[:2] not in ("--", "++", "@@")
    ]
    if changes:
        pytest.fail(
            "The public face is another than tests/public_face.txt says:\n  "
            + "\n  ".join(changes)
            + "\nIf that is meant: python -m tests.public_face, and a line in CHANGELOG.md for whom it breaks.",
            pytrace=False,
        )


def own(item: Item) -> str:
    held = item.held.fget if isinstance(item.held, property) else item.function or item.held
    return "" if is_annotation(held) or isinstance(held, dict) else held.__doc__ or ""


def documented(item: Item) -> str:
    """Its docstring, and those of the public names to which that points, in backticks."""
    home = item.name.rpartition(".")[0]
    pointed = re.findall(r"`~?([\w.]+)`", own(item))
    found = (ITEMS.get(f"{at}.{name}") for name in pointed for at in (home, home.rpartition(".")[0], "npu_layout"))
    return "\n".join([own(item), *(own(other) for other in found if other)])


def around(item: Item) -> str:
    """What else holds for it: the docstrings of its class and its module."""
    names = [module for module in modules() if item.name.startswith(f"{module.__name__}.")]
    return f"{documented(item)}\n{(item.owner or item).__doc__ if item.owner else ''}\n{names[-1].__doc__}"


def parameters(item: Item) -> list[inspect.Parameter]:
    if not item.function:
        return []
    return [p for p in inspect.signature(item.function).parameters.values() if p.name not in ("self", "cls")]


def complaints(item: Item) -> Iterator[str]:
    if is_annotation(item.held) or isinstance(item.held, dict):
        if not re.search(rf"\b{item.name.rpartition('.')[2]}\b", around(item)):
            yield "the docstring of its class or module does not name it"
        return
    if not own(item).strip():
        yield "no docstring"
        return
    given = parameters(item)
    for p in given:
        if not re.search(rf"\b{p.name}\b", around(item)):
            yield f"does not say what {p.name} is"
        for ends, words in UNITS.items():
            if p.name.endswith(tuple(ends.split())) and not re.search(rf"\b({words})\b", around(item)):
                yield f"does not say the unit of {p.name}: {words}"
    if given and not ERROR.search(documented(item)):
        yield 'does not say which errors it raises (or "Raises nothing")'
    if item.function and "ndarray" in item.line:
        if not SHAPE.search(documented(item)):
            yield "does not say what shape its arrays have"
        if not DTYPE.search(documented(item)):
            yield "does not say what dtype its arrays have"


def test_docstrings_say_what_a_user_has_to_know() -> None:
    """Every parameter, its unit, the shape and dtype of arrays, and errors."""
    assert len(ITEMS) > 200 and sum(len(parameters(item)) for item in ITEMS.values()) > 200
    found = [f"{item.name}: {complaint}" for item in ITEMS.values() for complaint in complaints(item)]
    assert not found, "\n".join(["docstrings that leave something out:", *found])


def test_the_rule_finds_what_is_left_out() -> None:
    def bare(x: int, size_wh: int) -> None:
        """Does it."""

    found = list(complaints(Item("npu_layout.bare", bare, None, "npu_layout.bare(x: np.ndarray)")))
    assert [text.split(" ")[0] for text in found] == ["does"] * 6 and "size_wh: pixels?" in found[2]


def test_dir_shows_the_public_names_only() -> None:
    assert {name for name in dir(npu_layout) if not name.startswith("__")} == set(npu_layout.__all__)
