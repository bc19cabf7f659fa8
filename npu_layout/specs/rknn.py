"""Make a TensorSpec from Rockchip's rknn_tensor_attr."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..buffers import Quantization, TensorSpec
from ..errors import LayoutError, NpuLayoutError
from ..layouts import BY_RANK, Layout, c_strides, check_extents
from ..support import checked_call
from .metadata import Metadata, affine, enum_name, fields_of, known, text

# rknn_api.h: rknn_tensor_type, rknn_tensor_format, rknn_tensor_qnt_type, by number
_RKNN_TYPES = ("FP32", "FP16", "INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "INT64", "BOOL", "INT4", "BF16")
_RKNN_DTYPES = {
    "FP32": "float32",
    "FLOAT32": "float32",
    "FP16": "float16",
    "FLOAT16": "float16",
    "BF16": "bfloat16",
    "BFLOAT16": "bfloat16",
    "BOOL": "bool",
    **{name: name.lower() for name in _RKNN_TYPES if "INT" in name},
}
_RKNN_FORMATS = ("NCHW", "NHWC", "NC1HWC2", "UNDEFINED")
_RKNN_QUANTIZATIONS = ("NONE", "DFP", "AFFINE_ASYMMETRIC")


class _Atom(NamedTuple):
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
_LARGE = {1: _Atom(16, 32, 16), 2: _Atom(8, 16, 8)}
_RK3566 = {1: _Atom(8, 16, 8), 2: _Atom(4, 8, 8)}
_RV1106 = {1: _Atom(16, 16, 16)}
_ATOMS = {
    "rk3588": _LARGE,
    "rk3576": _LARGE,
    "rv1126b": _LARGE,
    "rk3562": {1: _Atom(16, 16, 16), 2: _Atom(8, 8, 8)},
    "rk3566": _RK3566,
    "rk3568": _RK3566,
    "rv1106": _RV1106,
    "rv1103": _RV1106,
}
_IMAGES = (1, 3, 4)

# Chips of the first rknn_api.h (rockchip-linux/rknpu), whose dims are listed fastest first.
_FIRST_API = ("rk1808", "rk3399pro", "rv1109", "rv1126")


def _enum(what: str, value: Any, names: Sequence[str], prefix: str) -> str:
    """Return the name of an enum of rknn_api.h, without its prefix."""
    return enum_name(f"RKNN {what}", value, names, prefix)


def _dims(attr: Metadata) -> tuple[int, ...]:
    dims = attr.extents("dims")
    count = attr.whole("n_dims", len(dims))
    if not 0 <= count <= len(dims):
        raise NpuLayoutError(f"RKNN n_dims {count}: expected 0 to {len(dims)}, as many as there are dims {dims}")
    return check_extents("RKNN dims", dims[:count])


def _rknn_dtype(attr: Metadata) -> str:
    return known("RKNN type", _enum("type", attr.field("type"), _RKNN_TYPES, "RKNN_TENSOR_"), _RKNN_DTYPES)


def _rknn_quantization(attr: Metadata, dtype: str) -> Quantization | None:
    kind = _enum("qnt_type", attr.field("qnt_type", "NONE"), _RKNN_QUANTIZATIONS, "RKNN_TENSOR_QNT_")
    if kind == "NONE" or "float" in dtype or dtype in ("bool", "int64"):
        return None
    if kind == "DFP":
        return Quantization.from_dfp(attr.whole("fl"))
    if kind in ("AFFINE_ASYMMETRIC", "AFFINE"):
        name = text(attr.field("name", ""))
        return affine(f"RKNN tensor {name!r}", dtype, attr.read("scale", float), attr.whole("zp", 0))
    raise NpuLayoutError(f"RKNN qnt_type {kind!r}: expected NONE, DFP or AFFINE_ASYMMETRIC")


def _up(n: int, to: int) -> int:
    return -(-n // to) * to


@checked_call
def from_rknn(attr: Any, native_attr: Any = None, *, target: str | None = None) -> TensorSpec:
    """Return the spec of a tensor from Rockchip's rknn_tensor_attr.

    Parameters
    ----------
    attr
        The logical attribute (RKNN_QUERY_OUTPUT_ATTR / INPUT_ATTR): name, dims, fmt, type, qnt_type, zp, scale, fl,
        w_stride. Enums as numbers or names ("INT8", "RKNN_TENSOR_INT8"). Or the line that the vendor's demos print
        of it, "index=0, name=..., n_dims=4, dims=[...], ...", whose scale has six decimals. Without native_attr and
        target it describes what rknn_outputs_get returns: contiguous, but for rows of w_stride pixels;
        size_with_stride may be more, since it is that of the native buffer.
    native_attr
        The native one (RKNN_QUERY_NATIVE_OUTPUT_ATTR / NATIVE_INPUT_ATTR); its buffer is then described. C comes
        from `attr`, C2 from its dims[4], C1 and the plane pitch from size_with_stride; NCHW, NHWC and UNDEFINED are
        stored in the order of its dims.
    target
        The chip, such as "rk3588". Without native_attr its native buffer is described by the rule that the vendor's
        compiler follows; an NHWC attribute of 1, 3 or 4 channels is the image input, NHWC with a padded width. For
        rk1808, rk3399pro, rv1109 and rv1126 `attr` is of their own API (github.com/rockchip-linux/rknpu): dims fastest
        first, (46, 46, 57, 1) for an NCHW of (1, 57, 46, 46), and contiguous.

    Returns
    -------
    TensorSpec with the shape and axes of `attr` (NCHW or NHWC; other ranks: N, NC, NCW, NCDHW).

    Raises
    ------
    NpuLayoutError
        On a missing field, an unknown enum, chip or dtype, a zero point that the type cannot represent, and sizes that
        contradict each other.

    Examples
    --------
    >>> attr = dict(name="heat", dims=[1, 5, 3, 3], fmt="NCHW", type="INT8", qnt_type="AFFINE", zp=-3, scale=0.1)
    >>> from_rknn(attr, target="rk3588").storage_shape
    (1, 2, 3, 3, 16)
    """
    attr = Metadata("RKNN attr", _fields(attr))
    native_attr = None if native_attr is None else Metadata("RKNN native_attr", _fields(native_attr))
    source: Metadata = attr if native_attr is None else native_attr
    first_api = str(target).lower() in _FIRST_API
    if first_api and native_attr is not None:
        raise NpuLayoutError(f"RKNN target {target!r} has no native attributes, got one")
    dims = _dims(attr)[::-1] if first_api else _dims(attr)
    axes = _axes(attr, dims)
    dtype = _rknn_dtype(source)
    quantization = _rknn_quantization(source, dtype)
    tensor = _Rknn(dims, axes, {"dtype": dtype, "name": text(attr.field("name", "")), "quantization": quantization})
    itemsize = 1 if dtype in ("int4", "bool") else np.dtype("uint16" if dtype == "bfloat16" else dtype).itemsize
    size = _elements(tensor, source.whole("size_with_stride", 0), itemsize)
    if native_attr is not None:
        return _native(tensor, native_attr, size, None if target is None else _atom(target, itemsize), itemsize)
    pitch = attr.whole("w_stride", 0)
    if first_api:
        return TensorSpec(dims, Layout.plain(axes), **tensor.common)
    return _by_rule(tensor, pitch, None if target is None else _atom(target, itemsize))


def _fields(attr: Any) -> Any:
    """Return an attribute as it is, or the fields of one that was printed."""
    return fields_of(attr) if isinstance(attr, str) and "=" in attr else attr


def _elements(tensor: _Rknn, nbytes: int, itemsize: int) -> int:
    """Return how many elements a size in bytes has; two of 4 bits are in each byte."""
    if nbytes % itemsize:
        raise tensor.error(f"size_with_stride {nbytes} is not a multiple of the {itemsize} bytes of an element")
    return 2 * nbytes if tensor.common["dtype"] == "int4" else nbytes // itemsize


def _axes(attr: Metadata, dims: tuple[int, ...]) -> str:
    """Return the axes of a logical attribute: those of its fmt, or the usual ones of its rank."""
    fmt = _enum("fmt", attr.field("fmt", "UNDEFINED"), _RKNN_FORMATS, "RKNN_TENSOR_")
    if fmt not in ("NCHW", "NHWC", "UNDEFINED"):
        raise NpuLayoutError(
            f"RKNN attr {text(attr.field('name', ''))!r} has fmt {fmt}: expected the logical attribute (NCHW or "
            f"NHWC), because the native dims do not determine C; give the native one as native_attr"
        )
    axes = fmt if len(dims) == 4 and fmt != "UNDEFINED" else BY_RANK.get(len(dims), "")
    if not axes:
        raise NpuLayoutError(f"RKNN dims {dims}: expected 1 to 5 of them")
    return axes


class _Rknn(NamedTuple):
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


def _by_rule(tensor: _Rknn, pitch: int, atom: _Atom | None) -> TensorSpec:
    """Return the native buffer by the rule of a chip's `atom`, or the contiguous buffer without one."""
    c, h, w = tensor.extents("CHW")
    if atom is not None:
        if tensor.axes == "NHWC" and c in _IMAGES:
            return _rows(tensor, 0, pitch or _up(w, atom.row), c)
        return _blocks(tensor, atom.c2, _up(c, atom.align) // atom.c2, (h, w), _plane(h * w))
    if tensor.axes == "NHWC":
        return _rows(tensor, 0, pitch or w, c)
    return TensorSpec(tensor.dims, Layout.plain(tensor.axes), **tensor.common)


def _native(tensor: _Rknn, attr: Metadata, size: int, atom: _Atom | None, itemsize: int) -> TensorSpec:
    """Return the native buffer: blocks, rows of pixels, or the tensor in the order of its own dims.

    The vendor's rknn_model_zoo (yolov8_zero_copy.cc) copies the last of these without a conversion.
    """
    native = _dims(attr)
    fmt = _enum("fmt", attr.field("fmt", "NC1HWC2"), _RKNN_FORMATS, "RKNN_TENSOR_")
    reads = _NATIVE.get(fmt)
    spec = reads(tensor, attr, native, size, atom, itemsize) if reads else None
    if spec is not None:
        return spec
    order = _ORDERS.get(fmt, tensor.axes) if len(native) == 4 else tensor.axes
    if native != tuple(tensor.extents(order) if len(tensor.dims) == 4 else tensor.dims):
        raise tensor.error(f"native dims {native} ({fmt}) are not those of {tensor.dims} ({tensor.axes})")
    return TensorSpec(tensor.dims, Layout(order, tensor.axes), size=size or None, **tensor.common)


def _native_planes(
    tensor: _Rknn, attr: Metadata, native: tuple[int, ...], size: int, atom: _Atom | None, itemsize: int
) -> TensorSpec:
    """Return the spec of a native NC1HWC2: blocks of channels, or an image's rows of pixels."""
    if len(native) != 5:
        raise NpuLayoutError(f"RKNN native dims {native}: expected N, C1, H, W, C2 for NC1HWC2")
    c, w = tensor.extents("CW")
    if native[4] == c in (1, 3):  # smaller than any block: an image
        return _native_rows(tensor, attr, size, _up(w, atom.row if atom else 16 // itemsize), c)
    return _native_blocks(tensor, native, size, atom)


def _native_pixels(
    tensor: _Rknn, attr: Metadata, native: tuple[int, ...], size: int, atom: _Atom | None, itemsize: int
) -> TensorSpec | None:
    """Return NHWC with rows and pixels of the native extents; None if the tensor or `native` has not 4 dims."""
    if not len(native) == len(tensor.dims) == 4:
        return None
    n, c, h, w = tensor.extents("NCHW")
    row, channels = native[2:]
    if native[:2] != (n, h) or row < w or channels < c:
        raise tensor.error(f"native dims {native} (NHWC) are too small for {tensor.dims} ({tensor.axes})")
    return _native_rows(tensor, attr, size, row, channels)


_NATIVE = {"NC1HWC2": _native_planes, "NHWC": _native_pixels}  # others are in the order of their own dims
_ORDERS = {"NCHW": "NCHW", "NHWC": "NHWC"}  # fmt: the order of its four dims; other values have none


def _native_rows(tensor: _Rknn, attr: Metadata, size: int, row: int, channels: int) -> TensorSpec:
    """Return NHWC with rows of w_stride pixels, or else of what `size` elements allow, or else of `row` pixels."""
    n, h = tensor.extents("NH")
    pitch, rest = divmod(size, n * h * channels)
    return _rows(tensor, size, attr.whole("w_stride", 0) or (pitch if rest == 0 else 0) or row, channels)


def _native_blocks(tensor: _Rknn, native: tuple[int, ...], size: int, atom: _Atom | None) -> TensorSpec:
    """Return NC1HWC2 of the dims `native`, with as many planes, and as long ones, as `size` elements allow.

    C1 in the dims counts the unpadded planes of `size` elements, and for 16-bit types rknn-toolkit2 2.5.0 prints four
    times that. So C1 is computed from the padded planes first.
    """
    dims = tensor.dims
    n, c, h, w = tensor.extents("NCHW")
    batch, c1, rows, row, c2 = native
    least = -(-c // c2)
    fits = rows >= h and row >= w if len(dims) == 4 else rows * row * n * c == math.prod(dims)
    if batch != n or c1 < least or not fits:
        raise tensor.error(f"native dims {native} (NC1HWC2) are too small for {dims} ({tensor.axes})")
    pixels = rows * row
    padded = _plane(pixels)
    if not size and atom is not None:
        c1, size = _up(c, atom.align) // c2, n * (_up(c, atom.align) // c2) * padded * c2
    if not size and padded != pixels:
        raise tensor.error(
            f"native_attr has no size_with_stride, which determines whether planes of {pixels} pixels are stored as "
            f"{padded}; give it, or target"
        )
    size = size or n * c1 * pixels * c2
    blocks, rest = divmod(size, n * c2)
    if rest == 0 and blocks % padded == 0 and blocks // padded >= least:
        c1, plane = blocks // padded, padded
    elif rest == 0 and blocks % c1 == 0 and blocks // c1 >= pixels:
        plane = blocks // c1
    elif rest == 0 and blocks % least == 0 and blocks // least >= pixels:
        c1, plane = least, blocks // least
    else:
        raise tensor.error(
            f"size_with_stride is {size} elements, but NC1HWC2 of {dims} with C2={c2} needs {n}*C1*plane*{c2} with "
            f"C1 >= {least} and plane >= {pixels}"
        )
    return _blocks(tensor, c2, c1, (rows, row), plane)


def _plane(pixels: int) -> int:
    return pixels if pixels == 1 else _up(pixels, 4)


def _atom(target: str, itemsize: int) -> _Atom:
    atoms = _ATOMS.get(str(target).lower())
    if atoms is None:
        raise NpuLayoutError(f"RKNN target {target!r}: expected one of {', '.join(sorted((*_ATOMS, *_FIRST_API)))}")
    if itemsize not in atoms:
        raise NpuLayoutError(
            f"RKNN target {target!r}: no native rule is known for elements of {itemsize} bytes "
            f"(known: {sorted(atoms)}); give native_attr"
        )
    return atoms[itemsize]


def _rows(tensor: _Rknn, size: int, pitch: int, channels: int) -> TensorSpec:
    """Return NHWC with rows of `pitch` pixels, in a buffer of at least `size` elements."""
    n, h, w = tensor.extents("NHW")
    if pitch < w:
        raise tensor.error(f"rows of {pitch} pixels (w_stride or size_with_stride) are too short for NHWC of width {w}")
    stored = (n, h, pitch, channels)
    layout = Layout("NHWC", tensor.axes)
    size = max(size, n * h * pitch * channels)
    return TensorSpec(tensor.dims, layout, storage_shape=stored, size=size, **tensor.common)


def _blocks(tensor: _Rknn, c2: int, c1: int, rows: tuple[int, int], plane: int) -> TensorSpec:
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
