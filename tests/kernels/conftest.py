"""What several tests of the kernels share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import npu_layout as nl
from npu_layout import kernels
from tests.support.memory import Fenced


@pytest.fixture(scope="module")
def fences() -> tuple[Fenced, Fenced]:
    return Fenced(1 << 18), Fenced(1 << 18)


@pytest.fixture
def four_threads() -> Iterator[None]:
    before = kernels.get_num_threads()
    nl.set_num_threads(4)
    yield
    nl.set_num_threads(before)
