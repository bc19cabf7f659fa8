"""The pixel formats of cameras as data: planes, the place of each sample, tiles, and OpenCV's conversion."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from ..errors import NpuLayoutError
from ..kernels import ComponentSamples
from ..layouts import Layout
from ..support import shown
from .format_names import hint_of


class Plane(NamedTuple):
    """Rows of bytes: a unit of `nbytes` bytes for `every_x` pixels across, one row for `every_y` pixels down.

    Views of it have elements of `dtype`, with `channels` of them in the last axis (0: no such axis). `tile`: bytes and
    rows of a tile; the tiles are stored one after the other, row by row of tiles. `name`: as messages call it.
    """

    name: str
    nbytes: int = 1
    every_x: int = 1
    every_y: int = 1
    channels: int = 0
    dtype: str = "<u1"
    tile: tuple[int, int] | None = None

    def row_bytes(self, width: int) -> int:
        """Return the bytes of one row of a frame, without a pitch."""
        return -(-width // self.every_x) * self.nbytes

    def rows(self, height: int) -> int:
        """Return the number of rows for a frame of that height."""
        return -(-height // self.every_y)

    def view_shape(self, size_wh: tuple[int, int]) -> tuple[int, ...]:
        """Return the shape of the plane's view for a frame of that size; tiles left out."""
        items = self.row_bytes(size_wh[0]) // int(self.dtype[-1])
        rows = self.rows(size_wh[1])
        return (rows, items // self.channels, self.channels) if self.channels else (rows, items)

    @property
    def layout(self) -> Layout:
        """The order of the plane's bytes: rows, or tiles of them."""
        return Layout("HW" if self.tile is None else f"HW{self.tile[1]}h{self.tile[0]}w")

    @property
    def bytes_per_pixel(self) -> Fraction:
        """Bytes of a row for one pixel across."""
        return Fraction(self.nbytes, self.every_x)


class PixelFormat(NamedTuple):
    """A row of the table.

    planes
        In the order of memory.
    samples
        Where the components are: of `order`'s channels, or Y, U and V (their high bytes, if they have two).
    order
        The channel order of the picture: that of the frame's own channels, or the one that a conversion makes.
    kind
        "channels": the components are the picture's channels; "yuv": they are Y, U and V; "mosaic": a color filter for
        each pixel; "packed": bits of several channels in one word; "coded": compressed.
    conversion
        OpenCV's constant for it, without COLOR_; {} is where the picture's order is. Empty: OpenCV has none.
    high_bytes
        Bytes of each unit that have the samples' high 8 bits; 0: every byte is a sample, or part of one.
    red_xy
        Of a mosaic: the column and row of the first red pixel.
    """

    planes: tuple[Plane, ...]
    samples: tuple[ComponentSamples, ...]
    order: str = "BGR"
    kind: str = "channels"
    conversion: str = ""
    high_bytes: int = 0
    red_xy: tuple[int, int] = (0, 0)

    @property
    def is_tiled(self) -> bool:
        """Whether any plane is stored in tiles."""
        return any(plane.tile for plane in self.planes)

    @property
    def stacked(self) -> Fraction:
        """Rows of the packed array, as wide as the first plane, for each row of the frame: 3/2 for NV12."""
        first = self.planes[0].bytes_per_pixel
        return sum((p.bytes_per_pixel / p.every_y / first for p in self.planes), Fraction(0))

    @property
    def steps(self) -> tuple[int, int]:
        """Pixels across and down that share one sample of some component."""
        return max(s.every_x for s in self.samples), max(s.every_y for s in self.samples)


def _channels(order: str, count: int) -> PixelFormat:
    planes = (Plane("pixels", count, channels=count),)
    return PixelFormat(planes, tuple(ComponentSamples(0, i, count) for i in range(count)), order)


def _semiplanar(
    uv: str, every_x: int, every_y: int, conversion: str = "", tiles: tuple[tuple[int, int], ...] = ()
) -> PixelFormat:
    """Return a plane of Y and one of pairs; uv: the order of the pair."""
    luma, chroma = tiles or (None, None)
    planes = (Plane("Y", tile=luma), Plane(uv, 2, every_x, every_y, channels=2, tile=chroma))
    u, v = (ComponentSamples(1, uv.index(c), 2, every_x, every_y) for c in "UV")
    return PixelFormat(planes, (ComponentSamples(0, 0, 1), u, v), kind="yuv", conversion=conversion)


def _planar(order: str, every_x: int, every_y: int, conversion: str = "") -> PixelFormat:
    """Return three planes in that order."""
    planes = tuple(Plane(c) if c == "Y" else Plane(c, 1, every_x, every_y) for c in order)
    samples = tuple(
        ComponentSamples(order.index(c), 0, 1, *((every_x, every_y) if c != "Y" else (1, 1))) for c in "YUV"
    )
    return PixelFormat(planes, samples, kind="yuv", conversion=conversion)


def _interleaved(order: str) -> PixelFormat:
    """Return one plane of four bytes for two pixels."""
    planes = (Plane("pixels", 4, 2, channels=2),)
    samples = (ComponentSamples(0, order.index("Y"), 2), *(ComponentSamples(0, order.index(c), 4, 2) for c in "UV"))
    return PixelFormat(planes, samples, kind="yuv", conversion=f"YUV2{{}}_{order}")


def _mosaic(pattern: str, nbytes: int = 1, every_x: int = 1) -> PixelFormat:
    planes = (Plane("pixels", nbytes, every_x),)
    high_bytes, (red_y, red_x) = every_x if nbytes > 1 else 0, divmod(pattern.index("R"), 2)
    conversion = f"Bayer{pattern}2{{}}"
    return PixelFormat(planes, (ComponentSamples(0, 0, 1),), "BGR", "mosaic", conversion, high_bytes, (red_x, red_y))


_PATTERNS = ("RGGB", "BGGR", "GRBG", "GBRG")  # the first two pixels of the first row, then of the second

PIXEL_FORMATS: dict[str, PixelFormat] = {
    "BGR": _channels("BGR", 3),
    "RGB": _channels("RGB", 3),
    "BGRA": _channels("BGRA", 4),
    "RGBA": _channels("RGBA", 4),
    "BGRX": _channels("BGRX", 4),
    "RGBX": _channels("RGBX", 4),
    "GRAY": PixelFormat((Plane("pixels"),), (ComponentSamples(0, 0, 1),), "GRAY"),
    "GRAY16": PixelFormat((Plane("pixels", 2, dtype="<u2"),), (ComponentSamples(0, 1, 2),), "GRAY"),
    "RGB565": PixelFormat(
        (Plane("pixels", 2, dtype="<u2"),), (ComponentSamples(0, 0, 2),), kind="packed", conversion="BGR5652{}"
    ),
    "NV12": _semiplanar("UV", 2, 2, "YUV2{}_NV12"),
    "NV21": _semiplanar("VU", 2, 2, "YUV2{}_NV21"),
    "NV16": _semiplanar("UV", 2, 1),
    "NV24": _semiplanar("UV", 1, 1),
    "I420": _planar("YUV", 2, 2, "YUV2{}_I420"),
    "YV12": _planar("YVU", 2, 2, "YUV2{}_YV12"),
    "I422": _planar("YUV", 2, 1),
    "I444": _planar("YUV", 1, 1),
    "YUYV": _interleaved("YUYV"),
    "UYVY": _interleaved("UYVY"),
    "YVYU": _interleaved("YVYU"),
    "P010": PixelFormat(
        (Plane("Y", 2, dtype="<u2"), Plane("UV", 4, 2, 2, channels=2, dtype="<u2")),
        (ComponentSamples(0, 1, 2), ComponentSamples(1, 1, 4, 2, 2), ComponentSamples(1, 3, 4, 2, 2)),
        kind="yuv",
    ),
    **{pattern: _mosaic(pattern) for pattern in _PATTERNS},
    **{f"{pattern}10P": _mosaic(pattern, 5, 4) for pattern in _PATTERNS},
    **{f"{pattern}12P": _mosaic(pattern, 3, 2) for pattern in _PATTERNS},
    "NV12_4L4": _semiplanar("UV", 2, 2, "YUV2{}_NV12", ((4, 4), (4, 4))),
    "NV12_32L32": _semiplanar("UV", 2, 2, "YUV2{}_NV12", ((32, 32), (32, 32))),
    "NV12_16L32S": _semiplanar("UV", 2, 2, "YUV2{}_NV12", ((16, 32), (16, 16))),
    "NV12_8L128": _semiplanar("UV", 2, 2, "YUV2{}_NV12", ((8, 128), (8, 128))),
    "MJPEG": PixelFormat((), (), kind="coded"),
}
REFUSED = {"NV12_64Z32": "its tiles of 64x32 are in Z-order, which no layout describes; ask the driver for NV12"}


def pixel_format(name: object, what: str = "format") -> PixelFormat:
    """Return the row of that name; NpuLayoutError that lists the known ones, or says why this one is refused."""
    if isinstance(name, str) and name in REFUSED:
        raise NpuLayoutError(f"{what}: {name} is refused: {REFUSED[name]}")
    if not isinstance(name, str) or name not in PIXEL_FORMATS:
        known = ", ".join(PIXEL_FORMATS)
        hint = format_hint(name) if isinstance(name, str) else ""
        raise NpuLayoutError(f"{what}: expected one of {known}, got {shown(name)}{hint}")
    return PIXEL_FORMATS[name]


def format_hint(name: str) -> str:
    """Return the end of a message: which format an unknown name is, what it is else, or nothing."""
    return hint_of(name, PIXEL_FORMATS)
