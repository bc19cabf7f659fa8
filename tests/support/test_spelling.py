"""How messages name arguments."""

from __future__ import annotations

import threading

import pytest

from npu_layout.support.spelling import argument, spelt


def test_arguments_are_named_as_they_are_given() -> None:
    with spelt({"min_cosine": "--min-cosine"}):
        assert (argument("min_cosine"), argument("model")) == ("--min-cosine", "model=")
        with spelt({"model": "--model"}):
            assert (argument("min_cosine"), argument("model")) == ("min_cosine=", "--model")
        assert argument("min_cosine") == "--min-cosine"
    assert argument("min_cosine") == "min_cosine="


def test_a_spelling_ends_with_its_block_and_is_of_its_thread() -> None:
    seen = []
    with pytest.raises(ValueError), spelt({"form": "--form"}):
        other = threading.Thread(target=lambda: seen.append(argument("form")))
        other.start()
        other.join()
        raise ValueError
    assert seen == ["form="] and argument("form") == "form="
