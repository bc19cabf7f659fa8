"""Find how canvases of pixels become a Preprocessor's buffer: which rows at a time, and by which programs."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..buffers import TensorSpec
from ..layouts import Affine, Layout, Storage, affine_copy, plan_move

_BAND = 1 << 14  # bytes of a band of rows, at most, so that it stays in L1 with what is read and written


class Wanted(NamedTuple):
    """What a Preprocessor writes: its target, the arithmetic, and the channels and the border of its canvas."""

    target: TensorSpec
    affine: Affine | None
    order: str  #: channels as they are written
    border: bytes
    interpolation: str
    exact: bool  #: pictures of Y, U and V are converted, then resized
    alongside: int = 0  #: bytes of the buffers of a batch's other frames


class BufferWriting(NamedTuple):
    """How canvases of one kind become the buffer: in bands of rows, by programs."""

    flipped: bool  #: pixels are stored as int8 that are 128 less
    rows: int  #: of a band
    pitch: int  #: elements from one row of the buffer to the next; 0: it is not written in bands
    programs: tuple[Any, Any]  #: of a band, and of the rows behind the last one; None: the canvas is the result


@lru_cache(maxsize=64)
def written_by(
    wanted: Wanted, channels: int, packed: bool, input_wh: tuple[int, int], backend: str | None
) -> BufferWriting | None:
    """Return how canvases of so many channels become the buffer, whichever picture is in them; None: not by programs.

    packed: a canvas has pixels one after the other, else planes.
    """
    storage = wanted.target.storage
    (width, height), element = input_wh, wanted.target.element.kernel
    pitch = _row_pitch(storage)
    if not pitch and "N" in storage.layout.axes and storage.extent("N") > 1:
        return None
    band = max(1, min(height, _BAND // (width * channels))) if pitch else height
    flipped = _only_flips(wanted.affine, element)
    canvas, affine = ("int8", None) if flipped else ("uint8", wanted.affine)
    fits_a_row = (pitch or 0) >= width * channels  # a single row may have any pitch
    direct = fits_a_row and packed and affine is None and element == canvas and _has_rows_of_pixels(storage)

    def program(rows: int) -> Any:
        if direct or not rows:
            return None
        target = _rows_of(storage, rows) if pitch else storage
        plan = plan_move(_canvas(target, width, rows, channels, packed), target, canvas, element, affine, not pitch)
        return plan.program(backend, wanted.alongside)

    return BufferWriting(flipped, band, pitch or 0, (program(band), program(height % band if pitch else 0)))


@lru_cache(maxsize=64)
def _only_flips(affine: Affine | None, element: str) -> bool:
    """Return whether every pixel is stored as int8 that is 128 less, whatever its channel."""
    if affine is None or element != "int8" or any(v is not None and len(set(v)) > 1 for v in affine.values):
        return False
    pixels, stored = np.arange(256, dtype=np.uint8), np.empty(256, np.int8)
    one_channel = affine._replace(**{k: v[:1] for k, v in zip(affine._fields[1:5], affine.values) if v is not None})
    affine_copy(Layout("W"), pixels, stored, "uint8", "int8", one_channel)
    return bool((stored.view(np.uint8) == pixels ^ 0x80).all())


def unblocked_stride(storage: Storage, letter: str) -> int | None:
    """Return the stride of an axis that is one dimension, without padding; None if it is not."""
    chain = storage.chain(letter)
    whole = len(chain) == 1 and chain[0].extent == storage.extent(letter) and chain[0].stride > 0
    return chain[0].stride if whole else None


def _row_pitch(storage: Storage) -> int | None:
    """Return the elements from one row of pixels to the next, if rows can be written band by band; else None."""
    axes = storage.layout.axes
    if not storage.is_dense or ("N" in axes and (storage.extent("N") > 1 or unblocked_stride(storage, "N") is None)):
        return None
    return unblocked_stride(storage, "H")


def _has_rows_of_pixels(storage: Storage) -> bool:
    """Return whether the channels of a pixel, and the pixels of a row, are stored without gaps."""
    return unblocked_stride(storage, "C") == 1 and unblocked_stride(storage, "W") == storage.extent("C")


def _rows_of(storage: Storage, rows: int) -> Storage:
    """Return the storage of the first rows of pixels."""
    axis = storage.layout.axes.index("H")
    dim = next(i for i, d in enumerate(storage.layout.dims) if d.axis == axis)
    shape, stored = list(storage.shape), list(storage.storage_shape)
    shape[axis] = stored[dim] = rows
    return Storage.bind(storage.layout, shape, stored, storage.strides, storage.start)


def _canvas(target: Storage, width: int, rows: int, channels: int, packed: bool) -> Storage:
    """Return the canvas of a band: rows of pixels, or planes."""
    layout = Layout("NHWC" if "N" in target.layout.axes else "HWC")
    strides = (rows * width * channels, *((width * channels, channels, 1) if packed else (width, 1, rows * width)))
    extents = {"N": 1, "H": rows, "W": width, "C": channels}
    sizes = [extents[a] for a in layout.axes]
    return Storage.bind(layout, sizes, None, strides[-len(sizes) :], 0, rows * width * channels)
