"""A frame that has another one's output is said to have it, and no frame that has none."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.comparison import OutputPart
from npu_layout.diagnosis import Evidence
from npu_layout.diagnosis.computed.stray_frames import stray_frames
from npu_layout.diagnosis.verdicts.figure_wording import strays
from tests.support.boards import Board, same

SAYS = "has the output of frame"


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def noisy(values: np.ndarray, db: float, seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).standard_normal(values.shape) * values.std() * 10 ** (-db / 20)
    return (values + noise).astype(np.float32)


@pytest.mark.parametrize("at, source, db", [(5, 2, 12.0), (0, 7, 20.0), (7, 3, 30.0)])
def test_which_frames_output_a_frame_has(board: Board, at: int, source: int, db: float) -> None:
    answers = [noisy(answer["maps"], db, i) for i, answer in enumerate(board.answers)]
    answers[at] = noisy(board.answers[source]["maps"], db, 99)
    output = board.verdict(board.recording(None, [{"maps": board.spec.pack(a)} for a in answers]))
    assert output.verdict == "mismatch" and output.fix is None
    assert f"Frame {at} {SAYS} {source}: look for a buffer" in output.why, str(output)
    assert output.why.count(SAYS) == 1


@pytest.mark.parametrize("at, source", [(2, 4), (4, 2)])
def test_a_frame_that_differs_less_than_from_the_one_before(board: Board, at: int, source: int) -> None:
    """All tolerances are met, and no frame's error is as large as its change: its error beside the others' says it."""
    answers = [answer["maps"] for answer in board.answers]
    answers[at] = answers[source]
    output = board.verdict(board.recording(None, [{"maps": board.spec.pack(a)} for a in answers]))
    assert output.verdict == "mismatch" and output.fix is None
    assert output.why.startswith(f"Frame {at} {SAYS} {source}: look for a buffer"), str(output)
    assert all(met for *_, met in output.tolerances.values())


@pytest.mark.parametrize("seed", range(4))
def test_a_frame_of_more_noise_has_its_own(board: Board, seed: int) -> None:
    answers = [noisy(answer["maps"], 45.0, i) for i, answer in enumerate(board.answers)]
    answers[seed] = noisy(board.answers[seed]["maps"], 10.0 + 3 * seed, 99)
    output = board.verdict(board.recording(None, [{"maps": board.spec.pack(a)} for a in answers]))
    assert SAYS not in output.why, str(output)


@pytest.mark.parametrize("share", [0.1, 0.2])
def test_outputs_that_are_only_nearest_to_another_frames(board: Board, share: float) -> None:
    """As of a device that hardly sees its frames: between the model's outputs, and nearest to one of them."""
    references = [answer["maps"] for answer in board.answers[:4]]
    between = (1 - share) * references[2] + share * np.mean(references, 0)
    stored = [noisy(between, 20.0, 0), *references[1:]]
    evidence = Evidence(board.spec, [board.spec.pack(np.float32(a)) for a in stored], references, (), 1)
    assert stray_frames(evidence, range(4), [OutputPart(None, 0, 4, 1.0)]) == []


def test_several_frames_that_share_a_source(board: Board) -> None:
    references = [answer["maps"] for answer in board.answers]
    buffers = [board.spec.pack(references[k]) for k in (0, 1, 2, 3, 1, 5, 1, 7)]
    evidence = Evidence(board.spec, buffers, references, (), 1)
    assert stray_frames(evidence, range(8), [OutputPart(None, 6, 8, 1.0)]) == [(4, 1), (6, 1)]
    assert strays([(4, 1), (6, 1)]).startswith(f"Frame 4 {SAYS} 1, frame 6 {SAYS} 1: look for")


@pytest.mark.parametrize("seed", range(2))
def test_what_is_no_frames_output(board: Board, seed: int) -> None:
    """Random values, half of one picture and half of another, and a frame of which most is noise."""
    rng = np.random.default_rng(seed)
    first, second = board.answers[2]["maps"], board.answers[6]["maps"]
    half = np.where(rng.random(first.shape) < 0.5, first, second)
    spoiled = (rng.permutation(first.ravel()).reshape(first.shape), half, noisy(first, 0.0, seed), -first)
    for values in spoiled:
        outputs = [{"maps": board.spec.pack(answer["maps"])} for answer in board.answers]
        outputs[5] = {"maps": board.spec.pack(values.astype(np.float32))}
        output = board.verdict(board.recording(None, outputs))
        assert output.verdict == "mismatch" and SAYS not in output.why, str(output)


def test_faultless_frames_have_their_own() -> None:
    """Of any noise, whatever frames are asked for; frames that are alike are distinguished by nothing."""
    rng = np.random.default_rng(0)
    parts = [OutputPart(None, i, 6, 1.0) for i in range(6)]
    for draw in range(300):
        shape = (1, int(rng.integers(1, 9)), *rng.choice([1, 2, 6], 2)) if draw % 2 else (1, int(rng.integers(2, 40)))
        scene = rng.standard_normal(shape)
        alike = float(rng.choice([0.0, 0.01, 1.0]))
        references = [(scene + alike * rng.standard_normal(shape)).astype(np.float32) for _ in range(6)]
        stored = [noisy(r, float(rng.uniform(0, 30)), draw * 6 + i) for i, r in enumerate(references)]
        spec = nl.TensorSpec(shape, "NCHW" if draw % 2 else "NC", "float32")
        evidence = Evidence(spec, [spec.pack(s) for s in stored], references, (), 1)
        found = stray_frames(evidence, range(6), parts)
        assert not found, (draw, shape, alike, found)


def test_frames_that_were_not_kept_and_other_parts_are_left_out(board: Board) -> None:
    references = [answer["maps"] for answer in board.answers[:4]]
    buffers = [board.spec.pack(references[k]) for k in (0, 3, 2, 3)]
    evidence = Evidence(board.spec, buffers, references, (), 1)
    numbers = [0, 10, 20, 30]
    parts = [OutputPart(None, 10, 40, 1.0), OutputPart(1, 2, 19, 1.0), OutputPart(None, 15, 40, 1.0)]
    assert stray_frames(evidence, numbers, parts) == [(10, 30)] and stray_frames(evidence, numbers, parts[1:]) == []
    assert stray_frames(evidence, numbers, [parts[0]._replace(why="it repeats frame 9")]) == []
    assert stray_frames(Evidence(board.spec, buffers[:1], references[:1], (), 1), [10], parts) == []


@pytest.mark.parametrize(
    ("apart", "db", "alike"), [(0.002, 20, True), (0.05, 20, False), (0.002, 70, False), (0, 70, True)]
)
@pytest.mark.parametrize("swapped", [True, False])
def test_frames_that_are_too_alike_for_their_order(apart: float, db: float, alike: bool, swapped: bool) -> None:
    """An exchange of frames is not seen where they differ by less than the noise: the report says so."""
    rng, shape = np.random.default_rng(8), (1, 6, 16, 16)
    first = rng.standard_normal(shape)
    model = [(first + apart * rng.standard_normal(shape)).astype(np.float32) for _ in range(4)]
    device = [noisy(x, db, k) for k, x in enumerate(model)]
    if swapped and alike:
        device[1], device[2] = device[2], device[1]
    spec = nl.TensorSpec(shape, "NCHW", "float32", name="y")
    recording = nl.Recording({"y": spec}, [({"x": x}, {"y": y.ravel()}) for x, y in zip(model, device)])
    output = nl.validate(recording, same(shape)).outputs["y"]
    assert output.verdict == "match" and ("too much like the next one's" in output.why) == alike, str(output)
    one = nl.Recording({"y": spec}, recording.frames[:1])
    assert "like the next one's" not in nl.validate(one, same(shape)).outputs["y"].why
