""".npy: what numpy reads and writes is the oracle; damaged bytes are a RecordingError that names the file."""

from __future__ import annotations

import io
import threading
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.support import NPY_HEADER, check_npy_size, npy_bytes, parse_npy
from npu_layout.support.npy import errors_named, parsed


def saved(array: np.ndarray, **how: Any) -> bytes:
    content = io.BytesIO()
    np.save(content, array, **how)
    return content.getvalue()


ARRAYS = [
    np.arange(24).astype(dtype).reshape(2, 3, 4)
    for dtype in ("?", "i1", "<u2", ">i4", "<u8", "<f2", ">f4", "<f8")
]  # fmt: skip
ARRAYS += [np.asfortranarray(ARRAYS[3][0]), np.float32(7).reshape(()), np.zeros((0, 3), np.int8), np.arange(9)[::2]]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype.str}{a.shape}")
def test_as_numpy(array: np.ndarray) -> None:
    content = bytes(npy_bytes(array))
    assert content == saved(array)
    read = parse_npy(content, "a.npy")
    assert read.dtype == array.dtype and read.shape == array.shape and np.array_equal(read, array)
    assert read.flags.writeable and read.flags.f_contiguous >= (array.flags.f_contiguous and array.ndim > 1)


def test_version_2() -> None:
    content = io.BytesIO()
    np.lib.format.write_array(content, np.arange(5.0), version=(2, 0))
    assert np.array_equal(parse_npy(content.getvalue(), "a.npy"), np.arange(5.0))


GOOD = saved(np.arange(6, dtype=np.int16).reshape(2, 3))


def test_writing_refuses_objects() -> None:
    with pytest.raises(ValueError, match="allow_pickle"):
        npy_bytes(np.array([{}], object))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "a.npy: ValueError"),
        (b"PK\x03\x04", "a.npy: ValueError"),
        (GOOD[:40], "a.npy: "),
        (GOOD[:-1], "a.npy: 11 bytes follow the header"),
        (GOOD + b"x", "a.npy: 13 bytes follow the header"),
        (GOOD.replace(b"(2, 3)", b"(9, 9)"), "a.npy: 12 bytes follow the header"),
        (GOOD.replace(b"(2, 3)", b"(-2,3)"), "a.npy: shape "),
        (GOOD.replace(b"(2, 3)", b"(True,"), "a.npy: "),
        (GOOD.replace(b"<i2", b"<U2"), "expected numbers"),
        (GOOD.replace(b"<i2", b"<c8"), "expected numbers"),
        (GOOD.replace(b"NUMPY\x01", b"NUMPY\x03"), "version (3, 0); expected 1.0 or 2.0"),
        (saved(np.array([{}], object), allow_pickle=True), "expected numbers"),
    ],
)
def test_damaged_bytes(content: bytes, says: str) -> None:
    with pytest.raises(nl.RecordingError) as error:
        parse_npy(content, "a.npy")
    assert says in str(error.value) and str(error.value).startswith("a.npy: ")


def test_a_parser_that_several_threads_run() -> None:
    """CPython's ast raises a SystemError now and then: the header is parsed again."""
    calls = []

    def read(file: io.BytesIO) -> bytes:
        calls.append(threading.get_ident())
        if len(calls) < 4:
            raise SystemError("AST constructor recursion depth mismatch")
        return file.read()

    assert parsed(b"abc", read) == b"abc" and len(calls) == 4

    def never(file: io.BytesIO) -> None:
        raise SystemError

    with pytest.raises(SystemError):
        parsed(b"", never)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KeyError("k"), "f: KeyError: 'k'"),
        (nl.LayoutError("no tag"), "f: no tag"),
        (nl.RecordingError("of f itself"), "of f itself"),
        (nl.RecordingError("a torn archive"), "f: a torn archive"),
        (FileNotFoundError(2, "No such file or directory", "elsewhere"), "f: No such file or directory"),
        (OSError("no number"), "f: no number"),
    ],
)
def test_every_error_names_the_file(error: Exception, text: str) -> None:
    with pytest.raises(nl.RecordingError) as found, errors_named("f"):
        raise error
    assert str(found.value) == text


def test_what_is_no_error_passes() -> None:
    with pytest.raises(KeyboardInterrupt), errors_named("f"):
        raise KeyboardInterrupt


def test_the_size_that_a_header_says() -> None:
    content = saved(np.zeros((300, 100)))
    check_npy_size(content[:NPY_HEADER], len(content), "a.npy")
    check_npy_size(GOOD, len(GOOD), "a.npy")
    with pytest.raises(nl.RecordingError, match=r"a\.npy: 240001 bytes follow the header; float64 .* takes 240000"):
        check_npy_size(content[:NPY_HEADER], len(content) + 1, "a.npy")
    with pytest.raises(nl.RecordingError, match=r"a\.npy: dtype object"):
        check_npy_size(saved(np.array([{}], object), allow_pickle=True), 10, "a.npy")
