"""Make the heads of DETR and its successors: a query is a detection or the background, and none suppresses another."""

from __future__ import annotations

from dataclasses import replace

from ...support import checked_call, one_of
from ..heads.form import ACTIVATIONS, UNITS, Boxes, Form, Part
from ..heads.head import Head
from ..heads.rules import Suppression
from .networks import sizes

_BOX, _SCORE = Part("box", 4, hint="box"), Part("score", 1, hint="logit|score|class")


@checked_call
def rtdetr(
    classes: int = 80, *, activation: str = "sigmoid", labels: str = "all", unit: str = "input", name: str = "rtdetr"
) -> Head:
    """Return the head of RT-DETR, and of its successors with the same outputs: RT-DETRv2, D-FINE, DEIM, RF-DETR.

    Outputs are scores (1, queries, classes) and boxes (1, queries, 4), centre and size, the whole input being 1, or one
    output (1, queries, 4 + classes) of both; or, behind the network's own post-processing, boxes (1, queries, 4),
    edges, with scores and labels (1, queries), which their names distinguish. `limit` is the post-processing's
    num_top_queries (lyuwenyu/RT-DETR, rtdetr_pytorch/src/zoo/rtdetr/rtdetr_postprocessor.py).

    Parameters
    ----------
    classes
        Their number; 91 of RF-DETR, which numbers COCO's categories themselves.
    activation
        What the decoder applies to scores: "sigmoid", or "none" (ultralytics' export).
    labels
        "all" classes of each query that pass, as the networks' own post-processing; "best": one (ultralytics).
    unit
        Of boxes behind a query: "input", or "pixel" if the graph multiplies them. Edges behind post-processing are
        pixels of the size that the graph got.
    name
        Of the head.

    Raises NpuLayoutError on anything else.

    >>> rtdetr(3).suppression.kind
    'none'
    """
    classes, _ = sizes(classes, (1,))
    known = one_of("activation", activation, ACTIVATIONS[:2])
    score = replace(_SCORE, count=classes, activation=known)
    boxes = Boxes("xywh", unit=one_of("unit", unit, UNITS[1:]))
    rows = (Part("box", 4), Part("label", 1, hint="label|class"), Part("score", 1, hint="score"))
    forms = (
        Form("queries", (_BOX, score), boxes, "rows"),
        Form("rows", rows, Boxes("xyxy", unit="pixel"), "rows"),
    )
    return Head(name, classes, (1,), forms, labels=labels, suppression=Suppression("none"))


@checked_call
def detr(classes: int = 91, *, activation: str = "softmax", name: str = "detr") -> Head:
    """Return the head of DETR, and of YOLOS: each query has one class, or none, which is the last score.

    Outputs are scores (1, queries, classes + 1) and boxes (1, queries, 4), centre and size, the whole input being 1
    (facebookresearch/detr, models/detr.py, PostProcess). Deformable and Conditional DETR have no score of the
    background, and are `rtdetr`'s.

    classes: without the background; 91 are COCO's categories by their own numbers. activation: what the decoder applies
    to scores, "softmax" or "none". name: of the head. Raises NpuLayoutError on anything else.

    >>> detr(3).background
    3
    """
    classes, _ = sizes(classes, (1,))
    known = one_of("activation", activation, ("softmax", "none"))
    score = replace(_SCORE, count=classes + 1, activation=known)
    form = Form("queries", (_BOX, score), Boxes("xywh", unit="input"), "rows")
    return Head(name, classes, (1,), (form,), background=classes, suppression=Suppression("none"))
