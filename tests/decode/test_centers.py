"""CenterNet and DBNet, against loops in plain numbers and pictures that are drawn."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode


def stored(real: np.ndarray, layout: str, dtype: str, name: str) -> tuple[nl.TensorSpec, np.ndarray]:
    q = None
    if dtype == "int8":
        low, high = min(0.0, float(real.min())), float(real.max())
        scale = (high - low) / 255
        q = nl.Quantization(scale, int(-128 - round(low / scale)))
    spec = nl.TensorSpec(real.shape, nl.Layout(layout, "NCHW"), dtype, quantization=q, name=name)
    return spec, spec.pack(real.astype(np.float32))


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c"])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("activation", ["none", "sigmoid"])
@pytest.mark.parametrize("offset", [True, False])
def test_centernet(layout: str, dtype: str, activation: str, offset: bool) -> None:
    rng = np.random.default_rng(3)
    reals = {"heat": rng.normal(0, 2, (1, 3, 9, 12)), "size": rng.uniform(1, 6, (1, 2, 9, 12))}
    if offset:
        reals["offset"] = rng.uniform(0, 1, (1, 2, 9, 12))
    both = {name: stored(real, layout, dtype, name) for name, real in reals.items()}
    specs, buffers = ({name: pair[i] for name, pair in both.items()} for i in (0, 1))
    values = {name: specs[name].unpack(buffers[name])[0].astype(float) for name in specs}  # type: ignore[union-attr]
    wanted = []
    heat = values["heat"]
    for c, y, x in np.ndindex(heat.shape):
        near = heat[c, max(0, y - 1) : y + 2, max(0, x - 1) : x + 2]
        v = float(heat[c, y, x])
        score = 1 / (1 + math.exp(-v)) if activation == "sigmoid" else v
        if v < near.max() or score < 0.6:
            continue
        cx, cy = (x + values["offset"][0, y, x], y + values["offset"][1, y, x]) if offset else (x + 0.5, y + 0.5)
        w, h = values["size"][:, y, x]
        wanted.append((score, c, y * 12 + x, (cx - w / 2) * 4, (cy - h / 2) * 4, (cx + w / 2) * 4, (cy + h / 2) * 4))
    wanted.sort(key=lambda row: -np.float32(row[0]))
    found = decode.centernet(specs, buffers, 0.6, activation=activation)  # type: ignore[arg-type]
    assert len(found) == len(wanted) > 10
    for row, (score, label, cell, *box) in enumerate(wanted):
        assert (found.class_id[row], found.cell[row], found.confidence[row]) == (label, cell, np.float32(score))
        np.testing.assert_allclose(found.xyxy[row], box, rtol=1e-6)
    assert len(decode.centernet(specs, buffers, 0.6, 4, activation=activation)) == 4  # type: ignore[arg-type]


def turned(x: float, y: float, w: float, h: float, angle: float) -> np.ndarray:
    return cv2.boxPoints(((x, y), (w, h), angle))


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW4c"])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_dbnet_finds_what_was_drawn(layout: str, dtype: str) -> None:
    """Turned rectangles, shrunken as DBNet is taught, come back in their own size."""
    heat = np.zeros((160, 240), np.float32)
    whole = [(60, 40, 90, 24, 12.0), (170, 60, 70, 30, -25.0), (100, 120, 120, 20, 0.0)]
    for x, y, w, h, angle in whole:
        # D = A (1 - r^2) / L with r = 0.4 is how training shrinks; unclip undoes it for A and L of what is left
        away = w * h * (1 - 0.4**2) / (2 * (w + h))
        inner = (w - 2 * away, h - 2 * away)
        cv2.fillPoly(heat, [np.rint(turned(x, y, *inner, angle)).astype(np.int32)], 0.9)
    heat[5:7, 200:230] = 0.9  # two cells high: noise
    heat[150:158, 10:40] = 0.4  # a region whose mean is too low
    spec, buffer = stored(heat[None, None], layout, dtype, "map")
    found = decode.dbnet(spec, buffer, 0.6, unclip=1.5)
    assert len(found) == 3 and found.confidence.min() > 0.8
    for x, y, w, h, angle in whole:
        away = w * h * (1 - 0.4**2) / (2 * (w + h))
        inner = (w - 2 * away, h - 2 * away)
        more = inner[0] * inner[1] * 1.5 / (2 * sum(inner))
        wanted = turned(x, y, inner[0] + 2 * more, inner[1] + 2 * more, angle)
        near = [np.abs(c[:, None] - wanted[None]).max(-1).min(1).max() for c in found.corners]
        assert min(near) < 3.0  # cells: what drawing rounds
    for limit in (1, 2):  # the noise is found first, and is no region
        best = decode.dbnet(spec, buffer, 0.6, unclip=1.5, limit=limit)
        rows = np.sort(np.argsort(-found.confidence, kind="stable")[:limit])
        assert np.array_equal(best.corners, found.corners[rows])
        assert np.array_equal(best.confidence, found.confidence[rows])
    twice = decode.dbnet(spec, buffer, 0.6, unclip=1.5, stride=2.0)
    assert (twice.corners == 2 * found.corners).all()


def test_dbnet_corners_go_around_from_the_upper_left() -> None:
    heat = np.zeros((1, 1, 60, 90), np.float32)
    heat[0, 0, 20:40, 10:80] = 1
    (corners,) = decode.dbnet(nl.TensorSpec(heat.shape), heat.ravel()).corners
    assert corners[0].tolist() == [min(corners[:, 0]), min(corners[:, 1])]
    assert corners[2].tolist() == [max(corners[:, 0]), max(corners[:, 1])] and corners[1, 0] > corners[0, 0]
    empty = decode.dbnet(nl.TensorSpec(heat.shape), np.zeros(heat.size, np.float32))
    assert len(empty) == 0 and empty.corners.shape == (0, 4, 2)


def test_a_threshold_that_no_cell_can_have() -> None:
    spec = nl.TensorSpec((1, 1, 4, 4), dtype="uint8", quantization=nl.Quantization(1 / 255), name="map")
    buffer = np.full(16, 255, np.uint8)
    for given, words in (
        ({"threshold": 30}, "^threshold: no stored value is above 30; the largest that one means is 1$"),
        ({"threshold": 1}, "^threshold: no stored value is above 1; "),
        ({"confidence": 60}, "^confidence: none reaches 60; the largest that one means is 1$"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=words):
            decode.dbnet(spec, buffer, **given)
    assert len(decode.dbnet(spec, buffer, 1.0)) == 1
    plain = spec.replace(quantization=None)  # 0 to 255
    assert len(decode.dbnet(plain, buffer, 200, threshold=80)) == 1


def test_bad_input() -> None:
    one, two = nl.TensorSpec((1, 1, 4, 4)), nl.TensorSpec((1, 2, 4, 4))
    flat = {"heat": np.zeros(16, np.float32), "size": np.zeros(32, np.float32)}
    short = {"heat": flat["heat"], "size": flat["heat"]}
    for call, words in (
        (lambda: decode.centernet({"heat": one}, flat), "specs: expected {name: ...} with 'size', got heat"),
        (
            lambda: decode.centernet({"heat": one, "size": one}, short),
            r"specs\['size'\]: expected \(2, 4, 4\)",
        ),
        (lambda: decode.centernet({"heat": one, "size": two}, {"heat": flat["heat"]}), "buffers: expected .*'size'"),
        (lambda: decode.centernet({"heat": one, "size": two}, flat, activation="tanh"), "activation: expected"),
        (lambda: decode.centernet({"heat": one, "size": two}, flat, limit=0), "limit: expected"),
        (
            lambda: decode.centernet({"heat": one.replace(layout=nl.Layout("NCHW", "NCWH")), "size": two}, flat),
            r"specs\['heat'\]: .*expected channels before or behind rows and columns",
        ),
        (lambda: decode.dbnet(two, flat["size"]), "dbnet: .*expected one channel, got 2"),
        (lambda: decode.dbnet(nl.TensorSpec((4, 4), "HW"), flat["heat"]), "expected one image"),
        (lambda: decode.dbnet(one, flat["heat"], unclip=-1), "unclip: expected a number of at least 0"),
        (lambda: decode.dbnet(one, flat["size"]), "buffer: .*128 bytes"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=words):
            call()
