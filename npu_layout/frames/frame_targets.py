"""What a Preprocessor writes for a FrameSpec: rows of pixels, or planes of Y, U and V that are made of them."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..layouts import CHANNEL_ORDERS, COLOR_ORDERS, SWAPPED_ORDERS
from .color_matrices import ToYuv, to_yuv_of
from .frame_spec import FrameSpec
from .pictures import FramePlanes, component
from .pixel_formats import PIXEL_FORMATS, PixelFormat

#: The formats that are written. Of others it is not agreed how pixels share a sample (4:2:2: OpenCV averages two), or
#: no accelerator is known that reads them.
WRITTEN = ("BGR", "RGB", "BGRA", "RGBA", "BGRX", "RGBX", "GRAY", "NV12", "NV21", "NV24", "I420", "YV12", "I444")


def stored_pixels(spec: FrameSpec, color: str) -> TensorSpec:
    """Return the TensorSpec of the pixels that are made for a FrameSpec: where they are in its buffer, or BGR of them.

    NpuLayoutError if the format is not written, or not from the colours of a model that reads `color`.
    """
    form, (width, height) = PIXEL_FORMATS[spec.format], spec.size_wh
    if spec.format not in WRITTEN:
        raise NpuLayoutError(
            f"target {spec.describe()}: the formats that a Preprocessor writes are {', '.join(WRITTEN)}"
        )
    order = form.order.replace("X", "A")
    colors = COLOR_ORDERS if order in COLOR_ORDERS else (order,)
    if color not in colors:
        raise NpuLayoutError(
            f"target {spec.describe()} is made of {' or '.join(colors)}; give color={' or '.join(map(repr, colors))}, "
            f"the order of pad_value, got {color!r}"
        )
    shape = (CHANNEL_ORDERS[order].channels, height, width)
    channels = order if order in SWAPPED_ORDERS and order in COLOR_ORDERS else None
    if form.kind == "yuv":
        return TensorSpec(shape, "HWC", "uint8", channels=channels)
    (pitch,), (start,) = spec.strides, spec.offsets
    steps = (pitch, shape[0], 1)
    return TensorSpec(
        shape, "HWC", "uint8", storage_strides=steps, storage_offset=start, size=spec.size, channels=channels
    )


def check_plain(spec: FrameSpec, plain: bool, mean: Any, std: Any) -> None:
    """Raise NpuLayoutError if pixels are to be normalised: a frame's samples are bytes as they are."""
    if not plain:
        raise NpuLayoutError(
            f"target {spec.describe()} contains pixels, so mean and std must be 0 and 1 (got {mean!r}, {std!r}); its "
            "reader normalises: give mean and std to the vendor's compiler or runtime"
        )


class YuvWriter:
    """Planes of Y, U and V of pixels, as a FrameSpec places them.

    A sample of U and V is that of the top left one of the pixels that share it, as in OpenCV's COLOR_BGR2YUV_I420; the
    arithmetic is in 20-bit integers, for BT.601 in limited range OpenCV's own.
    """

    def __init__(self, spec: FrameSpec) -> None:
        self._spec, self._form = spec, PIXEL_FORMATS[spec.format]
        self._color = to_yuv_of(spec.matrix, spec.range)

    @cached_property
    def _has_gaps(self) -> bool:
        planes = self._form.planes
        width, height = self._spec.size_wh
        return self._spec.size != sum(plane.row_bytes(width) * plane.rows(height) for plane in planes)

    def write(self, pixels: np.ndarray, buffer: np.ndarray) -> None:
        """Write BGR pixels (H, W, 3) to a buffer (size,), uint8, with zeros in its gaps."""
        if self._has_gaps:
            buffer[...] = 0
        planes = self._spec.planes(buffer)
        of_opencv = _by_opencv(self._form, self._color, self._spec.size_wh)
        made = _opencv_planes(pixels) if of_opencv else yuv_planes(pixels, self._color, self._form)
        frame = FramePlanes(self._form, self._spec.size_wh, planes)
        for samples, values in zip(self._form.samples, made):
            component(frame, samples)[...] = values


def yuv_writer(target: TensorSpec | FrameSpec) -> YuvWriter | None:
    """Return what makes the planes of a target of Y, U and V; None of another one."""
    if not isinstance(target, FrameSpec) or PIXEL_FORMATS[target.format].kind != "yuv":
        return None
    return YuvWriter(target)


def yuv_planes(pixels: np.ndarray, color: ToYuv, form: PixelFormat) -> list[np.ndarray]:
    """Return Y, U and V of BGR pixels, uint8, each with a sample for the pixels that share it in a format."""
    made = []
    for samples, (weights, offset) in zip(form.samples, color.components):
        own = pixels[:: samples.every_y, :: samples.every_x]
        total = np.full(own.shape[:2], (offset << 20) + (1 << 19), np.int32)
        for channel, weight in enumerate(weights):
            total += own[..., channel].astype(np.int32) * np.int32(weight)
        made.append(np.clip(total >> 20, 0, 255).astype(np.uint8))
    return made


def _by_opencv(form: PixelFormat, color: ToYuv, size_wh: tuple[int, int]) -> bool:
    """Return whether OpenCV's call makes these samples: BT.601, limited range, whole blocks of 2x2 pixels."""
    even = form.steps == (2, 2) and not (size_wh[0] % 2 or size_wh[1] % 2)
    return even and color == to_yuv_of("bt601", "limited") and _opencv_agrees()


def _opencv_planes(pixels: np.ndarray) -> list[np.ndarray]:
    import cv2

    height, width = pixels.shape[:2]
    rows = cv2.cvtColor(pixels, cv2.COLOR_BGR2YUV_I420)
    u, v = rows[height:].reshape(2, height // 2, width // 2)
    return [rows[:height], u, v]


@lru_cache(maxsize=1)
def _opencv_agrees() -> bool:
    """Return whether this OpenCV converts noise by the same arithmetic; a processor's own library may not."""
    noise = np.random.default_rng(1).integers(0, 256, (34, 98, 3), np.uint8)
    expected = yuv_planes(noise, to_yuv_of("bt601", "limited"), PIXEL_FORMATS["I420"])
    return all(bool((a == b).all()) for a, b in zip(_opencv_planes(noise), expected))
