"""The lines of a picture contain the whole buffer, once, in address order."""

from __future__ import annotations

import npu_layout as nl
from npu_layout.drawing.memory_lines import Token, contains_element, lines, tokens, words
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


def test_the_words_of_a_line() -> None:
    found = nl.explain("NHWC", (1, 3, 2, 2))
    every = [words(found.spec.storage, line) for line in lines(found.spec.storage, found.part)]
    assert every == ["h0-1 w0-1 c0-2"]
    assert words(found.spec.storage, [Token(0, "pad"), Token(1, "skip", 30, padding=True)]) == "padding"
    assert words(found.spec.storage, [Token(0, "skip", 30)]) == ""
