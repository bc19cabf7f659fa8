"""What a decoder returns: boxes, scores, classes, and what belongs to each of them."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import NpuLayoutError
from ...frames import Geometry
from ...support import checked_call, instance
from .crops import picked_rows
from .turned import corners_of

_PLACES = ("level", "cell", "anchor")


class Memory(NamedTuple):
    """Arrays with room for some detections, as the fields of Detections; keypoints and xywha: if there are some."""

    xyxy: np.ndarray
    confidence: np.ndarray
    class_id: np.ndarray
    level: np.ndarray
    cell: np.ndarray
    anchor: np.ndarray
    keypoints: np.ndarray | None = None
    xywha: np.ndarray | None = None

    def first(self, n: int) -> Memory:
        """Return views of the first `n` rows; the memory itself if these are all."""
        if n == len(self.xyxy):
            return self
        return Memory._make(None if column is None else column[:n] for column in self)


#: What other libraries call the attributes of Detections.
_MEANT = {
    **dict.fromkeys(("boxes", "box", "bbox", "bboxes", "rects"), "xyxy"),
    **dict.fromkeys(("scores", "score", "conf", "confidences", "probs"), "confidence"),
    **dict.fromkeys(("classes", "labels", "cls", "class_ids", "categories"), "class_id"),
    **dict.fromkeys(("kpts", "landmarks", "points"), "keypoints"),
    **dict.fromkeys(("mask", "segments"), "masks"),
    **dict.fromkeys(("xywhr", "obb", "rboxes"), "xywha"),
}


@dataclass(frozen=True, eq=False)
class Detections:
    """Detections of one input, the best first; each array has a row for each of the n detections.

    Attributes
    ----------
    xyxy
        float32 (n, 4): the boxes' edges, left, top, right and bottom, in pixels of the network's input, not clipped to
        it; `Geometry.boxes_to_frame` maps them into the frame. For turned boxes: the upright box around the corners.
    confidence
        float32 (n,): the scores.
    class_id
        int64 (n,): the numbers of the classes.
    level, cell, anchor
        int64 (n,): the level of the head, the cell in it (row * columns + column) and the anchor (0 if there is one)
        that each was found in. With them you find a detection's values in outputs of your own.
    keypoints
        float32 (n, points, 2 or 3): x, y in pixels of the input, and the confidence; None if the head has none. x and y
        are measured as edges of boxes are (0 is the left edge of the first pixel, not its centre): in the frame they
        are ``geometry.points_to_frame(found.keypoints[..., :2], edges=True)``.
    masks
        The instances' masks, or None.
    xywha
        float32 (n, 5) for turned boxes: centre x and y, width and height in pixels of the input, and the angle in
        radians by which a box is turned from x towards y (clockwise on the screen). None if boxes are upright.
    listed
        Whether the network or its runtime ranked or suppressed these boxes itself: `cell` is then a row of its list,
        another one where scores differ a little, and `same` compares no cells.
    """

    xyxy: np.ndarray
    confidence: np.ndarray
    class_id: np.ndarray
    level: np.ndarray
    cell: np.ndarray
    anchor: np.ndarray
    keypoints: np.ndarray | None = None
    masks: Any = None
    xywha: np.ndarray | None = None
    listed: bool = False

    if not TYPE_CHECKING:  # or any name would have a type

        def __getattr__(self, name: str) -> np.ndarray:
            """Make the places at their first use: few read them, and a view takes as long as a box."""
            memory = self.__dict__.get("_memory")
            if name not in _PLACES or memory is None:
                meant = f". Is it {_MEANT[name]}?" if name in _MEANT else ""
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{meant}")
            column: np.ndarray = getattr(memory, name)[: len(self.xyxy)]
            self.__dict__[name] = column
            return column

    def __len__(self) -> int:
        return len(self.xyxy)

    def __repr__(self) -> str:
        beside = [name for name in ("keypoints", "masks") if getattr(self, name) is not None]
        return f"<Detections: {len(self)}{' with ' + ' and '.join(beside) if beside else ''}>"

    def __getitem__(self, rows: Any) -> Detections:
        """Return some of them as Detections: a mask of bools, indices, a slice, or one index."""
        if isinstance(rows, (int, np.integer)) and not isinstance(rows, bool):
            at = operator.index(rows)
            if not -len(self) <= at < len(self):
                raise IndexError(f"expected one of {len(self)} detections, got {at}")
            rows = [at]
        class_id = picked_rows(self.class_id, rows, "detections")
        columns = {name: getattr(self, name)[rows] for name in ("xyxy", "confidence", *_PLACES)}
        keypoints = None if self.keypoints is None else self.keypoints[rows]
        masks = None if self.masks is None else self.masks[rows]
        xywha = None if self.xywha is None else self.xywha[rows]
        beside: dict[str, Any] = {"keypoints": keypoints, "masks": masks, "xywha": xywha, "listed": self.listed}
        return Detections(class_id=class_id, **columns, **beside)

    @property
    def angle(self) -> np.ndarray | None:
        """float32 (n,): radians by which boxes are turned from x towards y, a view; None if they are upright."""
        return None if self.xywha is None else self.xywha[:, 4]

    @property
    def xyxyxyxy(self) -> np.ndarray | None:
        """float32 (n, 4, 2): corners of turned boxes, in order around each, a copy; None if they are upright.

        They are measured as the edges in `xyxy`: in the frame they are
        ``geometry.points_to_frame(found.xyxyxyxy, edges=True)``.
        """
        return None if self.xywha is None else corners_of(self.xywha.astype(np.float64)).astype(np.float32)

    @checked_call
    def fields(self, geometry: Geometry | None = None) -> dict[str, Any]:
        """Return the arrays by supervision's names: ``supervision.Detections(**found.fields(geometry))``.

        Parameters
        ----------
        geometry
            How the frame became the input; then the arrays are in pixels of the frame. None: in pixels of the input.

        Returns
        -------
        A dict: "xyxy", "confidence", "class_id"; "mask", bool (n, H, W) over the whole frame or input, if there are
        masks; for turned boxes "data", {"xyxyxyxy": their corners}. Boxes are not clipped to the frame.

        Raises
        ------
        NpuLayoutError
            If `geometry` is no Geometry, or its input has another size than that of the masks.
        """
        if geometry is not None:
            check_geometry(geometry, self.masks)
        xyxy = self.xyxy if geometry is None else geometry.boxes_to_frame(self)
        found: dict[str, Any] = {"xyxy": xyxy, "confidence": self.confidence, "class_id": self.class_id}
        if self.masks is not None:
            found["mask"] = self.masks.dense() if geometry is None else self._masks_in_frame(geometry)
        corners = self.xyxyxyxy
        if corners is not None:
            in_frame = corners if geometry is None else geometry.points_to_frame(corners, edges=True)
            found["data"] = {"xyxyxyxy": in_frame}
        return found

    def _masks_in_frame(self, geometry: Geometry) -> np.ndarray:
        width, height = geometry.frame_wh
        masks = np.empty((len(self), height, width), bool)
        for i, mask in enumerate(masks):
            mask[...] = geometry.mask_to_frame(self.masks.full(i))
        return masks


def check_geometry(geometry: Any, masks: Any) -> None:
    """Raise NpuLayoutError on what is no Geometry, or one of another input than that of the masks of detections."""
    instance("geometry", geometry, Geometry)
    if masks is not None and tuple(masks.input_shape) != geometry.input_wh[::-1]:
        (height, width), given = masks.input_shape, "x".join(map(str, geometry.input_wh))
        raise NpuLayoutError(
            f"geometry: expected one of an input of {width}x{height}, as the masks of the detections are, got {given}"
        )


def memory_for(room: int, points: tuple[int, int] | None = None, turned: bool = False) -> Memory:
    """Return new memory for so many detections, with `points` (how many, and values of each) or without."""
    numbers = np.empty((4, room), np.int64)
    beside = _memory_of_parts(room, points, turned)
    return Memory._make([np.empty((room, 4), np.float32), np.empty(room, np.float32), *numbers, *beside])


def _memory_of_parts(
    room: int, points: tuple[int, int] | None, turned: bool
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return new memory for keypoints and turned boxes, or None for each."""
    keypoints = None if points is None else np.empty((room, *points), np.float32)
    return keypoints, np.empty((room, 5), np.float32) if turned else None


def memory_of(out: Any, room: int, points: tuple[int, int] | None = None, turned: bool = False) -> Memory:
    """Return the memory of Detections that a Decoder returned.

    NpuLayoutError if it has no room for so many, or boxes, scores or classes were made read-only.

    Other `points`, and turned boxes beside upright ones, get new memory.
    """
    given = out if type(out) is Detections else instance("out", out, Detections)
    memory: Memory | None = given.__dict__.get("_memory")
    if memory is None or len(memory.xyxy) < room:
        has = "no memory of a Decoder's" if memory is None else f"room for {len(memory.xyxy)}"
        raise NpuLayoutError(f"out: expected Detections of a Decoder with room for {room} (limit), got {has}")
    if not (given.xyxy.flags.writeable and given.confidence.flags.writeable and given.class_id.flags.writeable):
        raise NpuLayoutError("out: expected arrays that can be written, got Detections with a read-only one")
    known = None if memory.keypoints is None else memory.keypoints.shape[1:]
    if (known, memory.xywha is not None) == (points, turned):
        return memory
    keypoints, xywha = _memory_of_parts(len(memory.xyxy), points, turned)
    return memory._replace(keypoints=keypoints, xywha=xywha)


def detections(memory: Memory, n: int, masks: Any, listed: bool = False) -> Detections:
    """Return Detections of the first `n` rows of `memory`, which stays theirs."""
    found = object.__new__(Detections)  # what a frozen dataclass does for each field takes longer than to decode
    fields, rows = found.__dict__, slice(n)
    xyxy, confidence, class_id, *_, keypoints, xywha = memory
    fields["xyxy"], fields["confidence"], fields["class_id"] = xyxy[rows], confidence[rows], class_id[rows]
    if keypoints is not None:
        fields["keypoints"] = keypoints[rows]
    if xywha is not None:
        fields["xywha"] = xywha[rows]
    if masks is not None:
        fields["masks"] = masks
    if listed:
        fields["listed"] = True
    fields["_memory"] = memory
    return found
