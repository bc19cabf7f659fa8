"""Keep the frames of a stream in order, from capture to the result, each with memory, and count them."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from .changes import AGAIN, Again, Changes
from .leases import Result, Slot, slot_of
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
        self._capacity = workers + depth
        self._free_slots: deque[Slot] = deque()
        self._changes = Changes()
        self._waiting: deque[Job] = deque()  # captured, in no worker yet
        self._begun: deque[Job] = deque()  # in a worker or done, in the order of their numbers
        self._captured = self._shown = self._dropped = self._failed = 0
        self._dropped_before_next = 0  # dropped since the last frame that was put in
        self._dropped_before_failed = 0  # dropped before frames that failed, since the last result
        self._ended = self.stopping = False
        self.failure: StreamError | None = None  # what ended it
        self._source_error: StreamError | None = None  # what ended the source
        self._leased: Result | None = None  # the last result: its memory is valid until the next one is asked for
        self._pace = Pace()
        self._workers_left = workers  # but for those that are hung
        self.hung = False  # whether a worker is hung

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
            self._source_error = None if error is None else failure("capture", number, error, None)
            self._changes.notify()

    def put(self, number: int, captured: float, frame: Any, error: BaseException | None) -> bool:
        """Put a frame in; return whether to go on. Frames that failed wait too: they may come fast."""
        with self._changes.lock:
            self._captured += 1
        job = self._changes.until(lambda: self._job_with_memory(number, captured, frame, error))
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

    def _job_with_memory(
        self, number: int, captured: float, frame: Any, error: BaseException | None
    ) -> Job | Again | None:
        """Return the job of a frame, with its memory; None when the stream stops, AGAIN while there is no room."""
        if self.stopping:
            self._dropped += 1
            return None
        if error is not None or not self._latest:
            if len(self._waiting) + len(self._begun) >= self._capacity:
                return AGAIN
            if error is not None:
                return Job(number, captured, None, None)
        else:
            for old in [job for job in self._waiting if job.state is None]:
                self._waiting.remove(old)
                self._return_memory(old)
                self._dropped += 1
                self._dropped_before_next += 1 + old.dropped
        job = Job(number, captured, frame, self._free_slots.popleft() if self._free_slots else Slot())
        job.dropped, self._dropped_before_next = self._dropped_before_next, 0
        return job

    def take(self) -> Job | None:
        """Return the next frame to work on, which may take any time; None if there will be none."""
        return self._changes.until(self._next_job)

    def _next_job(self) -> Job | Again | None:
        """Return the next frame to work on, begun; None when the stream ends, an Again while there is none."""
        while not self.stopping:
            if not self._waiting and self._ended:
                return None
            if not self._waiting or len(self._begun) >= self._capacity:
                return AGAIN
            seconds = self._seconds_to_wait()
            if seconds > 0:
                return AGAIN if seconds == math.inf else Again(seconds)
            job = self._waiting.popleft()
            self._begun.append(job)
            job.taken = time.monotonic()
            if job.state is None:
                job.begin("preprocess")
                return job
            self._changes.notify()  # one that failed already
        return None

    def _seconds_to_wait(self) -> float:
        """Return the seconds before the next frame is begun: 0 or less for now, infinity for once a result has gone."""
        if not self._latest:
            return 0.0
        return self._pace.wait(len(self._begun), bool(self._begun) and self._begun[0].state is not None)

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
            self._end_lease()
            self._pace.asked()
        result: Result | None = None
        try:
            result = self._changes.until(lambda: self._next_result(alive), TICK)
        finally:
            if result is None:
                with self._changes.lock:
                    self._pace.left()
        return result

    def _next_result(self, alive: Callable[[], bool]) -> Result | Again | None:
        """Return the next result in order; None at the end, AGAIN while it is not there."""
        self.watch()
        if self.failure is not None:  # what ends it comes last, whoever knows it
            return None
        while self._begun and (state := self._begun[0].state) is not None:
            job = self._begun.popleft()
            self._changes.notify()
            if isinstance(state, StreamError):
                self._count_failed(job, state)
                continue
            self._shown += 1
            self._leased = result = state
            result.dropped, self._dropped_before_failed = result.dropped + self._dropped_before_failed, 0
            self._pace.handed()
            return result
        if not self._is_over(alive):
            return AGAIN
        if self._source_error is not None and not self.stopping:  # the frame was skipped, but none came after it
            self.failure = self._source_error
            raise self.failure
        return None

    def clear(self) -> None:
        """Return all memory, and count what was left; no thread puts in or takes any more."""
        with self._changes.lock:
            self._failed += sum(isinstance(job.state, StreamError) for job in (*self._waiting, *self._begun))
            # All others, also one that an exception of a signal's handler took out of the line.
            self._dropped = self._captured - self._shown - self._failed
            for job in (*self._waiting, *(job for job in self._begun if job.state is not None)):
                self._return_memory(job)  # but for memory that a stage may still use
            self._waiting.clear()
            self._begun.clear()
            self._end_lease()

    def _count_failed(self, job: Job, error: StreamError) -> None:
        """Count a frame that failed; raise what failed, if that ends the stream."""
        self._failed += 1
        self._dropped_before_failed += job.dropped
        self._return_memory(job)
        if not (self._skips and self._workers_left and isinstance(error.__cause__, (Exception, type(None)))):
            self.failure = error
            raise error

    def _is_over(self, alive: Callable[[], bool]) -> bool:
        """Return whether no result will come any more."""
        if self.stopping:
            return not any(job.state is None for job in self._begun) or not alive()
        return self._ended and not self._waiting and not self._begun

    def watch(self) -> None:
        """Give up frames that are in one stage for too long, with the worker that has them."""
        with self._changes.lock:
            for job in tuple(self._begun):
                if self._watchdog.late(job):
                    self._fail(job, job.stage, None)
                    self._watchdog.give_up(job)
                    self._workers_left -= 1
                    self.hung = True

    def _fail(self, job: Job, stage: str, error: BaseException | None) -> None:
        job.stage, job.state = stage, failure(stage, job.number, error, self._watchdog.seconds)

    def _return_memory(self, job: Job) -> None:
        """Free the memory of a job, unless a stage that was given up may still use it."""
        if job.slot is not None and not job.hung:
            self._free(job.slot)
            job.slot = None

    def _end_lease(self) -> None:
        """Free the memory of the last result, whose time is over."""
        if self._leased is not None:
            self._free(slot_of(self._leased))
            self._leased = None

    def _free(self, slot: Slot) -> None:
        """End the lease of a slot, so that another frame may have its memory."""
        slot.returned(self._debug)
        self._free_slots.append(slot)
