"""The coefficients that make red, green and blue of Y, U and V, in 20-bit integers: a row for each standard."""

from __future__ import annotations

from functools import lru_cache

from ..kernels import Color
from ..support import one_of

RANGES = ("limited", "full")
# The weights of red and blue in Y: ITU-R BT.601-7 section 2.5.1, BT.709-6 and BT.2020-2 table 4.
_WEIGHTS = {"bt601": (0.299, 0.114), "bt709": (0.2126, 0.0722), "bt2020": (0.2627, 0.0593)}
MATRICES = tuple(_WEIGHTS)
_ONE = 1 << 20


# OpenCV's own, which are rounded to three decimals (imgproc, color_yuv.simd.hpp: ITUR_BT_601_CY and so on).
_OPENCV = {("bt601", "limited"): Color(16, 1220542, 1673527, -409993, -852492, 2116026)}


@lru_cache(maxsize=16)
def color_of(matrix: str, range: str) -> Color:
    """Return the coefficients of a standard; NpuLayoutError if it is not known."""
    one_of("matrix", matrix, MATRICES)
    one_of("range", range, RANGES)
    known = _OPENCV.get((matrix, range))
    if known is not None:
        return known
    red, blue = _WEIGHTS[matrix]
    green = 1 - red - blue
    y_range, c_range, black = (219, 224, 16) if range == "limited" else (255, 255, 0)
    of_y, of_c = 255 / y_range, 255 / c_range
    coefficients = (
        of_y,
        2 * (1 - red) * of_c,
        -2 * (1 - blue) * blue / green * of_c,
        -2 * (1 - red) * red / green * of_c,
        2 * (1 - blue) * of_c,
    )
    return Color(black, *(round(c * _ONE) for c in coefficients))
