"""What the compiled core refuses of boxes, and how many stay; more in test_answers.py and decode/test_boundary.py."""

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


@pytest.mark.parametrize("backend", NATIVE)
def test_no_more_stay_than_there_are_or_than_the_limit(backend: str) -> None:
    """Results are arrays of their own: of the length of what stays, whatever memory the core was given for them."""
    corner = np.arange(5, dtype=np.float32)[:, None] * 100
    boxes = np.concatenate([corner, corner, corner + 10, corner + 10], 1)
    scores = np.float32([0.1, 0.5, 0.3, 0.2, 0.4])
    for limit, kept in ((0, []), (2, [1, 4]), (5, [1, 4, 2, 3, 0]), (99, [1, 4, 2, 3, 0])):
        found = kernels.nms(boxes, scores, None, 1, (0.5, False, 0.0, 0.0), limit, backend)
        assert found is not None and found.tolist() == kept
