"""A warning names the line of the program, not one of the library's, however many calls are between."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

from npu_layout.support import warn_caller


def of_library(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as if a module of npu_layout had it."""
    assert isinstance(function, FunctionType)
    names = {**globals(), "__name__": "npu_layout.some.room"}
    return FunctionType(function.__code__, names, function.__name__, closure=function.__closure__)


def test_the_line_is_the_programs() -> None:
    def inner() -> None:
        warn_caller("take care")

    inside = of_library(inner)

    def outer() -> None:
        inside()

    for call in (inside, of_library(outer)):
        with pytest.warns(UserWarning, match="take care") as found:
            line = sys._getframe().f_lineno + 1
            call()
        assert [(one.filename, one.lineno) for one in found] == [(__file__, line)]
    with pytest.warns(UserWarning, match="at once") as found:
        line = sys._getframe().f_lineno + 1
        warn_caller("at once")
    assert [(one.filename, one.lineno) for one in found] == [(__file__, line)]
