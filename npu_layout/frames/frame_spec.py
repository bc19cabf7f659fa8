"""Describe a camera's frame: its pixel format, its size, the bytes of a row, and where each plane begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import BufferSizeError, NpuLayoutError
from ..support import checked_call, one_of, shown, whole_number, whole_numbers
from .byte_views import bytes_of
from .camera_stacks import buffers_of, described
from .color_matrices import MATRICES, RANGES
from .geometry import Pair
from .memory_misfits import Placed, check_separate, check_size, reading_words
from .pixel_formats import Plane, pixel_format
from .plane_memory import offsets_of, side_by_side, stored_rows, strides_of

_FIELDS = ("format", "size_wh", "strides", "offsets", "size", "matrix", "range")


@dataclass(frozen=True, init=False, repr=False)
class FrameSpec:
    """The description of a camera's frame as it is in memory. Frozen, hashable.

    Parameters
    ----------
    format
        BGR, RGB, BGRA, RGBA, BGRX, RGBX, GRAY, GRAY16, RGB565; NV12, NV21, NV16, NV24, I420, YV12, I422, I444; YUYV,
        UYVY, YVYU; P010; the mosaics RGGB, BGGR, GRBG, GBRG (the colours of the first two pixels of the first row, then
        of the second), also with 10P or 12P behind the name, for 10 or 12 bits packed as CSI-2 delivers them; NV12 in
        tiles: NV12_4L4, NV12_32L32, NV12_16L32S, NV12_8L128; MJPEG.
    size_wh
        Width and height in pixels. Halved planes of odd sizes have (w + 1) // 2 columns and (h + 1) // 2 rows.
    strides
        Bytes from one row to the next, for each plane; or one number for the first plane, from which the others follow
        as for V4L2's bytesperline. Default: rows without gaps. For tiles, the bytes of a row of pixels, in whole tiles:
        a row of tiles that are 32 rows high has 32 times as many bytes.
    offsets
        Byte at which each plane begins, in the order of memory. Default: where the plane before it ends, the gap of its
        last row and half filled tiles included.
    size
        Bytes of the whole buffer. Default: up to the end of the last plane's last row, its gap included.
    matrix, range
        How Y, U and V become colours: "bt601", "bt709" or "bt2020", and "limited" (Y from 16 to 235) or "full".

    Raises
    ------
    NpuLayoutError
        On an unknown format (the known ones are listed); on strides that are negative or shorter than a row; on planes
        that overlap or end behind `size`; and on a `size` that leaves open where the planes are. Unless `offsets` are
        given, it does if another usual reading explains it: a height that is rounded up, or, unless `strides` are
        given, rows that are; either may be rounded up to whole pages too. If rows of given strides explain the size
        with pages, it is refused only if a rounded height explains it without pages, or with smaller ones. A size that
        nothing explains is refused if the planes of a decoder, which rounds the height up, have room in it. Give
        `offsets`, and `strides` for the pitch, to say which reading is right.

    16-bit samples are little endian. Of a sample of P010 or GRAY16, or of 10 or 12 bits in a mosaic, the high 8 bits
    are used; the others are dropped, not rounded.

    Examples
    --------
    >>> spec = FrameSpec("NV12", (1920, 1080), strides=2048)
    >>> spec.strides, spec.offsets, spec.size
    ((2048, 2048), (0, 2211840), 3317760)
    >>> [plane.shape for plane in spec.planes(bytes(spec.size))]
    [(1080, 1920), (540, 960, 2)]
    """

    format: str
    size_wh: Pair
    strides: tuple[int, ...]
    offsets: tuple[int, ...]
    size: int | None
    matrix: str
    range: str

    @checked_call
    def __init__(
        self,
        format: str,
        size_wh: Sequence[int],
        *,
        strides: int | Sequence[int] | None = None,
        offsets: Sequence[int] | None = None,
        size: int | None = None,
        matrix: str = "bt601",
        range: str = "limited",
    ) -> None:
        form = pixel_format(format)
        width, height = whole_numbers("size_wh", size_wh, 2, 1)
        what = f"FrameSpec {format} of {width}x{height}"
        if form.kind == "coded" and not (strides is None and offsets is None and size is None):
            raise NpuLayoutError(
                f"{what}: compressed bytes have no strides, offsets or size of their own; leave them out"
            )
        pitches = strides_of(what, form.planes, width, strides)
        starts = offsets_of(what, form.planes, height, pitches, offsets)
        values = dict(format=format, size_wh=(width, height), strides=pitches, offsets=starts, size=None)
        values.update(matrix=one_of("matrix", matrix, MATRICES), range=one_of("range", range, RANGES))
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if form.kind != "coded":
            object.__setattr__(self, "size", self._checked_size(what, size))
            if offsets is None and size is not None:
                check_size(self._placed, what, self.size, strides_given=strides is not None)

    @property
    def _placed(self) -> Placed:
        """Where the planes are, with what messages need to know."""
        return Placed(self.format, pixel_format(self.format), self.size_wh, self.strides, self.offsets)

    def _checked_size(self, what: str, given: int | None) -> int:
        """Return the bytes of the buffer; NpuLayoutError if planes overlap or end behind it."""
        ends, spans = [], []
        for plane, stride, offset in zip(pixel_format(self.format).planes, self.strides, self.offsets):
            rows, row = stored_rows(plane, self.size_wh[1]), plane.row_bytes(self.size_wh[0])
            row = stride if plane.tile else row
            ends.append((offset + stride * rows, offset + stride * (rows - 1) + row))
            spans.append((plane.name, offset, ends[-1][1], stride, row))
        for i, (name, start, end, stride, row) in enumerate(spans):
            for other, other_start, other_end, other_stride, other_row in spans[i + 1 :]:
                beside = stride == other_stride and side_by_side(other_start - start, stride, row, other_row)
                if start < other_end and other_start < end and not beside:
                    raise NpuLayoutError(
                        f"{what}: offsets {self.offsets} with strides {self.strides}: planes {name} (bytes {start} to "
                        f"{end}) and {other} ({other_start} to {other_end}) overlap"
                    )
        if given is None:
            return max(end for end, _ in ends)
        size, needed = whole_number("size", given), max(last for _, last in ends)
        if size < needed:
            raise NpuLayoutError(f"{what}: size {size} is too small; strides {self.strides} need {needed} bytes")
        return size

    @property
    def is_dense(self) -> bool:
        """Whether rows follow each other without gaps."""
        return self._placed.is_dense

    def __repr__(self) -> str:
        plain = FrameSpec(self.format, self.size_wh)
        gap = self.size is not None and self.size > self._placed.end  # of which the places of planes do not follow
        given = [
            f"{name}={getattr(self, name)!r}"
            for name in _FIELDS[2:]
            if getattr(self, name) != getattr(plain, name) or (gap and name in ("strides", "offsets"))
        ]
        return f"FrameSpec({', '.join([repr(self.format), repr(self.size_wh), *given])})"

    def describe(self) -> str:
        """Return the spec as messages name it: ``NV12 of 1920x1080 with strides (2048, 2048)``."""
        return self._placed.describe()

    def planes(self, buffer: Any) -> tuple[np.ndarray, ...]:
        """Return the planes of a frame as views of its memory, without a copy; read-only if the memory is.

        Parameters
        ----------
        buffer
            The frame in one piece of `size` bytes: bytes, memoryview, mmap or a C-contiguous uint8 array; or a tuple or
            list of such buffers, one for each plane, which begins at its byte 0 and has the spec's stride; or a frame
            of PyAV, DepthAI or ROS. A plane's own buffer may be larger, such as rounded up to a page. It is refused if
            another usual pitch, with a height that is rounded up or not, explains the sizes of all planes as well as
            the spec's (better, if the spec's rows have gaps), or if the spec's rows do not explain the sizes of all
            planes and another pitch explains that of one.

        Returns
        -------
        Arrays in the order of memory: uint8, but little-endian uint16 for GRAY16, RGB565 and P010. Their shapes are
        (H, W, channels) for BGR and its kind, (H, W, 2) for YUYV and its kind, (H, W) for Y, GRAY and mosaics,
        (H / 2, W / 2, 2) for the pairs of NV12, (H / 2, W / 2) for U and V of I420, (H, bytes of a row) for packed
        mosaics, (rows of tiles, tiles, rows of a tile, bytes of its row) for tiles; 1-D for MJPEG. Halves are rounded
        up.

        Raises
        ------
        BufferSizeError
            On a buffer of another size; if another pitch explains it, the message names both readings. On separate
            planes whose size another pitch explains.
        NpuLayoutError
            On anything that is no such memory.
        """
        given = buffers_of(buffer)
        if self.size is None:
            return (bytes_of(given[0] if isinstance(given, (tuple, list)) else given, "buffer"),)
        if isinstance(given, (tuple, list)):
            return self._separate(given)
        memory = bytes_of(given, "buffer")
        if memory.size != self.size:
            other = reading_words(self._placed, memory.size)
            if not other and memory.size > self.size:
                other = f"; if rows have gaps, give their strides=; if all is at the end, its first {self.size} bytes"
            raise BufferSizeError(f"buffer has {memory.size} bytes; {self.describe()} needs {self.size}{other}")
        return tuple(
            map(self._view, pixel_format(self.format).planes, self.strides, self.offsets, [memory] * len(self.offsets))
        )

    def _separate(self, buffers: Sequence[Any]) -> tuple[np.ndarray, ...]:
        planes = pixel_format(self.format).planes
        if len(buffers) != len(planes):
            names = ", ".join(plane.name for plane in planes)
            raise NpuLayoutError(f"buffer has {len(buffers)} planes; {self.describe()} has {len(planes)}: {names}")
        memories = []
        for plane, stride, given in zip(planes, self.strides, buffers):
            memory, rows = bytes_of(given, f"buffer: plane {plane.name}"), stored_rows(plane, self.size_wh[1])
            row = stride if plane.tile else plane.row_bytes(self.size_wh[0])
            if memory.size < stride * (rows - 1) + row:
                raise BufferSizeError(
                    f"buffer: plane {plane.name} has {memory.size} bytes; {self.describe()} needs "
                    f"{stride * (rows - 1) + row}: {rows} rows, one every {stride} bytes"
                )
            memories.append(memory)
        if not pixel_format(self.format).is_tiled:
            check_separate(self._placed, tuple(memory.size for memory in memories))
        return tuple(map(self._view, planes, self.strides, [0] * len(planes), memories))

    def _view(self, plane: Plane, stride: int, offset: int, memory: np.ndarray) -> np.ndarray:
        width, height = self.size_wh
        dtype = np.dtype(plane.dtype)
        if plane.tile is not None:
            tile_w, tile_h = plane.tile
            shape = plane.layout.storage_shape((plane.rows(height), plane.row_bytes(width)))
            return np.ndarray(shape, dtype, memory, offset, (stride * tile_h, tile_w * tile_h, tile_w, 1))
        steps = (stride, *([dtype.itemsize * plane.channels] if plane.channels else []), dtype.itemsize)
        return np.ndarray(plane.view_shape(self.size_wh), dtype, memory, offset, steps)

    @classmethod
    @checked_call
    def of(cls, x: Any, *, stream: str = "main") -> FrameSpec:
        """Return the spec of another library's frame, with the pitches that the frame has; no pixel is copied.

        Parameters
        ----------
        x
            A PyAV VideoFrame; a GStreamer sample, or its GstVideo.VideoMeta or VideoInfo; a picamera2 request,
            the configuration of its camera, or that of one of its streams, which does not say the colour space; a
            DepthAI ImgFrame; a Pillow image; a ROS sensor_msgs/Image or CompressedImage; a RealSense or Orbbec video
            frame; a pylon GrabResult; a jetson_utils cudaImage; a Harvesters component; a Frame of linuxpy; a
            v4l2_format, as VIDIOC_G_FMT fills it, its v4l2_pix_format or v4l2_pix_format_mplane. Only attributes of the
            object are read: none of these libraries is imported.
        stream
            Which stream of a picamera2 request or of its camera's configuration: "main", "lores" or "raw".

        Raises
        ------
        BufferSizeError
            On a GStreamer sample whose VideoMeta is missing or cannot be read, and whose size is not that of its caps.
        NpuLayoutError
            On any other object; on a format that is not in the table (the message has the library's own name for it);
            on a stream that is not there; and on a V4L2 buffer whose size leaves open where its planes begin.

        ``npu_layout/frames/camera_stacks.py``, ``camera_sdks.py``, ``gstreamer.py``, ``picamera2.py`` and ``v4l2.py``
        list the attributes that are read, and where each library documents them.
        """
        return cls(**described(x, stream))

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict; from_dict makes an equal spec of it."""
        plain = {name: getattr(self, name) for name in _FIELDS}
        if self.size is None:
            plain = {name: value for name, value in plain.items() if name not in ("strides", "offsets", "size")}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}

    @classmethod
    def from_dict(cls, d: Any) -> FrameSpec:
        """Return the spec that the dict `d`, a result of to_dict, describes; "format" and "size_wh" are required.

        Raises NpuLayoutError on an unknown key or without a required one, else the errors of FrameSpec.
        """
        if not isinstance(d, Mapping):
            raise NpuLayoutError(f"d: expected a dict, got {shown(d)}")
        unknown, missing = set(d) - set(_FIELDS), {"format", "size_wh"} - set(d)
        if unknown or missing:
            words = f"unknown keys {sorted(map(str, unknown))}" if unknown else f"no {' and no '.join(sorted(missing))}"
            raise NpuLayoutError(f"d: {words}; the keys are {', '.join(_FIELDS)}")
        return cls(**d)
