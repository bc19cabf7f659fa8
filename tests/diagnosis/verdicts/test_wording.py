"""The sentences of verdicts."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis.scoring.trials import Candidate
from npu_layout.diagnosis.verdicts import wording
from tests.support.boards import Board, same


def test_every_verdict_has_its_words() -> None:
    """A cause has its sentences, the fix as code, and a row of the page."""
    from npu_layout.reports import fixes, report

    causes = set(report.VERDICTS) - {"match", "mismatch", "ambiguous"}
    assert set(wording.CAUSES) == causes, "wording.CAUSES: what is wrong, what to record, what to do"
    assert set(fixes._WRITTEN) == causes - {"geometry", "activation", "input_layout"}, (
        "fixes._WRITTEN: the fix as Python and as a line, if there is one"
    )


def test_whose_values_do_not_vary() -> None:
    for model, device, whose in (
        (True, False, "The device's"),
        (False, True, "The model's"),
        (False, False, "The values"),
    ):
        for steps in (True, False):
            said = wording.flat(model, device, steps, True)
            assert said.startswith(whose) and said.endswith("all tolerances are met."), said
            assert ("every reading looks the same" in said) == (model or not (device and steps)), said


def test_a_scale_beside_which_the_model_is_constant_is_doubted() -> None:
    """The device's integers are all over their range: not every reading looks the same."""
    board = Board(2)
    stored = board.spec.quantization
    assert stored is not None
    far = board.spec.replace(quantization=nl.Quantization(1e4, stored.zero_point))
    rng = np.random.default_rng(0)
    device = [{"maps": rng.integers(-128, 128, board.spec.size, np.int8)} for _ in board.frames]
    output = board.verdict(board.recording(far, device))
    assert output.verdict == "mismatch" and "either the scale is far too large" in output.why, str(output)


def test_advice_depends_on_the_fix() -> None:
    late = Candidate("wrong_input", "", 20, 20, -2)
    assert "2 frames late" in wording.CAUSES["wrong_input"].advise(late)
    assert "no constant order" in wording.CAUSES["wrong_input"].advise(late._replace(fix=None))
    assert "No TensorSpec" in wording.CAUSES["quantization"].advise(late._replace(fix=None))
    made = late._replace(cause="preprocessing", fix={"color": "BGR"})
    assert "describe what was done" in wording.CAUSES["preprocessing"].advise(made)
    assert "may be a part of it" in wording.CAUSES["preprocessing"].advise(made._replace(score=9))
    refused = made._replace(fix={"color": "RGB", "mean": [0.5, 0.5, 0.5], "std": [2.0, 2.0, 2.0]})
    assert "A Preprocessor refuses the arguments of the fix" in wording.CAUSES["preprocessing"].advise(refused)
    for fix in ({"color": "GRAY", "mean": [50.0], "std": [20.0]}, {"color": "BGR", "pad_value": 7}):
        assert "refuses" not in wording.CAUSES["preprocessing"].advise(made._replace(fix=fix)), fix


def test_another_explanation_says_of_what_it_is() -> None:
    order = Candidate(
        "channel_order", "6 of 6 channels are in other places (the model's are stored at 5, 4, ...)", 12.34, 1.0, ()
    )
    said = wording.doubt(11.0, order)
    assert "another explanation, the channels are in another order: 6 of 6 channels are in" in said
    assert said.endswith("(12.3 dB).")


@pytest.mark.parametrize(
    ("values", "says"), [(0, "1 independent value in"), (1, "1 independent value in"), (2, "2 ind")]
)
def test_how_many_values_are_too_few(values: int, says: str) -> None:
    class Recorded:
        buffers = (None,)

    sentence = wording.too_little(Recorded(), values)  # type: ignore[arg-type]
    assert sentence.startswith(f"But {says}") and " in one frame cannot prove it" in sentence


def test_scaled_floats_have_no_declared_scale() -> None:
    """Nothing was declared of them that could be wrong; and an offset below zero is subtracted."""
    rng, spec = np.random.default_rng(0), nl.TensorSpec((1, 9, 200), "NCW", "float32", name="y")
    xs = [rng.normal(size=spec.shape).astype(np.float32) for _ in range(3)]
    frames = [({"x": x}, {"y": (2 * x - 0.5).astype(np.float32)}) for x in xs]
    output = nl.validate(nl.Recording({"y": spec}, frames), same(spec.shape)).outputs["y"]
    assert output.verdict == "quantization" and output.fix is None
    assert output.why.startswith("The values have another scale: each value is 2 times the model's, minus 0.5 ("), (
        output
    )


def test_floats_of_another_dtype_have_no_scale() -> None:
    spec = nl.TensorSpec((1, 4), "NC", "bfloat16")
    read = Candidate("quantization", "stored as bfloat16, not quantised", 20.0, 9.0, spec)
    assert wording.explains(read) == ("The values have another dtype than declared: stored as bfloat16, not quantised.")
    scaled = nl.TensorSpec((1, 4), "NC", "int8", quantization=nl.Quantization(0.5))
    assert "do not have the declared scale" in wording.explains(read._replace(fix=scaled, text="scale 0.5"))


def test_what_explains_more_is_not_called_the_next_best() -> None:
    """It may gain less than a cause has to; then the declared reading is not the best one."""
    other = Candidate("preprocessing", "mean forgotten", 18.94, 2.6, None)
    assert wording.next_best([other], 16.3) == (
        "Another explanation (mean forgotten) reaches 18.9 dB, which does not prove it."
    )
    for declared in (18.92, 30.0):
        assert wording.next_best([other], declared) == "The next best explanation (mean forgotten) reaches 18.9 dB."
    assert wording.next_best([], 1.0) == wording.next_best([other._replace(score=-155.0)], 1.0) == "Nothing else fits."
    hardly = other._replace(score=3.9, gain=6.9)  # which the channels' means alone may explain
    assert wording.next_best([hardly], -3.0) == "Nothing else fits."
    assert "reaches 4.1 dB" in wording.next_best([hardly._replace(score=4.1, gain=7.1)], -3.0)


def test_a_picture_that_was_moved_is_described_by_no_spec_or_no_preprocessor() -> None:
    moved = Candidate("geometry", "mirrored", 20.0, 9.0, None)
    for of_input, what in ((False, "TensorSpec"), (True, "argument of Preprocessor")):
        said = wording.CAUSES["geometry"].advise(moved._replace(of_input=of_input))
        assert said.startswith(f"No {what} can describe that. Fix: correct the code that moves"), said
