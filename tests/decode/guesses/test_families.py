"""The families that guesses try: each makes heads of the number of classes that it is asked for."""

from __future__ import annotations

import pytest

from npu_layout import decode
from npu_layout.decode.guesses.families import FAMILIES, QUERIES
from npu_layout.decode.guesses.family import Family

EVERY = [*FAMILIES, *QUERIES]


@pytest.mark.parametrize("family", EVERY, ids=[family.word for family in EVERY])
def test_families_make_heads(family: Family) -> None:
    made = [family.make(n, family.activations[0]) for n in (1, 7)]
    assert all(isinstance(head, decode.Head) for head in made)
    assert made[0].classes == 1 and made[1].classes in (1, 7)  # faces have one
    others = {family.make(7, activation) for activation in family.activations}
    assert len(others) == len(family.activations)
    if family.anchors > 1:
        assert {len(level) for level in made[1].anchors} == {family.anchors}


def test_words_are_of_one_family_each() -> None:
    assert len({family.word for family in EVERY}) == len(EVERY)
