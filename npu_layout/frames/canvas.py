"""Fit frames to a network's input step by step, with OpenCV, where no compiled pass does it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..layouts import CHANNEL_ORDERS, Affine, Layout, Plan, Storage, plan_move, repack
from ..support import naming
from .buffer_writing import Wanted
from .fitting import Pass, pass_of, resized_planes, rows_of
from .geometry import Geometry, Quad, part_geometry
from .kept import BoundedDict
from .pictures import FramePlanes, in_one_piece, picture
from .pixel_formats import PixelFormat
from .preprocess_arguments import INTERPOLATIONS


class Canvas:
    """Frames of one pixel format, resized and bordered: (N, H, W, channels) of uint8, from which a buffer is converted.

    Threads may share it: each has scratch memory of its own, which is kept from one call to the next.
    """

    def __init__(
        self,
        form: PixelFormat,
        color: str,
        step: int,
        pad: tuple[float, ...],
        interpolation: str,
        yuv: str,
        input_wh: tuple[int, int],
        batch: int,
    ) -> None:
        self._color, self._step, self._pad, self._interpolation = color, step, pad, interpolation
        self._planes, self._input_wh, self._batch = yuv == "planes", input_wh, batch
        self._picture_order, self._order = _orders(form.order, color)
        self._needs_no_colors = form.kind == "channels" and self._picture_order == self._order
        self._channels = CHANNEL_ORDERS[self._order].channels
        self._local = threading.local()
        self._conversions: BoundedDict[Any, Pass | None] = BoundedDict()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_local", "_conversions")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _local=threading.local(), _conversions=BoundedDict())

    def fitted(self, frames: Sequence[FramePlanes], geometries: Sequence[Geometry]) -> np.ndarray:
        """Return the canvas of N frames: of this thread until its next call, or the only frame's own pixels."""
        fitted = self._as_it_is(frames[0], geometries[0])
        if fitted is None:
            fitted = self.scratch("canvas", (self._batch, *self._input_wh[::-1], self._channels))
            for i, (frame, geometry, canvas) in enumerate(zip(frames, geometries, fitted)):
                with naming("frame" if self._batch == 1 else f"frame {i}"):  # a JPEG is decoded here
                    self._fit(self._part(frame, geometry), geometry, canvas)
        return fitted

    def _as_it_is(self, frame: FramePlanes, geometry: Geometry) -> np.ndarray | None:
        """Return the pixels of a frame that is the canvas already; None if it is not."""
        if frame.size_wh != self._input_wh or not self._needs_no_colors or self._batch > 1:
            return None
        pixels = frame.planes[0]
        whole = geometry.crop_xyxy == (0, 0, *self._input_wh) and pixels.itemsize == 1
        return pixels if whole and pixels.flags.c_contiguous else None

    def copied(self, index: int, plane: np.ndarray) -> np.ndarray:
        """Return memory of this thread for a copy of a frame's plane."""
        *rows, items = plane.shape
        return self.scratch(f"plane {index}", (*rows, items * plane.itemsize)).view(plane.dtype)

    def scratch(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Return a uint8 array of this thread for `name`, the same one while its shape stays."""
        kept: np.ndarray | None = getattr(self._local, name, None)
        if kept is None or kept.shape != shape:
            kept = np.empty(shape, np.uint8)
            setattr(self._local, name, kept)
        return kept

    def _part(self, frame: FramePlanes, geometry: Geometry) -> np.ndarray:
        """Return the pixels that are resized, in the canvas's channels: a view if they need no conversion."""
        import cv2

        if self._planes and frame.format.kind == "yuv":
            return resized_planes(frame, geometry, self._order, self._interpolation)
        gray = self._color == "GRAY" and frame.format.kind != "channels"
        converted = self._converted(frame, geometry.crop_xyxy, gray)
        part = picture(frame, geometry.crop_xyxy, gray=gray) if converted is None else converted
        order, wanted = "GRAY" if gray else self._picture_order, self._order
        if order == wanted and part.shape[:2] == geometry.resized_wh[::-1]:
            return part
        row = part.shape[1] * part.shape[2]
        if min(part.strides) <= 0 or part.strides[1:] != (part.shape[2], 1) or part.strides[0] < row:
            part = in_one_piece(part, self.scratch("frame", part.shape))
        if order != wanted:
            if "X" in order:
                order, part = order[:3], in_one_piece(part[..., :3])
            depth = CHANNEL_ORDERS[wanted].channels
            shape = part.shape[:2] if depth == 1 else (*part.shape[:2], depth)
            part = cv2.cvtColor(part, getattr(cv2, f"COLOR_{order}2{wanted}"), self.scratch("colour", shape))
        return part if part.ndim == 3 else part[..., None]

    def _converted(self, frame: FramePlanes, box: Quad, gray: bool) -> np.ndarray | None:
        """Return what `picture` does, made by a pass in memory of this thread; None of channels, or if no pass does."""
        if frame.format.kind == "channels":
            return None
        key = frame.format, frame.color, frame.size_wh, box
        made = self._conversions.get(key, ...)
        width, height = box[2] - box[0], box[3] - box[1]
        order, channels = ("GRAY", 1) if gray else ("BGR", 3)
        if made is ...:
            target = TensorSpec((channels, height, width), "HWC", "uint8")
            wanted = Wanted(target, None, order, bytes(channels), "linear", True)
            geometry = part_geometry("stretch", frame.size_wh, box, (width, height))
            made = self._conversions.keep(key, pass_of(wanted, frame, geometry))
        if made is None:
            return None
        pixels = self.scratch("pixels", (height, width, channels))
        return pixels if made.run(pixels, frame.planes, self.copied) else None

    def _fit(self, part: np.ndarray, geometry: Geometry, canvas: np.ndarray) -> None:
        """Resize and border `part` into `canvas` (H, W, channels)."""
        import cv2

        left, top = geometry.pad_ltrb[:2]
        width, height = geometry.resized_wh
        for border in (
            canvas[:top],
            canvas[top + height :],
            canvas[top : top + height, :left],
            canvas[top : top + height, left + width :],
        ):
            border[...] = self._border_row[: border.shape[1]]
        inner = canvas[top : top + height, left : left + width]
        if part.shape == inner.shape:
            repack(part, "HWC", "HWC", out=inner)
            return
        rows = rows_of(self._interpolation, inner.shape[2], (part.shape[1], part.shape[0]), (width, height))
        if rows is not None:
            rows.write((part,), inner)
            return
        resized = inner[..., 0] if inner.shape[2] == 1 else inner
        pixels = part[..., 0] if part.shape[2] == 1 else part
        target = resized if resized.strides[1] == inner.shape[2] else self.scratch("resized", resized.shape)
        written = cv2.resize(
            pixels, (width, height), dst=target, interpolation=getattr(cv2, INTERPOLATIONS[self._interpolation])
        )
        if written.ctypes.data != resized.ctypes.data:
            resized[...] = written

    @cached_property
    def _border_row(self) -> np.ndarray:
        """One row of the border, in the canvas's channels: rows of pixels are written faster than single pixels."""
        border = np.zeros((self._input_wh[0], self._channels), np.uint8)
        for model, canvas in enumerate(self._channel_map()):
            border[:, canvas] = round(self._pad[model])
        return border

    def _channel_map(self) -> tuple[int, ...]:
        """Return, for each channel of the model, the canvas's channel that it comes from."""
        if self._order == self._color:
            return tuple(range(self._channels))
        colours = CHANNEL_ORDERS[self._order].rgb
        order = CHANNEL_ORDERS[self._color].rgb
        by_model = sorted(range(3), key=lambda rgb: order[rgb])
        return tuple(colours[rgb] for rgb in by_model)

    def plan(self, target: TensorSpec, affine: Affine | None) -> Plan:
        """Return the conversion of fitted frames (N, H, W, channels; uint8, flat) to a buffer."""
        height, width = self._input_wh[::-1]
        pixel, mapping = self._channels, self._channel_map()[:: self._step]
        step = mapping[1] - mapping[0] if len(mapping) > 1 else 1
        axes = target.axes
        layout = Layout("NHWC") if "N" in axes else Layout("HWC")
        extents = dict(zip(axes, target.shape))
        strides = (height * width * pixel, width * pixel, pixel, step)[-len(axes) :]
        source = Storage.bind(
            layout,
            [extents[a] for a in layout.axes],
            None,
            strides,
            mapping[0],
            self._batch * height * width * pixel,
        )
        return plan_move(source, target.storage, "uint8", target.element.kernel, affine)


def _orders(order: str, color: str) -> tuple[str, str]:
    """Return the channels of a source's pictures, and those of the canvas that the plan picks the model's from.

    They are the same where it can: X is as good as an alpha that is dropped.
    """
    if CHANNEL_ORDERS[color].channels == 4:
        return order, color
    order = order.replace("X", "A")
    return order, color if color == "GRAY" else "BGR" if order == "GRAY" else order
