"""Other readings of a recorded camera frame: U and V exchanged, another matrix or range, or its bytes misread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from ...errors import NpuLayoutError
from ...frames import FrameSpec, with_bytes_exchanged
from ..other_inputs.frame_readings import other_sources
from ..other_inputs.input_images import How
from .input_changes import Change
from .input_pairs import FrameInput, InputPair

_BYTES = "the frame with the two bytes of each word exchanged (big endian for little endian, or the reverse)"


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


def misread(base: How, pairs: Sequence[InputPair]) -> list[Change]:
    """Return the inputs of frames whose bytes are read as those of other rows, or in the other order.

    pairs: with frames in their own format.
    """
    source = base.get("source", "BGR")
    exchanged = {}
    for pair in pairs:
        frame = with_bytes_exchanged(source, pair.frame)
        if frame is not None:
            exchanged[pair.number] = pair, frame
    make = partial(_of_frame, exchanged=exchanged, how=base)
    of_words = [Change(_BYTES, make, verdict="input_layout")] if exchanged else []
    return [*without_pitch(base, pairs), *of_words]


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


def _of_frame(pair: InputPair, exchanged: Mapping[int, tuple[InputPair, np.ndarray]], how: How) -> FrameInput:
    own, frame = exchanged[pair.number]
    return own.made(own.pixels(how, frame), how)


def _of_source(pair: InputPair, pairs: Mapping[int, InputPair], how: How) -> FrameInput:
    own = pairs[pair.number]
    return own.made(own.pixels(how), how)
