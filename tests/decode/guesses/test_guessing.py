"""Guesses of real exports' shapes: the head that was exported is among those that are named, and no other family is."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from tests.support.output_specs import maps, of_shapes

SIGMOID_DONE = {"int8": (1 / 255, -128), "uint8": (1 / 255, 0)}
LOGITS = {"int8": (0.12, 40), "uint8": (0.12, 200)}


# From the exporters' own documents and scripts: shapes, input, family, classes. An entry of `others` fits as well.
OF_8_BINS = ["nanodet", "yolov8", "yolov10"]
EXPORTS = {
    "v8 rknn 9 maps": (maps((64, 80, 1)), 640, {"yolov8", "yolov8_obb", "yolov10"}, 80),
    "v8 hailo 6 maps": (maps((64, 80)), 640, {"yolov8", "yolov10"}, 80),
    "v8 onnx": ([(1, 84, 8400)], 640, {"yolov8", "ppyoloe"}, 80),
    "v8 one class onnx": ([(1, 5, 8400)], 640, {"yolov8", "ppyoloe"}, 1),
    "v8 pose onnx": ([(1, 56, 8400)], 640, {"yolov8"}, 1),
    "v8 pose hailo": (maps((64, 1, 51)), 640, {"yolov8"}, 1),
    "v8 seg rknn": ([*maps((64, 80, 1, 32)), (1, 32, 160, 160)], 640, {"yolov8"}, 80),
    "v8 seg onnx": ([(1, 116, 8400), (1, 32, 160, 160)], 640, {"yolov8"}, 80),
    "v2 voc": ([(1, 125, 13, 13)], 416, {"yolov2"}, 20),
    "v3-tiny": (maps((255,), 416, (16, 32)), 416, {"yolov3", "yolov4", "yolov5"}, 80),
    "v5 rknn": (maps((255,)), 640, {"yolov5", "yolov4", "yolov3"}, 80),
    "v5 onnx": ([(1, 25200, 85)], 640, {"yolov5"}, 80),
    "v5 5-D": ([(1, 3, 85, 80, 80), (1, 3, 85, 40, 40), (1, 3, 85, 20, 20)], 640, {"yolov5", "yolov4", "yolov3"}, 80),
    "v5 one class": (maps((18,), 320), 320, {"yolov5", "yolov4", "yolov3"}, 1),
    "v5 seg onnx": ([(1, 25200, 117), (1, 32, 160, 160)], 640, {"yolov5"}, 80),
    "v6 rknn": (maps((4, 80, 1)), 640, {"yolov6", "yolo26", "yolox", "yolo26_obb"}, 80),
    "v7-pose": (maps((171,), 640, (8, 16, 32, 64)), 640, {"yolov7_pose", "nanodet"}, 1),
    "v7-face": (maps((63,)), 640, {"yolov7_pose"}, 1),
    "v5-face": (maps((48,)), 640, {"yolov5_face"}, 1),
    "26-pose": (maps((4, 1, 51)), 640, {"yolo26"}, 1),
    "26-pose rows": ([(1, 300, 57)], 640, {"yolo26"}, 1),
    "26-seg": ([*maps((4, 80, 32)), (1, 32, 160, 160)], 640, {"yolo26"}, 80),
    "26-obb": (maps((4, 15, 1)), 640, {"yolov6", "yolo26", "yolox", "yolo26_obb"}, 15),
    "damo hailo": (maps((68, 81)), 640, {"damoyolo"}, 80),
    "pp axera": ([(1, 8400, 80), (1, 8400, 4)], 640, {"ppyoloe", "yolov8"}, 80),
    "movenet": ([(1, 6, 56)], 256, {"movenet", "yolov10", "yolo26"}, 1),
    "fastestv2": (maps((95,), 352, (16, 32)), 352, {"yolofastestv2"}, 80),
    "fastestdet": ([(1, 85, 22, 22)], 352, {"fastestdet"}, 80),
    "retinaface hailo": (maps((8, 4, 20)), 640, {"retinaface"}, 1),
    "v10 onnx": ([(1, 300, 6)], 640, {"yolov10", "yolo26"}, 80),
    "rt-detr": ([(1, 300, 80), (1, 300, 4)], 640, {"rtdetr", "detr"}, 80),
    "x rknn": (maps((85,)), 640, {"yolox"}, 80),
    "x onnx": ([(1, 8400, 85)], 640, {"yolox", "yolov6", "yolov8", "yolov8_obb"}, 80),
    "pp rknn": (maps((68, 80, 1)), 640, {"ppyoloe"}, 80),
    "pp onnx": ([(1, 8400, 4), (1, 80, 8400)], 640, {"ppyoloe", "yolov8"}, 80),
    "nanodet": ([(1, 2125, 112)], 320, {"nanodet"}, 80),
    "retinaface": ([(1, 16800, 4), (1, 16800, 2), (1, 16800, 10)], 640, {"retinaface"}, 1),
    "scrfd": ([(2 * (640 // s) ** 2, n) for n in (1, 4, 10) for s in (8, 16, 32)], 640, {"scrfd"}, 1),
    "face_det_lite": ([(1, n, 60, 80) for n in (1, 4, 10)], 0, {"face_det_lite"}, 1),
    "yunet": ([(1, (640 // s) ** 2, n) for n in (1, 1, 4, 10) for s in (8, 16, 32)], 640, {"yunet"}, 1),
    "tflite": ([(1, 10, 4), (1, 10), (1, 10), (1,)], 300, {"ssd_postprocessed"}, 90),
    "obb rknn": ([*maps((79,)), (1, 1, 8400)], 640, {"yolov8_obb"}, 15),
    "obb onnx": ([(1, 20, 21504)], 1024, {"yolov8_obb", "yolov6", "yolox"}, 15),
    "26-obb rows": ([(1, 300, 7)], 1024, {"yolo26_obb"}, 15),
    "v8-p2 onnx": ([(1, 84, 34000)], 640, {"yolov8"}, 80),
    "v8-p6 onnx": ([(1, 84, 8500)], 640, {"yolov8", "yolov6", "nanodet"}, 80),
    "v8-face onnx": ([(1, 20, 8400)], 640, {"yolov8"}, 1),
    "v8-pose of hands onnx": ([(1, 68, 8400)], 640, {"yolov8"}, 1),
    "v5-p6 onnx": ([(1, 102000, 85)], 1280, {"yolov5"}, 80),
    "v5-p6 maps": (maps((255,), 1280, (8, 16, 32, 64)), 1280, {"yolov5"}, 80),
    "v6lite onnx": ([(1, 2125, 85)], 320, {"yolov6", "yolov8"}, 80),
    "picodet of Paddle": ([(1, 3598, 4), (1, 80, 3598)], 416, {"ppyoloe", "yolov8"}, 80),
    "picodet": (
        [(1, (-(-416 // s)) ** 2, n) for n in (80, 32) for s in (8, 16, 32, 64)],
        416,
        {"nanodet", "yolov8", "yolov10"},
        80,
    ),
    "nanodet of three levels": (
        [(1, (320 // s) ** 2, n) for n in (80, 32) for s in (8, 16, 32)],
        320,
        set(OF_8_BINS),
        80,
    ),
    "rtmdet": (maps((80, 4)), 640, {"rtmdet", "yolov6", "yolo26"}, 80),
    "ultra-light": ([(1, 17640, 2), (1, 17640, 4)], 0, {"ultraface", "yolov10", "yolo26"}, 1),
    "centernet of sizes alone": ([(1, 80, 128, 128), (1, 2, 128, 128)], 512, {"centernet"}, 80),
    "centernet": ([(1, 80, 128, 128), (1, 2, 128, 128), (1, 2, 128, 128)], 512, {"centernet"}, 80),
    "v8 416": (maps((64, 2), 416), 416, {"yolov8", "yolov10"}, 2),
}


def specs_of(name: str, dtype: str, kinds: dict[str, tuple[float, int]]) -> list[nl.TensorSpec]:
    shapes = EXPORTS[name][0]
    names = [f"out{i}" for i in range(len(shapes))]
    if name == "yunet":
        names = [f"{part}_{s}" for part in ("cls", "obj", "bbox", "kps") for s in (8, 16, 32)]
    if name == "centernet":
        names = ["hm", "wh", "reg"]
    if name == "tflite":
        names = [f"TFLite_Detection_PostProcess{end}" for end in ("", ":1", ":2", ":3")]
    q = nl.Quantization(*kinds[dtype]) if dtype in kinds else None
    found = [nl.TensorSpec(s, nl.Layout.of_rank(len(s)), dtype, name=n, quantization=q) for s, n in zip(shapes, names)]
    random.Random(name).shuffle(found)
    return found


@pytest.mark.parametrize("name", EXPORTS)
def test_exports(name: str) -> None:
    _, size, families, classes = EXPORTS[name]
    for given in (classes, None):
        sides = (size, size) if size else (480, 640)
        found = decode.guess(specs_of(name, "float32", {}), sides, given)
        heads = [found.head] if found.head else found.others
        assert heads and str(found) == found.why, found.why
        assert {head.name for head in heads if head.classes == classes} <= families
        assert any(head.name in families and head.classes == classes for head in heads)
        for head in heads:
            decode.Decoder(head, specs_of(name, "float32", {}), sides)
    if given is not None:
        assert {head.classes for head in heads} == {classes}


def test_two_networks_of_one_export_are_both_offered() -> None:
    """Each pair has the same extents: the likelier one alone would be the wrong one."""
    middles = decode.guess(specs_of("picodet", "int8", SIGMOID_DONE), (416, 416), 80)
    centers = {form.boxes.center for head in middles.others for form in head.forms}
    assert middles.head is None and centers == {0.0, 0.5}
    two = decode.guess(of_shapes([(1, 300, 6)]), (640, 640), 2)  # RT-DETR of two classes, or rows of edges
    assert {head.name for head in two.others} == {"yolov10", "yolo26", "rtdetr"}
    scores = {"dtype": "uint8", "quantization": nl.Quantization(1 / 255, 0)}
    small = decode.guess(of_shapes([(1, 576, 4), (1, 576, 21)], **scores), (128, 128), 20)
    assert small.head is None and "decode.ssd(priors, classes), a head: boxes from priors" in small.why
    bins = decode.guess(of_shapes(maps((32, 80), 640), **scores), (640, 640))
    assert [(head.name, head.classes) for head in bins.others] == [(name, 80) for name in (*OF_8_BINS, "nanodet")]
    assert {head.forms[0].boxes.center for head in bins.others} == {0.0, 0.5} and bins.head is None
    assert "which of these the network is: 8 bins a side" in bins.why and "activation" not in bins.why
    hundred = decode.guess(of_shapes([(1, 100, 4), (1, 100, 92)]), (800, 1066), 91)
    assert {head.name for head in hundred.others} == {"detr"} and "priors" not in hundred.why


@pytest.mark.parametrize(("scores", "classes"), [(2, 1), (3, 2), (3, 3), (2, 2)])
def test_queries_are_no_rows_in_two_outputs(scores: int, classes: int) -> None:
    """Four numbers of a box and two or three beside them are as many as YOLOv10's and YOLO26-OBB's rows have."""
    found = decode.guess(of_shapes([(1, 100, scores), (1, 100, 4)]), (640, 640))
    assert {head.name for head in found.others} == {"rtdetr", "detr"}
    assert classes in {head.classes for head in found.others}
    apart = decode.guess(of_shapes([(1, 300, 4), (1, 300), (1, 300)]), (640, 640))
    assert {"yolov10", "yolo26"} < {head.name for head in apart.others}


def test_edges_of_post_processing_are_in_either_order() -> None:
    """TensorRT's EfficientNMS and the IMX500 have x before y, in pixels, where TFLite has y before x, of 0 to 1."""
    shapes, names = [(1, 1), (1, 100, 4), (1, 100), (1, 100)], ("num_dets", "det_boxes", "det_scores", "det_classes")
    found = decode.guess(
        [nl.TensorSpec(s, nl.Layout.of_rank(len(s)), name=n) for s, n in zip(shapes, names)], (640, 640), 80
    )
    assert found.head is None
    assert found.others == (decode.ssd_postprocessed(80), decode.ssd_postprocessed(80, yx=False, unit="pixel"))
    assert decode.guess(specs_of("tflite", "float32", {}), (300, 300), 90).head == decode.ssd_postprocessed(90)
    rows = decode.guess(of_shapes([(100, 6), (1,)]), (640, 640))  # PaddleDetection's, whose class comes first
    assert rows.head is None and not rows.others


@pytest.mark.parametrize("names", [("number", "boxes", "scores", "classes"), ("a", "b", "c", "d")])
def test_how_rows_are_counted_tells_tflite_from_efficientnms(names: tuple[str, ...]) -> None:
    """Four floats, the number as (1,): TFLite's operator or TensorFlow's graph. EfficientNMS has int32, also (1, 1)."""

    def found(number: tuple[int, ...], whole: str, classes: int) -> decode.Guess:
        kinds = {number: whole, (1, 100, 4): "float32", (1, 100): "float32"}
        specs = [nl.TensorSpec(s, nl.Layout.of_rank(len(s)), kind) for s, kind in kinds.items()]
        specs.append(specs[-1].replace(dtype=whole))
        return decode.guess([spec.replace(name=name) for spec, name in zip(specs, names)], (640, 640), classes)

    plain, pixels = decode.ssd_postprocessed(90), decode.ssd_postprocessed(90, yx=False, unit="pixel")
    assert found((1,), "float32", 90).others == (plain, replace(plain, background=0))
    assert ("outputs=" in found((1,), "float32", 90).why) == (names[0] == "a")
    for number in ((1, 1), (1,)):
        efficient = found(number, "int32", 90)
        assert efficient.others == (plain, pixels) and "outputs=" not in efficient.why
    assert set(found((1, 1), "float32", 90).others) == {plain, pixels}


def test_maps_without_letters_may_have_their_channels_last() -> None:
    shapes = [(1, side, side, n) for side in (80, 40, 20) for n in (80, 64)]
    found = decode.guess(of_shapes(shapes), (640, 640), 80)
    assert (
        found.others == () and "if their order is N, H, W, C, say so, TensorSpec.of_storage(shape, 'NHWC')" in found.why
    )
    assert "then these fit: suppression (YOLOv8, 9, 11, 12), 80 classes" in found.why


def test_the_range_of_scores_tells_the_sigmoid() -> None:
    done, logits, unknown = (
        decode.guess(specs_of("v5 rknn", dtype, kinds), (640, 640), 80)
        for dtype, kinds in (("int8", SIGMOID_DONE), ("uint8", LOGITS), ("float32", {}))
    )
    both = decode.yolov5(80), decode.yolov5(80, activation="sigmoid")
    assert done.head == both[0] and logits.head is None and logits.others == (both[1], decode.yolov3(), decode.yolov4())
    assert "the anchors of YOLOv5" in logits.why and "sizes that are exponentials (YOLOv3" in logits.why
    assert unknown.head is None and "whether the sigmoid of scores is in the graph (activation=)" in unknown.why
    assert unknown.others == (*both, decode.yolov3(), decode.yolov4())


def test_what_shapes_never_tell() -> None:
    found = decode.guess(specs_of("v8 rknn 9 maps", "int8", SIGMOID_DONE), (640, 640), 80)
    assert found.head is None and found.others == (decode.yolov8(80), decode.yolov10(80), decode.yolov8_obb(80))
    assert "suppression (YOLOv8, 9, 11, 12), 80 classes; no suppression (YOLOv10), 80 classes" in found.why
    assert "turned boxes (YOLOv8-OBB), 80 classes" in found.why  # sums of scores, or angles


@pytest.mark.parametrize(
    ("shapes", "family", "classes"),
    [
        (maps((64, 1, 1)), "yolov8", 1),  # scores and their sums
        (maps((64, 64)), "yolov8", 64),
        ([(1, 80, 160, 160), (1, 2, 160, 160), (1, 2, 160, 160)], "centernet", 80),
        ([(1, (640 // s) ** 2, n) for n in (1, 1, 4, 10) for s in (8, 16, 32)], "yunet", 1),
        ([(1, 10, 4), (1, 10), (1, 10), (1,)], "ssd_postprocessed", 90),
    ],
)
def test_what_names_would_tell_is_said(shapes: list[tuple[int, ...]], family: str, classes: int) -> None:
    for given in (None, classes):
        found = decode.guess(of_shapes(shapes), (640, 640), given)
        assert found.head is None and "which output is which part (outputs=): " in found.why, found.why
        assert any(head.name == family and head.classes == classes for head in found.others)


def test_a_batch_is_named() -> None:
    found = decode.guess(of_shapes([(2, 84, 8400)]), (640, 640))
    assert found.head is None and "a batch of 2 is decoded image by image" in found.why


def test_nothing_fits() -> None:
    found = decode.guess([nl.TensorSpec((1, 7, 13, 13), name="x")], (640, 640))
    assert found == (None, "no known head fits the outputs x (1, 7, 13, 13) of an input of 640x640", ())
    with pytest.raises(nl.NpuLayoutError, match="specs: expected one for each output, got none"):
        decode.guess([], (640, 640))


def test_an_angle_among_scores_is_offered_last_and_asked_about() -> None:
    """21 channels beside 64 are 21 classes, or by coincidence 20 and an angle; of 20 known classes both are offered."""
    specs = [nl.TensorSpec(shape, name=f"out{i}") for i, shape in enumerate(maps((64, 21)))]
    for classes in (None, 20):
        found = decode.guess(specs, (640, 640), classes)
        heads = [(head.name, head.classes) for head in found.others]
        assert found.head is None and heads[0] == ("yolov8", 21) and heads[-1] == ("yolov8_obb", 20)
        assert "whether those 21 channels are 20 classes and an angle, or 21 classes" in found.why
    assert {head.name for head in decode.guess(specs, (640, 640), 21).others} == {"yolov8", "yolov10"}


def test_names_say_which_head_is_likelier() -> None:
    for name, first, never in (("angle", "yolov8_obb", ""), ("sum", "yolov8", "yolov8_obb"), ("out", "yolov8", "")):
        names = ("box", "score", name)
        shapes = zip(maps((64, 20, 1)), names * 3)
        specs = [nl.TensorSpec(shape, name=f"{what}{shape[2]}") for shape, what in shapes]
        heads = [head.name for head in decode.guess(specs, (640, 640)).others]
        assert heads[0] == first and never not in heads


def test_maps_with_angles_are_those_of_turned_boxes_alone() -> None:
    shapes = zip(maps((64, 15, 1)), ("box", "score", "angle") * 3)
    found = decode.guess([nl.TensorSpec(shape, name=f"{part}{shape[2]}") for shape, part in shapes], (640, 640), 15)
    assert {head.name for head in found.others} == {"yolov8_obb"} and "missing" not in found.why


@pytest.mark.parametrize(
    ("shape", "size"),
    [((1, 1280, 7, 7), 224), ((1, 320, 7, 7), 224), ((1, 40, 16, 16), 512), ((1, 125, 13, 13), 416)],
)
def test_one_map_is_never_certain(shape: tuple[int, ...], size: int) -> None:
    """Any map of a stride of 32 with a multiple of 5 channels has the extents of YOLOv2's; classes= decides."""
    found = decode.guess(of_shapes([shape]), (size, size))
    assert found.head is None and [head.name for head in found.others] == ["yolov2"]
    assert "whether the outputs are of YOLOv2 at all" in found.why
    assert decode.guess(of_shapes([shape]), (size, size), shape[1] // 5 - 5).head == found.others[0]
    assert decode.guess(of_shapes([shape]), (size, size), 1).head is None


def test_one_map_of_stride_16_is_never_certain() -> None:
    """It may be of segmentation, or features: FastestDet's has no extents of its own."""
    for channels, classes in ((21, 16), (85, 80)):
        found = decode.guess(of_shapes([(1, channels, 32, 32)]), (512, 512))
        assert found.head is None and [head.name for head in found.others] == ["fastestdet"] * 2
        assert "whether the outputs are of FastestDet at all" in found.why and "ops.argmax_channels" in found.why
        assert {head.classes for head in found.others} == {classes}


def test_lists_of_sides_are_offered_beside_edges() -> None:
    """Boxes and scores in two outputs: edges in pixels, or sides in strides, the finest or the coarsest cells first."""
    found = decode.guess(of_shapes([(1, 8400, 80), (1, 8400, 4)]), (640, 640), 80)
    offered = {(head.strides, head.forms[1].boxes.encoding) for head in found.others if head.name == "ppyoloe"}
    assert offered == {((8, 16, 32), "xyxy"), ((8, 16, 32), "distances"), ((32, 16, 8), "distances")}
    joined = decode.guess(of_shapes([(1, 84, 8400)]), (640, 640), 80)
    assert {h.forms[1].boxes.encoding for h in joined.others if h.name == "ppyoloe"} == {"xyxy"}


def test_one_map_of_one_cell_is_classes() -> None:
    for classes in (None, 195):
        found = decode.guess(of_shapes([(1, 1000, 1, 1)]), (32, 32), classes)
        assert found.head is None and not found.others and "decode.classify(spec, buffer): classes" in found.why


def test_two_levels_have_the_boxes_of_one_of_two_networks() -> None:
    """Darknet's YOLOv3-tiny and ultralytics' have the same extents; ranges show if the sigmoid is in the graph."""
    shapes = maps((255,), 416, (16, 32))
    anchors = (((10, 14), (23, 27), (37, 58)), ((81, 82), (135, 169), (344, 319)))
    of_v5 = [decode.yolov5(80, (16, 32), anchors, activation=act) for act in ("none", "sigmoid")]
    found = decode.guess(of_shapes(shapes), (416, 416), 80)
    assert found.head is None and set(found.others) == {
        decode.yolov3(80, (16, 32)),
        decode.yolov4(80, (16, 32)),
        *of_v5,
    }
    assert "centres that are spread (YOLOv4-tiny of Darknet" in found.why
    done = decode.guess(of_shapes(shapes, dtype="int8", quantization=nl.Quantization(1 / 255, -128)), (416, 416), 80)
    assert done.head == of_v5[0]


def test_one_output_of_rows_is_queries_if_the_classes_are_known() -> None:
    """Any two axes are rows and channels: without `classes` no text model's output is a detector's, but COCO's are."""
    for classes in (80, None):
        found = decode.guess(of_shapes([(1, 300, 84)]), (640, 640), classes)
        assert found.head is None
        assert [(head.name, head.classes) for head in found.others] == [("rtdetr", 80)] * 2
    for shape in ((1, 300, 60), (1, 300, 83), (1, 300, 85), (1, 77, 512)):
        assert decode.guess(of_shapes([shape]), (640, 640)).others == ()


def test_rows_whose_parts_are_not_distinguished_are_named_once() -> None:
    """Labels and scores of one shape: every number of classes fits, and one of each family is offered."""
    found = decode.guess(of_shapes([(1, 300), (1, 300, 4), (1, 300)]), (640, 640))
    wanted = {("yolov10", 80), ("yolo26", 80), ("labelled_rows", 80), ("rtdetr", 80)}
    assert {(head.name, head.classes) for head in found.others} == wanted
    assert "which output is which part (outputs=)" in found.why


@pytest.mark.parametrize(
    ("shapes", "side", "head", "keypoints", "priors"),
    [
        ([(1, 896, 16), (1, 896, 1)], 128, "blazeface", 6, 896),
        ([(1, 512, 16), (1, 384, 16), (1, 512, 1), (1, 384, 1)], 128, "blazeface", 6, 896),
        ([(1, 2304, 16), (1, 2304, 1)], 192, "blazeface", 6, 2304),
        ([(1, 2016, 18), (1, 2016, 1)], 192, "blazeface", 7, 2016),
        ([(1, 2254, 12), (1, 2254, 1)], 224, "blazeface", 4, 2254),
    ],
)
def test_mediapipe(shapes: list[tuple[int, ...]], side: int, head: str, keypoints: int, priors: int) -> None:
    found = decode.guess(of_shapes(shapes), (side, side))
    assert {one.name for one in found.others} == {head} and "sigmoid" in found.why
    points = {one.keypoints.count for one in found.others if one.keypoints}
    assert points == {keypoints} and priors in {len(one.priors) for one in found.others}


def test_detectors_of_five_levels() -> None:
    sides = (64, 32, 16, 8, 4)
    maps = of_shapes([(1, n, k, k) for k in sides for n in (80, 4, 1)])
    assert {head.name for head in decode.guess(maps, (512, 512)).others} == {"fcos"}
    nine = of_shapes([(1, n, k, k) for k in sides for n in (36, 720)])
    found = decode.guess(nine, (512, 512), 80)
    assert found.head is None and {head.name for head in found.others} == {"retinanet"}
    assert "or of EfficientDet, whose anchors are others (efficientdet())" in found.why


@pytest.mark.parametrize("coefficients", [0, 32])
def test_rows_with_their_best_class(coefficients: int) -> None:
    """AI Hub's exports. Extents do not show the unit of the boxes; the range of stored integers does."""
    shapes = {"boxes": (1, 8400, 4), "scores": (1, 8400), "class_idx": (1, 8400)}
    if coefficients:
        shapes |= {"mask_coefs": (1, 8400, 32), "protos": (1, 32, 160, 160)}
    specs = [nl.TensorSpec(shape, nl.Layout.of_rank(len(shape)), name=name) for name, shape in shapes.items()]
    each = tuple(decode.labelled_rows(80, coefficients=coefficients, unit=unit) for unit in ("pixel", "input"))
    found = decode.guess(specs, (640, 640))
    assert found.head is None and found.others == each
    assert "whether boxes are in pixels, or the whole input is 1 (unit=)" in found.why
    for head, scale in zip(each, (2.6, 1 / 255)):
        boxes = specs[0].replace(dtype="uint8", quantization=nl.Quantization(scale))
        assert decode.guess([boxes, *specs[1:]], (640, 640)).head == head


@pytest.mark.parametrize(("scale", "unit"), [(1 / 255, "input"), (2.6, "pixel")])
def test_the_unit_of_queries_is_read_from_their_range(scale: float, unit: str) -> None:
    shapes, scales = {"boxes": (1, 300, 4), "scores": (1, 300, 80)}, (scale, 1 / 255)
    specs = [
        nl.TensorSpec(shape, nl.Layout.of_rank(3), "uint8", name=name, quantization=nl.Quantization(one))
        for (name, shape), one in zip(shapes.items(), scales)
    ]
    found = decode.guess(specs, (640, 640), 80).head
    assert found == decode.rtdetr(80, activation="none", unit=unit)
    spots = [np.full(spec.size, 100, np.uint8) for spec in specs]  # 100 codes are 100/255 of 640 pixels, or 260
    xyxy = decode.Decoder(found, specs, (640, 640))(spots, confidence=0.3).xyxy[0]
    middle = 100 * scale * (640 if unit == "input" else 1)
    np.testing.assert_allclose(xyxy, [middle / 2, middle / 2, middle * 1.5, middle * 1.5], rtol=1e-5)


def test_rows_behind_the_post_processing_of_queries() -> None:
    """RT-DETR's and D-FINE's own export, and AI Hub's names: 300 rows may be suppressed or not, 8,400 are cells."""
    for names in (("labels", "boxes", "scores"), ("class_idx", "boxes", "scores")):
        specs = [spec.replace(name=n) for spec, n in zip(of_shapes([(1, 300), (1, 300, 4), (1, 300)]), names)]
        found = decode.guess(specs, (640, 640))
        assert found.head is None and decode.rtdetr(80) in found.others and decode.labelled_rows(80) in found.others
        for head in (decode.rtdetr(80), decode.labelled_rows(80)):
            decode.Decoder(head, specs, (640, 640))
        assert "rows after the post-processing of queries (RT-DETR, D-FINE, DEIM), 80 classes" in found.why


def test_scores_may_be_before_bins() -> None:
    """One map of boxes and scores does not show which are first; outputs of their own have no order."""
    first = decode.yolov8(80, activation="sigmoid", scores_first=True)
    assert first in decode.guess(of_shapes(maps((144,))), (640, 640), 80).others
    assert first not in decode.guess(of_shapes(maps((64, 80))), (640, 640), 80).others


def test_priors_are_those_of_the_inputs_size() -> None:
    """Faces of 128 and of 256 pixels have 896 priors each, and their boxes are in pixels of their own input."""
    for side, strides in ((128, (8, 16, 16, 16)), (256, (16, 32, 32, 32))):
        found = decode.guess(of_shapes([(1, 896, 16), (1, 896, 1)]), (side, side))
        assert found.others == tuple(decode.blazeface(side, strides, activation=act) for act in ("none", "sigmoid"))


def test_yolact() -> None:
    """Lists of 550 pixels, and Hailo's maps of 512, whose scores are before the softmax."""
    lists = [*of_shapes([(1, 19248, 81), (1, 19248, 4), (1, 19248, 32)]), nl.TensorSpec((1, 32, 138, 138), name="p")]
    found = decode.guess(lists, (550, 550))
    assert {head.name for head in found.others} == {"yolact"} and "activation=" in found.why
    assert {head.classes for head in found.others} == {80} and decode.yolact() in found.others
    maps = of_shapes([(1, n, k, k) for k in (64, 32, 16, 8, 4) for n in (36, 189, 288)])
    found = decode.guess([*maps, nl.TensorSpec((1, 32, 128, 128), name="p")], (512, 512))
    assert {(head.name, head.classes, len(head.priors)) for head in found.others} == {("yolact", 20, 49104)}


@pytest.mark.parametrize(
    ("sides", "parts", "name", "classes"),
    [
        ((160, 80, 40, 20), {"box": 64, "score": 80}, "yolov8", 80),  # the variant P2, of stride 4 too
        ((40, 20), {"box": 4, "score": 3}, "yolov6", 3),
        ((80,), {"box": 4, "score": 5}, "yolov6", 5),
    ],
)
def test_maps_of_other_strides(sides: tuple[int, ...], parts: dict[str, int], name: str, classes: int) -> None:
    specs = [nl.TensorSpec((1, n, k, k), name=f"{part}{k}") for k in sides for part, n in parts.items()]
    found = decode.guess(specs, (640, 640))
    strides = tuple(640 // k for k in sides)
    assert found.head is None and f"with strides={strides} these fit" in found.why
    assert f"{name} of {classes} classes" in found.why
    head = next(head for head in found.others if head.name == name)
    assert head.classes == classes and head.strides == strides
    assert len(decode.Decoder(head, specs, (640, 640)).specs) == len(specs)


@pytest.mark.parametrize("channels", [(21, 1), (19, 38)])
def test_maps_of_no_detector_have_no_other_strides(channels: tuple[int, ...]) -> None:
    specs = [nl.TensorSpec((1, n, 160, 160), name=f"maps{n}") for n in channels]
    found = decode.guess(specs, (640, 640))
    assert found.others == () and "strides" not in found.why


@pytest.mark.parametrize("name, offered", (("labels", {"yolov10", "yolo26"}), ("output1", set())))
def test_rows_beside_classes_that_are_named_are_offered(name: str, offered: set[str]) -> None:
    """MMDeploy's: edges and score of each row, and its class."""
    dets = nl.TensorSpec((1, 100, 5), "NWC", axes="NWC", name="dets")
    guess = decode.guess([dets, nl.TensorSpec((1, 100), "NC", name=name)], (640, 640))
    assert (guess.head, {head.name for head in guess.others}) == (None, offered)


def test_coefficients_in_maps_of_their_own() -> None:
    """YOLOv5-seg of airockchip: three maps of boxes and scores, three of coefficients, and prototypes."""
    parts = (("output", 255), ("mask", 96))
    specs = [nl.TensorSpec((1, n, k, k), name=f"{name}{k}") for k in (80, 40, 20) for name, n in parts]
    specs.append(nl.TensorSpec((1, 32, 160, 160), name="proto"))
    found = decode.guess(specs, (640, 640))
    assert {(head.name, head.classes, head.prototypes) for head in found.others} == {
        ("yolov5", 80, decode.Prototypes(32))
    }
    assert len(decode.Decoder(found.others[0], specs, (640, 640)).specs) == 7


def test_centres_and_sizes_apart() -> None:
    """Hailo's YOLOv3 to v5: centres, sizes, objectness and scores are outputs of their own."""
    parts = (("c", 6), ("s", 6), ("o", 3), ("p", 240))
    specs = [nl.TensorSpec((1, n, k, k), name=f"{name}{k}") for k in (64, 32, 16) for name, n in parts]
    found = decode.guess(specs, (512, 512))
    assert {(head.name, head.classes) for head in found.others} == {(f"yolov{k}", 80) for k in (3, 4, 5)}
    assert "which output is which part (outputs=): offset in c64 and box in s64" in found.why


@pytest.mark.parametrize(
    "channels, name, offered", [(85, "output{}_yolov6r2", "depthai_yolo"), (124, "nanodet_repvgg/conv{}", "nanodet")]
)
def test_extents_of_many_families_need_a_name(channels: int, name: str, offered: str) -> None:
    maps = [nl.TensorSpec((1, channels, 416 // s, 416 // s), name=name.format(s)) for s in (8, 16, 32)]
    (head, *_) = (head for head in decode.guess(maps, (416, 416)).others if head.name == offered)
    assert head.classes == 80 and head.strides == (8, 16, 32)
    assert len(decode.Decoder(head, maps, (416, 416)).specs) == 3
    others = decode.guess([spec.replace(name=f"out{i}") for i, spec in enumerate(maps)], (416, 416)).others
    assert others and offered not in {head.name for head in others}


@pytest.mark.parametrize(
    "shapes, first",
    [
        ([(1, 255, 80, 80), (1, 255, 40, 40), (1, 255, 20, 20)], "yolov5 of 80"),
        ([(1, 85, 80, 80), (1, 85, 40, 40), (1, 85, 20, 20)], "yolox of 80"),
        ([(1, 56, 8400)], "yolov8 of 1"),
        ([(1, 84, 8400)], "yolov8 of 80"),
        ([(1, 20, 4), (1, 20), (1, 20), (1, 1)], "ssd_postprocessed of 90"),
    ],
    ids=str,
)
def test_what_most_networks_are_trained_for_comes_first(shapes: list[tuple[int, ...]], first: str) -> None:
    specs = [nl.TensorSpec(s, nl.Layout.of_rank(len(s)), name=f"out{i}") for i, s in enumerate(shapes)]
    guess = decode.guess(specs, (640, 640))
    assert f"{guess.others[0].name} of {guess.others[0].classes}" == first
    assert {head.classes for head in guess.others} > {guess.others[0].classes}
