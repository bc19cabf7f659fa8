"""Pools of engines: results of their own inputs, in order, and errors where they belong."""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.streams import EnginePool
from npu_layout.streams.pool import answers_none, give_up
from npu_layout.testing import check_engine
from tests.support.interrupts import LIMIT, ends, interrupted
from tests.support.streaming import INPUT, Reader, drawn


def inputs(n: int) -> np.ndarray:
    return drawn(n, (8, 8)).reshape(INPUT.storage_shape)


def test_results_in_order() -> None:
    rng = random.Random(1)
    engines = [Reader(0.001 * rng.random()) for _ in range(3)]
    with EnginePool(engines) as pool:
        assert [int(y["number"][0]) for y in pool.map(inputs(n) for n in range(100))] == list(range(100))
        futures = [pool.submit(inputs(n)) for n in range(30)]
        assert [int(f.result()["number"][3]) for f in futures] == list(range(30))
        assert len(pool) == 3 and [spec.name for spec in pool.output_specs] == ["number"]
    assert all(engine.closed and engine.together == 1 and engine.runs > 5 for engine in engines)
    pool.close()
    with pytest.raises(nl.NpuLayoutError, match="the engine is closed"):
        pool.submit(inputs(0))


def test_an_engine_that_cannot_be_closed_leaves_no_other_open() -> None:
    class Stuck(Reader):
        def close(self) -> None:
            raise OSError("the device is gone")

    last = Reader()
    pool = EnginePool([Reader(), Stuck(), last])
    with pytest.raises(OSError, match="the device is gone"):
        pool.close()
    assert pool.engines[0].closed and last.closed and not any(thread.is_alive() for thread in pool._threads)
    pool.close()


def test_a_callback_that_closes_the_pool_is_refused_and_leaves_it_open() -> None:
    """Before, the pool was closed halfway: nobody closed the engines any more."""
    errors: list[BaseException] = []

    def close(done: object) -> None:
        try:
            pool.close()
        except nl.NpuLayoutError as error:
            errors.append(error)

    with EnginePool([Reader(0.05)]) as pool:
        future = pool.submit(inputs(3))
        future.add_done_callback(close)
        assert pool.infer(inputs(4))["number"][0] == 4  # behind the callback
        assert len(errors) == 1 and "call it in another thread" in str(errors[0])
    assert pool.engines[0].closed


def test_it_is_an_engine() -> None:
    assert len(check_engine(lambda: EnginePool([Reader(), Reader()]))) == 9


@pytest.mark.parametrize("takes_out", [False, True])
def test_outputs_into_given_memory(takes_out: bool) -> None:
    """Of an engine that has no `out` too; what could not be written, or only as a copy, is refused before any run."""

    class Sides:
        output_specs = (nl.TensorSpec((2, 3), "NC", name="a"), nl.TensorSpec((4,), "N", "int8", name="b"))
        owns_outputs = False
        runs = 0

        def infer(self, given: object, **written: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            self.runs += 1
            out = written.get("out") or {"a": np.zeros(6, np.float32), "b": np.zeros(4, np.int8)}
            out["a"].reshape(-1)[:], out["b"][:] = np.arange(6), 7
            return out

    class Plain(Sides):
        def infer(self, given: object) -> dict[str, np.ndarray]:  # type: ignore[override]
            return super().infer(given)

    engine = Sides() if takes_out else Plain()
    out = {"a": np.zeros((2, 3), np.float32), "b": np.zeros(4, np.int8)}
    fixed = np.frombuffer(bytes(24), np.float32)
    memory = np.zeros(6, np.float32)
    with EnginePool([engine]) as pool:
        for wrong, words in (
            ({**out, "a": np.zeros((2, 3), np.float32, order="F")}, r"out: a: .* is not C-contiguous"),
            ({**out, "a": np.zeros(12, np.float32)[::2]}, r"out: a: .* is not C-contiguous"),
            ({**out, "a": np.zeros((3, 2), np.float32)}, r"out: a: .* stored as \(2, 3\)"),
            ({**out, "a": np.zeros(6)}, "out: a: .* expects float32"),
            ({**out, "b": np.zeros(4, np.int16)}, "out: b: .* expects int8"),
            ({**out, "a": np.zeros(1, np.float32)}, "out: a: .* needs 24"),
            ({**out, "a": fixed}, "out: a: expected a contiguous array that can be written"),
            ({**out, "a": [0.0] * 6}, "out: a: "),
            ({**out, "c": out["b"]}, "out: expected arrays for a, b, got a, b, c"),
            ({"a": memory, "b": memory.view(np.int8)[:4]}, "out: a and b overlap"),
            ({"a": out["a"]}, "out: expected arrays for a, b, got a"),
            (3, "out: expected {name: array} for a, b, got int"),
        ):
            for call in (pool.infer, pool.submit):
                with pytest.raises(nl.NpuLayoutError, match=f"EnginePool: {words}"):
                    call(inputs(0), out=wrong)  # type: ignore[arg-type]
        assert not engine.runs and not memory.any() and not out["a"].any()
        found = pool.infer(inputs(0), out=out)
        assert all(found[name] is out[name] for name in out)
        assert out["a"].tolist() == [[0, 1, 2], [3, 4, 5]] and out["b"].tolist() == [7] * 4


def test_errors_are_where_they_belong() -> None:
    def fault(n: int) -> None:
        if n == 3:
            raise OSError("the bus")

    with EnginePool([Reader(fault=fault), Reader(fault=fault)]) as pool:
        futures = [pool.submit(inputs(n)) for n in range(6)]
        with pytest.raises(OSError, match="the bus"):
            futures[3].result()
        assert [int(f.result()["number"][0]) for n, f in enumerate(futures) if n != 3] == [0, 1, 2, 4, 5]


@pytest.mark.parametrize("way", ["infer", "map"])
def test_an_interrupt_anywhere_leaves_a_pool_that_answers(way: str) -> None:
    """KeyboardInterrupt in threading.Condition's own code could leave its lock taken, and an engine waiting for it."""
    with EnginePool([Reader(0.001)]) as pool:
        acts = {"infer": lambda: pool.infer(inputs(1)), "map": lambda: list(pool.map([inputs(1), inputs(2)]))}
        n = 1
        while interrupted(acts[way], n, depth=4):
            assert ends(lambda n=n: pool.infer(inputs(n % 100))), n  # type: ignore[misc]
            assert int(pool.infer(inputs(n % 100))["number"][0]) == n % 100
            n += 1
        assert n > 5
    assert ends(pool.close)


def test_an_interrupt_ends_the_wait_and_takes_back_what_no_engine_began() -> None:
    begun: list[int] = []
    may = threading.Event()

    def wait(n: int) -> None:
        begun.append(n)
        may.wait(LIMIT)

    with EnginePool([Reader(fault=wait)]) as pool:
        first = pool.submit(inputs(0))
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            pool.infer(inputs(1))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        may.set()
        assert int(first.result()["number"][0]) == 0
    assert begun == [0]


def test_what_infer_raises_is_not_kept() -> None:
    """The engine's exception, and with it the frames and arrays of its traceback, ends with who caught it."""

    class Missing(Exception):
        pass

    def fault(n: int) -> None:
        raise Missing

    gc.collect()
    gc.disable()
    try:
        with EnginePool([Reader(fault=fault)]) as pool:
            with pytest.raises(Missing) as raised:
                pool.infer(inputs(0))
            kept = weakref.ref(raised.value)
            del raised
            pool.submit(inputs(0)).exception()  # the engine's thread lets go of the task before
            assert kept() is None
    finally:
        gc.enable()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_is_refused_and_closes_nothing() -> None:
    """It waited forever: the threads of the engines are the parent's alone."""
    with EnginePool([Reader()]) as pool:
        child = os.fork()
        if not child:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(5)
            refused = 0
            for act in (pool.infer, pool.submit, lambda x: next(pool.map([x]))):
                try:
                    act(inputs(0))
                except nl.NpuLayoutError as error:
                    refused += "EnginePool: it was made in process" in str(error)
            pool.close()
            os._exit(0 if refused == 3 and not pool.engines[0].closed else 1)
        _, status = os.waitpid(child, 0)
        assert status == 0
        assert int(pool.infer(inputs(7))["number"][0]) == 7


def test_outputs_that_engines_own_are_copied() -> None:
    class Owner(Reader):
        owns_outputs = True
        memory = np.zeros(4, np.int32)

        def infer(self, given: object, out: object = None) -> dict[str, np.ndarray]:
            self.memory[:] = super().infer(given)["number"]
            return {"number": self.memory}

    with EnginePool([Owner()]) as pool:
        first = pool.infer(inputs(1))["number"]
        assert pool.infer(inputs(2))["number"].tolist() == [2] * 4 and first.tolist() == [1] * 4


def test_the_threads_of_a_pool_that_nobody_closed_end_after_its_work() -> None:
    pool = EnginePool([Reader(0.01), Reader(0.01)])
    threads = [thread for thread in threading.enumerate() if thread in pool._threads]
    futures = [pool.submit(inputs(n)) for n in range(6)]
    del pool
    gc.collect()
    assert len(threads) == 2
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    assert [int(f.result(0)["number"][0]) for f in futures] == list(range(6))


def test_a_function_that_runs_at_exit_may_infer() -> None:
    code = """
import atexit
held = []
atexit.register(lambda: print(int(held[0].infer(inputs(7))["number"][0])))
from npu_layout.streams import EnginePool, Stream
from tests.streams.test_pool import inputs
from tests.support.streaming import Reader
held.append(EnginePool([Reader()]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "7\n" and done.returncode == 0, done.stderr


def test_what_is_submitted_beside_close_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread may be anywhere in submit when another one closes: here, where it puts its task."""
    pool = EnginePool([Reader()])
    arrived, closes = threading.Event(), threading.Thread(target=pool.close)

    class Queue:
        """The pool's queue, which lets `close` begin before a task is in it."""

        def __init__(self, inner: Any) -> None:
            self.put_task, self.get = inner.put, inner.get

        def put(self, task: Any) -> None:
            if task is not None:
                arrived.set()
                closes.start()
                closes.join(0.5)  # it waits for what is submitted
            self.put_task(task)

    monkeypatch.setattr(pool, "_tasks", Queue(pool._tasks))
    future = pool.submit(inputs(4))
    assert arrived.is_set() and future.result(10)["number"].tolist() == [4] * 4
    closes.join(10)
    with pytest.raises(nl.NpuLayoutError, match="the engine is closed"):
        pool.submit(inputs(0))


def test_many_submit_beside_close() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            pool, answers = EnginePool([Reader()]), []

            def submits(pool: Any = pool, answers: Any = answers) -> None:
                try:
                    while True:
                        pool.submit(inputs(1)).result(20)
                except nl.NpuLayoutError as error:
                    answers.append(str(error))

            threads = [threading.Thread(target=submits) for _ in range(3)]
            for thread in threads:
                thread.start()
            time.sleep(0.001)
            pool.close()
            for thread in threads:
                thread.join(30)
            assert answers == ["EnginePool: the engine is closed"] * 3
    finally:
        sys.setswitchinterval(interval)


def test_what_no_engine_began_fails_at_close(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npu_layout.streams.pool._PATIENCE", 0.1)
    release = threading.Event()
    pool = EnginePool([Reader(fault=lambda n: release.wait(30) and None)])
    futures = [pool.submit(inputs(n)) for n in range(3)]
    give_up(pool, None)
    pool.close()
    for future in futures[1:]:
        with pytest.raises(nl.NpuLayoutError, match="the engine is closed"):
            future.result(10)
    release.set()
    assert futures[0].result(10)["number"].tolist() == [0] * 4
    for thread in pool._threads:
        thread.join(10)
        assert not thread.is_alive()


def test_whether_any_engine_answers() -> None:
    release = threading.Event()
    with EnginePool([Reader(fault=lambda n: release.wait(30) and None) for _ in range(2)]) as pool:
        assert not answers_none(pool, 0.0)
        futures = [pool.submit(inputs(n)) for n in range(1)]
        time.sleep(0.05)
        assert not answers_none(pool, 0.01)  # one is free
        futures += [pool.submit(inputs(n)) for n in range(2)]
        time.sleep(0.05)
        assert answers_none(pool, 0.01) and not answers_none(pool, 60)
        give_up(pool, futures[2])
        release.set()
        assert futures[2].cancelled() and [f.result(10)["number"][0] for f in futures[:2]] == [0, 0]
        assert not answers_none(pool, 0.0)


@pytest.mark.alone
def test_three_engines_are_as_fast_as_three() -> None:
    def took(count: int) -> float:
        with EnginePool([Reader(0.02) for _ in range(count)]) as pool:
            start = time.perf_counter()
            assert len(list(pool.map(inputs(n) for n in range(30)))) == 30
            return time.perf_counter() - start

    assert any(took(1) / took(3) > 2.8 for _ in range(3))  # another process may delay one of them


def test_bad_pools() -> None:
    with pytest.raises(nl.NpuLayoutError, match="engines: expected one engine or more, got none"):
        EnginePool([])
    with pytest.raises(nl.NpuLayoutError, match="engines: engine object"):
        EnginePool([object()])
    one = Reader()
    with pytest.raises(nl.NpuLayoutError, match="engine 2 is one of those before it: each thread needs an engine of"):
        EnginePool([Reader(), one, one])
    with pytest.raises(nl.NpuLayoutError, match=r"engines: .*expected an engine, got the class Reader; call it"):
        EnginePool([Reader])
    other = Reader()
    other.output_specs = (nl.TensorSpec((1, 5), "NC", "int32", name="number"),)  # type: ignore[assignment]
    with pytest.raises(nl.NpuLayoutError, match="engine 1 has other output_specs than engine 0"):
        EnginePool([Reader(), other])
