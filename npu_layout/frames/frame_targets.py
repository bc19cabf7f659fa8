"""What a Preprocessor writes for a FrameSpec: rows of pixels, or planes of Y, U and V that are made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import kernels
from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..layouts import CHANNEL_ORDERS, COLOR_ORDERS, SWAPPED_ORDERS
from .color_matrices import to_yuv_of
from .frame_spec import FrameSpec
from .pixel_formats import PIXEL_FORMATS

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
            f"target {spec.describe()} is made of {' or '.join(colors)} pixels: expected "
            f"color={' or '.join(map(repr, colors))}, the order of pad_value, got {color!r}"
        )
    shape = (CHANNEL_ORDERS[order].channels, height, width)
    channels = order if order in SWAPPED_ORDERS and order in COLOR_ORDERS else None
    if form.kind == "yuv":
        return TensorSpec(shape, "CHW", "uint8", channels=channels)
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
        form, (width, height) = PIXEL_FORMATS[spec.format], spec.size_wh
        self._has_gaps = spec.size != sum(plane.row_bytes(width) * plane.rows(height) for plane in form.planes)
        self._samples = tuple(
            kernels.YuvSamples(
                spec.offsets[samples.plane] + samples.start,
                spec.strides[samples.plane],
                *samples[2:],
                weights,
                (offset << 20) + (1 << 19),
            )
            for samples, (weights, offset) in zip(form.samples, to_yuv_of(spec.matrix, spec.range).components)
        )

    def write(self, pixels: np.ndarray, buffer: np.ndarray, backend: str | None = None) -> None:
        """Write planes of B, G and R (3, H, W) to a buffer (size,), uint8, with zeros in its gaps."""
        if self._has_gaps:
            buffer[...] = 0
        kernels.to_yuv(pixels, buffer, self._samples, backend)


def yuv_writer(target: TensorSpec | FrameSpec) -> YuvWriter | None:
    """Return what makes the planes of a target of Y, U and V; None of another one."""
    if not isinstance(target, FrameSpec) or PIXEL_FORMATS[target.format].kind != "yuv":
        return None
    return YuvWriter(target)
