"""Read lists of boxes that an accelerator's runtime has suppressed already, whose length is that of what was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...buffers import TensorSpec
from ...errors import LayoutError, NpuLayoutError
from ...support import checked_call, counted, instance, one_of, widened
from ..heads.batches import refuse_batch
from ..heads.records import count_of, height_and_width, share_of
from ..results.detections import Detections, detections, memory_for
from ..zoo.networks import sizes
from .decoder import MOST
from .hailo_outputs import read_hailo


class _Columns(NamedTuple):
    """Where a row of DetectionOutput has its numbers: `image` is the number of the input, None if rows have none."""

    width: int
    image: int | None
    label: int
    score: int
    edges: slice


_LAYERS = {
    "caffe": _Columns(7, 0, 1, 2, slice(3, 7)),
    "ncnn": _Columns(6, None, 0, 1, slice(2, 6)),
}


@checked_call
def hailo_nms(
    output: Any,
    classes: int,
    input_shape: Sequence[int],
    confidence: float = 0.0,
    limit: int = MOST,
    *,
    order: str = "by_class",
) -> Detections:
    """Return the detections in an output to which HailoRT has applied NMS: HAILO_NMS_BY_CLASS or HAILO_NMS_BY_SCORE.

    No TensorSpec describes such an output, because its length varies: a count is followed by as many boxes, then by
    unused memory (hailo-ai/hailort, hailort/libhailort/include/hailo/hailort.h, hailo_format_order_t). The edges of a
    box are y_min, x_min, y_max, x_max, as shares of the input's height and width (0 to 1).

    Parameters
    ----------
    output
        The output's memory, as an array, bytes or another buffer, or what pyhailort makes of it. Memory by class is
        float32: for each class the number of its boxes, then edges and score of each box; the whole frame is
        classes * (1 + 5 * most) floats (hailort_common.hpp, get_nms_host_shape_size). Memory by score is a uint16
        count, then 22 bytes for each box: edges and score (float32), class (uint16). What follows the last box is not
        read. From pyhailort, by class: a list of arrays (n, 5), one for each class, or an array (classes, 5, most),
        whose columns of zeros are no boxes; by score: a list of pyhailort's Detection objects.
    classes
        The number of classes (hailo_nms_shape_t.number_of_classes). Memory by class has to have the size of a frame
        of so many; by score a larger number than the network's is legal, because nothing says it.
    input_shape
        Height and width of the network's input, in pixels.
    confidence
        The least score, 0 to 1: scores are probabilities.
    limit
        The largest number of detections to return, 1 to 30,000: the best ones.
    order
        How `output` is arranged: "by_class" or "by_score".

    Returns
    -------
    New Detections in pixels of the input, the best first; equal scores keep the order of the output. `cell` is the
    index of the box among all boxes of the output; level and anchor are 0, and `listed` is true.

    Raises
    ------
    NpuLayoutError
        If `confidence` is outside 0 .. 1, a count in the output is no whole number, a class is not below `classes`, or
        another argument is wrong.
    BufferSizeError
        If the memory ends before the last box, or memory by class has the size of a frame of other classes, or has
        that of several frames, and boxes of more than the first.
    LayoutError
        If an array, or the list, has another shape than the above.

    Examples
    --------
    >>> memory = np.float32([0, 1, 0.25, 0.5, 0.75, 1, 0.9, 0, 0, 0, 0, 0])  # 2 * (1 + 5 * 1) floats
    >>> hailo_nms(memory, 2, (100, 200)).xyxy.tolist()
    [[100.0, 25.0, 200.0, 75.0]]
    """
    (classes, _), size = sizes(classes, (1,)), height_and_width(input_shape)
    least, most = _limits(confidence, limit)
    numbers, labels = read_hailo(output, classes, order)
    return _best(numbers[:, (1, 0, 3, 2)], numbers[:, 4], labels, size, least, most)


@checked_call
def detection_output(
    spec: TensorSpec,
    buffer: Any,
    input_shape: Sequence[int],
    confidence: float = 0.0,
    limit: int = MOST,
    *,
    background: int | None = None,
    layer: str = "caffe",
) -> Detections:
    """Return the detections in an output of the layer DetectionOutput: Caffe's SSD, in OpenVINO, on an OAK, in ncnn.

    The output is (1, 1, n, 7): number of the input, class, score and edges left, top, right, bottom, the whole input
    being 1 (weiliu89/caffe, src/caffe/layers/detection_output_layer.cpp; openvinotoolkit/openvino, DetectionOutput-8).
    The first row whose number of the input is negative ends the detections: that row and all after it are ignored.

    ncnn's rows have six numbers, without that of the input, and there are as many as it found, none as an empty Mat
    (Tencent/ncnn, src/layer/detectionoutput.cpp, and yolov3detectionoutput.cpp, whose rows are the same).

    Parameters
    ----------
    spec, buffer
        The output in any layout and dtype, and its spec; axes other than those of rows and columns have extent 1. Of
        ncnn's Mat: ``rows = np.array(mat)`` and ``TensorSpec(rows.shape, "NC")``, anew for each input.
    input_shape
        Height and width of the network's input, in pixels.
    confidence
        The least score, 0 to 1: scores are probabilities.
    limit
        The largest number of detections to return, 1 to 30,000: the best ones.
    layer
        Whose rows they are: "caffe", of seven numbers, as OpenVINO and an OAK write them too, or "ncnn", of six.
    background
        The stored number of the background, as in `Head`: the classes after it are numbered from there, and its rows
        without a score, memory that was not written to, are left out. None: classes are numbered as stored.

        The layer writes no rows of the background, but counts it: its number is the layer's background_label_id, by
        default 0, so that the first class is 1. Lists of names for such networks begin with "background": VOC's 20
        classes are 1 to 20 in Caffe's MobileNet-SSD and on an OAK (luxonis/depthai-core, examples), COCO's 1 to 91 in
        those of TensorFlow (openvinotoolkit/open_model_zoo, models/public/ssd_mobilenet_v1_coco). With 0 the first
        class is 0, as in `ssd` and in lists of names without a background. Networks that count from 0 need no
        number: their background is the last one (open_model_zoo, models/intel/person-detection-0200: 0 is a person),
        or the layer subtracts 1 (its attribute decrease_label_id, of MXNet). ncnn's layers always number from 1.

    Returns
    -------
    New Detections in pixels of the input, the best first; equal scores keep the order of the output. `cell` is the
    index of the row; level and anchor are 0, and `listed` is true.

    Raises
    ------
    NpuLayoutError
        If rows belong to several inputs, `confidence` is outside 0 .. 1, a class is no whole number of 0 or more, or a
        row has a detection of the `background`.
    LayoutError
        If the output has another shape, or rows of other numbers than those of the layer.
    BufferSizeError
        If the buffer has another size than its spec.

    Examples
    --------
    >>> rows = np.float32([[0, 5, 0.9, 0.25, 0.5, 0.75, 1], [-1, 0, 0, 0, 0, 0, 0]])
    >>> detection_output(TensorSpec((1, 1, 2, 7)), rows.ravel(), (100, 200)).xyxy.tolist()
    [[50.0, 50.0, 150.0, 100.0]]
    >>> detection_output(TensorSpec((1, 1, 2, 7)), rows.ravel(), (100, 200), background=0).class_id.tolist()
    [4]
    >>> found = detection_output(TensorSpec((1, 6), "NC"), rows[:1, 1:], (100, 200), layer="ncnn", background=0)
    >>> found.class_id.tolist()
    [4]
    """
    given, size = instance("spec", spec, TensorSpec), height_and_width(input_shape)
    least, most = _limits(confidence, limit)
    no_class = None if background is None else count_of("background", background, 0)
    columns = _LAYERS[one_of("layer", layer, tuple(_LAYERS))]
    refuse_batch(given, "detection_output")
    shape = given.shape
    if len(shape) < 2 or shape[-1] != columns.width or any(n != 1 for n in shape[:-2]):
        others = [name for name, of in _LAYERS.items() if len(shape) > 1 and of.width == shape[-1]]
        hint = f"; if these are rows of {others[0]}'s layer, say layer={others[0]!r}" if others else ""
        rows_of = f"(n, {columns.width})" if columns.image is None else f"(1, 1, n, {columns.width})"
        raise LayoutError(f"detection_output: {given.describe()}: expected {rows_of}{hint}")
    rows = _of_one_input(widened(given.unpack(buffer).reshape(-1, columns.width)), columns.image)
    scores = rows[:, columns.score]
    labels = _labels(rows[:, columns.label], scores >= least, scores > 0, no_class)
    return _best(rows[:, columns.edges], np.where(labels < 0, -1, scores), labels, size, least, most)


def _of_one_input(rows: np.ndarray, image: int | None) -> np.ndarray:
    """Return the rows before the first whose number of the input is negative; NpuLayoutError if some are of another."""
    if image is None:
        return rows
    ends = np.flatnonzero(~(rows[:, image] >= 0))
    rows = rows[: ends[0]] if len(ends) else rows
    if (rows[:, image] != 0).any():
        raise NpuLayoutError("buffer: rows of several inputs; detection_output reads the rows of one")
    return rows


def _labels(stored: np.ndarray, passing: np.ndarray, scored: np.ndarray, background: int | None) -> np.ndarray:
    """Return the classes of rows, without the background; NpuLayoutError if one of a row that passes is no class.

    scored: whether rows have a score above 0. One of the background without a score, of zeros, is memory that was not
    written to: its class is -1.
    """
    whole = (stored >= 0) & (stored == np.floor(stored)) & (stored < 2**31)
    if (passing & ~whole).any():
        got = stored[passing & ~whole][0]
        raise NpuLayoutError(f"buffer: expected classes as whole numbers of 0 or more, got {got:g}")
    labels = np.where(whole, stored, 0)
    if background is None:
        return labels
    of_none = np.flatnonzero(passing & scored & (labels == background))
    if len(of_none):
        raise NpuLayoutError(
            f"buffer: row {of_none[0]} is a detection of class {background}, which background= says is the background, "
            "but DetectionOutput writes no rows of that; if the network numbers classes from 0, leave background= out"
        )
    return np.where(labels == background, -1, labels - (labels > background))


def _limits(confidence: Any, limit: Any) -> tuple[float, int]:
    """Return both arguments, checked; scores of these outputs are probabilities."""
    least = share_of("confidence", confidence, ": scores are probabilities here")
    return least, counted("limit", limit, MOST, f"a whole number, 1 .. {MOST}")


def _best(
    edges: np.ndarray, scores: np.ndarray, labels: np.ndarray, size: tuple[int, int], least: float, most: int
) -> Detections:
    """Return Detections of boxes with a score of at least `least`; edges x0, y0, x1, y1, the whole input being 1."""
    passing = np.flatnonzero(scores >= least)
    ranked = passing[np.argsort(-scores[passing], kind="stable")][:most]
    room = memory_for(len(ranked))
    with np.errstate(over="ignore", invalid="ignore"):
        room.xyxy[:] = edges[ranked] * np.tile(np.array(size[::-1], np.float64), 2)
        room.confidence[:] = scores[ranked]
    room.class_id[:], room.cell[:] = labels[ranked], ranked
    room.level[:] = room.anchor[:] = 0
    return detections(room, len(ranked), None, listed=True)
