"""How a canvas becomes the buffer: bands of rows, rows of border, and one conversion for parts of any size."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout import kernels
from npu_layout.layouts import plan_move
from tests.support.resized_pixels import METHODS, as_on_x86

NATIVE = kernels.active() != "numpy"


def test_a_target_of_one_row_may_have_its_columns_outermost() -> None:
    """WHC of one row: the row's pitch is that of a pixel, and the row is longer."""
    rng = np.random.default_rng(1)
    frame = rng.integers(0, 256, (5, 90, 3), np.uint8)
    for layout in ("WHC", "NWHC", "HWC"):
        spec = nl.TensorSpec((3, 1, 63) if "N" not in layout else (1, 3, 1, 63), layout, "uint8")
        buffer, _ = nl.Preprocessor(spec, resize="stretch")(frame)
        wanted = METHODS["linear"](frame[..., ::-1], (63, 1))
        assert np.array_equal(spec.unpack(buffer).reshape(3, 1, 63), wanted.transpose(2, 0, 1))


@pytest.mark.skipif(not NATIVE, reason="needs compiled kernels")
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_parts_of_any_size_share_the_conversion_to_the_buffer(layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which depends on the target alone, and takes longer to plan than a small part to resize."""
    planned = []

    def counted(*args: Any) -> Any:
        planned.append(args)
        return plan_move(*args)

    monkeypatch.setattr("npu_layout.frames.buffer_writing.plan_move", counted)
    target = nl.TensorSpec((1, 3, 19, 37), layout, "float32")
    preprocess = nl.Preprocessor(target, mean=[3, 5, 7], std=4, resize="stretch")
    frame = np.random.default_rng(3).integers(0, 256, (90, 120, 3), np.uint8)
    for size in range(20, 60):
        part = (size // 2, 5, size, size + 7)
        buffer, _ = preprocess(frame, roi_xywh=part)
        cut = np.ascontiguousarray(frame[part[1] : part[1] + part[3], part[0] : part[0] + part[2]])
        resized = cv2.cvtColor(as_on_x86(cut, (37, 19)), cv2.COLOR_BGR2RGB).astype(np.float32)
        np.testing.assert_array_equal(target.unpack(buffer)[0].transpose(1, 2, 0), (resized - [3, 5, 7]) / 4)
    assert 1 <= len(planned) <= 2  # a band, and the rows behind the last one


@pytest.mark.parametrize(
    ("layout", "dtype", "offset"),
    [
        ("NHWC", "uint8", 0),
        ("NHWC", "int8", 128),
        ("NCHW16c", "int8", 128),
        ("NCHW", "float32", 0),
        ("NHWC", "float32", 0),
    ],
)
@pytest.mark.parametrize("rows", [1, 2, 37, 63, 64])
def test_rows_of_border_alone(layout: str, dtype: str, offset: int, rows: int) -> None:
    """Above and below a frame as wide as the input, which is not resized: bands of border, of both, of the frame."""
    quantization = nl.Quantization(1, -offset) if offset else None
    spec = nl.TensorSpec((1, 3, 64, 64), layout, dtype, quantization=quantization)
    frame = np.random.default_rng(rows).integers(0, 256, (rows, 64, 3), np.uint8)
    expected = np.empty((64, 64, 3), np.uint8)
    expected[...] = (9, 120, 250)
    top = (64 - rows) // 2
    expected[top : top + rows] = frame[..., ::-1]
    buffer, _ = nl.Preprocessor(spec, pad_value=(9, 120, 250))(frame)
    assert np.array_equal(spec.unpack(buffer)[0].transpose(1, 2, 0), expected)
