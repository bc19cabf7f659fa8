"""Decoders against other libraries' own functions, those of torchvision, ultralytics and others that are installed.

`pip install 'npu-layout[test-oracles]'` brings them. They are called, and nothing of them is in this project.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode, kernels
from npu_layout.decode.results.turned import corners_of, polygon_iou
from tests.decode.results.test_suppression import boxes_of
from tests.support import runtime_models
from tests.support.paths import ROOT

SIZE, STRIDES, CLASSES = (96, 128), (8, 16, 32), 5


@pytest.mark.parametrize("backend", kernels.backends())
def test_nms_of_torchvision(backend: str, activate: Callable[[str], None]) -> None:
    """Order and ties too, of boxes in float32 and thresholds that are IoUs of whole numbers."""
    pytest.importorskip("torchvision")
    import torch
    from torchvision.ops import nms

    activate(backend)
    rng = np.random.default_rng(0)
    for i in range(200):
        n = int(rng.choice([0, 1, 5, 60, 300]))
        boxes = boxes_of(rng, n, ("float", "whole", "one size")[i % 3])
        scores = rng.permutation(np.linspace(0, 1, n, dtype=np.float32))
        for iou in (0.0, 0.25, 0.45, 0.5):
            theirs = nms(torch.from_numpy(boxes), torch.from_numpy(scores), iou).numpy()
            assert np.array_equal(decode.nms(boxes, scores, iou=iou), theirs), (i, iou)


@pytest.mark.parametrize("classes", [1, 7])
def test_ties_and_classes_of_torchvision(classes: int, activate: Callable[[str], None]) -> None:
    """Scores of 8 bits, which tie all the time, on sets of up to 3,000 boxes."""
    pytest.importorskip("torchvision")
    import torch
    from torchvision.ops.boxes import _batched_nms_vanilla

    activate(kernels.backends()[-1])
    rng = np.random.default_rng(classes)
    for i in range(60):
        n = int(rng.choice([1, 7, 80, 600, 3000], p=[0.2, 0.2, 0.3, 0.25, 0.05]))
        boxes, codes = boxes_of(rng, n, ("float", "whole", "one size")[i % 3]), rng.integers(0, 256, n)
        scores, labels = (codes / np.float32(255)).astype(np.float32), rng.integers(0, classes, n)
        given = [torch.from_numpy(array) for array in (boxes, scores, labels)]
        for iou in (0.25, 0.45, 0.5):
            theirs = _batched_nms_vanilla(*given, iou).numpy()
            ours = decode.nms(boxes, scores, iou=iou, class_id=labels)
            assert np.array_equal(np.sort(ours), np.sort(theirs)), (i, iou)
            assert np.array_equal(scores[ours], scores[theirs]), (
                i,
                iou,
            )  # its order of equal scores across classes varies
            for label in range(classes):
                assert np.array_equal(ours[labels[ours] == label], _of(labels, label, boxes, scores, iou)), (i, iou)


def _of(labels: np.ndarray, label: int, boxes: np.ndarray, scores: np.ndarray, iou: float) -> np.ndarray:
    import torch
    from torchvision.ops import nms

    rows = np.flatnonzero(labels == label)
    return rows[nms(torch.from_numpy(boxes[rows]), torch.from_numpy(scores[rows]), iou).numpy()]


@pytest.mark.slow
def test_a_thousand_sets_of_three_thousand_boxes(activate: Callable[[str], None]) -> None:
    pytest.importorskip("torchvision")
    import torch
    from torchvision.ops import nms

    activate(kernels.backends()[-1])
    rng = np.random.default_rng(5)
    for i in range(1000):
        boxes = boxes_of(rng, 3000, ("float", "whole", "one size")[i % 3])
        scores = (rng.integers(0, 256, 3000) / np.float32(255)).astype(np.float32)
        theirs = nms(torch.from_numpy(boxes), torch.from_numpy(scores), 0.45).numpy()
        assert np.array_equal(decode.nms(boxes, scores, iou=0.45), theirs), i


def outputs(rng: np.random.Generator, **parts: int) -> tuple[list[nl.TensorSpec], list[np.ndarray]]:
    """Return maps for each stride, in storage orders that differ."""
    specs, tensors = [], []
    for s, layout in zip(STRIDES, ("NCHW16c", "NHWC", "NCHW")):
        for name, n in parts.items():
            shape = (1, n, SIZE[0] // s, SIZE[1] // s)
            specs.append(nl.TensorSpec(shape, layout, name=f"{name}{s}"))
            tensors.append(rng.normal(0, 2, shape).astype(np.float32))
    return specs, tensors


def decoded(tensors: list[np.ndarray], parts: int) -> Any:
    """Return ultralytics' list (1, 4 + classes, cells): boxes by its DFL, its anchors and its distances, and scores."""
    import torch
    from ultralytics.nn.modules.block import DFL
    from ultralytics.utils.tal import dist2bbox, make_anchors

    levels = [torch.from_numpy(np.concatenate(tensors[k : k + parts], 1)) for k in range(0, len(tensors), parts)]
    anchors, strides = (x.transpose(0, 1) for x in make_anchors(levels, torch.tensor(STRIDES), 0.5))
    whole = torch.cat([level.reshape(1, level.shape[1], -1) for level in levels], 2)
    sides = DFL(16)(whole[:, :64])
    boxes = dist2bbox(sides, anchors.unsqueeze(0), xywh=True, dim=1) * strides
    return torch.cat([boxes, whole[:, 64 : 64 + CLASSES].sigmoid(), whole[:, 64 + CLASSES :]], 1)


def test_yolov8_of_ultralytics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes, scores and classes after its own non_max_suppression, whose IoU is of boxes moved apart by class."""
    monkeypatch.setenv("YOLO_OFFLINE", "1")
    pytest.importorskip("ultralytics")
    import torch
    from ultralytics.utils.nms import non_max_suppression

    for seed in range(12):
        specs, tensors = outputs(np.random.default_rng(seed), box=64, score=CLASSES)
        with torch.no_grad():
            whole = decoded(tensors, 2)
            (theirs,) = non_max_suppression(whole.clone(), 0.6, 0.5, max_det=300, nc=CLASSES)
        decoder = decode.Decoder(decode.yolov8(CLASSES, activation="sigmoid"), specs, SIZE)
        found = decoder([spec.pack(tensor) for spec, tensor in zip(specs, tensors)], 0.6, 0.5)
        assert 5 < len(found) == len(theirs)
        reference = decode.Detections(
            theirs[:, :4].numpy(),
            theirs[:, 4].numpy(),
            theirs[:, 5].numpy().astype(np.int64),
            *np.zeros((3, len(theirs)), np.int64),
        )
        compared = decode.same(found, reference)
        assert not compared.missing and not compared.extra and not compared.relabelled, str(compared)
        np.testing.assert_allclose(found.xyxy, reference.xyxy, atol=2e-3)
        np.testing.assert_allclose(found.confidence, reference.confidence, atol=1e-6)


def test_masks_of_ultralytics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process_mask enlarges logits and cuts boxes out: the rule "logits"."""
    monkeypatch.setenv("YOLO_OFFLINE", "1")
    pytest.importorskip("ultralytics")
    import torch
    from ultralytics.utils.ops import process_mask

    rng = np.random.default_rng(1)
    h, w = SIZE[0] // 4, SIZE[1] // 4
    prototypes = rng.normal(0, 1, (1, 8, h, w)).astype(np.float32)
    coefficients = rng.normal(0, 1, (6, 8)).astype(np.float32)
    corner = rng.integers(0, 40, (6, 2))
    boxes = np.concatenate([corner, corner + rng.integers(8, 50, (6, 2))], 1).astype(np.float32)
    spec = nl.TensorSpec(prototypes.shape, "NCHW16c")
    ours = decode.masks(spec, spec.pack(prototypes), coefficients, boxes, SIZE).dense()
    args = (torch.from_numpy(a) for a in (prototypes[0], coefficients, boxes))
    theirs = process_mask(*args, SIZE, upsample=True).numpy().astype(bool)
    assert theirs.any() and (ours != theirs).mean() < 1e-4  # logits that rounding brings to the other side of 0


def test_turned_boxes_have_shapelys_areas() -> None:
    """Corners in order around the box: their polygon is valid, and has the box's area and its overlaps."""
    shapely = pytest.importorskip("shapely")
    rng = np.random.default_rng(2)
    n = 40
    boxes = np.column_stack([rng.uniform(20, 80, (n, 2)), rng.uniform(4, 40, (n, 2)), rng.uniform(-3, 3, n)])
    xywha = boxes.astype(np.float32)
    found = decode.Detections(np.zeros((n, 4), np.float32), *np.zeros((5, n)), xywha=xywha)  # type: ignore[arg-type]
    assert found.xyxyxyxy is not None
    assert np.array_equal(found.xyxyxyxy, decode.OrientedDetections(xywha, *np.zeros((4, n))).corners)
    polygons = [shapely.Polygon(corners) for corners in found.xyxyxyxy.astype(np.float64)]
    for box, polygon in zip(boxes, polygons):
        assert polygon.is_valid and polygon.area == pytest.approx(box[2] * box[3], rel=1e-4)
        assert np.allclose([polygon.centroid.x, polygon.centroid.y], box[:2], atol=1e-3)
        turned = shapely.affinity.rotate(shapely.box(*-box[2:4] / 2, *box[2:4] / 2), box[4], (0, 0), use_radians=True)
        moved = shapely.affinity.translate(turned, *box[:2])
        assert moved.symmetric_difference(polygon).area < 1e-2
    exact = [shapely.Polygon(corners) for corners in corners_of(boxes)]
    for box, polygon in zip(boxes, exact):
        ious = [polygon.intersection(other).area / polygon.union(other).area for other in exact]
        np.testing.assert_allclose(polygon_iou(box, boxes), ious, atol=1e-9)


def test_regions_of_text_are_enlarged_as_shapely_does() -> None:
    """The offset polygon of DBNet's paper, by area times ratio over length: of sharp corners it is our rectangle."""
    shapely = pytest.importorskip("shapely")
    rng, seen = np.random.default_rng(9), 0
    for _ in range(20):
        heat = np.zeros((120, 160), np.float32)
        for _ in range(4):
            middle, size = rng.uniform(20, 100, 2), rng.uniform(6, 30, 2)
            box = shapely.affinity.rotate(shapely.box(*-size / 2, *size / 2), rng.uniform(0, 180), (0, 0))
            shape = shapely.affinity.translate(box, *middle)
            y, x = np.mgrid[:120, :160]
            heat[shapely.contains_xy(shape, x.ravel(), y.ravel()).reshape(heat.shape)] = rng.uniform(0.7, 1)
        spec = nl.TensorSpec((1, 1, *heat.shape))
        inner, outer = (decode.dbnet(spec, heat.ravel(), unclip=ratio) for ratio in (0.0, 1.7))
        away = [[np.abs(a.mean(0) - b.mean(0)).max() for b in inner.corners] for a in outer.corners]
        for corners, near in zip(
            outer.corners.astype(float), away
        ):  # small ones are some after they are enlarged alone
            if min(near, default=1) > 1e-3:
                continue
            least = shapely.Polygon(inner.corners[int(np.argmin(near))].astype(float))
            by = least.area * 1.7 / least.length
            wide, ours = least.buffer(by, join_style="mitre"), shapely.Polygon(corners)
            assert ours.is_valid and ours.symmetric_difference(wide).area < 1e-3 * wide.area
            round_ = least.buffer(by, quad_segs=64)  # PaddleOCR's, whose rectangle is ours too
            assert round_.minimum_rotated_rectangle.area == pytest.approx(ours.area, rel=0.01)
            seen += 1
    assert seen > 30


def test_yolov8_obb_of_ultralytics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes by its DFL and dist2rbox, as maps and as its list; suppression by its ProbIoU; corners for supervision."""
    monkeypatch.setenv("YOLO_OFFLINE", "1")
    pytest.importorskip("ultralytics")
    import torch
    from ultralytics.nn.modules.block import DFL
    from ultralytics.utils.metrics import batch_probiou
    from ultralytics.utils.ops import xywhr2xyxyxyxy
    from ultralytics.utils.tal import dist2rbox, make_anchors

    for seed in range(8):
        specs, tensors = outputs(np.random.default_rng(seed), box=64, score=CLASSES, angle=1)
        with torch.no_grad():
            levels = [torch.from_numpy(np.concatenate(tensors[k : k + 3], 1)) for k in range(0, len(tensors), 3)]
            anchors, strides = (x.transpose(0, 1) for x in make_anchors(levels, torch.tensor(STRIDES), 0.5))
            flat = torch.cat([level.reshape(1, level.shape[1], -1) for level in levels], 2)
            angle = (flat[:, -1:].sigmoid() - 0.25) * np.pi
            boxes = dist2rbox(DFL(16)(flat[:, :64]), angle, anchors.unsqueeze(0), dim=1) * strides
            whole = torch.cat([boxes, flat[:, 64:-1].sigmoid(), angle], 1)
        scores, labels = whole[0, 4:-1].max(0)
        order = torch.argsort(scores, descending=True, stable=True)
        order = order[scores[order] >= 0.9]
        rows = torch.cat([whole[0, :4], whole[0, -1:]]).T[order]
        near = batch_probiou(rows, rows).numpy() >= 0.4
        near &= (labels[order, None] == labels[order]).numpy()
        kept: list[int] = []
        for i in range(len(rows)):
            if not near[i, kept].any():
                kept.append(i)
        assert 5 < len(kept) < len(rows)
        head = decode.yolov8_obb(CLASSES, activation="sigmoid", angle_activation="sigmoid")
        found = decode.Decoder(head, specs, SIZE)([s.pack(t) for s, t in zip(specs, tensors)], 0.9, 0.4)
        listed = nl.TensorSpec(tuple(whole.shape), "NCW", name="out")
        again = decode.Decoder(decode.yolov8_obb(CLASSES), [listed], SIZE)(whole.numpy().reshape(-1), 0.9, 0.4)
        for one in (found, again):
            assert one.xywha is not None and one.class_id.tolist() == labels[order][kept].tolist()
            np.testing.assert_allclose(one.confidence, scores[order][kept].numpy(), atol=1e-6)
            np.testing.assert_allclose(one.xywha, rows[kept].numpy(), atol=2e-3)
            corners = xywhr2xyxyxyxy(rows[kept]).numpy()
            apart = np.abs(one.xyxyxyxy[:, :, None] - corners[:, None]).max(-1)  # type: ignore[index]
            assert (apart.min(2) < 5e-3).all() and (apart.min(1) < 5e-3).all()
        assert decode.same(found, again, pixels=0.01, shift=0.0, score=1e-5)


def test_turned_boxes_of_supervision() -> None:
    supervision = pytest.importorskip("supervision")
    specs, tensors = outputs(np.random.default_rng(0), box=64, score=CLASSES, angle=1)
    head = decode.yolov8_obb(CLASSES, activation="sigmoid", angle_activation="sigmoid")
    found = decode.Decoder(head, specs, SIZE)([spec.pack(tensor) for spec, tensor in zip(specs, tensors)], 0.9, 0.4)
    theirs = supervision.Detections(**found.fields())
    assert len(theirs) == len(found) > 5 and np.array_equal(theirs.data["xyxyxyxy"], found.xyxyxyxy)
    assert supervision.OrientedBoxAnnotator().annotate(np.zeros((*SIZE, 3), np.uint8), theirs).any()


def test_detr_of_transformers() -> None:
    """DetrImageProcessor's own post-processing, which has no suppression."""
    processing = pytest.importorskip("transformers.models.detr.image_processing_detr", reason="no transformers")
    import torch

    rng, processor = np.random.default_rng(1), processing.DetrImageProcessor()
    for queries, classes in ((100, 91), (50, 3), (300, 5)):
        logits = rng.normal(0, 3, (1, queries, classes + 1)).astype(np.float32)
        boxes = rng.random((1, queries, 4)).astype(np.float32)
        given = SimpleNamespace(logits=torch.from_numpy(logits), pred_boxes=torch.from_numpy(boxes))
        (theirs,) = processor.post_process_object_detection(given, threshold=0.3, target_sizes=[SIZE])
        specs = [nl.TensorSpec(a.shape, "NCW", name=n) for n, a in (("logits", logits), ("pred_boxes", boxes))]
        found = decode.Decoder(decode.detr(classes), specs, SIZE)([logits.ravel(), boxes.ravel()], 0.3)
        order = np.argsort(-theirs["scores"].numpy(), kind="stable")
        assert len(found) == len(order) > 20
        np.testing.assert_allclose(found.confidence, theirs["scores"].numpy()[order], rtol=1e-6)
        np.testing.assert_allclose(found.xyxy, theirs["boxes"].numpy()[order], atol=1e-4)
        assert np.array_equal(found.class_id, theirs["labels"].numpy()[order])


@pytest.mark.parametrize(
    ("size", "scale", "aspects"),
    [
        ((512, 512), 4.0, [(1.0, 1.0), (1.4, 0.7), (0.7, 1.4)]),
        ((320, 320), 3.0, [(1.0, 1.0), (1.4, 0.7), (0.7, 1.4)]),  # 3 cells of 106.7 pixels
        ((640, 512), 4.0, [1.0, 2.0, 0.5]),
    ],
)
def test_anchors_of_effdet(size: tuple[int, int], scale: float, aspects: list[Any]) -> None:
    """Its anchors, and boxes that it decodes from them."""
    effdet = pytest.importorskip("effdet.anchors", reason="no effdet")
    import torch

    anchors, rng = effdet.Anchors(3, 7, 3, aspects, scale, size).boxes, np.random.default_rng(0)
    offsets = rng.normal(0, 0.5, (1, len(anchors), 4)).astype(np.float32)
    scores = rng.normal(0, 2, (1, len(anchors), 3)).astype(np.float32)
    pairs = [pair if isinstance(pair, tuple) else (pair**0.5, pair**-0.5) for pair in aspects]
    head = decode.efficientdet(3, size, size=scale, aspects=pairs)
    specs = [nl.TensorSpec(a.shape, "NCW", name=n) for n, a in (("box", offsets), ("cls", scores))]
    found = decode.Decoder(head, specs, size)([offsets.ravel(), scores.ravel()], 0.97, 1.0, 30000)
    boxes = effdet.decode_box_outputs(torch.from_numpy(offsets[0]), anchors, output_xyxy=True).numpy()
    best = (1 / (1 + np.exp(-scores[0].max(1).astype(np.float64)))).astype(np.float32)
    rows = np.flatnonzero(best >= 0.97)
    rows = rows[np.argsort(-best[rows], kind="stable")]
    assert len(found) == len(rows) > 500
    np.testing.assert_allclose(found.xyxy, boxes[rows], atol=2e-3)


@pytest.mark.parametrize("kind", ["retinanet", "fcos"])
def test_detectors_of_torchvision(kind: str) -> None:
    """Its own heads' shapes and post-processing, whose NMS is after boxes were cut off at the image: there is none."""
    pytest.importorskip("torchvision")
    import torch
    from torchvision.models.detection import FCOS, RetinaNet
    from torchvision.models.detection.anchor_utils import AnchorGenerator
    from torchvision.models.detection.image_list import ImageList

    class Levels(torch.nn.Module):
        out_channels = 32

        def forward(self, x: Any) -> dict[str, Any]:
            pooled = {str(s): torch.nn.functional.avg_pool2d(x, s).mean(1, keepdim=True) for s in STRIDES}
            return {key: one.repeat(1, 32, 1, 1) for key, one in pooled.items()}

    torch.manual_seed(3)
    octaves = [4 * 2 ** (i / 3) for i in range(3)] if kind == "retinanet" else [1]
    sides = tuple(tuple(int(s * octave) for octave in octaves) for s in STRIDES)
    anchors = AnchorGenerator(sides, ((0.5, 1.0, 2.0) if kind == "retinanet" else (1.0,),) * len(STRIDES))
    made = RetinaNet if kind == "retinanet" else FCOS
    net = made(Levels(), CLASSES, anchor_generator=anchors, score_thresh=0.6, nms_thresh=1.0).eval()
    net.detections_per_img = net.topk_candidates = 10000
    image = torch.rand(1, 3, *SIZE)
    features = list(net.backbone(image).values())
    each, values = anchors.num_anchors_per_location()[0], {}
    for name, raw in net.head(features).items():
        distinct = torch.linspace(-4, 4, raw.numel())[torch.randperm(raw.numel())].reshape(raw.shape)
        values[name] = distinct / 4 if name == "bbox_regression" else distinct
    if kind == "fcos":
        values["bbox_regression"] = values["bbox_regression"].abs() * 2
    cells = [each * one.shape[2] * one.shape[3] for one in features]
    boxes = anchors(ImageList(image, [SIZE]), features)
    split = {name: list(one.split(cells, 1)) for name, one in values.items()}
    (theirs,) = net.postprocess_detections(split, [list(one.split(cells)) for one in boxes], [SIZE])

    if kind == "retinanet":
        given = [[(float(x1 - x0), float(y1 - y0)) for x0, y0, x1, y1 in one.numpy()] for one in anchors.cell_anchors]
        head = decode.retinanet(CLASSES, STRIDES, anchors=given, labels="all")
        arrays = {name: one.numpy() for name, one in values.items()}
    else:
        head = decode.fcos(CLASSES, STRIDES, center=0.0, labels="all")
        arrays = {
            f"{name}_{s}": part.numpy()[0].T.reshape(1, -1, SIZE[0] // s, SIZE[1] // s)
            for name, parts in split.items()
            for s, part in zip(STRIDES, parts)
        }
    specs = [nl.TensorSpec(a.shape, nl.Layout.of_rank(a.ndim), name=name) for name, a in arrays.items()]
    found = decode.Decoder(head, specs, SIZE)(
        [np.ascontiguousarray(a).ravel() for a in arrays.values()], 0.6, 1.0, 9000
    )
    assert len(found) == len(theirs["scores"]) > 50
    edges = found.xyxy.clip(0, np.array([*SIZE[::-1]] * 2))
    ours, other = (
        sorted((int(label), *map(float, box), float(score)) for label, box, score in zip(*three))
        for three in (
            (found.class_id, edges, found.confidence),
            (theirs["labels"].numpy(), theirs["boxes"].numpy(), theirs["scores"].numpy()),
        )
    )
    by_score = [sorted(rows, key=lambda row: (round(row[-1], 5), row[0], round(row[1], 1))) for rows in (ours, other)]
    np.testing.assert_allclose(*map(np.array, by_score), atol=2e-3)


@pytest.mark.parametrize("per_class", [True, False])
def test_ssd_of_litert(tmp_path: Path, per_class: bool) -> None:
    """TFLite's post-process operator on boxes, scores and priors, by class and without; then read by its own head."""
    interpreter = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    rng = np.random.default_rng(3 + per_class)
    n, limit = 150, 40
    priors = np.concatenate([rng.uniform(0.1, 0.9, (n, 2)), rng.uniform(0.05, 0.4, (n, 2))], 1)  # x, y, width, height
    path = runtime_models.tflite_postprocess(
        tmp_path / "m.tflite",
        priors[:, [1, 0, 3, 2]],
        CLASSES,
        max_detections=limit,
        max_classes_per_detection=1,
        nms_score_threshold=0.3,
        nms_iou_threshold=0.5,
        use_regular_nms=per_class,
        detections_per_class=limit,
    )
    run = interpreter.Interpreter(model_path=str(path))
    run.allocate_tensors()
    head = decode.ssd(priors.astype(np.float32), CLASSES, activation="none", labels="all" if per_class else "best")
    head = dataclasses.replace(head, suppression=decode.Suppression(per_class=per_class))
    specs = [nl.TensorSpec((1, n, 4), "NCW", name="boxes"), nl.TensorSpec((1, n, 1 + CLASSES), "NCW", name="scores")]
    decoder = decode.Decoder(head, specs, SIZE)
    for _ in range(20):
        boxes = rng.normal(0, 2, (1, n, 4)).astype(np.float32)
        scores = rng.permuted(np.linspace(0, 1, n * (1 + CLASSES), dtype=np.float32)).reshape(1, n, -1)
        for detail, value in zip(run.get_input_details(), (boxes, scores)):
            run.set_tensor(detail["index"], value)
        run.invoke()
        answers = [run.get_tensor(detail["index"]) for detail in run.get_output_details()]
        count = int(answers[3][0])
        found = decoder([boxes.ravel(), scores.ravel()], 0.3, 0.5, limit=limit)
        assert len(found) == count > 10
        edges = answers[0][0, :count][:, [1, 0, 3, 2]] * np.array([*SIZE[::-1]] * 2, np.float32)
        np.testing.assert_allclose(found.xyxy, edges, atol=1e-3)
        assert np.array_equal(found.confidence, answers[2][0, :count])
        assert np.array_equal(found.class_id, answers[1][0, :count].astype(np.int64))
        names = [f"TFLite_Detection_PostProcess{end}" for end in ("", ":1", ":2", ":3")]
        named = [nl.TensorSpec.of_storage(a.shape, "NCW"[: a.ndim], name=n) for n, a in zip(names, answers)]
        read = decode.Decoder(decode.ssd_postprocessed(CLASSES), named, SIZE)([a.ravel() for a in answers], 0.3)
        np.testing.assert_allclose(read.xyxy, found.xyxy, atol=1e-3)
        assert np.array_equal(read.class_id, found.class_id)


def test_masks_and_overlaps_of_pycocotools() -> None:
    """Its run-length codes of full frames have the crops' areas and boxes; its IoU agrees with what `same` matches."""
    coco = pytest.importorskip("pycocotools.mask")
    rng = np.random.default_rng(4)
    h, w = SIZE[0] // 4, SIZE[1] // 4
    prototypes = rng.normal(0, 1, (1, 8, h, w)).astype(np.float32)
    corner = rng.integers(0, 40, (6, 2))
    boxes = np.concatenate([corner, corner + rng.integers(8, 50, (6, 2))], 1).astype(np.float32)
    spec = nl.TensorSpec(prototypes.shape, "NHWC")
    crops = decode.masks(spec, spec.pack(prototypes), rng.normal(0, 1, (6, 8)).astype(np.float32), boxes, SIZE)
    for i, (crop, (x0, y0, x1, y1)) in enumerate(zip(crops, boxes)):
        code = coco.encode(np.asfortranarray(crops.full(i).astype(np.uint8)))
        assert coco.area(code) == crop.sum() > 0
        x, y, width, height = coco.toBbox(code)
        assert x0 <= x and y0 <= y and x + width <= x1 and y + height <= y1
    for _ in range(50):
        a = boxes_of(rng, 12, "float")
        b = (a + rng.normal(0, 3, a.shape)).astype(np.float32)
        zeros = np.zeros(12, np.int64)
        pair = [decode.Detections(x, np.full(12, 0.5, np.float32), zeros, zeros, zeros, zeros) for x in (a, b)]
        wide = [np.column_stack([x[:, :2], np.clip(x[:, 2:] - x[:, :2], 0, None)]).astype(np.float64) for x in (a, b)]
        overlaps = coco.iou(*wide, [0] * 12)
        compared = decode.same(*pair, overlap=0.6)
        assert all(overlaps[i, j] > 0.6 - 1e-6 for i, j in compared.matched)
        assert all(overlaps[i, j] < 0.6 + 1e-6 for i in compared.extra for j in compared.missing)


def test_the_samples_average_precision_is_pycocotools(monkeypatch: pytest.MonkeyPatch) -> None:
    """scripts/train_detector.py's figure of one class at one IoU, on boxes found, missed, doubled and invented."""
    pytest.importorskip("pycocotools")
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    for folder in ("scripts", "samples"):
        monkeypatch.syspath_prepend(ROOT / folder)
    from train_detector import average_precision

    rng = np.random.default_rng(6)
    for _ in range(10):
        real = [boxes_of(rng, int(rng.integers(0, 6)), "float") for _ in range(8)]
        found = []
        for boxes in real:
            rows = np.concatenate([boxes, boxes, boxes_of(rng, 2, "float")])
            rows = rows + rng.normal(0, 2, rows.shape).astype(np.float32)
            kept = rows[(rng.random(len(rows)) < 0.6) & (rows[:, 2:] > rows[:, :2]).all(1)]
            found.append(np.column_stack([kept, rng.random(len(kept))]))

        def rows_of(frames: list[np.ndarray]) -> list[dict[str, Any]]:
            each = [(image, row) for image, rows in enumerate(frames, 1) for row in rows.astype(float).tolist()]
            sides = [(row[2] - row[0], row[3] - row[1]) for _, row in each]
            return [
                {"id": n, "image_id": image, "category_id": 1, "bbox": [*row[:2], *side], "area": side[0] * side[1],
                 "iscrowd": 0, "score": row[-1]}
                for n, ((image, row), side) in enumerate(zip(each, sides), 1)
            ]  # fmt: skip

        with contextlib.redirect_stdout(io.StringIO()):
            truth = COCO()
            images = [{"id": image} for image in range(1, 9)]
            truth.dataset = {"images": images, "categories": [{"id": 1}], "annotations": rows_of(real)}
            truth.createIndex()
            judge = COCOeval(truth, truth.loadRes(rows_of(found)), "bbox")
            judge.evaluate()
            judge.accumulate()
        for k, least in ((0, 0.5), (5, 0.75)):
            theirs = float(judge.eval["precision"][k, :, 0, 0, 2].mean())
            assert average_precision(found, real, least) == pytest.approx(theirs, abs=1e-9)
