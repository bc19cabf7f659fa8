"""Describe the element types of buffers: numpy's dtypes, and bfloat16 and int4, which numpy does not have."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..errors import LayoutError
from ..support import shown


class DTypeName(str):
    """The name of a stored type, a str that also equals what names the same type: ``spec.dtype == np.uint8``.

    Its hash is the text's: in a dict or a set, look for the name.
    """

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str) or other is None:
            return str.__eq__(self, other) is True
        try:
            return str.__eq__(self, element(other).name)
        except LayoutError:
            return False

    def __ne__(self, other: object) -> bool:
        return not self == other


class Element(NamedTuple):
    """A stored type: the dtype of its buffer, the dtype it unpacks to, and its name in the kernels.

    `nibbles`: 0, or which half of a byte comes first: 1 the low one, 2 the high one.
    """

    name: str
    buffer: np.dtype[Any]
    unpacked: np.dtype[Any]
    kernel: str
    nibbles: int = 0

    def buffer_size(self, elements: int) -> int:
        """Return the length of the buffer, in elements of its dtype."""
        return -(-elements // 2) if self.nibbles else elements


_SPECIAL = {
    "bfloat16": Element("bfloat16", np.dtype(np.uint16), np.dtype(np.float32), "bfloat16"),
    **{
        f"{base}4{suffix}": Element(
            f"{base}4{suffix}", np.dtype(np.uint8), np.dtype(f"{base}8"), f"{base}4", 2 if suffix else 1
        )
        for base in ("int", "uint")
        for suffix in ("", "_high")
    },
}
#: What runtimes call dtypes, for messages.
_ELSEWHERE = {
    **{f"{short}{bits}": f"float{bits}" for short in ("f", "fp") for bits in (16, 32, 64)},
    **{f"{short}{bits}": f"int{bits}" for short in ("i", "s") for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{name: name for name in ("float16", "float32", "float64", "bfloat16", "int4", "uint4", "bool")},
    **{f"{kind}{bits}": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{"bf16": "bfloat16", "float": "float32"},
}


@lru_cache(maxsize=256)
def kernel_name(dtype: np.dtype[Any]) -> str:
    """Return the kernels' name of a numpy dtype: its name, with the byte order if that is foreign."""
    return dtype.name if dtype.isnative else dtype.str


def element(dtype: Any) -> Element:
    """Return the stored type of a numpy dtype or of bfloat16, int4, uint4, int4_high or uint4_high.

    Raises LayoutError on what is no number.
    """
    try:
        return _known(dtype)
    except TypeError:  # it has no hash, as some dtypes
        return _element(dtype)


def _element(dtype: Any) -> Element:
    if isinstance(dtype, str) and dtype in _SPECIAL:
        return _SPECIAL[dtype]
    try:
        known = np.dtype(dtype)
    except Exception:  # dictionaries and text make numpy raise many kinds
        known = np.dtype(object)
    if known.name in _SPECIAL:  # the ml_dtypes package registers bfloat16 and int4
        return _SPECIAL[known.name]
    if known.kind not in "iufb" or dtype is None:
        same = _ELSEWHERE.get(dtype.lower()) if isinstance(dtype, str) else None
        hint = f". Is it {same}?" if same else ""
        raise LayoutError(
            f"dtype {shown(dtype)}: expected an integer or float dtype of numpy, or one of {', '.join(_SPECIAL)}{hint}"
        )
    return Element(kernel_name(known), known, known.newbyteorder("="), kernel_name(known))


_known = lru_cache(maxsize=256)(_element)


def unpack_nibbles(packed: np.ndarray, kind: Element, count: int) -> np.ndarray:
    """Return `count` int8 or uint8 values from bytes that contain two each; int4 is sign-extended. A copy."""
    halves = np.empty((packed.size, 2), np.uint8)
    first, second = (0, 1) if kind.nibbles == 1 else (1, 0)
    np.bitwise_and(packed, 15, out=halves[:, first])
    np.right_shift(packed, 4, out=halves[:, second])
    values = halves.reshape(-1)[:count]
    if kind.unpacked.kind == "i":
        values ^= 8
        signed: np.ndarray = values.view(np.int8)
        signed -= 8
        return signed
    return values


def pack_nibbles(values: np.ndarray, kind: Element, out: np.ndarray) -> None:
    """Write `values` to the bytes of `out`, two each; the half byte behind an odd count becomes 0."""
    halves = np.zeros((out.size, 2), np.uint8)
    halves.reshape(-1)[: values.size] = values.view(np.uint8) & np.uint8(15)
    first, second = (0, 1) if kind.nibbles == 1 else (1, 0)
    out[...] = halves[:, first] | (halves[:, second] << np.uint8(4))
