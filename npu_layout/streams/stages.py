"""Name the stages of a stream, what fails in them, and what has been counted."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import NpuLayoutError

STAGES = ("capture", "preprocess", "infer", "function")


class StreamError(NpuLayoutError):
    """What failed in a stream.

    Attributes
    ----------
    stage
        "capture", "preprocess", "infer" or "function".
    number
        The number of the frame.
    words
        What happened.

    Raises nothing.
    """

    def __init__(self, stage: str, number: int, words: str) -> None:
        super().__init__(f"stream: frame {number}: {stage}: {words}")
        self.stage, self.number, self.words = stage, number, words

    def __reduce__(self) -> tuple[type[StreamError], tuple[str, int, str]]:
        return StreamError, (self.stage, self.number, self.words)


class Counts(NamedTuple):
    """How many frames were captured, and what became of them: shown + dropped + failed + pending == captured.

    shown: returned as results. dropped: replaced by a newer one, or left when the stream stopped. failed: an exception
    in one of their stages. pending: still in a stage. Raises nothing.
    """

    captured: int
    shown: int
    dropped: int
    failed: int
    pending: int
