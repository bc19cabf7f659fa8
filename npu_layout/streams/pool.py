"""Several engines of one network as one: a context for each core of an accelerator."""

from __future__ import annotations

import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..engines import checked_targets, specs_of
from ..errors import NpuLayoutError
from ..support import checked_call, items_of, naming, not_copied, safe_lock
from .borrowing import Borrowed
from .leases import Slot
from .processes import Process
from .running import run
from .sharing import Sharing

_PATIENCE = 2.0  # seconds for a thread that may never end


class EnginePool:
    """Runs inputs on whichever of several engines is free, in the order in which the inputs were submitted.

    All inputs wait in one queue, so that several streams share a pool fairly. A pool is an Engine itself, which has
    `submit`. In a forked process it raises NpuLayoutError, and its `close` leaves the engines to the parent.

    Parameters
    ----------
    engines
        Engines of the same network, which the pool closes; each gets a thread, which ends with the pool.

    Raises
    ------
    NpuLayoutError
        If there is no engine, if one is given twice, or if their specs differ.

    Attributes
    ----------
    input_specs, output_specs
        The specs of the first engine.
    owns_outputs
        False: if an engine owns its outputs, the pool copies them.
    """

    owns_outputs = False
    __reduce__ = not_copied("threads and engines")

    def __init__(self, engines: Iterable[Any]) -> None:
        self.engines = tuple(items_of("engines", engines, object, "engines"))
        if not self.engines:
            raise NpuLayoutError("engines: expected one engine or more, got none")
        for i, engine in enumerate(self.engines):
            if any(engine is other for other in self.engines[:i]):
                raise NpuLayoutError(
                    f"engine {i} is one of those before it: each thread needs an engine of its own, as in "
                    f"EnginePool([open_engine(model) for _ in range({len(self.engines)})])"
                )
        with naming("engines"):
            self._inputs, self._outputs = (specs_of(self.engines[0], k) for k in ("input_specs", "output_specs"))
            for i, engine in enumerate(self.engines):
                for which, wanted in (("input_specs", self._inputs), ("output_specs", self._outputs)):
                    if specs_of(engine, which) != wanted:
                        raise NpuLayoutError(
                            f"engine {i} has other {which} than engine 0; expected engines of one network"
                        )
        self._tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._since: list[float | None] = [None] * len(self.engines)  # when each began its task
        self._change = safe_lock()  # of what is submitted beside `close`
        self._closed = self._hung = False
        self._process, sharing = Process(), Sharing(len(self.engines))
        self._threads = [
            threading.Thread(
                target=_run_tasks,
                args=(self._tasks, engine, self._outputs, self._since, i, sharing),
                name=f"npu_layout engine {i}",
                daemon=True,
            )
            for i, engine in enumerate(self.engines)
        ]
        # A finalizer, because the threads of a pool that nobody closed have to end too.
        self._end = weakref.finalize(self, _end_threads, self._tasks, len(self.engines))
        self._end.atexit = False  # functions that run at exit may still infer
        for thread in self._threads:
            thread.start()

    def __len__(self) -> int:
        return len(self.engines)

    @property
    def input_specs(self) -> list[TensorSpec]:
        """The inputs of infer."""
        return list(self._inputs.values())

    @property
    def output_specs(self) -> list[TensorSpec]:
        """The buffers that infer returns."""
        return list(self._outputs.values())

    @checked_call
    def submit(self, inputs: Any, out: Mapping[str, np.ndarray] | None = None) -> Future[dict[str, np.ndarray]]:
        """Return a Future of what infer returns; inputs and `out` must stay until it is done.

        inputs: {name: buffer}, or one buffer. out: {name: array} to write outputs to, of the size and dtype of their
        specs, 1-D or of the storage shape. Raises NpuLayoutError if the pool is closed, and on an `out` that does not
        fit; what the engine raises, the Future raises.
        """
        return submitted(self, inputs, self._checked(out))

    def _checked(self, out: Mapping[str, np.ndarray] | None) -> Mapping[str, np.ndarray] | None:
        """Return `out`; NpuLayoutError if engines could not write to it, or would only to a copy of it."""
        if out is not None:
            checked_targets("EnginePool", out, self._outputs)
        return out

    def _put(self, answer: Any, inputs: Any, out: Any, begun: Callable[[], None] | None) -> None:
        """Let the next free engine answer; NpuLayoutError if the pool is closed, or another process's."""
        self._process.check("EnginePool")
        with self._change:
            if self._closed:
                raise _closed()
            self._tasks.put((answer, inputs, out, begun))

    @checked_call
    def infer(self, inputs: Any, out: Mapping[str, np.ndarray] | None = None) -> dict[str, np.ndarray]:
        """Run the network once on a free engine.

        inputs, out: as for submit. Returns {name: buffer}, of the dtype and size of the specs, 1-D or of the storage
        shape. Raises NpuLayoutError on inputs or an `out` that do not fit, and if the pool is closed; else what the
        engine raises. The exception of a signal's handler (KeyboardInterrupt) ends the wait, but an engine that has
        begun still writes `out`.
        """
        answer = _Answer()
        self._put(answer, inputs, self._checked(out), None)
        return answer.result()  # type: ignore[no-any-return]

    def map(self, inputs: Iterable[Any]) -> Iterator[dict[str, np.ndarray]]:
        """Yield the outputs of each of the inputs, in order, with as many at work as there are engines.

        The iterable may use the memory of an input again for the next one. Outputs are {name: buffer}, of the dtype and
        size of the specs, 1-D or of the storage shape. What an engine raises (NpuLayoutError if an input does not fit)
        is raised in the place of its result; what the iterable raises, after the results of all inputs before.
        """
        waiting: deque[tuple[Slot, _Answer]] = deque()
        free: deque[Slot] = deque()
        borrowed = Borrowed(len(self.engines) + 2)

        def first() -> dict[str, np.ndarray]:
            slot, answer = waiting.popleft()
            found: dict[str, np.ndarray] = answer.result()
            slot.returned(False)
            free.append(slot)
            return found

        given, broken = iter(inputs), None
        while broken is None:
            try:
                slot, answer = free.popleft() if free else Slot(), _Answer()
                self._put(answer, borrowed.taken(slot, next(given)), None, None)
                waiting.append((slot, answer))
            except Exception as error:  # StopIteration too, with which nothing is wrong
                broken = error
            if len(waiting) > len(self.engines):
                yield first()
        while waiting:
            yield first()
        if not isinstance(broken, StopIteration):
            raise broken

    def close(self) -> None:
        """Finish what was submitted, and close the engines; a second call does nothing.

        Raises what the `close` of an engine raises, after the other engines were closed. In a thread of the pool, as in
        a Future's callback, it raises NpuLayoutError: it would wait for itself. For an engine that a stream's watchdog
        gave up, it waits 2 seconds, and leaves it open if it still does not answer; inputs that no engine began then
        fail as after `close`.
        """
        if not self._process.is_this:
            return
        with self._change:
            if self._closed:
                return
            if threading.current_thread() in self._threads:
                raise NpuLayoutError(
                    "EnginePool: close waits for the pool's threads, and was called in one of them, as callbacks of a "
                    "Future are; call it in another thread"
                )
            self._closed = True
            self._end()
        with ExitStack() as closing:
            for thread, engine in zip(self._threads, self.engines):
                thread.join(_PATIENCE if self._hung else None)
                if not thread.is_alive():
                    closing.callback(getattr(engine, "close", lambda: None))
            if any([thread.is_alive() for thread in self._threads]):
                _fail_the_rest(self._tasks)
                _end_threads(self._tasks, len(self._threads))

    def __enter__(self) -> EnginePool:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def submitted(
    pool: EnginePool, inputs: Any, out: Mapping[str, np.ndarray] | None, begun: Callable[[], None] | None = None
) -> Future[dict[str, np.ndarray]]:
    """Return as `submit` does, of an `out` that was checked; `begun` is called when an engine begins."""
    future: Future[dict[str, np.ndarray]] = Future()
    pool._put(future, inputs, out, begun)
    return future


def give_up(pool: EnginePool, future: Future[Any] | None) -> None:
    """Say that an engine does not answer, so that `close` does not wait for it forever, and forget its task."""
    pool._hung = True
    if future is not None:
        future.cancel()  # if it was not begun


def answers_none(pool: EnginePool, seconds: float) -> bool:
    """Return whether every engine is in one task for more than so many seconds."""
    now = time.monotonic()
    return all([since is not None and now - since > seconds for since in pool._since])


class _Answer:
    """What `infer` and `map` wait for, as a Future of one that waits.

    A Future waits in code of Python, in which the exception of a signal's handler may come while the main thread has
    its lock: the engine's thread would wait for that lock forever. Here the wait is a call of C.
    """

    __slots__ = ("_bell", "_left")

    def __init__(self) -> None:
        self._bell: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
        self._left = False

    def set_running_or_notify_cancel(self) -> bool:
        """Return whether somebody still waits."""
        return not self._left

    def set_result(self, value: Any) -> None:
        self._bell.put((value, None))

    def set_exception(self, error: BaseException) -> None:
        self._bell.put((None, error))

    def result(self) -> Any:
        """Return the result, or raise the exception, when there is one."""
        try:
            value, error = self._bell.get()
        except BaseException:
            self._left = True
            raise
        if error is not None:
            try:
                raise error
            finally:
                del error  # the exception has this frame, which would have it
        return value


def _run_tasks(
    tasks: queue.SimpleQueue[Any],
    engine: Any,
    specs: Mapping[str, TensorSpec],
    since: list[float | None],
    i: int,
    sharing: Sharing,
) -> None:
    """Run what is submitted on engine `i`; a function, so that the thread does not keep its pool alive."""
    while True:
        task = tasks.get()
        if task is None:
            return
        future, inputs, out, begun = task
        if not future.set_running_or_notify_cancel():
            continue
        since[i] = time.monotonic()
        if begun is not None:
            begun()
        try:
            future.set_result(run(engine, inputs, specs, out, partial(sharing.check, i)))
        except BaseException as error:
            future.set_exception(error)
        since[i] = None
        del task, future, inputs, out, begun


def _closed() -> NpuLayoutError:
    return NpuLayoutError("EnginePool: the engine is closed")


def _fail_the_rest(tasks: queue.SimpleQueue[Any]) -> None:
    """Let what is left fail."""
    with suppress(queue.Empty):
        while True:
            task = tasks.get_nowait()
            if task is not None and task[0].set_running_or_notify_cancel():
                task[0].set_exception(_closed())


def _end_threads(tasks: queue.SimpleQueue[Any], threads: int) -> None:
    """Let the threads end, after what was submitted."""
    for _ in range(threads):
        tasks.put(None)
