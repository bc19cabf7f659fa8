"""What is usually done in place of mean and std."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.other_inputs.usual_mistakes import Mistake, mistakes
from tests.support.boards import PRE, SIDE, Board


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


@pytest.mark.parametrize(
    "mean, std, says",
    [
        ([127.5] * 3, [127.5] * 3, "mean and std 127.5"),
        ([63.75] * 3, [127.5] * 3, "divided by 127.5, minus 0.5"),
        (PRE["mean"], PRE["mean"], "the mean used as std, too"),
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


def test_means_are_also_tried_as_they_are_written_down() -> None:
    """In the order of red, green and blue, whatever the model takes."""
    mean, std = np.array([[103.53, 116.28, 123.675], [57.375, 57.12, 58.395]])
    tried = [(m.tolist(), s.tolist()) for _, _, m, s in mistakes(np.zeros(3), np.ones(3), "BGR")]
    assert all(both in tried for both in ((mean.tolist(), std.tolist()), (mean[::-1].tolist(), std[::-1].tolist())))


@pytest.mark.parametrize("color", ["RGB", "BGR"])
def test_each_mistake_is_tried_once_and_does_what_it_says(color: str) -> None:
    mean, std = np.array([120.0, 115.0, 100.0]), np.array([60.0, 58.0, 57.0])
    tried = mistakes(mean, std, color)
    assert len({one.id for one in tried}) == len({one.text for one in tried}) == len(tried)
    assert len({(*one.mean, *one.std) for one in tried}) == len(tried), "two mistakes make the same input"
    pixels = np.array([[0.0, 17.0, 255.0]]).T
    right = (pixels - mean) / std
    made = {one.id: (pixels - one.mean) / one.std for one in tried}
    for name, expected in {
        "forgotten": pixels + 0 * mean,
        "forgotten_divided": pixels / 255 + 0 * mean,
        "no_mean": pixels / std,
        "no_std": pixels - mean,
        "twice": (right - mean) / std,
        "divided_twice": right / 255,
        "undivided": right * 255,
        "units_of_one": (pixels - mean / 255) / (std / 255),
        "divided_first": (pixels / 255 - mean) / std,
        "multiplied": (pixels - mean) * std,
        "multiplied_in_units_of_one": (pixels - mean / 255) * (std / 255),
        "multiplied_by_units_of_one": (pixels - mean) * (std / 255),
        "half_of_127": pixels / 127.5 - 0.5 + 0 * mean,
        "mean_as_std": (pixels - mean) / mean,
        "reversed": (pixels - mean[::-1]) / std[::-1],
    }.items():
        np.testing.assert_allclose(made[name], expected, rtol=1e-12, atol=1e-9, err_msg=name)


def test_without_a_declared_mean_there_are_only_factors() -> None:
    tried = mistakes(np.zeros(3), np.ones(3), "RGB", known=False)
    assert {one.id for one in tried} == {"divided_twice", "undivided"}  # the others are the same for a mean of 0
    assert all((one.mean == 0).all() for one in tried)


def test_mistakes_that_make_nearly_the_same() -> None:
    """By what pixels of 0 and 255 become: a hundredth of what all pixels make."""
    one = Mistake("one", "", np.full(3, 128.0), np.ones(3))
    assert one.is_like(one) and one.is_like(one._replace(std=np.full(3, 256 / 255)))
    assert one.is_like(one._replace(mean=np.full(3, 126.0))) and not one.is_like(one._replace(mean=np.full(3, 125.0)))
    assert not one.is_like(one._replace(std=np.array([1, 1, 1.03])))
