"""Read a camera's frame in another way: U and V exchanged, another matrix or range, or bytes in the other order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ...buffers import TensorSpec
from ...errors import NpuLayoutError, RecordingError
from ...frames import FrameSpec, Preprocessor, frame_spec_of, with_bytes_exchanged
from ...layouts import Layout
from ...recordings import FRAME
from .frame_fits import PICTURE
from .input_images import Image, MadeInput, Way

_ARGUMENTS = ("resize", "interpolation", "yuv", "color", "pad_value", "scaleup")  # mean and std are applied afterwards
_EXCHANGED = {  # formats that differ in the order of U and V alone
    **{"NV12": "NV21", "NV21": "NV12", "I420": "YV12", "YV12": "I420", "YUYV": "YVYU", "YVYU": "YUYV"},
}
_COLORS: Mapping[str, Mapping[str, str]] = {
    "matrix": {"bt601": "BT.601", "bt709": "BT.709", "bt2020": "BT.2020"},
    "range": {"limited": "16 to 235", "full": "0 to 255"},
}

_CHANGES: Mapping[tuple[str, str], str] = {  # declared and read: the change of an input that makes nearly the same
    ("bt601", "bt709"): "bt601",
    ("bt709", "bt601"): "bt709",
    ("limited", "full"): "video_as_full",
    ("full", "limited"): "full_as_video",
}
_U_AND_V = "u and v"
_AT_ONCE = 2  # changes

SOURCE = "source"  # the first word of the id of another reading
_BYTES = "the frame is read with the two bytes of each word exchanged (big endian for little endian, or the reverse)"


class OtherSource(NamedTuple):
    """A source for a Preprocessor, JSON-ready, and in which of the three it differs, each in words.

    does: the id of the change of an input that makes nearly the same; "": none, or the source differs in several.
    """

    each: tuple[str, ...]
    source: str | dict[str, Any]
    does: str

    @property
    def words(self) -> str:
        """All that differs."""
        return " and ".join(self.each)

    @property
    def changes(self) -> int:
        """In how many of the three it differs."""
        return len(self.each)


def other_sources(source: Any, frame: np.ndarray) -> list[OtherSource]:
    """Return the sources that read a frame of `source` in another way, those of one change first.

    None where its format has no Y, U and V.
    """
    spec = frame_spec_of(source, frame)
    if spec is None:
        return []
    formats = [name for name in (spec.format, _EXCHANGED.get(spec.format)) if name is not None]
    others = []
    for read, matrix, levels in product(formats, _COLORS["matrix"], _COLORS["range"]):
        words = [f"U and V exchanged (source {read})"] if read != spec.format else []
        does = [_U_AND_V] if words else []
        for field, value in (("matrix", matrix), ("range", levels)):
            if value != getattr(spec, field):
                words.append(f"{field}={value!r} ({_COLORS[field][value]})")
                does.append(_CHANGES.get((getattr(spec, field), value), ""))
        if words:
            made = FrameSpec.from_dict({**spec.to_dict(), "format": read, "matrix": matrix, "range": levels})
            is_twin = isinstance(source, str) and len(words) == 1 and read != spec.format
            other = read if is_twin else made.to_dict()
            others.append(OtherSource(tuple(words), other, does[0] if len(does) == 1 else ""))
    return sorted(others, key=lambda other: other.changes)


class FrameReadings:
    """The other ways to read a recorded frame: those of Y, U and V, of one change or two, and of words of 16 bits.

    frame, how: as recorded, and the arguments by which it was read; roi_xywh: its part that was used.
    """

    def __init__(self, frame: np.ndarray | None, how: Mapping[str, Any], roi_xywh: Sequence[int] | None) -> None:
        self._frame, self._how, self._roi_xywh = frame, how, roi_xywh
        self._source = how.get("source", "BGR")
        found = [] if frame is None else other_sources(self._source, frame)
        self._others = [other for other in found if other.changes <= _AT_ONCE]

    def ways(self, image: Image) -> Iterator[Way]:
        """Yield the inputs that are made of them."""
        if self._frame is None:
            return
        for other in self._others:
            made = MadeInput(partial(self._made, image, other.source, self._frame))
            fix = {**image.how, **self._how, **image.declared(image.mean, image.std), "source": other.source}
            text, combines = f"the frame is read with {other.words}", other.changes > 1
            yield Way((SOURCE, *other.each), text, fix, made, combines=combines)
        exchanged = with_bytes_exchanged(self._source, self._frame)
        if exchanged is not None:
            made = MadeInput(partial(self._made, image, self._source, exchanged))
            yield Way((SOURCE, "bytes"), _BYTES, None, made, "input_layout")

    def replace(self, way: Way) -> bool:
        """Whether one of them does what a way makes of an input's pixels: the frame has more than these."""
        alone = not way.combines or way.id[-1] == PICTURE
        return alone and way.id[0] in ("device", "scale") and any(other.does == way.id[1] for other in self._others)

    def _made(self, image: Image, source: Any, frame: np.ndarray) -> np.ndarray:
        target = TensorSpec(image.x.shape, Layout.plain(image.letters), "float32")
        how = {name: self._how[name] for name in _ARGUMENTS if name in self._how}
        try:
            buffer, _ = Preprocessor(target, source=source, **how)(frame, roi_xywh=self._roi_xywh)
        except NpuLayoutError as error:
            raise RecordingError(f"input {FRAME!r} and meta's preprocess do not fit: {error}") from None
        return image.normalised(buffer)
