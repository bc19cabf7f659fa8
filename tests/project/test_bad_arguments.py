"""Every public call, with what does not belong there in the place of each argument: it returns, or raises an error of
the library's that names the argument."""

from __future__ import annotations

import inspect
import os
import warnings
from pathlib import Path

import pytest

import npu_layout as nl
from tests.support.bad_calls import (
    UNCHECKED,
    bad_values,
    fresh_folder,
    is_right,
    outcomes,
    public_functions,
)
from tests.support.good_calls import CALLS


def test_everything_public_has_a_good_call() -> None:
    assert {name.partition("@")[0] for name in CALLS} == set(public_functions())
    assert len(CALLS) > 120


@pytest.mark.parametrize("name", CALLS)
def test_good_call(name: str, tmp_path: Path) -> None:
    with fresh_folder(tmp_path):
        call = CALLS[name]()
        call()
    known = {p for p in inspect.signature(call.function).parameters}
    assert {argument.lstrip("*") for argument in call.arguments} <= known


@pytest.mark.parametrize("name", CALLS)
def test_bad_arguments_are_named(name: str, tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / "open", os.O_CREAT | os.O_RDWR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy's, about ragged lists and values that overflow
            found = list(outcomes(name, descriptor, tmp_path))
        os.fstat(descriptor)  # nobody took its number for a path, and closed it
        assert os.path.getsize(tmp_path / "open") == 0
    finally:
        os.close(descriptor)
    wrong = [str(outcome) for outcome in found if not outcome.right]
    assert not wrong, f"{len(wrong)} errors are not ours, or do not name the argument:\n" + "\n".join(wrong)
    refused = {outcome.argument for outcome in found if outcome.error is not None}
    assert {outcome.argument for outcome in found} - refused == UNCHECKED.get(name, set())


def test_what_is_right() -> None:
    """The judge of these tests: whose error it is, and that it names the argument as a word."""
    ours = nl.NpuLayoutError
    assert is_right("Layout", "axes", 1, nl.LayoutError("axes: expected letters, got 1"), "")
    assert not is_right("Layout", "axes", 1, ours("taxes: expected letters, got 1"), "")
    assert not is_right("Layout", "axes", 1, ours("expected letters, got 1"), "")
    assert not is_right("Layout", "axes", 1, TypeError("axes: expected letters"), "")
    assert is_right("Layout.offset", "*index", 9, IndexError("index N is outside"), "Raises IndexError outside.")
    assert not is_right("Layout.offset", "*index", 9, IndexError("tuple index out of range"), "")
    assert is_right("Recording.load", "path", "there", ours("there: expected a folder"), "")
    assert {"None", "nan", "descriptor", "zero byte", "objects"} <= set(bad_values(3))
