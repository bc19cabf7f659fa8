"""Which output has which part: axes by extents, parts by channels, and what does not decide."""

from __future__ import annotations

from typing import Any

import pytest

import npu_layout as nl
from npu_layout.decode.heads.form import Part
from npu_layout.decode.outputs.assigning import assign
from npu_layout.decode.outputs.output_axes import Axes
from tests.support.output_specs import spec_of

PARTS = (Part("box", 4), Part("score", 3), Part("bound", 1, optional=True))


def assigned(*outputs: tuple[str, int], names: dict[str, str] | None = None, anchors: int = 1) -> dict[str, list[str]]:
    specs = [spec_of((1, n, 6, 8), name) for name, n in outputs]
    found = [(k, Axes(1, 2, 3, None, n)) for k, (_, n) in enumerate(outputs)]
    result = assign(PARTS, "level 0", specs, found, anchors, names or {})
    return {specs[k].name: [part.role for part in parts] for k, parts, _ in result}


def test_parts_are_recognised_by_their_channels() -> None:
    assert assigned(("a", 4), ("b", 3)) == {"a": ["box"], "b": ["score"]}
    assert assigned(("a", 1), ("b", 3), ("c", 4)) == {"a": ["bound"], "b": ["score"], "c": ["box"]}
    assert assigned(("whole", 7)) == {"whole": ["box", "score"]}
    assert assigned(("whole", 14), anchors=2) == {"whole": ["box", "score"]}
    assert assigned(("x", 4), ("y", 4), ("s", 3), names={"box": "y"}) == {"y": ["box"], "s": ["score"]}


BOXES_AND_SCORES = [  # names of boxes and of scores
    ("raw_outputs/box_encodings", "raw_outputs/class_predictions"),
    ("reg_preds", "cls_preds"),
    ("/model.23/one2one_cv2.0/Conv_output_0", "/model.23/one2one_cv3.0/Conv_output_0"),
]


@pytest.mark.parametrize("box, score", BOXES_AND_SCORES)
def test_boxes_and_as_many_scores_are_distinguished_by_their_names(box: str, score: str) -> None:
    parts = (Part("box", 4), Part("score", 4), Part("bound", 1, optional=True))
    for names in ((box, score), (score, box)):
        specs = [spec_of((1, 4, 6, 8), name) for name in names]
        found = [(k, Axes(1, 2, 3, None, 4)) for k in range(2)]
        got = {specs[k].name: run[0].role for k, run, _ in assign(parts, "level 0", specs, found, 1, {})}
        assert got == {box: "box", score: "score"}


@pytest.mark.parametrize(
    "names",
    [
        ("BoxPredictor_0/BoxEncodingPredictor", "BoxPredictor_0/ClassPredictor"),  # both have the letters of boxes
        ("box", "b"),
        ("a", "score"),
        ("box_class", "class_box"),
    ],
)
def test_names_that_do_not_say_both_decide_nothing(names: tuple[str, str]) -> None:
    parts = (Part("box", 4), Part("score", 4))
    specs = [spec_of((1, 4, 6, 8), name) for name in names]
    found = [(k, Axes(1, 2, 3, None, 4)) for k in range(2)]
    with pytest.raises(nl.LayoutError, match="extents do not distinguish parts"):
        assign(parts, "level 0", specs, found, 1, {})


@pytest.mark.parametrize("label", ["int32", "int64", "uint32"])
def test_classes_in_whole_numbers_are_not_the_scores(label: str) -> None:
    """TensorRT's EfficientNMS, and RT-DETR's post-processing, in runtimes that give outputs other names."""
    for order in ((label, "float32"), ("float16", label)):
        assert labelled(*(nl.TensorSpec((1, 9), "NC", dtype, name=dtype) for dtype in order)) == label


def labelled(*specs: nl.TensorSpec) -> str:
    found = [(k, Axes(0, None, 1, None, 1)) for k in range(2)]
    result = assign((Part("score", 1), Part("label", 1)), "rows", specs, found, 1, {})
    return {run[0].role: specs[k].name for k, run, _ in result}["label"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (dict(dtype="int32"), dict(dtype="int32")),
        (dict(dtype="float32"), dict(dtype="float32")),
        (dict(dtype="uint8"), dict(dtype="float32")),  # whose quantization was left out, perhaps
        (dict(dtype="int32", quantization=nl.Quantization(0.1)), dict(dtype="float32")),
        (dict(dtype="int32"), dict(dtype="int8", quantization=nl.Quantization(0.1))),
    ],
)
def test_other_dtypes_do_not_say_which_are_classes(one: dict[str, Any], other: dict[str, Any]) -> None:
    specs = [nl.TensorSpec((1, 9), "NC", name=name, **kind) for name, kind in (("a", one), ("b", other))]
    with pytest.raises(nl.LayoutError, match="extents do not distinguish parts"):
        labelled(*specs)


@pytest.mark.parametrize(
    "outputs, says",
    [
        ((("a", 5), ("b", 3)), "level 0: expected box of 4, score of 3 channels, .*; got a of 5 channels, b of 3"),
        ((), "got none"),
        ((("a", 4), ("b", 4), ("c", 3)), "extents do not distinguish parts: box in a .*; or box in b"),
    ],
)
def test_names_and_shapes_that_do_not_decide_are_refused(outputs: tuple[tuple[str, int], ...], says: str) -> None:
    with pytest.raises(nl.LayoutError, match=says):
        assigned(*outputs)
