"""Activations against plain numbers, and how objectness and a class make a score."""

from __future__ import annotations

import math

import numpy as np
import pytest

from npu_layout.decode.arithmetic.activations import COMBINED, activated, ordered_sum


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "float16"])
def test_activations(dtype: str, axis: int) -> None:
    x = np.random.default_rng(0).normal(0, 3, (3, 4, 5)).astype(dtype)
    shares, sigmoids = activated("softmax", x, axis), activated("sigmoid", x)
    assert shares.dtype == sigmoids.dtype == activated("none", x).dtype == np.float64
    assert np.array_equal(activated("none", x), x)
    for at in np.ndindex(x.shape):
        line = [float(x[(*at[:axis], i, *at[axis + 1 :])]) for i in range(x.shape[axis])]
        powers = [math.exp(v) for v in line]
        assert shares[at] == pytest.approx(powers[at[axis]] / sum(powers), rel=1e-14)
        assert sigmoids[at] == pytest.approx(1 / (1 + math.exp(-float(x[at]))), rel=1e-14)


def test_sums_are_in_order() -> None:
    """As a loop adds: numpy's own sum adds pairs."""
    x = np.random.default_rng(1).random((2, 1000))
    total = [0.0, 0.0]
    for i in range(1000):
        total = [total[k] + float(x[k, i]) for k in range(2)]
    assert ordered_sum(x, 1).tolist() == [[v] for v in total]


def test_scores_of_objectness_and_class() -> None:
    rng = np.random.default_rng(2)
    objects, scores = rng.random(50), rng.random(50)
    assert np.array_equal(COMBINED["objectness"](objects, scores), objects * scores)
    np.testing.assert_allclose(COMBINED["root"](objects, scores), (objects * scores) ** 0.5, rtol=1e-15)
    np.testing.assert_allclose(COMBINED["weighted"](objects, scores), objects**0.6 * scores**0.4, rtol=1e-14)
    assert np.isnan(COMBINED["weighted"](objects[:1], -scores[:1])).all()
