"""Write arrays as .npy files, and read .npy files from bytes that may be damaged or hostile."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Callable, TypeVar

import numpy as np

from ..errors import NpuLayoutError, RecordingError

Parsed = TypeVar("Parsed")
NPY_HEADER = 1 << 14  # bytes that a header may have: numpy reads 10,000
_ATTEMPTS = 11
_NUMBERS = {"bool", "float16", "float32", "float64", *(f"{s}int{n}" for s in ("", "u") for n in (8, 16, 32, 64))}
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def npy_bytes(array: np.ndarray) -> memoryview:
    """Return the bytes of an array's .npy file.

    The caller writes them, because numpy reports a full disk as a number of missing elements.
    """
    content = io.BytesIO()
    np.lib.format.write_array(content, array, allow_pickle=False)
    return content.getbuffer()


def parse_npy(content: bytes, where: object) -> np.ndarray:
    """Return the array of a .npy file's bytes: a copy in the file's own order.

    RecordingError on objects, records, text, complex numbers, and a header that does not fit the bytes behind it.
    """
    with errors_named(where):
        shape, columns_first, dtype, start = _checked_header(content, len(content), where)
        count = math.prod(shape)
        flat = np.frombuffer(content, dtype, count, start) if count else np.empty(0, dtype)
        return flat.copy().reshape(shape, order="F" if columns_first else "C")


def check_npy_size(head: bytes, size: int, where: object) -> None:
    """Raise RecordingError if a .npy file contains no numbers, or has another size than its header says.

    head: its first NPY_HEADER bytes, or all of a shorter one; size: the bytes of the whole file.
    """
    with errors_named(where):
        _checked_header(head, size, where)


def _checked_header(content: bytes, size: int, where: object) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Return what `_header` does; RecordingError unless it describes numbers in a file of `size` bytes."""
    shape, columns_first, dtype, start = parsed(content, _header)
    if dtype.newbyteorder("=").name not in _NUMBERS:
        raise RecordingError(f"{where}: dtype {dtype}; expected numbers")
    if not all(type(n) is int and n >= 0 for n in shape):
        raise RecordingError(f"{where}: shape {shape}; expected extents")
    nbytes = math.prod(shape) * dtype.itemsize
    if size - start != nbytes:
        raise RecordingError(f"{where}: {size - start} bytes follow the header; {dtype} of {shape} takes {nbytes}")
    return shape, columns_first, dtype, start


def _header(file: io.BytesIO) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Return the shape, whether columns come first, the dtype, and the position of the first element."""
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise RecordingError(f".npy of version {version}; expected 1.0 or 2.0")
    return (*_HEADERS[version](file), file.tell())


def parsed(content: bytes, read: Callable[[io.BytesIO], Parsed]) -> Parsed:
    """Return what `read`, a function of numpy, returns for a .npy file's bytes.

    It is called again if it raises a SystemError: before CPython 3.11.8 and 3.12.2, `ast`, which parses the header, may
    do so when several threads use it (python/cpython#106905).
    """
    for _ in range(_ATTEMPTS - 1):
        with suppress(SystemError):
            return read(io.BytesIO(content))
    return read(io.BytesIO(content))


@contextmanager
def errors_named(where: object) -> Iterator[None]:
    """Turn whatever a parser raises on damaged bytes into a RecordingError that begins with `where`."""
    try:
        yield
    except NpuLayoutError as error:
        if isinstance(error, RecordingError) and str(where) in str(error):
            raise
        raise RecordingError(f"{where}: {error}") from None
    except OSError as error:
        raise RecordingError(f"{where}: {error.strerror or error}") from None
    except Exception as error:
        raise RecordingError(f"{where}: {type(error).__name__}: {error}") from None
