"""Forms, their parts and boxes: what does not fit each other is refused by name."""

from __future__ import annotations

import pytest

import npu_layout as nl
from npu_layout import decode


def test_sizes_of_center_exp_are_in_strides_or_anchors() -> None:
    for unit in ("stride", "pixel"):
        assert decode.Boxes("center_exp", unit=unit).unit == unit
    with pytest.raises(nl.NpuLayoutError, match="Boxes: unit: 'center_exp' has sizes in 'stride' or"):
        decode.Boxes("center_exp", unit="input")


def test_bad_forms() -> None:
    box, score = decode.Part("box", 64), decode.Part("score", 2)
    for parts, words in (
        ((box,), "parts: expected one 'score', got box"),
        ((box, score, score), "parts: expected one 'score'"),
        ((decode.Part("box", 4), score), "a box of encoding 'dfl' has 64 channels, its part has 4"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=words):
            decode.Form("maps", parts)
    with pytest.raises(nl.NpuLayoutError, match="keypoints: expected a whole number of at least 0, got -1"):
        decode.yolov8(2, keypoints=-1)


def test_parts_that_anchors_share_are_grouped() -> None:
    parts = (decode.Part("box", 4), decode.Part("score", 3, shared=True))
    with pytest.raises(nl.NpuLayoutError, match="Form 'maps': grouped: parts that anchors share need True, got False"):
        decode.Form("maps", parts, decode.Boxes("xyxy"))
    assert decode.Form("maps", parts, decode.Boxes("xyxy"), grouped=True).part("score").shared  # type: ignore[union-attr]


def test_bins_are_of_binned_boxes() -> None:
    assert decode.Boxes("dfl", bins=8).channels == 32
    for encoding in ("distances", "xywh"):
        with pytest.raises(nl.NpuLayoutError, match=rf"Boxes: bins: no effect on encoding '{encoding}'.* got 8"):
            decode.Boxes(encoding, bins=8)
