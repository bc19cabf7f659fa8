"""Say what an array that fits no frame of a source may be, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np

from .frame_shapes import has_rows_alike, packed_shape, size_of, views_of
from .frame_spec import FrameSpec
from .memory_misfits import Placed, reading_words
from .pixel_formats import PIXEL_FORMATS, PixelFormat, pixel_format

_GRAYS = {"uint8": "GRAY", "uint16": "GRAY16"}


def expected(name: str, size_wh: tuple[int, int] | None) -> str:
    """Return in words which arrays are accepted; size_wh: of a frame's size, or None for any size."""
    form = pixel_format(name)
    dtype = np.dtype(form.planes[0].dtype).name
    if form.is_tiled:
        return f"memory of tiles: bytes, or {len(form.planes)} planes as FrameSpec.planes returns them,"
    if size_wh is not None:
        shapes = " and ".join(str(plane.view_shape(size_wh)) for plane in form.planes)
        packed = packed_shape(name, size_wh)
        stacked = f"{packed}, or planes " if packed and len(form.planes) > 1 else ""
        return f"a {dtype} array {stacked}{shapes}"
    words = [_words(plane.every_x, plane.every_y, plane.channels) for plane in form.planes]
    if len(words) == 1:
        columns = "bytes of a row" if form.high_bytes else "width"
        channels = f", {form.planes[0].channels}" if form.planes[0].channels else ""
        return f"a {dtype} array (height, {columns}{channels})"
    return f"a {dtype} array (height * {form.stacked}, width), or planes {' and '.join(words)},"


def _words(every_x: int, every_y: int, channels: int) -> str:
    parts = [f"{side}{f' / {every}' if every > 1 else ''}" for side, every in (("height", every_y), ("width", every_x))]
    return f"({', '.join([*parts, *([str(channels)] if channels else [])])})"


def hint(name: str, spec: FrameSpec | None, image: np.ndarray) -> str:
    """Return what else the array may be: rows with a pitch, or a height that has no such array."""
    form = pixel_format(name)
    size_wh = spec.size_wh if spec else None
    wanted = np.dtype(form.planes[0].dtype)
    if image.dtype == wanted.newbyteorder() and image.dtype != wanted:
        return f"; it is in big endian: give frame.astype({wanted.str!r})"
    channels = form.planes[0].channels
    if form.kind == "channels" and image.ndim == 3 and image.shape[0] == channels != image.shape[2]:
        return "; its channels come first: give frame.transpose(1, 2, 0), a view"
    gray = _GRAYS.get(image.dtype.name)
    if form.kind == "channels" and image.ndim == 3 and image.shape[2] == 1 and gray is not None:
        return f'; it has one channel: give source="{gray}" if that is brightness'
    if image.ndim == 4 and len(image) == 1:
        return "; it is a batch of one: give frame[0]"
    if size_wh is None and image.ndim == 2 and len(image) == 1:
        return ""  # flat bytes, of which nothing is known
    same = _same_bytes(name, size_wh, image)
    if size_wh is None:
        return _hint_of_any_size(name, image) + same
    if same:
        return same
    packed, exchanged = packed_shape(name, size_wh), (size_wh[1], size_wh[0])
    if exchanged != size_wh and image.shape == packed_shape(name, exchanged):
        return f"; size_wh is width, then height: is it {exchanged}?"
    if packed and image.ndim == len(packed) and image.shape[0] == packed[0] and image.shape[1] > packed[1]:
        columns, pitch = packed[1], image.shape[1] * image.itemsize * int(np.prod(image.shape[2:]))
        if spec is not None and pitch == spec.strides[0]:
            own = f"{spec.describe()} has {spec.size}, in one piece"
            return f": {image.nbytes} bytes in rows of {pitch}; {own}"
        cut = f"frame[:, :{columns}], or the memory and " if has_rows_alike(form) else "the memory and "
        return (
            f": {columns} pixels a row and {image.shape[1]} differ; if {pitch} is the pitch in bytes, give "
            f"{cut}FrameSpec(..., strides={pitch})"
        )
    return _other_height(spec, image) or _other_format(image)


def _other_height(spec: FrameSpec | None, image: np.ndarray) -> str:
    """Return in words which rounded height explains an array of rows, as decoders round heights; "" if none does."""
    if spec is None or image.ndim != 2 or not image.flags.c_contiguous or image[0].nbytes != spec.strides[0]:
        return ""
    placed = Placed(spec.format, pixel_format(spec.format), spec.size_wh, spec.strides, spec.offsets)
    words = reading_words(placed, image.nbytes)
    return words if words.endswith(f"size={image.nbytes}") else ""


def _other_format(image: np.ndarray) -> str:
    """Return in words the formats of which an array of channels may be a frame; "" if there are none."""
    others = ", ".join(formats_of(image)) if image.ndim == 3 else ""
    return f"; it has the shape of {others}: say which by source=" if others else ""


def _same_bytes(name: str, size_wh: tuple[int, int] | None, image: np.ndarray) -> str:
    """Return in words how to view rows of bytes, or of words, as a frame of YUV or of words; "" if they are none.

    RealSense hands out YUYV as words of 16 bits, drivers hand out words and pairs as rows of bytes.
    """
    form = pixel_format(name)
    plane, dtype = form.planes[0], np.dtype(form.planes[0].dtype)
    plain = form.kind in ("channels", "mosaic") and dtype.itemsize == 1
    if plain or image.ndim not in (2, 3) or not image.size or image.dtype.kind not in "iu":
        return ""
    items, rest = divmod(image[0].nbytes, dtype.itemsize * (plane.channels or 1))
    shape = (len(image), items, *([plane.channels] if plane.channels else []))
    found = None if rest or (image.ndim == 3 and items != image.shape[1]) else size_of(name, shape)
    fits = found is not None and found == (size_wh or found) and packed_shape(name, found) == shape
    if not fits or (shape, dtype) == (image.shape, image.dtype):
        return ""
    view = "" if image.dtype == dtype else f".view(np.{dtype.name})"
    return f"; if its rows are bytes of {name}, give frame{view}.reshape{shape}"


def _hint_of_any_size(name: str, image: np.ndarray) -> str:
    """Return what an array is that is no frame of a format, whatever its size."""
    form = pixel_format(name)
    if image.dtype.kind == "f":
        return "; frames have pixels from 0 to 255: the Preprocessor applies mean and std"
    others = ", ".join(formats_of(image))
    other = f"; it has the shape of {others}: say which by source=" if others else ""
    dtype = np.dtype(form.planes[0].dtype)
    if image.dtype != dtype:
        wide = image.dtype.kind in "iu" and image.dtype.itemsize > 1 and dtype == np.uint8
        alike = not other and wide and size_of(name, image.shape) is not None
        return "; if its values are 0 to 255, give frame.astype(np.uint8)" if alike else other
    if len(form.planes) > 1 and image.ndim == 2 and max(form.steps) > 1:
        return f"; one array needs an even width{' and height' * (form.steps[1] > 1)}, give others as planes"
    if form.kind == "yuv" and image.ndim == 3 and image.shape[2] == 2:
        return "; two pixels share U and V, so that the width is even"
    return other


def formats_of(image: np.ndarray) -> list[str]:
    """Return the formats of which an array is a frame of some size: those of pixels, no bytes, tiles or files."""
    found = []
    for name, form in PIXEL_FORMATS.items():
        if form.kind == "coded" or form.is_tiled or form.high_bytes or image.dtype != np.dtype(form.planes[0].dtype):
            continue
        size_wh = size_of(name, image.shape)
        if size_wh is not None and packed_shape(name, size_wh) == image.shape:
            found.append(name)
    return found


def other_order(given: FrameSpec | None, spec: FrameSpec, planes: Sequence[np.ndarray]) -> str:
    """Return in words in which order the planes would fit, or that a pitch was given as pixels.

    given: the source's own spec, if it has one.
    """
    names = [plane.name for plane in pixel_format(spec.format).planes]
    for order in permutations(range(len(planes))):
        turned = [planes[i] for i in order]
        guess = given or FrameSpec(spec.format, (turned[0].shape[1], turned[0].shape[0]))
        if views_of(guess, turned) is not None:
            got = ", ".join(names[order.index(i)] for i in range(len(planes)))
            return f": they are in another order; expected {', '.join(names)}, got {got}"
    for form, plane in zip(pixel_format(spec.format).planes, planes):
        shape = form.view_shape(spec.size_wh)
        if plane.shape[0] == shape[0] and plane.shape[1] > shape[1] and len(plane.shape) == len(shape):
            return (
                f": plane {form.name} has {plane.shape[1]} columns for {shape[1]}; if {plane.strides[0]} is the "
                f"pitch in bytes, give plane[:, :{shape[1]}]"
            )
    return ""


def turned(form: PixelFormat, array: np.ndarray) -> str:
    """Return in words what a view of a whole frame that is mirrored or turned mixes up; "" if nothing.

    A frame of several planes, of pixels that share U and V in one plane, or of groups of bytes is none any more when
    its rows or columns are exchanged as if they were pixels. Mosaics of one byte a pixel are: of another name.
    """
    whole = len(form.planes) > 1
    pairs = any(plane.channels and form.kind == "yuv" for plane in form.planes)
    down, along = (stride if extent > 1 else None for extent, stride in zip(array.shape[:2], array.strides))
    if (whole or pairs or form.high_bytes) and down is not None and along is not None and abs(down) < abs(along):
        return "turned so that rows are columns"
    if whole and down is not None and down < 0:
        return f"upside down, so that rows of {form.planes[-1].name} come first"
    if (pairs or form.high_bytes) and along is not None and along < 0:
        return "mirrored so that " + (
            "U and V are exchanged" if pairs else "the bytes of a group of pixels are reversed"
        )
    return ""


def mirrored_apart(spec: FrameSpec, planes: Sequence[np.ndarray], views: Sequence[np.ndarray]) -> str:
    """Return in words what mirrored planes mix up: U and V, or which pixels share them; "" if nothing."""
    form = pixel_format(spec.format)
    if form.is_tiled and any(stride < 0 for view in views for stride in view.strides):
        return "mirrored so that tiles are reversed; mirror the picture that a Preprocessor makes of it"
    for axis, pixels, step in zip((1, 0), spec.size_wh, form.steps):
        if pixels > 1 and pixels % step and any(view.strides[axis] < 0 for view in views):
            return f"mirrored so that other ones of {pixels} pixels share U and V; give an even part of them"
    for plane, view in zip(planes, views):
        if plane.ndim < view.ndim and plane.strides[1] < 0:
            what = "U and V are" if form.kind == "yuv" else "the channels of a pixel are"
            return f"mirrored so that {what} exchanged; mirror the planes in the shape {view.shape}"
    if len(views) == 1 and (wrong := turned(form, views[0])):
        return f"{wrong}; {TURN_PICTURE}"
    return ""


TURN_PICTURE = "mirror or turn the picture that a Preprocessor makes of it"
TURN_PLANES = (
    "mirror or turn each plane, as FrameSpec.planes returns them, or the picture that a Preprocessor makes of it"
)
