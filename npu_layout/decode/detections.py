"""What a decoder returns: boxes, scores, classes, and what belongs to each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Detections:
    """Detections of one input, the best first; arrays with a row for each, n of them.

    Attributes
    ----------
    xyxy
        float32 (n, 4): edges in pixels of the network's input; `Geometry.boxes_to_frame` maps them to the frame. They
        are not clipped.
    confidence
        float32 (n,).
    class_id
        int64 (n,).
    level, cell, anchor
        int64 (n,): the level of the head, the cell in it (row * columns + column), and the anchor (0 if there is one),
        in which each was found: for channels of your own.
    keypoints
        float32 (n, points, 2 or 3): x, y in pixels of the input (points: edges, as boxes), and the confidence; None if
        the head has none.
    masks
        The instances' masks, or None.
    """

    xyxy: np.ndarray
    confidence: np.ndarray
    class_id: np.ndarray
    level: np.ndarray
    cell: np.ndarray
    anchor: np.ndarray
    keypoints: np.ndarray | None = None
    masks: Any = None

    def __len__(self) -> int:
        return len(self.xyxy)

    def __repr__(self) -> str:
        beside = [name for name in ("keypoints", "masks") if getattr(self, name) is not None]
        return f"<Detections: {len(self)}{' with ' + ' and '.join(beside) if beside else ''}>"

    def __getitem__(self, rows: Any) -> Detections:
        """Return some of them: a mask of bools, indices or a slice."""
        columns = {
            name: getattr(self, name)[rows] for name in ("xyxy", "confidence", "class_id", "level", "cell", "anchor")
        }
        keypoints = None if self.keypoints is None else self.keypoints[rows]
        return Detections(**columns, keypoints=keypoints, masks=None if self.masks is None else self.masks[rows])

    def fields(self) -> dict[str, np.ndarray]:
        """Return the arrays by supervision's names: ``supervision.Detections(**found.fields())``.

        xyxy, confidence, class_id; `mask`, bool (n, H, W) over the whole input, if there are masks.
        """
        found = {"xyxy": self.xyxy, "confidence": self.confidence, "class_id": self.class_id}
        if self.masks is not None:
            found["mask"] = self.masks.dense()
        return found
