"""Draw tensors and figures for the report's page: PNG in data URIs, and SVG."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import numpy as np

from ..diagnosis import by_channel
from ..support import finite
from .markup import Html, el

_SHOWN = 4  # channels of maps
_SIDE = 192  # rows and columns of a map
_ROWS, _COLUMNS = 48, 240  # of a matrix
_WIDE = 480  # pixels: small pictures are enlarged to about as many
_LOW = 32  # pixels: small pictures are enlarged to at least as many rows, and to at most twice _WIDE
_FEW = 16  # rows or columns of a long map that are all shown
_GAP = 6  # pixels between maps
_BINS = 64
_BARS = 360
_NOT_FINITE = (255, 0, 255)  # BGR
VALUES, ERRORS = "VIRIDIS", "INFERNO"  # OpenCV's names of colour maps


def _png(image: np.ndarray) -> str:
    """Return a data URI of an image, uint8 (H,W,3) BGR or (H,W,4) BGRA."""
    import cv2

    _, encoded = cv2.imencode(".png", image, [cv2.IMWRITE_PNG_COMPRESSION, 6])
    return "data:image/png;base64," + base64.b64encode(encoded.tobytes()).decode("ascii")


def coloured(values: np.ndarray, low: np.ndarray | float, high: np.ndarray | float, colours: str) -> np.ndarray:
    """Return uint8 (H,W,3) BGR of a 2-D array.

    `low` and `high` (broadcast) are the ends of the colour map; what is not finite is magenta.
    """
    import cv2

    with np.errstate(all="ignore"):
        span = np.maximum(np.asarray(high, np.float64) - low, 1e-300)
        scaled = np.clip((values.astype(np.float64) - low) / span, 0, 1)
    codes = np.rint(np.nan_to_num(scaled) * 255).astype(np.uint8)
    image = np.asarray(cv2.applyColorMap(np.ascontiguousarray(codes), getattr(cv2, f"COLORMAP_{colours}")))
    image[~np.isfinite(values)] = _NOT_FINITE
    return image


def _enlarged(image: np.ndarray, down: int, right: int) -> np.ndarray:
    return np.repeat(np.repeat(image, down, 0), right, 1)


def _every(step: int, what: str) -> str:
    return f"one of every {step} {what}" if step > 1 else f"all {what}"


def _cell(tall: int, wide: int, room: int = _WIDE) -> tuple[int, int]:
    """Return the pixels, down and right, of each place of a map in `room`: a square, unless the map is long."""
    right = max(1, room // wide)
    return max(min(right, max(1, 2 * _WIDE // tall)), -(-_LOW // tall)), right


class Sheet:
    """How every reading of one output is drawn, chosen by the model's values.

    Maps: the four channels that vary most. Else a matrix, channels by positions (wider than tall, and of a long one the
    part that varies most); of a vector, a strip.

    Parameters
    ----------
    reference
        The model's output, in the model's axes order.
    channel_axis
        The axis of its channels, or None: all is one channel.

    Attributes
    ----------
    text
        What is shown, in words.
    scale
        The ends of the colour scale, or None if each channel has its own.
    strips
        Whether pictures are long and low, and are best put below each other.
    """

    def __init__(self, reference: np.ndarray, channel_axis: int | None) -> None:
        self._axis = channel_axis
        self._rank = reference.ndim
        rest = [n for i, n in enumerate(reference.shape) if i != channel_axis]
        self.strips = not (reference.ndim >= 4 and min(rest[-2:]) >= 4)
        clean = finite(reference).astype(np.float64)
        shown = self._matrix_of(clean) if self.strips else self._maps_of(clean)
        each = self.strips and self._each
        low, high = (end(shown, 1, keepdims=True) if each else np.full((1, 1), end(shown)) for end in (np.min, np.max))
        room = np.where(high > low, 0.0, np.where(low == 0, 1.0, abs(low)))  # around what is constant
        self._ends = low - room, high + room
        self.scale = None if each else (float(self._ends[0][0, 0]), float(self._ends[1][0, 0]))

    def picture(self, tensor: np.ndarray) -> np.ndarray | None:
        """Return uint8 (H,W,4) BGRA, each value a rectangle of pixels; None if the tensor has none of the places."""
        if tensor.ndim != self._rank:
            return None
        shown = self._window_of(tensor) if self.strips else self._chosen(tensor)
        if not shown.size:
            return None
        return self._strip(shown) if self.strips else self._mosaic(shown)

    def _maps_of(self, reference: np.ndarray) -> np.ndarray:
        planes = self._planes(reference)
        self._item = int(planes.var((0, 2, 3)).argmax())
        spread = planes[:, self._item].var((1, 2))
        self.channels = sorted(int(c) for c in np.argsort(-spread, kind="stable")[:_SHOWN])
        tall, wide = planes.shape[2:]
        step = -(-max(tall, wide) // _SIDE)
        self._steps = [min(step, max(1, extent // _FEW)) for extent in (tall, wide)]
        self._across = 1 if wide > 2 * tall else 4 if tall > 2 * wide else 2
        which = ", ".join(map(str, self.channels))
        many = len(self.channels) > 1
        self.text = f"Channel{'s' if many else ''} {which}" + (
            f", in this order row by row: the most varying of {len(planes)}" if len(planes) > _SHOWN else ""
        )
        down, right = self._steps
        if step > 1:
            rows, columns = _every(down, "rows"), _every(right, "columns")
            self.text += f"; {rows} and {'columns' if down == right else columns}"
        return self._chosen(reference)

    def _planes(self, tensor: np.ndarray) -> np.ndarray:
        """Return the tensor as (channels, items, H, W)."""
        first = tensor[None] if self._axis is None else np.moveaxis(tensor, self._axis, 0)
        return np.asarray(first.reshape(first.shape[0], -1, *first.shape[-2:]))

    def _chosen(self, tensor: np.ndarray) -> np.ndarray:
        planes = self._planes(tensor)
        item = min(self._item, planes.shape[1] - 1)
        chosen = [c for c in self.channels if c < len(planes)]
        return np.asarray(planes[chosen, item, :: self._steps[0], :: self._steps[1]])

    def _mosaic(self, maps: np.ndarray) -> np.ndarray:
        count, tall, wide = maps.shape
        across = min(self._across, count)
        down = -(-count // across)
        cell = _cell(tall, wide, _WIDE // across)
        tall, wide = tall * cell[0], wide * cell[1]
        canvas = np.zeros((down * (tall + _GAP) - _GAP, across * (wide + _GAP) - _GAP, 4), np.uint8)
        for i, values in enumerate(maps):
            top, left = i // across * (tall + _GAP), i % across * (wide + _GAP)
            image = _enlarged(coloured(values, *self._ends, VALUES), *cell)
            canvas[top : top + tall, left : left + wide] = np.dstack([image, np.full(image.shape[:2], 255, np.uint8)])
        return canvas

    def _matrix_of(self, reference: np.ndarray) -> np.ndarray:
        x = by_channel(reference, self._axis)
        self._turned = len(x) > x.shape[1]
        self._each = min(x.shape) >= 4
        spread = (x - (x.mean(1, keepdims=True) if self._each else x.mean())) ** 2
        most = (_COLUMNS, _ROWS) if self._turned else (_ROWS, _COLUMNS)
        self._part = (_window(spread.sum(1), most[0]), _window(spread.sum(0), most[1]))
        what = [
            f"{name} {p.start} to {p.stop - 1} of {n}" if n > p.stop - p.start else f"the {n} {name}"
            for name, p, n in zip(("channels", "positions"), self._part, x.shape)
            if n > 1
        ]
        down, across = ("positions", "channels") if self._turned else ("channels", "positions")
        self.text = " and ".join(what)[:1].upper() + " and ".join(what)[1:] if what else "The one value"
        if len(what) > 1:
            self.text += f"; {down} go down, {across} across"
        return np.asarray(x[self._part])

    def _window_of(self, tensor: np.ndarray) -> np.ndarray:
        return np.asarray(by_channel(tensor, self._axis)[self._part])

    def _strip(self, x: np.ndarray) -> np.ndarray:
        low, high = (end[: len(x)] for end in self._ends)
        image = coloured(x, low, high, VALUES)
        if self._turned:
            image = image.transpose(1, 0, 2)
        tall, wide = image.shape[:2]
        image = _enlarged(image, max(1, -(-(96 if tall > 1 else 48) // tall)), max(1, 2 * _WIDE // wide))
        return np.dstack([image, np.full(image.shape[:2], 255, np.uint8)])


def _window(spread: np.ndarray, most: int) -> slice:
    """Return the slice of at most `most` in a row that has the largest sum."""
    if len(spread) <= most:
        return slice(0, len(spread))
    sums = np.concatenate([[0.0], np.cumsum(spread)])
    start = int((sums[most:] - sums[:-most]).argmax())
    return slice(start, start + most)


def error_map(squares: np.ndarray) -> tuple[np.ndarray, float]:
    """Return (uint8 BGR picture, the high end of its scale) of mean squared errors at places, 1-D or 2-D.

    It shows root mean squares, from 0. If there are many places, blocks of them are averaged.
    """
    places = np.nan_to_num(np.atleast_2d(squares).astype(np.float64), posinf=0.0)
    for axis, most in enumerate((_SIDE, 2 * _SIDE)):
        step = -(-places.shape[axis] // most)
        starts = np.arange(0, places.shape[axis], step)
        counts = np.diff(np.append(starts, places.shape[axis]))
        sums = np.add.reduceat(places, starts, axis)
        places = sums / (counts[:, None] if axis == 0 else counts)
    roots = np.sqrt(places)
    image = coloured(roots, 0, roots.max(), ERRORS)
    return _enlarged(image, *_cell(*roots.shape)), float(roots.max())


def bars(values: Sequence[float], marked: int) -> Html:
    """Return bars from 0 up to the largest; the one that is `marked` in another colour. Of very many, some maxima."""
    heights = np.nan_to_num(np.asarray(values, np.float64))
    step = -(-len(heights) // _BARS)
    heights = np.maximum.reduceat(heights, np.arange(0, len(heights), step))
    heights = 100 * heights / (heights.max() or 1.0)
    gap = 0.15 if len(heights) <= 120 else 0.0
    paths = []
    for i, height in enumerate(heights):
        paths.append(f"M{i + gap:g} 100V{100 - max(height, 0.5):.1f}H{i + 1 - gap:g}V100Z")
    mark = paths.pop(marked // step)
    return _svg(len(heights), el("path", class_="bar", d="".join(paths)), el("path", class_="mark", d=mark))


def histogram(device: np.ndarray, reference: np.ndarray) -> tuple[Html, float, float]:
    """Return (drawing, lowest, highest value) of both sides' log histograms in the same bins."""
    sides = [np.asarray(x, np.float64).ravel() for x in (device, reference)]
    sides = [x[np.isfinite(x)] for x in sides]
    every = np.concatenate(sides)
    low, high = (float(every.min()), float(every.max())) if every.size else (0.0, 0.0)
    edges = np.linspace(low / 2, (high if high > low else low + 1) / 2, _BINS + 1)  # halves: a range may overflow
    logs = [np.log1p(np.histogram(x / 2, edges)[0]) for x in sides]
    top = max(float(x.max()) for x in logs) or 1.0
    heights = [100 - 98 * x / top for x in logs]
    paths = ["".join(f"V{y:.1f}H{i + 1}" for i, y in enumerate(h)) for h in heights]
    model = el("path", class_="reference", d=f"M0 100{paths[1]}V100Z")
    line = el("path", class_="device", d=f"M0 100{paths[0]}V100") if sides[0].size else None
    return _svg(_BINS, model, line), low, high


def _svg(width: int, *content: Html | None) -> Html:
    box = f"0 0 {width} 100"
    return el("svg", *content, viewBox=box, preserveAspectRatio="none", aria_hidden="true", focusable="false")


def picture(image: np.ndarray, alt: str, kind: str | None = None) -> Html:
    """Return an img element of a BGR or BGRA image."""
    tall, wide = image.shape[:2]
    return el("img", src=_png(image), width=wide, height=tall, alt=alt, class_=kind)


def scale(colours: str, low: str, high: str) -> Html:
    """Return the colour map between what its ends mean."""
    bar = np.repeat(coloured(np.arange(256.0)[None], 0, 255, colours), 12, 0)
    return el("div", el("span", low), picture(bar, "colour scale, from low to high"), el("span", high), class_="scale")
