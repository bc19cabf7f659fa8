"""Explain where a camera's frame has each sample: the first bytes of each plane, as text and as a picture."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..errors import NpuLayoutError
from ..frames import FrameSpec, Plane, pixel_format
from ..layouts import Storage
from ..support import check_fields, many, real_number
from .palette import DISTINCT, EMPTY, GRAY, PALE, WHITE, Colour, ink_on
from .saving import write_picture
from .scene import Label, Rectangle, Scene

_ROWS, _COLUMNS, _TILES = 4, 16, 2  # what is shown of a plane: rows, bytes of each, and tiles
_CELL, _PITCH, _MARGIN = 34.0, 24.0, 18.0
_RED, _GREEN, _BLUE = DISTINCT[:3]
_COLOURS: dict[str, Colour] = {"Y": PALE, "U": _BLUE, "V": _RED, "R": _RED, "G": _GREEN, "B": _BLUE}


class Byte(NamedTuple):
    """One byte: its component ("" for low bits and pads), and the number of the sample in its row."""

    component: str
    number: int

    @property
    def label(self) -> str:
        """What a cell shows: ``U3``; ``..`` for bits that no sample's high byte has."""
        return f"{self.component}{self.number}" if self.component else ".."


class ByteRun(NamedTuple):
    """Bytes one after the other, from `address` on; `left` more of the row are not shown, `gap` belong to no pixel."""

    address: int
    row: int
    bytes: tuple[Byte, ...]
    left: int
    gap: int

    def __str__(self) -> str:
        left = f"  +{self.left} more" if self.left else ""
        gap = f"  +{self.gap} of a gap" if self.gap else ""
        return " ".join(f"{byte.label:<3}" for byte in self.bytes).rstrip() + left + gap


class PlaneMemory(NamedTuple):
    """The first runs of one plane, in the order of their addresses, and the plane in words."""

    title: str
    runs: tuple[ByteRun, ...]


@dataclass(frozen=True)
class FrameExplanation:
    """The result of `explain` for a FrameSpec: ``str()`` is the text, ``save()`` writes the picture.

    Attributes
    ----------
    spec
        The FrameSpec of the frame that is explained.
    """

    spec: FrameSpec

    def __post_init__(self) -> None:
        check_fields(self, spec=FrameSpec)
        if self.spec.size is None:
            raise NpuLayoutError(f"{self.spec.describe()}: compressed bytes have no places of samples to explain")

    def planes(self) -> tuple[PlaneMemory, ...]:
        """Return the first bytes of each plane, in the order of memory."""
        planes = pixel_format(self.spec.format).planes
        return tuple(_memory(self.spec, index, plane) for index, plane in enumerate(planes))

    def __str__(self) -> str:
        lines = [f"{self.spec.describe()}, {self.spec.size} bytes"]
        for memory in self.planes():
            wide = max(len(str(run.address)) for run in memory.runs)
            lines += [memory.title, *(f"  {run.address:>{wide}}: {run}" for run in memory.runs)]
        return "\n".join(lines)

    def to_svg(self) -> str:
        """Return the picture as SVG text."""
        return self._drawn().to_svg()

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def to_png(self, scale: float = 2) -> bytes:
        """Return the picture as a PNG file's bytes, `scale` times as large as the SVG; needs OpenCV."""
        return self._drawn().to_png(real_number("scale of a picture", scale, above=0))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file that ends in .svg or .png; NpuLayoutError on another ending."""
        write_picture(path, lambda: self.to_svg().encode(), self.to_png)

    def _drawn(self) -> Scene:
        scene, y, right = Scene(), 32.0, 0.0
        scene.add(Label(_MARGIN, y, f"{self.spec.describe()}, {self.spec.size} bytes", 16, bold=True))
        for memory in self.planes():
            y += 30
            scene.add(Label(_MARGIN, y, memory.title, 12, colour=GRAY))
            y += 8
            left = _MARGIN + 8 + 7.0 * max(len(str(run.address)) for run in memory.runs)
            for run in memory.runs:
                scene.add(Label(left - 8, y + 15, str(run.address), 11, "end", GRAY, mono=True))
                right = max(right, left + _drawn_run(scene, run, left, y), _MARGIN + 6.5 * len(memory.title))
                y += _PITCH
        scene.width, scene.height = round(right + _MARGIN), round(y + _MARGIN)
        return scene


def _drawn_run(scene: Scene, run: ByteRun, left: float, y: float) -> float:
    """Draw the cells of a run, and return their width with what is written behind them."""
    for at, byte in enumerate(run.bytes):
        fill = _COLOURS.get(byte.component, WHITE if byte.component else EMPTY)
        note = f"byte {run.address + at}, row {run.row}"
        box = Rectangle(
            left + at * _CELL, y, _CELL, _PITCH - 4, fill, WHITE if byte.component in _COLOURS else PALE, 1, note
        )
        scene.add(box, Label(box.x + _CELL / 2, y + 14, byte.label, 10, "middle", ink_on(fill), mono=True))
    words = [f"+{run.left} more"] * bool(run.left) + [f"gap of {run.gap}"] * bool(run.gap)
    text, width = ", ".join(words), len(run.bytes) * _CELL
    scene.add(Label(left + width + 8, y + 14, text, 11, colour=GRAY, mono=True))
    return width + 8 + 7.0 * len(text)


def _memory(spec: FrameSpec, index: int, plane: Plane) -> PlaneMemory:
    """Return what is shown of a plane; where its bytes are is what its layout says."""
    (width, height), stride, offset = spec.size_wh, spec.strides[index], spec.offsets[index]
    shape = rows, row = plane.rows(height), plane.row_bytes(width)
    tile_w, tile_h = plane.tile or (row, 1)
    strides = (stride, 1) if plane.tile is None else (stride * tile_h, tile_w * tile_h, tile_w, 1)
    storage = Storage.bind(plane.layout, shape, storage_strides=strides, storage_offset=offset)
    runs = []
    for start in range(0, min(row, _TILES * tile_w), tile_w):
        wide = min(tile_w, row - start)
        for r in range(min(rows, _ROWS)):
            columns = np.arange(start, start + min(wide, _COLUMNS))
            addresses = storage.offset(np.full_like(columns, r), columns)
            left = wide - len(columns)
            gap = stride - row if plane.tile is None else tile_w - wide
            found = tuple(_byte(spec, index, plane, int(b), r) for b in columns)
            runs.append(ByteRun(int(addresses[0]), r, found, left, gap if r < rows - 1 or plane.tile else 0))
    runs.sort(key=lambda run: run.address)
    what = f"{many(rows, 'row')} of {many(row, 'byte')}"
    if plane.tile is not None:
        what += f" in tiles of {tile_h} rows of {tile_w} bytes, {stride // tile_w} side by side"
    elif stride != row:
        what += f", one every {stride}"
    return PlaneMemory(f"{plane.name}, from byte {offset}: {what}", tuple(runs))


def _byte(spec: FrameSpec, index: int, plane: Plane, column: int, row: int) -> Byte:
    """Return what is in one byte of a row."""
    form = pixel_format(spec.format)
    if form.kind == "mosaic":
        unit, at = divmod(column, plane.nbytes)
        per_unit = form.high_bytes or 1
        x = unit * per_unit + at
        return Byte("", 0) if at >= per_unit else Byte(spec.format[row % 2 * 2 + x % 2], x)
    names = "YUV" if form.kind == "yuv" else form.order if form.order != "GRAY" else "Y"
    if form.kind == "packed":
        return Byte("P", column // plane.nbytes)
    for name, samples in zip(names, form.samples):
        if samples.plane == index and column >= samples.start and (column - samples.start) % samples.step == 0:
            return Byte(name, (column - samples.start) // samples.step)
    return Byte("", 0)
