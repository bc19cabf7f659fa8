"""Lead frames through their stages, in threads."""

from __future__ import annotations

import atexit
import threading
import time
from contextlib import suppress

from ..errors import NpuLayoutError
from ..support import safe_lock
from .leases import Result
from .line import TICK, Line
from .processes import Process
from .signals import Stopped, beside
from .sources import Source
from .stages import Job, StreamError
from .work import Work

_PATIENCE = 2.0  # seconds for a thread that may never end
_NAME = "npu_layout stream"  # of all threads of streams, and of what ends dropped ones
_RUNNING: set[Crew] = set()  # no weak ones: their callbacks are code of Python, in which a Ctrl-C is lost
_REGISTERED = threading.Event()


def _end_all() -> None:
    """End the streams that still run at the end of the program.

    A thread that comes back from C++, as from OpenCV's, when the interpreter is gone ends the process by SIGABRT.
    """
    for crew in list(_RUNNING):
        crew.end()
    end = time.monotonic() + _PATIENCE
    for thread in threading.enumerate():
        if thread.name.startswith(_NAME):
            thread.join(max(0.0, end - time.monotonic()))


class Crew:
    """The threads of a stream: one captures, the others do the work.

    They have no reference to the Stream, so that one that was dropped is collected, and ends them. `finished`: whether
    they have ended, or nobody waits for them any more.
    """

    def __init__(self, source: Source, work: Work, line: Line) -> None:
        self._source, self._work, self.line = source, work, line
        self._started = self.finished = False
        self._ended = False  # whether somebody got its end or error
        self.left = False  # whether its caller closed it
        self._patient = True  # whether `close` waits for the threads
        self._starting = safe_lock(reentrant=True)  # a signal's handler may take both again
        self._closing = safe_lock(reentrant=True)
        self._threads: list[threading.Thread] = []
        self.signals = Stopped(line.stop)
        self._process = Process()

    def start(self) -> None:
        """Start the threads, once; NpuLayoutError if the stream was stopped, but none to start if by a signal.

        Nothing happens if it ended by itself: who iterates then gets its end or error. NpuLayoutError in a process that
        was forked.
        """
        self._process.check("stream")
        with self._starting:
            if self._ended and not self.left:
                return
            stopped = self.line.stopping and not self._started
            if self.finished or (stopped and not self.signals.came):
                raise NpuLayoutError("stream: it was stopped; make a new one")
            if self._started:
                return
            self._started = True
            if stopped:
                return
            acts = [("capture", self._capture), *((f"worker {i}", self._run_worker) for i in range(self._work.workers))]
            self._threads = [threading.Thread(target=act, name=f"{_NAME} {name}", daemon=True) for name, act in acts]
            if not _REGISTERED.is_set():  # now, not on import: what engines registered before is called after it
                _REGISTERED.set()
                atexit.register(_end_all)
            _RUNNING.add(self)
            for thread in self._threads:
                thread.start()

    def next(self) -> Result | None:
        """Return the next result, None at the end; StreamError on what failed, in each who asks. Both close it."""
        self._process.check("stream")
        try:
            result = self.line.next(lambda: any([thread.is_alive() for thread in self._threads]))
        except StreamError:
            self._ended = True
            self.close()
            raise
        if result is None:
            self._ended = True
            self.close()
            failed = self.line.failure
            if failed is not None:  # another thread knows
                raise StreamError(failed.stage, failed.number, failed.words) from failed.__cause__
        return result

    def close(self) -> None:
        """Stop, wait for the threads, and release the source; in one of the threads, only stop.

        Who comes meanwhile waits for the same. After one that was interrupted the next does what is left, but does not
        wait for the threads: whoever interrupts twice has waited enough. In a process that was forked nothing happens:
        camera and engine are the parent's.
        """
        if not self._process.is_this:
            return
        self.line.stop()
        if threading.current_thread() in self._threads:
            return
        with self._closing:
            if self.finished:
                return
            with self._starting:  # what was on its way has begun
                threads = self._threads
            try:
                self._source.close()
            finally:
                self._finish(threads)

    def _finish(self, threads: list[threading.Thread]) -> None:
        """Wait for the threads, return all memory, and close what the source could not while a thread was in it."""
        try:
            for thread in threads if self._patient else ():
                self._wait(thread)
        except BaseException:
            self._patient = False
            raise
        self.line.clear()
        self.signals.restore()
        self.finished = True
        _RUNNING.discard(self)
        self._source.close()

    def _wait(self, thread: threading.Thread) -> None:
        """Wait for a thread; not long for what captures, whose frame may never come, and when a worker is hung."""
        end: float | None = None
        while thread.is_alive():  # not if it has ended, or an exception came before it was started: join would raise
            if end is None and (thread is self._threads[0] or self.line.hung):
                end = time.monotonic() + _PATIENCE
            if end is not None and time.monotonic() >= end:
                return
            thread.join(TICK)
            self.line.watch()

    def abandon(self) -> None:
        """End the threads of a stream that nobody has any more; memory that a result leased stays as it is."""
        _RUNNING.discard(self)
        self.signals.restore()
        if self.finished or not self._process.is_this:
            return
        if self._started:
            beside("end", self.line.stop, self._source.close)
        else:
            self._source.close()

    def end(self) -> None:
        """Stop, and release the source, unless the stream is closed; wait for nothing."""
        if self._process.is_this and not self.finished:
            self.line.stop()
            with suppress(Exception):  # who closes the stream hears of it; at the end of the program nobody does
                self._source.close()

    def _capture(self) -> None:
        number, raised = 0, None
        try:
            while not self.line.stopping:
                error: BaseException | None = None
                frame = None
                try:
                    frame, raised = next(self._source), None
                except StopIteration:  # of a generator that raised before, too
                    break
                except BaseException as caught:  # whatever the source's own code raises
                    error = raised = caught
                if isinstance(frame, Exception):
                    error, frame = frame, None
                if not self.line.put(number, time.monotonic(), frame, error):
                    break
                number += 1
        finally:
            self.line.end(number - 1, raised)
            if self.finished:  # nobody waited for the frame that came last
                self._source.close()

    def _run_worker(self) -> None:
        while True:
            job = self.line.take()
            if job is None or not self.line.finish(job, self._result(job)):
                return

    def _result(self, job: Job) -> Result | BaseException:
        """Do the stages of a frame; return what one of them raised, if it did."""
        assert job.slot is not None
        result = Result(job.number, job.captured, job.slot, job.frame, None, job.dropped)
        last = time.monotonic()
        try:
            for stage, act in self._work.stages:
                job.begin(stage)
                act(job, job.slot, result)
                now = time.monotonic()
                result.seconds[stage], last = now - last, now
            result.seconds["total"] = last - job.captured
        except BaseException as raised:  # what users' code, engines and frames raise; SystemExit too
            return raised
        return result
