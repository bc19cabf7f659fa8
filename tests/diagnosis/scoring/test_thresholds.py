"""The figures that decide when a cause is named."""

from __future__ import annotations

import numpy as np
import pytest

from npu_layout import diagnosis
from npu_layout.diagnosis.scoring import evidence, thresholds
from npu_layout.diagnosis.stored import identification
from npu_layout.diagnosis.verdicts import verdict


def test_rounding_is_its_variance() -> None:
    x = np.random.default_rng(0).uniform(-100, 100, 200_000)
    assert np.var(np.rint(x) - x) == pytest.approx(thresholds.ROUNDING, rel=0.01)


def test_all_that_judge_share_them() -> None:
    assert diagnosis.LEAST == thresholds.LEAST > thresholds.MARGIN == diagnosis.MARGIN
    for room in (evidence, identification, verdict):
        assert room.LEAST is thresholds.LEAST, room.__name__
