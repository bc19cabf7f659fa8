"""Rows of masks and skeletons: every contender makes the same, and it is what was drawn."""

from __future__ import annotations

import numpy as np
import pytest

from npu_layout.bench import contenders
from npu_layout.bench.instance_cases import CELL, INPUT, MasksCase, PeopleCase


@pytest.mark.parametrize("layout", ["NCHW16c", "NCHW", "NHWC"])
def test_masks_are_equal_to_the_last_pixel(layout: str) -> None:
    case = MasksCase(layout)
    calls, paths, wrong = contenders.competitors(case, with_peers=True)
    assert not wrong and not paths
    assert {name.split(":")[0] for name in calls} == {"memcpy", contenders.OURS, "numpy", "cv2"}
    got, at = np.asarray(calls[contenders.OURS]()), 0
    tensor = case.spec.unpack(case.flat)[0].astype(np.float64)
    for row, (left, top, right, bottom) in zip(case.coefficients, case.xyxy.astype(int)):
        logits = np.tensordot(row.astype(float) - case.zero_point, tensor, 1)
        crop = got[at : at + (right - left) * (bottom - top)].reshape(bottom - top, right - left)
        at += crop.size
        for y, x in ((0, 0), (crop.shape[0] // 2, crop.shape[1] // 3), (crop.shape[0] - 1, crop.shape[1] - 1)):
            assert crop[y, x] == (tap(logits, top + y, left + x) > 0), (y, x)
    assert at == got.size == case.target.nbytes and 0.1 < got.mean() < 0.9


def tap(logits: np.ndarray, y: int, x: int) -> float:
    """Return the logit of one pixel: the mean of four cells by their distance."""
    total = 0.0
    v, u = (y + 0.5) / CELL - 0.5, (x + 0.5) / CELL - 0.5
    for j in (int(np.floor(v)), int(np.floor(v)) + 1):
        for i in (int(np.floor(u)), int(np.floor(u)) + 1):
            inside = logits[min(max(j, 0), INPUT // CELL - 1), min(max(i, 0), INPUT // CELL - 1)]
            total += (1 - abs(v - j)) * (1 - abs(u - i)) * inside
    return total


@pytest.mark.parametrize("count", [3, 20])
def test_people_are_found_by_all(count: int) -> None:
    case = PeopleCase(count)
    calls, _, wrong = contenders.competitors(case, with_peers=True)
    assert not wrong and len(calls) == 4
    found = np.asarray(calls[contenders.OURS]())
    assert found.shape == (count, 18, 3) and (found[..., 2] > 0.5).mean() > 0.98
    assert len(np.unique(found[:, 1, :2].round(), axis=0)) == count


def test_a_case_is_made_again_in_other_memory() -> None:
    for case in (MasksCase("NHWC"), PeopleCase(3)):
        other = case.elsewhere()
        assert type(other) is type(case) and other.title == case.title and other.flat is other.x is other.memory
        assert np.array_equal(other.flat, case.flat) and not np.shares_memory(other.flat, case.flat)
    rotated = contenders.rotating(PeopleCase(3), ["memcpy", contenders.OURS], 3, False)
    assert {name: len(calls) for name, calls in rotated.items()} == {"memcpy": 3, contenders.OURS: 3}
