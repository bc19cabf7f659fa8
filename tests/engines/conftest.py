"""Models of one or two nodes, and numbers for them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.small_models import FLOAT, build, helper


@pytest.fixture
def twice():
    """y = x + x, (1,5,3,2)."""
    shape = (1, 5, 3, 2)
    return build(
        [helper.make_node("Add", ["x", "x"], ["y"])],
        [("x", FLOAT, shape)],
        [("y", FLOAT, shape)],
    )


@pytest.fixture
def pair():
    """Two inputs, two outputs named against the alphabet, of ranks 2 and 4."""
    nodes = [
        helper.make_node("Neg", ["b"], ["z"]),
        helper.make_node("Relu", ["a"], ["m"]),
    ]
    inputs = [("b", FLOAT, (2, 3)), ("a", FLOAT, (1, 2, 2, 2))]
    return build(nodes, inputs, [("z", FLOAT, (2, 3)), ("m", FLOAT, (1, 2, 2, 2))])


@pytest.fixture
def ramp():
    return np.linspace(-3, 4, 30, dtype=np.float32).reshape(1, 5, 3, 2)
