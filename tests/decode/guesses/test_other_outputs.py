"""Outputs that are no detector's: the calls that `guess` names are those of the network that was exported."""

from __future__ import annotations

import pytest

import npu_layout as nl
from npu_layout import decode

# Shapes as exporters write them, the input's height and width, and the functions that decode them.
NETWORKS = {
    "MobileNet": ([(1, 1000)], (224, 224), {"classify"}),
    "ResNet of TFLite": ([(1, 1001, 1, 1)], (224, 224), {"classify"}),
    "DeepLab": ([(1, 21, 513, 513)], (513, 513), {"argmax_channels"}),
    "DeepLab of 65 cells": ([(1, 21, 65, 65)], (513, 513), {"argmax_channels"}),
    "PP-LiteSeg": ([(1, 19, 64, 128)], (512, 1024), {"argmax_channels"}),
    "DBNet": ([(1, 1, 736, 1280)], (736, 1280), {"dbnet"}),
    "OpenPose": ([(1, 57, 46, 46)], (368, 368), {"argmax_channels", "people"}),
    "HRNet": ([(1, 17, 64, 48)], (256, 192), {"argmax_channels", "heatmap_points"}),
    "RTMPose": ([(1, 17, 384), (1, 17, 512)], (256, 192), {"simcc_points"}),
    "PP-OCR": ([(1, 40, 6625)], (48, 320), {"ctc"}),
    "LPRNet": ([(1, 68, 18)], (24, 94), {"ctc"}),
    "OpenPose in two outputs": ([(1, 38, 46, 46), (1, 19, 46, 46)], (368, 368), {"people"}),
    "Ultra-Fast-Lane-Detection": ([(1, 101, 56, 4)], (288, 800), {"lanes"}),
    "SSD of 300 pixels": ([(1, 1917, 91), (1, 1917, 4)], (300, 300), {"ssd"}),
    "SSD of 300 pixels, boxes on four axes": ([(1, 1917, 1, 4), (1, 1917, 91)], (300, 300), {"ssd"}),
    "SSD of Hailo": (
        [(1, n * a, side, side) for side, a in zip((19, 10, 5, 3, 2, 1), (3, *[6] * 5)) for n in (4, 91)],
        (300, 300),
        {"ssd"},
    ),
    "two lists of one size": ([(1, 84, 8400), (1, 84, 8400)], (640, 640), set()),
    "a face, and whether it is one": ([(1, 1404), (1, 1)], (192, 192), {"classify", "landmarks"}),
    "MoveNet": ([(1, 1, 17, 3)], (192, 192), {"landmarks"}),
    "a hand, here and in metres": ([(1, 63), (1, 1), (1, 1), (1, 63)], (224, 224), {"landmarks"}),
    "BlazePose": (
        [(1, 195), (1, 1), (1, 256, 256, 1), (1, 64, 64, 39), (1, 117)],
        (256, 256),
        {"landmarks"},
    ),
    "a hand of MediaPipe": ([(1, 63)], (224, 224), {"classify", "landmarks"}),
    "two vectors": ([(1, 10), (1, 12)], (64, 64), set()),
    "a map of another size": ([(1, 1, 77, 99)], (512, 512), set()),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_call_is_named(name: str) -> None:
    shapes, size, calls = NETWORKS[name]
    specs = [nl.TensorSpec(s, nl.Layout.of_rank(len(s)), name=f"out{i}") for i, s in enumerate(shapes)]
    guess = decode.guess(specs, size)
    assert guess.head is None and guess.others == () and guess.why.startswith("no known head fits the outputs")
    named = {
        word.split("(")[0].split(".")[-1] for word in guess.why.replace(";", " ").split() if "(" in word and "." in word
    }
    assert named - {""} == calls
    assert all(hasattr(decode, call) or hasattr(nl.ops, call) for call in calls)


def test_rows_of_seven_numbers_are_of_two_kinds() -> None:
    """DetectionOutput's (1, 1, n, 7), and YOLO26-OBB's (1, 300, 7) where a runtime has four axes."""
    spec = nl.TensorSpec((1, 1, 100, 7), name="y")
    guess = decode.guess([spec], (300, 300))
    assert guess.head is None and {head.name for head in guess.others} == {"yolo26_obb"}
    assert "decode.detection_output(spec, buffer, size): rows of detections" in guess.why
    rows = decode.guess([nl.TensorSpec((1, 300, 7), "NCW", name="y")], (1024, 1024), 15)
    assert {head.name for head in rows.others} == {"yolo26_obb"} and "DetectionOutput" not in rows.why


@pytest.mark.parametrize("classes", [None, 20])
@pytest.mark.parametrize(
    ("shape", "asked"),
    [
        ((1, 1, 100, 6), True),
        ((1, 37, 6), True),
        ((37, 6), True),
        ((1, 300, 6), False),
        ((1, 6, 100), False),
        ((1, 2, 50, 6), False),
        ((1, 100, 38), False),
    ],
)
def test_rows_of_six_numbers_may_be_ncnns(shape: tuple[int, ...], asked: bool, classes: int | None) -> None:
    """Nothing tells them from rows of another number than YOLOv10's 300 that begin with edges."""
    spec = nl.TensorSpec(shape, nl.Layout.of_rank(len(shape)), name="y")
    guess = decode.guess([spec], (300, 300), classes)
    words = (
        "whether the outputs are no head's, but decoded by decode.detection_output(spec, buffer, size, layer='ncnn')"
    )
    assert (words in guess.why) == asked and guess.head is None
    if asked:
        assert {head.name for head in guess.others} == {"yolov10", "yolo26"}


@pytest.mark.parametrize(
    ("shape", "size", "call"),
    [
        ((1, 513, 513, 21), (513, 513), "ops.argmax_channels"),
        ((1, 64, 48, 17), (256, 192), "decode.heatmap_points"),
        ((1, 46, 46, 57), (368, 368), "decode.people"),
        ((1, 736, 1280, 1), (736, 1280), "decode.dbnet"),
    ],
)
def test_maps_of_tflite_are_named_too(shape: tuple[int, ...], size: tuple[int, int], call: str) -> None:
    """Their axes are N, H, W and C; a shape of four numbers without letters may be so too, and the message says it."""
    spec = nl.TensorSpec.of_storage(shape, "NHWC", name="y")
    guess = decode.guess([spec], size)
    assert call in guess.why and "if their order" not in guess.why
    said = decode.guess([nl.TensorSpec(shape, name="y")], size)
    before, _, behind = said.why.partition("TensorSpec.of_storage(shape, 'NHWC'): then these fit: ")
    assert said.others == () and call in behind and call not in before


@pytest.mark.parametrize("shape", [(1, 513, 513), (1, 64, 96)])
def test_classes_of_pixels_are_no_text(shape: tuple[int, ...]) -> None:
    spec = nl.TensorSpec(shape, "NCW", "int64", name="ArgMax")
    why = decode.guess([spec], (shape[1], shape[2])).why
    assert "spec.unpack(buffer): a class of each pixel" in why and "ctc" not in why
    assert "ctc" in decode.guess([spec], (48, 320)).why
