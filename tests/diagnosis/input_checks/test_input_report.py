"""The report of an input, as text and as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

import npu_layout as nl

SPEC = nl.TensorSpec((1, 3, 4, 4), name="image")


def report(**other: Any) -> nl.InputReport:
    said = {"name": "image", "verdict": "preprocessing", "fix": {"color": "BGR"}, "why": "It is BGR.", "spec": SPEC}
    return nl.InputReport(**{**said, "frames": (0, 2), **other})


def test_only_a_match_is_true() -> None:
    assert report(verdict="match", fix=None) and not report()


def test_text_has_the_fix_if_there_is_one() -> None:
    assert str(report()).splitlines() == ["input image: preprocessing", "  It is BGR.", "  fix: {'color': 'BGR'}"]
    assert "fix:" not in str(report(fix=None))


def test_json_has_specs_as_dicts() -> None:
    known = json.loads(json.dumps(report(fix={"color": "BGR", "target": SPEC}).to_dict()))
    assert nl.TensorSpec.from_dict(known["fix"]["target"]) == nl.TensorSpec.from_dict(known["spec"]) == SPEC
    assert known["frames"] == [0, 2] and report(fix=None).to_dict()["fix"] is None


def test_fields_of_other_types_are_refused() -> None:
    with pytest.raises(nl.NpuLayoutError, match="frames"):
        report(frames=[0])
