"""Move and convert elements, and resize pictures, by the kernels of a backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import fallback
from .box import Arithmetic, Box
from .choice import LEVELS
from .choice import core as _core  # an import: Python calls functions of an imported name faster (30 ns)
from .pictures import Fit, PictureResize

FallbackProgram = fallback.program.Program


def program(
    src_size: int,
    dst_size: int,
    fills: Sequence[Box],
    boxes: Sequence[Box],
    arithmetic: Arithmetic,
    backend: str | None = None,
    alongside: int = 0,
) -> FallbackProgram:
    """Return a program whose ``run(source, destination)`` works on two flat arrays of the sizes given, in elements.

    It writes zeros to the boxes `fills` of the destination, then moves or converts `boxes`; ValueError if the arrays
    overlap. The program is compiled if the core supports the dtypes, else the fallback's. `backend`: used in place of
    the active one. `alongside`: bytes of other programs' results that are read together with this one's result, which
    decide whether the caches can contain it.
    """
    level = LEVELS[backend]
    made = level and _core.program(src_size, dst_size, fills, boxes, arithmetic, level, alongside)
    return made or FallbackProgram(dst_size, fills, boxes, arithmetic)


def usual(program: Any, source: np.ndarray, destination: np.ndarray) -> Callable[[Any, Any], bool] | None:
    """Return ``attempt(source, destination)`` of a program for arrays like these, which passed every check.

    It runs the program and returns True; False for arrays of another type, dtype or shape, or if they are not
    C-contiguous, have other sizes than the program's, overlap, or may not be written: then nothing was written. None if
    the program is not compiled, or arrays have more axes than the core supports.
    """
    return None if isinstance(program, FallbackProgram) else _core.usual(program, source, destination)


def picture_rows(resize: PictureResize, backend: str | None = None) -> fallback.pictures.PictureRows:
    """Return what resizes pictures: ``write(planes, out)``, with the bits of `fallback.pictures.PictureRows`."""
    level = LEVELS[backend]
    return fallback.pictures.PictureRows(resize) if level is None else _core.picture_rows(resize, level)


def fit(made: Fit, band: Any, tail: Any, dtype: str, backend: str | None = None) -> Any:
    """Return what writes pictures to buffers in one pass: ``run(out, offset, *planes)``; None if it is not compiled.

    band, tail: programs, made by `program` for the same backend, that convert bands of `made.rows` rows of the canvas,
    and the rows behind the last whole band; None: rows of the canvas are the result. dtype: of the buffer.
    """
    level = LEVELS[backend]
    if level is None or any(isinstance(p, FallbackProgram) for p in (band, tail)):
        return None
    return _core.fit(made, band, tail, Arithmetic("uint8", dtype).itemsizes[1], level)


def run_fits(steps: tuple[Any, ...], out: np.ndarray, frame: Any) -> bool:
    """Write what up to three results of `fit` make of one frame, by turns: a band of each, of the same part of it.

    steps: (fit, byte of `out` at which it begins, ((array, offset, pitch) of each plane, ...)); offsets and pitches are
    bytes of the frame, or of one of its arrays if it is a tuple of some. False if something does not fit: then nothing
    was written.
    """
    return bool(_core.run_fits(steps, out, frame))


def gray(blue: np.ndarray, green: np.ndarray, red: np.ndarray, out: np.ndarray, backend: str | None = None) -> None:
    """Write grayscale of three views of one shape and one set of strides to `out`; see `fallback.gray.gray`."""
    level = LEVELS[backend]
    if level is None:
        fallback.gray.gray(blue, green, red, out)
    else:
        _core.gray(blue, green, red, out, level)


def gray_of(views: Sequence[np.ndarray], image: np.ndarray, out: np.ndarray, backend: str | None = None) -> Any:
    """Return what writes gray of the same views of other images, or None if it is not compiled.

    views: what `gray` takes: three of `image` and one of `out`, which are C-contiguous. ``attempt(image, out)`` of the
    result is False if arrays do not have as many bytes, are not C-contiguous or overlap: then nothing was written.
    """
    level = LEVELS[backend]
    return None if level is None else _core.gray_of(views, image, out, level)
