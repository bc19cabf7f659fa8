"""Coefficients against the standards' formulas in floats, and what they make of grays and of primary colors."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.frames.color_matrices import MATRICES, RANGES, color_of, to_yuv_of
from tests.support import frame_formats as formats


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("range_", RANGES)
def test_colors_come_back_from_y_u_and_v(matrix: str, range_: str) -> None:
    """RGB to YUV in floats, by the standard's definition, rounded, and back: within 2 of 255."""
    kr, kb = formats.KR_KB[matrix]
    rgb = np.random.default_rng(0).integers(0, 256, (500, 3)).astype(float)
    y = rgb @ [kr, 1 - kr - kb, kb]
    u, v = (rgb[:, 2] - y) / (2 * (1 - kb)), (rgb[:, 0] - y) / (2 * (1 - kr))
    if range_ == "limited":
        y, u, v = 16 + y * 219 / 255, u * 224 / 255, v * 224 / 255
    stored = np.clip(np.rint([y, u + 128, v + 128]), 0, 255).astype(int)
    color = color_of(matrix, range_)
    light = np.maximum(stored[0] - color.black, 0) * color.luma + 2**19
    u, v = stored[1] - 128, stored[2] - 128
    made = [light + color.red_v * v, light + color.green_u * u + color.green_v * v, light + color.blue_u * u]
    assert np.abs(np.clip(np.array(made).T >> 20, 0, 255) - rgb).max() <= 2


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("range_", RANGES)
def test_grays_have_no_color_and_sums_fit_32_bits(matrix: str, range_: str) -> None:
    for i, (weights, offset) in enumerate(to_yuv_of(matrix, range_).components):
        for gray in (0, 1, 128, 255):
            made = (sum(weights) * gray + (offset << 20) + 2**19) >> 20
            luma = gray if range_ == "full" else 16 + round(gray * 219 / 255)
            assert made == (128 if i else luma)
        assert 255 * sum(max(0, weight) for weight in weights) + (offset << 20) + 2**19 < 2**31


def test_sums_fit_32_bits() -> None:
    for matrix in MATRICES:
        for range_ in RANGES:
            color = color_of(matrix, range_)
            most = 255 * color.luma + 2**19 + 128 * max(color.red_v, color.blue_u, -color.green_u - color.green_v)
            assert most < 2**31


def test_opencvs_own_coefficients_and_full_range() -> None:
    assert color_of("bt601", "limited") == (16, 1220542, 1673527, -409993, -852492, 2116026)
    assert {color_of(matrix, "full").luma for matrix in MATRICES} == {1 << 20}
    assert {color_of(matrix, "full").black for matrix in MATRICES} == {0}


def test_unknown_standards() -> None:
    for arguments in (("bt470", "limited"), ("bt601", "tv"), (None, "full")):
        with pytest.raises(nl.NpuLayoutError, match="expected"):
            color_of(*arguments)  # type: ignore[arg-type]
