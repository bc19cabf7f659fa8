"""peaks against a scalar search."""

from __future__ import annotations

import itertools
import math
from typing import Any, Callable

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import ops
from tests.support.operators import FLOATS, NUMBERS, PLAIN, READ, SHAPE, filled, ordered


def peaks_oracle(x: np.ndarray, threshold: float, radius: int, refine: str | None) -> np.ndarray:
    """Scalar; (count, 5)."""
    rows = []
    for n, c, j, i in np.ndindex(*x.shape):
        plane = x[n, c].tolist()
        h, w = x.shape[2:]
        v, good = plane[j][i], plane[j][i] > threshold
        for y, z in itertools.product(range(j - radius, j + radius + 1), range(i - radius, i + radius + 1)):
            if 0 <= y < h and 0 <= z < w and (y, z) != (j, i):
                good = good and (v > plane[y][z] if (y, z) < (j, i) else v >= plane[y][z])
        if not good:
            continue
        at = [float(i), float(j)]
        for axis, (size, before, after) in enumerate(
            (
                (w, lambda p=plane, j=j, i=i: p[j][i - 1], lambda p=plane, j=j, i=i: p[j][i + 1]),
                (h, lambda p=plane, j=j, i=i: p[j - 1][i], lambda p=plane, j=j, i=i: p[j + 1][i]),
            )
        ):
            if 0 < (i, j)[axis] < size - 1 and refine:
                a, b = before(), after()
                if refine == "quarter":
                    at[axis] += 0.25 * ((b > a) - (b < a))
                elif math.isfinite(a + b + v) and a - 2 * v + b:
                    at[axis] += (a - b) / (2 * (a - 2 * v + b))
        rows.append((n, c, *at, v))
    return np.array(rows, np.float64).reshape(-1, 5)


@pytest.mark.parametrize("refine", ["parabola", "quarter", None])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_peaks(dtype: str, refine: str | None) -> None:
    shape = (2, 3, 7, 9)
    x = filled(dtype, shape, 5) if dtype in FLOATS else np.random.default_rng(3).integers(0, 100, shape).astype(dtype)
    for threshold, radius in ((0.5, 1), (-1e30, 2), (0, 1), (99.5, 1), (1e30, 1), (math.inf, 1)):
        expected = peaks_oracle(x, threshold, radius, refine)
        for form, lay in READ.items():
            np.testing.assert_allclose(
                ops.peaks(lay(x), threshold, radius, refine=refine), expected, 1e-12, 1e-12, form
            )
    for radius in (2**63 - 1, 2**63):
        np.testing.assert_array_equal(ops.peaks(x, 0.5, radius, refine=refine), ops.peaks(x, 0.5, 9, refine=refine))
    out = np.full((200, 5), 7.0)
    found = ops.peaks(x, 0.5, refine=refine, out=out[::2])
    expected = peaks_oracle(x, 0.5, 1, refine)
    assert found.base is out
    np.testing.assert_allclose(found, expected, 1e-12, 1e-12)
    np.testing.assert_array_equal(out[: 2 * len(expected) : 2], found)
    assert (out[2 * len(expected) :] == 7).all()
    assert (out[1::2] == 7).all()


def test_the_top_of_a_parabola_is_found() -> None:
    for dx, dy in itertools.product((-0.45, 0.0, 0.3), repeat=2):
        y, x = np.mgrid[:7, :9]
        plane = 5 - (x - 4 - dx) ** 2 - 2 * (y - 3 - dy) ** 2
        for tag in PLAIN:
            ((n, c, px, py, score),) = ops.peaks(ordered(plane[None, None], tag), 4)
            assert (n, c) == (0, 0)
            assert (px, py) == pytest.approx((4 + dx, 3 + dy), abs=1e-9)
            assert score == plane[3, 4]


def test_peaks_into_the_memory_of_their_input() -> None:
    flat = np.random.default_rng(0).random((45, 5))
    expected = ops.peaks(flat.reshape(1, 1, 9, 25).copy(), 0.5)
    np.testing.assert_array_equal(ops.peaks(flat.reshape(1, 1, 9, 25), 0.5, out=flat), expected)
    with pytest.raises(nl.NpuLayoutError, match="out for peaks: elements overlap"):
        ops.peaks(np.zeros((1, 1, 9, 25)), 0.5, out=np.lib.stride_tricks.as_strided(flat, (45, 5), (0, 8)))


def test_peaks_without_room_write_nothing() -> None:
    x = filled("float32", (1, 4, 20, 20))
    out = np.full((3, 5), 7.0)
    with pytest.raises(nl.NpuLayoutError, match="room for 3"):
        ops.peaks(x, -1, out=out)
    assert (out == 7).all()


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: ops.peaks(np.zeros(SHAPE), "x"), "number as threshold"),  # type: ignore[arg-type]
    (lambda: ops.peaks(np.zeros(SHAPE), None), "number as threshold"),  # type: ignore[arg-type]
    (lambda: ops.peaks(np.zeros(SHAPE), 10**400), "number as threshold"),
    (lambda: ops.peaks(np.zeros(SHAPE), 0, 0), "radius: expected 1 or more"),
    (lambda: ops.peaks(np.zeros(SHAPE), 0, refine="cubic"), "parabola, quarter or None"),
    (lambda: ops.peaks(np.zeros(SHAPE), 0, out=np.zeros((5, 4))), "expected shape"),
]


@pytest.mark.parametrize("call, message", BAD)
def test_bad_input(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=message):
        call()


@pytest.mark.parametrize("nan", [math.nan, np.float32("nan"), np.float64("nan")])
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint16", "int64"])
def test_no_peak_is_above_nan_so_it_is_refused(dtype: str, nan: Any) -> None:
    x = np.zeros((1, 1, 3, 3), dtype)
    x[0, 0, 1, 1] = 5
    for more in ({}, {"quantization": (0.5, 1)} if dtype != "float32" else {}, {"out": np.full((4, 5), 7.0)}):
        with pytest.raises(nl.NpuLayoutError, match="peaks: threshold: expected a number, got nan"):
            ops.peaks(x, nan, **more)
    with pytest.raises(nl.NpuLayoutError, match="threshold"):
        ops.peaks(x[:0], nan)
    assert len(ops.peaks(x, -math.inf)) == 1 and not len(ops.peaks(x, math.inf))
