"""What a head becomes for the kernels: tables of places and of values, checked element by element."""

from __future__ import annotations

import random

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode, kernels
from npu_layout.decode.compiling import compiled, thresholds
from npu_layout.decode.places import fit

SIZE = (32, 32)


def described(head: decode.Head, specs: list[nl.TensorSpec]) -> kernels.Detection | None:
    return compiled(head, fit(head, specs, SIZE, {}), specs, SIZE)


def maps(layout: str, dtype: str, channels: tuple[int, ...], q: nl.Quantization | None = None) -> list[nl.TensorSpec]:
    return [
        nl.TensorSpec((1, n, SIZE[0] // s, SIZE[1] // s), nl.Layout(layout), dtype, quantization=q, name=f"{n}/{s}")
        for s in (8, 16)
        for n in channels
    ]


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c", "NHWC8c", "CHWN", "NHCW"])
def test_every_element_is_where_the_spec_says(layout: str) -> None:
    head = decode.yolov8(5, (8, 16), keypoints=3)
    specs = maps(layout, "int8", (64, 5, 9), nl.Quantization(0.1, -3))
    made = described(head, specs)
    assert made is not None and made.points == 9 and made.nbytes == tuple(spec.nbytes for spec in specs)
    choose = random.Random(layout)
    for grid in made.levels:
        (anchor,) = grid.anchors
        assert grid.points == kernels.Points("cells", 3, "sigmoid", 0.1) and anchor.objectness is None
        for source in (anchor.score, anchor.box, anchor.points):
            assert source is not None
            spec, map_ = specs[source.buffer], source.map
            assert len(map_.channels) == spec.shape[1] and len(map_.rows) * len(map_.columns) == grid.columns**2
            for _ in range(20):
                c, y, x = (
                    choose.randrange(spec.shape[1]),
                    choose.randrange(grid.columns),
                    choose.randrange(grid.columns),
                )
                assert map_.channels[c] + map_.rows[y] + map_.columns[x] == spec.offset(0, c, y, x)


def test_tables_of_values_are_dequantised_and_activated() -> None:
    head = decode.yolov8(5, (8, 16), activation="sigmoid", keypoints=3)
    made = described(head, maps("NHWC", "uint8", (64, 5, 9), nl.Quantization(0.5, 100)))
    assert made is not None
    anchor = made.levels[0].anchors[0]
    real = (np.arange(256) - 100) * 0.5
    for table, expected in (
        (anchor.box.values, real),
        (anchor.score.values, 1 / (1 + np.exp(-real))),
        (anchor.points.values if anchor.points else None, real),
        (anchor.heats, 1 / (1 + np.exp(-real))),
    ):
        assert table is not None
        np.testing.assert_allclose(table, expected, rtol=1e-15)
    floats = described(head, maps("NHWC", "float32", (64, 5, 9)))
    assert floats is not None and floats.levels[0].anchors[0].heats is None


def test_what_the_kernels_do_not_read() -> None:
    head = decode.yolov8(5, (8, 16))
    each = nl.Quantization(np.full(5, 0.1), 0, axis=1)
    scaled = [
        spec if spec.shape[1] == 64 else spec.replace(quantization=each) for spec in maps("NCHW", "int8", (64, 5))
    ]
    assert described(head, scaled) is None
    assert described(head, maps("NCHW", "int32", (64, 5))) is None
    rows = [nl.TensorSpec((1, 300, 6), "NHW", name="out")]
    assert described(decode.yolov10(5), rows) is None


def test_thresholds_are_the_least_codes_that_can_pass() -> None:
    head = decode.yolov8(5, (8, 16))
    for scale, zero, confidence in ((1 / 255, -128, 0.25), (0.01, -100, 0.5), (1 / 256, -128, 1e-9)):
        made = described(head, maps("NCHW", "int8", (64, 5), nl.Quantization(scale, zero)))
        assert made is not None
        found = np.frombuffer(thresholds(head, made, confidence), np.int32)
        real = (np.arange(-128, 128, dtype=np.float32) - np.float32(zero)) * np.float32(scale)
        passing = np.arange(-128, 128)[real.astype(np.float64) >= confidence]
        assert found.tolist() == [passing.min()] * 2
