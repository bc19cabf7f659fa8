"""Each encoding of a box and of a point, of one cell, against its formula in plain numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from npu_layout import decode
from npu_layout.decode.decoders.encodings import EDGES, POINTS, Cells, spread_of

X, Y, STRIDE, W, H = 3, 5, 16.0, 20.0, 44.0
UNIT = (640.0, 480.0)


def sigmoid(v: float) -> float:
    return 1 / (1 + math.exp(-v))


def centred(cx: float, cy: float, w: float, h: float) -> list[float]:
    return [cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2]


FORMULAS: dict[str, Callable[[list[float]], list[float]]] = {
    "distances": lambda v: [(X + 0.5 - v[0]) * 16, (Y + 0.5 - v[1]) * 16, (X + 0.5 + v[2]) * 16, (Y + 0.5 + v[3]) * 16],
    "center_power": lambda v: centred(
        (2 * v[0] - 0.5 + X) * 16, (2 * v[1] - 0.5 + Y) * 16, (2 * v[2]) ** 2 * W, (2 * v[3]) ** 2 * H
    ),
    "center_exp": lambda v: centred(
        (v[0] + X + 0.5) * 16, (v[1] + Y + 0.5) * 16, math.exp(v[2]) * 16, math.exp(v[3]) * 16
    ),
    "sigmoid_exp": lambda v: centred(
        (sigmoid(v[0]) + X + 0.5) * 16, (sigmoid(v[1]) + Y + 0.5) * 16, math.exp(v[2]) * W, math.exp(v[3]) * H
    ),
    "variances": lambda v: centred(
        (X + 0.5) * 16 + v[0] * 0.1 * W,
        (Y + 0.5) * 16 + v[1] * 0.1 * H,
        math.exp(v[2] * 0.2) * W,
        math.exp(v[3] * 0.2) * H,
    ),
    "linear": lambda v: centred(
        (X + 0.5) * 16 + v[0] * 0.1 * W, (Y + 0.5) * 16 + v[1] * 0.1 * H, v[2] * 0.2 * W, v[3] * 0.2 * H
    ),
    "xywh": lambda v: centred(v[0] * 640, v[1] * 480, v[2] * 640, v[3] * 480),
    "xyxy": lambda v: [v[0] * 640, v[1] * 480, v[2] * 640, v[3] * 480],
    "tanh_sigmoid": lambda v: centred(
        (math.tanh(v[0]) + X + 0.5) * 16, (math.tanh(v[1]) + Y + 0.5) * 16, sigmoid(v[2]) * 640, sigmoid(v[3]) * 480
    ),
    "center_size": lambda v: centred((v[0] + X) * 16, (v[1] + Y) * 16, v[2] * 640, v[3] * 480),
}


def cells(how: decode.Boxes, spread: float = 1.0) -> Cells:
    return Cells(how, np.array([[X, Y]], float), STRIDE, np.array([[W, H]]), np.array(UNIT), spread)


def test_every_encoding_has_a_formula() -> None:
    assert set(FORMULAS) | {"dfl"} == set(EDGES)


@pytest.mark.parametrize("encoding", FORMULAS)
def test_boxes(encoding: str) -> None:
    v = [0.25, -0.5, 0.75, 0.3]
    found = EDGES[encoding](cells(decode.Boxes(encoding)), np.array([v]))
    np.testing.assert_allclose(found, [FORMULAS[encoding](v)], rtol=1e-13)


def test_sides_of_bins() -> None:
    x = np.random.default_rng(0).normal(0, 2, (1, 4 * 7))
    means = []
    for side in x[0].reshape(4, 7).tolist():
        powers = [math.exp(v) for v in side]
        means.append(sum(i * p for i, p in enumerate(powers)) / sum(powers))
    found = EDGES["dfl"](cells(decode.Boxes("dfl", 7)), x)
    np.testing.assert_allclose(found, [FORMULAS["distances"](means)], rtol=1e-13)


def test_spreads() -> None:
    how = decode.Boxes("center_exp", center=0.0, spreads=(1.5, 2.0))
    assert spread_of(how, 1) == 2.0 and spread_of(decode.Boxes("dfl"), 3) == 1.0
    (box,) = EDGES["center_exp"](cells(how, 2.0), np.array([[0.25, 0.5, 0.0, 0.0]]))
    assert box.tolist() == centred((2 * 0.25 - 0.5 + X) * 16, (2 * 0.5 - 0.5 + Y) * 16, 16, 16)


@pytest.mark.parametrize(
    "encoding, wanted",
    [
        ("cells", ((2 * 0.25 + X) * 16, (2 * -0.5 + Y) * 16)),
        ("shifted", ((2 * 0.25 - 0.5 + X) * 16, (2 * -0.5 - 0.5 + Y) * 16)),
        ("pixels", (0.25, -0.5)),
        ("inputs", (0.25, -0.5)),
        ("priors", (56 + 0.25 * 0.1 * W, 88 - 0.5 * 0.1 * H)),
        ("distances", (56 + 0.25 * 16, 88 - 0.5 * 16)),
    ],
)
def test_points(encoding: str, wanted: Any) -> None:
    at = np.array([[[X, Y]]], float), np.array([[[56.0, 88.0]]]), STRIDE, np.array([[[W, H]]]), 0.1
    assert POINTS[encoding](np.array([[[0.25, -0.5]]]), *at)[0, 0].tolist() == pytest.approx(list(wanted), rel=1e-14)
