"""Explain where a layout stores each element: a formula, facts in text, and what is drawn of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..layouts import Shape
from ..support import check_fields, counted, real_number, whole_number
from .figure import View, digit
from .picture import draw
from .reads import Reads
from .saving import write_picture
from .scene import Scene
from .shown_part import Part
from .terminal import render


@dataclass(frozen=True, eq=False)
class Explanation:
    """The result of `explain`: ``str()`` is the text, ``terminal()`` text and cells, ``save()`` the picture.

    Attributes
    ----------
    spec
        The TensorSpec of the tensor that is explained.
    at
        The logical index whose place is explained, or None.
    reads
        Which elements the window and the gray pixel read, if they are marked.
    part
        {axis: the indices that the picture shows}.
    compared
        The Explanations of the other layouts, with the same part.
    """

    spec: TensorSpec
    at: Shape | None
    reads: tuple[Reads, ...]
    part: Part
    compared: tuple[Explanation, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self, spec=TensorSpec, at=(tuple, type(None)), reads=tuple, part=dict, compared=tuple)

    @property
    def formula(self) -> str:
        """The element offset as a Python expression: ``n*135424 + c//16*33856 + h*736 + w*16 + c%16``."""
        letters = {letter: letter.lower() for letter in self.spec.axes}
        return self._sum(lambda axis, step, block: digit(letters[axis], step, block))

    def place(self, *index: int) -> str:
        """Return the formula with the numbers of one element, and their sum, in elements.

        index: an int for each logical axis. IndexError if one is outside the shape.
        """
        index = tuple(whole_number("index", i) for i in index)
        offset = self.spec.offset(*index)
        numbers = dict(zip(self.spec.axes, index))

        def value(axis: str, step: int, block: int) -> str:
            count = numbers[axis] // step
            return str(count % block if block else count)

        return f"{self._sum(value)} = {offset}"

    def _sum(self, term: Any) -> str:
        spec = self.spec
        terms = [str(spec.storage_offset)] if spec.storage_offset else []
        for dim, stride in zip(spec.layout.dims, spec.storage_strides):
            counted = term(spec.axes[dim.axis], dim.step, dim.block)
            terms.append(counted if stride == 1 else f"{counted}*{stride}")
        return " + ".join(terms).replace("+ -", "- ")

    @property
    def padding(self) -> int:
        """The number of stored elements that are padding."""
        return self.spec.storage.padding

    @property
    def padding_bytes(self) -> int:
        """The bytes of the buffer beyond those of the tensor's elements, stored contiguously."""
        used = self.spec.size - self.padding
        return self.spec.nbytes - self.spec.element.buffer_size(used) * self.spec.stored.itemsize

    @property
    def padding_percent(self) -> float:
        """The padding in percent of the buffer."""
        return 100 * self.padding / self.spec.size

    def facts(self) -> list[tuple[str, str]]:
        """Return the lines of the text as pairs (name, value)."""
        spec = self.spec
        counted = ", ".join(digit(spec.axes[d.axis], d.step, d.block) for d in spec.layout.dims)
        found = [
            ("axes", f"{', '.join(spec.axes)} = {', '.join(map(str, spec.shape))}"),
            ("storage shape", f"{', '.join(map(str, spec.storage_shape))}  counting {counted}"),
            ("strides", f"{', '.join(map(str, spec.storage_strides))}  elements of {_width(spec)}"),
            ("offset", self.formula),
            ("buffer", f"{spec.size} elements, {spec.nbytes} bytes"),
            ("padding", self._padding_words()),
        ]
        if spec.channels is not None:
            found.append(("channels", f"{spec.channels} in the buffer; the runtime makes the model's order of it"))
        if self.at is not None:
            found.append((_index(self.at), f"{self.place(*self.at)}, {_byte(spec, self.at)}"))
        return [*found, *(("reads", str(r)) for r in self.reads)]

    def _padding_words(self) -> str:
        if not self.padding:
            return "none"
        return (
            f"{self.padding} elements, {self.padding_bytes} bytes, {self.padding_percent:.1f} %"
            f"{self.spec.storage.padding_words()}"
        )

    def _own_text(self) -> str:
        facts = self.facts()
        width = max(len(name) for name, _ in facts)
        return "\n".join([self.spec.describe(), *(f"  {name:<{width}}  {value}" for name, value in facts)])

    def __str__(self) -> str:
        return "\n\n".join(e._own_text() for e in (self, *self.compared))

    def views(self) -> list[View]:
        """Return the views that the picture shows: this layout's first, then those of `compared`."""
        return [
            View(e.spec, e.reads, None if e.at is None else e.spec.offset(*e.at), tuple(_captions(e)))
            for e in (self, *self.compared)
        ]

    def to_svg(self, width: float = 1400) -> str:
        """Return the picture as SVG text, at most about `width` pixels wide.

        Panels that do not fit beside each other are drawn below each other; the picture is wider only if one panel is.
        NpuLayoutError if width is not above 0.
        """
        return self._drawn(width).to_svg()

    def _drawn(self, width: float) -> Scene:
        return draw(self.views(), self.part, _above_0("width", width))

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def to_png(self, width: float = 1400, scale: float = 2) -> bytes:
        """Return the picture as a PNG file's bytes, `scale` times as large as `to_svg` of that `width`.

        It needs OpenCV. NpuLayoutError if scale or width is not above 0, or the picture has no pixels or too many.
        """
        return self._drawn(width).to_png(_above_0("scale", scale))

    def save(self, path: str | os.PathLike[str], width: float = 1400) -> None:
        """Write the picture, as `to_svg` of that `width`, to the file `path`, which ends in .svg or .png.

        NpuLayoutError if the path ends otherwise or `width` is not above 0, OSError if the file cannot be written.
        """
        write_picture(path, lambda: self.to_svg(width).encode(), lambda: self.to_png(width))

    def terminal(self, depth: int = 24, columns: int = 120) -> str:
        """Return the text with drawings of planes and memory, in `depth` bits of colour (24, 8, or 0 for none).

        The drawings are side by side if they fit into `columns` characters. NpuLayoutError on another depth, and on
        fewer than 1 column.
        """
        columns, depth = counted("columns", columns), whole_number("depth", depth)
        if depth not in (24, 8, 0):
            raise NpuLayoutError(f"depth: expected 24, 8 or 0 bits of colour, got {depth}")
        return f"{self}\n\n{render(self.views(), self.part, depth, columns)}"


def _above_0(what: str, given: float) -> float:
    """Return a measure of the picture; NpuLayoutError if it is no finite number above 0."""
    real_number(f"{what} of a picture", given, above=0)
    return given


def _width(spec: TensorSpec) -> str:
    return "half a byte" if spec.element.nibbles else f"{spec.stored.itemsize} byte{'s'[: spec.stored.itemsize > 1]}"


def _index(index: Shape) -> str:
    return f"({','.join(map(str, index))})"


def _byte(spec: TensorSpec, index: Shape) -> str:
    offset = spec.offset(*index)
    if spec.element.nibbles:
        low = (offset % 2 == 0) == (spec.element.nibbles == 1)
        return f"byte {offset // 2}, its {'low' if low else 'high'} half"
    return f"byte {offset * spec.stored.itemsize}"


def _captions(e: Explanation) -> list[str]:
    """Return the lines below a panel."""
    spec = e.spec
    lines = [f"offset = {e.formula}"]
    if e.at is not None:
        lines.append(f"{_index(e.at)} is at {spec.offset(*e.at)}")
    padding = f"{e.padding_bytes} of them padding ({e.padding_percent:.0f} %)" if e.padding else "no padding"
    lines.append(f"{spec.nbytes} bytes, {padding}")
    for r in e.reads:
        read, fetched = r.counts
        lines += [f"{r.what}: {read};", fetched]
    return lines
