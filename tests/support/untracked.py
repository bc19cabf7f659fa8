"""Fixtures for files whose every test leaves numpy, cv2 and npu_layout as they were: no tracker stays open."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.tracked import nothing_is_tracked, touched


@pytest.fixture(scope="module")
def untouched() -> Any:
    return touched()


@pytest.fixture(autouse=True)
def all_is_put_back(untouched: Any) -> Any:
    yield
    assert nothing_is_tracked(untouched)
