"""Letterbox camera frames into pictures for accelerators, GRAY and NV12, with numpy and OpenCV."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..frame_cases import BORDER, FrameCase
from .calls import writes
from .frames import bordered, by_index, letterboxed
from .registry import Call, peer

# Weights of B, G and R in 15 bits (OpenCV's COLOR_BGR2GRAY), and for Y, U and V in 20 (COLOR_BGR2YUV_I420).
_GRAY = np.array((3735, 19235, 9798), np.int32)
_YUV = np.array(((102760, 528482, 269484), (460324, -305135, -155188), (-74448, -385875, 460324)), np.int32)
_OFFSETS = (16, 128, 128)
_LUMA, _BLACK = 1220542, 16  # from limited range to 0..255, in 20 bits
_BORDER_Y, _BORDER_UV = (BORDER,), (128, 128)  # gray 114 in limited range is 113.9


@peer("frame-gray", "numpy", "weights in integers, then rows and columns by index")
def numpy_frame_gray(case: FrameCase) -> Call:
    """Convert the whole frame, then pick four pixels for each of the result."""
    inner, out = _inner(case, 1)
    height = case.geometry.frame_wh[1]

    def run() -> np.ndarray:
        if case.format == "BGR":
            gray = (case.x.astype(np.int32) @ _GRAY + (1 << 14)) >> 15
        else:
            light = np.maximum(case.x[:height].astype(np.int32) - _BLACK, 0) * _LUMA
            gray = np.minimum((light + (1 << 19)) >> 20, 255)
        resize = by_index(lambda rows, columns: gray[rows[:, None], columns, None], *_sizes(case, 1))
        np.copyto(inner, resize(), casting="unsafe")
        return out

    return run


@peer("frame-gray", "cv2", "cvtColor or LUT, resize, copyMakeBorder")
def cv2_frame_gray(case: FrameCase) -> Call:
    """Make gray of the frame, then resize it; NV12 has it in its first plane, in limited range."""
    import cv2

    out, (width, height) = case.out(), case.geometry.frame_wh
    gray = case.zeros((height, width), np.uint8, scratch=True)
    if case.format == "BGR":
        pixels = writes(gray, cv2.cvtColor, case.x, cv2.COLOR_BGR2GRAY, gray)
    else:
        codes = (np.maximum(np.arange(256) - _BLACK, 0) * _LUMA + (1 << 19)) >> 20
        pixels = writes(gray, cv2.LUT, case.x[:height], np.minimum(codes, 255).astype(np.uint8), gray)
    canvas = out.reshape(case.geometry.input_wh[::-1])
    return writes(out, bordered(case, pixels, case.geometry.resized_wh, case.geometry.pad_ltrb, (BORDER,), canvas))


@peer("frame-planes", "numpy", "rows and columns by index, in integers")
def numpy_frame_planes(case: FrameCase) -> Call:
    """Resize pixels and convert them, or resize each plane."""
    width, height = case.geometry.input_wh
    if case.format == "BGR":
        inner, canvas = _inner(case, 3)
        out, frame = case.out(), case.x
        y, uv = _planes(out, (width, height))

        def convert() -> np.ndarray:
            resize = by_index(lambda rows, columns: frame[rows[:, None], columns].astype(np.int32), *_sizes(case, 1))
            np.copyto(inner, resize(), casting="unsafe")
            pixels = canvas.astype(np.int32)
            for k, place in enumerate((y, uv[..., 0], uv[..., 1])):
                some = pixels if k == 0 else pixels[::2, ::2]
                sums = (some @ _YUV[k] + (_OFFSETS[k] << 20) + (1 << 19)) >> 20
                np.clip(sums, 0, 255, out=place, casting="unsafe")
            return out

        return convert
    out = case.out()
    parts = []
    for every, plane, place, border in zip((1, 2), _source_planes(case), _planes(out, (width, height)), (BORDER, 128)):
        place[...] = border
        left, top = (n // every for n in case.geometry.pad_ltrb[:2])
        columns, rows = _sizes(case, every)[1]
        parts.append((every, plane.reshape(*plane.shape[:2], -1), place[top : top + rows, left : left + columns]))

    def run() -> np.ndarray:
        for every, plane, inner in parts:

            def pixels(rows: np.ndarray, columns: np.ndarray, plane: np.ndarray = plane) -> np.ndarray:
                return plane[rows[:, None], columns].astype(np.int32)

            resize = by_index(pixels, *_sizes(case, every))
            np.copyto(inner, resize().reshape(inner.shape), casting="unsafe")
        return out

    return run


@peer("frame-planes", "cv2", "resize, copyMakeBorder, cvtColor, merge; or split, resize, copyMakeBorder, merge")
def cv2_frame_components(case: FrameCase) -> Call:
    """Convert the letterboxed pixels to I420, whose U and V are put together; or resize Y, U and V."""
    import cv2

    out, (width, height) = case.out(), case.geometry.input_wh
    y, uv = _planes(out, (width, height))
    if case.format == "BGR":
        canvas = case.zeros((height, width, 3), np.uint8, scratch=True)
        i420 = case.zeros((height * 3 // 2, width), np.uint8, scratch=True)
        letterbox, apart = letterboxed(case, canvas), i420[height:].reshape(2, height // 2, width // 2)

        def convert() -> None:
            letterbox()
            cv2.cvtColor(canvas, cv2.COLOR_BGR2YUV_I420, i420)
            np.copyto(y, i420[:height])
            cv2.merge([apart[0], apart[1]], uv)

        return writes(out, convert)
    luma, pairs = _source_planes(case)
    apart = case.zeros((2, *pairs.shape[:2]), np.uint8, scratch=True)
    made = case.zeros((2, height // 2, width // 2), np.uint8, scratch=True)
    calls = [_bordered(case, 1, luma, _BORDER_Y, y)]
    calls += [_bordered(case, 2, one, _BORDER_UV, place) for one, place in zip(apart, made)]

    def resize() -> None:
        cv2.split(pairs, [apart[0], apart[1]])
        for call in calls:
            call()
        cv2.merge([made[0], made[1]], uv)

    return writes(out, resize)


@peer("frame-planes", "cv2", "resize and copyMakeBorder of each plane")
def cv2_frame_planes(case: FrameCase) -> Call | None:
    """Resize both planes; at half the size OpenCV rounds means of two channels to even, those of one or three up."""
    if case.format == "BGR":
        return None
    out, (luma, pairs) = case.out(), _source_planes(case)
    y, uv = _planes(out, case.geometry.input_wh)
    calls = _bordered(case, 1, luma, _BORDER_Y, y), _bordered(case, 2, pairs, _BORDER_UV, uv)
    return writes(out, lambda: [call() for call in calls])


def _bordered(case: FrameCase, every: int, plane: np.ndarray, border: tuple[int, ...], out: np.ndarray) -> Call:
    """Return a call that resizes a plane, of which `every` pixels share a sample, and adds the border."""
    pad = tuple(n // every for n in case.geometry.pad_ltrb)
    return bordered(case, lambda: plane, _sizes(case, every)[1], pad, border, out)


def _inner(case: FrameCase, channels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a canvas with its border, and the part of it that the frame fills: (H, W, channels)."""
    (left, top), (width, height) = case.geometry.pad_ltrb[:2], case.geometry.resized_wh
    flat = (
        case.out() if channels == 1 else case.zeros((*case.geometry.input_wh[::-1], channels), np.uint8, scratch=True)
    )
    canvas = flat.reshape(*case.geometry.input_wh[::-1], channels)
    canvas[...] = BORDER
    return canvas[top : top + height, left : left + width], flat


def _sizes(case: FrameCase, every: int) -> tuple[Any, Any]:
    """Return the size of a plane of the frame and of what it becomes, of which `every` pixels share a sample."""
    frame_wh, resized_wh = case.geometry.frame_wh, case.geometry.resized_wh
    return tuple(n // every for n in frame_wh), tuple(n // every for n in resized_wh)


def _planes(buffer: np.ndarray, wh: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the planes of NV12 in a buffer: (H, W) and (H / 2, W / 2, 2)."""
    width, height = wh
    return buffer[: height * width].reshape(height, width), buffer[height * width :].reshape(height // 2, width // 2, 2)


def _source_planes(case: FrameCase) -> tuple[np.ndarray, np.ndarray]:
    return _planes(case.flat, case.geometry.frame_wh)
