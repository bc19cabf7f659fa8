"""Keep the frames of a stream in order, from capture to the result, each with memory, and count them."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from .changes import AGAIN, Again, Changes
from .leases import Result, Slot
from .pace import Pace
from .stages import Counts, Job, StreamError, failure
from .watchdog import Watchdog

TICK = 0.05  # seconds between looks at the watchdog and at signals


class Line:
    """The frames of a stream: one thread puts them in, workers take and finish them, whoever iterates asks for them.

    At most `workers` + `depth` wait or are in a stage. latest: of those that wait only the newest one stays, and is
    begun when Pace says. skips: frames that fail are counted, and do not end the stream. debug: memory that was
    returned is filled.
    """

    def __init__(self, workers: int, depth: int, watchdog: Watchdog, *, latest: bool, skips: bool, debug: bool) -> None:
        self._latest, self._skips, self._debug, self._watchdog = latest, skips, debug, watchdog
        self._most = workers + depth
        self._slots: deque[Slot] = deque()  # returned
        self._changes = Changes()
        self._waiting: deque[Job] = deque()  # captured, in no worker yet
        self._order: deque[Job] = deque()  # in a worker or done, in the order of their numbers
        self._captured = self._shown = self._dropped = self._failed = 0
        self._unreported = 0  # dropped since the last frame that was put in
        self._unshown = 0  # dropped before frames that failed, since the last result
        self._ended = self.stopping = False
        self.failure: StreamError | None = None  # what ended it
        self._broken: StreamError | None = None  # what ended the source
        self._held: Result | None = None
        self._pace = Pace()
        self._left = workers  # that are not hung
        self.hung = False  # whether a worker is

    @property
    def counts(self) -> Counts:
        """How many frames were captured, shown, dropped, have failed and are pending."""
        with self._changes.lock:
            pending = self._captured - self._shown - self._dropped - self._failed
            return Counts(self._captured, self._shown, self._dropped, self._failed, pending)

    def stop(self) -> None:
        """Begin nothing more."""
        with self._changes.lock:
            self.stopping = True
            self._changes.notify()

    def end(self, number: int = 0, error: BaseException | None = None) -> None:
        """Say that no frame will be put in any more; error: what the source raised for frame `number`, its last."""
        with self._changes.lock:
            self._ended = True
            self._broken = None if error is None else failure("capture", number, error, None)
            self._changes.notify()

    def put(self, number: int, captured: float, frame: Any, error: BaseException | None) -> bool:
        """Put a frame in; return whether to go on. Frames that failed wait too: they may come fast."""
        with self._changes.lock:
            self._captured += 1
        job = self._changes.until(lambda: self._room(number, captured, frame, error))
        if job is None:
            return False
        if job.slot is not None:  # of a frame that did not fail
            try:
                job.frame = job.slot.keep(frame)
            except Exception as raised:  # such as no memory
                error = raised
        with self._changes.lock:
            if error is not None:
                self._fail(job, "capture", error)
            self._waiting.append(job)
            self._changes.notify()
        return error is None or (self._skips and isinstance(error, Exception))

    def _room(self, number: int, captured: float, frame: Any, error: BaseException | None) -> Job | Again | None:
        """Return the job of a frame, with its memory; None when the stream stops, AGAIN while there is no room."""
        if self.stopping:
            self._dropped += 1
            return None
        if error is not None or not self._latest:
            if len(self._waiting) + len(self._order) >= self._most:
                return AGAIN
            if error is not None:
                return Job(number, captured, None, None)
        else:
            for old in [job for job in self._waiting if job.state is None]:
                self._waiting.remove(old)
                self._back(old)
                self._dropped += 1
                self._unreported += 1 + old.dropped
        job = Job(number, captured, frame, self._slots.popleft() if self._slots else Slot())
        job.dropped, self._unreported = self._unreported, 0
        return job

    def take(self) -> Job | None:
        """Return the next frame to work on, which may take any time; None if there will be none."""
        return self._changes.until(self._taken)

    def _taken(self) -> Job | Again | None:
        while not self.stopping:
            if not self._waiting and self._ended:
                return None
            if not self._waiting or len(self._order) >= self._most:
                return AGAIN
            early = self._early()
            if early > 0:
                return AGAIN if early == math.inf else Again(early)
            job = self._waiting.popleft()
            self._order.append(job)
            job.taken = time.monotonic()
            if job.state is None:
                job.begin("preprocess")
                return job
            self._changes.notify()  # one that failed already
        return None

    def _early(self) -> float:
        """Return for how long the next frame is not begun yet."""
        if not self._latest:
            return 0.0
        return self._pace.wait(len(self._order), bool(self._order) and self._order[0].state is not None)

    def finish(self, job: Job, state: Result | BaseException) -> bool:
        """Say what became of a frame in its stages; return False if the watchdog has given it up meanwhile."""
        with self._changes.lock:
            if job.state is not None:
                return False
            if isinstance(state, BaseException):
                self._fail(job, job.stage, state)
            else:
                job.state = state
                self._pace.finished(time.monotonic() - job.taken)
            self._changes.notify()
        return True

    def next(self, alive: Callable[[], bool]) -> Result | None:
        """Return the next result in order, None at the end; StreamError on what failed, if that ends the stream.

        alive: whether any thread of the stream is.
        """
        with self._changes.lock:
            if self._held is not None:
                self._give(self._held)
                self._held = None
            self._pace.asked()
        result: Result | None = None
        try:
            result = self._changes.until(lambda: self._come(alive), TICK)
        finally:
            if result is None:
                with self._changes.lock:
                    self._pace.left()
        return result

    def _come(self, alive: Callable[[], bool]) -> Result | Again | None:
        self.watch()
        if self.failure is not None:  # what ends it comes last, whoever knows it
            return None
        while self._order and (state := self._order[0].state) is not None:
            job = self._order.popleft()
            self._changes.notify()
            if isinstance(state, StreamError):
                self._failed_is_next(job, state)
                continue
            self._shown += 1
            self._held = result = state
            result.dropped, self._unshown = result.dropped + self._unshown, 0
            self._pace.handed()
            return result
        if not self._over(alive):
            return AGAIN
        if self._broken is not None and not self.stopping:  # the frame was skipped, but none came after it
            self.failure = self._broken
            raise self.failure
        return None

    def clear(self) -> None:
        """Return all memory, and count what was left; no thread puts in or takes any more."""
        with self._changes.lock:
            self._failed += sum(isinstance(job.state, StreamError) for job in (*self._waiting, *self._order))
            # All others, also one that an exception of a signal's handler took out of the line.
            self._dropped = self._captured - self._shown - self._failed
            for job in (*self._waiting, *(job for job in self._order if job.state is not None)):
                self._back(job)  # but for memory that a stage may still use
            self._waiting.clear()
            self._order.clear()
            if self._held is not None:
                self._give(self._held)
                self._held = None

    def _failed_is_next(self, job: Job, error: StreamError) -> None:
        """Count a frame that failed; raise what failed, if that ends the stream."""
        self._failed += 1
        self._unshown += job.dropped
        self._back(job)
        if not (self._skips and self._left and isinstance(error.__cause__, (Exception, type(None)))):
            self.failure = error
            raise error

    def _over(self, alive: Callable[[], bool]) -> bool:
        if self.stopping:
            return not any(job.state is None for job in self._order) or not alive()
        return self._ended and not self._waiting and not self._order

    def watch(self) -> None:
        """Give up frames that are in one stage for too long, with the worker that has them."""
        with self._changes.lock:
            for job in tuple(self._order):
                if self._watchdog.late(job):
                    self._fail(job, job.stage, None)
                    self._watchdog.give_up(job)
                    self._left -= 1
                    self.hung = True

    def _fail(self, job: Job, stage: str, error: BaseException | None) -> None:
        job.stage, job.state = stage, failure(stage, job.number, error, self._watchdog.seconds)

    def _give(self, result: Result) -> None:
        slot = result._slot
        slot.returned(self._debug)
        self._slots.append(slot)

    def _back(self, job: Job) -> None:
        if job.slot is not None and not job.hung:
            job.slot.returned(self._debug)
            self._slots.append(job.slot)
            job.slot = None
