"""Which names of numpy keep a format: those that are there, in one list each, and what their arguments change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from npu_layout.arrays.format_keeping import KEEPING_METHODS, PLAIN_METHODS, is_argument, may_keep


def test_a_method_is_in_one_list() -> None:
    keeping, plain = KEEPING_METHODS.split(), PLAIN_METHODS.split()
    assert not set(keeping) & set(plain) and len({*keeping, *plain}) == len(keeping) + len(plain)
    gone = {name for name in (*keeping, *plain) if not hasattr(np.ndarray, name)}
    assert gone <= {"ptp", "newbyteorder"}  # of numpy 1


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "keeps"),
    [
        ("sum", (), {}, True),
        ("where", (), {}, True),
        ("concatenate", (), {}, False),
        ("transpose", (), {}, False),
        ("quantile", (), {"keepdims": True}, True),
        ("quantile", (), {}, False),
        ("copy", ("x",), {}, True),
        ("copy", ("x", "K"), {}, True),
        ("copy", ("x", "C"), {}, False),
        ("copy", ("x",), {"order": "F"}, False),
        ("zeros_like", ("x", "int8", None), {}, True),
        ("zeros_like", ("x", "int8", "K", False), {}, False),
        ("zeros_like", ("x",), {"subok": False}, False),
        ("full_like", ("x", 3, "int8", "A"), {}, False),
    ],
)
def test_what_may_keep(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], keeps: bool) -> None:
    assert may_keep(name, args, kwargs) is keeps


def test_a_result_that_was_given() -> None:
    x, y = np.zeros(2), np.zeros(2)
    assert is_argument(x, (y, x), {}) and is_argument(x, (), {"out": x})
    assert not is_argument(x, (y,), {"out": y})
