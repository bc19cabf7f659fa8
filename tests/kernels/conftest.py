"""Memory between fences, and a check of which calls the compiled core leaves to numpy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from npu_layout.kernels import fallback
from npu_layout.kernels.choice import LEVELS
from tests.support.memory import Fenced


@pytest.fixture(scope="module")
def fences() -> tuple[Fenced, Fenced]:
    return Fenced(1 << 20), Fenced(1 << 20)


@pytest.fixture(scope="module")
def core_computes() -> Iterator[None]:
    """The core refuses nothing that it could compute: numpy is called only if arrays have more axes than the core
    supports, or if more than 1024 values are required."""

    def watched(kernel: Callable[..., Any]) -> Callable[..., Any]:
        def call(x: np.ndarray, *rest: Any) -> Any:
            caller, many = sys._getframe(1).f_locals, kernel.__name__ == "top_k" and rest[1].shape[-1] > 1024
            assert LEVELS[caller["backend"]] is None or many or x.ndim > 6, (x.shape, x.strides, rest)
            return kernel(x, *rest)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("argmax", "top_k", "softmax", "sigmoid", "peaks", "tops"):
            patch.setattr(fallback.reduce, name, watched(getattr(fallback.reduce, name)))
        yield
