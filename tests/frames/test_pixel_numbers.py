"""Mean, std and border for each channel: what is read, what is refused, and the arithmetic of a target."""

from __future__ import annotations

import pytest

import npu_layout as nl
from npu_layout.frames.pixel_numbers import PixelNumbers


def test_numbers() -> None:
    assert PixelNumbers.of(3, 2, 0, 4) == ((3.0,) * 4, (2.0,) * 4, (0.0,) * 4)
    assert PixelNumbers.of([1, 2, 3], 1, 9, 3).mean == (1.0, 2.0, 3.0)
    with pytest.raises(nl.NpuLayoutError, match="mean: expected 1 or 4 finite numbers"):
        PixelNumbers.of([1, 2, 3], 1, 0, 4)
    PixelNumbers.of(0, 1, 255, 1)
    for arguments, says in (
        ((1e39, 1.0, 0.0), "mean: expected numbers in the range of float32"),
        ((0.0, 1e-46, 0.0), "std: expected numbers other than 0 in float32"),
        ((0.0, 1.0, 256.0), r"pad_value: expected pixel values 0\.\.255"),
        ((0.5, 0.25, 0.0), "mean and std are in pixel units"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            PixelNumbers.of(*arguments, 1)


def test_what_is_plain_and_its_border() -> None:
    assert PixelNumbers.of(0, 1, 114, 3).is_plain and not PixelNumbers.of(0, [1, 2, 1], 114, 3).is_plain
    numbers = PixelNumbers.of(0, 1, [1.4, 2.6, 3], 3)
    assert numbers.border(1) == bytes([1, 3, 3]) and numbers.border(-1) == bytes([3, 3, 1])


def test_the_arithmetic_is_in_the_order_that_is_written() -> None:
    numbers = PixelNumbers.of([10, 20, 30], [2, 4, 8], 0, 3)
    floats = nl.TensorSpec((1, 3, 4, 4), "NHWC")
    assert PixelNumbers.of(0, 1, 0, 3).affine(floats, "RGB", 1) is None
    for step, mean, scale in ((1, (10, 20, 30), (0.5, 0.25, 0.125)), (-1, (30, 20, 10), (0.125, 0.25, 0.5))):
        affine = numbers.affine(floats, "RGB", step)
        assert affine is not None and affine.shift == mean and affine.scale == scale
    rows = floats.replace(dtype="int8", quantization=nl.Quantization([1.0] * 4, [0] * 4, axis=2))
    with pytest.raises(nl.NpuLayoutError, match=r"expected quantization per tensor or per C, got axis 2 \(H\)"):
        PixelNumbers.of(128, 1, 0, 3).affine(rows, "RGB", 1)
