"""Draw detections on a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...buffers import TensorSpec
from ...errors import NpuLayoutError
from ...frames import FrameSpec, Geometry, Preprocessor
from ...support import array_of, checked_call, instance
from .detections import Detections, check_geometry

_GOLDEN = 0.61803398875  # the golden ratio as steps of hue, so that neighbouring classes differ
_SIDE_OF_A_LINE = 400  # pixels of the picture's longer side for each pixel of a line's width
_SIDE_OF_A_LETTER = 2400  # the same for cv2's font of scale 1
_SEEN = 0.5  # confidence of a keypoint that is drawn
_FAR = 1e4  # pixels: from 32,768 on the fixed-point places of OpenCV overflow


@checked_call
def draw(
    frame: Any,
    found: Detections,
    geometry: Geometry | None = None,
    names: Sequence[str] | Mapping[int, str] | None = None,
    *,
    source: str | FrameSpec = "BGR",
) -> np.ndarray:
    """Return a copy of a frame with boxes, upright or turned, classes, scores, points and masks drawn on it.

    Parameters
    ----------
    frame
        (H, W, 3) uint8, BGR; with another `source`, what a Preprocessor with this `source` reads. It is never written
        to.
    found
        Detections in pixels of the network's input.
    geometry
        How the frame became the input, as the Preprocessor returns it with the buffer; None: the frame is the input.
    names
        The names of the classes, a list or {number: name}; None: the numbers are drawn.
    source
        What the frame is, as for the Preprocessor: a pixel format's name such as "NV12" or "MJPEG", or a FrameSpec.

    Returns
    -------
    uint8 (H, W, 3), BGR, a new array.

    Raises
    ------
    NpuLayoutError
        If the frame is not what `source` says, or has another size than the geometry's frame; if the masks have another
        size than the geometry's input or, without a geometry, than the frame; if `found` is no Detections.
    """
    import cv2

    instance("found", found, Detections)
    if geometry is not None:
        check_geometry(geometry, found.masks)
    words = _words(names)
    picture = _picture(frame, source, geometry)
    height, width = picture.shape[:2]
    _check_masks(found, (width, height), geometry)
    result = np.ascontiguousarray(picture).copy()
    edges = found.xyxy if geometry is None else geometry.boxes_to_frame(found)
    edges = np.clip(np.nan_to_num(np.asarray(edges, np.float64)), -1, [width, height, width, height])
    corners = _corners(found, geometry)
    thick = max(1, round(max(height, width) / _SIDE_OF_A_LINE))
    for i in reversed(range(len(found))):
        color = _color(int(found.class_id[i]))
        if found.masks is not None:
            full = found.masks.full(i).astype(np.uint8)
            _blend(result, full if geometry is None else geometry.mask_to_frame(full), color)
        x0, y0, x1, y1 = (round(float(v)) for v in edges[i])
        if corners is None:
            cv2.rectangle(result, (x0, y0), (x1, y1), color, thick)
        else:
            cv2.polylines(result, [corners[i]], True, color, thick)
        _label(
            result, f"{words.get(int(found.class_id[i]), found.class_id[i])} {found.confidence[i]:.2f}", (x0, y0), color
        )
    _draw_points(result, found, geometry, thick)
    return result


def _picture(frame: Any, source: str | FrameSpec, geometry: Geometry | None) -> np.ndarray:
    """Return a frame of a geometry as (H, W, 3) uint8, BGR: the array itself where it is that."""
    if isinstance(source, str) and source == "BGR":
        picture = _as_bgr(frame)
        _check_size(picture.shape[1::-1], geometry)
        return picture
    width, height = _made(frame, source, (1, 1))[1] if geometry is None else geometry.frame_wh
    picture, size = _made(frame, source, (width, height))
    _check_size(size, geometry)
    return picture


def _as_bgr(frame: Any) -> np.ndarray:
    other = "; a frame of another format needs source=, as the Preprocessor has it"
    try:
        picture = array_of(frame, "frame")
    except NpuLayoutError as error:
        raise type(error)(f"{error}{other}") from None
    if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8 or 0 in picture.shape:
        raise NpuLayoutError(f"frame: expected (H, W, 3) uint8, got {picture.shape} {picture.dtype}{other}")
    return picture


def _check_size(size: tuple[int, ...], geometry: Geometry | None) -> None:
    if geometry is not None and geometry.frame_wh != size:
        given, wanted = ("x".join(map(str, pair)) for pair in (size, geometry.frame_wh))
        raise NpuLayoutError(f"frame: expected {wanted}, the size of the frame that geometry belongs to, got {given}")


def _check_masks(found: Detections, size: tuple[int, int], geometry: Geometry | None) -> None:
    if geometry is None and found.masks is not None and tuple(found.masks.input_shape) != size[::-1]:
        given, wanted = ("x".join(map(str, pair)) for pair in (size, found.masks.input_shape[::-1]))
        raise NpuLayoutError(
            f"geometry: expected that of the frame, which the Preprocessor returns with the buffer, got None for masks "
            f"of an input of {wanted} and a frame of {given}"
        )


def _made(frame: Any, source: str | FrameSpec, size_wh: tuple[int, int]) -> tuple[np.ndarray, tuple[int, int]]:
    """Return a frame of a source as BGR of a size, and its own size, width first."""
    target = TensorSpec.of_storage((1, *size_wh[::-1], 3), "NHWC", "uint8")
    made, geometry = Preprocessor(target, source=source, color="BGR", resize="stretch")(frame)
    return np.asarray(made[0]), geometry.frame_wh


def _corners(found: Detections, geometry: Geometry | None) -> np.ndarray | None:
    """Return the corners of turned boxes in pixels of the frame, int32; None if boxes are upright."""
    corners = found.xyxyxyxy
    if corners is None:
        return None
    places = corners if geometry is None else geometry.points_to_frame(corners, edges=True)
    rounded = np.rint(np.nan_to_num(np.asarray(places, np.float64)).clip(-_FAR, _FAR)).astype(np.int32)
    result: np.ndarray = rounded.reshape(-1, 4, 2)
    return result


def _blend(result: np.ndarray, mask: np.ndarray, color: tuple[int, int, int]) -> None:
    """Draw a mask, half of it the colour, half the picture."""
    inside = mask.astype(bool)
    result[inside] = result[inside] // 2 + np.array(color, np.uint8) // 2


def _label(result: np.ndarray, text: str, corner: tuple[int, int], color: tuple[int, int, int]) -> None:
    """Draw a text above the corner x, y of a box, or below it where the picture has no room above."""
    import cv2

    height, width = result.shape[:2]
    letters = max(0.5, max(height, width) / _SIDE_OF_A_LETTER)
    text = text.encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair ends the process in OpenCV
    (w, h), below = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, letters, 1)
    top = max(corner[1], h + below)
    left = min(max(corner[0], 0), max(0, width - w))
    cv2.rectangle(result, (left, top - h - below), (left + w, top), color, -1)
    place = (left, top - below // 2)
    cv2.putText(result, text, place, cv2.FONT_HERSHEY_SIMPLEX, letters, (0, 0, 0), 1, cv2.LINE_AA)


def _draw_points(result: np.ndarray, found: Detections, geometry: Geometry | None, thick: int) -> None:
    """Draw keypoints that are seen; of two numbers, those that are finite."""
    import cv2

    if found.keypoints is None:
        return
    for i, points in enumerate(found.keypoints):
        seen = points[:, 2] >= _SEEN if points.shape[1] == 3 else np.isfinite(points).all(1)
        places = points[seen, :2] if geometry is None else geometry.points_to_frame(points[seen, :2], edges=True)
        for x, y in np.nan_to_num(places).clip(-_FAR, _FAR).tolist():
            cv2.circle(result, (round(x), round(y)), 2 * thick, _color(int(found.class_id[i]) + 1), -1)


def _words(names: Any) -> Mapping[int, str]:
    if names is None:
        return {}
    if isinstance(names, Mapping):
        return names
    if isinstance(names, (str, bytes)) or not isinstance(names, Sequence):
        raise NpuLayoutError(f"names: expected a sequence or {{number: name}}, got {names!r}")
    return dict(enumerate(names))


def _color(number: int) -> tuple[int, int, int]:
    """Return a light colour of a class."""
    hue = number * _GOLDEN % 1 * 6
    blend = 1 - abs(hue % 2 - 1)
    return tuple(round(95 + 160 * v) for v in (  # type: ignore[return-value]
        (1, blend, 0), (blend, 1, 0), (0, 1, blend), (0, blend, 1), (blend, 0, 1), (1, 0, blend)
    )[int(hue) % 6])  # fmt: skip
