"""The contact sheet: one buffer read under the best explanations, side by side with what the model says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..buffers import Quantization, TensorSpec
from ..diagnosis import LEAST, MARGIN, Explanation
from ..engines import transposed
from ..errors import NpuLayoutError
from ..layouts import Layout
from .markup import Html, el
from .pictures import VALUES, Sheet, picture, scale
from .tables import decibels, number, spoken

_READINGS = 4
_OF_READING = ("match", "layout", "quantization", "channel_order")  # causes in how the buffer is read


class Tile(NamedTuple):
    """What one explanation says: `tensor` in the model's order of axes; `mark`: the class of its frame."""

    title: str
    text: str
    tensor: np.ndarray
    mark: str | None = None


def contact_sheet(o: Any) -> Html:
    """o: an OutputReport with an exhibit."""
    reference = o.exhibit.reference
    sheet = Sheet(reference, o.channel_axis)
    tiles = [Tile("The model", "as onnxruntime runs it: what the device should say", reference), *tiles_of(o)]
    title = "the same buffer, read in different ways"
    hint = "A wrong reading shows as stripes and noise, the right one as the picture of the model. "
    if o.verdict not in _OF_READING and o.exhibit.answers:
        title, hint = (
            "what the model says, and what the device",
            "The device says what the model says to its real input. ",
        )
    if sheet.scale is None:
        ends = ("its least value in the model", "its greatest")
        each = el("p", "Each channel has a colour scale of its own:", class_="quiet")
    else:
        ends, each = (number(sheet.scale[0]), number(sheet.scale[1])), None
    return el(
        "section",
        el("h3", f"Contact sheet: {title}"),
        el("p", f"{hint}{sheet.text}; frame {o.exhibit.frame}.", class_="quiet"),
        el("div", *(_figure(tile, sheet) for tile in tiles), class_="sheet strips" if sheet.strips else "sheet"),
        each,
        scale(VALUES, *ends),
    )


def _figure(tile: Tile, sheet: Sheet) -> Html:
    image = sheet.picture(tile.tensor)
    shown = (
        el("p", f"Its shape is {tile.tensor.shape}: not to be compared.", class_="quiet")
        if image is None
        else picture(image, f"{sheet.text}. {tile.title}, {tile.text}", tile.mark)
    )
    return el("figure", shown, el("figcaption", el("b", tile.title), el("span", tile.text, class_="quiet")))


def tiles_of(o: Any) -> list[Tile]:
    """The best explanations that can be shown, best first, the declared reading among them."""
    declared = next((e for e in o.ranking if e.cause == "match"), None)
    first = _declared(o, declared)
    found = [(-np.inf if declared is None else declared.score, first)]
    for e, key in _candidates(o):
        if len(found) == _READINGS:
            break
        tile = _tile(o, e, key)
        if e.score >= LEAST or all(tile.text != other.text for _, other in found):
            found.append((e.score, tile))
    return [tile for _, tile in sorted(found, key=lambda pair: -pair[0])]


def _declared(o: Any, e: Explanation | None) -> Tile:
    title = "As declared" if e is None else f"As declared: {decibels(e.score)}"
    mark = "right-one" if o.verdict == "match" else "given"
    return Tile(title, _called(o.spec), read(o.spec, None, o.exhibit.buffer), mark)


def _called(spec: TensorSpec) -> str:
    return f"{spec.storage.describe()} {spec.dtype}"


def _candidates(o: Any) -> Iterator[tuple[Explanation, Any]]:
    """Explanations other than the declared reading, with what tells their pictures apart: a spec, or their text where
    they are about inputs. What explains nothing has a type and a scale that say nothing: there, the declared ones."""
    for e in o.ranking:
        if o.verdict not in _OF_READING and e.text in o.exhibit.answers:
            yield e, e.text
        elif e.cause in _OF_READING and e.spec is not None and not _as_declared(e, o.spec):
            hopeless = e.order is None and e.score < LEAST
            yield e, _typed_as(e.spec, o.spec) if hopeless else e.spec


def _as_declared(e: Explanation, spec: TensorSpec) -> bool:
    """Whether its picture is the declared one, or that in another shade."""
    return (e.spec == spec and e.order is None) or (e.cause == "quantization" and abs(e.gain) < MARGIN)


def _typed_as(spec: TensorSpec, of: TensorSpec) -> TensorSpec:
    """`spec` with the dtype and quantization of another one; itself where they do not fit its buffer."""
    q = of.quantization
    if q is not None and q.axis is not None and of.axes[q.axis] in spec.axes:
        q = Quantization(q.scale, q.zero_point, spec.axes.index(of.axes[q.axis]))
    try:
        typed = TensorSpec.from_dict({**spec.to_dict(), "dtype": of.dtype, "quantization": q})
    except NpuLayoutError:
        return spec
    return typed if typed.nbytes == spec.nbytes else spec


def _tile(o: Any, e: Explanation, key: Any) -> Tile:
    right = o.verdict == e.cause and e is o.ranking[0]
    mark = "right-one" if right else None
    if not isinstance(key, TensorSpec):
        return Tile(f"The model's answer: {decibels(e.score)}", e.text, o.exhibit.answers[e.text], mark)
    what = "The fix" if right else spoken(e.cause).capitalize()
    tensor = read(key, e.order, o.exhibit.buffer)
    if key != e.spec:
        return Tile(f"{what}: at best {decibels(e.score)}", _called(key), tensor)
    text = e.text if len(e.text) <= 160 else e.text[:150] + " ..."
    return Tile(f"{what}: {decibels(e.score)}", text, tensor, mark)


def read(spec: TensorSpec, order: tuple[int, ...] | None, buffer: np.ndarray) -> np.ndarray:
    """What `spec` reads, its channels in `order`, in the model's order of axes."""
    tensor = np.asarray(transposed(spec.unpack(buffer.tobytes()), spec.axes, False))
    return tensor if order is None else tensor.take(order, Layout.of_rank(tensor.ndim).axes.index("C"))
