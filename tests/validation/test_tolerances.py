"""Tolerances hold or do not, and those that would just pass do pass."""

from __future__ import annotations

import html
import inspect
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from npu_layout import pytest_plugin
from npu_layout.comparison import Figures
from npu_layout.reports import tables
from npu_layout.validation.tolerances import DEFAULTS, check_numbers, met, passing
from tests.support.boards import SHAPE, Board


def test_a_tolerance_of_one_output_leaves_the_others_theirs() -> None:
    two = Board(outputs=("maps", "more"))
    noise = np.random.default_rng(0).standard_normal(SHAPE) * np.std(two.answers[0]["more"])
    outputs = [{k: two.spec.pack(y + (0.4 * noise if k == "more" else 0)) for k, y in a.items()} for a in two.answers]
    report = nl.validate(two.recording(None, outputs), two.engine, min_snr_db={"maps": 20})
    assert report.outputs["maps"].tolerances["min_snr_db"][0] == 20
    asked, found, is_met = report.outputs["more"].tolerances["min_snr_db"]
    assert asked == 10 and not is_met and found < 10 and report.outputs["more"].verdict == "mismatch"
    written = report.to_dict()["outputs"]
    each = {
        o["name"]: o["tolerances"]["min_snr_db"] for o in (written.values() if isinstance(written, dict) else written)
    }
    assert {name: (one["asked"], one["met"], one["held"]) for name, one in each.items()} == {
        "maps": (20.0, True, True),
        "more": (10.0, False, False),
    }


def test_all_that_validate_has_the_same_tolerances() -> None:
    """They are written in each signature, where editors and help() show them; here none of them differs."""
    functions = (nl.validate, nl.validate_many, pytest_plugin.assert_matches)
    known = [inspect.signature(function).parameters for function in functions]
    for name in ("min_snr_db", "min_cosine", "max_abs", "max_steps"):
        first, *others = (parameters[name] for parameters in known)
        assert all(
            (one.default, one.annotation, one.kind) == (first.default, first.annotation, first.kind) for one in others
        )
        assert first.default == DEFAULTS.get(name) and first.kind is first.KEYWORD_ONLY


def test_what_cannot_be_measured_does_not_hold() -> None:
    asked: dict[str, Any] = {"min_snr_db": 10, "max_abs": 1, "max_steps": None, "min_cosine": {"other": 0.9}}
    assert met("y", asked, None) == {"min_snr_db": (10.0, -np.inf, False), "max_abs": (1.0, np.inf, False)}
    assert passing(None) == {}


numbers = st.floats(-200, 200) | st.floats(allow_nan=False, allow_infinity=False)


@given(snr_db=numbers, cosine=st.floats(-1, 1), max_abs=st.floats(0, allow_infinity=False), steps=st.none() | numbers)
def test_the_page_and_the_text_show_what_passes(
    snr_db: float, cosine: float, max_abs: float, steps: float | None
) -> None:
    """The numbers that are printed are those of report.passing, and a report of these tolerances holds."""
    figures = Figures(9, max_abs, (0, 1), 0, cosine, snr_db, steps, None, -1.0, 1.0, -1.0, 1.0)
    just = passing(figures)
    spec = nl.TensorSpec((1, 9), "NC")
    output = nl.OutputReport("y", "y", "match", None, "", spec, figures=figures, passing=just)
    page = html.unescape(re.sub("<[^>]*>", "", tables.figures(output)))
    shown = re.findall(r"(min_snr_db|min_cosine|max_abs|max_steps)=([-+.e0-9]+)", page.partition("validate(")[2])
    assert {name: float(text) for name, text in shown} == just
    assert just.keys() == {"min_snr_db", "min_cosine", "max_abs"} | ({"max_steps"} if steps is not None else set())
    printed = re.findall(r"(\w+)=([-+.e0-9]+)", str(output).partition("would pass: ")[2])
    assert {name: float(text) for name, text in printed} == just
    assert all(ok for *_, ok in met("y", just, figures).values()), (just, figures)
    assert all(abs(just[k] - v) <= 1.1e-5 * abs(v) for k, (_, v, _) in met("y", just, figures).items())


def test_tolerances_that_nothing_can_meet_are_refused() -> None:
    for asked, says in (
        ({"min_cosine": 1.5}, "min_cosine: expected -1 .. 1, which can be met, got 1.5"),
        ({"min_cosine": {"heat": 99}}, "min_cosine: expected -1 .. 1"),
        ({"max_abs": -1}, "max_abs: expected at least 0"),
        ({"max_steps": -0.5}, "max_steps: expected at least 0"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            check_numbers(asked)
    check_numbers({"min_cosine": 1, "max_abs": 0, "max_steps": {"heat": 0}, "min_snr_db": -3})
