"""The coefficients between red, green and blue and Y, U and V, in 20-bit integers: a row for each standard."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ..kernels import Color
from ..support import one_of

RANGES = ("limited", "full")
# The weights of red and blue in Y: ITU-R BT.601-7 section 2.5.1, BT.709-6 and BT.2020-2 table 4.
_WEIGHTS = {"bt601": (0.299, 0.114), "bt709": (0.2126, 0.0722), "bt2020": (0.2627, 0.0593)}
MATRICES = tuple(_WEIGHTS)
_SPANS = {"limited": (219, 224, 16), "full": (255, 255, 0)}  # of Y, of U and V, and black: BT.601-7 section 2.5.3
_ONE = 1 << 20


def _standard(matrix: str, range: str) -> tuple[float, float, float, int, int, int]:
    """Return the weights of red, green and blue in Y, the spans of Y and of U and V, and black; NpuLayoutError."""
    one_of("matrix", matrix, MATRICES)
    red, blue = _WEIGHTS[matrix]
    return (red, 1 - red - blue, blue, *_SPANS[one_of("range", range, RANGES)])


# OpenCV's own, which are rounded to three decimals (imgproc, color_yuv.simd.hpp: ITUR_BT_601_CY and so on).
_OPENCV = {("bt601", "limited"): Color(16, 1220542, 1673527, -409993, -852492, 2116026)}


@lru_cache(maxsize=16)
def color_of(matrix: str, range: str) -> Color:
    """Return the coefficients of a standard; NpuLayoutError if it is not known."""
    red, green, blue, y_range, c_range, black = _standard(matrix, range)
    known = _OPENCV.get((matrix, range))
    if known is not None:
        return known
    of_y, of_c = 255 / y_range, 255 / c_range
    coefficients = (
        of_y,
        2 * (1 - red) * of_c,
        -2 * (1 - blue) * blue / green * of_c,
        -2 * (1 - red) * red / green * of_c,
        2 * (1 - blue) * of_c,
    )
    return Color(black, *(round(c * _ONE) for c in coefficients))


class ToYuv(NamedTuple):
    """The weights of blue, green and red in Y, U and V, and what is added, in 20-bit integers and in whole units."""

    components: tuple[tuple[tuple[int, int, int], int], ...]


# OpenCV's own for planes, rounded as above (ITUR_BT_601_CBY and so on).
_OPENCV_TO_YUV = {
    ("bt601", "limited"): ToYuv(
        (((102760, 528482, 269484), 16), ((460324, -305135, -155188), 128), ((-74448, -385875, 460324), 128))
    )
}


@lru_cache(maxsize=16)
def to_yuv_of(matrix: str, range: str) -> ToYuv:
    """Return the coefficients that make Y, U and V; arguments and errors as for `color_of`."""
    red, green, blue, y_range, c_range, black = _standard(matrix, range)
    known = _OPENCV_TO_YUV.get((matrix, range))
    if known is not None:
        return known
    of_y, of_u, of_v = y_range / 255, c_range / 255 / (2 * (1 - blue)), c_range / 255 / (2 * (1 - red))
    weights = (
        ((blue * of_y, green * of_y, red * of_y), black),
        (((1 - blue) * of_u, -green * of_u, -red * of_u), 128),
        ((-blue * of_v, -green * of_v, (1 - red) * of_v), 128),
    )
    return ToYuv(tuple(((round(b * _ONE), round(g * _ONE), round(r * _ONE)), add) for (b, g, r), add in weights))
