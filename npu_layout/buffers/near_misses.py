"""Check whether a buffer of some shape or size can be a stored tensor, and describe what it looks like instead."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..layouts import Shape, Storage, c_strides
from ..support import many
from .elements import Element

_BLOCKS = (4, 8, 16, 32, 64)  # what vendors pad to


def same_order(storage: Storage, shape: Shape, per_item: int = 1) -> bool:
    """Return whether a C array of `shape`, with `per_item` elements an item, may be this memory.

    It may if the strides of one are among those of the other: then one only merges or divides dimensions of the
    other, or has further dimensions of 1.
    """
    steps = {abs(stride) for extent, stride in zip(storage.storage_shape, storage.strides) if extent > 1} - {1}
    given = {stride * per_item for extent, stride in zip(shape, c_strides(shape)) if extent > 1 and stride > 1}
    return given <= steps or steps <= given


def order_words(storage: Storage, shape: Shape) -> str:
    """Return the order of axes in which a C array of `shape` would contain this tensor, in words."""
    extents = dict(zip(storage.layout.axes, storage.shape))
    extended = [n for n in shape if n > 1]
    if sorted(extended) != sorted(n for n in storage.shape if n > 1):
        return "which neither divides nor merges its dimensions"
    left, order = list(extents), ""
    while left:  # the first axis that is next in the shape, or anywhere because it has one element
        letter = next(one for one in left if extents[one] in (1, *extended[:1]))
        left.remove(letter)
        order += letter
        if extents[letter] > 1:
            del extended[0]
    return f"axes in the order {order}"


def size_words(storage: Storage, kind: Element, nbytes: int, widths: bool = True) -> str:
    """Return in which other form this tensor would need `nbytes` bytes, in words; empty if no usual form does.

    widths: whether its elements may have another size, as those of bytes without a dtype.
    """
    words = dict.fromkeys(name for name, needed in _sizes(storage, kind, widths) if needed == nbytes)
    return f"; {nbytes} bytes would be the tensor {' or '.join(words)}" if words else ""


def _sizes(storage: Storage, kind: Element, widths: bool) -> Iterator[tuple[str, int]]:
    item = kind.buffer.itemsize
    yield "without padding", kind.buffer_size(math.prod(storage.shape)) * item
    if kind.nibbles:
        return
    for width in {1, 2, 4} - {item} if widths else ():
        yield f"in elements of {many(width, 'byte')}", storage.size * width
    steps = [(n, stride) for n, stride in zip(storage.storage_shape, storage.strides) if n > 1]
    if item > 1 and storage.start == 0 and all(stride % item == 0 for _, stride in steps):
        needed = sum((n - 1) * abs(stride) for n, stride in steps) + item
        yield "if the storage_strides were bytes (they are elements)", needed
    for letter, extent in zip(storage.layout.axes, storage.shape):
        chain = storage.chain(letter)
        if extent > 1 and len(chain) == 1 and storage.is_dense:
            rest = storage.size // chain[0].extent  # which may be padded to something else already
            for block in _BLOCKS:
                padded = -(-extent // block) * block
                yield f"with {letter} padded from {extent} to {padded}", rest * padded * item
