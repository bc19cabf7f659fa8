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
    "PP-LiteSeg": ([(1, 19, 64, 128)], (512, 1024), {"argmax_channels"}),
    "DBNet": ([(1, 1, 736, 1280)], (736, 1280), {"dbnet"}),
    "OpenPose": ([(1, 57, 46, 46)], (368, 368), {"argmax_channels", "people"}),
    "HRNet": ([(1, 17, 64, 48)], (256, 192), {"argmax_channels", "heatmap_points"}),
    "RTMPose": ([(1, 17, 384), (1, 17, 512)], (256, 192), {"simcc_points"}),
    "PP-OCR": ([(1, 40, 6625)], (48, 320), {"ctc"}),
    "LPRNet": ([(1, 68, 18)], (24, 94), {"ctc"}),
    "MobileNet-SSD of OpenVINO": ([(1, 1, 100, 7)], (300, 300), {"detection_output"}),
    "MoveNet": ([(1, 1, 17, 3)], (192, 192), {"landmarks"}),
    "a hand of MediaPipe": ([(1, 63)], (224, 224), {"classify", "landmarks"}),
    "two vectors": ([(1, 10), (1, 12)], (64, 64), set()),
    "a map of another size": ([(1, 1, 77, 99)], (512, 512), set()),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_call_is_named(name: str) -> None:
    shapes, size, calls = NETWORKS[name]
    specs = [nl.TensorSpec(s, nl.Layout.of_rank(len(s)), name=f"out{i}") for i, s in enumerate(shapes)]
    guess = decode.guess(specs, size)
    assert guess.head is None and guess.others == () and guess.why.startswith("no head that is known fits the outputs")
    named = {
        word.split("(")[0].split(".")[-1] for word in guess.why.replace(";", " ").split() if "(" in word and "." in word
    }
    assert named - {""} == calls
    assert all(hasattr(decode, call) or hasattr(nl.ops, call) for call in calls)
