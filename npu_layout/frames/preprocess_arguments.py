"""Check the arguments of a Preprocessor: its target, its choices, parts and sequences of frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..layouts import CHANNEL_ORDERS
from ..support import one_of, shown, whole_numbers
from .geometry import MODES
from .pixel_units import as_pixels

ARGUMENTS = ("resize", "interpolation", "source", "color", "mean", "std", "pad_value", "yuv", "scaleup")
INTERPOLATIONS = {
    "nearest": "INTER_NEAREST_EXACT",
    "nearest_floor": "INTER_NEAREST",
    "linear": "INTER_LINEAR",
    "cubic": "INTER_CUBIC",
    "area": "INTER_AREA",
}
YUV = ("exact", "planes")
_CHOICES = {
    "yuv": YUV,
    "resize": tuple(MODES),
    "interpolation": tuple(INTERPOLATIONS),
    "color": tuple(CHANNEL_ORDERS),
}
#: What other libraries give for these arguments: words in small letters, and OpenCV's numbers.
_ELSEWHERE: dict[str, dict[Any, str]] = {
    "resize": {
        **dict.fromkeys(("pad", "padding", "contain", "fit_pad", "keep_ratio", "keep_aspect"), "letterbox"),
        **dict.fromkeys(("cover", "center_crop", "centercrop"), "crop"),
        **{"fit": "letterbox, or crop, as Pillow's ImageOps.fit means it", "fill": "crop, or stretch, as CSS means it"},
        **dict.fromkeys(("squash", "scale", "resize", "scale_fill", "warp", "none"), "stretch"),
    },
    "interpolation": {
        **{0: "nearest_floor", 1: "linear", 2: "cubic", 3: "area", 6: "nearest"},  # cv2.INTER_NEAREST, _LINEAR ...
        **{"inter_nearest": "nearest_floor", "inter_nearest_exact": "nearest", "inter_linear": "linear"},
        **{"inter_cubic": "cubic", "inter_area": "area", "box": "area"},
    },
}


def check_choices(**given: str) -> None:
    """Raise NpuLayoutError if an argument is none of its words."""
    for what, value in given.items():
        try:
            one_of(what, value, _CHOICES[what])
        except NpuLayoutError as error:
            meant = _meant_elsewhere(what, value)
            raise NpuLayoutError(f"{error}. Is it {meant}?") if meant else error from None


def _meant_elsewhere(what: str, value: Any) -> str | None:
    """Return the word here for what another library calls it; None if it is none of those."""
    plain = value.lower() if isinstance(value, str) else value
    known = isinstance(plain, (str, int, np.integer)) and not isinstance(plain, bool)
    return _ELSEWHERE.get(what, {}).get(plain) if known else None


def checked_target(target: Any, color: str) -> dict[str, int]:
    """Return the extents of `target` by letter; NpuLayoutError if it is no image of `color` in whole bytes."""
    if not isinstance(target, TensorSpec):
        raise NpuLayoutError(
            f"target: expected a TensorSpec or a FrameSpec, got {shown(target)}; give engine.input_specs[0], or "
            f'TensorSpec.of_storage((1, 640, 640, 3), "NHWC", "uint8") with the extents of your input'
        )
    if set(target.axes) not in ({"N", "C", "H", "W"}, {"C", "H", "W"}):
        raise NpuLayoutError(f"target {target.describe()}: expected axes N, C, H, W or C, H, W, got {target.axes}")
    extents = dict(zip(target.axes, target.shape))
    channels = CHANNEL_ORDERS[color].channels
    if extents["C"] != channels:
        others = [name for name, other in CHANNEL_ORDERS.items() if other.channels == extents["C"]]
        hint = f"; give color={' or '.join(map(repr, others))}" if others else ""
        order = {target.shape[-1]: ("last", "NHWC"), target.shape[-3]: ("first", "NCHW")}.get(channels)
        if order is not None:  # the shape was meant in the order of the buffer
            dtype = f", {target.dtype!r}" * (target.dtype != "float32")
            given = f"{target.shape}, {order[1][-len(target.axes) :]!r}{dtype}"
            hint = f"; if the buffer has the channels {order[0]}, it is TensorSpec.of_storage({given})"
        raise NpuLayoutError(
            f"target {target.describe()}, axes {target.axes}, has {extents['C']} channels; color {color} expects "
            f"{channels}{hint}"
        )
    if target.element.nibbles:
        raise NpuLayoutError(f"target {target.describe()}: expected elements of whole bytes, such as uint8")
    return extents


def check_unquantised(target: TensorSpec, plain: bool, mean: Any, std: Any) -> None:
    """Raise NpuLayoutError if `target` stores plain integers that are not the pixels as they are."""
    if target.element.unpacked.kind == "f" or as_pixels(target).quantization is not None:
        return
    if target.quantization is None and target.dtype != "uint8":
        raise NpuLayoutError(
            f"target {target.describe()} is not quantised, so it stores pixels as they are: expected dtype "
            f"uint8, or give the TensorSpec a quantization"
        )
    if not plain:
        ends = np.iinfo(target.element.unpacked)
        why = "is not quantised" if target.quantization is None else f"has scale 1 and zero point {ends.min}"
        raise NpuLayoutError(
            f"target {target.describe()} {why}, so it stores pixels as they are: expected no mean and std, "
            f"got {mean!r} and {std!r}; leave both out if the compiled model normalises by itself, or give the "
            f"TensorSpec the input's quantization"
        )


def checked_roi(what: str, given: Any, frame_wh: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return a part x, y, width, height of a frame as x0, y0, x1, y1; NpuLayoutError if it is not inside."""
    x, y, width, height = whole_numbers(what, given, 4, 0)
    if not (width and height and x + width <= frame_wh[0] and y + height <= frame_wh[1]):
        raise NpuLayoutError(
            f"{what}: expected x, y, width, height inside the frame of {frame_wh[0]}x{frame_wh[1]}, got "
            f"{(x, y, width, height)}"
        )
    return x, y, x + width, y + height


def sequence_of(what: str, given: Any, items: str, axes: int) -> list[Any]:
    """Return the items of a sequence; NpuLayoutError if `given` is no sequence.

    An array counts as a sequence if it has at least `axes` axes, or one axis of objects.
    """
    if isinstance(given, np.ndarray) and given.ndim < (1 if given.dtype == object else axes):
        raise NpuLayoutError(f"{what}: expected a sequence of {items}, got an array of shape {given.shape}")
    none = isinstance(given, (Mapping, str, bytes, bytearray, type))
    if none or not hasattr(given, "__len__") or not hasattr(given, "__getitem__"):
        raise NpuLayoutError(f"{what}: expected a sequence of {items}, got {type(given).__name__}")
    return list(given)
