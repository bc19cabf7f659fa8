"""Which candidates are shown once."""

from __future__ import annotations

import npu_layout as nl
from npu_layout.diagnosis.scoring.trials import Candidate, without_repeats


def test_what_comes_to_the_same_fix_is_named_once() -> None:
    def reading(score: float, scale: float, **strides: tuple[int, ...]) -> Candidate:
        q = nl.Quantization(scale)
        spec = nl.TensorSpec((1, 4, 2, 2), "NHWC", "int8", quantization=q, size=64, storage_strides=strides.get("by"))
        return Candidate("layout", "", score, score, spec, spec=spec)

    one, strided, scaled = reading(9, 0.5), reading(8, 0.5, by=(32, 16, 8, 1)), reading(7, 0.25)
    none = Candidate("mismatch", "", 6, 6, None)
    assert without_repeats([one, strided, scaled, none, none]) == [one, scaled, none, none]


def test_what_says_the_same_without_a_fix_is_named_once() -> None:
    """An exp is looked for in the stored values and in their logarithms: two trials of one cause."""
    one, other = (Candidate("activation", "an extra exp", score, score, None) for score in (9, 8))
    sigmoid = Candidate("activation", "an extra sigmoid", 7, 7, None)
    assert without_repeats([one, other, sigmoid]) == [one, sigmoid]
