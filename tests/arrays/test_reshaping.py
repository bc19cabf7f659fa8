"""why_copy describes what numpy does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import npu_layout as nl
from tests.support.arrays import arrays


def test_the_classic_question() -> None:
    x = np.arange(12).reshape(3, 4)
    assert nl.why_copy(x, (2, 6)).startswith("view: (3, 4) -> (2, 6) merges only axes that run on")
    assert nl.why_copy(x.T, 12) == (
        "copy: (4, 3) -> (12,) merges axes 0 and 1, but a step along axis 0 is 1 element "
        "and all 3 of axis 1 take 12 (3 x 4)"
    )
    assert nl.why_copy(x.T, (2, 2, 3)) == "view: (4, 3) -> (2, 2, 3) merges no axes"
    assert nl.why_copy(x[:, :3], -1).startswith(
        "copy: (3, 3) -> (9,) merges axes 0 and 1, but a step along axis 0 is 4"
    )
    assert nl.why_copy(x[:0], (0, 7)).startswith("view: (0, 4) -> (0, 7) moves nothing")
    assert nl.why_copy(np.zeros(()), (1, 1)).startswith("view: ()")
    maps = nl.Tensor(np.zeros((1, 57, 46, 46), np.float32), "NHWC")
    text = nl.why_copy(maps, (1, 57, -1))
    assert text.startswith("view: (1, 57, 46, 46) -> (1, 57, 2116)")
    text = nl.why_copy(maps, -1)
    assert "axes 1 (C) and 2 (H), but a step along axis 1 (C) is 1 element and all 46 of axis 2 (H) take 120612" in text
    field = np.zeros((2, 3), [("a", "u1"), ("b", "f4")])["b"]
    assert "a step along axis 0 is -15 bytes" in nl.why_copy(field[::-1], 6)


def test_errors() -> None:
    x = np.zeros((3, 4))
    for shape in (13, (5, -1), (-1, -1), (0, -1), (-2, -6), "12", None, (3.0, 4)):
        with pytest.raises(nl.LayoutError, match="shape"):
            nl.why_copy(x, shape)
    with pytest.raises(nl.NpuLayoutError, match="got list"):
        nl.why_copy([1, 2], 2)  # type: ignore[arg-type]


@st.composite
def shapes(draw: Any, size: int) -> tuple[int, ...]:
    shape, left = [], size
    while left > 1 and len(shape) < 6:
        factor = draw(st.sampled_from([n for n in range(1, left + 1) if left % n == 0]))
        shape.append(factor)
        left //= factor
    return tuple(draw(st.permutations([*shape, left]))) if size else (*shape, 0)


@settings(max_examples=400)
@given(st.data())
def test_as_numpy_does(data: st.DataObject) -> None:
    x = data.draw(arrays(least=data.draw(st.integers(0, 1))))
    shape = data.draw(st.one_of(shapes(x.size), st.just(x.shape), st.just((x.size,))))
    if math.prod(shape) != x.size:
        return
    text = nl.why_copy(x, shape)
    result = np.asarray(x).reshape(shape)
    assert text.split(":")[0] == ("view" if not x.size or np.may_share_memory(x, result) else "copy"), text
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        try:
            np.reshape(np.asarray(x), shape, copy=False)
        except ValueError:
            assert text.startswith("copy:")
        else:
            assert text.startswith("view:")
