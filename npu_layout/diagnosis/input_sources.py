"""Other readings of a recorded camera frame: U and V exchanged, another matrix, another range."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..frames import FrameSpec, frame_spec_of

_EXCHANGED = {  # formats that differ in the order of U and V alone
    **{"NV12": "NV21", "NV21": "NV12", "I420": "YV12", "YV12": "I420", "YUYV": "YVYU", "YVYU": "YUYV"},
}
_COLORS: Mapping[str, Mapping[str, str]] = {
    "matrix": {"bt601": "BT.601", "bt709": "BT.709", "bt2020": "BT.2020"},
    "range": {"limited": "16 to 235", "full": "0 to 255"},
}


class OtherSource(NamedTuple):
    """A source for a Preprocessor, JSON-ready, and what it is in words."""

    words: str
    source: str | dict[str, Any]


def other_sources(source: Any, frame: np.ndarray) -> Iterator[OtherSource]:
    """Yield the sources that read a frame of `source` in another way; none where its format has no Y, U and V."""
    spec = frame_spec_of(source, frame)
    if spec is None:
        return
    named = isinstance(source, str)
    twin = _EXCHANGED.get(spec.format)
    if twin is not None:
        other = twin if named else FrameSpec.from_dict({**spec.to_dict(), "format": twin}).to_dict()
        yield OtherSource(f"U and V exchanged (source {twin})", other)
    for field, words in _COLORS.items():
        for value, text in words.items():
            if value != getattr(spec, field):
                made = FrameSpec.from_dict({**spec.to_dict(), field: value})
                yield OtherSource(f"{field}={value!r} ({text})", made.to_dict())
