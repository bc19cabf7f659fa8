"""The camera's frames of a recording, each the part that its input was made of, and the parts that it may have been."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, Callable, NamedTuple

import numpy as np

from ...errors import NpuLayoutError, RecordingError
from ...frames import as_channels, frame_part
from ...recordings import FRAME, ROI, Recording, roi_of

Part = tuple[int, ...]  # x, y, width, height
OtherParts = Mapping[str, Callable[[], np.ndarray]]
_REACH = 2  # frames before and after, whose parts are tried


def noted_part(inputs: Mapping[str, np.ndarray], how: Any, number: int) -> Part | None:
    """Return the part of a run's frame that its input was made of; None if all of it was, or none is recorded.

    how: the recording's preprocess, which says how large the frame is, if it fits. RecordingError if the part is not
    inside the frame, which has the `number`.
    """
    roi = roi_of(inputs)
    if roi is None or not isinstance(how, Mapping):
        return roi
    try:
        width, height = frame_part(inputs[FRAME], how)[2:]
    except NpuLayoutError:  # a frame that is none of its source: no input is made of it, and its outputs are compared
        return roi
    if roi[0] + roi[2] > width or roi[1] + roi[3] > height:
        raise RecordingError(f"frame {number}: input {ROI!r}: expected a part of {width}x{height}, got {roi}")
    return roi


class Cut(NamedTuple):
    """A part of a frame: the frame, the part, and the Preprocessor's arguments that the frame alone has."""

    frame: np.ndarray
    part: Part
    how: Mapping[str, Any]


class CameraFrames(Mapping[int, np.ndarray]):
    """{number: the camera's frame} of a recording, in channels, read when it is asked for; a part where one was used.

    how: the recording's preprocess; seen: inputs of runs that were read before. RecordingError if a part that is asked
    for is not inside its frame.
    """

    def __init__(
        self, recording: Recording, how: Mapping[str, Any], seen: Mapping[int, Mapping[str, np.ndarray]] | None = None
    ) -> None:
        self._runs, self._how, self._seen = recording.frames, how, seen or {}
        self._read = lru_cache(maxsize=16)(self._part)
        self._rois: dict[int, Part | None] = {}

    def __getitem__(self, number: int) -> np.ndarray:
        if number not in self:
            raise KeyError(number)
        return self._read(number, self.roi(number))

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and 0 <= number < len(self._runs)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self._runs)))

    def __len__(self) -> int:
        return len(self._runs)

    def roi(self, number: int) -> Part | None:
        """Return the part of a frame that was used; None if all of it was."""
        if number not in self._rois:
            self._rois[number] = noted_part(self._inputs(number), self._how, number)
        return self._rois[number]

    def _inputs(self, number: int) -> Mapping[str, np.ndarray]:
        return self._seen[number] if number in self._seen else self._runs[number].inputs

    def _part(self, number: int, part: Part | None) -> np.ndarray:
        pixels = as_channels(self._inputs(number)[FRAME], self._how, part)[0]
        return pixels if part is None else np.ascontiguousarray(pixels)

    def other_parts(self, number: int) -> OtherParts:
        """Return {words: a function that cuts it out}: other parts that a frame's input may have been made of."""
        roi = self.roi(number)
        if roi is None:
            return {}
        size_wh = self._size_wh(number)
        x, y, width, height = roi
        parts: dict[str, Part] = {
            "the whole frame": (0, 0, *size_wh),
            "roi_xywh read as left, top, right, bottom": (x, y, width - x, height - y),
            "roi_xywh with x and y, width and height exchanged": (y, x, height, width),
            "roi_xywh with x and y rounded down to even numbers": (x & ~1, y & ~1, width, height),
            "roi_xywh rounded down to even numbers": (x & ~1, y & ~1, width & ~1, height & ~1),
        }
        for by in range(1, _REACH + 1):
            for other, where in ((number - by, "before"), (number + by, "after")):
                if other in self:
                    parts[f"the roi_xywh of {by} frame{'s'[: by > 1]} {where}"] = self.roi(other) or (0, 0, *size_wh)
        found: dict[Part, str] = {roi: ""}
        for words, part in parts.items():
            if _is_inside(part, size_wh):
                found.setdefault(part, words)
        return {words: partial(self._read, number, part) for part, words in found.items() if words}

    def near(self, number: int, by: Part) -> Cut | None:
        """Return the part of a frame whose four numbers differ by `by` from the noted one; None if it is outside."""
        roi, (width, height) = self.roi(number), self._size_wh(number)
        part = tuple(a + b for a, b in zip(roi or (), by))
        if not part or not _is_inside(part, (width, height)):
            return None
        own = {name: self._how[name] for name in ("source", "yuv") if name in self._how}
        if own.get("yuv") == "planes":  # these are resized before they are colours
            return Cut(self._inputs(number)[FRAME], part, own)
        return Cut(self._read(number, None), part, {})

    def _size_wh(self, number: int) -> tuple[int, int]:
        return frame_part(self._inputs(number)[FRAME], self._how)[2:]


def _is_inside(part: Part, size_wh: tuple[int, int]) -> bool:
    x, y, width, height = part
    return min(width, height) > 0 and min(x, y) >= 0 and x + width <= size_wh[0] and y + height <= size_wh[1]
