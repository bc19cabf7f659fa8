"""Parts that are stored across levels: airockchip's pose export, whose keypoints are one output beside the maps."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode

STRIDES, SIDE = (8, 16, 32), 64
CELLS = [(SIDE // s) ** 2 for s in STRIDES]


def outputs(
    rng: np.random.Generator, layout: str, dtype: str, shape: tuple[int, ...], axes: str
) -> list[nl.TensorSpec]:
    q = nl.Quantization(0.02, -30) if dtype == "int8" else None
    big = nl.Quantization(0.5, -100) if dtype == "int8" else None
    maps = [
        nl.TensorSpec((1, 65, SIDE // s, SIDE // s), nl.Layout(layout), dtype, quantization=q, name=f"map{s}")
        for s in STRIDES
    ]
    points = nl.TensorSpec(shape, nl.Layout(axes, axes), dtype, quantization=big, name="points")
    specs = [*maps, points]
    return [specs[i] for i in rng.permutation(4)]


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c"])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("axes", ["ABCD", "NCW"])
@pytest.mark.parametrize("backend", nl.kernels.backends())
def test_keypoints_of_one_output(layout: str, dtype: str, axes: str, backend: str) -> None:
    rng = np.random.default_rng(2)
    shape = (1, 51, sum(CELLS)) if axes == "NCW" else (1, 17, 3, sum(CELLS))
    specs = outputs(rng, layout, dtype, shape, axes)
    head = decode.yolov8(1, STRIDES, keypoints=17)
    assert decode.Head.from_dict(head.to_dict()) == head and head.forms[2].part("keypoints").across  # type: ignore[union-attr]
    buffers, values = {}, {}
    for spec in specs:
        real = rng.normal(0, 30, spec.shape) if spec.name == "points" else rng.normal(0, 1, spec.shape)
        buffers[spec.name] = spec.pack(real.astype(np.float32))
        values[spec.name] = spec.unpack(buffers[spec.name])
    decoder = decode.Decoder(head, specs, (SIDE, SIDE))
    decoder._use(backend)
    found = decoder(buffers, confidence=0.9, iou=1.0)
    assert len(found) > 5 and found.keypoints is not None and set(found.level.tolist()) >= {0, 1}
    points = values["points"].reshape(17, 3, sum(CELLS))
    for row in range(len(found)):
        level, cell = int(found.level[row]), int(found.cell[row])
        scores = values[f"map{STRIDES[level]}"][0, 64].ravel()
        assert found.confidence[row] == scores[cell] >= 0.9
        assert (found.keypoints[row] == points[:, :, sum(CELLS[:level]) + cell]).all()
    passing = sum(int((values[f"map{s}"][0, 64] >= 0.9).sum()) for s in STRIDES)
    assert len(found) == passing


def test_what_does_not_fit() -> None:
    head = decode.yolov8(1, STRIDES, keypoints=17)
    specs = outputs(np.random.default_rng(0), "NCHW", "float32", (1, 17, 2, sum(CELLS)), "ABCD")
    with pytest.raises(
        nl.LayoutError, match=r"keypoints: expected 51 channels before 84 cells in one output, got .*points"
    ):
        decode.Decoder(head, specs, (SIDE, SIDE))
    with pytest.raises(nl.NpuLayoutError, match="Part 'box': across: only keypoints and angle can be stored"):
        decode.Part("box", 64, across=True)
