"""Read what callers pass as a buffer as a 1-D array of a spec's stored dtype, or report why it does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import BufferSizeError, LayoutError, NpuLayoutError
from ..layouts import Shape, c_strides
from ..support import foreign_array, plain_array, shown
from .near_misses import order_words, same_order, size_words
from .stored import StoredTensor

# What the formats of memory begin with if its items are no numbers: pointers, functions, objects, complex numbers.
_NO_NUMBERS = ("&", "O", "P", "X", "Z", "z")


def _what_to_give(buffer: np.ndarray, spec: StoredTensor) -> str:
    """Return what to do with an array of another dtype than the tensor's."""
    given, expected = buffer.dtype, spec.element.buffer
    if given.itemsize == 1 and (buffer.nbytes == _needed(spec) or expected.itemsize == 1):
        return f" (raw bytes: give buffer.view({str(expected)!r}))"
    narrower = given.kind in "iu" and given.itemsize < expected.itemsize and expected.kind == "f"
    if narrower and buffer.size == spec.storage.size:  # others may be raw bytes of which some are missing
        return " (integers that a runtime has not dequantised need a spec of that dtype, with its quantization)"
    if given == np.uint16 and expected == np.float16:
        return " (if they are the bits of float16, as some runtimes return them: buffer.view('float16'))"
    if given.kind == "f" and expected.kind in "iu":
        return " (floats that a runtime has dequantised need a spec of that dtype, without a quantization)"
    if given.newbyteorder() != expected:
        return ""
    if expected.isnative:
        return f" (big endian: give buffer.astype({str(expected)!r}))"
    wanted = repr(str(expected))
    return (
        f" (if its bytes are in that order: buffer.view({wanted}); if its numbers are right: buffer.astype({wanted}))"
    )


def _within(given: Any, dtype: np.dtype[Any]) -> str:
    """Return what to do with what several outputs come in: a list, as most runtimes return it, or a mapping."""
    if isinstance(given, Mapping) and given:
        return f"; give one of its values, {', '.join(shown(name) for name in list(given)[:4])}"
    if not isinstance(given, (list, tuple)) or not given:
        return ""
    if isinstance(given[0], (int, float, np.generic, list, tuple)):  # as ndarray.tolist returns them, or JSON has them
        return f"; if it has the stored numbers, give np.array(buffer, {str(dtype)!r})"
    return f"; give {'its item' if len(given) == 1 else f'one of its {len(given)} items'}"


def flat_memory(spec: StoredTensor, shapes: set[Shape], buffer: Any) -> np.ndarray:
    """Return TensorSpec.flat; `shapes`: of arrays that passed the check of their order, which this adds to."""
    storage, kind = spec.storage, spec.element
    shape: Shape | None = None
    if isinstance(buffer, np.ndarray):
        array = _checked_array(spec, shapes, buffer)
    else:
        try:
            array = np.frombuffer(buffer, np.uint8)
            memory = memoryview(buffer)
            check_items(spec, memory)
            if memory.ndim > 1 and memory.itemsize == kind.buffer.itemsize:
                shape = memory.shape
        except (TypeError, ValueError, AttributeError, BufferError) as error:
            foreign = foreign_array("buffer", buffer)
            if foreign is not None:
                return flat_memory(spec, shapes, foreign)
            if isinstance(error, NpuLayoutError):
                raise
            if not _is_empty(buffer):
                raise NpuLayoutError(
                    f"buffer: expected bytes, a contiguous buffer or an ndarray for {spec.describe()}, "
                    f"got {type(buffer).__name__} ({error}){_within(buffer, kind.buffer)}"
                ) from None
            array = np.empty(0, np.uint8)
    needed = _needed(spec)
    if array.nbytes != needed:
        typed = isinstance(buffer, np.ndarray) and (buffer.dtype.itemsize > 1 or buffer.ndim > 1)
        raise BufferSizeError(
            f"buffer has {array.nbytes} bytes; {spec.describe()} needs {needed}{storage.padding_words()}"
            f"{size_words(storage, kind, array.nbytes, widths=not typed)}"
        )
    if shape is not None:
        check_order(spec, shapes, shape, "buffer", 'memoryview(buffer).cast("B")')
    return array if array.dtype == kind.buffer else array.view(kind.buffer)


def _needed(spec: StoredTensor) -> int:
    """Return the bytes of the whole buffer."""
    return spec.element.buffer_size(spec.storage.size) * spec.element.buffer.itemsize


def _checked_array(spec: StoredTensor, shapes: set[Shape], buffer: np.ndarray) -> np.ndarray:
    """Return an array as a 1-D view; NpuLayoutError on another dtype, order or gaps. Its size is not checked."""
    kind = spec.element
    if buffer.dtype != kind.buffer:
        raise NpuLayoutError(
            f"buffer has dtype {buffer.dtype}; {spec.describe()} expects {kind.buffer}" + _what_to_give(buffer, spec)
        )
    if not buffer.flags.c_contiguous:
        raise NpuLayoutError(
            f"buffer of shape {buffer.shape} and strides {buffer.strides} is not C-contiguous; "
            f"{spec.describe()} expects the accelerator's bytes as they came (no transpose, no slice)"
        )
    if buffer.size == kind.buffer_size(spec.storage.size):
        check_order(spec, shapes, buffer.shape, "buffer")
    return plain_array("buffer", buffer).reshape(-1)


def _is_empty(buffer: Any) -> bool:
    """Return whether this is memory of no bytes, which numpy refuses as a buffer."""
    try:
        return memoryview(buffer).nbytes == 0
    except (TypeError, ValueError, BufferError):  # no memory, or closed
        return False


def check_items(spec: StoredTensor, memory: memoryview) -> None:
    """Raise NpuLayoutError if memory of larger elements than bytes has others than the buffer's."""
    items = memory.format.lstrip("@=<>!")
    if memory.itemsize == 1 or items.startswith("T{"):  # of structs the bytes count
        return
    try:
        found = None if items.startswith(_NO_NUMBERS) else np.dtype(memory.format)
    except TypeError:
        found = None
    if found != spec.element.buffer:
        words = str(found) if found is not None else f"the format {memory.format!r}, which are no numbers"
        pointed = "; give what a pointer points to: np.ctypeslib.as_array(pointer, (count,))" * items.startswith("&")
        raise NpuLayoutError(
            f"buffer has elements of {words}; {spec.describe()} expects {spec.element.buffer}, or bytes{pointed}"
        )


def check_order(spec: StoredTensor, shapes: set[Shape], shape: Shape, what: str, flat: str = "") -> None:
    """Raise LayoutError if `what`, a C array of this shape and of the buffer's length, has another order of axes.

    `flat`: how the caller makes it one-dimensional, if not by reshape.
    """
    if shape in shapes:
        return
    storage = spec.storage
    if not same_order(storage, shape, 2 if spec.element.nibbles else 1):
        plain = storage.strides == c_strides(storage.storage_shape)
        strides = "" if plain else f" of strides {storage.strides}"
        raise LayoutError(
            f"{what} has shape {shape}, {order_words(storage, shape)}; "
            f"{spec.describe()} is stored as {storage.storage_shape}{strides}. If its memory is in the order of "
            f"{storage.layout} all the same, give {flat or f'{what}.reshape(-1)'}"
        )
    shapes.add(shape)
