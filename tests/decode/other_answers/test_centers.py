"""CenterNet, against loops in plain numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from tests.support.scenes import NO_PROBABILITIES
from tests.support.specs import stored


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c"])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("activation", ["none", "sigmoid"])
@pytest.mark.parametrize("offset", [True, False])
@NO_PROBABILITIES
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
            r"specs\['heat'\]: .*expected channels before or after rows and columns",
        ),
    ):
        with pytest.raises(nl.NpuLayoutError, match=words):
            call()
