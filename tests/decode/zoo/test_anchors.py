"""Anchors as other code lists them, against those that were written as pairs; and what cannot be meant."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.decode.zoo.anchors import anchors_for

PAIRS = (
    ((10.0, 13.0), (16.0, 30.0), (33.0, 23.0)),
    ((30.0, 61.0), (62.0, 45.0), (59.0, 119.0)),
    ((116.0, 90.0), (156.0, 198.0), (373.0, 326.0)),
)
FLAT = [[10, 13, 16, 30, 33, 23], [30, 61, 62, 45, 59, 119], [116, 90, 156, 198, 373, 326]]
STRIDES = (8, 16, 32)


@pytest.mark.parametrize(
    "given", [PAIRS, FLAT, np.array(FLAT), np.array(PAIRS, np.float32), iter(FLAT), [np.array(level) for level in FLAT]]
)
def test_anchors_in_pairs_and_in_rows(given: Any) -> None:
    assert decode.yolov5(3, STRIDES, given).anchors == PAIRS


def test_levels_may_have_different_numbers_of_anchors() -> None:
    ragged = [[10, 13], FLAT[1], [116, 90]]
    assert anchors_for(STRIDES, ragged, {}) == (PAIRS[0][:1], PAIRS[1], PAIRS[2][:1])


@pytest.mark.parametrize(
    "given", [[x for row in FLAT for x in row], FLAT[:2], [[1, 2, 3]] * 3, "10,13", [[]] * 3, {}, 7]
)
def test_what_is_no_list_for_each_stride_is_refused(given: Any) -> None:
    with pytest.raises(nl.NpuLayoutError, match="anchors"):
        decode.yolov5(3, STRIDES, given)


HEADS: list[Callable[..., decode.Head]] = [decode.yolov3, decode.yolov4, decode.yolov5, decode.yolov7]


@pytest.mark.parametrize("head", HEADS)
def test_anchors_that_cannot_be_pixels_of_the_strides_are_refused(head: Callable[..., decode.Head]) -> None:
    head(3, STRIDES, PAIRS)
    with pytest.raises(nl.NpuLayoutError, match=r"got numbers up to 0\.582812: shares of the input"):
        head(3, STRIDES, np.array(PAIRS) / 640)
    with pytest.raises(nl.NpuLayoutError, match=r"as large as the stride of its level, 8, 16, 32: cells have to be"):
        head(3, STRIDES, np.array(PAIRS) / np.reshape(STRIDES, (3, 1, 1)))
    with pytest.raises(nl.NpuLayoutError, match="in the order of the strides 8, 16, 32, got smaller ones"):
        head(3, STRIDES, PAIRS[::-1])
    with pytest.raises(nl.NpuLayoutError, match="in the order of the strides 32, 16, 8, got smaller ones"):
        head(3, STRIDES[::-1], PAIRS)


def test_anchors_in_the_order_of_the_strides_and_small_ones_of_few_levels() -> None:
    assert decode.yolov5(3, STRIDES[::-1], PAIRS[::-1]).anchors == PAIRS[::-1]
    decode.yolov5(3, STRIDES, [[(9, 9)], [(9, 9)], [(12, 12)]])  # equal, and one larger than its stride
    decode.yolov3(3, (16, 32), [[(9, 9)], [(12, 12)]])
    decode.yolov5(3, (32,), [[(9, 9)]])
    decode.yolov5(3, STRIDES, [level[:2] for level in PAIRS[::-1]])  # of six this may be chance


def test_anchors_that_are_meant_anyway() -> None:
    head = dataclasses.replace(decode.yolov5(3, STRIDES, PAIRS), anchors=PAIRS[::-1])
    assert head.anchors == PAIRS[::-1]
