"""Streams leave no thread behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest


@pytest.fixture
def nothing_is_left() -> Iterator[None]:
    before = threading.active_count()
    yield
    end = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() <= before, [thread.name for thread in threading.enumerate()]
