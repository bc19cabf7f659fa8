"""Lead frames through their stages, in threads, and return the results in order."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from ..errors import NpuLayoutError
from ..support import checked_call, counted, flag, one_of, real_number
from .leases import Result, Slot
from .signals import Stopped
from .sources import open_source
from .stages import Counts, Job, StreamError, failure
from .watchdog import Watchdog
from .work import Work

POLICIES = ("latest", "every")
ERRORS = ("stop", "skip")
_PATIENCE = 2.0  # seconds for a thread that may never end
_TICK = 0.05  # seconds between looks at the watchdog and at signals


class Stream:
    """Frames through preprocessing, an engine and a function, in order, as fast as the engines are.

    A thread captures; each engine of a pool has a thread that preprocesses, infers and calls the function. Results come
    in the order of the frames, to whoever iterates. After the first frames nothing is allocated for one: memory is
    leased by a frame, and returned when the next result is asked for.

    Parameters
    ----------
    source
        As for `open_source`.
    preprocess
        A Preprocessor, or a callable frame -> (buffer, geometry), of a network with one input.
    engine
        An Engine, or an EnginePool.
    function
        Called in the worker's thread with each Result, whose `value` becomes what it returns: decode here.
    policy
        "latest": of frames that wait, only the newest one stays; "every": the source waits. None: "latest" if the
        source is live.
    on_error
        "stop": the first exception in a stage ends the stream, and is raised as a StreamError; "skip": that frame is
        counted as failed, and the stream goes on.
    watchdog
        Seconds that a frame may be preprocessed, be in the engine, or in the function; then a StreamError is raised, or
        with "skip" its engine is left alone. Time in a pool's queue does not count, unless none of its engines answers.
        None: any time. A source may take as long as it likes.
    depth
        Frames that may wait or be in a stage, beside one for each engine.
    debug
        Whether memory that was returned is filled with bytes of 0xA5, so that who still uses it sees it.

    Raises
    ------
    NpuLayoutError
        On what is no source, engine or preprocess.
    StreamError
        While iterating: what failed, with the stage and the frame's number; the cause is the exception itself.

    Attributes
    ----------
    counts
        Counts of frames so far.

    Examples
    --------
    >>> from npu_layout.engines import SimulatedNpu
    >>> stream = Stream(frames, Preprocessor(spec, mean=0, std=255), engine, decoder)  # doctest: +SKIP
    >>> with stream:  # doctest: +SKIP
    ...     for result in stream:
    ...         show(result.frame, result.value)
    """

    @checked_call
    def __init__(
        self,
        source: Any,
        preprocess: Any,
        engine: Any,
        function: Callable[[Result], Any] | None = None,
        *,
        policy: str | None = None,
        on_error: str = "stop",
        watchdog: float | None = None,
        depth: int = 2,
        debug: bool = False,
    ) -> None:
        self._work = Work(preprocess, engine, function)
        self._source = open_source(source)
        policy = one_of("policy", policy, (None, *POLICIES)) or ("latest" if self._source.live else "every")
        self._latest, self._skips = policy == "latest", bool(one_of("on_error", on_error, ERRORS) == "skip")
        self._watchdog = Watchdog(None if watchdog is None else real_number("watchdog", watchdog, 0.0), engine)
        self._debug, self._workers = flag("debug", debug), self._work.workers
        self._most = self._workers + counted("depth", depth)
        self._slots: deque[Slot] = deque(Slot() for _ in range(self._most + 2))
        self._change = threading.Condition()
        self._waiting: deque[Job] = deque()  # captured, in no worker yet
        self._order: deque[Job] = deque()  # in a worker or done, in the order of their numbers
        self._captured = self._shown = self._dropped = self._failed = self._unreported = 0
        self._ended = self._stopping = self._started = self._finished = False
        self._held: Result | None = None
        self._asked: asyncio.Future[Result | None] | None = None
        self._left = self._workers  # workers that are not hung
        self._threads: list[threading.Thread] = []
        self._signals = Stopped(self.stop)

    @property
    def counts(self) -> Counts:
        """How many frames were captured, shown, dropped, have failed and are pending."""
        with self._change:
            pending = self._captured - self._shown - self._dropped - self._failed
            return Counts(self._captured, self._shown, self._dropped, self._failed, pending)

    def start(self) -> None:
        """Start the threads; iterating does so by itself. NpuLayoutError if the stream was stopped."""
        if self._finished or (self._stopping and not self._started):
            raise NpuLayoutError("stream: it was stopped; make a new one")
        if self._started:
            return
        self._started = True
        names = ["capture", *(f"worker {i}" for i in range(self._workers))]
        for name in names:
            target = self._capture if name == "capture" else self._labour
            self._threads.append(threading.Thread(target=target, name=f"npu_layout stream {name}", daemon=True))
        for thread in self._threads:
            thread.start()

    def __iter__(self) -> Iterator[Result]:
        self.start()
        try:
            while True:
                result = self._next()
                if result is None:
                    return
                yield result
        except GeneratorExit:  # the loop was left; another one may go on
            raise
        except BaseException:
            self.close()
            raise

    async def __aiter__(self) -> AsyncIterator[Result]:
        """Yield the results in an event loop, which is free meanwhile."""
        self.start()
        loop = asyncio.get_running_loop()
        while True:
            if self._asked is None or self._asked.get_loop() is not loop:
                self._asked = loop.run_in_executor(None, self._next)
            try:
                result = await asyncio.shield(self._asked)
            except asyncio.CancelledError:  # who asks next gets that result
                raise
            except BaseException:
                self._asked = None
                raise
            self._asked = None
            if result is None:
                return
            yield result

    def stop(self) -> None:
        """Ask the stream to end; what is in a stage is finished, nothing else begins. Raises nothing."""
        with self._change:
            self._stopping = True
            self._change.notify_all()

    def close(self) -> None:
        """Stop, wait for the threads, and release the source; the engine stays open. A second call does nothing.

        In a thread of the stream, as in its function, it is `stop`: who iterates closes it at the end.
        """
        self.stop()
        if self._finished or threading.current_thread() in self._threads:
            return
        self._finished = True
        self._source.close()
        hung = self._left < self._workers
        for thread in self._threads:  # who captures may wait for a frame that never comes
            thread.join(timeout=_PATIENCE if thread is self._threads[0] or hung else None)
        with self._change:
            for job in (*self._waiting, *self._order):
                failed = isinstance(job.state, StreamError)
                self._failed, self._dropped = self._failed + failed, self._dropped + (not failed)
                self._back(job)
            self._waiting.clear()
            self._order.clear()
            if self._held is not None:
                self._give(self._held)
        self._signals.restore()

    def __enter__(self) -> Stream:
        self._signals.catch()
        return self

    def __exit__(self, *error: Any) -> None:
        try:
            self.close()
        finally:
            self._signals.restore()  # another thread may have closed it

    # The capture thread

    def _capture(self) -> None:
        number = 0
        try:
            while not self._stopping:
                error: BaseException | None = None
                frame = None
                try:
                    frame = next(self._source)
                except StopIteration:
                    break
                except BaseException as raised:  # whatever the source's own code raises
                    error = raised
                if isinstance(frame, Exception):
                    error, frame = frame, None
                captured = time.monotonic()
                if not self._enter(number, captured, frame, error):
                    break
                number += 1
        finally:
            with self._change:
                self._ended = True
                self._change.notify_all()

    def _enter(self, number: int, captured: float, frame: Any, error: BaseException | None) -> bool:
        """Put a frame in the line; return whether to go on. Frames that failed wait too: they may come fast."""
        waits = error is not None or not self._latest
        with self._change:
            self._captured += 1
            while waits and not self._stopping and len(self._waiting) + len(self._order) >= self._most:
                self._change.wait()
            if self._stopping:
                self._dropped += 1
                return False
            if error is not None:
                job = Job(number, captured, None, None)
                self._fail(job, "capture", error)
                self._waiting.append(job)
                self._change.notify_all()
                return self._skips and isinstance(error, Exception)
            if self._latest:
                for old in [job for job in self._waiting if job.state is None]:
                    self._waiting.remove(old)
                    self._back(old)
                    self._dropped += 1
                    self._unreported += 1 + old.dropped
            slot = self._slots.popleft() if self._slots else Slot()
            job = Job(number, captured, frame, slot)
            job.dropped, self._unreported = self._unreported, 0
        failed: Exception | None = None
        try:
            job.frame = slot.keep(frame)
        except Exception as raised:  # such as no memory
            failed = raised
        with self._change:
            if failed is not None:
                self._fail(job, "capture", failed)
            self._waiting.append(job)
            self._change.notify_all()
        return failed is None or self._skips

    # The workers

    def _labour(self) -> None:
        while True:
            with self._change:
                while not self._ready() and not self._stopping and not self._ended:
                    self._change.wait()
                if self._stopping or not self._ready():
                    if self._stopping or (self._ended and not self._waiting):
                        return
                    self._change.wait(_TICK)
                    continue
                job = self._waiting.popleft()
                self._order.append(job)
                if job.state is not None:
                    self._change.notify_all()
                    continue
                job.begin("preprocess")
            if not self._stages(job):
                return

    def _ready(self) -> bool:
        return len(self._waiting) > 0 and len(self._order) < self._most

    def _stages(self, job: Job) -> bool:
        """Do the stages of a frame; return False if the watchdog has given this worker up meanwhile."""
        slot = job.slot
        assert slot is not None
        result = Result(job.number, job.captured, slot, job.frame, None, job.dropped)
        last = time.monotonic()
        try:
            for stage, act in self._work.stages:
                job.begin(stage)
                act(job, slot, result)
                now = time.monotonic()
                result.seconds[stage], last = now - last, now
            result.seconds["total"] = last - job.captured
            state: Any = result
        except BaseException as raised:  # what users' code, engines and frames raise; SystemExit too
            state = raised
        with self._change:
            if job.state is not None:  # the watchdog was faster
                return False
            if isinstance(state, BaseException):
                self._fail(job, job.stage, state)
            else:
                job.state = state
            self._change.notify_all()
        return True

    # The consumer

    def _next(self) -> Result | None:
        """Return the next result in order, None at the end; raise what failed, if that ends the stream."""
        error: StreamError | None = None
        with self._change:
            if self._held is not None:
                self._give(self._held)
                self._held = None
            while True:
                job = self._order[0] if self._order else None
                if job is not None and job.state is not None:
                    self._order.popleft()
                    self._change.notify_all()
                    if isinstance(job.state, StreamError):
                        self._failed += 1
                        if job.slot is not None and not job.hung:
                            self._back(job)
                        if self._skips and self._left and isinstance(job.state.__cause__, (Exception, type(None))):
                            continue
                        error = job.state
                        break
                    self._shown += 1
                    self._held = job.state
                    return self._held
                if self._over():
                    break
                self._change.wait(_TICK)
                self._watch()
        self.close()
        if error is not None:
            raise error
        return None

    def _over(self) -> bool:
        if self._stopping:
            return not any(job.state is None for job in self._order) or not self._alive()
        return bool(self._ended and not self._waiting and not self._order)

    def _alive(self) -> bool:
        return any([thread.is_alive() for thread in self._threads])

    def _watch(self) -> None:
        """Give up frames that are in one stage for too long, with the worker that has them."""
        for job in self._order:
            if self._watchdog.late(job):
                self._fail(job, job.stage, None)
                self._watchdog.give_up(job)
                self._left -= 1

    def _fail(self, job: Job, stage: str, error: BaseException | None) -> None:
        job.stage, job.state = stage, failure(stage, job.number, error, self._watchdog.seconds)

    def _give(self, result: Result) -> None:
        slot = result._slot
        slot.returned(self._debug)
        self._slots.append(slot)

    def _back(self, job: Job) -> None:
        if job.slot is not None:
            job.slot.returned(self._debug)
            self._slots.append(job.slot)
            job.slot = None
