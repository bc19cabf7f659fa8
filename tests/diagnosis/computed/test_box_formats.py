"""Boxes in another format than the model's, converted here box by box."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.diagnosis import Evidence
from npu_layout.diagnosis.computed.box_formats import box_formats

CORNERS, CENTRE, CORNER = "two corners", "a centre and a size", "a corner and a size"


def boxes(rng: np.random.Generator, count: int) -> list[tuple[float, float, float, float]]:
    """Left, top, right and bottom, in pixels."""
    sizes = rng.uniform(4, 120, (count, 2))
    corners = rng.uniform(0, 500, (count, 2))
    return [(x, y, x + w, y + h) for (x, y), (w, h) in zip(corners, sizes)]


def written(box: tuple[float, float, float, float], form: str) -> list[float]:
    left, top, right, bottom = box
    if form == CORNERS:
        return [left, top, right, bottom]
    size = [right - left, bottom - top]
    return [*([(left + right) / 2, (top + bottom) / 2] if form == CENTRE else [left, top]), *size]


def tensors(form: str, seed: int, scores: int, frames: int, axis: int, count: int = 150) -> list[np.ndarray]:
    """(1, N, 4 + scores), or with the boxes along axis 1."""
    made = []
    for frame in range(frames):
        rng = np.random.default_rng([seed, frame])
        rows = [[*written(box, form), *rng.uniform(0, 1, scores)] for box in boxes(rng, count)]
        array = np.array(rows, np.float32)[None]
        made.append(np.ascontiguousarray(array if axis == 2 else array.transpose(0, 2, 1)))
    return made


def evidence_of(model: list[np.ndarray], device: list[np.ndarray], axis: int, db: float, dtype: str) -> Evidence:
    rng, spread = (
        np.random.default_rng(1),
        np.std(device, axis=(0, 1, 3 - axis + 1 if axis == 2 else 3), keepdims=True)[0],
    )
    noisy = [(y + rng.standard_normal(y.shape) * spread * 10 ** (-db / 20)).astype(np.float32) for y in device]
    quantization = nl.engines.calibrate(noisy, dtype)
    spec = nl.TensorSpec(model[0].shape, "NCW", dtype, quantization=quantization)
    return Evidence(spec, [spec.pack(y) for y in noisy], model, (), axis)


@pytest.mark.parametrize("own, other", [*permutations((CORNERS, CENTRE, CORNER), 2)])
@pytest.mark.parametrize(
    "axis, scores, dtype", [(1, 80, "float32"), (2, 1, "float16"), (2, 0, "int8"), (1, 3, "int16")]
)
def test_every_format_is_found(own: str, other: str, axis: int, scores: int, dtype: str) -> None:
    for frames, db in ((1, 30.0), (3, 15.0)):
        model, device = (tensors(form, 0, scores, frames, axis) for form in (own, other))
        evidence = evidence_of(model, device, axis, db, dtype)
        found = {trial.text: trial for trial in box_formats(evidence)}
        trial = found[f"boxes are {other}, and the model's are {own}"]
        best = evidence.rank([evidence.as_declared(), *found.values()])[0]
        assert best.text == trial.text and best.cause == "activation" and best.gain > 3, best
        for row, wanted in enumerate(device):
            np.testing.assert_allclose(trial.answers[row], wanted, rtol=1e-4, atol=1e-3)


def validated(model: list[np.ndarray], device: list[np.ndarray]) -> Any:
    """The verdict on rows that a model returns as they are, which needs no picture."""
    from onnx import TensorProto, helper

    shape = list(model[0].shape)
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", "rows")]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["rows"])], "same", ports[:1], ports[1:])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    spec = nl.TensorSpec(tuple(shape), "NCW", "float32")
    frames = [({"x": x}, {"rows": spec.pack(y)}) for x, y in zip(model, device)]
    return nl.validate(nl.Recording({"rows": spec}, frames), made.SerializeToString()).outputs["rows"]


@pytest.mark.parametrize("axis", [1, 2])
def test_it_is_named(axis: int) -> None:
    model, device = (tensors(form, 3, 6, 2, axis) for form in (CENTRE, CORNERS))
    rng = np.random.default_rng(0)
    noisy = [(y + 0.5 * rng.standard_normal(y.shape)).astype(np.float32) for y in device]
    scores = slice(4, None)
    for y, clean in zip(noisy, device):
        index = (slice(None), scores) if axis == 1 else (..., scores)
        y[index] = clean[index]
    output = validated(model, noisy)
    assert (output.verdict, output.fix) == ("activation", None), str(output)
    assert "boxes are two corners, and the model's are a centre and a size" in output.why, str(output)
    assert validated(device, noisy).verdict == "match"


def test_faultless_boxes_have_their_own_format() -> None:
    """Of any format, noise and number of scores; and values that are no boxes."""
    for draw in range(120):
        rng = np.random.default_rng(draw)
        axis, scores = int(rng.integers(1, 3)), int(rng.choice([0, 1, 20]))
        form = (CORNERS, CENTRE, CORNER)[draw % 3]
        model = tensors(form, draw, scores, int(rng.integers(1, 5)), axis, count=int(rng.integers(1, 60)))
        if draw % 4 == 0:
            model = [np.random.default_rng(draw).random(x.shape).astype(np.float32) for x in model]
        evidence = evidence_of(model, model, axis, float(rng.uniform(5, 35)), str(rng.choice(["float32", "int8"])))
        declared = evidence.score(evidence.as_declared())
        assert all(evidence.score(trial) < declared + 3 for trial in box_formats(evidence)), (draw, form)


def test_what_has_no_boxes_is_left_out() -> None:
    rng = np.random.default_rng(0)
    maps = [rng.random((1, 6, 8, 8)).astype(np.float32)]
    spec = nl.TensorSpec((1, 6, 8, 8), "NCHW", "float32")
    assert not list(box_formats(Evidence(spec, [spec.pack(maps[0][:, ::-1])], maps, (), 1)))
    model, device = (tensors(form, 0, 2, 1, 2) for form in (CENTRE, CORNERS))
    spec = nl.TensorSpec(model[0].shape, "NCW", "float32")
    assert list(box_formats(Evidence(spec, [spec.pack(device[0])], model, (), 2)))
    turned = Evidence(spec, [spec.pack(device[0])], model, (), 1)
    assert list(box_formats(turned)), "the numbers of boxes are along the other axis"
    assert not list(box_formats(Evidence(spec, [spec.pack(model[0])], model, (), 2))), "it is settled"
    negative = [x - 600 for x in model]
    assert not list(box_formats(Evidence(spec, [spec.pack(device[0])], negative, (), 2))), "sizes below 0"
