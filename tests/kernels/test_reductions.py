"""Reductions use the backend that is named, else the active one, and refuse wrong types by the argument's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from npu_layout import kernels
from tests.support.kernel_walks import BACKENDS

X = np.random.default_rng(0).integers(-128, 128, (5, 7, 19)).astype(np.int8)
MAPS = np.ascontiguousarray(X.transpose(2, 0, 1)[None])


def argmax(x: Any = X, **options: Any) -> Any:
    kernels.argmax(x, out := np.zeros(X.shape[:2], np.int64), **options)
    return out


def top_k(x: Any = X, **options: Any) -> Any:
    values, numbers = np.zeros((*X.shape[:2], 3), np.int8), np.zeros((*X.shape[:2], 3), np.int64)
    kernels.top_k(x, values, numbers, **options)
    np.testing.assert_array_equal(values, np.take_along_axis(X, numbers, -1))
    return numbers


def softmax(x: Any = X, **options: Any) -> Any:
    kernels.softmax(x, out := np.zeros(X.shape, np.float32), scale=0.1, **options)
    return out


def sigmoid(x: Any = X, **options: Any) -> Any:
    kernels.sigmoid(x, out := np.zeros(X.shape, np.float32), scale=0.1, **options)
    return out


def peaks(x: Any = MAPS, **options: Any) -> Any:
    return kernels.peaks(x, 60, **options)


def tops(x: Any = MAPS, **options: Any) -> Any:
    rows = np.int64([[0, 3, 2, 2], [0, 18, 0, 6]])
    kernels.tops(x, rows, out := np.zeros((2, 5)), None, **options)
    return out


def local_maxima(plane: np.ndarray) -> list[tuple[int, int]]:
    """Places above 60 that no neighbour exceeds and no earlier neighbour equals."""
    found = []
    for (y, x), value in np.ndenumerate(plane):
        near = [
            (plane[v, u], (v, u) < (y, x))
            for v in range(max(y - 1, 0), min(y + 2, plane.shape[0]))
            for u in range(max(x - 1, 0), min(x + 2, plane.shape[1]))
            if (v, u) != (y, x)
        ]
        if value > 60 and all(value > other or (value == other and not earlier) for other, earlier in near):
            found.append((y, x))
    return found


powers = np.exp(X * 0.1)
EXPECTED: tuple[tuple[Callable[..., Any], Any], ...] = (
    (argmax, X.argmax(-1)),
    (top_k, np.argsort(-X.astype(int), -1, kind="stable")[..., :3]),
    (softmax, powers / powers.sum(-1, keepdims=True)),
    (sigmoid, powers / (1 + powers)),
    (peaks, [[0, c, y, x] for c in range(19) for y, x in local_maxima(MAPS[0, c])]),
    (tops, [[0, 3, 2, 2, MAPS[0, 3, 2, 2]], [0, 18, 6, 0, MAPS[0, 18, 0, 6]]]),
)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("reduce", "expected"), EXPECTED, ids=[reduce.__name__ for reduce, _ in EXPECTED])
def test_the_backend_is_the_one_that_is_named_or_active(
    reduce: Callable[..., Any], expected: Any, backend: str, activate: Callable[[str], None]
) -> None:
    named = reduce(backend=backend)
    np.testing.assert_allclose(named, expected, rtol=2e-6)
    activate(backend)
    np.testing.assert_array_equal(reduce(), named)
    np.testing.assert_array_equal(reduce(backend=None), named)


@pytest.mark.parametrize("reduce", [reduce for reduce, _ in EXPECTED], ids=lambda reduce: reduce.__name__)
def test_wrong_types_are_named(reduce: Callable[..., Any]) -> None:
    for bad in ("fast", "native (mmx)", 3):
        with pytest.raises(TypeError, match=r"^backend: expected one of .*numpy, got "):
            reduce(backend=bad)
    with pytest.raises(TypeError, match=r"^x: expected a numpy array, got list$"):
        reduce([1, 2])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "date", [np.datetime64("NaT", "s"), np.datetime64("2026-01-01"), np.timedelta64(1, "s")], ids=repr
)
@pytest.mark.parametrize("reduce", [reduce for reduce, _ in EXPECTED], ids=lambda reduce: reduce.__name__)
def test_dates_whose_buffers_have_no_strides(reduce: Callable[..., Any], date: Any, backend: str) -> None:
    """numpy exports one axis of them, and no strides: reading these ended the process."""
    with pytest.raises((TypeError, ValueError), match=r"\bx\b"):
        reduce(date, backend=backend)
