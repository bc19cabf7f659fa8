"""Turn camera frames into the exact input buffer of an accelerator."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..buffers import TensorSpec, with_exchanged_colors
from ..errors import NpuLayoutError
from ..layouts import CHANNEL_ORDERS, COLOR_ORDERS, Affine, Layout, Plan, Storage, check_out, overlap, plan_move, repack
from ..support import one_of, per_channel, plain_array
from .geometry import MODES, Geometry
from .pixel_units import check_range, check_units

ARGUMENTS = ("resize", "interpolation", "source", "color", "mean", "std", "pad_value")
INTERPOLATIONS = {
    "nearest": "INTER_NEAREST_EXACT",
    "linear": "INTER_LINEAR",
    "cubic": "INTER_CUBIC",
    "area": "INTER_AREA",
}
_CHOICES = {
    "resize": tuple(MODES),
    "interpolation": tuple(INTERPOLATIONS),
    "source": tuple(CHANNEL_ORDERS),
    "color": (*COLOR_ORDERS, "GRAY"),
}


class Preprocessor:
    """Resize, colour, normalise, quantise and reorder a frame in one pass.

    Parameters
    ----------
    target
        TensorSpec of the accelerator's input: axes H, W and C, and N if there is a batch; 1 or 3 channels. Its
        `channels` is the order that is written, if the runtime makes the model's of it.
    resize
        "letterbox" (the whole frame, bordered), "letterbox_top_left" (bordered at the right and bottom only, as for
        YOLOX, which rounds the other side down), "stretch", or "crop" (the largest centred part of the frame with the
        input's aspect, in whole frame pixels).
    interpolation
        "linear", "cubic", "area" or "nearest": cv2.resize's, on the uint8 pixels. "nearest" is INTER_NEAREST_EXACT, the
        pixel in the middle, as in PIL; cv2.INTER_NEAREST reads the one at its top left.
    source
        Channel order of the frames: BGR, RGB, BGRA, RGBA or GRAY; alpha is dropped.
    color
        Channel order that the model reads: RGB, BGR or GRAY (cv2.cvtColor's). It is also written, unless
        ``target.channels`` is another: mean, std and pad_value stay in the model's order, and scales for each C of
        the target's quantization are in the buffer's.
    mean, std
        In pixel units (0..255), one number, or one for each channel of the model in its order:
        ``(x - mean) * (1 / std)`` in float32.
    pad_value
        The letterbox's border, in pixel units: one number, or one for each channel of the model; rounded.

    Raises
    ------
    NpuLayoutError
        If the arguments do not fit each other. An integer target that is not quantised stores pixels as they are:
        dtype uint8, mean 0, std 1. The range of a quantised one contains more than half of what mean and std make of
        the pixels 0..255 in each channel. A mean and std that are all below 1 belong to pixels from 0 to 1; they are
        refused.

    A Preprocessor may be shared by threads: each has scratch memory of its own. It may be pickled.

    Examples
    --------
    >>> spec = TensorSpec((1, 3, 4, 4), "NCHW4c", "uint8")
    >>> buffer, geometry = Preprocessor(spec)(np.full((2, 4, 3), 7, np.uint8))
    >>> buffer.shape, buffer[0, 0, :, 0].tolist(), geometry.pad_ltrb
    ((1, 1, 4, 4, 4), [[114, 114, 114, 0], [7, 7, 7, 0], [7, 7, 7, 0], [114, 114, 114, 0]], (0, 1, 0, 1))
    """

    target: TensorSpec
    resize: str
    interpolation: str
    source: str
    color: str

    def __init__(
        self,
        target: TensorSpec,
        *,
        resize: str = "letterbox",
        interpolation: str = "linear",
        source: str = "BGR",
        color: str = "RGB",
        mean: Any = 0,
        std: Any = 1,
        pad_value: Any = 114,
    ) -> None:
        if not isinstance(target, TensorSpec):
            raise NpuLayoutError(f"target: expected a TensorSpec, got {type(target).__name__}")
        _check_choices(resize=resize, interpolation=interpolation, source=source, color=color)
        extents = _checked_target(target, color)
        channels = extents["C"]
        self.target, self.resize, self.interpolation = target, resize, interpolation
        self.source, self.color = source, color
        self._step = 1 if target.channels in (None, color) else -1  # through the model's channels, as they are written
        self._mean = _numbers("mean", mean, channels)
        self._std = _numbers("std", std, channels)
        self._pad = _numbers("pad_value", pad_value, channels)
        with np.errstate(all="ignore"):
            if not np.isfinite(np.asarray(self._mean, np.float32)).all():
                raise NpuLayoutError(f"mean: expected numbers in the range of float32, got {mean!r}")
            if not np.isfinite(np.float32(1) / np.asarray(self._std, np.float32)).all():
                raise NpuLayoutError(f"std: expected numbers other than 0 in float32, got {std!r}")
        check_units(self._mean, self._std)
        if any(not 0 <= p <= 255 for p in self._pad):
            raise NpuLayoutError(f"pad_value: expected pixel values 0..255, got {pad_value!r}")
        plain = not any(self._mean) and all(s == 1 for s in self._std)
        _check_unquantised(target, plain, mean, std)
        self._affine = self._arithmetic(plain)
        self._input_wh = (extents["W"], extents["H"])
        self._batch = extents.get("N", 1)
        self._local = threading.local()

    def __repr__(self) -> str:
        return f"Preprocessor({self.target!r}, {', '.join(f'{k}={v!r}' for k, v in self.arguments.items())})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_local", "plan")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _local=threading.local())

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments other than `target`, JSON-ready; mean, std and pad_value as lists."""
        values = (self.resize, self.interpolation, self.source, self.color, self._mean, self._std, self._pad)
        return {name: list(v) if isinstance(v, tuple) else v for name, v in zip(ARGUMENTS, values)}

    def _arithmetic(self, plain: bool) -> Affine | None:
        mean, std = self._mean[:: self._step], self._std[:: self._step]
        shift = None if not any(mean) else mean
        scale = None if all(s == 1 for s in std) else tuple(float(np.float32(1) / np.float32(s)) for s in std)
        quantization = self.target.quantization
        if quantization is None:
            return None if plain else Affine("C", shift, scale, None, None)
        stored = quantization.affine("C", to_stored=True)
        axis = quantization.axis
        if axis is not None and self.target.axes[axis] != "C":
            raise NpuLayoutError(
                f"target {self.target.describe()}: expected quantization per tensor or per C, "
                f"got axis {axis} ({self.target.axes[axis]})"
            )
        what = f"target {self.target.describe()} with {quantization}"
        of_model = with_exchanged_colors(quantization, self.target.axes) if self._step < 0 else quantization
        check_range(what, of_model or quantization, self.target.stored, self._mean, self._std, self.color)
        return stored._replace(shift=shift, scale=scale)

    def __call__(self, frame: Any, out: np.ndarray | None = None) -> tuple[np.ndarray, Geometry]:
        """Return the input buffer of one frame, and its Geometry.

        frame: uint8, (H, W, channels of `source`) or, for GRAY, (H, W) too; any strides, never changed. buffer: the
        storage array of `target` (1-D of target.size if its storage has gaps), pad elements zero. It is `out` if
        that is given; then nothing that grows with the image is allocated from the second call on.

        Raises NpuLayoutError on a frame or an out that does not fit; then nothing was written.
        """
        buffer, geometries = self.batch([frame], out)
        return buffer, geometries[0]

    def batch(self, frames: Sequence[Any], out: np.ndarray | None = None) -> tuple[np.ndarray, list[Geometry]]:
        """Return the input buffer of N frames, N as in `target`, and a Geometry for each.

        frames: uint8 images (H, W, channels), as for a single frame; each may have its own size. out and errors: as
        for a single frame; NpuLayoutError also if there are more or fewer frames than N.
        """
        if isinstance(frames, np.ndarray) and frames.ndim < 3:
            raise NpuLayoutError(f"frames: expected a sequence of frames, got an array of shape {frames.shape}")
        if not hasattr(frames, "__len__"):
            raise NpuLayoutError(f"frames: expected a sequence of frames, got {type(frames).__name__}")
        if len(frames) != self._batch:
            raise NpuLayoutError(
                f"frames: got {len(frames)}; target {self.target.describe()} expects {self._batch} (its N)"
            )
        images = [self._frame(i, frame) for i, frame in enumerate(frames)]
        if out is None:
            buffer = np.empty(self._buffer_shape, self.target.stored)
        else:
            buffer = check_out(
                out, self._buffer_shape, self.target.stored, None, lambda: f"target {self.target.describe()}"
            )
            if not buffer.flags.c_contiguous:
                raise NpuLayoutError(f"out for target {self.target.describe()}: expected a C-contiguous array")
            if any(overlap(buffer, image) for image in images):
                raise NpuLayoutError(f"out for target {self.target.describe()} shares memory with a frame")
        if self._batch == 1 and images[0].shape == self._canvas_shape[1:] and images[0].flags.c_contiguous:
            fitted = images[0]  # already the canvas
            geometries = [_geometry(self.resize, self._input_wh, self._input_wh)]
        else:
            fitted = self._scratch("canvas", self._canvas_shape)
            geometries = [self._fit(image, part) for image, part in zip(images, fitted)]
        self.plan.run(fitted.reshape(-1), buffer.reshape(-1))
        return buffer, geometries

    def _frame(self, index: int, frame: Any) -> np.ndarray:
        channels = CHANNEL_ORDERS[self.source].channels
        if isinstance(frame, np.ndarray):
            given: np.ndarray = frame if type(frame) is np.ndarray else plain_array("frame", frame)
            image = given[..., None] if given.ndim == 2 and channels == 1 else given
            if frame.dtype == np.uint8 and image.ndim == 3 and image.shape[2] == channels and 0 not in image.shape:
                return image
            reason = f"got {frame.dtype} of shape {frame.shape}"
        else:
            reason = "got None (did the camera deliver a frame?)" if frame is None else f"got {type(frame).__name__}"
        which = "frame" if self._batch == 1 else f"frame {index}"
        raise NpuLayoutError(
            f"{which}: expected a uint8 array (height, width, {channels}) for source {self.source}, {reason}"
        )

    @property
    def _canvas_channels(self) -> int:
        return 1 if self.color == "GRAY" else CHANNEL_ORDERS[self._canvas_order].channels

    @property
    def _canvas_order(self) -> str:
        return "BGR" if self.source == "GRAY" else self.source

    def _scratch(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Return an array of this thread for `name`, the same one while its shape stays."""
        kept: np.ndarray | None = getattr(self._local, name, None)
        if kept is None or kept.shape != shape:
            kept = np.empty(shape, np.uint8)
            setattr(self._local, name, kept)
        return kept

    @cached_property
    def _buffer_shape(self) -> tuple[int, ...]:
        return self.target.storage_shape if self.target.storage.is_dense else (self.target.size,)

    @cached_property
    def _canvas_shape(self) -> tuple[int, ...]:
        return (self._batch, *self._input_wh[::-1], self._canvas_channels)

    def _fit(self, image: np.ndarray, canvas: np.ndarray) -> Geometry:
        """Crop, resize and border `image` into `canvas` (H, W, channels)."""
        import cv2

        geometry = _geometry(self.resize, (image.shape[1], image.shape[0]), self._input_wh)
        x0, y0, x1, y1 = geometry.crop_xyxy
        part = image[y0:y1, x0:x1]
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
            return geometry
        row = part.shape[1] * part.shape[2]
        if min(part.strides) <= 0 or part.strides[1:] != (part.shape[2], 1) or part.strides[0] < row:
            part = repack(part, "HWC", "HWC", out=self._scratch("frame", part.shape))
        if self.color == "GRAY" and part.shape[2] > 1:
            gray = self._scratch("gray", part.shape[:2])
            part = cv2.cvtColor(part, getattr(cv2, f"COLOR_{self.source}2GRAY"), gray)[..., None]
        elif part.shape[2] == 1 and canvas.shape[2] > 1:
            part = cv2.cvtColor(part, cv2.COLOR_GRAY2BGR, self._scratch("colour", (*part.shape[:2], 3)))
        if part.shape[:2] == (height, width):
            inner[...] = part
            return geometry
        resized = inner[..., 0] if inner.shape[2] == 1 else inner
        pixels = part[..., 0] if part.shape[2] == 1 else part
        target = resized if resized.strides[1] == inner.shape[2] else self._scratch("resized", resized.shape)
        written = cv2.resize(
            pixels, (width, height), dst=target, interpolation=getattr(cv2, INTERPOLATIONS[self.interpolation])
        )
        if written.ctypes.data != resized.ctypes.data:
            resized[...] = written
        return geometry

    @cached_property
    def _border_row(self) -> np.ndarray:
        """One row of the border, in the canvas's channels: rows of pixels are written faster than single pixels."""
        border = np.zeros((self._input_wh[0], self._canvas_channels), np.uint8)
        for model, canvas in enumerate(self._channel_map()):
            border[:, canvas] = round(self._pad[model])
        return border

    def _channel_map(self) -> tuple[int, ...]:
        """Return, for each channel of the model, the canvas's channel that it comes from."""
        if self._canvas_channels == 1:
            return (0,) * CHANNEL_ORDERS[self.color].channels
        colours = CHANNEL_ORDERS[self._canvas_order].rgb
        order = CHANNEL_ORDERS[self.color].rgb
        by_model = sorted(range(3), key=lambda rgb: order[rgb])
        return tuple(colours[rgb] for rgb in by_model)

    @cached_property
    def plan(self) -> Plan:
        """The conversion of fitted frames (N, H, W, channels of `source`; uint8, flat) to the buffer."""
        height, width = self._input_wh[::-1]
        pixel, mapping = self._canvas_channels, self._channel_map()[:: self._step]
        step = mapping[1] - mapping[0] if len(mapping) > 1 else 1
        axes = self.target.axes
        layout = Layout("NHWC") if "N" in axes else Layout("HWC")
        extents = dict(zip(axes, self.target.shape))
        strides = (height * width * pixel, width * pixel, pixel, step)[-len(axes) :]
        source = Storage.bind(
            layout,
            [extents[a] for a in layout.axes],
            None,
            strides,
            mapping[0],
            self._batch * height * width * pixel,
        )
        return plan_move(source, self.target.storage, "uint8", self.target.element.kernel, self._affine)


@lru_cache(maxsize=256)
def _geometry(resize: str, frame_wh: tuple[int, int], input_wh: tuple[int, int]) -> Geometry:
    return MODES[resize](frame_wh, input_wh)


def _check_choices(**given: str) -> None:
    for what, value in given.items():
        one_of(what, value, _CHOICES[what])


def _checked_target(target: TensorSpec, color: str) -> dict[str, int]:
    """Return the extents of `target` by letter; NpuLayoutError if it is no image of `color` in whole bytes."""
    if set(target.axes) not in ({"N", "C", "H", "W"}, {"C", "H", "W"}):
        raise NpuLayoutError(f"target {target.describe()}: expected axes N, C, H, W or C, H, W, got {target.axes}")
    extents = dict(zip(target.axes, target.shape))
    channels = CHANNEL_ORDERS[color].channels
    if extents["C"] != channels:
        raise NpuLayoutError(
            f"target {target.describe()}, axes {target.axes}, has {extents['C']} channels; color {color} expects "
            f"{channels}"
        )
    if target.element.nibbles:
        raise NpuLayoutError(f"target {target.describe()}: expected elements of whole bytes")
    return extents


def _check_unquantised(target: TensorSpec, plain: bool, mean: Any, std: Any) -> None:
    """Raise NpuLayoutError if `target` stores plain integers that are not the pixels as they are."""
    if target.element.unpacked.kind == "f" or target.quantization is not None:
        return
    if target.dtype != "uint8":
        raise NpuLayoutError(
            f"target {target.describe()} is not quantised, so it stores pixels as they are: expected dtype "
            f"uint8, or give the TensorSpec a quantization"
        )
    if not plain:
        raise NpuLayoutError(
            f"target {target.describe()} is not quantised, so mean and std must be 0 and 1 "
            f"(got {mean!r}, {std!r}); give the TensorSpec a quantization"
        )


def _numbers(what: str, given: Any, channels: int) -> tuple[float, ...]:
    """Return one number for each channel."""
    numbers = per_channel(what, given, channels)
    return numbers if len(numbers) == channels else numbers * channels
