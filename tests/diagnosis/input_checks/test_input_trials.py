"""What a change leaves, which one explains what was recorded, and which are named together."""

from __future__ import annotations

from functools import partial
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.input_checks.input_changes import Change
from npu_layout.diagnosis.input_checks.input_check import recorded_inputs
from npu_layout.diagnosis.input_checks.input_pairs import FrameInput, InputPair
from npu_layout.diagnosis.input_checks.input_trials import (
    SAME,
    Tried,
    alike,
    best,
    interpolated_exactly,
    possible,
    tried,
)
from tests.diagnosis.input_checks.test_input_check import HOW, own, smooth, walk
from tests.support.input_bench import Bench

SPEC = nl.TensorSpec((1, 3, 4, 4))


def trial(off: float, words: str = "", declared: float = 20.0, saturated: float = 0.0, **fields: Any) -> Tried:
    change = Change(words, lambda pair: FrameInput(np.empty(0), 0.0), **fields)
    return Tried(change, off, SAME, saturated, declared)


def pairs(count: int) -> list[InputPair]:
    frame = np.zeros((4, 4, 3), np.uint8)
    return [InputPair(SPEC, {i: frame}, i, np.full(SPEC.shape, i), {"mean": 0, "std": 1}) for i in range(count)]


def test_the_frames_that_a_change_can_be_made_of_count() -> None:
    made = [np.zeros(SPEC.shape, np.float32)] * 3

    def like(pair: InputPair) -> FrameInput:
        return FrameInput(np.full(SPEC.shape, 2.0, np.float32), 0.1 * pair.number)

    found = tried(Change("", like, applies=lambda pair: pair.number > 0), pairs(3), made)
    assert (found.off, found.declared, found.saturated) == (1.0, 2.0, 0.2) and found.from_declared == SAME
    none = tried(Change("", like, applies=lambda pair: False), pairs(3), made)
    assert none.off == np.inf and none.declared == 0.0
    formula = tried(Change("", like, is_formula=True), pairs(3), made)
    assert formula.from_declared == 2.0 and formula.off == 2.0


def test_what_leaves_too_much_of_the_frame_that_differs_most_is_made_of_no_other() -> None:
    used: list[tuple[float, int]] = []

    def like(value: float, pair: InputPair) -> FrameInput:
        used.append((value, pair.number))
        return FrameInput(np.full(SPEC.shape, value, np.float32), 0.0)

    made = [np.zeros(SPEC.shape, np.float32)] * 4
    far, near = Change("far", partial(like, 1.0)), Change("near", partial(like, 1.5))
    of_the_first = Change("far of the first", partial(like, 2.0))
    elsewhere = Change("elsewhere", partial(like, 0.5), applies=lambda pair: pair.number < 3)
    changes = [far, of_the_first, near, elsewhere]
    found = possible(changes, pairs(4), made)
    assert [number for value, number in used if value == 1.0] == [3]
    assert [number for value, number in used if value == 2.0] == [3, 0], "2 - 0 is more than half of 3"
    assert [number for value, number in used if value == 1.5] == [3, 0, 1, 2], "each once"
    assert found == [tried(change, pairs(4), made) for change in (near, elsewhere)]
    assert [t.off for t in found] == [1.5, 1.5]
    for limit, allowed in ((np.inf, True), (1.6, True), (1.4, False)):
        assert [t.change for t in possible(changes, pairs(4), made, limit)] == [near, elsewhere] * allowed
    some = [tried(change, pairs(4), made) for change in changes]
    assert best([], some, 30, 30) == best([], found, 30, 30)


def test_which_explains() -> None:
    first, second = trial(4.0, "first"), trial(3.5, "second")
    assert best([], [first, second], 30, 30) == [first], "as good, and the commoner"
    assert best([], [first, trial(0.0, "exact")], 30, 30)[0].change.words == "exact"
    assert best([], [trial(0.2, "near"), trial(0.0, "exact")], 30, 30)[0].change.words == "exact"
    assert best([], [trial(2.5, "argument"), trial(2.0, "source", kind="source")], 30, 30)[0].change.words == "source"
    assert best([], [trial(11.0)], 30, 30) == [], "more than half of what is left as declared"
    assert best([], [trial(5.0)], 3, 30) == [] and best([], [trial(5.0)], 30, 5) == []
    assert best([], [trial(0.0, declared=0.9)], 30, 30) == [], "only in frames that are as declared"
    assert best([], [trial(0.9, declared=1.1)], 30, 30) == [], "noise of a step, less by a step in some places"
    assert len(best([], [trial(0.5, declared=1.1)], 30, 30)) == 1
    assert best([], [trial(0.0, saturated=0.6)], 30, 30) == []
    assert best([trial(0.3, how={})], [], 30, 30) == [] and best([trial(0.2)], [], 30, 30) == []
    assert len(best([trial(0.2, how={})], [], 30, 30)) == 1
    assert best([], [], 30, 30) == []


def test_what_is_named_together() -> None:
    parts = [trial(1.0, f"{n}", kind="part", changes=n) for n in (2, 1, 3)]
    others = [trial(1.0, "other"), trial(1.5, "part off", kind="part", changes=1)]
    assert [t.change.words for t in alike(parts[0], [*parts, *others])] == ["1", "2", "3"]
    sources = [t._replace(change=t.change._replace(kind="source")) for t in (*parts, parts[1])]
    assert [t.change.words for t in alike(sources[0], sources)] == ["1", "1"]
    assert alike(others[0], [*parts, *others]) == [others[0]]


def test_a_frame_after_explains_no_more_than_what_was_declared() -> None:
    """The last frame, which has none after it, differs most; in the others what is after is little better."""
    first = walk(1)[0]
    noisy = np.random.default_rng(0).integers(0, 256, first.shape, np.uint8)
    make = own(smooth)
    runs = [({"image": make(frame), "frame": frame}, {}) for frame in (first, first, first, first, noisy)]
    found = recorded_inputs(nl.Recording({}, runs, {"preprocess": HOW})).reports["image"]
    assert "except for the resize formula" in found.why, str(found)


def _grain(rng: np.random.Generator, pixels: np.ndarray, deviation: float = 3) -> np.ndarray:
    return np.clip(pixels + rng.normal(0, deviation, pixels.shape), 0, 255).astype(np.float32)


def _file(rng: np.random.Generator, frame: np.ndarray) -> np.ndarray:
    return np.asarray(cv2.imdecode(cv2.imencode(".jpg", frame, [cv2.IMWRITE_JPEG_QUALITY, 75])[1], 1))


@pytest.mark.parametrize("arithmetic", ["unit", "imagenet", "signed"])
@pytest.mark.parametrize("lost", ["noise", "a file"])
def test_mean_and_std_are_forgotten_of_frames_that_noise_or_a_file_changed(arithmetic: str, lost: str) -> None:
    """What is lost of pixels is as much as without the mistake, though in steps as declared it is many times it."""
    bench, rng = Bench(arithmetic, "float32", "texture"), np.random.default_rng(0)
    pixels = [
        _grain(rng, bench.pixels(frame)) if lost == "noise" else bench.pixels(_file(rng, frame)).astype(np.float32)
        for frame in bench.frames
    ]
    found = bench.judged(pixels)
    assert "mean=0, std=1 (mean and std forgotten) makes" in found.why, str(found)
    assert np.ravel(found.fix["std"]).tolist() == [1] * len(np.ravel(found.fix["std"])), str(found)
    within = float(found.why.split("(within ")[1].split()[0])
    assert (2.5 < within < 3.5) if lost == "noise" else (1 < within < 8), str(found)
    declared = bench.judged([bench.stored(x) for x in pixels])
    assert declared.verdict == "match", str(declared)


def test_an_interpolation_beside_mean_and_std_is_named_under_noise() -> None:
    bench, rng = Bench("unit", "float32", "texture"), np.random.default_rng(0)
    bench.frames = [_grain(rng, frame, 9).astype(np.uint8) for frame in bench.frames]
    found = bench.judged([_grain(rng, bench.pixels(frame, interpolation="nearest"), 1) for frame in bench.frames])
    assert "mean=0, std=1 (mean and std forgotten), interpolation='nearest' makes" in found.why, str(found)
    assert found.fix["interpolation"] == "nearest", str(found)


@pytest.mark.parametrize("frames", ["texture", "dim", "walk"])
@pytest.mark.parametrize("arithmetic", ["unit", "imagenet"])
def test_large_floats_that_are_none_of_the_frame_have_no_cause(arithmetic: str, frames: str) -> None:
    """Pixels of 0 to 255 that no mean and std were applied to: of another picture, a negative, noise, and one value."""
    bench, rng = Bench(arithmetic, "float32", frames), np.random.default_rng(0)
    for change in (
        lambda x: np.roll(x[::-1], 31, 1),
        lambda x: 255 - x,
        lambda x: rng.integers(0, 256, x.shape).astype(np.uint8),
        lambda x: x * 0 + 99,
    ):
        found = bench.judged([bench.pixels(change(frame)).astype(np.float32) for frame in bench.frames])
        assert found.fix is None and "no known change" in found.why, str(found)


def test_no_interpolation_is_tried_of_what_a_preprocessor_cannot_make_of_these_frames() -> None:
    """Another source is of frames in their own format, which these are not."""
    made = [np.zeros(SPEC.shape, np.float32)] * 2
    nv21 = {"source": nl.FrameSpec("NV21", (4, 4)), "mean": 0, "std": 1}
    for found in ([], [trial(2.0, "mirrored")], [trial(2.0, "U and V exchanged", how=nv21, kind="source")]):
        assert interpolated_exactly(found, pairs(2), made) == found
