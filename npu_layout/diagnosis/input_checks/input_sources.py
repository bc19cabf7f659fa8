"""Other readings of a recorded camera frame: U and V exchanged, another matrix or range, or its pitch ignored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ...errors import NpuLayoutError
from ...frames import FrameSpec, frame_spec_of
from ..other_inputs.input_images import How
from .input_changes import Change
from .input_pairs import FrameInput, InputPair

_EXCHANGED = {  # formats that differ in the order of U and V alone
    **{"NV12": "NV21", "NV21": "NV12", "I420": "YV12", "YV12": "I420", "YUYV": "YVYU", "YVYU": "YUYV"},
}
_COLORS: Mapping[str, Mapping[str, str]] = {
    "matrix": {"bt601": "BT.601", "bt709": "BT.709", "bt2020": "BT.2020"},
    "range": {"limited": "16 to 235", "full": "0 to 255"},
}


class OtherSource(NamedTuple):
    """A source for a Preprocessor, JSON-ready, what it is in words, and in how many of the three it differs."""

    words: str
    source: str | dict[str, Any]
    changes: int


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
        for field, value in (("matrix", matrix), ("range", levels)):
            if value != getattr(spec, field):
                words.append(f"{field}={value!r} ({_COLORS[field][value]})")
        if words:
            made = FrameSpec.from_dict({**spec.to_dict(), "format": read, "matrix": matrix, "range": levels})
            is_twin = isinstance(source, str) and len(words) == 1 and read != spec.format
            others.append(OtherSource(" and ".join(words), read if is_twin else made.to_dict(), len(words)))
    return sorted(others, key=lambda other: other.changes)


def source_changes(base: How, pairs: Sequence[InputPair]) -> list[Change]:
    """Return the inputs of frames in their own format that are read in another way. pairs: with frames in that format.

    Each can be made of any pair of the same frames' numbers.
    """
    own = {pair.number: pair for pair in pairs}
    changes = []
    for other in other_sources(base.get("source", "BGR"), pairs[0].frame):
        how = {**base, "source": other.source}
        make = partial(_of_source, pairs=own, how=how)
        changes.append(Change(other.words, make, how, kind="source", changes=other.changes))
    return changes


def without_pitch(base: How, pairs: Sequence[InputPair]) -> list[Change]:
    """Return the inputs of frames whose declared pitch was ignored. pairs: with frames in their own format.

    Either each plane is read from where it begins, or all of them are read one behind the other.
    """
    source = base.get("source")
    spec = FrameSpec.from_dict(source) if isinstance(source, Mapping) else source
    if not isinstance(spec, FrameSpec) or spec.size is None:
        return []
    own = {pair.number: pair for pair in pairs}
    tight = FrameSpec(spec.format, spec.size_wh)
    padding = f"as if its rows had no padding (they begin every {spec.strides[0]} bytes)"
    changes: dict[tuple[int, ...], Change] = {}
    for read, offsets in (("the frame read", tight.offsets), ("each plane of the frame read", spec.offsets)):
        try:
            without = FrameSpec.from_dict({**spec.to_dict(), "strides": tight.strides, "offsets": offsets})
        except NpuLayoutError:  # its planes are not apart
            continue
        if without.strides != spec.strides:
            make = partial(_of_source, pairs=own, how={**base, "source": without})
            changes.setdefault(without.offsets, Change(f"{read} {padding}", make, verdict="input_layout"))
    return [*changes.values()]


def _of_source(pair: InputPair, pairs: Mapping[int, InputPair], how: How) -> FrameInput:
    own = pairs[pair.number]
    return own.made(own.pixels(how), how)
