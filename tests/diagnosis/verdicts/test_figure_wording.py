"""The sentences on figures and parts of an output."""

from __future__ import annotations

import numpy as np

from npu_layout.comparison import OutputComparison, OutputPart
from npu_layout.diagnosis.verdicts import figure_wording


def test_parts_are_named() -> None:
    def parts(axis: int | None, *at: int, why: str = "") -> list[OutputPart]:
        return [OutputPart(axis, i, 40, 1.5, why) for i in at]

    assert figure_wording.unexplained(parts(1, 5), 1) == "Channel 5 of 40 does not follow the model."
    assert figure_wording.unexplained(parts(2, 3), 1) == "Place 3 of 40 along axis 2 does not follow the model."
    assert figure_wording.unexplained(parts(1, 5), 1, met=True) == (
        "Channel 5 of 40 does not follow the model. The tolerances do not show that: they are of the output as a whole."
    )
    both = figure_wording.unexplained([*parts(1, 1, 2, why="it is 0"), *parts(None, 7)], 1)
    assert both.startswith("2 of 40 channels (1, 2) do not follow the model: it is 0. Frame 7 of 40 does")
    assert figure_wording.worst(parts(None, *range(9))).startswith(
        "9 of 40 frames (0, 1, 2, 3, 4, 5, ...) have far larger errors"
    )
    assert "vary by up to 1.5 there" in figure_wording.lost(parts(1, 4), 1)


def test_lost_channels_are_split_from_the_others() -> None:
    def split(at: list[int], among: int) -> str:
        return figure_wording.lost([OutputPart(1, k, among, 1.5) for k in at], 1)

    assert "as 2 outputs of the graph (0 to 3 and 4 to 83), cut before the node" in split([*range(4, 84)], 84)
    assert "as 3 outputs of the graph (0, 1 and 2 to 5), cut" in split([1], 6)
    assert "with a scale for each channel, or as a separate output" in split([1, 3, 5, 7], 9)
    assert "with a scale for each channel, or as a separate output" in split([0, 1], 2)
    assert figure_wording.dead([OutputPart(1, 4, 9, 0.01)], 1).startswith("Channel 4 of 9 varies by less than half a")


def test_a_match_says_of_which_channels_it_says_nothing() -> None:
    said = figure_wording.unseen([OutputPart(1, k, 84, 0.01) for k in range(4, 84)], 1)
    assert said.startswith("80 of 84 channels (4, 5, 6, 7, 8, 9, ...) vary by less than half a quantisation step, so")
    assert said.endswith(
        "If they vary no more in other frames, give them a scale of their own, as 2 outputs of the graph (0 to 3 and 4 "
        "to 83), cut before the node that joins them, such as Concat; or give each channel a scale."
    )
    alone = figure_wording.unseen([OutputPart(1, 1, 2, 0.01)], 1)
    assert "Channel 1 of 2 varies" in alone and "of it. If it varies" in alone and "a scale of its own" in alone


def test_values_that_are_not_finite_are_counted_on_their_side() -> None:
    nan = np.nan

    def said(device: list[float], model: list[float]) -> str:
        compared = OutputComparison(None)
        compared.add(3, np.array([device]), np.array([model]))
        return (figure_wording.not_finite if compared.whole else figure_wording.nothing_finite)(compared)

    assert said([1, nan, 2], [1, 4, 2]) == "1 of 3 values is NaN or infinite on the device alone, at (0, 1) of frame 3."
    assert said([1, 3, 2, 2], [np.inf, nan, 2, 2]) == (
        "2 of 4 values are NaN or infinite in the model alone, the first at (0, 0) of frame 3."
    )
    assert said([1, nan, 2], [nan, 1, 2]).startswith("2 of 3 values are NaN or infinite on one side only, the first")
    assert said([nan, nan], [1, 2]) == "All 2 values are NaN or infinite on the device alone."
    assert said([nan, nan], [nan, nan]) == "All 2 values are NaN or infinite on both sides."
