"""What is no score: NaN of any payload, and products with an objectness that is negative; and zeros have no sign."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from tests.support import scenes
from tests.support.backends import decoders
from tests.support.scenes import NO_PROBABILITIES


def with_nans(
    rng: np.random.Generator, made: scenes.Output, share: float, dtype: str
) -> tuple[nl.TensorSpec, np.ndarray, np.ndarray]:
    """The output with NaN of either sign and any payload in a share of its elements, +-infinity in some; its values."""
    real = made.values.copy()
    drawn = rng.random(real.shape)
    real[drawn < share] = np.nan
    real[(drawn > 1 - share / 4)], real[drawn > 1 - share / 8] = np.inf, -np.inf
    again = scenes.output(rng, real.shape, real, made.spec.layout, dtype, name=made.spec.name)
    bits = again.buffer.view({2: np.uint16, 4: np.uint32}[again.buffer.itemsize])
    sign, least = 8 * bits.itemsize - 1, {"float16": 10, "bfloat16": 7, "float32": 23}[dtype]
    fraction = (1 << least) - 1
    exponent = ((1 << sign) - 1) >> least << least
    nan = ((bits & exponent) == exponent) & ((bits & fraction) != 0)
    payload = rng.integers(1, fraction + 1, bits.shape) | exponent | rng.integers(0, 2, bits.shape) << sign
    bits[nan] = payload[nan].astype(bits.dtype)
    return again.spec, again.buffer, again.values


def scored(values: np.ndarray, activation: str, labels: str) -> list[tuple[int, float]]:
    """Pairs of class and score of a cell, those that are no numbers left out."""
    cell = [float(v) for v in values]
    if labels == "best":
        if any(v != v for v in cell):
            return []
        best = max(range(len(cell)), key=lambda c: cell[c])
        pairs = [(best, cell[best])]
    else:
        pairs = [(c, v) for c, v in enumerate(cell) if v == v]
    return [(c, scenes._sigmoid(v) if activation == "sigmoid" else v) for c, v in pairs]


def combined(rule: str, objectness: float, score: float) -> float:
    """The score of a class beside an objectness of 0 or more."""
    if rule == "objectness":
        return objectness * score
    if score < 0:
        return 0.0 if objectness == 0 and rule == "root" else math.nan
    return math.sqrt(objectness * score) if rule == "root" else objectness**0.6 * score**0.4


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c", "NCHW8w"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("rule", ["class", "objectness", "root", "weighted"])
@NO_PROBABILITIES
def test_nan_is_no_score(dtype: str, layout: str, rule: str) -> None:
    """Of a cell whose largest value is NaN nothing is found, and of labels="all" that class alone is not."""
    for labels, activation in itertools.product(("best", "all"), ("none", "sigmoid")):
        rng = np.random.default_rng(len(labels) + len(activation) + len(layout))
        parts, found_in = [], {}
        shapes = {"box": 4, "objectness": 1, "score": 5} if rule != "class" else {"box": 4, "score": 5}
        for role, n in shapes.items():
            real = rng.normal(0, 2, (1, n, 9, 16)) if activation == "sigmoid" else rng.random((1, n, 9, 16))
            made = scenes.output(rng, real.shape, real, layout, dtype, name=role)
            found_in[role] = with_nans(rng, made, 0.1, dtype)
            parts.append(decode.Part(role, n, "none" if role == "box" else activation))
        form = decode.Form("maps", tuple(parts), decode.Boxes("xyxy", unit="pixel"))
        head = decode.Head("any", 5, (8,), (form,), (), rule, labels, suppression=decode.Suppression("none"))
        wanted = []
        values = {role: found_in[role][2][0].reshape(n, -1) for role, n in shapes.items()}
        for cell in range(9 * 16):
            objects = scored(values["objectness"][:, cell], activation, "best") if rule != "class" else [(0, 1.0)]
            if not objects or objects[0][1] < 0:
                continue
            for label, score in scored(values["score"][:, cell], activation, labels):
                product = combined(rule, objects[0][1], score) if rule != "class" else score
                if product >= 0.6:
                    wanted.append((float(np.float32(product)), label, cell))
        wanted.sort(key=lambda row: -row[0])
        assert len(wanted) > 10
        results = []
        specs, buffers = ([found_in[role][i] for role in shapes] for i in (0, 1))
        for decoder in decoders(head, specs, (72, 128)):
            found = decoder(buffers, 0.6, limit=1000)
            assert list(zip(found.confidence.tolist(), found.class_id.tolist(), found.cell.tolist())) == wanted
            boxes = values["box"][:, found.cell].T
            assert np.array_equal(found.xyxy, boxes, equal_nan=True) and np.isnan(boxes).any()
            results.append(found.confidence.tobytes())
        assert len(set(results)) == 1


def test_nan_under_a_softmax_is_no_score_of_the_whole_cell() -> None:
    real = np.zeros((1, 3, 2, 2), np.float32)
    real[0, 1] = 5
    real[0, 0, 0, 1] = np.nan
    specs = [nl.TensorSpec((1, 64, 2, 2), name="box"), nl.TensorSpec(real.shape, name="score")]
    for labels, count in (("best", 3), ("all", 3)):
        head = decode.yolov8(3, (8,), activation="softmax", labels=labels)
        decoder = decode.Decoder(head, specs, (16, 16))
        found = decoder([np.zeros(256, np.float32), real.ravel()], 0.5, 1.0)
        assert len(found) == count and 1 not in found.cell.tolist()


@pytest.mark.parametrize("confidence", [-1.0, 0.0, 0.2])
@pytest.mark.parametrize("rule", ["objectness", "root", "weighted"])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "float16"])
def test_negative_objectness_is_none(dtype: str, rule: str, confidence: float) -> None:
    """Its product with a negative score would pass; every backend leaves it out."""
    rng = np.random.default_rng(3)
    made = [
        scenes.output(rng, (1, n, 8, 8), rng.uniform(-1, 1, (1, n, 8, 8)), "NHWC", dtype, 1 / 100, 10, name=str(n))
        for n in (4, 1, 3)
    ]
    parts = tuple(decode.Part(role, n) for role, n in (("box", 4), ("objectness", 1), ("score", 3)))
    form = decode.Form("maps", parts, decode.Boxes("xyxy", unit="input"))
    head = decode.Head("any", 3, (8,), (form,), (), rule, "all", suppression=decode.Suppression("none"))
    objects, scores = made[1].values[0, 0].reshape(-1).astype(float), made[2].values[0].reshape(3, -1).astype(float)
    wanted = []
    for cell, label in itertools.product(range(64), range(3)):
        if objects[cell] < 0:
            continue
        product = combined(rule, objects[cell], scores[label, cell])
        if objects[cell] >= 0 and product >= confidence:
            wanted.append((float(np.float32(product)), label, cell))
    wanted.sort(key=lambda row: -row[0])
    assert any(v < 0 for v in objects) and len(wanted) > 5
    for decoder in decoders(head, [o.spec for o in made], (64, 64)):
        found = decoder([o.buffer for o in made], confidence, limit=300)
        assert list(zip(found.confidence.tolist(), found.class_id.tolist(), found.cell.tolist())) == wanted


@pytest.mark.parametrize("labels", ["best", "all"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("rule", ["class", "objectness", "root", "weighted"])
def test_zeros_have_no_sign(dtype: str, rule: str, labels: str) -> None:
    """Of -0.0, and of a zero times a negative number, every backend returns 0.0."""
    roles = {"box": 4, "score": 2} if rule == "class" else {"box": 4, "objectness": 1, "score": 2}
    real = {role: np.zeros((1, n, 4, 4), np.float32) for role, n in roles.items()}
    real["score"][:, 0] = -1
    real["score"][:, 1] = -0.0
    if rule == "objectness":
        real["score"][:, :, 2:] = -1
    specs = [nl.TensorSpec(x.shape, "NHWC", dtype, name=role) for role, x in real.items()]
    parts = tuple(decode.Part(role, n) for role, n in roles.items())
    form = decode.Form("maps", parts, decode.Boxes("xyxy", unit="pixel"))
    head = decode.Head("any", 2, (8,), (form,), (), rule, labels, suppression=decode.Suppression("none"))
    results = []
    for decoder in decoders(head, specs, (32, 32)):
        found = decoder([spec.pack(x) for spec, x in zip(specs, real.values())], confidence=0.0, limit=100)
        assert len(found) >= 16 and not found.confidence.any() and not np.signbit(found.confidence).any()
        results.append((found.cell.tolist(), found.class_id.tolist()))
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("beside", ["keypoints", "angle"])
def test_places_of_zero_have_no_sign(beside: str, dtype: str) -> None:
    """Of points, turned boxes and the boxes around them: 0.0 of -0.0 and of what rounds to it."""
    counts = {"box": 4, "score": 1, beside: 6 if beside == "keypoints" else 1}
    parts = tuple(decode.Part(role, n) for role, n in counts.items())
    boxes = decode.Boxes("xywh", unit="pixel", angle="radians" if beside == "angle" else "none")
    form = decode.Form("maps", parts, boxes)
    rule = decode.Suppression("probiou" if beside == "angle" else "none")
    points = decode.Keypoints(2, 3, "pixels", "none") if beside == "keypoints" else None
    head = decode.Head("any", 1, (8,), (form,), keypoints=points, suppression=rule)
    specs = [nl.TensorSpec((1, n, 1, 1), "NCHW", dtype, name=role) for role, n in counts.items()]
    zero, one = np.float32(-0.0), np.float32(1)
    small = np.float32(-1e-45)  # half of it is rounded to -0.0
    for value in (zero, small):
        buffers = [
            spec.pack(np.full((1, n, 1, 1), one if role == "score" else value, np.float32))
            for spec, (role, n) in zip(specs, counts.items())
        ]
        results = []
        for decoder in decoders(head, specs, (8, 8), outputs={role: [role] for role in counts}):
            found = decoder(buffers, 0.5)
            places = [found.xyxy, found.keypoints if beside == "keypoints" else found.xywha]
            assert value == small or not any(np.signbit(part).any() for part in places)
            assert not any(np.signbit(part[part == 0]).any() for part in places)
            results.append([part.tobytes() for part in places])
        assert all(result == results[0] for result in results)
