"""DBNet's regions of text, against pictures that are drawn."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from tests.support.specs import stored


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
        ({"threshold": 30}, "^threshold: no stored value is above 30: stored values mean at most 1$"),
        ({"threshold": 1}, "^threshold: no stored value is above 1: "),
        ({"confidence": 60}, "^confidence: no stored value reaches 60: stored values mean at most 1$"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=words):
            decode.dbnet(spec, buffer, **given)
    assert len(decode.dbnet(spec, buffer, 1.0)) == 1
    plain = spec.replace(quantization=None)  # 0 to 255
    assert len(decode.dbnet(plain, buffer, 200, threshold=80)) == 1


def test_thresholds_of_floats_are_shares() -> None:
    """Nothing was found in silence."""
    spec, heat = nl.TensorSpec((1, 1, 8, 8)), np.zeros(64, np.float32)
    assert len(decode.dbnet(spec, heat)) == 0
    for given in (dict(confidence=60), dict(threshold=30)):
        ((what, number),) = given.items()
        got = rf"got {number}\.0; {number} percent are 0\.{number // 10}"
        with pytest.raises(nl.NpuLayoutError, match=rf"^{what}: expected 0 \.\. 1: the map has probabilities, {got}$"):
            decode.dbnet(spec, heat, **given)
    with pytest.raises(nl.NpuLayoutError, match=r"^threshold: expected 0 \.\. 1"):
        decode.dbnet(spec, heat, threshold=-0.1)


def test_bad_input() -> None:
    one, two, flat = nl.TensorSpec((1, 1, 4, 4)), nl.TensorSpec((1, 2, 4, 4)), np.zeros(32, np.float32)
    for call, words in (
        (lambda: decode.dbnet(two, flat), "dbnet: .*expected one channel, got 2"),
        (lambda: decode.dbnet(nl.TensorSpec((4, 4), "HW"), flat[:16]), "expected one image"),
        (lambda: decode.dbnet(one, flat[:16], unclip=-1), "unclip: expected a number of at least 0"),
        (lambda: decode.dbnet(one, flat), "buffer: .*128 bytes"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=words):
            call()
