"""Map points, boxes and masks between a camera frame and the network input that was made of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..errors import NpuLayoutError
from ..support import checked_call, flag, one_of, plain_array, whole_numbers
from .mask_resampling import Part, resampled

Pair = tuple[int, int]
Quad = tuple[int, int, int, int]  # edges, or the widths of four borders


# Of each field: how many whole numbers, and the least.
_FIELDS = (("frame_wh", 2, 1), ("input_wh", 2, 1), ("resized_wh", 2, 1), ("pad_ltrb", 4, 0), ("crop_xyxy", 4, 0))


@checked_call
@dataclass(frozen=True)
class Geometry:
    """What was done to a frame to make a network's input, in whole pixels; frozen and hashable.

    The part `crop_xyxy` of the frame is resized to `resized_wh` and then padded by `pad_ltrb` to `input_wh`.
    A step that is not needed is the identity: crop_xyxy (0, 0, frame_w, frame_h), pad_ltrb (0, 0, 0, 0), and resized_wh
    = input_wh.

    **Points are pixel centres**, as in `cv2.resize`: the point (3, 5) is the middle of column 3, row 5, and the frame
    covers -0.5 to frame_w - 0.5::

        x_frame = crop_x0 + (x_input - pad_l + 0.5) * crop_w / resized_w - 0.5

    **Boxes are edges**: column 3 covers 3 to 4, and the box of the whole frame is (0, 0, frame_w, frame_h)::

        x_frame = crop_x0 + (x_input - pad_l) * crop_w / resized_w

    Hence edge = point + 0.5: the box of the pixels i to j, both included, is (i, j + 1), half a pixel outside their
    centres. Corners of a network that regresses pixel centres are points; those of one that divides by the input's
    size (YOLO, SSD, DETR) are boxes, and its keypoints are edges too: ``points_to_frame(keypoints, edges=True)``.

    Parameters
    ----------
    frame_wh, input_wh, resized_wh
        Width and height in pixels, whole numbers of at least 1.
    pad_ltrb
        Pixels of padding at the left, top, right and bottom; pad_l + resized_w + pad_r == input_w, and so downwards.
    crop_xyxy
        Edges x0, y0, x1, y1 in the frame: columns x0 to x1 - 1.

    Raises
    ------
    NpuLayoutError
        On numbers that are not whole, or that do not fit each other.

    Examples
    --------
    >>> g = Geometry.letterbox((1920, 1080), (640, 640))
    >>> g.resized_wh, g.pad_ltrb
    ((640, 360), (0, 140, 0, 140))
    >>> g.boxes_to_frame([0, 140, 640, 500]).tolist()
    [0.0, 0.0, 1920.0, 1080.0]
    >>> g.points_to_frame([[0, 140], [639, 499]]).tolist()
    [[1.0, 1.0], [1918.0, 1078.0]]
    """

    frame_wh: Pair
    input_wh: Pair
    resized_wh: Pair
    pad_ltrb: Quad
    crop_xyxy: Quad

    def __post_init__(self) -> None:
        for name, count, least in _FIELDS:
            object.__setattr__(self, name, whole_numbers(name, getattr(self, name), count, least))
        left, top, right, bottom = self.pad_ltrb
        total = (left + self.resized_wh[0] + right, top + self.resized_wh[1] + bottom)
        if total != self.input_wh:
            raise NpuLayoutError(
                f"resized_wh {self.resized_wh} with pad_ltrb {self.pad_ltrb}: "
                f"expected input_wh {self.input_wh}, got {total}"
            )
        x0, y0, x1, y1 = self.crop_xyxy
        if not (x0 < x1 <= self.frame_wh[0] and y0 < y1 <= self.frame_wh[1]):
            raise NpuLayoutError(
                f"crop_xyxy: expected x0 < x1 and y0 < y1 inside frame_wh {self.frame_wh}, got {self.crop_xyxy}"
            )

    @classmethod
    @checked_call
    def letterbox(cls, frame_wh: Pair, input_wh: Pair, *, center: bool = True, scaleup: bool = True) -> Geometry:
        """Fit the whole frame into the input in its own aspect, as large as possible, with padding around it.

        The scale is min(input_w / frame_w, input_h / frame_h): one side fits exactly, the other is rounded to the
        nearest pixel (half to even, at least 1). Of an odd number of padding pixels the larger part is at the right
        and bottom. Both are as in Ultralytics' LetterBox, but in whole numbers, without the error of a floating scale.

        frame_wh, input_wh: width and height in pixels. NpuLayoutError if they are not whole numbers of at least 1.
        center: False puts all padding at the right and bottom, as YOLOX and MMDetection do. YOLOX rounds the other side
        down, so that for many sizes its picture is one pixel smaller than here.
        scaleup: False does not enlarge a frame that fits into the input, but adds padding only, as Ultralytics'
        LetterBox does with scaleup=False.

        >>> Geometry.letterbox((640, 427), (320, 320)).resized_wh, Geometry.letterbox((640, 427), (320, 320)).pad_ltrb
        ((320, 214), (0, 53, 0, 53))
        """
        (frame_w, frame_h), (input_w, input_h) = _sizes(frame_wh, input_wh)
        center = flag("center", center)
        if not flag("scaleup", scaleup) and frame_w <= input_w and frame_h <= input_h:
            resized = (frame_w, frame_h)
        elif input_w * frame_h <= input_h * frame_w:
            resized = (input_w, max(1, _round_div(frame_h * input_w, frame_w)))
        else:
            resized = (max(1, _round_div(frame_w * input_h, frame_h)), input_h)
        free_w, free_h = input_w - resized[0], input_h - resized[1]
        left, top = (free_w // 2, free_h // 2) if center else (0, 0)
        pad = (left, top, free_w - left, free_h - top)
        return cls((frame_w, frame_h), (input_w, input_h), resized, pad, (0, 0, frame_w, frame_h))

    @classmethod
    def stretch(cls, frame_wh: Pair, input_wh: Pair) -> Geometry:
        """Resize the whole frame to the whole input, whatever the aspect; arguments and errors as for `letterbox`.

        >>> Geometry.stretch((640, 480), (300, 300)).boxes_to_frame([0, 0, 300, 300]).tolist()
        [0.0, 0.0, 640.0, 480.0]
        """
        frame, size = _sizes(frame_wh, input_wh)
        return cls(frame, size, size, (0, 0, 0, 0), (0, 0, *frame))

    @classmethod
    def crop(cls, frame_wh: Pair, input_wh: Pair) -> Geometry:
        """Resize the largest centred part of the frame that has the input's aspect to the whole input.

        One side is the frame's, the other the most whole frame pixels (at least 1) that do not exceed the aspect. Of
        an odd number of pixels left out, the larger part is at the right and bottom. Arguments and errors as for
        `letterbox`.

        >>> Geometry.crop((1920, 1080), (224, 224)).crop_xyxy
        (420, 0, 1500, 1080)
        """
        (frame_w, frame_h), (input_w, input_h) = _sizes(frame_wh, input_wh)
        if frame_w * input_h >= frame_h * input_w:
            crop_w, crop_h = max(1, frame_h * input_w // input_h), frame_h
        else:
            crop_w, crop_h = frame_w, max(1, frame_w * input_h // input_w)
        x0, y0 = (frame_w - crop_w) // 2, (frame_h - crop_h) // 2
        size = (input_w, input_h)
        return cls((frame_w, frame_h), size, size, (0, 0, 0, 0), (x0, y0, x0 + crop_w, y0 + crop_h))

    @checked_call
    def points_to_frame(self, points_xy: Any, *, edges: bool = False) -> np.ndarray:
        """Map pixel centres of the input to pixel centres of the frame.

        Parameters
        ----------
        points_xy
            (..., 2) real numbers, array or lists; no point is clipped, NaN stays NaN. [] counts as (0, 2).
        edges
            Whether the points are edges, in both pictures, instead of pixel centres. Keypoints and corners of
            Detections are edges, as their boxes are.

        Returns
        -------
        New array of that shape: float32 if the points are, else float64. Computed in float64.

        Raises
        ------
        NpuLayoutError
            On another shape, or a dtype that is not an integer or float.
        """
        centers = not flag("edges", edges)
        return self._mapped("points_xy", points_xy, 2, to_frame=True, clip=False, centers=centers)

    @checked_call
    def points_to_input(self, points_xy: Any, *, edges: bool = False) -> np.ndarray:
        """Map pixel centres of the frame to pixel centres of the input: the inverse of `points_to_frame`.

        points_xy, edges, the result and errors are as for `points_to_frame`.
        """
        centers = not flag("edges", edges)
        return self._mapped("points_xy", points_xy, 2, to_frame=False, clip=False, centers=centers)

    @checked_call
    def boxes_to_frame(self, boxes_xyxy: Any, *, clip: bool = False) -> np.ndarray:
        """Map edges x0, y0, x1, y1 in the input to edges in the frame.

        Parameters
        ----------
        boxes_xyxy
            (..., 4) real numbers, array or lists; NaN stays NaN. [] counts as (0, 4). Or Detections, whose `xyxy` is
            mapped, and may have x1 < x0, where a network returned negative sides.
        clip
            Clip to the frame, (0, 0, frame_w, frame_h).

        Returns
        -------
        New array of that shape: float32 if the boxes are, else float64. Computed in float64.

        Raises
        ------
        NpuLayoutError
            On another shape, on a dtype that is not an integer or float, and on numbers with x1 < x0 or y1 < y0, which
            may be boxes x, y, w, h.
        """
        return self._mapped("boxes_xyxy", boxes_xyxy, 4, to_frame=True, clip=clip)

    @checked_call
    def boxes_to_input(self, boxes_xyxy: Any, *, clip: bool = False) -> np.ndarray:
        """Map edges x0, y0, x1, y1 in the frame to edges in the input: the inverse of `boxes_to_frame`.

        boxes_xyxy, the result and errors are as for `boxes_to_frame`; clip: to the input, (0, 0, input_w, input_h).
        """
        return self._mapped("boxes_xyxy", boxes_xyxy, 4, to_frame=False, clip=clip)

    @checked_call
    def mask_to_frame(self, mask: Any, *, interpolation: str = "nearest") -> np.ndarray:
        """Map a mask that covers the whole input, padding included, to the frame; it is 0 outside crop_xyxy.

        Parameters
        ----------
        mask
            (H, W) or (H, W, C), bool, integer or float. Any H and W: the cells share the whole input evenly, so a
            network's 46x46 output over a 368x368 input needs no resizing first. What looks like (N, H, W) is refused:
            H and W, of 8 or more, have the input's proportions, and N and H have not, or N is 1.
        interpolation
            "nearest": the cell that contains the frame pixel's centre, found in whole numbers. "linear": interpolated
            between the centres of cells, the outermost of which are repeated; cells whose centre is in the padding
            are left out. Integers, of at most 32 bits, are rounded half to even; bools are True from 0.5.

        Returns
        -------
        New C-contiguous array (frame_h, frame_w) or (frame_h, frame_w, C) of the mask's dtype.

        Raises
        ------
        NpuLayoutError
            On another shape, an empty mask, and a dtype or an interpolation that is not listed.

        Examples
        --------
        >>> import numpy as np
        >>> Geometry.letterbox((4, 2), (2, 2)).mask_to_frame(np.array([[1, 2], [0, 0]], np.uint8)).tolist()
        [[1, 1, 2, 2], [1, 1, 2, 2]]
        """
        return self._resampled(mask, interpolation, to_frame=True)

    @checked_call
    def mask_to_input(self, mask: Any, *, interpolation: str = "nearest") -> np.ndarray:
        """Map a mask that covers the whole frame to the input: (input_h, input_w [, C]), 0 in the padding.

        mask, interpolation, the dtype and errors are as for `mask_to_frame`. "linear" leaves out cells whose
        centre is outside crop_xyxy.
        """
        return self._resampled(mask, interpolation, to_frame=False)

    def _parts(self, axis: int, to_frame: bool) -> tuple[Part, Part]:
        """Return (start, extent, whole size) of the parts that correspond, in the source and in the destination."""
        start = self.crop_xyxy[axis]
        in_frame = (start, self.crop_xyxy[axis + 2] - start, self.frame_wh[axis])
        in_input = (self.pad_ltrb[axis], self.resized_wh[axis], self.input_wh[axis])
        return (in_input, in_frame) if to_frame else (in_frame, in_input)

    def _mapped(
        self, name: str, values: Any, last: int, *, to_frame: bool, clip: bool, centers: bool = False
    ) -> np.ndarray:
        given = values
        if last == 4 and not isinstance(values, (np.ndarray, list, tuple)):
            values = getattr(values, "xyxy", values)
        array, dtype = _numbers(name, values, last)
        if last == 4 and values is given:  # what Detections have is in no doubt
            _check_corners(name, array)
        if clip is not True and clip is not False:
            clip = flag("clip", clip)
        for axis in range(2):
            (start, extent, _), (new_start, new_extent, new_size) = self._parts(axis, to_frame)
            # multiplied before it is divided, by the reduced ratio: whole edges stay whole, scale 1 is exact
            common = math.gcd(extent, new_extent)
            up, down = float(new_extent // common), float(extent // common)
            half = (up - down) / 2 if centers else 0.0
            part = array[..., axis::2]
            with np.errstate(over="ignore"):
                part[...] = ((part - start) * up + half) / down + new_start
            if clip:
                np.clip(part, 0, new_size, out=part)
        with np.errstate(over="ignore"):
            return array.astype(dtype, copy=False)

    def _resampled(self, mask: Any, interpolation: str, to_frame: bool) -> np.ndarray:
        linear = one_of("interpolation", interpolation, ("nearest", "linear")) == "linear"
        return resampled(mask, self._parts(0, to_frame), self._parts(1, to_frame), linear)


MODES: dict[str, Callable[[Pair, Pair], Geometry]] = {
    "letterbox": Geometry.letterbox,
    "letterbox_top_left": partial(Geometry.letterbox, center=False),
    "stretch": Geometry.stretch,
    "crop": Geometry.crop,
}
# Without scaleup; the other modes have no border that a small frame could keep its size in.
_SMALL_KEPT: dict[str, Callable[[Pair, Pair], Geometry]] = {
    **MODES,
    "letterbox": partial(Geometry.letterbox, scaleup=False),
    "letterbox_top_left": partial(Geometry.letterbox, center=False, scaleup=False),
}


@lru_cache(maxsize=256)
def part_geometry(resize: str, frame_wh: Pair, box: Quad | None, input_wh: Pair, scaleup: bool = True) -> Geometry:
    """Return what is done to a frame, or to its part x0, y0, x1, y1, which is inside it."""
    mode = (MODES if scaleup else _SMALL_KEPT)[resize]
    if box is None:
        return mode(frame_wh, input_wh)
    x0, y0, x1, y1 = box
    geometry = mode((x1 - x0, y1 - y0), input_wh)
    left, top, right, bottom = geometry.crop_xyxy
    # Not by replace: a part that is inside the frame needs no second check of all fields.
    vars(geometry).update(frame_wh=frame_wh, crop_xyxy=(x0 + left, y0 + top, x0 + right, y0 + bottom))
    return geometry


def _sizes(frame_wh: Any, input_wh: Any) -> tuple[Pair, Pair]:
    frame_w, frame_h = whole_numbers("frame_wh", frame_wh, 2, 1)
    input_w, input_h = whole_numbers("input_wh", input_wh, 2, 1)
    return (frame_w, frame_h), (input_w, input_h)


def _round_div(a: int, b: int) -> int:
    """Return a / b to the nearest whole number, half to even, for any size of a and b."""
    quotient, rest = divmod(a, b)
    return quotient + (2 * rest > b or (2 * rest == b and quotient % 2))


def _numbers(name: str, values: Any, last: int) -> tuple[np.ndarray, np.dtype[Any]]:
    """Return a float64 copy, and the dtype of the result."""
    expected = f"integers or floats of shape (..., {last})"
    array = plain_array(name, values, expected=expected)
    if array.shape == (0,):
        array = array.reshape(0, last)
    if array.ndim == 0 or array.shape[-1] != last or array.dtype.kind not in "iuf":
        first = "x, y" if last == 2 else "the corners"
        more = array.ndim > 1 and array.shape[-1] > last
        hint = f"; if they begin with {first}, give {name}[..., :{last}]" if more else ""
        raise NpuLayoutError(f"{name}: expected {expected}, got {array.dtype} of shape {array.shape}{hint}")
    single = array.dtype.kind == "f" and array.itemsize == 4
    return array.astype(np.float64, order="C"), np.dtype(np.float32 if single else np.float64)


def _check_corners(name: str, boxes: np.ndarray) -> None:
    """Raise NpuLayoutError for the first box whose second corner is before its first: it may be x, y, w, h."""
    wrong = (boxes[..., 2:] < boxes[..., :2]).any(-1)
    if wrong.any():
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        where = f" {index[0] if len(index) == 1 else index}" if index else ""
        raise NpuLayoutError(
            f"{name}: box{where}: expected x0 <= x1 and y0 <= y1, got {boxes[index].tolist()}; if that is x, y, "
            f"width, height, give the corners x, y, x + width, y + height"
        )
