"""What a report says of detections: the sums, and the first frames that differ."""

from __future__ import annotations

from dataclasses import replace

from npu_layout.decode import Comparison
from npu_layout.reports.detected import detected


def compared(matched: int = 0, missing: int = 0, marginal: int = 0, extra: int = 0) -> Comparison:
    pairs = tuple((i, i) for i in range(matched))
    beside = tuple(("found", i) for i in range(marginal))
    return Comparison(pairs, tuple(range(missing)), tuple(range(extra)), (), (), (), (), (), (), beside, 0.5, 0.125)


def test_no_comparison_has_no_words() -> None:
    assert detected({}) == ""


def test_what_agrees_is_one_line() -> None:
    found = {0: compared(3), 4: compared(2, marginal=1)}
    assert detected(found) == "detections: the same in 2 frames, 5 matched, 1 marginal"


def test_nothing_detected_says_so() -> None:
    line = "detections: the same in 2 frames, 0 matched, 0 marginal; nothing was detected, so that this proves nothing"
    assert detected({0: compared(), 1: compared()}) == line


def test_what_the_model_does_not_define_is_counted() -> None:
    odd = replace(compared(2), undefined=(4, 5))
    line = "detections: the same in 2 frames, 5 matched, 0 marginal, 2 undefined: NaN or infinite in the model"
    assert detected({0: odd, 1: compared(3)}) == line
    alone = detected({0: replace(compared(), undefined=(0,))})
    assert alone.endswith(
        " 1 undefined: NaN or infinite in the model; nothing else was detected, so that this proves nothing"
    )


def test_frames_that_differ_are_named() -> None:
    found = {0: compared(3), 7: compared(1, missing=2), 9: compared(extra=1)}
    assert detected(found).splitlines() == [
        "detections: differ in 2 of 3 frames, 4 matched, 0 marginal",
        "  frame 7: 1 matched, 2 missing; edges within 0.5 px, scores within 0.125",
        "  frame 9: 0 matched, 1 extra",
    ]


def test_only_the_first_three_are_shown() -> None:
    for count in (3, 4, 10):
        lines = detected({i: compared(missing=1) for i in range(count)}).splitlines()
        assert lines[0] == f"detections: differ in {count} of {count} frames, 0 matched, 0 marginal"
        assert [line.split(":")[0] for line in lines[1:4]] == ["  frame 0", "  frame 1", "  frame 2"]
        assert lines[4:] == ([f"  and in {count - 3} more frames"] if count > 3 else [])
