"""Detections as the measure of a board: faultless ones under noise are right, others are not."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.pytest_plugin import assert_matches
from tests.support import detector


@pytest.fixture(scope="module")
def model() -> nl.OnnxRuntimeEngine:
    return nl.OnnxRuntimeEngine(detector.detector(), threads=1)


def mistaken() -> dict[str, nl.TensorSpec]:
    """Specs that take the scores' blocks for channels that are last."""
    own = detector.specs()
    score = own["score"]
    return {
        **own,
        "score": nl.TensorSpec(score.shape, "NHWC", "int8", quantization=score.quantization, size=score.size),
    }


def test_the_detector_finds_its_squares(model: nl.OnnxRuntimeEngine) -> None:
    decoder = decode.Decoder(detector.HEAD, detector.specs().values(), (64, 64))
    given = detector.recording(8)
    for i, run in enumerate(given):
        found = decoder(run.outputs)
        wanted = {(label, (2 + row) * 8 + column) for label, row, column in detector.squares(i)[1]}
        assert set(zip(found.class_id.tolist(), found.cell.tolist())) == wanted
        sides = found.xyxy[:, 2:] - found.xyxy[:, :2]
        assert np.abs(sides - 16).max() < 1


@pytest.mark.parametrize("noise", [0, 0.1, 0.3])
@pytest.mark.parametrize("seed", range(0, 60, 6))
def test_faultless_boards_are_right(model: nl.OnnxRuntimeEngine, seed: int, noise: float) -> None:
    report = nl.validate(detector.recording(6, noise, seed=seed), model, head=detector.HEAD)
    assert report and report.verdict == "match" and len(report.detections) == 6
    assert all(found and found.matched for found in report.detections.values())
    assert (
        f"detections: the same in 6 frames, {sum(len(f.matched) for f in report.detections.values())} matched"
        in str(report)
    )


def test_tolerances_that_are_not_met_do_not_matter(model: nl.OnnxRuntimeEngine, tmp_path: Path) -> None:
    given = detector.recording(6, 0.3)
    assert not nl.validate(given, model, min_snr_db=60)
    report = nl.validate(given, model, min_snr_db=60, head=detector.HEAD)
    assert report and report.verdict == "match"
    report.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    wrong = [name for name, output in report.outputs.items() if not output]
    count = f"{len(wrong)} of {len(report.outputs)} outputs ({', '.join(wrong)})"
    assert f"No match by themselves, but all detections are the same: {count}" in page
    assert "As declared, the outputs are the model" not in page
    assert assert_matches(given, model, min_snr_db=60, head=detector.HEAD).detections


def test_a_wrong_layout_is_wrong(model: nl.OnnxRuntimeEngine, tmp_path: Path) -> None:
    wrong = mistaken()
    report = nl.validate(detector.recording(6, declared=wrong), model, head=detector.HEAD)
    assert not report and report.verdict == "layout" and isinstance(report.outputs["score"].fix, nl.TensorSpec)
    assert "detections: differ in 6 of 6 frames" in str(report) and "missing" in str(report)
    with pytest.raises(AssertionError, match="detections: differ in 6"):
        assert_matches(detector.recording(6, declared=wrong), model, head=detector.HEAD)
    written = json.loads(report.to_json())["detections"]
    assert set(written) == {str(i) for i in range(6)} and written["0"]["missing"]
    report.to_html(tmp_path / "page.html")
    assert "detections: differ in 6" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("scale", [0.1, 0.02, 0.3])
def test_a_wrong_scale_is_wrong_even_if_detections_are_the_same(model: nl.OnnxRuntimeEngine, scale: float) -> None:
    own = detector.specs()
    wrong = own["score"].replace(quantization=nl.Quantization(scale, 20))
    report = nl.validate(detector.recording(6, declared={**own, "score": wrong}), model, head=detector.HEAD)
    assert not report and report.verdict != "match" and report.outputs["box"] and not report.outputs["score"]
    assert any(not found for found in report.detections.values()) == (scale == 0.02)


@pytest.mark.parametrize("scale", [0.01, 0.001])
def test_a_scale_by_which_no_score_reaches_the_threshold_is_reported(model: nl.OnnxRuntimeEngine, scale: float) -> None:
    """It was an error of the Decoder, in place of the verdict."""
    own = detector.specs()
    wrong = own["score"].replace(quantization=nl.Quantization(scale, 20))
    given = detector.recording(4, declared={**own, "score": wrong})
    report = nl.validate(given, model, head=detector.HEAD, confidence=0.8)
    assert not report and report.verdict == "quantization" and not report.outputs["score"]
    assert all(found.missing and not found.matched for found in report.detections.values())
    with pytest.raises(nl.NpuLayoutError, match="confidence: no stored value reaches 25"):
        nl.validate(given, model, head=detector.HEAD, confidence=25)


def test_nothing_detected_says_nothing(model: nl.OnnxRuntimeEngine) -> None:
    wrong = mistaken()
    dark = nl.Recording(wrong, [({"image": r.inputs["image"] * 0}, {**r.outputs}) for r in detector.recording(2)], {})
    report = nl.validate(dark, model, head=detector.HEAD, confidence=0.999999)
    assert not report
    empty = nl.validate(detector.recording(3), model, head=detector.HEAD, confidence=0.9999999)
    assert "nothing was detected, so that this proves nothing" in str(empty) and empty.verdict == "match"


def test_bad_heads(model: nl.OnnxRuntimeEngine, tmp_path: Path) -> None:
    given = detector.recording(2)
    with pytest.raises(nl.LayoutError, match="head: head 'yolov8' does not fit the outputs"):
        nl.validate(given, model, head=decode.yolov8(5))
    with pytest.raises(nl.NpuLayoutError, match="head: expected a Head"):
        nl.validate(given, model, head="yolov8")  # type: ignore[arg-type]
    detector.recording(2).save(tmp_path / "one")
    (tmp_path / "model.onnx").write_bytes(detector.detector())
    reports = nl.validate_many(tmp_path, tmp_path / "model.onnx", head=detector.HEAD, progress=False)
    (report,) = reports.values()
    assert isinstance(report, nl.Report) and report and report.detections
    assert pickle.loads(pickle.dumps(report)).detections == report.detections


def test_a_confidence_without_a_head(tmp_path: Path, model: nl.OnnxRuntimeEngine) -> None:
    given, words = detector.recording(1), r"confidence: no effect without head=, .*; expected 0.25, got 25"
    given.save(tmp_path / "recorded")
    for call in (nl.validate, assert_matches):
        with pytest.raises(nl.NpuLayoutError, match=words):
            call(given, model, confidence=25)
    with pytest.raises(nl.NpuLayoutError, match=words):
        nl.validate_many(tmp_path / "recorded", detector.detector(), confidence=25)
    assert nl.validate(given, model, confidence=0.25)


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_boxes_that_are_no_numbers_are_other_detections(model: nl.OnnxRuntimeEngine, share: float) -> None:
    """A board of float16 that overflowed: the report says so, and counts its detections, as without a head."""
    own, given = detector.specs(), detector.recording(4)
    specs = {name: nl.TensorSpec(spec.shape, "NCHW", "float16") for name, spec in own.items()}

    def recorded(part: float) -> nl.Recording:
        runs = []
        for inputs, outputs in given:
            values = {name: spec.unpack(outputs[name]).astype(np.float16) for name, spec in own.items()}
            values["box"][:, :, : int(part * values["box"].shape[2])] = np.nan
            runs.append((inputs, {name: specs[name].pack(v) for name, v in values.items()}))
        return nl.Recording(specs, runs, given.meta)

    assert nl.validate(recorded(0), model, head=detector.HEAD)
    report = nl.validate(recorded(share), model, head=detector.HEAD)
    assert not report and "NaN" in report.outputs["box"].why
    differs = [found for found in report.detections.values() if not found]
    assert differs and all(found.extra and found.missing for found in differs)
    json.loads(report.to_json())
