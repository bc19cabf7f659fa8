"""Outputs fitted to the heads of families: what ranges and names decide, and what stays open."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.decode.guesses.families import FAMILIES
from npu_layout.decode.guesses.family_fits import Outputs, all_tried, fitting, tried_families
from tests.support.output_specs import maps, of_shapes


def test_a_known_number_of_classes_is_the_only_one() -> None:
    given = Outputs(tuple(of_shapes(maps((64, 20)))), (640, 640), 20)
    assert {one.classes for one in fitting(list(tried_families(given)))} == {20}
    assert all(one.is_joined for one in fitting(list(tried_families(given._replace(classes=19)))))  # and an angle
    one_class = [family for family in FAMILIES if family.one]
    assert not list(tried_families(given, one_class))


def test_words_have_the_plural_of_classes() -> None:
    for classes, ending in ((1, ", 1 class"), (20, ", 20 classes")):
        (first, *_) = fitting(all_tried(Outputs(tuple(of_shapes(maps((64, classes)))), (640, 640), classes)))
        assert first.words == first.family.word + ending


def joined(channels: int, quantization: nl.Quantization) -> list[nl.TensorSpec]:
    """Maps of all parts in one output, of 640x640."""
    shapes = [(1, channels, side, side) for side in (80, 40, 20)]
    return [nl.TensorSpec(s, dtype="int8", quantization=quantization, name=f"out{s[2]}") for s in shapes]


def test_the_range_of_a_map_with_boxes_is_not_that_of_scores() -> None:
    """rknn_model_zoo's YOLOX: boxes as the network has them, scores behind the sigmoid, one scale."""
    found = decode.guess(joined(85, nl.Quantization(0.05, -10)), (640, 640), 80)
    assert found.head is None and "whether the sigmoid of scores is in the graph (activation=)" in found.why
    assert found.others == (decode.yolox(80), decode.yolox(80, activation="sigmoid"))


@pytest.mark.parametrize("activation", ["none", "sigmoid"])
def test_scales_of_the_scores_channels_tell_the_sigmoid(activation: str) -> None:
    scale, zero = (1 / 255, -128) if activation == "none" else (0.1, 20)
    scales, zeros = np.repeat([0.1, scale], [64, 80]), np.repeat([0, zero], [64, 80])
    found = decode.guess(joined(144, nl.Quantization(scales, zeros, axis=1)), (640, 640), 80)
    assert found.head is None
    heads = [head for head in found.others if head.forms[0].parts[0].role == "box"]  # not those of Khadas
    assert heads == [decode.yolov8(80, activation=activation), decode.yolov10(80, activation=activation)]


def test_the_range_of_boxes_tells_their_unit() -> None:
    """TFLite's exports have boxes of an input of 1; floats may have either."""
    shapes = [(1, 116, 8400), (1, 32, 160, 160)]
    tflite = decode.guess(of_shapes(shapes, dtype="int8", quantization=nl.Quantization(1 / 255, -128)), (640, 640), 80)
    assert tflite.head == decode.yolov8(80, coefficients=32, unit="input")
    wide = decode.guess(of_shapes(shapes, dtype="int16", quantization=nl.Quantization(0.05, 0)), (640, 640), 80)
    assert {form.boxes.unit for head in (wide.head, *wide.others) if head for form in head.forms} == {"stride", "pixel"}
    floats = decode.guess(of_shapes(shapes), (640, 640), 80)
    assert "whether boxes are in pixels, or the whole input is 1 (unit=)" in floats.why
    assert decode.yolov8(80, coefficients=32, unit="input") in floats.others


def test_what_a_name_alone_refuses_is_said() -> None:
    """One output of a channel and no scores beside it: it is called a sum, or an angle, and nothing else is missing."""
    for name, head in (("sum", "yolov6"), ("angle", None)):
        specs = [nl.TensorSpec(shape, name=f"{part}{shape[2]}") for shape, part in zip(maps((64, 1)), ("b", name) * 3)]
        found = decode.guess(specs, (640, 640), 1) if head is None else decode.guess(specs, (640, 640))
        assert {one.name for one in found.others} == ({head} if head else set())
        assert "the outputs would fit suppression (YOLOv8, 9, 11, 12), 1 class or no suppression" in found.why
        assert f"the only output of its shape is {name}80 (1, 1, 80, 80), whose name is that of the" in found.why
        assert "1 classes" not in found.why
