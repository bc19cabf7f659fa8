"""Names in running text: marks of direction stay within their name, and nothing moves a terminal's cursor."""

from __future__ import annotations

import random

import pytest

from npu_layout.support import isolated, quoted
from tests.support.directions import MARKS, outside_of_isolates


@pytest.mark.parametrize("name", ["", "heat", "caf\u00e9", "\u65e5\u672c", "a b'c", "\U0001f600"])
def test_names_without_marks_stay_as_they_are(name: str) -> None:
    assert isolated(name) == name and quoted(name) == repr(name)


@pytest.mark.parametrize("mark", MARKS)
def test_marks_stay_within_their_name(mark: str) -> None:
    shown = isolated(f"a{mark}b")
    assert f"a{mark}b" in shown and shown.startswith("\u2068") and shown.endswith("\u2069")
    assert not outside_of_isolates(f"x {shown} y") and outside_of_isolates(f"x a{mark}b y")
    assert quoted(f"a{mark}b").isascii() and repr(f"a{mark}b") == quoted(f"a{mark}b")


@pytest.mark.parametrize("letters", ["\u05d0\u05d1", "\u0627", "\u0661\u0662", "\u07ca"])
def test_letters_from_right_to_left_are_isolated(letters: str) -> None:
    assert isolated(letters) == f"\u2068{letters}\u2069" and quoted(letters) == f"\u2068'{letters}'\u2069"


def test_no_order_of_marks_leaves_the_isolates() -> None:
    rng = random.Random(5)
    for _ in range(2000):
        name = "".join(rng.choice(f"{MARKS}ab\u05d0\n\x1c") for _ in range(rng.randrange(9)))
        assert not outside_of_isolates(f"x {isolated(name)} y {isolated(isolated(name))}")


@pytest.mark.parametrize("control", ["\x00", "\x07", "\x1b", "\n", "\r", "\t", "\x7f", "\x9b", "\u2028", "\ud800"])
def test_controls_are_escaped(control: str) -> None:
    shown = isolated(f"a{control}\u202eb")
    assert control not in shown and repr(control)[1:-1] in shown and len(shown.splitlines()) == 1
