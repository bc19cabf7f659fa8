"""Frames from a source to results, in order, for whoever iterates."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from typing import Any

from ..support import checked_call, counted, flag, not_copied, one_of, real_number, safe_lock
from .crew import Crew
from .leases import Result
from .line import Line
from .sources import open_source
from .stages import Counts
from .watchdog import Watchdog
from .work import Work

POLICIES = ("latest", "every")
ERRORS = ("stop", "skip")


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
        A Preprocessor, or the `batch` of one, for a source that yields lists of frames, or a callable frame -> (buffer,
        geometry), of a network with one input.
    engine
        An Engine, or an EnginePool.
    function
        Called in the worker's thread with each Result, whose `value` becomes what it returns: decode here.
    policy
        "latest": of frames that wait, only the newest one stays, and is begun so that its result is there when it is
        asked for, and not long before; "every": the source waits. None: "latest" if the source is live.
    on_error
        "stop": the first exception in a stage ends the stream, and is raised as a StreamError; "skip": that frame is
        counted as failed, and the stream goes on. What a source raises that yields nothing afterwards, as a generator
        does not, is raised then, too.
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

    __reduce__ = not_copied("threads and a source")

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
        policy = one_of("policy", policy, (None, *POLICIES))
        skips = bool(one_of("on_error", on_error, ERRORS) == "skip")
        limit = Watchdog(None if watchdog is None else real_number("watchdog", watchdog, 0.0), engine)
        most, filled = counted("depth", depth), flag("debug", debug)
        work = Work(preprocess, engine, function, most)
        opened = open_source(source)  # last: what is opened is closed by the stream
        latest = (policy or ("latest" if opened.live else "every")) == "latest"
        line = Line(work.workers, most, limit, latest=latest, skips=skips, debug=filled)
        self._crew = Crew(opened, work, line)
        self._asked: Future[Result | None] | None = None
        self._asking = safe_lock()
        self._end = weakref.finalize(self, self._crew.abandon)  # of a stream that nobody closed
        self._end.atexit = False  # its threads are daemons

    @property
    def counts(self) -> Counts:
        """How many frames were captured, shown, dropped, have failed and are pending."""
        return self._crew.line.counts

    def start(self) -> None:
        """Start the threads; iterating does so by itself. NpuLayoutError if the stream was stopped."""
        self._crew.start()

    def __iter__(self) -> Iterator[Result]:
        """Yield the results; threads share them, each gets others. Who comes late gets the end or error."""
        self.start()
        try:
            while True:
                result = self._crew.next()
                if result is None:
                    return
                yield result
        except GeneratorExit:  # the loop was left; another one may go on
            raise
        except BaseException:
            self._close()
            raise

    async def __aiter__(self) -> AsyncIterator[Result]:
        """Yield the results in an event loop, which is free meanwhile; tasks share them as threads do."""
        self.start()
        while True:
            asked = self._next_asked()
            result = await asyncio.wrap_future(asked)  # a task that is cancelled leaves it to who asks next
            with self._asking:
                mine = self._asked is asked
                if mine:
                    self._asked = None
            if result is None:
                return
            if mine:
                yield result

    def _next_asked(self) -> Future[Result | None]:
        """Return the future of the next result that nobody has, of whichever event loop asked for it."""
        with self._asking:
            if self._asked is None:
                asked: Future[Result | None] = Future()
                asked.set_running_or_notify_cancel()  # so that nobody cancels it
                asyncio.get_running_loop().run_in_executor(None, _answer, asked, self._crew)
                self._asked = asked
            return self._asked

    def stop(self) -> None:
        """Ask the stream to end; what is in a stage is finished, nothing else begins. Raises nothing."""
        self._crew.line.stop()

    def close(self) -> None:
        """Stop, wait for the threads, and release the source; the engine stays open. A second call does nothing.

        In a thread of the stream, as in its function, it is `stop`: who iterates closes it at the end. A stream that
        nobody refers to any more, its function neither, ends its threads too.
        """
        self._crew.left = True  # who iterates from now on is refused
        self._close()

    def _close(self) -> None:
        self._crew.close()
        if self._crew.finished:
            self._end.detach()  # what is called when an object is collected takes a Ctrl-C for itself

    def __enter__(self) -> Stream:
        self._crew.signals.catch()
        return self

    def __exit__(self, *error: Any) -> None:
        try:
            self.close()
        finally:
            self._crew.signals.restore()  # another thread may have closed it


def _answer(asked: Future[Result | None], crew: Crew) -> None:
    try:
        asked.set_result(crew.next())
    except BaseException as error:  # also what an interrupt raises in a thread that closes
        asked.set_exception(error)
