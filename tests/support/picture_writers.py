"""What writes the rows of pictures: each backend, and AVX-512 without the instructions of VBMI."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npu_layout import kernels
from npu_layout.kernels import PictureResize
from tests.support.kernel_walks import BACKENDS, NATIVE

if NATIVE:
    from npu_layout.kernels import native


def writers(resize: PictureResize) -> Iterator[tuple[str, Any]]:
    """Yield names and writers."""
    for backend in BACKENDS:
        yield backend, kernels.picture_rows(resize, backend)
    if NATIVE and "avx512" in native.LEVELS:
        yield "avx512 without VBMI", native.picture_rows(resize, "avx512", wide=False)
