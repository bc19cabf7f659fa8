"""Turn a camera's frame into the single array that a recording contains, and that array into a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import NpuLayoutError
from ..support import naming
from .camera_stacks import is_described
from .frame_misfits import turned
from .frame_shapes import packed_shape
from .frame_source import FrameSource
from .frame_spec import FrameSpec
from .geometry import Quad
from .pictures import FramePlanes, picture
from .preprocess_arguments import checked_roi

How = dict[str, Any]


def frame_array(frame: Any, how: Mapping[str, Any]) -> np.ndarray:
    """Return a camera's frame as one array, from which a Preprocessor with the arguments `how` makes the same input.

    If the source is a format's name: the array itself, or a copy of the planes in one array of OpenCV's shape. If it is
    a FrameSpec: a copy of the frame's memory, (size,) uint8, with zeros in its gaps. NpuLayoutError if the frame does
    not fit, if planes of odd sizes fit no such array, and if a frame describes other colours than the format's name.
    """
    source = FrameSource.of(how.get("source", "BGR"))
    if source.spec is None and isinstance(frame, np.ndarray):
        wrong = turned(source.format, frame) if frame.ndim > 1 else ""
        if wrong:  # a copy of which no longer shows it
            raise NpuLayoutError(f"frame: an array of {source.name}, {wrong}; give what the camera delivered")
        return frame
    read = source.read("frame", frame)
    if source.format.kind == "coded":
        return read.planes[0]
    spec = source.spec or FrameSpec(source.name, read.size_wh)
    if source.spec is None and source.format.kind == "yuv" and is_described(frame):
        _check_colors(spec, FrameSpec.of(frame))
    memory = np.zeros(spec.size or 0, np.uint8)
    for plane, own in zip(read.planes, spec.planes(memory)):
        own[...] = plane
    if source.spec is not None:
        return memory
    shape = packed_shape(source.name, read.size_wh)
    if shape is None:
        raise NpuLayoutError(
            f"frame: planes of {spec.describe()} fit no single array; expected source=FrameSpec(...) in preprocess, so "
            f"that the recording describes them"
        )
    return memory.view(source.format.planes[0].dtype).reshape(shape)


def _check_colors(spec: FrameSpec, own: FrameSpec) -> None:
    """Raise NpuLayoutError if a frame describes other colours than its recording would."""
    if (own.matrix, own.range) != (spec.matrix, spec.range):
        raise NpuLayoutError(
            f"frame: it says {own.matrix}, {own.range}; a recording of source={spec.format!r} says {spec.matrix}, "
            f"{spec.range}: expected preprocess with source=FrameSpec.of(frame)"
        )


def frame_spec_of(source: Any, frame: np.ndarray) -> FrameSpec | None:
    """Return the FrameSpec of a recorded frame of Y, U and V; None if frames of `source` are anything else."""
    found = FrameSource.of(source)
    if found.format.kind != "yuv":
        return None
    return found.spec or FrameSpec(found.name, found.read("frame", frame).size_wh)


def with_bytes_exchanged(source: Any, frame: np.ndarray) -> np.ndarray | None:
    """Return a recorded frame with the two bytes of each sample of 16 bits in each other's place.

    None if frames of `source` have no such samples.
    """
    if {plane.dtype for plane in FrameSource.of(source).format.planes} != {"<u2"}:
        return None
    memory = np.ascontiguousarray(frame)
    flat = memory.reshape(-1).view(np.uint8)
    pairs = flat[: flat.size // 2 * 2].reshape(-1, 2)[:, ::-1].reshape(-1)
    return np.concatenate([pairs, flat[pairs.size :]]).view(memory.dtype).reshape(memory.shape)


def frame_part(frame: Any, how: Mapping[str, Any], roi_xywh: Sequence[int] | None = None) -> Quad:
    """Return the part of a recorded frame that is used, x0, y0, x1, y1: all of it without roi_xywh.

    NpuLayoutError if the frame does not fit its source, or the part is not inside it.
    """
    return _part(_read(frame, how), roi_xywh)


def _read(frame: Any, how: Mapping[str, Any]) -> FramePlanes:
    return FrameSource.of(how.get("source", "BGR")).read("frame", frame)


def _part(read: FramePlanes, roi_xywh: Sequence[int] | None) -> Quad:
    return (0, 0, *read.size_wh) if roi_xywh is None else checked_roi("roi_xywh", roi_xywh, read.size_wh)


def as_channels(
    frame: np.ndarray, how: Mapping[str, Any], roi_xywh: Sequence[int] | None = None
) -> tuple[np.ndarray, How]:
    """Return a recorded frame as uint8 (H, W) or (H, W, channels), and the arguments that make its input from that.

    Frames of channels are returned as they are; others are converted, to gray if the model reads gray. The arguments
    lack `yuv`, because pixels are resized. roi_xywh: return only this part, which is a view of a frame of channels.
    """
    source = FrameSource.of(how.get("source", "BGR"))
    form = source.format
    if source.spec is None and form.kind == "channels" and form.planes[0].dtype == "<u1":
        if roi_xywh is None:
            return frame, dict(how)
        x0, y0, x1, y1 = frame_part(frame, how, roi_xywh)
        return frame[y0:y1, x0:x1], dict(how)
    gray = how.get("color") == "GRAY" and form.kind != "channels"
    read = source.read("frame", frame)
    part = _part(read, roi_xywh)
    with naming("frame"):
        pixels = picture(read, part, gray=gray)
    others = {name: value for name, value in how.items() if name != "yuv"}
    return np.ascontiguousarray(pixels), {**others, "source": "GRAY" if gray else form.order}
