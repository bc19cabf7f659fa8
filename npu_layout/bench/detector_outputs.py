"""Make the benchmark's outputs of detectors: the specs of each kind of network, and values with a share of objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from ..buffers import Quantization, TensorSpec
from ..decode import Head, centernet_head, ssd, yolov5, yolov8, yolov8_obb
from .instance_cases import INPUT

CLASSES = 80
STRIDES = (8, 16, 32)
POINTS = 17  # of a person
TURNED, STRIDE = 15, 4  # classes of turned boxes; pixels of a cell of CenterNet
PRIORS = 1917  # of an SSD with an input of 300x300, as TensorFlow's zoo has it
_SCORES, _SIDES, _ALL = Quantization(1 / 255, -128), Quantization(0.125, 0), Quantization(1 / 255, -128)
_LOGITS, _OFFSETS, _PLACES = Quantization(0.08, 40), Quantization(0.06, 0), Quantization(0.1, 0)
_CELLS = Quantization(0.1, -128)  # widths and heights


class DetectionScene(NamedTuple):
    """How many cells have an object, the threshold, and which classes of a cell count."""

    share: float
    confidence: float
    labels: str


LAYOUTS = ("NCHW16c", "NCHW", "NHWC")  # of the outputs, a row each
LISTS = ("NCW16c", "NCW", "NWC")  # of lists, the same orders
SCENES = {
    "sparse": DetectionScene(0.016, 0.25, "best"),
    "dense": DetectionScene(0.04, 0.25, "best"),
    "0.001": DetectionScene(0.44, 0.001, "best"),
    "all labels": DetectionScene(0.3, 0.001, "all"),
    "all labels 0.01": DetectionScene(0.05, 0.01, "all"),  # of YOLOv5 nearly every class of an object passes 0.001
}


def _maps(layout: str, *parts: tuple[str, int, Quantization]) -> Iterator[TensorSpec]:
    """Yield the specs of the parts, name, channels and scale, of each stride."""
    for stride in STRIDES:
        side = INPUT // stride
        for name, n, q in parts:
            yield TensorSpec((1, n, side, side), layout, "int8", quantization=q, name=f"{name}{stride}")


def _v8(layout: str) -> Iterator[TensorSpec]:
    return _maps(layout, ("box", 64, _SIDES), ("score", CLASSES, _SCORES))


def _v5(layout: str) -> Iterator[TensorSpec]:
    return _maps(layout, ("map", 3 * (5 + CLASSES), _ALL))


def _pose(layout: str) -> Iterator[TensorSpec]:
    return _maps(layout, ("box", 64, _SIDES), ("score", 1, _SCORES), ("points", 3 * POINTS, _PLACES))


def _each(q: Quantization, n: int) -> Quantization:
    """Return scales of n channels, up to an eighth less than that of a quantization."""
    return Quantization(q.scale * (1 - np.arange(n) % 8 / 64), np.full(n, q.zero_point), axis=1)


def _v8_channels(layout: str) -> Iterator[TensorSpec]:
    return _maps(layout, ("box", 64, _each(_SIDES, 64)), ("score", CLASSES, _each(_SCORES, CLASSES)))


def _obb(layout: str) -> Iterator[TensorSpec]:
    return _maps(layout, ("box", 64, _SIDES), ("score", TURNED, _SCORES), ("angle", 1, _SCORES))


def _centernet(layout: str) -> Iterator[TensorSpec]:
    side = INPUT // STRIDE
    for name, n, q in (("hm", CLASSES, _SCORES), ("wh", 2, _CELLS), ("reg", 2, _SCORES)):
        yield TensorSpec((1, n, side, side), layout, "int8", quantization=q, name=name)


def _ssd(layout: str) -> Iterator[TensorSpec]:
    for name, n, q in (("box", 4, _OFFSETS), ("score", 1 + CLASSES, _LOGITS)):
        yield TensorSpec((1, n, PRIORS), layout, "int8", quantization=q, name=name)


@cache
def priors() -> np.ndarray:
    """Return centre x, y, width and height of an SSD's priors, float64 (1917, 4), the whole input being 1.

    As TensorFlow's SSD for 300x300 has them: grids of 19, 10, 5, 3, 2 and 1 cells, three boxes in a cell of the first
    and six in one of the others.
    """
    found = []
    for n, side in enumerate((19, 10, 5, 3, 2, 1)):
        scale = 0.2 + 0.15 * n
        for y in range(side):
            for x in range(side):
                for ratio in (1, 2, 0.5, 3, 1 / 3, 1.2)[: 3 if n == 0 else 6]:
                    width, height = scale * ratio**0.5, scale / ratio**0.5
                    found.append(((x + 0.5) / side, (y + 0.5) / side, width, height))
    return np.array(found)


def _objects(rng: np.random.Generator, side: int, share: float, anchors: int) -> tuple[np.ndarray, np.ndarray]:
    """Return whether an anchor of a cell has an object, and of which class: few classes have most of them."""
    shape = (anchors, side, side)
    weights = 1 / np.arange(1, CLASSES + 1)
    return rng.random(shape) < share, rng.choice(CLASSES, shape, p=weights / weights.sum())


def _probabilities(logits: np.ndarray) -> np.ndarray:
    shares: np.ndarray = (1 / (1 + np.exp(-logits))).astype(np.float32)
    return shares


def _bins(rng: np.random.Generator, side: int) -> np.ndarray:
    """Return the bins of four sides of every cell, which have one maximum each."""
    means = rng.uniform(0.5, 8, (4, 1, side, side))
    bins = -((np.arange(16)[None, :, None, None] - means) ** 2)
    sides: np.ndarray = bins.clip(-15, 0).astype(np.float32).reshape(1, 64, side, side)
    return sides


def _v8_values(rng: np.random.Generator, share: float) -> Iterator[np.ndarray]:
    for stride in STRIDES:
        side = INPUT // stride
        yield _bins(rng, side)
        there, label = _objects(rng, side, share, 1)
        logits = rng.normal(-10.5, 1.2, (CLASSES, side, side))
        hit = there & (np.arange(CLASSES)[:, None, None] == label)
        yield _probabilities(np.where(hit, rng.normal(0, 1.5, (1, side, side)), logits))[None]


def _obb_values(rng: np.random.Generator, share: float) -> Iterator[np.ndarray]:
    values = _v8_values(rng, share)
    for bins, scores in zip(values, values):
        yield bins
        yield scores[:, :TURNED]
        yield rng.random((1, 1, *scores.shape[2:])).astype(np.float32)


def _centernet_values(rng: np.random.Generator, share: float) -> Iterator[np.ndarray]:
    """Yield heat with a maximum for each object, whose neighbours are warm too, sizes and offsets."""
    side = INPUT // STRIDE
    there, label = _objects(rng, side, share / 4, 1)
    hit = there & (np.arange(CLASSES)[:, None, None] == label)
    logits = np.where(hit, rng.normal(0, 1.5, (1, side, side)), rng.normal(-10.5, 1.2, (CLASSES, side, side)))
    wide = np.pad(logits, ((0, 0), (1, 1), (1, 1)), constant_values=-20)
    for dy, dx in ((0, 1), (1, 0), (1, 2), (2, 1)):
        logits = np.maximum(logits, wide[:, dy : dy + side, dx : dx + side] - 1)
    yield _probabilities(logits)[None]
    yield rng.uniform(2, 20, (1, 2, side, side)).astype(np.float32)
    yield rng.random((1, 2, side, side)).astype(np.float32)


def _v5_values(rng: np.random.Generator, share: float) -> Iterator[np.ndarray]:
    for stride in STRIDES:
        side = INPUT // stride
        there, label = _objects(rng, side, share / 3, 3)
        box = rng.normal(0, 1, (3, 4, side, side))
        hit = there[:, None] & (np.arange(CLASSES)[None, :, None, None] == label[:, None])
        scores = np.where(hit, rng.normal(2, 1, hit.shape), rng.normal(-6, 1.2, hit.shape))
        objectness = np.where(
            there[:, None], rng.normal(1, 1, there[:, None].shape), rng.normal(-8, 1, there[:, None].shape)
        )
        yield _probabilities(np.concatenate([box, objectness, scores], 1).reshape(1, -1, side, side))


def _pose_values(rng: np.random.Generator, share: float) -> Iterator[np.ndarray]:
    for stride in STRIDES:
        side = INPUT // stride
        yield _bins(rng, side)
        there, _ = _objects(rng, side, share, 1)
        yield _probabilities(np.where(there, rng.normal(1, 1, there.shape), rng.normal(-9, 1.2, there.shape)))[None]
        yield rng.normal(0, 2, (1, 3 * POINTS, side, side)).astype(np.float32)


def _ssd_values(rng: np.random.Generator, share: float) -> Iterator[np.ndarray]:
    yield rng.normal(0, 1.5, (1, PRIORS, 4)).astype(np.float32).transpose(0, 2, 1)
    there = rng.random((PRIORS, 1)) < share
    hit = there & (np.arange(1 + CLASSES) == rng.integers(1, 1 + CLASSES, (PRIORS, 1)))
    yield np.where(hit, rng.normal(1, 1.5, hit.shape), rng.normal(-9, 1, hit.shape)).astype(np.float32).T[None]


class NetworkKind(NamedTuple):
    """A kind of network: its head, its outputs' specs and values, its rows, and the columns of a result.

    kind: of the peers that decode it.
    """

    head: Callable[[str], Head]  # of "best" or "all"
    parts: Callable[[str], Iterator[TensorSpec]]  # of the layout
    values: Callable[[np.random.Generator, float], Iterator[np.ndarray]]  # of the share of cells that have an object
    scenes: tuple[str, ...]
    layouts: tuple[str, ...] = LAYOUTS
    columns: int = 6
    kind: str = "detect"


FAMILIES = {
    "v8": NetworkKind(
        lambda labels: yolov8(CLASSES, labels=labels), _v8, _v8_values, ("sparse", "dense", "0.001", "all labels")
    ),
    "v5": NetworkKind(
        lambda labels: yolov5(CLASSES, labels=labels), _v5, _v5_values, ("sparse", "dense", "0.001", "all labels 0.01")
    ),
    "pose": NetworkKind(
        lambda labels: yolov8(1, labels=labels, keypoints=POINTS),
        _pose,
        _pose_values,
        ("sparse",),
        columns=6 + 3 * POINTS,
    ),
    "ssd": NetworkKind(lambda labels: ssd(priors(), CLASSES, labels=labels), _ssd, _ssd_values, ("dense",), LISTS),
    "v8-channels": NetworkKind(
        lambda labels: yolov8(CLASSES, labels=labels), _v8_channels, _v8_values, ("sparse",), kind="channels"
    ),
    "obb": NetworkKind(
        lambda labels: yolov8_obb(TURNED, labels=labels), _obb, _obb_values, ("sparse",), columns=7, kind="turned"
    ),
    "centernet": NetworkKind(
        lambda labels: centernet_head(CLASSES, STRIDE), _centernet, _centernet_values, ("sparse",), kind="centers"
    ),
}
