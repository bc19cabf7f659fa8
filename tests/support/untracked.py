"""Fixtures for files whose every test leaves numpy, cv2 and npu_layout as they were: no tracker stays open."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.tracked import Untouched


@pytest.fixture(scope="module")
def untouched() -> Untouched:
    return Untouched()


@pytest.fixture(autouse=True)
def all_is_put_back(untouched: Untouched) -> Iterator[None]:
    yield
    assert untouched.is_as_before()
