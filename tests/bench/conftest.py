"""What the benchmark sets is as it was before, for the next test."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import pytest

from npu_layout import kernels
from npu_layout.bench import measuring
from npu_layout.kernels.caches import Caches


@pytest.fixture(autouse=True)
def as_many_threads() -> Iterator[None]:
    """Those of the kernels and those of OpenCV."""
    threads = kernels.get_num_threads(), cv2.getNumThreads()
    yield
    kernels.set_num_threads(threads[0])
    cv2.setNumThreads(threads[1])


@pytest.fixture
def small_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweep 3 MiB before each turn instead of three times this machine's last cache, which may take a second."""
    monkeypatch.setattr(measuring, "caches", lambda: Caches({3: 1 << 20}, 64, True))
