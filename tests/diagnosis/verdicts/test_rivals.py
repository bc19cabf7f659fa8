"""Two candidates of one output: on whose side the data are."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import npu_layout as nl
from npu_layout.diagnosis.scoring.evidence import Evidence
from npu_layout.diagnosis.scoring.trials import Candidate, Trial
from npu_layout.diagnosis.verdicts import causes
from npu_layout.diagnosis.verdicts.rivals import alike, differs, distance, has_no_bend, is_everywhere, sides
from tests.support.boards import SIDE, network, picture

NOISE = 0.1


def compared(
    *factors: float, made: float = 1.0, rows: tuple[int, ...] | None = None
) -> tuple[Evidence, dict[float, Candidate]]:
    """Return so many times the model's values with noise, and a candidate for each factor that may be meant."""
    rng = np.random.default_rng(0)
    references = [rng.normal(size=(1, 4, 200)) for _ in range(5)]
    device = [(made * r + NOISE * rng.normal(size=r.shape)).astype(np.float32) for r in references]
    evidence = Evidence(nl.TensorSpec((1, 4, 200), "NCW", "float32"), device, references, (), 1)
    at = list(range(5) if rows is None else rows)
    codes, wanted = evidence.codes[at], evidence.wanted[at]
    trials = [
        Trial("preprocessing", f"{f} times", {"f": f}, codes, codes - f * wanted, False, evidence.spec, rows=rows)
        for f in factors
    ]
    ranking = evidence.rank([*causes.declared(evidence), *trials])
    return evidence, {c.fix["f"]: c for c in ranking if c.fix is not None}


def test_the_data_are_on_the_side_of_what_they_are_made_of() -> None:
    evidence, found = compared(0.2, 0.6, 1.0)
    assert sides(evidence, found[1.0], found[0.2]) == pytest.approx(0, abs=0.05)
    assert sides(evidence, found[0.2], found[1.0]) == pytest.approx(1, abs=0.05)
    assert sides(evidence, found[0.6], found[0.2]) == pytest.approx(-1, abs=0.1)  # beyond the first
    both, others = compared(0.8, 1.2)
    assert sides(both, others[0.8], others[1.2]) is None  # in the middle


def test_distance_is_a_share_of_the_noise() -> None:
    evidence, found = compared(1.0, 1.05, 1.0001)
    power = float(np.square(evidence.wanted).mean())
    noise = float(np.square(evidence.left).mean())
    assert distance(evidence, found[1.0], found[1.05]) == pytest.approx(0.05**2 * power / noise, rel=0.05)
    assert alike(evidence, found[1.0], found[1.0001]) and not alike(evidence, found[1.0], found[1.05])


def test_only_the_frames_of_both_are_compared() -> None:
    evidence, found = compared(1.0, 0.5, rows=(1, 3))
    assert sides(evidence, found[1.0], found[0.5]) == pytest.approx(0, abs=0.05)


def test_what_differs_from_the_declared_reading() -> None:
    evidence, found = compared(0.5, 0.98, made=0.5)
    assert differs(evidence, found[0.5]) and not differs(evidence, found[0.98])


@pytest.mark.parametrize("of", ["frames", "channels"])
def test_what_is_at_a_candidate_on_average_is_not_everywhere(of: str) -> None:
    """The data are at 1.2 times the model's values in all parts, or at 1.0 in some and at 1.4 in the others."""
    for others, everywhere in ((1.2, True), (1.4, False)):
        rng = np.random.default_rng(1)
        references = [rng.normal(size=(1, 4, 200)) for _ in range(6)]
        factors = np.full((6, 4), 2.4 - others)
        factors[(slice(0, 3), slice(None)) if of == "frames" else (slice(None), slice(0, 2))] = others
        made = [f.reshape(1, 4, 1) * r + 0.01 * rng.normal(size=r.shape) for f, r in zip(factors, references)]
        device = [x.astype(np.float32) for x in made]
        evidence = Evidence(nl.TensorSpec((1, 4, 200), "NCW", "float32"), device, references, (), 1)
        left = evidence.codes - 1.2 * evidence.wanted
        ranking = evidence.rank([*causes.declared(evidence), evidence.tried("preprocessing", "", left, {})])
        candidate = next(c for c in ranking if c.cause == "preprocessing")
        assert candidate.leans == pytest.approx(1, abs=0.05)
        assert is_everywhere(evidence, candidate, 6) == everywhere
        assert not is_everywhere(evidence, candidate, 7)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("bend", [0.01, 0.05])
def test_the_bend_of_an_input_tells_it_from_a_scale(bend: float, share: float) -> None:
    """The input makes twice the values, and a bend; the data have a share of it, and all or none are a cause."""
    rng = np.random.default_rng(2)
    references = [rng.normal(size=(1, 4, 400)) for _ in range(5)]
    bends = [bend * (r * r - 1) for r in references]
    made = [2 * r + share * b + NOISE * rng.normal(size=r.shape) for r, b in zip(references, bends)]
    device = [x.astype(np.float32) for x in made]
    evidence = Evidence(nl.TensorSpec((1, 4, 400), "NCW", "float32"), device, references, (), 1)
    scale = evidence.tried("quantization", "", evidence.codes - 2 * evidence.wanted, {})
    bent = np.stack([evidence.samples.of(b) for b in bends])
    other = evidence.tried("preprocessing", "", evidence.codes - 2 * evidence.wanted - bent, {})
    ranking = {c.cause: c for c in evidence.rank([*causes.declared(evidence), scale, other])}
    told = bend == 0.05  # of a bend of a fiftieth of the noise the data say nothing
    assert has_no_bend(evidence, ranking["quantization"], ranking["preprocessing"]) == (told and share == 0)


def _nearly_linear(pixels: float, declared: float) -> nl.OutputReport:
    """What is said of a network whose values nearly double if its pixels do, given so many times these or this scale.

    The noise is at 10 dB; the camera's frames are not recorded.
    """
    model = onnx.load_from_string(network())
    for constant in model.graph.initializer:
        if constant.name.endswith("_b"):
            small = numpy_helper.to_array(constant) * np.float32(0.15)
            constant.CopyFrom(numpy_helper.from_array(small, constant.name))
    engine, how = nl.OnnxRuntimeEngine(model.SerializeToString(), threads=1), {"color": "RGB", "std": 255.0}
    preprocess, rng = nl.Preprocessor(nl.TensorSpec((1, 3, SIDE, SIDE)), **how), np.random.default_rng(1)
    inputs = [preprocess(picture(i))[0].reshape(1, 3, SIDE, SIDE).copy() for i in range(6)]
    answers = [engine.infer(x * np.float32(pixels))["maps"] for x in inputs]
    quantization = nl.engines.calibrate(answers, "int8")
    assert quantization is not None
    scale = float(np.asarray(quantization.scale)) * declared
    stored = nl.TensorSpec(answers[0].shape, "NHWC", "int8", quantization=quantization)
    spec, pairs = stored.replace(quantization=nl.Quantization(scale, quantization.zero_point)), []
    for x, y in zip(inputs, answers):
        noise = 10**-0.5 * y.std((2, 3), keepdims=True) * rng.standard_normal(y.shape)
        pairs.append(({"image": x}, {"maps": stored.pack((y + noise).astype(np.float32))}))
    output = nl.validate(nl.Recording({"maps": spec}, pairs, {"preprocess": how}), engine).outputs["maps"]
    if output.verdict == "quantization":
        assert output.fix.quantization == quantization, str(output)
    return output


def test_half_a_scale_is_told_from_half_the_pixel_values() -> None:
    assert _nearly_linear(pixels=1.0, declared=0.5).verdict == "quantization"
    assert _nearly_linear(pixels=0.5, declared=1.0).verdict == "preprocessing"


def test_a_brightness_that_was_not_tried_is_no_scale() -> None:
    assert _nearly_linear(pixels=0.6, declared=1.0).verdict == "ambiguous"
