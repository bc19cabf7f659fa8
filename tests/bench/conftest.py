"""What the benchmark sets is as it was before, for the next test."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import pytest

from npu_layout import kernels


@pytest.fixture(autouse=True)
def as_many_threads() -> Iterator[None]:
    """Those of the kernels and those of OpenCV."""
    threads = kernels.get_num_threads(), cv2.getNumThreads()
    yield
    kernels.set_num_threads(threads[0])
    cv2.setNumThreads(threads[1])
