"""Specs of every kind of layout, with a scalar reading of each, and the rectangles of a picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import npu_layout as nl
from tests.support import oracle

SVG = "{http://www.w3.org/2000/svg}"


PITCHES = dict(storage_strides=(200, 48, 8, 1), storage_offset=4, size=256)


SPECS = [
    nl.TensorSpec((1, 3, 4, 5), "NCHW"),
    nl.TensorSpec((2, 3, 4, 5), "NHWC", "uint8"),
    nl.TensorSpec((2, 3, 4, 5), "CHWN", "float64"),
    nl.TensorSpec((1, 20, 2, 3), "NCHW16c", "int8"),
    nl.TensorSpec((1, 5, 9, 10), "NHCW8w4c", "int4"),
    nl.TensorSpec((1, 5, 9, 10), "NHWC8h4w"),
    nl.TensorSpec((20, 9, 1, 2), "OIHW4i16o4i"),
    nl.TensorSpec((1, 4, 5, 3), "NHWC", axes="NHWC"),
    nl.TensorSpec((18, 20), nl.Layout.named("FRACTAL_NZ")),
    nl.TensorSpec((1, 3, 5, 6), "NCHW", "uint8", **PITCHES),
    nl.TensorSpec((1, 3, 2, 4), "NHWC", storage_strides=(24, -12, 3, 1), storage_offset=12),
    nl.TensorSpec((2, 17, 5, 4), "HWCN", "int16"),
    nl.TensorSpec((7,), "C"),
]


EACH_SPEC = pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.describe().replace(" ", "-"))


def place(spec: nl.TensorSpec, index: tuple[int, ...]) -> int:
    named = dict(zip(spec.axes, index))
    return spec.storage_offset + oracle.place(str(spec.layout), spec.storage_shape, named, spec.storage_strides)


def rects(svg: str) -> dict[str, ET.Element]:
    """Rectangles by their notes."""
    found = {}
    for rect in ET.fromstring(svg).iter(f"{SVG}rect"):
        title = rect.find(f"{SVG}title")
        if title is not None and title.text:
            assert title.text not in found
            found[title.text] = rect
    return found


def stored(real: np.ndarray, layout: str, dtype: str, name: str) -> tuple[nl.TensorSpec, np.ndarray]:
    """Real values as an output stores them, in int8 by the scale that has room for all of them; axes N, C, H, W."""
    q = None
    if dtype == "int8":
        low, high = min(0.0, float(real.min())), float(real.max())
        scale = (high - low) / 255
        q = nl.Quantization(scale, int(-128 - round(low / scale)))
    spec = nl.TensorSpec(real.shape, nl.Layout(layout, "NCHW"), dtype, quantization=q, name=name)
    return spec, spec.pack(real.astype(np.float32))
