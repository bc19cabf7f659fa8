"""One good call of everything public of npu_layout.decode, by its name."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

import npu_layout as nl
from npu_layout import decode
from tests.support.good_arguments import GEOMETRY
from tests.support.public_call import Call

Calls = dict[str, Callable[[], Call]]


def decode_calls() -> Calls:
    """Those of npu_layout.decode."""
    specs = [nl.TensorSpec((1, n, 2, 2), "NCHW4c", "int8", name=str(n)) for n in (64, 2)]
    buffers = [np.zeros(spec.size, np.int8) for spec in specs]
    sparse = decode.yolov8(2, (8,))
    decoder = decode.Decoder(sparse, specs, (16, 16))
    boxes = np.zeros((3, 4), np.float32)
    found = decoder(buffers, confidence=0.0)
    result = decode.same(found, found)
    return {
        **_records(),
        **_networks(),
        **_masks(),
        "decode.Decoder": lambda: Call(
            decode.Decoder, dict(head=sparse, specs=specs, input_shape=(16, 16), outputs={"score": ["2"]})
        ),
        "decode.Decoder.__call__": lambda: Call(
            decoder.__call__, dict(buffers=buffers, confidence=0.0, iou=0.5, limit=3, out=None)
        ),
        "decode.Detections": lambda: Call(
            decode.Detections,
            dict(
                xyxy=boxes,
                confidence=boxes[:, 0],
                class_id=boxes[:, 0],
                level=boxes[:, 0],
                cell=boxes[:, 0],
                anchor=boxes[:, 0],
                keypoints=None,
                masks=None,
                xywha=None,
                listed=False,
            ),
        ),
        "decode.Detections.fields": lambda: Call(decoder(buffers, confidence=0.0).fields, dict(geometry=GEOMETRY)),
        "decode.detection_output": lambda: Call(
            decode.detection_output,
            dict(
                spec=nl.TensorSpec((1, 1, 2, 7)),
                buffer=np.zeros(14, np.float32),
                input_shape=(16, 16),
                confidence=0.5,
                limit=3,
                background=0,
                layer="caffe",
            ),
        ),
        "decode.hailo_nms": lambda: Call(
            decode.hailo_nms,
            dict(
                output=np.zeros(2, np.float32),
                classes=2,
                input_shape=(16, 16),
                confidence=0.5,
                limit=3,
                order="by_class",
            ),
        ),
        "decode.nms": lambda: Call(
            decode.nms,
            dict(
                boxes=boxes,
                scores=boxes[:, 0],
                iou=0.5,
                class_id=[0, 1, 0],
                limit=2,
                inclusive=False,
                extra=0.0,
                epsilon=0.0,
            ),
        ),
        "decode.people": lambda: Call(
            decode.people,
            dict(maps=nl.TensorSpec((1, 57, 4, 4)), buffer=np.zeros(57 * 16, np.float32), skeleton=decode.OPENPOSE),
        ),
        "decode.Skeleton": lambda: Call(
            decode.Skeleton,
            dict(
                joints=2,
                limbs=((0, 1),),
                fields=3,
                cell=4,
                peak=0.5,
                field=0.1,
                aligned=0.5,
                total=1.0,
                samples=5,
            ),
        ),
        "decode.same": lambda: Call(
            decode.same,
            dict(found=found, reference=found, confidence=0.25, pixels=1.0, shift=0.1, score=0.1, overlap=0.5),
        ),
        "decode.Comparison": lambda: Call(decode.Comparison, {f: getattr(result, f) for f in result.to_dict()}),
        "decode.Comparison.to_dict": lambda: Call(result.to_dict, {}),
        "decode.draw": lambda: Call(
            decode.draw,
            dict(
                frame=np.zeros((16, 16, 3), np.uint8),
                found=found,
                geometry=nl.Geometry.letterbox((16, 16), (16, 16)),
                names=["a", "b"],
                source="BGR",
            ),
        ),
        **_other_answers(),
        "decode.guess": lambda: Call(decode.guess, dict(specs=specs, input_shape=(16, 16), classes=2)),
        "decode.Guess": lambda: Call(decode.Guess, dict(head=None, why="", others=())),
    }


def _records() -> Calls:
    """Those of the records that a head is made of."""
    head = decode.yolov8(2, (8,), keypoints=2)
    form = head.forms[0]
    records = {
        "Boxes": (
            decode.Boxes,
            dict(
                encoding="xywh",
                bins=16,
                center=0.5,
                unit="pixel",
                variances=(0.1, 0.2),
                order=(1, 0, 3, 2),
                angle="none",
            ),
        ),
        "Form": (
            decode.Form,
            dict(name="maps", parts=form.parts, boxes=form.boxes, cells="grid", interleaved=False, grouped=False),
        ),
        "Head": (
            decode.Head,
            dict(
                name="x",
                classes=2,
                strides=(8,),
                forms=head.forms,
                anchors=(((4, 5),),),
                score="class",
                labels="all",
                background=None,
                keypoints=head.keypoints,
                prototypes=None,
                suppression=decode.Suppression(),
                priors=(),
            ),
        ),
        "Keypoints": (
            decode.Keypoints,
            dict(count=5, values=2, encoding="priors", activation="none", order="apart", across="pixels"),
        ),
        "Part": (
            decode.Part,
            dict(role="box", count=4, activation="none", optional=True, hint="box", across=False, shared=False),
        ),
        "Prototypes": (decode.Prototypes, dict(channels=32, stride=4, rule="cells")),
        "Suppression": (
            decode.Suppression,
            dict(kind="greedy", per_class=True, inclusive=False, extra=1.0, epsilon=0.1),
        ),
    }
    calls: Calls = {"decode.Form.part": lambda: Call(form.part, dict(role="box"))}
    for name, (record, arguments) in records.items():
        made = record(**arguments)
        calls[f"decode.{name}"] = lambda record=record, arguments=arguments: Call(record, dict(arguments))
        calls[f"decode.{name}.to_dict"] = lambda made=made: Call(made.to_dict, {})
        calls[f"decode.{name}.from_dict"] = lambda made=made: Call(made.from_dict, dict(d=made.to_dict()))
    return calls


def _networks() -> Calls:
    """Those of the heads of networks."""
    made = dict(classes=2, strides=(8,), activation="sigmoid")
    named = dict(**made, labels="all", name="x")
    activated = dict(activation="none", labels="all", name="x")
    networks: dict[str, dict[str, Any]] = {
        "centernet_head": dict(classes=2, stride=4, activation="sigmoid", size_unit="pixel", keypoints=2, name="x"),
        "blazeface": dict(side=8, strides=(4, 8), keypoints=2, anchors=1, activation="none", name="x"),
        "damoyolo": named,
        "depthai_yolo": dict(classes=2, strides=(8,), coefficients=4, labels="all", name="x"),
        "detr": dict(classes=2, activation="none", name="x"),
        "rtdetr": dict(classes=2, activation="none", labels="best", unit="pixel", name="x"),
        "rtmdet": dict(**named, unit="stride"),
        "efficientdet": dict(classes=2, input_shape=(16, 24), strides=(8,), size=3, aspects=((1, 1),), **activated),
        "fastestdet": dict(classes=2, stride=8, **activated),
        "yolofastestv2": dict(classes=2, strides=(8,), anchors=(((4, 5),),), **activated),
        "fcos": dict(classes=2, strides=(8,), score="objectness", center=0.0, unit="pixel", **activated),
        "labelled_rows": dict(classes=2, coefficients=4, unit="input", name="x"),
        "movenet": dict(keypoints=2, name="x"),
        "nanodet": dict(**made, bins=8, center=0.5, labels="all"),
        "ppyoloe": dict(**made, labels="all", listed="sides"),
        "retinaface": dict(strides=(8,), anchors=(((4, 5),),), keypoints=2, activation="softmax"),
        "retinanet": dict(
            classes=2,
            strides=(8,),
            size=4,
            scales=(1, 2 ** (1 / 3), 2 ** (2 / 3)),
            ratios=(0.5, 1, 2),
            scales_first=False,
            anchors=(((4, 5),),),
            center=0.5,
            variances=(1, 1),
            yx=True,
            **activated,
        ),
        "face_det_lite": dict(stride=8, keypoints=5, activation="none", name="x"),
        "scrfd": dict(strides=(8,), keypoints=5, activation="sigmoid"),
        "ssd": dict(
            priors=((0.5, 0.5, 0.1, 0.1),),
            classes=2,
            activation="none",
            labels="all",
            variances=(0.1, 0.2),
            yx=False,
            strides=(8,),
            anchors=(1,),
        ),
        "ssd_postprocessed": dict(classes=2, yx=False, unit="pixel"),
        "ultraface": dict(
            input_shape=(16, 24), strides=(8, 16, 32, 64), activation="softmax", listed="offsets", name="x"
        ),
        "yolact": dict(
            classes=2,
            input_shape=(22, 26),
            strides=(8,),
            scales=((4, 5),),
            ratios=(1, 2),
            square=False,
            coefficients=4,
            activation="softmax",
            coefficients_activation="tanh",
            labels="all",
            name="x",
        ),
        "yolo26_obb": dict(**made, unit="input", name="x"),
        "yolov7_pose": dict(**named, keypoints=2, anchors=(((4, 5),),), unit="input"),
        "yolo26": dict(**made, keypoints=2, coefficients=4, unit="input", point_values=2, name="x"),
        "yolov2": dict(classes=2, stride=8, anchors=(4, 5), activation="none", labels="all", name="x"),
        "yolov3": dict(classes=2, strides=(8,), anchors=(((4, 5),),), activation="none", labels="all", name="x"),
        "yolov4": dict(
            classes=2, strides=(8,), anchors=(((4, 5),),), spreads=(1.2,), activation="none", labels="all", name="x"
        ),
        "yolov5": dict(**named, anchors=(((4, 5),),), coefficients=0, unit="input"),
        "yolov6": named,
        "yolov7": dict(**named, anchors=(((4, 5),),), unit="input"),
        "yolov8": dict(
            **named,
            bins=8,
            keypoints=2,
            coefficients=0,
            scores_first=True,
            unit="input",
            listed="sides",
            across="pixels",
            point_values=2,
        ),
        "yolov8_obb": dict(**named, angle_activation="sigmoid", angle="radians", bins=8, unit="input", listed="sides"),
        "yolov10": dict(**made, bins=8, unit="input", name="x"),
        "yolox": named,
        "yolov5_face": dict(
            strides=(8,), anchors=(((4, 5),),), activation="sigmoid", labels="all", unit="input", name="x"
        ),
        "yunet": dict(strides=(8,), activation="sigmoid"),
    }
    return {
        f"decode.{name}": lambda name=name, arguments=arguments: Call(getattr(decode, name), dict(arguments))
        for name, arguments in networks.items()
    }


def _masks() -> Calls:
    """Those of the masks of instances."""
    spec = nl.TensorSpec((1, 2, 2, 2), "NCHW4c", "int8", name="2")
    one_mask = decode.Masks([np.ones((2, 3), bool)], np.zeros((1, 2), int), (4, 4))
    return {
        "decode.masks": lambda: Call(
            decode.masks,
            dict(
                spec=spec,
                buffer=np.zeros(spec.size, np.int8),
                coefficients=np.ones((3, 2), np.int8),
                xyxy=np.zeros((3, 4), np.float32),
                input_shape=(16, 16),
                zero_point=0,
                rule="cells",
                out=decode.Masks([], np.zeros((0, 2), int), (4, 4)),
            ),
        ),
        "decode.Masks": lambda: Call(
            decode.Masks, dict(crops=[np.ones((2, 3), bool)], offsets=np.zeros((1, 2), int), input_shape=(4, 4))
        ),
        "decode.Masks.full": lambda: Call(one_mask.full, dict(i=0, out=np.empty((4, 4), bool))),
        "decode.Masks.polygons": lambda: Call(one_mask.polygons, dict(i=0)),
        "decode.Masks.dense": lambda: Call(one_mask.dense, {}),
    }


def _other_answers() -> Calls:
    """Those for classes, text, joints and turned boxes."""
    vector, line, maps = nl.TensorSpec((1, 4), "NC"), nl.TensorSpec((1, 5, 3), "NCW"), nl.TensorSpec((1, 2, 4, 4))
    one, specs = nl.TensorSpec((1, 1, 4, 4)), [nl.TensorSpec((1, n, 2, 2), name=str(n)) for n in (64, 2, 1)]
    turned = dict(head=decode.yolov8(2, (8,)), specs=specs, input_shape=(16, 16), angles=["1"], activation="sigmoid")
    decoder = decode.OrientedDecoder(**turned)
    buffers = [np.zeros(spec.size, np.float32) for spec in specs]
    boxes = np.zeros((3, 5))
    columns = dict(xywha=boxes, confidence=boxes[:, 0], class_id=boxes[:, 0], level=boxes[:, 0], cell=boxes[:, 0])
    five = np.zeros(15, np.float32)
    return {
        "decode.classify": lambda: Call(
            decode.classify, dict(spec=vector, buffer=np.zeros(4, np.float32), k=2, activation="softmax")
        ),
        "decode.Classes": lambda: Call(decode.Classes, dict(class_id=boxes, confidence=boxes)),
        "decode.ctc": lambda: Call(
            decode.ctc, dict(spec=line, buffer=five, alphabet="ab", blank=0, activation="softmax", time=1)
        ),
        "decode.Text": lambda: Call(decode.Text, dict(text="", confidence=0.0, scores=(), steps=())),
        "decode.heatmap_points": lambda: Call(
            decode.heatmap_points,
            dict(spec=maps, buffer=np.zeros(32, np.float32), stride=(4.0, 2.0), shift="dark", blur=3),
        ),
        "decode.landmarks": lambda: Call(
            decode.landmarks,
            dict(
                spec=vector,
                buffer=np.zeros(4, np.float32),
                input_shape=(8, 8),
                values=4,
                scores=1,
                unit="input",
                yx=True,
                activation="sigmoid",
            ),
        ),
        "decode.lanes": lambda: Call(
            decode.lanes,
            dict(spec=nl.TensorSpec((1, 3, 2, 2)), buffer=np.zeros(12, np.float32), input_shape=(8, 8), rows=(2, 4)),
        ),
        "decode.simcc_points": lambda: Call(
            decode.simcc_points, dict(x=line, x_buffer=five, y=line, y_buffer=five, split=2.0)
        ),
        "decode.centernet": lambda: Call(
            decode.centernet,
            dict(
                specs={"heat": one, "size": maps},
                buffers={"heat": np.zeros(16, np.float32), "size": np.zeros(32, np.float32)},
                confidence=0.5,
                limit=3,
                stride=4,
                activation="sigmoid",
            ),
        ),
        "decode.dbnet": lambda: Call(
            decode.dbnet,
            dict(
                spec=one,
                buffer=np.zeros(16, np.float32),
                confidence=0.5,
                threshold=0.3,
                unclip=1.5,
                stride=4.0,
                limit=9,
            ),
        ),
        "decode.Regions": lambda: Call(decode.Regions, dict(corners=boxes, confidence=boxes)),
        "decode.OrientedDecoder": lambda: Call(decode.OrientedDecoder, dict(turned)),
        "decode.OrientedDecoder.__call__": lambda: Call(
            decoder.__call__, dict(buffers=buffers, confidence=0.1, iou=0.5, limit=3)
        ),
        "decode.OrientedDetections": lambda: Call(decode.OrientedDetections, dict(columns)),
        "decode.oriented_nms": lambda: Call(
            decode.oriented_nms, dict(boxes=boxes, scores=boxes[:, 0], iou=0.5, class_id=[0, 1, 0], limit=2)
        ),
    }
