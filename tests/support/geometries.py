"""Any geometry, and its formula in fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from npu_layout.frames.geometry import MODES, Geometry

MODE = st.sampled_from(sorted(MODES))
SIZE = st.tuples(st.integers(1, 4000), st.integers(1, 3000))
SMALL = st.tuples(st.integers(1, 13), st.integers(1, 13))
MIXED = Geometry((20, 15), (12, 14), (9, 8), (1, 4, 2, 2), (3, 2, 17, 13))  # a crop and padding, all sides unequal


@st.composite
def geometries(draw: Any, size: Any = SIZE) -> Geometry:
    """Any valid record, not only what the three modes make."""
    (frame, resized) = draw(size), draw(size)
    pad = tuple(draw(st.integers(0, 9)) for _ in range(4))
    x0, y0 = (draw(st.integers(0, n - 1)) for n in frame)
    x1, y1 = draw(st.integers(x0 + 1, frame[0])), draw(st.integers(y0 + 1, frame[1]))
    padded = (pad[0] + resized[0] + pad[2], pad[1] + resized[1] + pad[3])
    return Geometry(frame, padded, resized, pad, (x0, y0, x1, y1))


ANY = st.one_of(geometries(), st.builds(lambda mode, frame, size: MODES[mode](frame, size), MODE, SIZE, SIZE))


def edge_to_frame(g: Geometry, axis: int, x: Fraction) -> Fraction:
    """The oracle: one edge coordinate, exactly."""
    scale = Fraction(g.crop_xyxy[axis + 2] - g.crop_xyxy[axis], g.resized_wh[axis])
    return g.crop_xyxy[axis] + (x - g.pad_ltrb[axis]) * scale


def edge_to_input(g: Geometry, axis: int, x: Fraction) -> Fraction:
    scale = Fraction(g.resized_wh[axis], g.crop_xyxy[axis + 2] - g.crop_xyxy[axis])
    return g.pad_ltrb[axis] + (x - g.crop_xyxy[axis]) * scale
