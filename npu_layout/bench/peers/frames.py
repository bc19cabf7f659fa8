"""Letterbox camera frames into a network's input with other libraries.

What they have in between is scratch memory; a step that is not needed is left out: a frame of the right size is not
resized, and NV12 becomes RGB at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import kernels
from ..frame_cases import BORDER, FrameCase
from .calls import writes
from .registry import Call, peer

Pixels = Callable[[np.ndarray, np.ndarray], np.ndarray]

_FLIP = np.uint8(0x80)  # what makes of a pixel the int8 that is 128 less


@peer("frame", "numpy", "rows and columns by index, in integers")
def numpy_frame(case: FrameCase) -> Call:
    """Pick four pixels for each of the result, convert them, and add them up by their weights in 11 bits."""
    left, top = case.geometry.pad_ltrb[:2]
    width, height = case.geometry.resized_wh
    canvas = canvas_of(case)
    inner, pixels, finish = canvas[top : top + height, left : left + width], _pixels(case), finished(case, canvas)
    frame_wh = case.geometry.frame_wh
    resized = by_index(pixels, frame_wh, (width, height))

    def run() -> np.ndarray:
        np.copyto(inner, resized(), casting="unsafe")
        return finish()

    return run


def by_index(pixels: Pixels, frame_wh: tuple[int, int], wh: tuple[int, int]) -> Call:
    """Return a call that returns pixels resized by INTER_LINEAR, int32; `pixels`: those at rows and columns."""
    along, down = kernels.linear_axis(frame_wh[0], wh[0]), kernels.linear_axis(frame_wh[1], wh[1], True)
    columns, across = _taps(along)
    rows, weights = _taps(down)
    above, below = weights[:, 0, None, None], weights[:, 1, None, None]

    def line(row: np.ndarray) -> np.ndarray:
        found: np.ndarray = pixels(row, columns[0]) * across[:, :1] + pixels(row, columns[1]) * across[:, 1:]
        return found >> 4

    def run() -> Any:
        if along.mean and down.mean:
            total = sum(pixels(row, column) for row in rows for column in columns)
            return (total + 2) >> 2
        lines = (line(rows[0]) * above >> 16) + (line(rows[1]) * below >> 16)
        return (lines + 2) >> 2

    return run


@peer("frame", "cv2", "cvtColor, resize, copyMakeBorder, cvtColor, xor, mixChannels or blob")
def cv2_frame(case: FrameCase) -> Call:
    """Make the calls that people write: convert NV12, resize, add the border, exchange colours, and store."""
    import cv2

    out, is_rgb = case.out(), case.format != "BGR"
    if case.target.stored.kind == "f":
        canvas = case.zeros((*out.shape[2:], 3), np.uint8, scratch=True)
        letterbox, parameters = letterboxed(case, canvas), _blob(case)

        def blob() -> np.ndarray:
            letterbox()
            return np.asarray(cv2.dnn.blobFromImageWithParams(canvas, parameters))

        return blob
    bytes_ = out.view(np.uint8)
    if out.ndim == 5:
        canvas, wide = case.zeros((*out.shape[2:4], 3), np.uint8, scratch=True), bytes_[0, 0]
        letterbox, places = letterboxed(case, canvas), (0, 1, 2) if is_rgb else (2, 1, 0)
        pairs = [k for channel, place in enumerate(places) for k in (place, channel)]

        def blocks() -> None:
            letterbox()
            np.bitwise_xor(canvas, _FLIP, out=canvas)
            cv2.mixChannels([canvas], [wide], pairs)

        return writes(out, blocks)
    canvas = bytes_[0] if is_rgb else case.zeros(out.shape[1:], np.uint8, scratch=True)
    letterbox, signed = letterboxed(case, canvas), out.dtype == np.int8

    def pixels() -> None:
        letterbox()
        if not is_rgb:
            cv2.cvtColor(canvas, cv2.COLOR_BGR2RGB, bytes_[0])
        if signed:
            np.bitwise_xor(bytes_, _FLIP, out=bytes_)

    return writes(out, pixels)


@peer("frame", "cv2", "blobFromImageWithParams, letterbox")
def cv2_blob_frame(case: FrameCase) -> Call | None:
    """Make a blob, which resizes and adds the border too; it is float32 and planes only."""
    import cv2

    if case.target.stored.kind != "f":
        return None
    parameters, pixels = _blob(case), _converted(case)
    parameters.size = case.geometry.input_wh
    parameters.paddingmode = cv2.dnn.DNN_PMODE_LETTERBOX
    parameters.borderValue = (BORDER,) * 3
    return lambda: cv2.dnn.blobFromImageWithParams(pixels(), parameters)


def canvas_of(case: FrameCase) -> np.ndarray:
    """Return scratch memory for RGB, filled with the border."""
    canvas = case.zeros((*case.geometry.input_wh[::-1], 3), np.uint8, scratch=True)
    canvas[...] = BORDER
    return canvas


def finished(case: FrameCase, canvas: np.ndarray) -> Call:
    """Return a call that stores RGB pixels as the target does, with numpy."""
    out = case.out()
    if out.dtype == np.float32:
        planes = canvas.transpose(2, 0, 1)[None]
        mean, std = (v[:, None, None] for v in (case.mean, case.std))
        return writes(out, lambda: np.divide(np.subtract(planes, mean, out=out), std, out=out))
    stored = (out[0, 0] if out.ndim == 5 else out[0]).view(np.uint8)[..., :3]
    return writes(out, np.bitwise_xor, canvas, _FLIP if out.dtype == np.int8 else np.uint8(0), stored)


def _taps(axis: kernels.Axis) -> tuple[list[np.ndarray], np.ndarray]:
    """Return both source elements of each result, and their weights."""
    if axis.mean:
        first = 2 * np.arange(len(axis.first))
        return [first, first + 1], np.ones((len(first), 2), np.int32)
    weights = np.array([[2048, 0]]) if axis.weights is None else axis.weights
    taps = [np.clip(axis.first + i, 0, axis.size - 1) for i in (0, 1)]
    return taps, np.broadcast_to(weights.astype(np.int32), (len(axis.first), 2))


def _pixels(case: FrameCase) -> Pixels:
    """Return a function of rows and columns that returns RGB there, int32."""
    frame, height = case.x, case.geometry.frame_wh[1]
    if case.format == "BGR":
        return lambda rows, columns: frame[rows[:, None], columns, ::-1].astype(np.int32)
    chroma = frame[height:].reshape(height // 2, -1, 2)

    def pixels(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        light = np.maximum(frame[rows[:, None], columns].astype(np.int32) - 16, 0) * 1220542 + (1 << 19)
        u, v = np.moveaxis(chroma[rows[:, None] // 2, columns // 2].astype(np.int32) - 128, -1, 0)
        sums = light + 1673527 * v, light - 409993 * u - 852492 * v, light + 2116026 * u
        return np.clip(np.stack(sums, -1) >> 20, 0, 255)

    return pixels


def _converted(case: FrameCase) -> Call:
    """Return a call that returns the frame as BGR, or as RGB if it is NV12."""
    import cv2

    if case.format == "BGR":
        return lambda: case.x
    pixels = case.zeros((*case.geometry.frame_wh[::-1], 3), np.uint8, scratch=True)
    return writes(pixels, cv2.cvtColor, case.x, cv2.COLOR_YUV2RGB_NV12, pixels)


def letterboxed(case: FrameCase, canvas: np.ndarray) -> Call:
    """Return a call that converts, resizes and borders the frame with OpenCV."""
    pixels, wh = _converted(case), case.geometry.resized_wh
    return bordered(case, pixels, wh, case.geometry.pad_ltrb, (BORDER,) * 3, canvas)


def bordered(
    case: FrameCase,
    pixels: Call,
    wh: tuple[int, int],
    pad_ltrb: tuple[int, ...],
    border: tuple[int, ...],
    out: np.ndarray,
) -> Call:
    """Return a call that resizes pixels (H, W) or (H, W, C), and adds a border of one colour around them."""
    import cv2

    left, top, right, bottom = pad_ltrb
    resized = case.zeros((*wh[::-1], *out.shape[2:]), np.uint8, scratch=True)
    around = (top, bottom, left, right, cv2.BORDER_CONSTANT, out, border)

    def run() -> None:
        given = pixels()
        same = given.shape[1::-1] == wh
        cv2.copyMakeBorder(given if same else cv2.resize(given, wh, resized, interpolation=cv2.INTER_LINEAR), *around)

    return run


def _blob(case: FrameCase) -> Any:
    """Return the parameters that exchange red and blue if need be, and normalise."""
    import cv2

    parameters = cv2.dnn.Image2BlobParams()
    parameters.scalefactor = tuple((1 / case.std).tolist())
    parameters.mean = tuple(case.mean.tolist())
    parameters.swapRB = case.format == "BGR"
    return parameters
