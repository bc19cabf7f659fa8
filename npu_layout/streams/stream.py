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
    """Lead frames through preprocessing, an engine and a function, in order, as fast as the engines are.

    One thread captures; each engine of a pool has a thread that preprocesses, infers and calls the function. Results
    come in the order of the frames, to whoever iterates over the stream, by `for`, `async for` or `next`. After the
    first frames, no frame allocates memory: it leases memory of the stream, which is returned when the next result is
    asked for. `with` and `async with` close the stream.

    Parameters
    ----------
    source
        As for `open_source`.
    preprocess
        A Preprocessor; the `batch` method of one, if the source yields lists of frames; or a function that returns
        (buffer, geometry) for a frame. The network has one input.
    engine
        An Engine, or an EnginePool.
    function
        Called in a worker's thread with each Result; what it returns becomes the result's `value`. Decode here. Arrays
        that it returns are copied if they are the stream's memory, also in tuples, lists, deques, dicts, dataclasses
        and arrays of objects, up to eight levels deep; other objects are not looked into.
    policy
        "latest": of the frames that wait only the newest stays, and work on it begins so late that its result is just
        ready when it is asked for. "every": the source waits. None: "latest" if the source is live, else "every".
    on_error
        "stop": the first exception in a stage ends the stream, and is raised as a StreamError. "skip": the frame counts
        as failed, and the stream goes on; but if a source raises and then yields nothing more, as a generator does,
        that is raised with "skip" too.
    watchdog
        Seconds that a frame may spend in preprocessing, in the engine or in the function. After them a StreamError is
        raised, or with "skip" the engine is left alone. Time in a pool's queue does not count, unless none of its
        engines answers. None: any time. A source may take as long as it likes.
    depth
        How many frames may wait or be in a stage, beyond one for each engine.
    debug
        Whether returned memory is filled with bytes of 0xA5, so that code which still uses it shows.

    Raises
    ------
    NpuLayoutError
        On an argument that is no source, engine or preprocess, or does not fit the others.
    StreamError
        While iterating, with the stage and the number of the frame that failed; its cause is the exception itself.

    Attributes
    ----------
    counts
        The Counts of frames so far.

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
        """How many frames were captured, shown and dropped, how many failed, and how many are pending."""
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

    def __next__(self) -> Result:
        """Return the next result, as a loop over the stream would get it."""
        self.start()
        try:
            result = self._crew.next()
        except BaseException:
            self._close()
            raise
        if result is None:
            raise StopIteration
        return result

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
        """Ask the stream to end: frames in a stage are finished, no other frame begins. Raises nothing."""
        self._crew.line.stop()

    def close(self) -> None:
        """Stop, wait for the threads, and release the source; the engine stays open. A second call does nothing.

        Called in one of the stream's own threads, as by its function, it only does what `stop` does; the thread that
        iterates closes the stream at the end. A stream also ends its threads when nothing refers to it any more, not
        even its function.
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

    async def __aenter__(self) -> Stream:
        return self.__enter__()

    async def __aexit__(self, *error: Any) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(None, self.close)  # it waits for the stream's threads
        finally:
            self._crew.signals.restore()


def _answer(asked: Future[Result | None], crew: Crew) -> None:
    try:
        asked.set_result(crew.next())
    except BaseException as error:  # also what an interrupt raises in a thread that closes
        asked.set_exception(error)
