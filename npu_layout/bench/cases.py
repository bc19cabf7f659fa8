"""List the benchmark's cases: what is converted into what, and the same as another library sees it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..buffers import Quantization, TensorSpec
from ..frames import IMAGENET

MEAN, STD = IMAGENET
REDUCTIONS = ("argmax", "top_k", "softmax", "sigmoid", "peaks")
TOP = 5  # values that top_k finds


class Outputs:
    """Memory for what one contender writes, for a case and for the same case with other sources.

    Scratch buffers are the same for all of them, and results too if they are `shared`: as in a loop over frames.
    """

    def __init__(self, shared: bool = False) -> None:
        self.shared, self.at = shared, 0
        self.arrays: list[np.ndarray] = []

    def zeros(self, shape: Any, dtype: Any, scratch: bool) -> np.ndarray:
        """Return the next array of the contender that is being made."""
        at, self.at = self.at, self.at + 1
        if at < len(self.arrays) and (self.shared or scratch):
            return self.arrays[at]
        made = np.zeros(shape, dtype)
        if at == len(self.arrays):
            self.arrays.append(made)
        return made


_OUTPUT, _INPUT, _NEXT = Quantization(0.05, 3), Quantization(0.02, -3), Quantization(0.033, -3)
_EACH = Quantization(np.linspace(0.03, 0.07, 64), 0, axis=1)
_QUANTISED = {
    "dequantize": (_OUTPUT, None),
    "quantize": (None, _OUTPUT),
    "input": (None, _INPUT),
    "requantize": (_OUTPUT, _NEXT),
    "requantize-each": (_EACH, _NEXT),
    "quantize-each": (None, _EACH),
}

# Letter, kind, axes and extents, source, target, and how a peer sees the source: its shape, and the order in which the
# target stores its axes; for gray: the axis of channels. For sources with gaps or mirrored ones: their strides, and the
# index that selects what a peer uses of that shape.
_PITCHES = (255 * 6464, 6464, 80, 1)
_MIRRORED = np.s_[:, ::-1]
_EVERY_SECOND = (6400 * 128, 80 * 128, 128, 2)
_ROWS: tuple[tuple[Any, ...], ...] = (
    ("a", "move", "NCHW 1 57 46 46", "float32 NCHW", "float32 NHWC", (57, 2116), (1, 0)),
    ("a", "move", "NCHW 1 57 46 46", "float32 NHWC", "float32 NCHW", (2116, 57), (1, 0)),
    ("a'", "move", "NCHW 1 57 46 46", "uint8 NCHW", "uint8 NHWC", (57, 2116), (1, 0)),
    ("a'", "move", "NCHW 1 57 46 46", "uint8 NHWC", "uint8 NCHW", (2116, 57), (1, 0)),
    ("b", "move", "NCHW 1 255 80 80", "float32 NCHW", "float32 NHWC", (255, 6400), (1, 0)),
    ("b", "move", "NCHW 1 255 80 80", "float32 NHWC", "float32 NCHW", (6400, 255), (1, 0)),
    ("b'", "move", "NCHW 1 255 80 80", "uint8 NCHW", "uint8 NHWC", (255, 6400), (1, 0)),
    ("b'", "move", "NCHW 1 255 80 80", "uint8 NHWC", "uint8 NCHW", (6400, 255), (1, 0)),
    ("b'", "move", "NCHW 1 255 80 80", "uint16 NCHW", "uint16 NHWC", (255, 6400), (1, 0)),
    ("b'", "move", "NCHW 1 255 80 80", "uint16 NHWC", "uint16 NCHW", (6400, 255), (1, 0)),
    ("k", "move", "NCHW 1 17 96 72", "float32 NCHW", "float32 NHWC", (17, 6912), (1, 0)),
    ("k", "move", "NCHW 1 17 96 72", "float32 NHWC", "float32 NCHW", (6912, 17), (1, 0)),
    ("k", "move", "NCHW 1 5 80 80", "uint8 NCHW", "uint8 NHWC", (5, 6400), (1, 0)),
    ("k", "move", "NCHW 1 5 80 80", "uint8 NHWC", "uint8 NCHW", (6400, 5), (1, 0)),
    ("h", "move", "NCHW 1 64 224 224", "float32 NCHW", "float32 NHWC", (64, 50176), (1, 0)),
    ("h", "move", "NCHW 1 64 224 224", "float32 NHWC", "float32 NCHW", (50176, 64), (1, 0)),
    ("h", "move", "NCHW 1 512 80 80", "float32 NCHW", "float32 NHWC", (512, 6400), (1, 0)),
    ("h", "move", "NCHW 1 512 80 80", "float32 NHWC", "float32 NCHW", (6400, 512), (1, 0)),
    ("c", "move", "NCHW 1 256 80 80", "int8 NCHW16c", "int8 NCHW", (16, 6400, 16), (0, 2, 1)),
    ("c", "move", "NCHW 1 256 80 80", "int8 NCHW16c", "int8 NHWC", (16, 6400, 16), (1, 0, 2)),
    ("d", "dequantize", "NCHW 1 64 80 80", "int8 NCHW16c", "float32 NCHW", (4, 6400, 16), (0, 2, 1)),
    ("d", "dequantize", "NCHW 1 255 80 80", "int8 NCHW16c", "float32 NCHW", (16, 6400, 16), (0, 2, 1)),
    ("d", "dequantize", "NCHW 1 32 160 160", "int8 NCHW16c", "float32 NCHW", (2, 25600, 16), (0, 2, 1)),
    ("d''", "dequantize", "NCHW 1 64 80 80", "int8 NCHW16c", "float32 NHWC", (4, 6400, 16), (1, 0, 2)),
    ("d''", "dequantize", "NCHW 1 256 80 80", "int8 NCHW8c", "float32 NHWC", (32, 6400, 8), (1, 0, 2)),
    ("d''", "dequantize", "NCHW 1 255 80 80", "int8 NCHW16c", "float32 NHWC", (16, 6400, 16), (1, 0, 2)),
    ("d''", "dequantize", "NCHW 1 85 80 80", "int8 NCHW32c", "float32 NHWC", (3, 6400, 32), (1, 0, 2)),
    ("d'", "dequantize", "NCHW 1 64 80 80", "int8 NHWC", "float32 NCHW", (6400, 64), (1, 0)),
    ("d'", "dequantize", "NCHW 1 255 80 80", "int8 NHWC", "float32 NCHW", (6400, 255), (1, 0)),
    ("d'", "dequantize", "NCHW 1 21 513 513", "int8 NHWC", "float32 NCHW", (263169, 21), (1, 0)),
    ("e", "move", "CHW 3 368 368", "uint8 HWC", "uint8 CHW", (368, 368, 3), (2, 0, 1)),
    ("e", "move", "CHW 3 640 640", "uint8 HWC", "uint8 CHW", (640, 640, 3), (2, 0, 1)),
    ("e", "move", "CHW 3 1080 1920", "uint8 HWC", "uint8 CHW", (1080, 1920, 3), (2, 0, 1)),
    ("e'", "move", "CHW 3 368 368", "uint8 CHW", "uint8 HWC", (3, 368, 368), (1, 2, 0)),
    ("e'", "move", "CHW 3 640 640", "uint8 CHW", "uint8 HWC", (3, 640, 640), (1, 2, 0)),
    ("e'", "move", "CHW 3 1080 1920", "uint8 CHW", "uint8 HWC", (3, 1080, 1920), (1, 2, 0)),
    ("e''", "move", "CHW 4 1080 1920", "uint8 HWC", "uint8 CHW", (1080, 1920, 4), (2, 0, 1)),
    ("e''", "move", "CHW 4 1080 1920", "uint8 CHW", "uint8 HWC", (4, 1080, 1920), (1, 2, 0)),
    ("f", "normalize", "CHW 3 640 640", "uint8 HWC", "float32 CHW", (640, 640, 3), (2, 0, 1)),
    ("f'", "input", "CHW 3 640 640", "uint8 HWC", "int8 HWC", (640, 640, 3), (0, 1, 2)),
    ("f'", "input", "CHW 3 640 640", "uint8 HWC", "int8 CHW4c", (640, 640, 3), (0, 1, 2)),
    ("g", "gray", "CHW 3 1080 1920", "uint8 HWC", "uint8 HWC", (1080, 1920, 3), (2,)),
    ("g", "gray", "CHW 3 1080 1920", "uint8 CHW", "uint8 CHW", (3, 1080, 1920), (0,)),
    ("g", "gray", "CHW 3 1080 1920", "uint8 CHW4c", "uint8 CHW", (1080, 1920, 4), (2,)),
    ("g", "gray", "NCHW 8 3 360 640", "uint8 CHWN", "uint8 CHWN", (3, 360, 5120), (0,)),
    ("g'", "gray", "CHW 3 1080 1920", "uint16 HWC", "uint16 HWC", (1080, 1920, 3), (2,)),
    ("g'", "gray", "CHW 3 720 1280", "float32 HWC", "float32 HWC", (720, 1280, 3), (2,)),
    ("pack", "move", "NCHW 1 256 80 80", "int8 NCHW", "int8 NCHW16c", (16, 16, 6400), (0, 2, 1)),
    ("pack", "move", "NCHW 1 256 80 80", "int8 NCHW", "int8 NCHW4c", (64, 4, 6400), (0, 2, 1)),
    ("pack", "quantize", "NCHW 1 64 80 80", "float32 NCHW", "int8 NCHW16c", (4, 16, 6400), (0, 2, 1)),
    ("pack", "quantize", "NCHW 1 64 80 80", "float32 NHWC", "int8 NCHW16c", (6400, 4, 16), (1, 0, 2)),
    ("pad", "pad", "CHW 3 640 640", "uint8 HWC", "uint8 CHW4c", (640, 640, 3), (0, 1, 2)),
    ("pad", "pad", "CHW 3 640 640", "uint8 CHW", "uint8 CHW4c", (3, 640, 640), (1, 2, 0)),
    ("pad", "pad", "CHW 3 640 640", "uint8 HWC", "uint8 CHW16c", (640, 640, 3), (0, 1, 2)),
    ("pad", "pad", "CHW 8 160 160", "float32 HWC", "float32 CHW16c", (160, 160, 8), (0, 1, 2)),
    ("pad", "pad", "CHW 8 160 160", "float32 CHW", "float32 CHW16c", (8, 160, 160), (1, 2, 0)),
    ("unpack", "move", "NCHW 1 256 80 80", "int8 NCHW4c", "int8 NCHW", (64, 6400, 4), (0, 2, 1)),
    ("unpack", "move", "NCHW 1 256 80 80", "int8 NCHW8c", "int8 NCHW", (32, 6400, 8), (0, 2, 1)),
    ("blocks", "move", "NCHW 1 256 80 80", "float16 NCHW16c", "float16 NHWC", (16, 6400, 16), (1, 0, 2)),
    ("blocks", "move", "NCHW 1 256 80 80", "float16 NHWC", "float16 NCHW16c", (6400, 16, 16), (1, 0, 2)),
    ("blocks", "move", "NCHW 1 256 80 80", "float16 NCHW16c", "float16 NCHW", (16, 6400, 16), (0, 2, 1)),
    ("blocks", "move", "NCHW 1 256 80 80", "float32 NCHW8c", "float32 NHWC", (32, 6400, 8), (1, 0, 2)),
    ("blocks", "move", "NCHW 1 256 80 80", "float32 NHWC", "float32 NCHW8c", (6400, 32, 8), (1, 0, 2)),
    ("CHWN", "move", "NCHW 8 64 40 40", "float32 CHWN", "float32 NCHW", (102400, 8), (1, 0)),
    ("CHWN", "move", "NCHW 8 64 40 40", "float32 NCHW", "float32 CHWN", (8, 102400), (1, 0)),
    ("CHWN", "move", "NCHW 8 3 360 640", "uint8 NHWC", "uint8 CHWN", (8, 360, 640, 3), (3, 1, 2, 0)),
    ("CHWN", "move", "NCHW 8 3 360 640", "uint8 CHWN", "uint8 NHWC", (3, 360, 640, 8), (3, 1, 2, 0)),
    ("CHWN", "move", "NCHW 4 64 40 40", "float32 NCHW4c", "float32 CHWN", (4, 16, 1600, 4), (1, 3, 2, 0)),
    ("CHWN", "move", "NCHW 4 64 40 40", "float32 CHWN", "float32 NCHW4c", (16, 4, 1600, 4), (3, 0, 2, 1)),
    ("NHCW", "dequantize", "NCHW 1 85 80 80", "int8 NHCW", "float32 NCHW", (80, 85, 80), (1, 0, 2)),
    ("NHCW", "move", "NCHW 1 64 80 80", "float32 NHCW", "float32 NCHW", (80, 64, 80), (1, 0, 2)),
    ("NHCW", "move", "NCHW 1 64 80 80", "float32 NCHW", "float32 NHCW", (64, 80, 80), (1, 0, 2)),
    ("5-D", "move", "NCDHW 1 32 16 40 40", "float32 NCDHW", "float32 NDHWC", (32, 25600), (1, 0)),
    ("batch", "move", "NCHW 8 64 40 40", "float32 NCHW", "float32 NHWC", (8, 64, 1600), (0, 2, 1)),
    ("batch", "move", "NCHW 8 64 40 40", "float32 NHWC", "float32 NCHW", (8, 1600, 64), (0, 2, 1)),
    (
        "pitch",
        "move",
        "CHW 3 640 640",
        "uint8 CHW",
        "uint8 CHW",
        (3, 640, 704),
        (0, 1, 2),
        (450560, 704, 1),
        np.s_[..., :640],
    ),
    (
        "pitch",
        "move",
        "CHW 3 1080 1920",
        "uint8 HWC",
        "uint8 CHW",
        (1080, 2048, 3),
        (2, 0, 1),
        (6144, 3, 1),
        np.s_[:, :1920],
    ),
    (
        "pitch",
        "move",
        "NCHW 1 255 80 80",
        "float32 NCHW",
        "float32 NHWC",
        (255, 6464),
        (1, 0),
        (1648320, 6464, 80, 1),
        np.s_[:, :6400],
    ),
    (
        "pixels",
        "move",
        "CHW 3 1080 1920",
        "uint8 HWC",
        "uint8 HWC",
        (2073600, 4),
        (0, 1),
        (7680, 4, 1),
        np.s_[:, :3],
    ),
    (
        "strided",
        "move",
        "NCHW 1 64 80 80",
        "float32 NHWC",
        "float32 NCHW",
        (6400, 128),
        (1, 0),
        _EVERY_SECOND,
        np.s_[:, ::2],
    ),
    (
        "BGR",
        "move",
        "CHW 3 1080 1920",
        "uint8 HWC",
        "uint8 HWC",
        (1080, 1920, 3),
        (0, 1, 2),
        (5760, 3, -1),
        np.s_[:, :, ::-1],
    ),
    *(
        ("mirror", "move", "CHW 3 1080 1920", f"uint8 {source}", f"uint8 {target}", view, order, strides, mirrored)
        for source, target, view, order, strides, mirrored in (
            ("CHW", "CHW", (3240, 1920), (0, 1), (2073600, 1920, -1), _MIRRORED),
            ("HWC", "HWC", (1080, 1920, 3), (0, 1, 2), (5760, -3, 1), _MIRRORED),
            ("HWC", "CHW", (1080, 1920, 3), (2, 0, 1), (5760, -3, 1), _MIRRORED),
            ("CHW", "HWC", (3, 1080, 1920), (1, 2, 0), (2073600, 1920, -1), np.s_[:, :, ::-1]),
        )
    ),
    ("r", "argmax", "NCHW 1 21 513 513", "float32 NCHW", "int64 NCHW", (1, 5526549), (0, 1)),
    ("r", "argmax", "NCHW 1 21 513 513", "float32 NHWC", "int64 NHWC", (1, 5526549), (0, 1)),
    ("r", "argmax", "NCHW 1 21 513 513", "int8 NCHW", "int64 NCHW", (1, 5526549), (0, 1)),
    ("r", "argmax", "NCHW 1 21 513 513", "int8 NHWC", "int64 NHWC", (1, 5526549), (0, 1)),
    ("r", "argmax", "NCHW 1 80 80 80", "int8 NCHW16c", "int64 NCHW", (1, 512000), (0, 1)),
    ("r", "top_k", "NCHW 1 80 80 80", "float32 NCHW", "int64 NCHW", (1, 512000), (0, 1)),
    ("r", "top_k", "NCHW 1 80 80 80", "float32 NHWC", "int64 NHWC", (1, 512000), (0, 1)),
    ("r", "top_k", "NCHW 1 1000 1 1", "float32 NCHW", "int64 NCHW", (1, 1000), (0, 1)),
    ("r", "softmax", "NCHW 1 21 513 513", "float32 NCHW", "float32 NCHW", (1, 5526549), (0, 1)),
    ("r", "softmax", "NCHW 1 21 513 513", "float32 NHWC", "float32 NHWC", (1, 5526549), (0, 1)),
    ("r", "softmax", "NCHW 1 4 320 320", "float32 NCHW", "float32 NCHW", (1, 409600), (0, 1)),
    ("r", "softmax", "NCHW 1 150 64 64", "float32 NHWC", "float32 NHWC", (1, 614400), (0, 1)),
    ("r", "sigmoid", "NCHW 1 85 80 80", "float32 NCHW", "float32 NCHW", (1, 544000), (0, 1)),
    ("r", "peaks", "NCHW 1 19 46 46", "float32 NCHW", "float32 NCHW", (1, 40204), (0, 1)),
    ("r", "peaks", "NCHW 1 19 46 46", "float32 NHWC", "float32 NHWC", (1, 40204), (0, 1)),
    ("r", "peaks", "NCHW 1 19 46 46", "int8 NCHW", "int8 NCHW", (1, 40204), (0, 1)),
    ("r", "peaks", "NCHW 1 19 46 46", "int8 NHWC", "int8 NHWC", (1, 40204), (0, 1)),
    ("half", "half", "NCHW 1 255 80 80", "float32 NCHW", "float16 NCHW", (255, 6400), (0, 1)),
    ("half", "half", "NCHW 1 255 80 80", "float32 NCHW", "float16 NHWC", (255, 6400), (1, 0)),
    ("half", "half", "NCHW 1 256 80 80", "float16 NCHW8c", "float32 NCHW", (32, 6400, 8), (0, 2, 1)),
    ("half", "half", "NCHW 1 255 80 80", "float16 NHWC", "float32 NCHW", (6400, 255), (1, 0)),
    ("int32", "quantize", "NCHW 1 64 80 80", "float32 NCHW", "int32 NCHW", (64, 6400), (0, 1)),
    ("int32", "quantize-each", "NCHW 1 64 80 80", "float32 NHWC", "int32 NHWC", (6400, 64), (0, 1)),
    ("q", "requantize", "NCHW 1 64 80 80", "uint8 NCHW", "int8 NCHW", (64, 6400), (0, 1)),
    ("q", "requantize-each", "NCHW 1 64 80 80", "int8 NHWC", "int8 NHWC", (6400, 64), (0, 1)),
)


class Case:
    """One row of the benchmark, with random contents.

    Attributes
    ----------
    source, target
        TensorSpecs.
    flat
        What is converted: 1-D, as an accelerator returns it.
    x
        The same as a peer sees it: transposed by `order` it is what the target stores, without pad channels.
    mean, std
        For pictures: float32, in the order of the model's channels, RGB.
    """

    def __init__(
        self,
        key: str,
        kind: str,
        shape: str,
        source: str,
        target: str,
        view: tuple[int, ...],
        order: tuple[int, ...],
        strides: tuple[int, ...] | None = None,
        kept: Any = (),
    ) -> None:
        self.row: tuple[Any, ...] = (key, kind, shape, source, target, view, order, strides, kept)
        axes, *numbers = shape.split()
        extents = dict(zip(axes, map(int, numbers)))
        (from_dtype, from_layout), (to_dtype, to_layout) = source.split(), target.split()
        given, wanted = _QUANTISED.get(kind, (None, None))
        self.kind, self.key, self.order = kind, key, order
        what = f"{kind} {source}" if kind in REDUCTIONS else f"{source} -> {target}"
        back = sum((extents[axis] - 1) * -s for axis, s in zip(from_layout, strides or ()) if s < 0)
        self.title = f"{what} {'x'.join(numbers)}" + (" reversed" if back else " strided" if strides else "")
        self.mean, self.std = np.array(MEAN, np.float32), np.array(STD, np.float32)
        self.source = TensorSpec(
            list(extents.values()),
            from_layout,
            from_dtype,
            axes=axes,
            quantization=given,
            storage_strides=strides,
            storage_offset=back,
        )
        if kind in ("gray", "argmax", "top_k"):
            extents["C"] = TOP if kind == "top_k" else 1
        self.target = TensorSpec(list(extents.values()), to_layout, to_dtype, axes=axes, quantization=wanted)
        rng = np.random.default_rng(0)
        stored, size = self.source.stored, int(np.prod(view))
        if stored.kind == "f":
            memory = rng.standard_normal(size).astype(stored)
        else:
            memory = rng.integers(np.iinfo(stored).min, np.iinfo(stored).max, size, stored, endpoint=True)
        self.outputs: Outputs | None = None
        self._use(memory)

    def _use(self, memory: np.ndarray) -> None:
        view, kept = self.row[5], self.row[8]
        self.flat = memory[: self.source.size]
        self.x: np.ndarray = memory.reshape(view)[kept]
        self.memory = memory

    def again(self) -> Case:
        """Return the same case in other memory."""
        return type(self)(*self.row)

    def elsewhere(self) -> Case:
        """Return the same case with a copy of its source."""
        other = copy.copy(self)
        other._use(self.memory.copy())
        return other

    def zeros(self, shape: Any, dtype: Any, scratch: bool = False) -> np.ndarray:
        """Return zeros for a contender's result, or for a buffer that it only needs in between."""
        return np.zeros(shape, dtype) if self.outputs is None else self.outputs.zeros(shape, dtype, scratch)

    @property
    def scale(self) -> tuple[np.ndarray, np.ndarray]:
        """Scale and zero point of the side that is quantised: float32; 0-d, or 1-D if each channel has its own."""
        quantization = self.source.quantization or self.target.quantization
        assert quantization is not None
        return np.asarray(quantization.scale, np.float32), np.asarray(quantization.zero_point, np.float32)

    @property
    def logical(self) -> np.ndarray:
        """The source with its axes in logical order, a view; a copy of blocks, which have none."""
        return self.source.unpack(self.flat) if self.source.layout.is_blocked else self.source.view(self.flat)

    @property
    def channels_last(self) -> np.ndarray:
        """The source as it is stored, the storage dimensions of the channel behind all others, a view."""
        dims, channel = self.source.layout.dims, self.source.axes.index("C")
        order = sorted(range(len(dims)), key=lambda i: dims[i].axis == channel)
        return self.flat.reshape(self.source.storage_shape).transpose(order)

    @property
    def threshold(self) -> float:
        """The value that a peak must exceed; one or two in a hundred elements do."""
        return 2.25 if self.source.stored.kind == "f" else 125.0

    @property
    def nbytes(self) -> int:
        """The bytes that a copy moves for comparison: those of the result; for gray: half of those read and written."""
        return (self.flat.nbytes + self.target.nbytes) // 2 if self.kind == "gray" else self.target.nbytes

    @property
    def is_exact(self) -> bool:
        """Whether elements are only moved, so that every result has the same bits."""
        return self.kind in ("move", "pad")

    def cropped(self, result: np.ndarray) -> np.ndarray:
        """Return what the target stores of a result with whole blocks of channels: 1-D; all of it for peaks."""
        if self.kind == "peaks":
            return result.reshape(-1)
        shape, channels = list(self.target.storage_shape), self.target.layout.tag.index("C")
        whole = result.reshape([-1 if i == channels else n for i, n in enumerate(shape)])
        return whole.take(range(shape[channels]), channels).reshape(-1)

    def permuted(self) -> np.ndarray:
        """Return `x` in the target's order, a view."""
        return self.x.transpose(self.order)

    def out(self) -> np.ndarray:
        """Return zeros of the shape of `permuted`, with pad channels, in the target's dtype."""
        shape = [self.x.shape[i] for i in self.order]
        if self.kind in ("pad", "input"):
            shape[-1] = self.target.storage_shape[-1]
        return self.zeros(shape, self.target.stored)


def cases() -> Iterator[Case]:
    """Yield the case of every row; each is made when it is needed."""
    return (Case(*row) for row in _ROWS)
