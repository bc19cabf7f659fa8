"""List the benchmark's camera frames: which are resized into which network's input."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from ..buffers import Quantization, TensorSpec
from ..frames import MODES, FrameSpec
from .cases import MEAN, STD, Case

_SIZES = {"4K": (3840, 2160), "1080p": (1920, 1080), "720p": (1280, 720), "VGA": (640, 480)}
_SIDES = (640, 320, 224)
_KEYS = {"BGR": "frame", "NV12": "frame'"}
_TARGETS = ("uint8 NHWC", "float32 NCHW", "int8 NHWC", "int8 NCHW16c")
# Formats that accelerators read as they are: the kind of case and the Preprocessor's arguments, by the frame's format.
_PICTURES: dict[str, tuple[str, dict[str, dict[str, Any]]]] = {
    "GRAY": ("frame-gray", {"BGR": {"color": "GRAY"}, "NV12": {"color": "GRAY"}}),
    "NV12": ("frame-planes", {"BGR": {}, "NV12": {"yuv": "planes"}}),
}
_PICTURE_SIDE = 640  # borders of whole pairs of pixels
_LESS_128 = Quantization(1.0, -128)
BORDER = 114  # of the letterbox, in every channel


@lru_cache(maxsize=8)
def _noise(count: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, count, np.uint8)


class FrameCase(Case):
    """One row: a frame of noise, letterboxed into the input of a network that reads RGB, or into a picture.

    float32 is normalised by `mean` and `std`; int8 is the pixel less 128. A picture is GRAY or NV12, in the frame's
    matrix and range: of NV12 its planes are resized. Cases of one size share a frame until they are put elsewhere.

    Attributes
    ----------
    format
        BGR or NV12. `x` is the frame in the shape that OpenCV gives it.
    geometry
        Where the resized frame is in the input.
    asked, options
        What a Preprocessor makes: the target or, of a picture, its FrameSpec; and its other arguments.
    """

    def __init__(self, format: str, frame_wh: tuple[int, int], target: str, side: int, name: str = "") -> None:
        self.key, self.format = _KEYS[format], format
        width, height = frame_wh
        self.title = f"{name or f'{width}x{height}'} {format} -> {target} {side}x{side}"
        self.frame_shape = (height, width, 3) if format == "BGR" else (height * 3 // 2, width)
        if target in _PICTURES:
            self.kind, options = _PICTURES[target]
            self.asked: TensorSpec | FrameSpec = (picture := FrameSpec(target, (side, side)))
            self.options, self.target = options[format], TensorSpec((picture.size or 0,), "C", "uint8", axes="C")
        else:
            dtype, layout = target.split()
            is_real = dtype == "float32"
            self.mean = np.array(MEAN if is_real else (0, 0, 0), np.float32)
            self.std = np.array(STD if is_real else (1, 1, 1), np.float32)
            quantization = _LESS_128 if dtype == "int8" else None
            self.asked = self.target = TensorSpec((1, 3, side, side), layout, dtype, quantization=quantization)
            self.kind, self.options = "frame", {"mean": self.mean, "std": self.std}
        self.geometry = MODES["letterbox"](frame_wh, (side, side))
        self.outputs = None
        self._use(_noise(int(np.prod(self.frame_shape))))

    def _use(self, memory: np.ndarray) -> None:
        self.memory = self.flat = memory
        self.x = memory.reshape(self.frame_shape)

    @property
    def is_exact(self) -> bool:
        """Whether results are pixels, which are equal or are not."""
        return self.target.stored.kind in "iu"

    def out(self) -> np.ndarray:
        """Return zeros of the target's storage shape and dtype."""
        return self.zeros(self.target.storage_shape, self.target.stored)


def frame_cases() -> Iterator[FrameCase]:
    """Yield the case of every row: each format, size, side of the input and target; then pictures."""
    for format in _KEYS:
        for name, frame_wh in _SIZES.items():
            for side in _SIDES:
                for target in _TARGETS:
                    yield FrameCase(format, frame_wh, target, side, name)
            for target in _PICTURES:
                yield FrameCase(format, frame_wh, target, _PICTURE_SIDE, name)
