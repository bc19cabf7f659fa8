"""Frames of every pixel format, byte by byte, and the color of each pixel by the format's definition: loops alone.

Written from the definitions (V4L2's pixel formats, GStreamer's video formats, MIPI CSI-2 for packed mosaics, ITU-R
BT.601, 709 and 2020), without the library's table: `sample` finds the byte of a component in a buffer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

TILES = {  # width and height of a tile of Y, and of a tile of U and V, in bytes and rows
    "NV12_4L4": ((4, 4), (4, 4)),
    "NV12_32L32": ((32, 32), (32, 32)),
    "NV12_16L32S": ((16, 32), (16, 16)),
    "NV12_8L128": ((8, 128), (8, 128)),
}
YUV_420 = ("NV12", "NV21", "I420", "YV12", "P010", *TILES)
YUV_422 = ("NV16", "I422", "YUYV", "UYVY", "YVYU")
YUV_444 = ("NV24", "I444")
YUV = (*YUV_420, *YUV_422, *YUV_444)
CHANNELS = ("BGR", "RGB", "BGRA", "RGBA", "BGRX", "RGBX")
PATTERNS = ("RGGB", "BGGR", "GRBG", "GBRG")
MOSAICS = tuple(f"{pattern}{bits}" for bits in ("", "10P", "12P") for pattern in PATTERNS)
FLAT = (*CHANNELS, "GRAY", "GRAY16", "RGB565", *YUV, *MOSAICS)  # all but MJPEG


def half(n: int) -> int:
    return (n + 1) // 2


def planes_of(name: str, width: int, height: int) -> list[tuple[int, int]]:
    """Bytes of a row and rows of each plane, without pitches; tiles rounded up."""
    if name in TILES:
        (yw, yh), (cw, ch) = TILES[name]
        return [(up(width, yw), up(height, yh)), (up(2 * half(width), cw), up(half(height), ch))]
    if name in ("NV12", "NV21"):
        return [(width, height), (2 * half(width), half(height))]
    if name == "P010":
        return [(2 * width, height), (4 * half(width), half(height))]
    if name == "NV16":
        return [(width, height), (2 * half(width), height)]
    if name == "NV24":
        return [(width, height), (2 * width, height)]
    if name in ("I420", "YV12"):
        return [(width, height), (half(width), half(height)), (half(width), half(height))]
    if name == "I422":
        return [(width, height), (half(width), height), (half(width), height)]
    if name == "I444":
        return [(width, height)] * 3
    if name in ("YUYV", "UYVY", "YVYU"):
        return [(4 * half(width), height)]
    if name.endswith("10P"):
        return [((width + 3) // 4 * 5, height)]
    if name.endswith("12P"):
        return [(half(width) * 3, height)]
    return [
        (
            {"GRAY": 1, "GRAY16": 2, "RGB565": 2, "BGR": 3, "RGB": 3}.get(name, 1 if name in PATTERNS else 4) * width,
            height,
        )
    ]


def up(n: int, step: int) -> int:
    return (n + step - 1) // step * step


def in_plane(name: str, plane: int, stride: int, x: int, y: int) -> int:
    """The place of byte x of row y in a plane."""
    if name not in TILES:
        return y * stride + x
    tile_w, tile_h = TILES[name][plane]
    tile = (y // tile_h) * (stride // tile_w) + x // tile_w
    return tile * tile_w * tile_h + (y % tile_h) * tile_w + x % tile_w


def place(name: str, component: str, x: int, y: int) -> tuple[int, int, int]:
    """The plane, byte of the row, and row of a component of pixel x, y: its high byte, if it has two."""
    cx, cy = x // 2, y // 2
    if name in TILES or name in ("NV12", "NV21"):
        first = "V" if name == "NV21" else "U"
        return (0, x, y) if component == "Y" else (1, 2 * cx + (component != first), cy)
    if name == "P010":
        return (0, 2 * x + 1, y) if component == "Y" else (1, 4 * cx + (1 if component == "U" else 3), cy)
    if name == "NV16":
        return (0, x, y) if component == "Y" else (1, 2 * cx + (component == "V"), y)
    if name == "NV24":
        return (0, x, y) if component == "Y" else (1, 2 * x + (component == "V"), y)
    if name in ("I420", "YV12"):
        order = "YUV" if name == "I420" else "YVU"
        return (0, x, y) if component == "Y" else (order.index(component), cx, cy)
    if name == "I422":
        return (0, x, y) if component == "Y" else ("YUV".index(component), cx, y)
    if name == "I444":
        return "YUV".index(component), x, y
    if name in ("YUYV", "UYVY", "YVYU"):
        luma = name.index("Y") + 2 * (x % 2)
        return 0, 4 * cx + (luma if component == "Y" else name.index(component)), y
    raise AssertionError(name)


def sample(name: str, memory: Any, strides: Any, offsets: Any, component: str, x: int, y: int) -> int:
    plane, column, row = place(name, component, x, y)
    return int(memory[offsets[plane] + in_plane(name, plane, strides[plane], column, row)])


KR_KB = {"bt601": (0.299, 0.114), "bt709": (0.2126, 0.0722), "bt2020": (0.2627, 0.0593)}
OPENCV = (1220542, 1673527, -852492, -409993, 2116026)


def bgr_of(y: int, u: int, v: int, matrix: str = "bt601", range: str = "limited") -> tuple[int, int, int]:
    """One pixel, in 20-bit integers; BT.601 of limited range has OpenCV's rounded coefficients."""
    kr, kb = KR_KB[matrix]
    full = range == "full"
    black, y_gain, c_gain = (0, 1.0, 1.0) if full else (16, 255 / 219, 255 / 224)
    exact = (
        y_gain,
        2 * (1 - kr) * c_gain,
        -2 * kr * (1 - kr) / (1 - kr - kb) * c_gain,
        -2 * kb * (1 - kb) / (1 - kr - kb) * c_gain,
        2 * (1 - kb) * c_gain,
    )
    cy, rv, gv, gu, bu = OPENCV if (matrix, full) == ("bt601", False) else [round(c * 2**20) for c in exact]
    light = max(y - black, 0) * cy + 2**19
    b, g, r = light + bu * (u - 128), light + gu * (u - 128) + gv * (v - 128), light + rv * (v - 128)
    return tuple(min(max(c >> 20, 0), 255) for c in (b, g, r))  # type: ignore[return-value]


def gray_of(y: int, matrix: str = "bt601", range: str = "limited") -> int:
    if range == "full":
        return y
    return bgr_of(y, 128, 128, matrix)[0]


def mosaic_of(name: str, memory: Any, stride: int, width: int, height: int) -> np.ndarray:
    """The 8-bit mosaic: the high 8 bits of each pixel."""
    result = np.empty((height, width), np.uint8)
    for y in range(height):
        for x in range(width):
            if name.endswith("10P"):  # four pixels' high bytes, then their low bits
                column = x // 4 * 5 + x % 4
            elif name.endswith("12P"):  # two pixels' high bytes, then their low bits
                column = x // 2 * 3 + x % 2
            else:
                column = x
            result[y, x] = memory[y * stride + column]
    return result


def yuv_picture(
    name: str, memory: Any, size_wh: Any, strides: Any, offsets: Any, matrix: str = "bt601", range: str = "limited"
) -> np.ndarray:
    """BGR of every pixel of a YUV frame."""
    width, height = size_wh
    result = np.empty((height, width, 3), np.uint8)
    for y, x in np.ndindex(height, width):
        components = (sample(name, memory, strides, offsets, c, x, y) for c in "YUV")
        result[y, x] = bgr_of(*components, matrix=matrix, range=range)
    return result


def channels_picture(name: str, memory: Any, size_wh: Any, stride: int) -> np.ndarray:
    """The channels of every pixel as they are stored; the high byte of GRAY16; RGB565's bits, the low ones 0."""
    width, height = size_wh
    count = {"GRAY": 1, "GRAY16": 1}.get(name, 3 if name == "RGB565" else len(name))
    result = np.empty((height, width, count), np.uint8)
    for y, x in np.ndindex(height, width):
        if name == "RGB565":
            word = int(memory[y * stride + 2 * x]) + 256 * int(memory[y * stride + 2 * x + 1])
            result[y, x] = (word & 31) << 3, (word >> 5 & 63) << 2, (word >> 11) << 3
        elif name == "GRAY16":
            result[y, x] = memory[y * stride + 2 * x + 1]
        else:
            for c in range(count):
                result[y, x, c] = memory[y * stride + count * x + c]
    return result


def noise(size: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, size).astype(np.uint8)
