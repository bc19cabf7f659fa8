"""Oriented boxes: detections whose boxes are turned by an angle, and their suppression."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...buffers import TensorSpec
from ...errors import LayoutError, NpuLayoutError
from ...support import checked_call, counted, instance, items_of, one_of, plain_array
from ..heads.box_encodings import ENCODINGS, having
from ..heads.form import ACTIVATIONS, Form, Part
from ..heads.grids import grids_of
from ..heads.head import Head
from ..heads.records import height_and_width, share_of
from ..heads.rules import Suppression
from ..outputs.places import checked_specs
from ..results.suppression import classes_of
from ..results.turned import corners_of, suppressed
from .decoder import Decoder


@dataclass(frozen=True, eq=False)
class OrientedDetections:
    """Turned boxes of one input, the best first; each array has a row for each of the n boxes.

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
        int64 (n,): the level of the head and the cell in it where each box was found, as in Detections.

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
        """float32 (n, 4, 2): x, y of the corners in pixels of the input, in order around the box; a new array."""
        return corners_of(self.xywha.astype(np.float64)).astype(np.float32)


class OrientedDecoder:
    """Decodes the outputs of YOLOv8-OBB and YOLO11-OBB: a head of maps, and an angle for each cell.

    It adds the angles to a head of upright boxes, and finds them by the outputs' names. A Decoder of `yolov8_obb` does
    the same without names.

    A box is turned around its cell: the middle of its sides, seen from the cell, is turned by the angle. The angle is
    ``(v - 0.25) * pi``, v being the stored value after the activation (ultralytics/nn/modules/head.py, class OBB).

    Parameters
    ----------
    head
        The Head of boxes and scores, such as ``yolov8(classes=15)``. Its suppression is replaced by that of turned
        boxes.
    specs
        TensorSpecs of all outputs: the maps, and the angles, which are a map of one channel for each stride, or one
        list (1, 1, cells).
    input_shape
        Height and width of the network's input, in pixels.
    angles
        Names of the outputs with the angles.
    activation
        What the decoder has to apply to angles: "sigmoid", or "none" if the sigmoid is in the graph.

    Raises
    ------
    LayoutError
        If the outputs do not fit the head, or there are more or fewer angles than cells.
    NpuLayoutError
        If `head` has no maps of sides ("dfl" or "distances"), `specs` has something else than TensorSpecs, or a name
        is unknown.

    Attributes
    ----------
    decoder
        The Decoder of boxes, scores and angles.

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

    @checked_call
    def __init__(
        self,
        head: Head,
        specs: Iterable[TensorSpec],
        input_shape: Sequence[int],
        *,
        angles: Sequence[str],
        activation: str = "none",
    ) -> None:
        given = checked_specs(specs)
        names = items_of("angles", [angles] if isinstance(angles, str) else angles, str, "names")
        known = {spec.name: spec for spec in given}
        unknown = [name for name in names if name not in known]
        if unknown or not names:
            got = repr(unknown[0]) if unknown else "none"
            raise NpuLayoutError(f"angles: expected names of outputs, any of {', '.join(known)}; got {got}")
        whole = _turned(head, one_of("activation", activation, ACTIVATIONS[:2]))
        rows, columns = height_and_width(input_shape)
        cells = sum(map(math.prod, grids_of(whole, (rows, columns))))
        angled = sum(math.prod(known[name].shape) for name in names)
        if angled != cells:
            raise LayoutError(f"angles: expected one for each of {cells} cells, got {angled}")
        self.decoder = Decoder(whole, given, (rows, columns), outputs={"angle": names})

    def __repr__(self) -> str:
        return f"<OrientedDecoder {self.decoder.head.name}, input {self.decoder.input_shape}>"

    @checked_call
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
            A box is dropped if its ProbIoU with a better box of the same class is this or greater; see `oriented_nms`.
        limit
            The largest number of detections after suppression, 1 to 30,000.

        Returns
        -------
        OrientedDetections, the best first.

        Raises
        ------
        BufferSizeError, LayoutError, NpuLayoutError
            On buffers that do not fit their specs, and on a `confidence` and an `iou` that Decoder refuses.
        """
        found = self.decoder(buffers, confidence, iou, limit)
        assert found.xywha is not None
        return OrientedDetections(found.xywha, found.confidence, found.class_id, found.level, found.cell)


def _turned(head: Head, activation: str) -> Head:
    """Return a head with an angle for each cell beside its maps, and suppression of turned boxes."""
    turn = Part("angle", 1, activation)
    forms = []
    for form in instance("head", head, Head).forms:
        if form.cells != "grid" or not ENCODINGS[form.boxes.encoding].sides or form.part("angle"):
            continue
        boxes = replace(form.boxes, angle="shifted")
        for name, part in ((form.name, turn), (f"{form.name}, angles across levels", replace(turn, across=True))):
            forms.append(Form(name, (*form.parts, part), boxes, form.cells, form.interleaved))
    if not forms:
        got = ", ".join(f"{form.name!r} of {form.boxes.encoding!r}" for form in head.forms)
        known = having("sides", "or")
        raise NpuLayoutError(f"head: expected maps of {known} without angles, such as yolov8(), got {got}")
    return replace(head, forms=tuple(forms), suppression=Suppression("probiou", inclusive=True))


@checked_call
def oriented_nms(boxes: Any, scores: Any, *, iou: float, class_id: Any = None, limit: int | None = None) -> np.ndarray:
    """Return the indices of the turned boxes that stay, best first: greedy suppression by ProbIoU.

    A box is dropped if its ProbIoU with a box of its class that stays is `iou` or greater. ProbIoU compares the
    Gaussians of two boxes: it is 1 minus their Hellinger distance (Llerena et al., "Gaussian Bounding Boxes and
    Probabilistic Intersection-over-Union for Object Detection", 2021). Boxes of equal scores keep their order.
    (ultralytics also drops a box for a better one that is dropped itself.)

    Parameters
    ----------
    boxes
        (n, 5) numbers: centre x, y, width, height in one unit, angle in radians; [] counts as (0, 5).
    scores
        (n,) numbers; no NaN.
    iou
        The threshold, 0 to 1.
    class_id
        (n,) whole numbers; None: all boxes are of one class.
    limit
        The largest number of boxes that stay: the best ones. None: all.

    Returns
    -------
    int64 indices into `boxes`, a new array.

    Raises
    ------
    NpuLayoutError
        If the arrays' lengths differ, if there is NaN or something that is no number, or if `iou` is outside 0 .. 1.

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
    kept = suppressed(given[order].astype(np.float64), classes[order], share_of("iou", iou), True, most)
    result: np.ndarray = order[kept]
    return result


def _numbers(what: str, array: np.ndarray, shape: tuple[int, ...]) -> None:
    """Raise NpuLayoutError if an array has another shape, or elements that are no numbers."""
    good = array.shape == shape and (array.dtype.kind in "iuf" or not array.size)
    if not good or (array.dtype.kind == "f" and np.isnan(array).any()):
        raise NpuLayoutError(f"{what}: expected numbers {shape}, no NaN; got {array.dtype} {array.shape}")
