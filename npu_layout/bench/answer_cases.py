"""List the benchmark's rows of answers: outputs to decode, boxes to suppress, masks and people to find."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..decode import Decoder
from .cases import Case
from .detector_outputs import CLASSES, FAMILIES, LAYOUTS, SCENES
from .instance_cases import MasksCase, PeopleCase

LIMIT, IOU = 300, 0.45


class DetectCase(Case):
    """One row: the int8 outputs of a detector with an input of 640x640, decoded to at most 300 detections.

    Families are v8 and v5, YOLOs of 80 classes; v8-channels, with a scale for each channel; pose, YOLOv8 of people with
    17 points; ssd, with 1917 priors and 80 classes, whose outputs are lists; obb, YOLOv8 of 15 classes with turned
    boxes; centernet, of 80 classes. A result is float32 (300, 6 + 3 points): edges, score, class and points of each,
    then zeros; of turned boxes centre and size in place of edges, and the angle behind the class.

    Attributes
    ----------
    head, specs
        What is decoded. `flat` has the outputs' bytes, one after the other; `buffers` are views of it.
    scene
        Its threshold, and which classes count.
    decoders
        Those that read it, by their backends; copies of the case share them.
    """

    def __init__(self, family: str, scene: str, layout: str) -> None:
        rows = FAMILIES[family]
        self.kind, self.key, self.scene, self.family = rows.kind, "detect", SCENES[scene], family
        self.title = f"{family} {scene} {layout}"
        self.head, self.layout = rows.head(self.scene.labels), layout
        self.specs = list(rows.parts(layout))
        self.target = TensorSpec((LIMIT, rows.columns), "NC")
        self.outputs = None
        self.decoders: dict[str | None, Decoder] = {}
        rng = np.random.default_rng(0)
        values = rows.values(rng, self.scene.share)
        packed = [spec.pack(value) for spec, value in zip(self.specs, values)]
        self._use(np.concatenate(packed))

    def _use(self, memory: np.ndarray) -> None:
        self.memory = self.flat = self.x = memory
        ends = np.cumsum([spec.size for spec in self.specs])
        self.buffers = [memory[end - spec.size : end] for end, spec in zip(ends.tolist(), self.specs)]

    def cropped(self, result: np.ndarray) -> np.ndarray:
        """Return the rows, 1-D."""
        return np.asarray(result, np.float32).reshape(-1)

    def out(self) -> np.ndarray:
        """Return zeros for the rows."""
        return self.zeros(self.target.shape, np.float32)


def rows(out: np.ndarray, xyxy: Any, score: Any, class_id: Any, points: Any = None) -> np.ndarray:
    """Write detections to the rows of a result, and zeros to the others; return it."""
    n = len(xyxy)
    out[:n, :4], out[:n, 4], out[:n, 5] = xyxy, score, class_id
    if points is not None:
        out[:n, 6:] = points.reshape(n, -1)
    out[n:] = 0
    return out


class NmsCase(Case):
    """One row: suppression of clustered boxes of 80 classes, whose scores are multiples of 1/255.

    A result is int64: the indices that stay, then -1. Attributes: boxes float32 (n, 4), scores float32 (n,), class_id
    int64 (n,).
    """

    def __init__(self, count: int) -> None:
        self.kind, self.key, self.title = "nms", "nms", f"{count} boxes"
        self.target = TensorSpec((count,), "N", "int64")
        self.outputs = None
        rng = np.random.default_rng(count)
        centers = rng.uniform(40, 600, (max(1, count // 6), 2))[rng.integers(0, max(1, count // 6), count)]
        sides = rng.uniform(20, 120, (count, 2))
        corner = centers + rng.normal(0, 6, (count, 2)) - sides / 2
        boxes = np.concatenate([corner, corner + sides], 1).astype(np.float32)
        scores = (rng.integers(64, 256, count) / 255).astype(np.float32)
        columns = [boxes.reshape(-1), scores, rng.integers(0, CLASSES, count).astype(np.float32)]
        self._use(np.concatenate(columns))

    def _use(self, memory: np.ndarray) -> None:
        n = len(memory) // 6
        self.memory = self.flat = self.x = memory
        self.boxes, self.scores = memory[: 4 * n].reshape(n, 4), memory[4 * n : 5 * n]
        self.class_id = memory[5 * n :].astype(np.int64)

    @property
    def is_exact(self) -> bool:
        """Whether results are equal or wrong."""
        return True

    def cropped(self, result: np.ndarray) -> np.ndarray:
        """Return the indices, filled up with -1."""
        return self.filled(result)

    def filled(self, kept: Any) -> np.ndarray:
        """Return indices that stay as a result."""
        out = np.full(len(self.scores), -1, np.int64)
        out[: len(kept)] = kept
        return out


def answer_cases() -> Iterator[Case]:
    """Yield the case of every row."""
    for name, family in FAMILIES.items():
        for scene in family.scenes:
            for layout in family.layouts:
                yield DetectCase(name, scene, layout)
    for count in (300, 1000, 3000):
        yield NmsCase(count)
    for layout in LAYOUTS:
        yield MasksCase(layout)
    for count in (3, 20):
        yield PeopleCase(count)
