"""The outputs of a model as a device stores them, and specs that read them rightly or wrongly."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import npu_layout as nl
from npu_layout.engines import calibrate

Rng = np.random.Generator
QUANTISED = ("int8", "uint8", "int16")
DTYPES = ("int8", "int16", "float16", "float32")


class NotApplicable(Exception):
    """This fault changes nothing here, or cannot be planted."""


def anchors_first(shape: tuple[int, ...]) -> bool:
    """Whether axis 1 has no channels, but the places of a detector."""
    return len(shape) == 3 and shape[1] > shape[2]


class Port(NamedTuple):
    """An output, and lowest and highest value of each of its channels."""

    name: str
    shape: tuple[int, ...]
    low: np.ndarray
    high: np.ndarray

    @property
    def uneven(self) -> bool:
        """Whether one scale of 8 bits for all would leave nothing of some channels."""
        ranges = self.high - self.low
        return bool((ranges * 32 < ranges.max()).any())

    def quantization(self, dtype: str, each: bool = False) -> nl.Quantization | None:
        """As a converter would choose it, for the tensor or `each` channel, where axis 1 has some; None for floats."""
        whole = calibrate([self.low, self.high], dtype)
        if whole is None or anchors_first(self.shape) or not (each or (self.uneven and dtype in ("int8", "uint8"))):
            return whole
        parts = [calibrate([low, high], dtype) for low, high in zip(self.low, self.high)]
        return nl.Quantization([p.scale for p in parts], [p.zero_point for p in parts], axis=1)  # type: ignore[union-attr]

    def spec(self, layout: str, dtype: str, **more: Any) -> nl.TensorSpec:
        more.setdefault("quantization", self.quantization(dtype))
        return nl.TensorSpec(self.shape, nl.Layout(layout), dtype, name=self.name, **more)


Specs = tuple[nl.TensorSpec, nl.TensorSpec]  # the true one, the declared one


# Layouts. Letters go by rank, so one row of the table does for maps and for (1, channels, anchors).
LAYOUTS = {
    4: ("NCHW", "NHWC", "NCHW16c", "NCHW8c", "NCHW4c", "NHWC8c", "NHCW", "rows", "planes"),
    3: ("NCW", "NWC", "NCW16c", "NCW8c"),
    2: ("NC",),
}


def place(port: Port, layout: str, dtype: str, **more: Any) -> nl.TensorSpec:
    """A spec of a layout, or of NCHW with padded "rows" or "planes"."""
    if layout in ("rows", "planes"):
        _, c, h, w = port.shape
        row = -(-(w + 1) // 8) * 8 if layout == "rows" else w
        plane = h * row if layout == "rows" else -(-(h * w + 1) // 16) * 16 + 16
        return port.spec("NCHW", dtype, storage_strides=(c * plane, plane, row, 1), size=c * plane, **more)
    return port.spec(layout, dtype, **more)


def read_as(true: str, declared: str, rng: Rng, port: Port, dtype: str) -> Specs:
    rank = len(port.shape)
    if rank == 3:
        true, declared = (name.replace("H", "") for name in (true, declared))
    if rank < 3 or (rank == 3 and true in ("rows", "planes")):
        raise NotApplicable("too few axes")
    specs = [place(port, layout, dtype) for layout in (true, declared)]
    size = max(s.size for s in specs)
    if size > 2 * specs[0].size:
        raise NotApplicable("the declared layout needs far more bytes")
    index = np.indices(port.shape)
    if np.array_equal(*(s.offset(*index) for s in specs)):
        raise NotApplicable("both layouts read the same elements")
    first, second = (nl.TensorSpec.from_dict({**s.to_dict(), "size": size}) for s in specs)
    return first, second
