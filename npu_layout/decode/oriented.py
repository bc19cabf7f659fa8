"""Oriented boxes: detections whose boxes are turned by an angle, and their suppression."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import LayoutError, NpuLayoutError
from ..support import counted, instance, items_of, one_of, plain_array, real_number, whole_number
from .decoder import MOST, Decoder, in_order
from .head import ACTIVATIONS, Head, Suppression
from .reference import activated
from .suppression import classes_of
from .turned import corners_of, suppressed


@dataclass(frozen=True, eq=False)
class OrientedDetections:
    """Turned boxes of one input, the best first; arrays with a row for each, n of them.

    Attributes
    ----------
    xywha
        float32 (n, 5): centre x and y, width and height in pixels of the network's input, and the angle in radians by
        which the box is turned from x towards y (clockwise on the screen).
    confidence
        float32 (n,).
    class_id
        int64 (n,).
    level, cell
        int64 (n,): where each was found, as in Detections.

    Raises nothing: an OrientedDecoder makes them.
    """

    xywha: np.ndarray
    confidence: np.ndarray
    class_id: np.ndarray
    level: np.ndarray
    cell: np.ndarray

    def __len__(self) -> int:
        return len(self.xywha)

    def __repr__(self) -> str:
        return f"<OrientedDetections: {len(self)}>"

    @property
    def corners(self) -> np.ndarray:
        """float32 (n, 4, 2): x, y of the corners, in order around the box; see `Detections.xyxyxyxy`."""
        return corners_of(self.xywha.astype(np.float64)).astype(np.float32)


class OrientedDecoder:
    """Decodes the outputs of YOLOv8-OBB and YOLO11-OBB: a head of maps, and an angle for each cell.

    A box is turned around its cell: the middle of its sides, seen from the cell, is turned by the angle. The angle is
    ``(v - 0.25) * pi`` of the activated value (ultralytics/nn/modules/head.py, class OBB, for the formula).

    Parameters
    ----------
    head
        Of the boxes and scores, such as ``yolov8(classes=15)``. Its suppression is replaced by that of turned boxes.
    specs
        TensorSpecs of all outputs: the maps, and the angles: a map of one channel for each stride, or one list
        (1, 1, cells).
    input_shape
        Height and width of the network's input, in pixels.
    angles
        Names of the outputs with the angles.
    activation
        What the decoder has to apply to angles: "sigmoid", or "none" where it is in the graph.

    Raises
    ------
    LayoutError
        If the outputs do not fit the head, or the angles are not as many as cells.
    NpuLayoutError
        On what is no head, no spec, or an unknown name.

    Attributes
    ----------
    decoder
        The Decoder of boxes and scores.

    Examples
    --------
    >>> from npu_layout.decode import yolov8
    >>> maps = [TensorSpec((1, n, k, k), name=f"{n}/{k}") for k in (8, 4, 2) for n in (64, 2)]
    >>> turned = TensorSpec((1, 1, 84), "NCW", name="angle")
    >>> decoder = OrientedDecoder(yolov8(classes=2), [*maps, turned], (64, 64), angles=["angle"])
    >>> decoder([np.zeros(spec.size, np.float32) for spec in [*maps, turned]])
    <OrientedDetections: 0>
    """

    decoder: Decoder

    def __init__(
        self,
        head: Head,
        specs: Iterable[TensorSpec],
        input_shape: Sequence[int],
        *,
        angles: Sequence[str],
        activation: str = "none",
    ) -> None:
        given = items_of("specs", specs.values() if isinstance(specs, Mapping) else specs, TensorSpec)
        if not given:
            raise NpuLayoutError("specs: expected one for each output, got none")
        names = items_of("angles", [angles] if isinstance(angles, str) else angles, str, "names")
        known = {spec.name: spec for spec in given}
        unknown = [name for name in names if name not in known]
        if unknown or not names:
            got = repr(unknown[0]) if unknown else "none"
            raise NpuLayoutError(f"angles: expected names of outputs, of {', '.join(known)}; got {got}")
        self._activation = one_of("activation", activation, ACTIVATIONS[:2])
        self._all = tuple(given)
        self._angles = tuple(known[name] for name in names)
        self._maps = tuple(spec for spec in given if spec.name not in names)
        whole = replace(instance("head", head, Head), suppression=Suppression("none"))
        self.decoder = Decoder(whole, self._maps, input_shape)
        rows, columns = self.decoder.input_shape
        cells = [-(-rows // stride) * -(-columns // stride) for stride in whole.strides]
        angled = sum(math.prod(spec.shape) for spec in self._angles)
        if angled != sum(cells):
            raise LayoutError(f"angles: expected one for each of {sum(cells)} cells, got {angled}")
        self._first = np.cumsum([0, *cells[:-1]])
        self._strides = np.array(whole.strides)

    def __repr__(self) -> str:
        return f"<OrientedDecoder {self.decoder.head.name}, input {self.decoder.input_shape}>"

    def __call__(
        self, buffers: Any, confidence: float = 0.25, iou: float = 0.45, limit: int = 300
    ) -> OrientedDetections:
        """Return the turned boxes in the outputs of one run.

        Parameters
        ----------
        buffers
            {name: buffer}, or buffers in the order of the specs; each as TensorSpec.unpack accepts it.
        confidence
            The least score.
        iou
            Boxes whose ProbIoU with a better one of the same class is this or greater go, as `oriented_nms` says.
        limit
            The number of detections, at most, after suppression.

        Returns
        -------
        OrientedDetections, the best first.

        Raises
        ------
        BufferSizeError, LayoutError, NpuLayoutError
            On buffers that do not fit their specs, as Decoder; if more than 30,000 cells pass.
        """
        named = dict(zip((spec.name for spec in self._all), in_order(self._all, buffers)))
        most, threshold = whole_number("limit", limit), real_number("iou", iou)
        if not 1 <= most <= MOST:
            raise NpuLayoutError(f"limit: expected 1 .. {MOST}, got {limit}")
        found = self.decoder([named[spec.name] for spec in self._maps], confidence, 1.0, MOST)
        if len(found) == MOST:
            raise NpuLayoutError(f"confidence: {MOST} cells or more pass {confidence:g}: expected fewer candidates")
        turned = np.concatenate([spec.unpack(named[spec.name]).reshape(-1) for spec in self._angles])
        boxes = self._boxes(found.xyxy.astype(np.float64), found.level, found.cell, turned)
        kept = suppressed(boxes, found.class_id, threshold, True, most)
        columns = (found.confidence, found.class_id, found.level, found.cell)
        return OrientedDetections(boxes[kept].astype(np.float32), *(column[kept] for column in columns))

    def _boxes(self, xyxy: np.ndarray, level: np.ndarray, cell: np.ndarray, turned: np.ndarray) -> np.ndarray:
        value = activated(self._activation, turned[self._first[level] + cell])
        angle = (value - 0.25) * np.pi
        stride = self._strides[level]
        row, column = np.divmod(cell, -(-self.decoder.input_shape[1] // stride))
        center = (np.stack([column, row], 1) + 0.5) * stride[:, None]
        x, y = ((xyxy[:, :2] + xyxy[:, 2:]) / 2 - center).T
        cosine, sine = np.cos(angle), np.sin(angle)
        middle = center + np.stack([x * cosine - y * sine, x * sine + y * cosine], 1)
        return np.column_stack([middle, xyxy[:, 2:] - xyxy[:, :2], angle])


def oriented_nms(boxes: Any, scores: Any, *, iou: float, class_id: Any = None, limit: int | None = None) -> np.ndarray:
    """Return the indices of the turned boxes that stay, best first: greedy suppression by ProbIoU.

    A box goes if its ProbIoU with a box that stays, of its class, is `iou` or greater. ProbIoU compares the Gaussians
    of two boxes: 1 less their Hellinger distance (Llerena et al., "Gaussian Bounding Boxes and Probabilistic
    Intersection-over-Union for Object Detection", 2021). Boxes of equal scores keep their order. (With ultralytics a
    box goes if it overlaps any better one, also one that goes itself.)

    Parameters
    ----------
    boxes
        (n, 5) numbers: centre x, y, width, height, angle in radians; [] counts as (0, 5).
    scores
        (n,) numbers; no NaN.
    iou
        The threshold.
    class_id
        (n,) whole numbers; None: all boxes are of one class.
    limit
        The number of boxes that stay, at most.

    Returns
    -------
    int64 indices into `boxes`, a new array.

    Raises
    ------
    NpuLayoutError
        On shapes that differ, NaN, and what is no number.

    Examples
    --------
    >>> boxes = [[0, 0, 10, 4, 0.0], [0, 0, 10, 4, 0.1], [0, 0, 10, 4, 1.5]]
    >>> oriented_nms(boxes, [0.5, 0.9, 0.4], iou=0.5).tolist()
    [1, 2]
    """
    given, values = plain_array("boxes", boxes), plain_array("scores", scores)
    given = given.reshape(0, 5) if given.shape == (0,) else given
    _numbers("boxes", given, (*given.shape[:1], 5))
    _numbers("scores, one for each of boxes", values, given.shape[:1])
    classes = np.zeros(len(given), np.int64) if class_id is None else classes_of(class_id, len(given))
    most = len(given) if limit is None else counted("limit", limit)
    order = np.argsort(-values.astype(np.float64), kind="stable")
    kept = suppressed(given[order].astype(np.float64), classes[order], real_number("iou", iou), True, most)
    result: np.ndarray = order[kept]
    return result


def _numbers(what: str, array: np.ndarray, shape: tuple[int, ...]) -> None:
    """Raise NpuLayoutError if an array has another shape, or elements that are no numbers."""
    good = array.shape == shape and (array.dtype.kind in "iuf" or not array.size)
    if not good or (array.dtype.kind == "f" and np.isnan(array).any()):
        raise NpuLayoutError(f"{what}: expected numbers {shape}, no NaN; got {array.dtype} {array.shape}")
