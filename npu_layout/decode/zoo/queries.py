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

    Outputs are scores (1, queries, classes) and boxes (1, queries, 4), centre and size, the whole input being 1; or
    both in one output (1, queries, 4 + classes). With the network's own post-processing in the graph they are boxes
    (1, queries, 4), which are edges, and scores and labels (1, queries), which their names distinguish. Decoder's
    `limit` is the post-processing's num_top_queries (lyuwenyu/RT-DETR,
    rtdetr_pytorch/src/zoo/rtdetr/rtdetr_postprocessor.py).

    Parameters
    ----------
    classes
        The number of classes: 91 for RF-DETR, whose classes are COCO's category numbers.
    activation
        What the decoder applies to scores: "sigmoid", or "none" (ultralytics' export).
    labels
        "all": a detection for each class of a query that passes, as in the networks' own post-processing; "best": one
        for each query, of its best class (ultralytics).
    unit
        The unit of centres and sizes: "input" if the whole input is 1, or "pixel". Edges from the post-processing are
        in pixels of the image size that the graph was given.
    name
        The name of the head, which messages show.

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
    """Return the head of DETR and of YOLOS: each query has one class, or the background, whose score is the last.

    Outputs are scores (1, queries, classes + 1) and boxes (1, queries, 4), centre and size, the whole input being 1
    (facebookresearch/detr, models/detr.py, PostProcess). Deformable and Conditional DETR have no score of the
    background: use `rtdetr`.

    classes: their number without the background; 91 if they are COCO's category numbers. activation: what the decoder
    applies to scores, "softmax" or "none". name: of the head. Raises NpuLayoutError on anything else.

    >>> detr(3).background
    3
    """
    classes, _ = sizes(classes, (1,))
    known = one_of("activation", activation, ("softmax", "none"))
    score = replace(_SCORE, count=classes + 1, activation=known)
    form = Form("queries", (_BOX, score), Boxes("xywh", unit="input"), "rows")
    return Head(name, classes, (1,), (form,), background=classes, suppression=Suppression("none"))
