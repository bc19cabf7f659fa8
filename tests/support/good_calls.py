"""One good call of everything public, by its name; tests.support.bad_calls replaces its arguments."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, Callable, NamedTuple

import numpy as np

import npu_layout as nl
from npu_layout import decode, exchange, kernels, ops, pytest_plugin, specs, streams, testing
from tests.support import streaming
from tests.support.exchanged import SNAPSHOT
from tests.support.good_arguments import (
    GEOMETRY,
    NIBBLES,
    SHAPE,
    SPEC,
    TARGET,
    calibration_set,
    compared,
    dumps,
    engine,
    explanation,
    fixture,
    frame,
    image,
    layers,
    model,
    model_file,
    new,
    npu,
    on_disk,
    own_engine,
    preprocessor,
    recorder,
    recording,
    report,
    run,
    stored,
    tensor,
)
from tests.support.vendor_metadata import EXAMPLES, example


class Call(NamedTuple):
    """A function and arguments with which it returns; one of them may be ``*name``: the rest by position."""

    function: Callable[..., Any]
    arguments: dict[str, Any]

    def parameters(self) -> list[str]:
        """The names of all that may be given, a star before what takes any number; not what goes to others."""
        stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: None}
        found = inspect.signature(self.function).parameters.values()
        return [f"{star}{p.name}" for p in found for star in [stars.get(p.kind, "")] if star is not None]

    def __call__(self, **instead: Any) -> Any:
        """Call it, with other values of some arguments (a starred one: for the first of its values)."""
        by_name, ahead = dict(self.arguments), []
        for name, value in instead.items():
            by_name[name] = (value, *by_name.get(name, ())[1:]) if name.startswith("*") else value
        rest = next((n for n in by_name if n.startswith("*")), None)
        if rest is not None:
            named = [p for p in inspect.signature(self.function).parameters.values()]
            first = [p.name for p in named[: [p.kind for p in named].index(inspect.Parameter.VAR_POSITIONAL)]]
            ahead = [*(by_name.pop(n) for n in first), *by_name.pop(rest)]
        return self.function(*ahead, **by_name)


def decode_calls() -> dict[str, Callable[[], Call]]:
    """Those of npu_layout.decode."""
    head = decode.yolov8(2, (8,), keypoints=2)
    form = head.forms[0]
    records = {
        "Boxes": (
            decode.Boxes,
            dict(
                encoding="xywh",
                bins=8,
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
    calls: dict[str, Callable[[], Call]] = {}
    for name, (record, arguments) in records.items():
        made = record(**arguments)
        calls[f"decode.{name}"] = lambda record=record, arguments=arguments: Call(record, dict(arguments))
        calls[f"decode.{name}.to_dict"] = lambda made=made: Call(made.to_dict, {})
        calls[f"decode.{name}.from_dict"] = lambda made=made: Call(made.from_dict, dict(d=made.to_dict()))
    specs = [nl.TensorSpec((1, n, 2, 2), "NCHW4c", "int8", name=str(n)) for n in (64, 2)]
    buffers = [np.zeros(spec.size, np.int8) for spec in specs]
    sparse = decode.yolov8(2, (8,))
    decoder = decode.Decoder(sparse, specs, (16, 16))
    boxes = np.zeros((3, 4), np.float32)
    found = decoder(buffers, confidence=0.0)
    result = decode.same(found, found)
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
            scales=(1, 2),
            ratios=(1, 2),
            scales_first=True,
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
        "yolo26": dict(**made, keypoints=0, coefficients=4, unit="input", point_values=2, name="x"),
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
            keypoints=0,
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
    calls.update(
        {
            f"decode.{name}": lambda name=name, arguments=arguments: Call(getattr(decode, name), dict(arguments))
            for name, arguments in networks.items()
        }
    )
    one_mask = decode.Masks([np.ones((2, 3), bool)], np.zeros((1, 2), int), (4, 4))
    return {
        **calls,
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
            ),
        ),
        "decode.Detections.fields": lambda: Call(decoder(buffers, confidence=0.0).fields, dict(geometry=GEOMETRY)),
        "decode.Form.part": lambda: Call(form.part, dict(role="box")),
        "decode.detection_output": lambda: Call(
            decode.detection_output,
            dict(
                spec=nl.TensorSpec((1, 1, 2, 7)),
                buffer=np.zeros(14, np.float32),
                input_shape=(16, 16),
                confidence=0.5,
                limit=3,
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
        "decode.masks": lambda: Call(
            decode.masks,
            dict(
                spec=specs[1],
                buffer=buffers[1],
                coefficients=np.ones((3, 2), np.int8),
                xyxy=boxes,
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


def _other_answers() -> dict[str, Callable[[], Call]]:
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
            dict(spec=maps, buffer=np.zeros(32, np.float32), stride=(4.0, 2.0), shift="quarter", blur=3),
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


def stream_calls() -> dict[str, Callable[[], Call]]:
    """Those of npu_layout.streams."""
    made = dict(
        source=[], preprocess=streaming.PREPROCESS, engine=streaming.Reader(), function=None, policy="every",
        on_error="skip", watchdog=1.0, depth=1, debug=True,
    )  # fmt: skip
    given = dict(inputs={"x": tensor()}, out=None)

    def result() -> Any:
        (found,) = [r.copy() for r in streams.Stream([streaming.drawn(0)], streaming.PREPROCESS, streaming.Reader())]
        return found

    def of_pool(method: str, **arguments: Any) -> Callable[[], Call]:
        return lambda: Call(getattr(streams.EnginePool([own_engine()]), method), dict(arguments))

    return {
        "streams.Counts": lambda: Call(streams.Counts, dict(captured=1, shown=1, dropped=0, failed=0, pending=0)),
        "streams.EnginePool": lambda: Call(streams.EnginePool, dict(engines=[own_engine()])),
        "streams.EnginePool.close": of_pool("close"),
        "streams.EnginePool.infer": of_pool("infer", **given),
        "streams.EnginePool.map": of_pool("map", inputs=[given["inputs"]]),
        "streams.EnginePool.submit": of_pool("submit", **given),
        "streams.Result": lambda: Call(
            streams.Result,
            dict(number=0, captured=0.0, slot=result()._slot, frame=None, geometry=None, dropped=0),
        ),
        "streams.Result.copy": lambda: Call(result().copy, {}),
        "streams.Source": lambda: Call(streams.Source, dict(frames=[], live=False, close=None)),
        "streams.Source.close": lambda: Call(streams.Source([]).close, {}),
        "streams.Stream": lambda: Call(streams.Stream, dict(made)),
        "streams.Stream.close": lambda: Call(streams.Stream(**made).close, {}),
        "streams.Stream.start": lambda: Call(streams.Stream(**made).start, {}),
        "streams.Stream.stop": lambda: Call(streams.Stream(**made).stop, {}),
        "streams.StreamError": lambda: Call(streams.StreamError, dict(stage="infer", number=0, words="x")),
        "streams.open_source": lambda: Call(streams.open_source, dict(source=[], reopen=1.0)),
    }


# By the name below npu_layout, with @ and a word where one function has several ways that read other arguments.
def metadata_call(name: str) -> Callable[[], Call]:
    reader = getattr(specs, f"from_{name}")
    first = next(iter(inspect.signature(reader).parameters))
    return lambda: Call(reader, {first: example(name)[0], **example(name)[1]})


CALLS: dict[str, Callable[[], Call]] = {
    "Conversion": lambda: Call(nl.Conversion, dict(source=SPEC, target=TARGET, move=nl.plan(SPEC, TARGET).move)),
    "Conversion.__call__": lambda: Call(
        nl.plan(SPEC, TARGET).__call__, dict(buffer=stored(), out=np.empty(TARGET.size, np.float32))
    ),
    "Explanation": lambda: Call(
        nl.Explanation,
        {name: getattr(explanation(), name) for name in ("spec", "at", "reads", "part", "compared")},
    ),
    "Explanation.facts": lambda: Call(explanation().facts, {}),
    "Explanation.place": lambda: Call(explanation().place, {"*index": (0, 1, 0, 1)}),
    "Explanation.save": lambda: Call(explanation().save, dict(path=new("picture.svg"), width=700)),
    "Explanation.terminal": lambda: Call(explanation().terminal, dict(depth=8, columns=80)),
    "Explanation.to_png": lambda: Call(explanation().to_png, dict(width=700, scale=1)),
    "Explanation.to_svg": lambda: Call(explanation().to_svg, dict(width=700)),
    "Explanation.views": lambda: Call(explanation().views, {}),
    "FrameSpec": lambda: Call(
        nl.FrameSpec,
        dict(
            format="NV12", size_wh=(8, 6), strides=(16, 16), offsets=(0, 96), size=200, matrix="bt709", range="full",
        ),
    ),
    "FrameSpec.describe": lambda: Call(nl.FrameSpec("NV12", (8, 6)).describe, {}),
    "FrameSpec.from_dict": lambda: Call(nl.FrameSpec.from_dict, dict(d=nl.FrameSpec("NV12", (8, 6)).to_dict())),
    "FrameSpec.of": lambda: Call(
        nl.FrameSpec.of, dict(x={"lores": dict(format="YUV420", size=(8, 6), stride=64)}, stream="lores")
    ),
    "FrameSpec.planes": lambda: Call(nl.FrameSpec("NV12", (8, 6)).planes, dict(buffer=bytes(72))),
    "FrameSpec.to_dict": lambda: Call(nl.FrameSpec("NV12", (8, 6)).to_dict, {}),
    "Geometry": lambda: Call(
        nl.Geometry,
        {name: getattr(GEOMETRY, name) for name in ("frame_wh", "input_wh", "resized_wh", "pad_ltrb", "crop_xyxy")},
    ),
    "Geometry.boxes_to_frame": lambda: Call(GEOMETRY.boxes_to_frame, dict(boxes_xyxy=[[0, 0, 2, 2]], clip=True)),
    "Geometry.boxes_to_input": lambda: Call(GEOMETRY.boxes_to_input, dict(boxes_xyxy=[[0, 0, 2, 2]], clip=True)),
    "Geometry.crop": lambda: Call(nl.Geometry.crop, dict(frame_wh=(8, 6), input_wh=(4, 4))),
    "Geometry.letterbox": lambda: Call(
        nl.Geometry.letterbox, dict(frame_wh=(8, 6), input_wh=(4, 4), center=False, scaleup=False)
    ),
    "Geometry.mask_to_frame": lambda: Call(
        GEOMETRY.mask_to_frame, dict(mask=np.ones((2, 2)), interpolation="linear")
    ),
    "Geometry.mask_to_input": lambda: Call(
        GEOMETRY.mask_to_input, dict(mask=np.ones((2, 2)), interpolation="linear")
    ),
    "Geometry.points_to_frame": lambda: Call(GEOMETRY.points_to_frame, dict(points_xy=[1, 2], edges=True)),
    "Geometry.points_to_input": lambda: Call(GEOMETRY.points_to_input, dict(points_xy=[1, 2], edges=True)),
    "Geometry.stretch": lambda: Call(nl.Geometry.stretch, dict(frame_wh=(8, 6), input_wh=(4, 4))),
    "Hypothesis": lambda: Call(nl.Hypothesis, dict(spec=SPEC, score=20.0)),
    "Identification": lambda: Call(
        nl.Identification, dict(ranking=[nl.Hypothesis(SPEC, 20.0)], spec=SPEC, why="It is so.")
    ),
    "InputReport": lambda: Call(
        nl.InputReport, dict(name="x", verdict="match", fix=None, why="It is so.", spec=TARGET, frames=(0,))
    ),
    "InputReport.to_dict": lambda: Call(nl.InputReport("x", "match", None, "It is so.", TARGET, (0,)).to_dict, {}),
    "Layout": lambda: Call(nl.Layout, dict(tag="NCHW4c", axes="NHWC")),
    "Layout.check_shape": lambda: Call(nl.Layout("NHWC").check_shape, dict(shape=SHAPE)),
    "Layout.named": lambda: Call(nl.Layout.named, dict(name="NC1HWC2", block=16)),
    "Layout.of_rank": lambda: Call(nl.Layout.of_rank, dict(rank=3)),
    "Layout.offset": lambda: Call(nl.Layout("NHWC").offset, {"shape": SHAPE, "*index": (0, 1, 1, 1)}),
    "Layout.plain": lambda: Call(nl.Layout.plain, dict(axes="WHCN")),
    "Layout.size": lambda: Call(nl.Layout("NHWC").size, dict(shape=SHAPE)),
    "Layout.storage_shape": lambda: Call(nl.Layout("NHWC").storage_shape, dict(shape=SHAPE)),
    "OnnxRuntimeEngine": lambda: Call(
        nl.OnnxRuntimeEngine,
        dict(model=model(), threads=1, dimensions={"batch": 1}, providers="CPUExecutionProvider"),
    ),
    "OnnxRuntimeEngine.infer": lambda: Call(engine().infer, dict(inputs={"x": tensor()})),
    "OutputReport": lambda: Call(
        nl.OutputReport,
        {name: getattr(report().outputs["y"], name) for name in inspect.signature(nl.OutputReport).parameters},
    ),
    "OutputReport.to_dict": lambda: Call(report().outputs["y"].to_dict, {}),
    "Preprocessor": lambda: Call(
        nl.Preprocessor,
        dict(
            target=nl.TensorSpec((1, 3, 4, 4)), resize="crop", interpolation="nearest", source="RGB", color="BGR",
            mean=(1, 2, 3), std=2, pad_value=0, scaleup=False,
        ),
    ),
    "Preprocessor.__call__": lambda: Call(
        preprocessor().__call__,
        dict(frame=frame(), out=np.empty((1, 4, 4, 3), np.uint8), roi_xywh=(0, 0, 2, 2)),
    ),
    "Preprocessor.batch": lambda: Call(
        nl.Preprocessor(nl.TensorSpec((2, 3, 4, 4), "NHWC", "uint8")).batch,
        dict(frames=[frame(), frame()], out=np.empty((2, 4, 4, 3), np.uint8), rois_xywh=[(0, 0, 2, 2), None]),
    ),
    "Quantization": lambda: Call(nl.Quantization, dict(scale=[0.5, 0.25], zero_point=[1, 2], axis=1)),
    "Quantization.affine": lambda: Call(nl.Quantization(0.5, 1).affine, dict(axis="C", to_stored=True)),
    "Quantization.dequantize": lambda: Call(nl.Quantization(0.5, 1).dequantize, dict(q=stored())),
    "Quantization.from_dfp": lambda: Call(nl.Quantization.from_dfp, dict(fl=[3, 4], axis=1)),
    "Quantization.from_multiplier": lambda: Call(nl.Quantization.from_multiplier, dict(m=[3.0, 4.0], axis=1)),
    "Quantization.from_offset": lambda: Call(
        nl.Quantization.from_offset, dict(scale=[0.5, 0.25], offset=[1, 2], axis=1)
    ),
    "Quantization.quantize": lambda: Call(nl.Quantization(0.5, 1).quantize, dict(x=tensor(), dtype="int8")),
    "Quantization.to_dict": lambda: Call(nl.Quantization(0.5, 1).to_dict, {}),
    "Recorder": lambda: Call(
        nl.Recorder,
        dict(
            engine=npu(), folder=new("recorded"), input_specs=[nl.TensorSpec(SHAPE, name="x")],
            preprocess={"mean": 0}, model=model_file(), note="lab", versions={"driver": "1"},
        ),
    ),
    "Recorder.close": lambda: Call(recorder().close, {}),
    "Recorder.infer": lambda: Call(
        recorder().infer, dict(inputs={"x": tensor()}, frame=frame(), roi_xywh=(0, 0, 2, 2))
    ),
    "Recording": lambda: Call(nl.Recording, dict(specs={"y": SPEC}, frames=[run()], meta={"note": "lab"})),
    "Recording.load": lambda: Call(nl.Recording.load, dict(path=on_disk())),
    "Recording.save": lambda: Call(recording().save, dict(path=new("recorded"))),
    "Report": lambda: Call(
        nl.Report,
        {name: getattr(report(), name) for name in ("outputs", "frames", "model", "note", "meta", "inputs")},
    ),
    "Report.failures": lambda: Call(report().failures, {}),
    "Report.to_dict": lambda: Call(report().to_dict, {}),
    "Report.to_html": lambda: Call(report().to_html, dict(path=new("page.html"))),
    "Report.to_json": lambda: Call(report().to_json, dict(path=new("report.json"))),
    "Reports": lambda: Call(nl.Reports, dict(results={"lab": report()})),
    "Reports.to_dict": lambda: Call(nl.Reports({"lab": report()}).to_dict, {}),
    "Reports.to_json": lambda: Call(nl.Reports({"lab": report()}).to_json, dict(path=new("reports.json"))),
    "Engine": lambda: Call(object, {}),
    "Engine.close": lambda: Call(own_engine().close, {}),
    "Engine.infer": lambda: Call(own_engine().infer, dict(inputs={"x": tensor()}, out=None)),
    "OnnxRuntimeEngine.close": lambda: Call(own_engine().close, {}),
    "SimulatedNpu.close": lambda: Call(nl.SimulatedNpu(own_engine(), [SPEC]).close, {}),
    "open_engine": lambda: Call(nl.open_engine, {"name": f"onnx:{model_file()}"}),
    "SimulatedNpu": lambda: Call(
        nl.SimulatedNpu, dict(model=model(), outputs=[SPEC], inputs=[nl.TensorSpec(SHAPE)], threads=1)
    ),
    "SimulatedNpu.infer": lambda: Call(npu().infer, dict(inputs={"x": tensor()}, out=None)),
    "Tensor": lambda: Call(nl.Tensor, dict(x=tensor(), layout="NHWC")),
    "Tensor.of": lambda: Call(nl.Tensor.of, dict(array=tensor(), layout=nl.Layout("NCHW"))),
    "TensorSpec": lambda: Call(
        nl.TensorSpec,
        dict(
            shape=(1, 2, 3, 4), layout="NHWC", dtype="int8", axes="NHWC", quantization=nl.Quantization(0.5),
            storage_shape=(1, 2, 4, 4), storage_strides=(40, 16, 4, 1), storage_offset=2, size=50, name="y",
        ),
    ),
    "TensorSpec.describe": lambda: Call(SPEC.describe, {}),
    "TensorSpec.flat": lambda: Call(SPEC.flat, dict(buffer=stored())),
    "TensorSpec.from_dict": lambda: Call(nl.TensorSpec.from_dict, dict(d=SPEC.to_dict())),
    "TensorSpec.of_storage": lambda: Call(
        nl.TensorSpec.of_storage,
        dict(
            stored=(1, 2, 4, 4), layout="NHWC", dtype="int8", shape=(1, 2, 3, 4), axes="NHWC",
            quantization=nl.Quantization(0.5), storage_strides=(40, 16, 4, 1), storage_offset=2, size=50, name="y",
        ),
    ),
    "TensorSpec.offset": lambda: Call(SPEC.offset, {"*index": (0, 1, 1, 1)}),
    "TensorSpec.pack": lambda: Call(SPEC.pack, dict(tensor=tensor(), out=np.empty(SPEC.size, np.int8))),
    "TensorSpec.replace": lambda: Call(SPEC.replace, {}),
    "TensorSpec.to_dict": lambda: Call(SPEC.to_dict, {}),
    "TensorSpec.unpack": lambda: Call(
        SPEC.unpack,
        dict(flat=stored(), to="NHWC", dtype="float32", out=np.empty((1, 2, 3, 4), np.float32), copy=True),
    ),
    "TensorSpec.view": lambda: Call(nl.TensorSpec((1, 2, 3, 4), "NHWC", "int8").view, dict(flat=bytes(24))),
    "TensorSpec.pack@int4": lambda: Call(
        NIBBLES.pack, dict(tensor=np.ones(SHAPE, np.int8), out=np.zeros(12, np.uint8))
    ),
    "TensorSpec.unpack@int4": lambda: Call(NIBBLES.unpack, dict(flat=bytes(12), out=np.empty(SHAPE, np.int8))),
    "asformat": lambda: Call(nl.asformat, dict(x=tensor(), layout="NHWC", copy=True)),
    "clone": lambda: Call(nl.clone, dict(x=tensor(), layout="NHWC")),
    **decode_calls(),
    **stream_calls(),
    "testing.check_engine": lambda: Call(testing.check_engine, dict(make=own_engine, inputs={"x": tensor()})),
    "empty": lambda: Call(nl.empty, dict(shape=SHAPE, dtype="int8", layout="NHWC")),
    "empty_like": lambda: Call(nl.empty_like, dict(x=tensor(), dtype="int8", layout="NHWC")),
    "explain": lambda: Call(
        nl.explain,
        dict(
            layout="NHWC", shape=(1, 3, 4, 5), dtype="int8", axes="NCHW", at=(0, 0, 0, 0), window=(2, 2), gray=True,
            compare=["NCHW"], part=(1, 3, 2, 2), cache_line=64,
        ),
    ),
    "explain@spec": lambda: Call(nl.explain, dict(layout=SPEC, at=(0, 1, 0, 0), compare="NHWC")),
    "find_recordings": lambda: Call(nl.find_recordings, dict(paths=[on_disk()])),
    "fitting_formats": lambda: Call(nl.fitting_formats, dict(x=tensor(), axes="NCHW")),
    "identify": lambda: Call(nl.identify, dict(flat=SPEC.pack(tensor()), reference=tensor(), axes="NCHW")),
    "is_contiguous": lambda: Call(nl.is_contiguous, dict(x=tensor(), layout="NHWC")),
    "memory_format": lambda: Call(nl.memory_format, dict(x=tensor(), axes="NCHW")),
    "plan": lambda: Call(nl.plan, dict(source=SPEC, target=TARGET)),
    "repack": lambda: Call(
        nl.repack,
        dict(x=tensor(), src="NCHW", dst="NHWC4c", shape=SHAPE, out=np.empty((1, 2, 3, 1, 4), np.float32)),
    ),
    "set_num_threads": lambda: Call(nl.set_num_threads, dict(n=kernels.get_num_threads())),
    "strides": lambda: Call(nl.strides, dict(shape=SHAPE, layout="NHWC")),
    "to_gray": lambda: Call(
        nl.to_gray, dict(image=frame(), layout="HWC", order="RGB", to="HWC", out=np.empty((6, 8, 1), np.uint8))
    ),
    "track_layout": lambda: Call(nl.track_layout, {}),
    "validate": lambda: Call(
        nl.validate,
        dict(
            recording=recording(), model=engine(), min_snr_db=1, min_cosine=0.1, max_abs=9, max_steps={"y": 9},
            progress=False,
        ),
    ),
    "validate_many": lambda: Call(
        nl.validate_many,
        dict(
            paths=[on_disk()], model=model(), executor=None, workers=None, pictures=False, min_snr_db=1,
            min_cosine=0.1, max_abs=9, max_steps={"y": 9}, progress=False,
        ),
    ),
    "why_copy": lambda: Call(nl.why_copy, dict(x=tensor(), shape=(4, 6))),
    "exchange.CalibrationReader": lambda: Call(exchange.CalibrationReader, dict(samples=calibration_set())),
    "exchange.CalibrationReader.get_next": lambda: Call(calibration_set().reader().get_next, {}),
    "exchange.CalibrationReader.rewind": lambda: Call(calibration_set().reader().rewind, {}),
    "exchange.CalibrationSet": lambda: Call(
        exchange.CalibrationSet, dict(frames=[frame()], preprocess=calibration_set().preprocess, name="image")
    ),
    "exchange.CalibrationSet.reader": lambda: Call(calibration_set().reader, {}),
    "exchange.CalibrationSet.samples": lambda: Call(calibration_set().samples, {}),
    "exchange.CalibrationSet.save": lambda: Call(
        calibration_set().save, dict(folder=new("calibration"), toolchain="rknn")
    ),
    "exchange.Toolchain": lambda: Call(exchange.Toolchain, exchange.TOOLCHAINS["rknn"]._asdict()),
    "exchange.ComparedLayer": lambda: Call(exchange.ComparedLayer, compared().layers[0]._asdict()),
    "exchange.ComparedLayer.to_dict": lambda: Call(compared().layers[0].to_dict, {}),
    "exchange.Form": lambda: Call(exchange.Form, exchange.FORMS["raw"]._asdict()),
    "exchange.LayerComparison": lambda: Call(exchange.LayerComparison, vars(compared())),
    "exchange.LayerComparison.to_dict": lambda: Call(compared().to_dict, {}),
    "exchange.compare_layers": lambda: Call(
        exchange.compare_layers, dict(a=layers(), b=layers(), model=model_file(), min_snr_db=20.0, frame=0)
    ),
    "exchange.load": lambda: Call(exchange.load, dict(path=dumps(), form="raw")),
    "exchange.load@onnx": lambda: Call(exchange.load, dict(path=dumps("onnx"), form="onnx", model=model_file())),
    "exchange.load@polygraphy": lambda: Call(exchange.load, dict(path=dumps("polygraphy"))),
    "exchange.load@rknn": lambda: Call(exchange.load, dict(path=str(SNAPSHOT), outputs=["heat/out:0"])),
    "exchange.save": lambda: Call(exchange.save, dict(recording=recording(), path=new("dumps"), form="raw")),
    "exchange.save@onnx": lambda: Call(
        exchange.save, dict(recording=recording(), path=new("dumps"), form="onnx", model=engine())
    ),
    "exchange.save@polygraphy": lambda: Call(
        exchange.save, dict(recording=recording(), path=new("dumps"), form="polygraphy", model=engine())
    ),
    "kernels.active": lambda: Call(kernels.active, {}),
    "kernels.argmax": lambda: Call(
        kernels.argmax, dict(x=image(), out=np.empty((1, 3, 4), np.int64), channels=5, dtype="uint8")
    ),
    "kernels.backends": lambda: Call(kernels.backends, {}),
    "kernels.get_num_threads": lambda: Call(kernels.get_num_threads, {}),
    "kernels.peaks": lambda: Call(
        kernels.peaks, dict(x=image(), threshold=3, radius=1, channels=3, dtype="uint8", backend="numpy")
    ),
    "kernels.set_num_threads": lambda: Call(kernels.set_num_threads, dict(n=kernels.get_num_threads())),
    "kernels.sigmoid": lambda: Call(
        kernels.sigmoid,
        dict(
            x=image(),
            out=np.empty((1, 3, 4, 5), np.float32),
            dtype="uint8",
            scale=2,
            zero_point=1,
            positions=3,
            channels=5,
        ),
    ),
    "kernels.softmax": lambda: Call(
        kernels.softmax,
        dict(
            x=image(), out=np.empty((1, 3, 4, 5), np.float32), positions=3, channels=5, dtype="uint8", scale=2,
            zero_point=1,
        ),
    ),
    "kernels.top_k": lambda: Call(
        kernels.top_k,
        dict(
            x=image(), values=np.empty((1, 3, 4, 2), np.uint8), numbers=np.empty((1, 3, 4, 2), np.int64), channels=5,
            dtype="uint8",
        ),
    ),
    "kernels.tops": lambda: Call(
        kernels.tops,
        dict(x=image(), rows=np.zeros((1, 4), np.int64), out=np.empty((1, 5)), refine="quarter"),
    ),
    "ops.above": lambda: Call(ops.above, dict(x=image(), threshold=2, buffer=None, quantization=(0.5, 1))),
    "ops.max_channels": lambda: Call(ops.max_channels, dict(x=image(), buffer=None, quantization=(0.5, 1))),
    "ops.argmax_channels": lambda: Call(
        ops.argmax_channels, dict(x=image(), buffer=None, quantization=(0.5, 1), out=np.empty((1, 1, 4, 5), np.int64))
    ),
    "ops.concat_channels": lambda: Call(
        ops.concat_channels, dict(xs=[image(), image()], out=np.empty((1, 6, 4, 5), np.uint8))
    ),
    "ops.crop": lambda: Call(ops.crop, dict(x=image(), xywh=(0, 0, 2, 2), out=np.empty((1, 3, 2, 2), np.uint8))),
    "ops.dequantize": lambda: Call(
        ops.dequantize, dict(x=image(), quantization=(0.5, 1), out=np.empty((1, 3, 4, 5), np.float32))
    ),
    "ops.flip": lambda: Call(ops.flip, dict(x=image(), out=np.empty((1, 3, 4, 5), np.uint8))),
    "ops.normalize": lambda: Call(
        ops.normalize, dict(x=image(), mean=(1, 2, 3), std=2, out=np.empty((1, 3, 4, 5), np.float32))
    ),
    "ops.pad": lambda: Call(
        ops.pad, dict(x=image(), pad_ltrb=(1, 1, 1, 1), value=7, out=np.empty((1, 3, 6, 7), np.uint8))
    ),
    "ops.peaks": lambda: Call(
        ops.peaks,
        dict(
            x=image(), threshold=2, radius=1, buffer=None, refine="quarter", quantization=(0.5, 1),
            out=np.empty((3, 5)),
        ),
    ),
    "ops.quantize": lambda: Call(
        ops.quantize,
        dict(x=image("float32"), quantization=(0.5, 1), dtype="int8", out=np.empty((1, 3, 4, 5), np.int8)),
    ),
    "ops.resize": lambda: Call(
        ops.resize, dict(x=image(), size_wh=(3, 2), interpolation="cubic", out=np.empty((1, 3, 2, 3), np.uint8))
    ),
    "ops.result_layout": lambda: Call(ops.result_layout, {"*inputs": (image(), image())}),
    "ops.sigmoid": lambda: Call(
        ops.sigmoid, dict(x=image(), buffer=None, quantization=(0.5, 1), out=np.empty((1, 3, 4, 5), np.float32))
    ),
    "ops.softmax_channels": lambda: Call(
        ops.softmax_channels,
        dict(x=image(), buffer=None, quantization=(0.5, 1), out=np.empty((1, 3, 4, 5), np.float32)),
    ),
    "ops.split_channels": lambda: Call(
        ops.split_channels,
        dict(x=image(), sizes=(1, 2), out=[np.empty((1, n, 4, 5), np.uint8) for n in (1, 2)]),
    ),
    "ops.table": lambda: Call(ops.table, dict(formats=("NCHW",), dtype="uint8")),
    "ops.to_gray": lambda: Call(ops.to_gray, dict(x=image(), order="RGB", out=np.empty((1, 1, 4, 5), np.uint8))),
    "ops.top_k": lambda: Call(
        ops.top_k,
        dict(
            x=image(), k=2, buffer=None, quantization=(0.5, 1),
            out=(np.empty((1, 2, 4, 5), np.float32), np.empty((1, 2, 4, 5), np.int64)),
        ),
    ),
    "pytest_plugin.Recordings": lambda: Call(
        pytest_plugin.Recordings,
        dict(config=fixture()._config, test=Path("test_it.py"), recorded={}, engines={}, started=None),
    ),
    "pytest_plugin.Recordings.__call__": lambda: Call(
        fixture().__call__, dict(name="saved", inputs=None, engine=None)
    ),
    "pytest_plugin.assert_matches": lambda: Call(
        pytest_plugin.assert_matches,
        dict(recording=recording(), model=engine(), min_snr_db=1, min_cosine=0.1, max_abs=9, max_steps={"y": 9}),
    ),
    **{f"specs.from_{name}": metadata_call(name) for name in EXAMPLES},
}  # fmt: skip
