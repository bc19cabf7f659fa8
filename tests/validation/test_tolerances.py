"""Tolerances hold or do not, and those that would just pass do pass."""

from __future__ import annotations

import numpy as np

import npu_layout as nl
from tests.support.boards import SHAPE, Board


def test_a_tolerance_of_one_output_leaves_the_others_theirs() -> None:
    two = Board(outputs=("maps", "more"))
    noise = np.random.default_rng(0).standard_normal(SHAPE) * np.std(two.answers[0]["more"])
    outputs = [{k: two.spec.pack(y + (0.4 * noise if k == "more" else 0)) for k, y in a.items()} for a in two.answers]
    report = nl.validate(two.recording(None, outputs), two.engine, min_snr_db={"maps": 20})
    assert report.outputs["maps"].tolerances["min_snr_db"][0] == 20
    asked, found, held = report.outputs["more"].tolerances["min_snr_db"]
    assert asked == 10 and not held and found < 10 and report.outputs["more"].verdict == "mismatch"
