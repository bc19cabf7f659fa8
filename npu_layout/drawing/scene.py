"""Draw rectangles, labels and lines, and write the drawing as SVG, or as PNG through OpenCV."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Union
from xml.sax.saxutils import escape

from ..errors import NpuLayoutError
from .palette import INK, WHITE, Colour, hexadecimal

_LONGEST = 1 << 15  # pixels of a PNG's side; OpenCV draws in 16 bits
MONO = "DejaVu Sans Mono,Menlo,Consolas,monospace"
SANS = "DejaVu Sans,Verdana,Helvetica,Arial,sans-serif"


class Rectangle(NamedTuple):
    """A rectangle. A fill or an edge of None is not drawn; a browser shows `note` under the mouse."""

    x: float
    y: float
    width: float
    height: float
    fill: Colour | None = None
    edge: Colour | None = None
    thick: float = 1
    note: str = ""


class Label(NamedTuple):
    """ASCII text whose baseline has its start, middle or end at (x, y), as `anchor` names it."""

    x: float
    y: float
    text: str
    size: float = 12
    anchor: str = "start"
    colour: Colour = INK
    bold: bool = False
    mono: bool = False


class Stroke(NamedTuple):
    """A line."""

    x1: float
    y1: float
    x2: float
    y2: float
    colour: Colour = INK
    thick: float = 1


Item = Union[Rectangle, Label, Stroke]
_SHIFT = 4  # fractional bits of the coordinates that OpenCV draws at


@dataclass
class Scene:
    """A picture of `width` x `height` pixels; the last item added is on top."""

    width: float = 0
    height: float = 0
    items: list[Item] = field(default_factory=list)

    def add(self, *items: Item) -> None:
        """Add items, each on top of those before it."""
        self.items += items

    def to_svg(self) -> str:
        """Return the picture as an SVG file's text."""
        size = f'width="{self.width:g}" height="{self.height:g}" viewBox="0 0 {self.width:g} {self.height:g}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{SANS}">'
        styles = [f".m{{font-family:{MONO}}}", ".c{font-size:10px;text-anchor:middle}", ".w{stroke:#fff}"]
        head += f"<style>{''.join(styles)}</style>"
        back = '<rect width="100%" height="100%" fill="#ffffff"/>'
        return "\n".join([head, back, *map(_svg, self.items), "</svg>", ""])

    def to_array(self, scale: float = 2) -> Any:
        """Return the picture as a (height*scale, width*scale, 3) uint8 array, BGR.

        NpuLayoutError if that has no pixels, or too many.
        """
        import cv2
        import numpy as np

        if not max(self.height, self.width) * scale <= _LONGEST or not min(self.height, self.width) * scale >= 1:
            raise NpuLayoutError(
                f"scale: a picture of {self.width * scale:.10g} x {self.height * scale:.10g} pixels is too large or "
                f"too small, expected 1 to {_LONGEST}"
            )
        height, width = round(self.height * scale), round(self.width * scale)
        image = np.full((height, width, 3), 255, np.uint8)
        for item in self.items:
            for draw, arguments in _strokes(item, scale):
                getattr(cv2, draw)(image, *arguments)
        return image

    def to_png(self, scale: float = 2) -> bytes:
        """Return the picture as a PNG file's bytes, `scale` times as large."""
        import cv2

        return bytes(cv2.imencode(".png", self.to_array(scale), [cv2.IMWRITE_PNG_COMPRESSION, 9])[1])


def _svg(item: Item) -> str:
    if isinstance(item, Stroke):
        place = f'x1="{item.x1:g}" y1="{item.y1:g}" x2="{item.x2:g}" y2="{item.y2:g}"'
        return f'<line {place} stroke="{hexadecimal(item.colour)}" stroke-width="{item.thick:g}"/>'
    if isinstance(item, Label):
        cell = item.mono and item.anchor == "middle" and item.size == 10
        classes = ("m" if item.mono else "") + (" c" if cell else "")
        extra = f' class="{classes}"' if classes else ""
        if not cell:
            extra += f' font-size="{item.size:g}"'
            extra += "" if item.anchor == "start" else f' text-anchor="{item.anchor}"'
        extra += ' font-weight="bold"' if item.bold else ""
        return (
            f'<text x="{item.x:g}" y="{item.y:g}"{extra} fill="{hexadecimal(item.colour)}">{escape(item.text)}</text>'
        )
    place = f'x="{item.x:g}" y="{item.y:g}" width="{item.width:g}" height="{item.height:g}"'
    fill = "none" if item.fill is None else hexadecimal(item.fill)
    edge = "" if item.edge is None else f' stroke="{hexadecimal(item.edge)}"'
    edge = ' class="w"' if item.edge == WHITE else edge
    edge += "" if item.edge is None or item.thick == 1 else f' stroke-width="{item.thick:g}"'
    close = f"><title>{escape(item.note)}</title></rect>" if item.note else "/>"
    return f'<rect {place} fill="{fill}"{edge}{close}'


def _strokes(item: Item, scale: float) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield the names of OpenCV's functions that draw an item, each with its arguments after the image."""
    import cv2

    def at(x: float, y: float) -> tuple[int, int]:
        return round(x * scale * 2**_SHIFT), round(y * scale * 2**_SHIFT)

    def whole(x: float, y: float) -> tuple[int, int]:
        return round(x * scale), round(y * scale)

    if isinstance(item, Stroke):
        thick = max(1, round(item.thick * scale))
        line = at(item.x1, item.y1), at(item.x2, item.y2), item.colour[::-1], thick, cv2.LINE_AA, _SHIFT
        yield "line", line
    elif isinstance(item, Label):
        face, size = cv2.FONT_HERSHEY_SIMPLEX, item.size * scale / (29 if item.mono else 27)
        thick = max(1, round(item.size * scale / (9 if item.bold else 20)))
        (width, _), _ = cv2.getTextSize(item.text, face, size, thick)
        x, y = whole(item.x, item.y)
        x -= {"start": 0, "middle": width // 2, "end": width}[item.anchor]
        yield "putText", (item.text, (x, y), face, size, item.colour[::-1], thick, cv2.LINE_AA)
    else:
        (left, top), (right, bottom) = whole(item.x, item.y), whole(item.x + item.width, item.y + item.height)
        if item.fill is not None:
            yield "rectangle", ((left, top), (right, bottom), item.fill[::-1], cv2.FILLED)
        if item.edge is not None:
            yield "rectangle", ((left, top), (right, bottom), item.edge[::-1], max(1, round(item.thick * scale)))
