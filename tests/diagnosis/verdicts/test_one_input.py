"""Outputs of one device that disagree on the input that it had."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis import Evidence, Trial, contradiction
from npu_layout.diagnosis.scoring.trials import Candidate
from tests.support.boards import Board

SHAPE = (1, 6, 16, 16)


def way(name: str, cause: str) -> str | None:
    """What identifies how an input was made: that of another frame was not made in another way."""
    return None if cause == "wrong_input" else name


def judged(device: str, noise: float, cause: str = "preprocessing") -> tuple[Candidate, Evidence, list[Candidate]]:
    """An output that had an input: "recorded", "named" or "third"; and what is known of it."""
    rng = np.random.default_rng(3)
    answers = {name: rng.standard_normal((2, *SHAPE)).astype(np.float32) for name in ("recorded", "named", "third")}
    if device == "nearly recorded":
        answers["named"] = answers["recorded"] + 0.1 * answers["named"]
    stored = answers["recorded" if device == "nearly recorded" else device]
    stored = (stored + noise * rng.standard_normal(stored.shape)).astype(np.float32)
    found = Evidence(nl.TensorSpec(SHAPE), [y.ravel() for y in stored], list(answers["recorded"]), (), 1)
    trials = [found.as_declared()]
    for name, of in (("named", cause), ("third", "geometry")):
        wanted = np.stack([found.samples.of(x) for x in answers[name]])
        trials.append(
            Trial(
                of,
                name,
                None,
                found.codes,
                found.codes - wanted,
                False,
                found.spec,
                rows=[0, 1],
                of_input=True,
                way=way(name, of),
            )
        )
    named = Candidate(cause, "named for another output", 9.0, 6.0, None, of_input=True, way=way("named", cause))
    return named, found, found.rank(trials)


@pytest.mark.parametrize(("device", "better"), [("recorded", "match"), ("third", "geometry")])
def test_an_input_that_another_output_did_not_have(device: str, better: str) -> None:
    found = contradiction(*judged(device, 0.3))
    assert found is not None and found.better is not None
    assert (found.here.text, found.better.cause) == ("named", better)


@pytest.mark.parametrize("noise", [0.1, 0.5, 1.0, 3.0])
def test_the_input_that_both_outputs_had(noise: float) -> None:
    assert contradiction(*judged("named", noise)) is None


def test_an_input_that_hardly_changes_the_other_output_is_not_refuted_by_it() -> None:
    assert contradiction(*judged("nearly recorded", 0.3)) is None


def test_an_input_that_ought_to_gain_more() -> None:
    """The device had none of the inputs: as recorded and as named they explain as little."""
    named, found, ranking = judged("third", 0.3)
    known = [c for c in ranking if c.text != "third"]
    refuted = contradiction(named, found, known)
    assert refuted is not None and refuted.better is None and refuted.here.gain < 1.5


def test_one_output_may_be_late_alone() -> None:
    assert contradiction(*judged("recorded", 0.3, "wrong_input")) is None


def test_an_input_that_was_not_tried_is_not_refuted() -> None:
    named, found, ranking = judged("recorded", 0.3)
    assert contradiction(named._replace(way="another"), found, ranking) is None


@pytest.mark.parametrize("both", [True, False])
def test_an_input_is_named_if_no_output_had_another_one(both: bool) -> None:
    """What one output of two shows of the input is no cause if the other one had the input as it was recorded."""
    board = Board(outputs=("a", "b"))
    turned = [board.engine.infer(np.ascontiguousarray(x[:, :, ::-1])) for x in board.inputs]
    outputs = [
        {"a": board.spec.pack(other["a"]), "b": board.spec.pack((other if both else answer)["b"])}
        for other, answer in zip(turned, board.answers)
    ]
    report = nl.validate(board.recording(None, outputs), board.engine)
    found = report.outputs["a"]
    assert found.verdict == ("geometry" if both else "ambiguous"), str(report)
    assert ("a device has one input, and output 'b' agrees with this one to" in found.why) != both
    assert report.outputs["b"].verdict == ("geometry" if both else "match")
