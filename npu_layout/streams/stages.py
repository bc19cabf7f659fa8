"""What the threads of a stream share: the stage and the errors of a frame, and the counts."""

from __future__ import annotations

import time
from concurrent.futures import Future
from typing import Any, NamedTuple

from ..errors import NpuLayoutError
from .leases import Result, Slot


class StreamError(NpuLayoutError):
    """A frame's stage in a stream has failed; the exception itself is the `__cause__`.

    Attributes
    ----------
    stage
        "capture", "preprocess", "infer" or "function".
    number
        The number of the frame.
    words
        What happened, as the message has it.

    Raises nothing.
    """

    def __init__(self, stage: str, number: int, words: str) -> None:
        super().__init__(f"stream: frame {number}: {stage}: {words}")
        self.stage, self.number, self.words = stage, number, words

    def __reduce__(self) -> tuple[type[StreamError], tuple[str, int, str]]:
        return StreamError, (self.stage, self.number, self.words)


def failure(stage: str, number: int, error: BaseException | None, watchdog: float | None) -> StreamError:
    """Return the StreamError that an exception in a stage causes; without an exception, the watchdog has given up."""
    if error is None:
        words = f"no answer for {watchdog:g} s (watchdog)"
    else:
        words = str(error) if isinstance(error, NpuLayoutError) else f"{type(error).__name__}: {error}"
    failed = StreamError(stage, number, words)
    failed.__cause__ = error
    return failed


class Counts(NamedTuple):
    """How many frames were captured, and what became of them: shown + dropped + failed + pending == captured.

    shown: frames whose results were returned. dropped: frames that a newer one replaced, or that were left when the
    stream stopped. failed: frames with an exception in a stage. pending: all others, which wait, are in a stage, or
    have a result that was not asked for yet. Raises nothing.
    """

    captured: int
    shown: int
    dropped: int
    failed: int
    pending: int


class Job:
    """A frame in the stages: `state` is None until it is done, then a Result or a StreamError."""

    def __init__(self, number: int, captured: float, frame: Any, slot: Slot | None) -> None:
        self.number, self.captured, self.frame, self.slot = number, captured, frame, slot
        self.stage, self.since = "capture", captured
        self.state: Result | StreamError | None = None
        self.taken = captured  # when a worker took it
        self.dropped = 0
        self.hung = False  # whether a stage that was given up may still use the slot
        self.queued = False  # whether no engine of a pool has begun it
        self.future: Future[Any] | None = None  # of a pool

    def begin(self, stage: str) -> None:
        """Begin a stage now."""
        self.stage, self.since = stage, time.monotonic()

    def begun(self) -> None:
        """Note that an engine of the pool begins now; a watchdog reads `queued` first."""
        self.since = time.monotonic()
        self.queued = False
