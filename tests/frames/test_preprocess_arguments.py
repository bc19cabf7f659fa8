"""The checks of a Preprocessor's arguments, each on its own."""

from __future__ import annotations

import re
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.frames.preprocess_arguments import (
    INTERPOLATIONS,
    check_choices,
    check_unquantised,
    checked_roi,
    checked_target,
)

UINT8, INT8 = nl.TensorSpec((1, 3, 4, 5), dtype="uint8"), nl.TensorSpec((1, 3, 4, 5), dtype="int8")


def test_targets_of_one_three_and_four_channels() -> None:
    for color, channels in (("GRAY", 1), ("RGB", 3), ("BGR", 3), ("RGBA", 4), ("BGRA", 4)):
        assert checked_target(nl.TensorSpec((2, channels, 4, 5)), color) == {"N": 2, "C": channels, "H": 4, "W": 5}
        assert checked_target(nl.TensorSpec((channels, 4, 5), "HWC"), color)["C"] == channels
        with pytest.raises(nl.NpuLayoutError, match=f"has 2 channels; color {color} expects {channels}"):
            checked_target(nl.TensorSpec((1, 2, 4, 5)), color)


@pytest.mark.parametrize(
    ("target", "says"),
    [
        (None, "target: expected a TensorSpec or a FrameSpec, got None; give engine"),
        (nl.TensorSpec((1, 3), "NC"), "expected axes N, C, H, W or C, H, W, got NC"),
        (nl.TensorSpec((1, 3, 4, 5), dtype="int4"), "expected elements of whole bytes"),
    ],
)
def test_targets_that_are_no_image(target: Any, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        checked_target(target, "RGB")


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (nl.TensorSpec((1, 6, 8, 3)), r"has the channels last, it is TensorSpec.of_storage\(\(1, 6, 8, 3\), 'NHWC'\)$"),
        (nl.TensorSpec((1, 6, 6, 3), "NHWC", "uint8", axes="NCHW"), r"last, .*\(\(1, 6, 6, 3\), 'NHWC', 'uint8'\)$"),
        (nl.TensorSpec.of_storage((1, 3, 6, 8), "NHWC"), r"channels first, it is .*\(\(1, 3, 6, 8\), 'NCHW'\)$"),
        (nl.TensorSpec((6, 8, 3), "CHW"), r"TensorSpec.of_storage\(\(6, 8, 3\), 'HWC'\)$"),
    ],
)
def test_a_shape_with_the_channels_last_is_one_of_storage(spec: nl.TensorSpec, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        checked_target(spec, "RGB")


def test_choices() -> None:
    check_choices(resize="crop", interpolation="area", color="BGRA")
    for wrong in ({"resize": "fit"}, {"interpolation": "lanczos"}, {"color": "BGRX"}, {"color": None}):
        with pytest.raises(nl.NpuLayoutError, match=f"{next(iter(wrong))}: expected one of"):
            check_choices(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"resize": "pad"}, "letterbox"),
        ({"resize": "contain"}, "letterbox"),
        ({"resize": "fit"}, "letterbox, or crop, as Pillow's ImageOps.fit means it"),
        ({"resize": "fill"}, "crop, or stretch, as CSS means it"),
        ({"resize": "Cover"}, "crop"),
        ({"resize": "squash"}, "stretch"),
        *(({"interpolation": getattr(cv2, name)}, word) for word, name in INTERPOLATIONS.items()),
        *(({"interpolation": name}, word) for word, name in INTERPOLATIONS.items()),
        ({"interpolation": "bicubic"}, "cubic"),
        ({"interpolation": np.int64(cv2.INTER_LINEAR)}, "linear"),
        ({"interpolation": np.uint8(cv2.INTER_AREA)}, "area"),
    ],
)
def test_words_and_numbers_of_other_libraries_are_named(given: dict[str, Any], meant: str) -> None:
    ((what, value),) = given.items()
    with pytest.raises(
        nl.NpuLayoutError, match=rf"{what}: expected one of .*, got {re.escape(repr(value))}\. Is it {meant}\?$"
    ):
        check_choices(**given)


def test_what_nobody_calls_a_choice_is_named_as_nothing() -> None:
    for what, value in (
        ("interpolation", True),
        ("interpolation", [1]),
        ("interpolation", 4),
        ("interpolation", np.int64(4)),
        ("resize", "xyz"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=f"{what}: expected one of ") as refused:
            check_choices(**{what: value})  # type: ignore[arg-type]
        assert "Is it" not in str(refused.value)


def test_integers_that_are_not_quantised_are_pixels() -> None:
    check_unquantised(UINT8, True, 0, 1)
    check_unquantised(nl.TensorSpec((1, 3, 4, 5)), False, 5, 2)
    with pytest.raises(nl.NpuLayoutError, match="expected no mean and std, got 5 and 2; leave both out"):
        check_unquantised(UINT8, False, 5, 2)
    with pytest.raises(nl.NpuLayoutError, match="expected dtype uint8, or give the TensorSpec a quantization"):
        check_unquantised(INT8, True, 0, 1)


def test_parts_of_a_frame() -> None:
    assert checked_roi("roi_xywh", [2, 3, 4, 5], (6, 8)) == (2, 3, 6, 8)
    for roi in ((2, 3, 5, 5), (2, 4, 4, 5), (0, 0, 0, 1), (0, 0, 1), None):
        with pytest.raises(nl.NpuLayoutError, match=r"^roi_xywh: expected"):
            checked_roi("roi_xywh", roi, (6, 8))
