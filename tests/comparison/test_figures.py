"""The figures of an output."""

from __future__ import annotations

import numpy as np
import pytest

from npu_layout.comparison.figures import Comparison
from npu_layout.validation.tolerances import passing
from tests.support.boards import Board


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def test_equal_values_have_a_cosine_of_one() -> None:
    rng = np.random.default_rng(8)
    for _ in range(40):
        compared = Comparison(1)
        for number in range(3):
            x = rng.standard_normal((1, 3, 5, 7)) * 10 ** rng.uniform(-3, 3)
            compared.add(number, x, x.copy())
        assert compared.whole is not None and compared.whole.cosine == 1.0
    compared = Comparison(1)
    compared.add(0, np.full((1, 1, 2), 1e-310), np.array([[[1e-310, 2e-310]]]))
    assert passing(compared.whole)["max_abs"] == 1e-310


def test_all_equal_agrees_in_no_argmax(board: Board) -> None:
    zero = board.verdict(board.recording(None, board.changed(lambda y: 0 * y)))
    assert zero.figures is not None and zero.figures.argmax_agreement == 0
