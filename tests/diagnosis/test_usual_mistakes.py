"""What is usually done in place of mean and std."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from tests.support.boards import PRE, SIDE, Board


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


@pytest.mark.parametrize(
    "mean, std, says",
    [
        ([127.5] * 3, [127.5] * 3, "mean and std 127.5"),
        (PRE["mean"][::-1], PRE["std"][::-1], "mean and std of the channels in the opposite order"),
        ([255 / 219 * (m - 16) for m in PRE["mean"]], [255 / 219 * s for s in PRE["std"]], "pixels of 16 to 235"),
    ],
)
def test_another_models_mean_and_std(board: Board, mean: list[float], std: list[float], says: str) -> None:
    other = nl.Preprocessor(nl.TensorSpec((1, 3, SIDE, SIDE)), **{**PRE, "mean": mean, "std": std})
    values = [board.engine.infer(other(f)[0])["maps"] for f in board.frames]
    output = board.verdict(board.recording(None, [{"maps": board.spec.pack(v)} for v in values]))
    assert output.verdict == "preprocessing" and says in output.why.lower(), str(output)
    assert np.allclose(output.fix["mean"], mean) and np.allclose(output.fix["std"], std)
