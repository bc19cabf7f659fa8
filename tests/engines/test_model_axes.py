"""Axes by letters: every order of a tensor's axes leads to the model's order, checked element by element."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from npu_layout import TensorSpec
from npu_layout.engines import axes_in_model, fits, order_in_model, shape_in_model, transposed
from npu_layout.engines.model_axes import shape_text

EXTENTS = {"N": 2, "C": 3, "H": 4, "W": 5}
ORDERS = ["".join(letters) for letters in itertools.permutations("NCHW")]


def numbered(axes: str) -> np.ndarray:
    """Each element is its own index along N, C, H and W, as digits."""
    array = np.zeros([EXTENTS[letter] for letter in axes], int)
    for index in np.ndindex(array.shape):
        at = dict(zip(axes, index))
        array[index] = at["N"] * 1000 + at["C"] * 100 + at["H"] * 10 + at["W"]
    return array


@pytest.mark.parametrize("axes", ORDERS)
def test_every_order_becomes_the_models_and_returns(axes: str) -> None:
    array, model = numbered(axes), numbered("NCHW")
    seen = transposed(array, axes, False)
    np.testing.assert_array_equal(seen, model)
    back = transposed(model, axes, True)
    np.testing.assert_array_equal(back, array)
    assert np.shares_memory(seen, array) and np.shares_memory(back, model)
    spec = TensorSpec(array.shape, "NCHW", axes=axes)
    assert shape_in_model(spec) == (2, 3, 4, 5)
    assert [axes[i] for i in order_in_model(spec, (2, 3, 4, 5))] == list("NCHW")


def test_letters_that_the_model_does_not_have_keep_their_places() -> None:
    assert axes_in_model("WNC") == [1, 2, 0]  # NCW
    assert axes_in_model("CHW") == [0, 1, 2]  # a model of rank 3 has NCW
    assert axes_in_model("") == []


def test_a_model_whose_own_order_is_the_specs() -> None:
    """(2,4,5,3) fits as it is, and (2,3,4,5), its NCHW order, does not."""
    spec = TensorSpec((2, 4, 5, 3), "NHWC", axes="NHWC")
    assert order_in_model(spec, (2, 4, 5, 3)) == [0, 1, 2, 3]
    assert order_in_model(spec, (2, "c", "h", "w")) == [0, 3, 1, 2]  # both fit: the letters decide
    assert order_in_model(spec, (9, 9, 9, 9)) == [0, 3, 1, 2]  # neither fits


@pytest.mark.parametrize(
    ("declared", "shape", "good"),
    [
        ((1, 3), (1, 3), True),
        ((1, 3), (1, 4), False),
        ((1, 3), (1, 3, 1), False),
        (("batch", 3), (7, 3), True),
        ((None, 3), (7, 4), False),
        ((0, -1), (7, 4), True),  # onnxruntime's lengths below 1 are free too
        ((), (), True),
    ],
)
def test_shapes_that_a_model_accepts(declared: tuple[object, ...], shape: tuple[int, ...], good: bool) -> None:
    assert fits(declared, shape) is good


def test_a_shape_in_messages() -> None:
    assert shape_text((1, "batch", None)) == "(1,batch,?)" and shape_text(()) == "()"
