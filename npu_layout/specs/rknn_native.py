"""Describe RKNN's native buffers: by the dims and size that the runtime reports, or by the rule of a chip."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..buffers import TensorSpec
from ..errors import LayoutError, NpuLayoutError
from ..layouts import Layout, c_strides
from ..support import nearest


class Atom(NamedTuple):
    """The native storage of a chip: channels of a block, and multiples that are padded to.

    `align` is the multiple of channels, `row` that of the pixels in an image's row.
    """

    c2: int
    align: int
    row: int


# By chip and bytes of an element, as the vendor's compiler (rknn-toolkit2 2.5.0, build(verbose=True)) prints its
# native shapes and sizes; blocks and rows are also in tables 5-1 and 5-2 of the RKNN SDK's User Guide V2.3.2. Planes
# are padded to a multiple of 4 pixels on every chip, but for a single pixel (5.7.3.4: 512x7x7 has 26,624 bytes,
# 1024x1x1 has 1,024). Images are inputs of 1, 3 or 4 channels.
_LARGE = {1: Atom(16, 32, 16), 2: Atom(8, 16, 8)}
_RK3566 = {1: Atom(8, 16, 8), 2: Atom(4, 8, 8)}
_RV1106 = {1: Atom(16, 16, 16)}
_ATOMS = {
    "rk3588": _LARGE,
    "rk3576": _LARGE,
    "rv1126b": _LARGE,
    "rk3562": {1: Atom(16, 16, 16), 2: Atom(8, 8, 8)},
    "rk3566": _RK3566,
    "rk3568": _RK3566,
    "rv1106": _RV1106,
    "rv1103": _RV1106,
}
_IMAGES = (1, 3, 4)

# Chips of the first rknn_api.h (rockchip-linux/rknpu), whose dims are listed fastest first.
FIRST_API = ("rk1808", "rk3399pro", "rv1109", "rv1126")


def _rounded_up(n: int, to: int) -> int:
    return -(-n // to) * to


class RknnTensor(NamedTuple):
    """A tensor as its logical attribute declares it; `common` contains the arguments of every spec of it."""

    dims: tuple[int, ...]
    axes: str
    common: dict[str, Any]

    def extents(self, letters: str) -> list[int]:
        """Return the extents of these axes; 1 for those that the tensor does not have."""
        return [dict(zip(self.axes, self.dims)).get(letter, 1) for letter in letters]

    def error(self, message: str) -> LayoutError:
        """Return an error that names the tensor."""
        return LayoutError(f"RKNN {self.common['name']!r}: {message}")


def by_rule(tensor: RknnTensor, pitch: int, atom: Atom | None) -> TensorSpec:
    """Return the native buffer by the rule of a chip's `atom`, or the contiguous buffer without one."""
    c, h, w = tensor.extents("CHW")
    if atom is not None:
        if tensor.axes == "NHWC" and c in _IMAGES:
            return _rows(tensor, 0, pitch or _rounded_up(w, atom.row), c)
        return _blocks(tensor, atom.c2, _rounded_up(c, atom.align) // atom.c2, (h, w), _plane(h * w))
    if tensor.axes == "NHWC":
        return _rows(tensor, 0, pitch or w, c)
    return TensorSpec(tensor.dims, Layout.plain(tensor.axes), **tensor.common)


class Native(NamedTuple):
    """What a native attribute says of its buffer: dims, their format, elements of the whole (0: not said), w_stride."""

    dims: tuple[int, ...]
    fmt: str
    size: int
    w_stride: int


def native_buffer(tensor: RknnTensor, native: Native, atom: Atom | None, itemsize: int) -> TensorSpec:
    """Return the native buffer: blocks, rows of pixels, or the tensor in the order of its own dims.

    The vendor's rknn_model_zoo (yolov8_zero_copy.cc) copies the last of these without a conversion.
    """
    reads = _NATIVE.get(native.fmt)
    spec = reads(tensor, native, atom, itemsize) if reads else None
    if spec is not None:
        return spec
    order = _ORDERS.get(native.fmt, tensor.axes) if len(native.dims) == 4 else tensor.axes
    if native.dims != tuple(tensor.extents(order) if len(tensor.dims) == 4 else tensor.dims):
        raise tensor.error(f"native dims {native.dims} ({native.fmt}) are not those of {tensor.dims} ({tensor.axes})")
    return TensorSpec(tensor.dims, Layout(order, tensor.axes), size=native.size or None, **tensor.common)


def _native_planes(tensor: RknnTensor, native: Native, atom: Atom | None, itemsize: int) -> TensorSpec:
    """Return the spec of a native NC1HWC2: blocks of channels, or an image's rows of pixels."""
    if len(native.dims) != 5:
        raise NpuLayoutError(f"RKNN native dims {native.dims}: expected N, C1, H, W, C2 for NC1HWC2")
    c, w = tensor.extents("CW")
    if native.dims[4] == c in (1, 3):  # smaller than any block: an image
        return _native_rows(tensor, native, _rounded_up(w, atom.row if atom else 16 // itemsize), c)
    return _native_blocks(tensor, native, atom)


def _native_pixels(tensor: RknnTensor, native: Native, atom: Atom | None, itemsize: int) -> TensorSpec | None:
    """Return NHWC with rows and pixels of the native extents; None if the tensor or its native dims are not 4."""
    if not len(native.dims) == len(tensor.dims) == 4:
        return None
    n, c, h, w = tensor.extents("NCHW")
    row, channels = native.dims[2:]
    if native.dims[:2] != (n, h) or row < w or channels < c:
        raise tensor.error(f"native dims {native.dims} (NHWC) are too small for {tensor.dims} ({tensor.axes})")
    return _native_rows(tensor, native, row, channels)


_NATIVE = {"NC1HWC2": _native_planes, "NHWC": _native_pixels}  # others are in the order of their own dims
_ORDERS = {"NCHW": "NCHW", "NHWC": "NHWC"}  # fmt: the order of its four dims; other values have none


def _native_rows(tensor: RknnTensor, native: Native, row: int, channels: int) -> TensorSpec:
    """Return NHWC with rows of w_stride pixels, or else of what the size allows, or else of `row` pixels."""
    n, h = tensor.extents("NH")
    pitch, rest = divmod(native.size, n * h * channels)
    return _rows(tensor, native.size, native.w_stride or (pitch if rest == 0 else 0) or row, channels)


def _native_blocks(tensor: RknnTensor, native: Native, atom: Atom | None) -> TensorSpec:
    """Return NC1HWC2 of the native dims, with as many planes, and as long ones, as the size allows.

    C1 in the dims counts the unpadded planes of `size` elements, and for 16-bit types rknn-toolkit2 2.5.0 prints four
    times that. So C1 is computed from the padded planes first.
    """
    n, c, h, w = tensor.extents("NCHW")
    batch, c1, rows, row, c2 = native.dims
    least, pixels = -(-c // c2), rows * row
    fits = rows >= h and row >= w if len(tensor.dims) == 4 else pixels * n * c == math.prod(tensor.dims)
    if batch != n or c1 < least or not fits:
        raise tensor.error(f"native dims {native.dims} (NC1HWC2) are too small for {tensor.dims} ({tensor.axes})")
    padded, size = _plane(pixels), native.size
    if not size:
        c1, size = _blocks_without_size(tensor, atom, native.dims)
    blocks, rest = divmod(size, n * c2)
    for planes, plane in ((blocks // padded, padded), (c1, blocks // c1), (least, blocks // least)):
        if rest == 0 and planes * plane == blocks and planes >= least and plane >= pixels:
            return _blocks(tensor, c2, planes, (rows, row), plane)
    raise tensor.error(
        f"size_with_stride is {size} elements, but NC1HWC2 of {tensor.dims} with C2={c2} needs {n}*C1*plane*{c2} with "
        f"C1 >= {least} and plane >= {pixels}"
    )


def _blocks_without_size(tensor: RknnTensor, atom: Atom | None, dims: tuple[int, ...]) -> tuple[int, int]:
    """Return C1 and the size of blocks if the runtime reports no size: by the rule of a chip, else as the dims say."""
    n, c1, rows, row, c2 = dims
    pixels, padded = rows * row, _plane(rows * row)
    if atom is None and padded != pixels:
        raise tensor.error(
            f"native_attr has no size_with_stride, which determines whether planes of {pixels} pixels are stored as "
            f"{padded}; give it, or target"
        )
    if atom is not None:
        c1 = _rounded_up(tensor.extents("C")[0], atom.align) // c2
    return c1, n * c1 * padded * c2


def _plane(pixels: int) -> int:
    return pixels if pixels == 1 else _rounded_up(pixels, 4)


def atom_of(target: str, itemsize: int) -> Atom:
    """Return the native storage of a chip for elements of so many bytes; NpuLayoutError if its rule is not known."""
    atoms = _ATOMS.get(str(target).lower())
    if atoms is None:
        chips = sorted((*_ATOMS, *FIRST_API))
        raise NpuLayoutError(f"RKNN target {target!r}: expected one of {', '.join(chips)}{nearest(target, chips)}")
    if itemsize not in atoms:
        raise NpuLayoutError(
            f"RKNN target {target!r}: no native rule is known for elements of {itemsize} bytes "
            f"(known: {sorted(atoms)}); give native_attr"
        )
    return atoms[itemsize]


def _rows(tensor: RknnTensor, size: int, pitch: int, channels: int) -> TensorSpec:
    """Return NHWC with rows of `pitch` pixels, in a buffer of at least `size` elements."""
    n, h, w = tensor.extents("NHW")
    if pitch < w:
        raise tensor.error(f"rows of {pitch} pixels (w_stride or size_with_stride) are too short for NHWC of width {w}")
    stored = (n, h, pitch, channels)
    layout = Layout("NHWC", tensor.axes)
    size = max(size, n * h * pitch * channels)
    return TensorSpec(tensor.dims, layout, storage_shape=stored, size=size, **tensor.common)


def _blocks(tensor: RknnTensor, c2: int, c1: int, rows: tuple[int, int], plane: int) -> TensorSpec:
    """Return NC1HWC2 of `c1` planes, each `plane` pixels behind the one before, with `rows` (H, W) in each."""
    dims, axes = tensor.dims, tensor.axes
    n = tensor.extents("N")[0]
    layout = Layout("NC" + "".join(a for a in "DHW" if a in axes) + f"{c2}c", axes)
    stored = {**dict(zip(axes, dims)), "C": c1}
    if len(dims) == 4:
        stored.update(zip("HW", rows))
    storage = [stored[letter] for letter in layout.letters] + [c2]
    strides = list(c_strides(storage))
    strides[1] = plane * c2
    strides[0] = c1 * strides[1]
    size = n * c1 * plane * c2
    return TensorSpec(dims, layout, storage_shape=storage, storage_strides=strides, size=size, **tensor.common)
