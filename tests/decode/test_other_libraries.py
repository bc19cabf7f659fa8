"""Decoders against other libraries' own functions: torchvision's, ultralytics' and shapely's, where they are installed.

`pip install 'npu-layout[test-oracles]'` brings them. They are called, and nothing of them is in this project.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode, kernels
from tests.decode.test_suppression import boxes_of

SIZE, STRIDES, CLASSES = (96, 128), (8, 16, 32), 5


@pytest.mark.parametrize("backend", kernels.backends())
def test_nms_of_torchvision(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Order and ties too, of boxes in float32 and thresholds on which IoUs of whole numbers lie."""
    pytest.importorskip("torchvision")
    import torch
    from torchvision.ops import nms

    monkeypatch.setattr(kernels, "_ACTIVE", backend)
    rng = np.random.default_rng(0)
    for i in range(200):
        n = int(rng.choice([0, 1, 5, 60, 300]))
        boxes = boxes_of(rng, n, ("float", "whole", "one size")[i % 3])
        scores = rng.permutation(np.linspace(0, 1, n, dtype=np.float32))  # torchvision's sort is not stable
        for iou in (0.0, 0.25, 0.45, 0.5):
            theirs = nms(torch.from_numpy(boxes), torch.from_numpy(scores), iou).numpy()
            assert np.array_equal(decode.nms(boxes, scores, iou=iou), theirs), (i, iou)


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
    found = decode.OrientedDetections(boxes.astype(np.float32), *np.zeros((4, n)))
    polygons = [shapely.Polygon(corners) for corners in found.corners.astype(np.float64)]
    for box, polygon in zip(boxes, polygons):
        assert polygon.is_valid and polygon.area == pytest.approx(box[2] * box[3], rel=1e-4)
        assert np.allclose([polygon.centroid.x, polygon.centroid.y], box[:2], atol=1e-3)
        turned = shapely.affinity.rotate(shapely.box(*-box[2:4] / 2, *box[2:4] / 2), box[4], (0, 0), use_radians=True)
        moved = shapely.affinity.translate(turned, *box[:2])
        assert moved.symmetric_difference(polygon).area < 1e-2
