"""The lines of a picture contain the whole buffer, once, in address order."""

from __future__ import annotations

import math

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.drawing.memory_lines import (
    BUDGET,
    MOST,
    Roles,
    Token,
    choose_part,
    contains_element,
    lines,
    roles,
    tokens,
    words,
)
from tests.support import oracle
from tests.support.specs import EACH_SPEC, place


@EACH_SPEC
def test_what_holds_an_element(spec: nl.TensorSpec) -> None:
    used = {place(spec, index) for index in oracle.indices(spec.shape)}
    for low, end in ((0, spec.size), (spec.size // 3, spec.size // 2 + 1)):
        assert contains_element(spec.storage, low, end).tolist() == [at in used for at in range(low, end)]


@EACH_SPEC
def test_lines_hold_the_whole_buffer_in_address_order(spec: nl.TensorSpec) -> None:
    found = nl.explain(spec)
    used = {place(spec, index): index for index in oracle.indices(spec.shape)}
    at = 0
    for token in [token for line in lines(spec.storage, found.part) for token in line]:
        assert token.address == at
        span = range(at, at + token.elements)
        if token.kind == "cell":
            assert used[at] == token.place
        elif token.kind == "pad" or token.padding:
            assert not used.keys() & set(span)
        at = span.stop
    assert at == spec.size
    shown = [token.place for token in tokens(spec.storage, found.part) if token.kind == "cell"]
    wanted = [index for index in used.values() if all(i in found.part[a] for a, i in zip(spec.axes, index))]
    assert sorted(shown) == sorted(wanted) and len(shown) <= 330


def test_lines_are_long_where_no_number_divides_an_axis() -> None:
    found = nl.explain("HWCN", (2, 17, 5, 4))
    widths = [sum(token.kind == "cell" for token in line) for line in lines(found.spec.storage, found.part)]
    assert widths == [18, 16] * 6  # 17 channels of 2 images are 9 and 8


def test_roles_of_axes() -> None:
    assert roles("NCHW") == Roles("C", "H", "W", "N")
    assert roles("NCDHW") == Roles("C", "H", "W", "ND") and roles("NCDHW").planes == "NDC"
    assert roles("OIHW") == Roles("I", "H", "W", "O")
    assert roles("C") == Roles("C", "", "C", "") and roles("C").planes == ""


@EACH_SPEC
def test_the_part_contains_the_focus_and_its_reach(spec: nl.TensorSpec) -> None:
    """Whatever is asked for is shown, within the tensor; a small tensor is shown whole."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        focus = {a: int(rng.integers(n)) for a, n in zip(spec.axes, spec.shape)}
        most = {a: min(1 if a in roles(spec.axes).others else 3, n - focus[a]) for a, n in zip(spec.axes, spec.shape)}
        reach = {a: int(rng.integers(1, n + 1)) for a, n in most.items()}
        part = choose_part([spec.storage], focus, reach)
        for a, n in zip(spec.axes, spec.shape):
            assert part[a].start <= focus[a] and focus[a] + reach[a] <= part[a].stop <= n
        if spec.size <= 150 and max(spec.shape) <= 12:
            assert all(len(part[a]) == n for a, n in zip(spec.axes, spec.shape))


def test_a_part_of_a_large_tensor_is_a_readable_one() -> None:
    spec = nl.TensorSpec((8, 640, 480, 640), "NCHW")
    part = choose_part([spec.storage], {"C": 100}, {})
    cells = np.prod([len(span) for span in part.values()])
    assert cells <= BUDGET and part["C"].start == 100
    wanted = choose_part([spec.storage], {}, {}, (1, 2, 3, 999))
    assert wanted == {"N": range(1), "C": range(2), "H": range(3), "W": range(640)}


def test_the_words_of_a_line() -> None:
    found = nl.explain("NHWC", (1, 3, 2, 2))
    every = [words(found.spec.storage, line) for line in lines(found.spec.storage, found.part)]
    assert every == ["h0-1 w0-1 c0-2"]
    assert words(found.spec.storage, [Token(0, "pad"), Token(1, "skip", 30, padding=True)]) == "padding"
    assert words(found.spec.storage, [Token(0, "skip", 30)]) == ""


def test_the_most_that_a_picture_shows() -> None:
    storage = nl.TensorSpec((1, 3, 100, 100)).storage
    assert {a: len(r) for a, r in choose_part([storage], {}, {}, (1, 1, 64, 64)).items()} == dict(
        zip("NCHW", (1, 1, 64, 64))
    )
    for wanted in ((1, 1, 64, 65), (1, 3, 100, 100), (5, 3, 10**9, 10**9)):
        with pytest.raises(nl.LayoutError, match=f"part .*: a picture shows at most {MOST} elements, this part has "):
            choose_part([storage], {}, {}, wanted)
    small = nl.TensorSpec((1, 3, 4, 4)).storage
    assert sum(len(r) for r in choose_part([small], {}, {}, (9, 9, 10**9, 10**9)).values()) == 12


def test_a_window_larger_than_a_picture_is_shown_in_part() -> None:
    storage = nl.TensorSpec((1, 3, 5000, 5000)).storage
    for side in (5, 50, 500, 5000):
        part = choose_part([storage], {"H": 0, "W": 0}, {"H": side, "W": side})
        count = math.prod(map(len, part.values()))
        assert count <= MOST and all(r.start == 0 and len(r) for r in part.values())
        assert side > 30 or len(part["H"]) >= side
    blocked = nl.TensorSpec((1, 10**6, 2, 2), "NCHW100000c").storage
    assert math.prod(map(len, choose_part([blocked], {}, {}).values())) <= MOST
