"""What the compiled core refuses of boxes and skeletons, and how many stay; more in test_answers.py and decode/."""

from __future__ import annotations

import numpy as np
import pytest

from npu_layout import kernels
from tests.support.kernel_walks import NATIVE

pytestmark = pytest.mark.skipif(
    kernels.backends() == ["numpy"], reason="the compiled kernels were not built, or are turned off"
)


def test_bad_arrays_of_turned_boxes_are_refused() -> None:
    from npu_layout.kernels import _native

    shapes, kept = np.tile([1.0, 1, 1, 1, 0], (4, 1)), np.empty(4, np.int64)
    assert _native.turned_nms(shapes, None, 0.5, True, 4, kept) == 1
    for wrong in ((shapes, kept[:3], 0.5, True, 4, kept), (shapes, None, 0.5, True, 4, kept[:3]),
                  (shapes, None, 0.5, True, -1, kept), (shapes[:, ::2], None, 0.5, True, 4, kept)):  # fmt: skip
        with pytest.raises((ValueError, BufferError)):
            _native.turned_nms(*wrong)


def test_bad_arrays_of_skeletons_are_refused() -> None:
    """Limbs without joints or fields, peaks in no order, and too little room: nothing is read or written then."""
    from npu_layout.kernels import _native

    fields, limbs = np.ones((2, 4, 4), np.float32), np.array([[0, 1]])
    peaks, ends = np.array([[0.0, 0, 1], [3, 0, 1]]), np.array([0, 1, 2])
    good = [fields, 4, 4, limbs, peaks, ends, 4, 4, 0.5, 0.0, np.empty((1, 2), np.int64), np.empty(1)]
    assert _native.skeletons(*good) == 1 and good[-2].tolist() == [[0, 1]]
    for place, wrong in (
        (0, fields[:1]), (1, 5), (1, 0), (2, 1 << 21), (3, limbs + 1), (3, limbs - 1), (3, np.array([[0, 1]] * 2)),
        (4, peaks[:1]), (5, np.array([0, 3, 2])), (5, np.array([1, 1, 2])), (5, ends[:1]), (6, 1),
        (10, np.empty(1, np.int64)), (11, np.empty(0)), (4, peaks[:, ::-1]),
    ):  # fmt: skip
        given = list(good)
        given[place] = wrong
        with pytest.raises((ValueError, BufferError)):
            _native.skeletons(*given)


@pytest.mark.parametrize("backend", NATIVE)
def test_no_more_stay_than_there_are_or_than_the_limit(backend: str) -> None:
    """Results are arrays of their own: of the length of what stays, whatever memory the core was given for them."""
    corner = np.arange(5, dtype=np.float32)[:, None] * 100
    boxes = np.concatenate([corner, corner, corner + 10, corner + 10], 1)
    scores = np.float32([0.1, 0.5, 0.3, 0.2, 0.4])
    for limit, kept in ((0, []), (2, [1, 4]), (5, [1, 4, 2, 3, 0]), (99, [1, 4, 2, 3, 0])):
        found = kernels.nms(boxes, scores, None, 1, (0.5, False, 0.0, 0.0), limit, backend)
        assert found is not None and found.tolist() == kept
