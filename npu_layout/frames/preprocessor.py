"""Turn camera frames into the exact input buffer of an accelerator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..layouts import Plan, check_out, overlap
from ..support import checked_call, flag
from .buffer_writing import Wanted
from .canvas import Canvas
from .fitting import Run, pass_of
from .frame_forms import arrays_of, form_of
from .frame_parts import PLANES
from .frame_source import FrameSource
from .frame_spec import FrameSpec
from .frame_targets import YuvWriter, check_plain, stored_pixels, yuv_writer
from .geometry import Geometry, Pair, part_geometry
from .passes import Passes
from .pictures import FramePlanes
from .pixel_numbers import PixelNumbers
from .plane_targets import plane_resizer
from .preprocess_arguments import (
    ARGUMENTS,
    check_choices,
    check_unquantised,
    checked_roi,
    checked_target,
    sequence_of,
)


class Preprocessor:
    """Resize, colour, normalise, quantise and reorder a frame in one pass.

    Parameters
    ----------
    target
        TensorSpec of the accelerator's input, with the axes H, W and C, and N for a batch; 1, 3 or 4 channels. If it
        has `channels`, pixels are written in that order, which the runtime turns into the model's. Or a FrameSpec, if
        the accelerator reads a picture and normalises it by itself: BGR, RGB, BGRA, RGBA, BGRX, RGBX, GRAY, NV12, NV21,
        NV24, I420, YV12 or I444. Y, U and V are computed from the resized pixels and their border by the spec's matrix
        and range, in integers with 20 fractional bits; for BT.601 in limited range as by cv2.COLOR_BGR2YUV_I420. U and
        V are those of the top left one of the pixels that share them.
    resize
        "letterbox" (the whole frame with a border), "letterbox_top_left" (with a border at the right and bottom only,
        as for YOLOX; but YOLOX rounds the side that is not exact down, and here it is rounded to the nearest pixel, so
        that it is one larger for many frames), "stretch" (the whole frame, whatever its aspect), or "crop" (the largest
        centred part of the frame with the input's aspect, in whole frame pixels).
    interpolation
        "linear", "cubic", "area", "nearest" or "nearest_floor", as in cv2.resize, on the uint8 pixels. "linear" is
        OpenCV's reference arithmetic on every processor, as its wheels for x86 have it. "area" is the filter for
        shrinking; it is fast by whole factors, and fastest if colours need no conversion. "nearest" takes the pixel in
        the middle (INTER_NEAREST_EXACT of OpenCV 5, and PIL); "nearest_floor" the one at its top left (INTER_NEAREST).
    source
        The frames' pixel format: its name (BGR, NV12, YUYV ...: see :class:`FrameSpec`), for frames of any size, in
        BT.601 and limited range if they are YUV; or a FrameSpec, for frames of its size, pitches and colours.
    yuv
        How frames of Y, U and V are resized; results differ where pixels share U and V. "exact": pixels are converted,
        each with the nearest sample of U and V, and then resized, as by cv2.cvtColor and cv2.resize. "planes": Y, U and
        V are resized, each as an image of one channel, and then converted; only with "linear" and the two nearest
        interpolations. A target that is a FrameSpec of Y, U and V with the same matrix and range needs no conversion.
    color
        Channel order that the model reads: RGB, BGR, GRAY, RGBA or BGRA. GRAY is cv2.cvtColor's, or of Y, U and V it is
        Y, brought to 0..255; the frame's pixels become gray before they are resized (with ``yuv="planes"`` after that).
        Alpha is 255 if the source has none, and dropped if the model has none. The buffer has the same order unless
        ``target.channels``, or a FrameSpec's format, says another: then mean, std and pad_value stay in the model's
        order, and the scales of the target's quantization for each C are in the buffer's.
    mean, std
        In pixel units (0..255): one number, or one for each channel in the model's order. A pixel x becomes
        ``(x - mean) * (1 / std)`` in float32.
    pad_value
        The letterbox's border in pixel units, rounded: one number, or one for each channel in the model's order.
    scaleup
        False: a letterbox does not enlarge a frame, or a part of one, that fits into the input, but adds a border to
        it. "stretch" and "crop" have no border, and enlarge it all the same.

    Raises
    ------
    NpuLayoutError
        If the arguments do not fit each other. mean 0 and std 1 are needed for a FrameSpec, and for an integer target
        that stores pixels as they are: uint8 without a quantization, or integers that stand for 0 to 255 (scale 1, and
        zero point 0 for uint8 or -128 for int8). Integers of any other quantization have to represent more than half of
        what mean and std make of the pixels 0..255, in each channel. A std below 1, and a mean that is not 0 and below
        1 in every channel, are refused: they belong to pixels from 0 to 1, or the mean is negative, as a bias is.

    A Preprocessor may be shared by threads: each has scratch memory of its own. It may be pickled.

    Examples
    --------
    >>> spec = TensorSpec((1, 3, 4, 4), "NCHW4c", "uint8")
    >>> buffer, geometry = Preprocessor(spec)(np.full((2, 4, 3), 7, np.uint8))
    >>> buffer.shape, buffer[0, 0, :, 0].tolist(), geometry.pad_ltrb
    ((1, 1, 4, 4, 4), [[114, 114, 114, 0], [7, 7, 7, 0], [7, 7, 7, 0], [114, 114, 114, 0]], (0, 1, 0, 1))
    """

    target: TensorSpec | FrameSpec
    resize: str
    interpolation: str
    source: str | FrameSpec
    yuv: str
    color: str
    scaleup: bool

    @checked_call
    def __init__(
        self,
        target: TensorSpec | FrameSpec,
        *,
        resize: str = "letterbox",
        interpolation: str = "linear",
        source: str | FrameSpec | Mapping[str, Any] = "BGR",
        yuv: str = "exact",
        color: str = "RGB",
        mean: Any = 0,
        std: Any = 1,
        pad_value: Any = 114,
        scaleup: bool = True,
    ) -> None:
        self.scaleup = flag("scaleup", scaleup)
        check_choices(resize=resize, interpolation=interpolation, yuv=yuv, color=color)
        if yuv == "planes" and interpolation not in PLANES:
            raise NpuLayoutError(f"yuv='planes' resizes by {', '.join(PLANES)}, got interpolation={interpolation!r}")
        self._source = FrameSource.of(source)
        self._stored = stored_pixels(target, color) if isinstance(target, FrameSpec) else target
        extents = checked_target(self._stored, color)
        self.target, self.resize, self.interpolation = target, resize, interpolation
        self.source, self.yuv, self.color = self._source.given, yuv, color
        # Through the model's channels, as they are written.
        self._step = 1 if self._stored.channels in (None, color) else -1
        self._numbers = PixelNumbers.of(mean, std, pad_value, extents["C"])
        if isinstance(target, FrameSpec):
            check_plain(target, self._numbers.is_plain, mean, std)
        self._yuv = yuv_writer(target)
        check_unquantised(self._stored, self._numbers.is_plain, mean, std)
        self._affine = self._numbers.affine(self._stored, color, self._step)
        self._input_wh = (extents["W"], extents["H"])
        self._batch = extents.get("N", 1)
        self._canvas = Canvas(
            self._source.format, color, self._step, self._numbers.pad, interpolation, yuv, self._input_wh, self._batch
        )
        self._resizer = plane_resizer(target, interpolation, self._wanted.border) if yuv == "planes" else None
        self._passes = Passes(self._wanted, self._batch, self._canvas.copied)

    def __repr__(self) -> str:
        return f"Preprocessor({self.target!r}, {', '.join(f'{k}={v!r}' for k, v in self.arguments.items())})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("plan", "_passes")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._passes = Passes(self._wanted, self._batch, self._canvas.copied)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments other than `target`, JSON-ready: a FrameSpec as its dict; mean, std and pad_value as lists."""
        chosen = self.resize, self.interpolation, self._source.argument, self.color
        values = (*chosen, *self._numbers, self.yuv, self.scaleup)
        return {name: list(v) if isinstance(v, tuple) else v for name, v in zip(ARGUMENTS, values)}

    @checked_call
    def __call__(
        self, frame: Any, out: np.ndarray | None = None, *, roi_xywh: Sequence[int] | None = None
    ) -> tuple[np.ndarray, Geometry]:
        """Return the input buffer of one frame, and its Geometry.

        Parameters
        ----------
        frame
            A uint8 array in OpenCV's shape: (H, W, channels) for BGR and its kind, (H, W) for GRAY and mosaics,
            (H * 3/2, W) for NV12, NV21, I420, YV12 and P010, (H, W, 2) for YUYV and its kind; uint16 for GRAY16, RGB565
            and P010. Or a tuple or list of the frame's planes, with any pitch, as FrameSpec.planes returns them; or a
            frame of PyAV, DepthAI or ROS, which describes itself. If `source` is a FrameSpec, also the frame's memory:
            bytes, memoryview, mmap. Arrays may have any strides; but one array of several planes, or of YUYV and its
            kind, is refused if it is mirrored or turned. The frame is never changed.
        out
            The buffer to write to, with the shape and dtype of the result, C-contiguous. From the second call on, the
            compiled kernels then allocate nothing that grows with the image, but for JPEGs, for mosaics and RGB565 in
            gray, and for tiles where planes become planes.
        roi_xywh
            x, y, width and height in pixels of the part of the frame that is used; None: all of it.

        Returns
        -------
        The buffer, which is `out` if that is given, and the Geometry, which maps to and from the whole frame. The
        buffer is the storage array of `target`, with zeros in pad elements and gaps. It is 1-D, of ``target.size``
        elements, if that storage has gaps, and for a FrameSpec, whose `planes` returns views of it.

        Raises
        ------
        NpuLayoutError
            On a frame, a part or an `out` that does not fit; nothing was written then.
        """
        if roi_xywh is None:
            if self._resizer is not None:
                fitting = self._fitting(out, planes=True)
                geometry = None if fitting is None else self._resizer.write_known(frame, fitting, out is None)
                if fitting is not None and geometry is not None:
                    return fitting, geometry
            known = self._passes.known.get(form_of(frame))
            if known is not None:
                run, geometry = known
                fitting = self._fitting(out)
                if fitting is not None and run(fitting, frame):
                    return fitting, geometry
                if self._yuv is not None:
                    made_of_pixels = self._yuv_at_once(self._yuv, run, frame, out)
                    if made_of_pixels is not None:
                        return made_of_pixels, geometry
        elif self._batch == 1:
            fitting = self._fitting(out)
            if fitting is not None:
                made = self._passes.write_part(frame, fitting, lambda wh: self._geometry(wh, roi_xywh, "roi_xywh"))
                if made is not None:
                    return fitting, made
        buffer, geometries = self._written([frame], out, None if roi_xywh is None else [roi_xywh], "roi_xywh")
        return buffer, geometries[0]

    @checked_call
    def batch(
        self,
        frames: Sequence[Any],
        out: np.ndarray | None = None,
        *,
        rois_xywh: Sequence[Sequence[int] | None] | None = None,
    ) -> tuple[np.ndarray, list[Geometry]]:
        """Return the input buffer of N frames, N as in `target`, and a list with the Geometry of each.

        frames: N frames, each as for a call with one, such as uint8 images (H, W, channels) for BGR; their sizes may
        differ, and one frame may be given several times. rois_xywh: for each frame the part that is used, x, y, width
        and height in pixels, or None for all of it. out, the buffer and errors are as for one frame; NpuLayoutError
        also if there are more or fewer frames or parts than N.
        """
        given = sequence_of("frames", frames, "frames", 3)
        if rois_xywh is None and len(given) == self._batch:
            fitting = self._fitting(out)
            made = None if fitting is None else self._passes.write_batch(given, fitting, new=out is None)
            if fitting is not None and made is not None:
                return fitting, made
        rois = None if rois_xywh is None else sequence_of("rois_xywh", rois_xywh, "parts (x, y, width, height)", 2)
        return self._written(given, out, rois, "rois_xywh[{}]")

    def _written(
        self, given: Sequence[Any], out: np.ndarray | None, rois: Sequence[Any] | None, part: str
    ) -> tuple[np.ndarray, list[Geometry]]:
        rois = [None] * len(given) if rois is None else rois
        for what, items in (("frames", given), ("rois_xywh", rois)):
            if len(items) != self._batch:
                give = "; give so many frames to batch()" if part == "roi_xywh" else ""
                raise NpuLayoutError(
                    f"{what}: got {len(items)}; target {self.target.describe()} expects {self._batch} (its N){give}"
                )
        if self._batch == 1:
            frames = [self._source.read("frame", given[0])]
        else:
            frames = [self._source.read(f"frame {i}", frame) for i, frame in enumerate(given)]
        geometries = [
            self._geometry(frame.size_wh, roi, part.format(i)) for i, (frame, roi) in enumerate(zip(frames, rois))
        ]
        buffer = self._buffer(out, frames)
        whole = given[0] if rois[0] is None else None
        if self._resizer is not None and self._resizer.write(frames[0], geometries[0], buffer, whole):
            return buffer, geometries
        pixels = buffer if self._yuv is None else self._canvas.scratch("pixels of planes", self._stored.storage_shape)
        if not self._passes.write(frames, geometries, pixels, given, [roi is None for roi in rois]):
            fitted = self._canvas.fitted(frames, geometries)
            self.plan.run(fitted.reshape(-1), pixels.reshape(-1))
        if self._yuv is not None:
            self._yuv.write(pixels, buffer)
        return buffer, geometries

    def _geometry(self, frame_wh: Pair, roi: Any, name: str) -> Geometry:
        """Return what is done to a frame, or to the part of it that is given as an argument of that name."""
        box = None if roi is None else checked_roi(name, roi, frame_wh)
        return part_geometry(self.resize, frame_wh, box, self._input_wh, self.scaleup)

    @cached_property
    def _wanted(self) -> Wanted:
        order = self.color if self.color == "GRAY" or self._step > 0 else self._stored.channels or self.color
        border = self._numbers.border(self._step)
        return Wanted(self._stored, self._affine, order, border, self.interpolation, self.yuv == "exact")

    def _fitting(self, out: Any, *, planes: bool = False) -> np.ndarray | None:
        """Return what a pass writes at once: new memory, or `out` if its shape and dtype fit; None: checks first."""
        if self._yuv is not None and not planes:
            return None
        if out is None:
            return np.empty(self._buffer_shape, self._stored.stored)
        fits = type(out) is np.ndarray and out.shape == self._buffer_shape and out.dtype == self._stored.stored
        return out if fits else None

    def _yuv_at_once(self, yuv: YuvWriter, run: Run, frame: Any, out: Any) -> np.ndarray | None:
        """Return the Y, U and V of a frame whose pixels `run` writes; None: checks first, nothing was written."""
        fitting = self._fitting(out, planes=True)
        if fitting is None or not fitting.flags.carray:
            return None
        if out is not None and any(overlap(fitting, array) for array in arrays_of(frame)):
            return None
        pixels = self._canvas.scratch("pixels of planes", self._stored.storage_shape)
        if not run(pixels, frame):
            return None
        yuv.write(pixels, fitting)
        return fitting

    def _buffer(self, out: np.ndarray | None, frames: Sequence[FramePlanes]) -> np.ndarray:
        if out is None:
            return np.empty(self._buffer_shape, self._stored.stored)
        buffer = check_out(
            out, self._buffer_shape, self._stored.stored, None, lambda: f"target {self.target.describe()}"
        )
        if not buffer.flags.c_contiguous:
            raise NpuLayoutError(
                f"out for target {self.target.describe()}: expected a C-contiguous array, got strides {buffer.strides}"
            )
        for frame in frames:
            for plane in frame.planes:
                if overlap(buffer, plane):
                    raise NpuLayoutError(
                        f"out for target {self.target.describe()} shares memory with a frame; give other memory"
                    )
        return buffer

    @cached_property
    def _buffer_shape(self) -> tuple[int, ...]:
        if isinstance(self.target, FrameSpec):
            return (self.target.size or 0,)
        return self.target.storage_shape if self.target.storage.is_dense else (self.target.size,)

    @cached_property
    def plan(self) -> Plan:
        """The conversion of resized frames (N, H, W, channels of `source`; uint8, flat) to the buffer."""
        return self._canvas.plan(self._stored, self._affine)


def compiled_pass(preprocess: Preprocessor, frame: np.ndarray, backend: str) -> Run | None:
    """Return ``run(buffer, frame)`` by one kind of kernels, for frames like this one; None if it is not compiled."""
    read = preprocess._source.read("frame", frame)
    geometry, yuv = preprocess._geometry(read.size_wh, None, ""), preprocess._yuv
    if preprocess._resizer is not None:
        return preprocess._resizer.compiled(frame, read, geometry, backend)
    made = pass_of(preprocess._wanted, read, geometry, backend)
    run = None if made is None else made.within(frame, read.planes)
    if run is None or yuv is None:
        return run
    of_pixels, pixels = run, np.empty(preprocess._stored.storage_shape, np.uint8)

    def of_planes(buffer: np.ndarray, frame: Any) -> bool:
        if not of_pixels(pixels, frame):
            return False
        yuv.write(pixels, buffer, backend)
        return True

    return of_planes
