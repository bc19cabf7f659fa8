"""The decoder in numpy: activations, and boxes and points of each encoding, against the formulas in plain numbers."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.decode.arithmetic.exponential import exponential
from npu_layout.decode.decoders import reference
from npu_layout.decode.outputs.fitting import fit


def test_candidates_take_rows() -> None:
    columns = [np.arange(4, dtype=kind) * k for k, kind in enumerate((np.float32, *[np.int64] * 4), 1)]
    some = reference.Candidates(*columns).take(np.array([2, 0]))
    assert len(some) == 2 and some.score.tolist() == [2, 0] and some.anchor.tolist() == [10, 0]


@pytest.mark.parametrize("background", [0, 2, 4])
@pytest.mark.parametrize("labels", ["best", "all"])
@pytest.mark.parametrize("confidence", [-1.0, 0.0, 0.001, 0.3, 0.5, 0.75, 0.999])
def test_cells_that_a_softmax_leaves_out_have_no_candidates(background: int, labels: str, confidence: float) -> None:
    rng = np.random.default_rng(background)
    logits = rng.integers(-6, 6, (1, 300, 5)).astype(np.float32)
    logits[0, :, background] += 5
    logits[0, :40, rng.integers(0, 5)] = [[np.nan, np.inf, -np.inf, 700][k % 4] for k in range(40)]
    logits[0, 40] = 0  # shares of a fifth, equal to the background's
    logits[0, 41] = -np.inf
    priors = rng.uniform(0.2, 0.8, (300, 4))
    head = decode.ssd(priors, 4, activation="softmax", labels=labels)
    head = dataclasses.replace(head, background=background, suppression=decode.Suppression("none"))
    boxes = np.zeros((1, 300, 4), np.float32)
    specs = [nl.TensorSpec(a.shape, "NHW", name=n) for n, a in (("box", boxes), ("score", logits))]
    found = decode.Decoder(head, specs, (64, 64))([boxes.ravel(), logits.ravel()], confidence=confidence, limit=2000)
    wanted = []
    with np.errstate(invalid="ignore", over="ignore"):
        for cell, row in enumerate(logits[0].astype(np.float64)):
            powers = exponential(row - row.max())
            total = 0.0
            for power in powers:
                total += power
            shares = np.delete(powers / total, background)
            top = range(4) if labels == "all" else [int(shares.argmax())]
            wanted += [(float(np.float32(shares[k])), cell, k) for k in top if shares[k] >= confidence]
    wanted.sort(key=lambda one: (-one[0], one[1], one[2]))
    got = list(zip(found.confidence.tolist(), found.cell.tolist(), found.class_id.tolist()))
    assert got == wanted and len(wanted) > 3


@pytest.mark.parametrize("background", [0, 2, 4])
@pytest.mark.parametrize("dtype", ["int4", "uint4", "int8", "uint8", "int16", "uint16", "int32"])
def test_a_softmax_of_integers_without_a_scale(dtype: str, background: int) -> None:
    """Integers are values as they are; differences of unsigned ones do not wrap."""
    rng = np.random.default_rng(background)
    signed = not dtype.startswith("u")
    values = rng.integers(-8 if signed else 0, 8 if signed else 16, (1, 200, 5))
    head = decode.ssd(rng.uniform(0.2, 0.8, (200, 4)), 4, activation="softmax")
    head = dataclasses.replace(head, background=background, suppression=decode.Suppression("none"))
    box = nl.TensorSpec((1, 200, 4), "NHW", name="box")
    score = nl.TensorSpec(values.shape, "NHW", dtype, name="score")
    buffers = [np.zeros(800, np.float32), score.pack(values)]
    found = decode.Decoder(head, [box, score], (64, 64))(buffers, confidence=0.2, limit=1000)
    wanted = {}
    for cell, row in enumerate(values[0].tolist()):
        shares = [math.exp(v - max(row)) / sum(math.exp(u - max(row)) for u in row) for v in row]
        del shares[background]
        if max(shares) >= 0.2:
            wanted[cell] = (shares.index(max(shares)), pytest.approx(max(shares), rel=1e-6))
    got = dict(zip(found.cell.tolist(), zip(found.class_id.tolist(), found.confidence.tolist())))
    assert got == wanted and 20 < len(wanted) < 200


def one_cell(head: decode.Head, channels: dict[str, int], cell: tuple[int, int], size: tuple[int, int]) -> object:
    """Return boxes and points of the one cell that passes: every channel k has the value k / 8 - 0.5 there."""
    y, x = cell
    specs, tensors = [], []
    for name, n in channels.items():
        spec = nl.TensorSpec((1, n, size[0] // 8, size[1] // 8), "NCHW", name=name)
        tensor = np.zeros(spec.shape, np.float32)
        tensor[0, :, y, x] = np.arange(n) / 8 - 0.5
        if name == "score":
            tensor[...] = 0
            tensor[0, 1, y, x] = 0.75
        specs.append(spec)
        tensors.append(tensor)
    fitted = fit(head, specs, size, {})
    found = reference.candidates(head, fitted, tensors, 0.5)
    assert found.cell.tolist() == [y * (size[1] // 8) + x] and found.class_id.tolist() == [1]
    read = reference.reader(fitted, tensors)
    boxes = reference.boxes(fitted, found, read)
    points = reference.keypoints(head, fitted, found, read) if head.keypoints else None
    return boxes[0].tolist(), None if points is None else points[0].tolist()


def test_distances_and_points() -> None:
    head = decode.yolo26(2, (8,))
    (edges, _) = one_cell(head, {"box": 4, "score": 2}, (1, 3), (32, 64))  # type: ignore[misc]
    left, top, right, bottom = (k / 8 - 0.5 for k in range(4))
    assert edges == [8 * (3.5 - left), 8 * (1.5 - top), 8 * (3.5 + right), 8 * (1.5 + bottom)]


def test_bins_and_points() -> None:
    head = decode.yolov8(2, (8,), bins=2, keypoints=2)
    edges, points = one_cell(head, {"box": 8, "score": 2, "points": 6}, (2, 1), (32, 64))  # type: ignore[misc]
    share = 1 / (1 + math.exp(-1 / 8))  # of the second of two bins, whose values differ by an eighth
    assert edges == pytest.approx([8 * (1.5 - share), 8 * (2.5 - share), 8 * (1.5 + share), 8 * (2.5 + share)])
    for i, point in enumerate(points):
        x, y, heat = (k / 8 - 0.5 for k in range(3 * i, 3 * i + 3))
        assert point == pytest.approx([8 * (2 * x + 1), 8 * (2 * y + 2), 1 / (1 + math.exp(-heat))])
