"""Say which samples of a frame the kernels read for each pixel: a function for each kind of pixel formats."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .. import kernels
from ..layouts import COLOR_ORDERS
from .pictures import FramePlanes


class ReadSamples(NamedTuple):
    """The components that are read, their colours, where R, G and B go, and what they are made of first."""

    components: tuple[kernels.ComponentSamples, ...]
    color: kernels.Color | None = None
    places: tuple[int, ...] = ()
    source: kernels.RowSource | None = None
    margin: int = 0  #: pixels around a part that its own pixels are made of


def read_samples(frame: FramePlanes, order: str) -> ReadSamples | None:
    """Return what is read of a frame to make channels in an order; None if the kernels cannot."""
    return _OF_KIND[frame.format.kind](frame, order)


def _yuv(frame: FramePlanes, order: str) -> ReadSamples:
    samples, color = frame.format.samples, kernels.Color(*frame.color)
    if order == "GRAY":
        return ReadSamples(samples[:1], color, (0,))
    return ReadSamples(samples, color, tuple(order.index(c) for c in "RGB"))


def _channels(frame: FramePlanes, order: str) -> ReadSamples | None:
    form = frame.format
    if form.order == order == "GRAY":
        return ReadSamples(form.samples)
    if form.order == "GRAY":
        return ReadSamples(form.samples * len(order)) if order in COLOR_ORDERS else None
    if order == "GRAY":
        blue = form.samples[form.order.index("B")]
        return ReadSamples((blue,), places=(0,), source=kernels.RowSource("gray"))
    return (
        ReadSamples(tuple(form.samples[form.order.index(c)] for c in order)) if set(order) <= set(form.order) else None
    )


def _words(frame: FramePlanes, order: str) -> ReadSamples | None:
    if order == "GRAY":
        return None
    return ReadSamples(
        frame.format.samples * 3, None, tuple(order.index(c) for c in "RGB"), kernels.RowSource("rgb565")
    )


def _mosaic(frame: FramePlanes, order: str) -> ReadSamples | None:
    if order == "GRAY" or min(frame.size_wh) < 3:
        return None
    high, (plane,) = frame.format.high_bytes, frame.format.planes
    source = kernels.RowSource("mosaic", frame.format.red_xy, (high, plane.nbytes) if high else (1, 1))
    return ReadSamples(frame.format.samples * 3, None, tuple(order.index(c) for c in "RGB"), source, margin=1)


#: What kernels read of a kind of formats, by the order of channels that is made; None if they cannot.
_OF_KIND: dict[str, Callable[[FramePlanes, str], ReadSamples | None]] = {
    "yuv": _yuv,
    "channels": _channels,
    "packed": _words,
    "mosaic": _mosaic,
    "coded": lambda frame, order: None,
}
