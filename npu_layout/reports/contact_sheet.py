"""Make the contact sheet: one buffer read in the ways that explain it best, beside the model's output."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..buffers import Quantization, TensorSpec
from ..diagnosis import LEAST, MARGIN, Candidate, called
from ..engines import transposed
from ..errors import NpuLayoutError
from ..layouts import Layout
from .markup import Html, el
from .output_report import UNSURE, Exhibit, OutputReport
from .pictures import VALUES, Sheet, picture, scale
from .words import decibels, number, spoken

_READINGS = 4
_OF_ENDING = ("geometry", "activation")  # causes in what was done to the model's output
_OF_READING = ("match", "layout", "quantization", "channel_order")  # causes in how the buffer is read


class Tile(NamedTuple):
    """The tensor that one candidate reads, in the model's order of axes; `mark`: the CSS class of its frame."""

    title: str
    text: str
    tensor: np.ndarray
    mark: str | None = None


def contact_sheet(o: OutputReport, exhibit: Exhibit) -> Html:
    """Return the sheet of an output. exhibit: its own."""
    reference = exhibit.reference
    sheet = Sheet(reference, o.channel_axis)
    tiles = [Tile("The model", "run by onnxruntime: what the device should return", reference), *tiles_of(o, exhibit)]
    title = "the same buffer, read in different ways"
    hint = "A wrong reading shows as stripes and noise, the right one as the picture of the model. "
    if o.verdict in _OF_ENDING and exhibit.answers:
        title, hint = ("the output, ended in the other way", "Two of the pictures are alike, as .why describes. ")
    elif o.verdict in UNSURE and exhibit.answers:
        title, hint = ("what explains the output best", "None of these explanations is proven. ")
    elif o.verdict not in _OF_READING and exhibit.answers:
        title, hint = (
            "what the model and the device return",
            "The device returns what the model returns for the input that the device really had. ",
        )
    if sheet.scale is None:
        ends = ("its least value in the model", "its greatest")
        each = el("p", "Each channel has a colour scale of its own:", class_="quiet")
    else:
        ends, each = (number(sheet.scale[0]), number(sheet.scale[1])), None
    return el(
        "section",
        el("h3", f"Contact sheet: {title}"),
        el("p", f"{hint}{sheet.text}; frame {exhibit.frame}.", class_="quiet"),
        el("div", *(_figure(tile, sheet) for tile in tiles), class_="sheet strips" if sheet.strips else "sheet"),
        each,
        scale(VALUES, *ends),
        el("p", "Magenta is NaN or infinite.", class_="quiet") if any(_is_broken(t.tensor) for t in tiles) else None,
    )


def _is_broken(tensor: np.ndarray) -> bool:
    return not bool(np.isfinite(tensor).all())


def _figure(tile: Tile, sheet: Sheet) -> Html:
    image = sheet.picture(tile.tensor)
    shown = (
        el("p", f"Its shape is {tile.tensor.shape}, so it cannot be compared.", class_="quiet")
        if image is None
        else picture(image, f"{sheet.text}. {tile.title}, {tile.text}", tile.mark)
    )
    return el("figure", shown, el("figcaption", el("b", tile.title), el("span", tile.text, class_="quiet")))


def tiles_of(o: OutputReport, exhibit: Exhibit) -> list[Tile]:
    """Return the best candidates that can be shown, best first, the declared reading among them."""
    declared = next((c for c in o.ranking if c.cause == "match"), None)
    found = [(-np.inf if declared is None else declared.score, _declared(o, exhibit, declared))]
    shown: list[object] = [_form(o.spec, None)]
    for c, spec in _shown(o, exhibit):
        if len(found) == _READINGS:
            break
        what = c.trial if spec is None else _form(spec, spec.quantization if spec == c.spec else None)
        if c.score >= LEAST or what not in shown:
            found.append((c.score, _answered(o, exhibit, c) if spec is None else _read_as(o, exhibit, c, spec)))
            shown.append(what)
    return [tile for _, tile in sorted(found, key=lambda pair: -pair[0])]


def _declared(o: OutputReport, exhibit: Exhibit, c: Candidate | None) -> Tile:
    title = "As declared" if c is None else f"As declared: {decibels(c.score)}"
    mark = "right-one" if o.verdict == "match" else "given"
    return Tile(title, called(o.spec), read(o.spec, None, exhibit.buffer), mark)


def _form(spec: TensorSpec, quantization: Quantization | None) -> tuple[object, ...]:
    """Return what identifies a reading that explains nothing; its strides do not matter."""
    return spec.layout, spec.shape, spec.dtype, quantization


def _shown(o: OutputReport, exhibit: Exhibit) -> Iterator[tuple[Candidate, TensorSpec | None]]:
    """Yield the other candidates, each with the spec to read the buffer by; None if it is about inputs.

    A candidate that explains nothing is read with the declared dtype and scale.
    """
    for c in o.ranking:
        if o.verdict not in _OF_READING and c.trial in exhibit.answers:
            yield c, None
        elif c.cause in _OF_READING and c.spec is not None and not _as_declared(c, o.spec):
            hopeless = c.order is None and c.score < LEAST
            if hopeless and o.verdict in _OF_ENDING:
                continue
            yield c, _typed_as(c.spec, o.spec) if hopeless else c.spec


def _as_declared(c: Candidate, spec: TensorSpec) -> bool:
    """Whether its picture is the declared one, perhaps in another shade."""
    return (c.spec == spec and c.order is None) or (c.cause == "quantization" and abs(c.gain) < MARGIN)


def _typed_as(spec: TensorSpec, of: TensorSpec) -> TensorSpec:
    """Return `spec` with the dtype and quantization of another one; itself if they do not fit its buffer."""
    q = of.quantization
    if q is not None and q.axis is not None and of.axes[q.axis] in spec.axes:
        q = Quantization(q.scale, q.zero_point, spec.axes.index(of.axes[q.axis]))
    try:
        typed = TensorSpec.from_dict({**spec.to_dict(), "dtype": of.dtype, "quantization": q})
    except NpuLayoutError:
        return spec
    return typed if typed.nbytes == spec.nbytes else spec


def _mark(o: OutputReport, c: Candidate) -> str | None:
    return "right-one" if o.verdict == c.cause and c is o.ranking[0] else None


def _answered(o: OutputReport, exhibit: Exhibit, c: Candidate) -> Tile:
    """Return the tile of the model's output for another input, or of an output that ends in another way."""
    what = "The model's with that" if c.cause in _OF_ENDING else "The model's answer"
    title = f"{what}: {decibels(c.score)}"
    return Tile(title, c.text, exhibit.answers[c.trial], _mark(o, c))


def _read_as(o: OutputReport, exhibit: Exhibit, c: Candidate, spec: TensorSpec) -> Tile:
    """Return the tile of what `spec` reads; it is the candidate's, or close to it."""
    mark = _mark(o, c)
    what = "The fix" if mark else spoken(c.cause).capitalize()
    tensor = read(spec, c.order, exhibit.buffer, o.channel_axis)
    if spec != c.spec:
        return Tile(f"{what}: at best {decibels(c.score)}", called(spec), tensor)
    text = c.text if len(c.text) <= 160 else c.text[:150] + " ..."
    return Tile(f"{what}: {decibels(c.score)}", text, tensor, mark)


def read(
    spec: TensorSpec, order: tuple[int, ...] | None, buffer: np.ndarray, channel_axis: int | None = None
) -> np.ndarray:
    """Return what `spec` reads, its channels in `order`, in the model's order of axes."""
    tensor = np.asarray(transposed(spec.unpack(buffer.tobytes()), spec.axes, False))
    axis = Layout.of_rank(tensor.ndim).axes.find("C") if channel_axis is None else channel_axis
    return tensor if order is None else tensor.take(order, axis)
