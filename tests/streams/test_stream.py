"""Streams: results in order, each with its own frame; what fails, what is dropped, and that nothing is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import os
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.streams import EnginePool, Source, Stream, StreamError
from tests.support.streaming import PREPROCESS, Foreign, Reader, checked, drawn, frames, number
from tests.support.writing import no_room

pytestmark = pytest.mark.usefixtures("nothing_is_left")


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("debug", [False, True])
def test_every_frame_in_order(workers: int, debug: bool) -> None:
    rng = random.Random(0)
    with EnginePool([Reader(0.0005 * rng.random()) for _ in range(workers)]) as pool:
        with Stream(frames(300), PREPROCESS, pool, number, debug=debug) as stream:
            seen = []
            for result in stream:
                seen.append(checked(result))
                assert result.value == result.number and result.geometry is not None and result.dropped == 0
                assert set(result.seconds) == {"preprocess", "infer", "function", "total"}
                assert 0 <= result.seconds["infer"] <= result.seconds["total"]
        assert seen == list(range(300)) and stream.counts == (300, 300, 0, 0, 0)


def test_one_engine_is_called_by_one_thread() -> None:
    engine = Reader(0.001)
    with Stream(frames(30), PREPROCESS, engine) as stream:
        assert [checked(r) for r in stream] == list(range(30))
    assert engine.together == 1 and not engine.closed and stream.counts.shown == 30


@pytest.mark.alone
def test_engines_share_the_work() -> None:
    """Three engines that sleep: 2.8 times one."""

    def took(count: int) -> float:
        with EnginePool([Reader(0.02) for _ in range(count)]) as pool, Stream(frames(45), PREPROCESS, pool) as stream:
            start = time.perf_counter()
            assert [checked(r) for r in stream] == list(range(45))
            return time.perf_counter() - start

    assert any(took(1) / took(3) > 2.8 for _ in range(3))  # another process may delay one of them


@pytest.mark.alone
def test_latest_drops_what_waits() -> None:
    engine = Reader(0.02)
    with Stream(frames(100, 0.002), PREPROCESS, engine, policy="latest", depth=1) as stream:
        seen = [(checked(r), r.dropped, r.seconds["total"]) for r in stream]
    numbers = [n for n, _, _ in seen]
    assert numbers == sorted(set(numbers)) and 5 < len(numbers) < 40 and numbers[-1] >= 90
    counts = stream.counts
    assert counts.captured == 100 == counts.shown + counts.dropped + counts.failed and counts.pending == 0
    assert sum(dropped for _, dropped, _ in seen) == counts.dropped
    assert np.median([total for _, _, total in seen[2:]]) < 0.05


@pytest.mark.alone
def test_latest_results_are_new_also_for_who_is_slow() -> None:
    """Who takes 50 ms for each of three engines' results got them 250 ms after their capture."""
    ages = []
    with (
        EnginePool([Reader(0.01) for _ in range(3)]) as pool,
        Stream(frames(10**9, 0.005), PREPROCESS, pool, policy="latest") as stream,
    ):
        for result in stream:
            ages.append(time.monotonic() - result.captured)
            checked(result)
            time.sleep(0.05)
            if len(ages) == 20:
                break
    assert np.median(ages[5:]) < 0.13


def test_an_engine_that_contradicts_its_specs_is_named() -> None:
    for answer, words in (
        ({"number": np.zeros(3, np.int32)}, "engine Reader: output number: "),
        ({"other": np.zeros(4, np.int32)}, "engine Reader: returned the outputs other, expected number"),
    ):
        stream = Stream(frames(3), PREPROCESS, Reader(fault=lambda n, a=answer: a))
        with stream, pytest.raises(StreamError, match=f"frame 0: infer: {words}"):
            list(stream)


class Obstinate(Reader):
    """Returns memory of its own every second time, whatever `out` is."""

    def infer(self, inputs: Any, out: Any = None) -> Any:
        answer = super().infer(inputs, None)
        return answer if out is None or int(next(iter(answer.values())).flat[0]) % 2 else super().infer(inputs, out)


def test_outputs_belong_to_the_frame_also_of_an_engine_that_ignores_out() -> None:
    with Stream(frames(40), PREPROCESS, Obstinate()) as stream:
        assert [checked(r) for r in stream] == list(range(40))
    with EnginePool([Obstinate(), Obstinate()]) as pool, Stream(frames(40), PREPROCESS, pool) as stream:
        assert [checked(r) for r in stream] == list(range(40))


@pytest.mark.parametrize("as_given", [lambda x: x, Foreign, memoryview], ids=["array", "foreign", "memoryview"])
def test_frames_in_memory_that_the_source_uses_again(as_given: Any) -> None:
    memory = drawn(0)
    given = as_given(memory)

    def again() -> Iterator[Any]:
        for n in range(30):
            memory[...] = drawn(n)
            yield given

    with Stream(again(), PREPROCESS, Reader(0.002)) as stream:
        assert [checked(r) for r in stream] == list(range(30))


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_what_is_no_exception_ends_the_stream(error: type[BaseException], on_error: str) -> None:
    def raises(result: Any) -> None:
        if result.number == 5:
            raise error("enough")

    with Stream(frames(50), PREPROCESS, Reader(), raises, on_error=on_error) as stream:
        with pytest.raises(StreamError, match=f"frame 5: function: {error.__name__}: enough") as caught:
            list(stream)
        assert type(caught.value.__cause__) is error

    def source() -> Iterator[Any]:
        yield from frames(3)
        raise error("enough")

    capture = f"frame 3: capture: {error.__name__}: enough"
    with Stream(source(), PREPROCESS, Reader(), on_error=on_error) as stream, pytest.raises(StreamError, match=capture):
        list(stream)


class Cable:
    """Frames of a camera whose cable is loose: an exception in the place of some frames."""

    def __init__(self, faults: dict[int, Exception], count: int) -> None:
        self.faults, self.count, self.number = faults, count, -1

    def __iter__(self) -> Cable:
        return self

    def __next__(self) -> np.ndarray:
        self.number += 1
        if self.number == self.count:
            raise StopIteration
        if self.number in self.faults:
            raise self.faults[self.number]
        return drawn(self.number)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_source_that_raises_and_goes_on_is_skipped_and_one_that_ends_so_is_named(workers: int) -> None:
    def broken() -> Iterator[np.ndarray]:
        yield from (drawn(n) for n in range(5))
        raise OSError("unplugged")

    lost = OSError("lost")
    for source, shown, last in (
        (broken(), [0, 1, 2, 3, 4], "frame 5: capture: OSError: unplugged"),
        (Cable({2: lost, 4: lost}, 7), [0, 1, 3, 5, 6], ""),
        (Cable({2: lost, 6: lost}, 7), [0, 1, 3, 4, 5], "frame 6: capture: OSError: lost"),
        (iter([drawn(0), lost]), [0], ""),  # in the place of a frame
    ):
        found: list[int] = []
        engine = EnginePool([Reader() for _ in range(workers)])
        with engine, Stream(source, PREPROCESS, engine, on_error="skip") as stream:
            expected = pytest.raises(StreamError, match=last) if last else contextlib.nullcontext()
            with expected:
                found.extend(result.number for result in stream)
            if last:  # whoever asks gets it
                with pytest.raises(nl.NpuLayoutError):
                    next(iter(stream))
        counts = stream.counts
        assert found == shown and counts.captured == counts.shown + counts.failed and not counts.pending


def test_frames_that_fail_wait_as_others_do() -> None:
    """A dead camera does not fill the memory while nobody asks for results."""

    def fails() -> Iterator[Any]:
        while True:
            yield nl.NpuLayoutError("nothing")

    for policy in ("every", "latest"):
        with Stream(fails(), PREPROCESS, Reader(), on_error="skip", policy=policy) as stream:
            stream.start()
            time.sleep(0.1)
            assert stream.counts.captured <= 6


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that hang are waited for a shorter time: 0.3 s for 2."""
    for room in ("crew", "pool"):
        monkeypatch.setattr(f"npu_layout.streams.{room}._PATIENCE", 0.3)


@pytest.mark.alone
@pytest.mark.usefixtures("impatient")
def test_a_pool_closes_beside_an_engine_that_hangs() -> None:
    release = threading.Event()
    start = time.monotonic()
    engines = [Reader(0.001, lambda n: release.wait(30) if n == 4 else None) for _ in range(2)]
    given_up = pytest.raises(StreamError, match="frame 4: infer: no answer")
    with EnginePool(engines) as pool, Stream(frames(20), PREPROCESS, pool, watchdog=0.2) as stream, given_up:
        list(stream)
    assert time.monotonic() - start < 20
    assert sorted(engine.closed for engine in engines) == [False, True]
    release.set()


def test_a_result_that_was_awaited_in_vain_is_not_lost() -> None:
    """Who asks next gets it; no number is missing."""

    async def numbers() -> list[int]:
        found: list[int] = []
        with Stream(frames(20), PREPROCESS, Reader(0.02)) as stream:
            while len(found) < 20:

                async def some() -> None:
                    async for result in stream:
                        found.append(checked(result))

                try:
                    await asyncio.wait_for(some(), 0.03)
                except asyncio.TimeoutError:
                    continue
        return found

    assert asyncio.run(numbers()) == list(range(20))


@pytest.mark.alone
@pytest.mark.usefixtures("impatient")
def test_an_engine_that_hangs() -> None:
    release = threading.Event()

    def hangs(n: int) -> None:
        if n == 4:
            release.wait(20)

    with Stream(frames(50), PREPROCESS, Reader(fault=hangs), watchdog=0.2) as stream:
        start = time.monotonic()
        with pytest.raises(StreamError, match=r"frame 4: infer: no answer for 0.2 s \(watchdog\)"):
            list(stream)
        assert 0.15 < time.monotonic() - start < 4
        release.set()
    release.clear()
    pool = EnginePool([Reader(0.001, hangs) for _ in range(2)])
    with Stream(frames(50), PREPROCESS, pool, watchdog=0.3, on_error="skip") as stream:
        assert [checked(r) for r in stream] == [n for n in range(50) if n != 4]
        release.set()
    assert stream.counts == (50, 49, 0, 1, 0)
    pool.close()


def test_a_slow_stage_slows_only() -> None:
    with Stream(frames(40), PREPROCESS, Reader(), lambda r: time.sleep(0.01 * (r.number == 5))) as stream:
        assert [checked(r) for r in stream] == list(range(40))


def test_a_clock_that_jumps_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The day's clock goes back and forth by an hour at every look; the watchdog and the times do not see it."""
    clock, jumps = time.time, itertools.cycle([3600.0, -3600.0])
    monkeypatch.setattr(time, "time", lambda: clock() + next(jumps))
    with Stream(frames(40), PREPROCESS, Reader(0.002), number, watchdog=30.0) as stream:
        results = [(checked(r), r.captured, dict(r.seconds)) for r in stream]
    assert [n for n, _, _ in results] == list(range(40)) and stream.counts == (40, 40, 0, 0, 0)
    captured = [at for _, at, _ in results]
    assert captured == sorted(captured) and captured[-1] - captured[0] < 60
    assert all(0 <= took <= seconds["total"] < 60 for _, _, seconds in results for took in seconds.values())


def test_frames_of_other_sizes_and_kinds_in_mid_stream() -> None:
    sizes = [(16, 24), (16, 24), (40, 10), (8, 8), (16, 24)]

    def source() -> Iterator[Any]:
        for n in range(30):
            yield drawn(n, sizes[n % 5]) if n != 17 else np.zeros((3, 5), np.float64)

    with Stream(source(), PREPROCESS, Reader(), on_error="skip") as stream:
        for result in stream:
            checked(result)
            assert result.frame.shape[:2] == sizes[result.number % 5]
    assert stream.counts == (30, 29, 0, 1, 0)


def test_stop_and_leaving_early() -> None:
    ended = []

    def endless() -> Iterator[np.ndarray]:
        try:
            n = 0
            while True:
                yield drawn(n)
                n += 1
        finally:
            ended.append(True)

    with Stream(endless(), PREPROCESS, Reader(0.001)) as stream:
        for result in stream:
            if result.number == 20:
                break
        for result in stream:  # goes on
            assert checked(result) == 21
            stream.stop()
            break
        assert all(checked(r) > 21 for r in stream)
    counts = stream.counts
    assert counts.captured == counts.shown + counts.dropped and counts.pending == 0 and counts.shown < 60
    gc.collect()
    assert ended == [True]
    stream.close()


def test_close_in_a_thread_of_the_stream_stops_it() -> None:
    def closes(result: Any) -> None:
        if result.number == 3:
            stream.close()

    with Stream(frames(100), PREPROCESS, Reader(), closes) as stream:
        seen = [checked(r) for r in stream]
    assert seen == list(range(len(seen))) and 4 <= len(seen) < 9 and stream.counts.failed == stream.counts.pending == 0

    def source() -> Iterator[np.ndarray]:
        for n in range(100):
            yield drawn(n)
            if n == 3:
                stream.close()

    with Stream(source(), PREPROCESS, Reader()) as stream:
        assert len(list(stream)) <= 5
        assert stream.counts.failed == stream.counts.pending == 0


@pytest.mark.alone
def test_several_cameras_share_a_pool_fairly() -> None:
    with EnginePool([Reader(0.003), Reader(0.003)]) as pool:
        streams = [Stream(frames(10_000), PREPROCESS, pool) for _ in range(3)]
        shown = [0, 0, 0]

        def watch(k: int) -> None:
            for result in streams[k]:
                checked(result)
                shown[k] += 1

        threads = [threading.Thread(target=watch, args=(k,)) for k in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(1.0)
        for stream in streams:
            stream.stop()
        for thread in threads:
            thread.join()
        assert min(shown) > 0.6 * max(shown) > 20


@pytest.mark.alone
def test_in_an_event_loop() -> None:
    async def watch() -> tuple[list[int], int]:
        ticks, seen = 0, []

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.001)
                ticks += 1

        beside = asyncio.create_task(tick())
        with Stream(frames(40), PREPROCESS, Reader(0.002)) as stream:
            async for result in stream:
                seen.append(checked(result))
        beside.cancel()
        return seen, ticks

    seen, ticks = asyncio.run(watch())
    assert seen == list(range(40)) and ticks > 20


def test_async_with_closes_while_the_loop_is_free() -> None:
    engine = Reader(0.1)

    async def watch() -> tuple[int, int]:
        ticks, first = 0, -1

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.001)
                ticks += 1

        async with Stream(frames(10), PREPROCESS, engine) as stream:
            async for result in stream:
                first = checked(result)
                break
            beside, ticks = asyncio.create_task(tick()), 0
            await asyncio.sleep(0)
        beside.cancel()
        with pytest.raises(nl.NpuLayoutError, match="was stopped"):
            stream.start()
        return first, ticks

    first, ticks = asyncio.run(watch())
    assert first == 0 and ticks > 5  # the frame in the engine was waited for


def test_next_is_what_a_loop_gets() -> None:
    with Stream(frames(6), PREPROCESS, Reader()) as stream:
        assert checked(next(stream)) == 0
        kept = next(stream)
        assert [checked(result) for result in stream] == [2, 3, 4, 5]
        with pytest.raises(nl.NpuLayoutError, match="was returned"):
            kept.outputs  # noqa: B018
        assert next(stream, None) is None
    fails = Reader(0, lambda n: 1 / 0 if n == 1 else None)
    with Stream(frames(6), PREPROCESS, fails) as stream:
        assert checked(next(stream)) == 0
        for _ in range(2):
            with pytest.raises(StreamError, match="frame 1: infer"):
                next(stream)


def test_tasks_that_iterate_at_the_same_time_share_the_results() -> None:
    async def numbers(fails: int) -> tuple[list[int], list[Any]]:
        seen: list[int] = []

        def function(result: Any) -> None:
            if result.number == fails:
                raise ValueError("x")

        async def watch() -> None:
            async for result in stream:
                seen.append(checked(result))
                await asyncio.sleep(0.001)

        with Stream(frames(30), PREPROCESS, Reader(0.002), function) as stream:
            answers = await asyncio.gather(*(watch() for _ in range(3)), return_exceptions=True)
        return seen, [type(answer) for answer in answers if answer is not None]

    assert asyncio.run(numbers(-1)) == (list(range(30)), [])
    assert asyncio.run(numbers(20)) == (list(range(20)), [StreamError] * 3)


@pytest.mark.parametrize("count", [0, 1, 4])
def test_who_begins_to_iterate_after_the_end_gets_it_too(count: int) -> None:
    """Before, of several threads those that began late were told that the stream was stopped."""

    async def results() -> list[Any]:
        return [result async for result in stream]

    seen: list[int] = []
    raised: list[BaseException] = []

    def watch() -> None:
        try:
            seen.extend(checked(result) for result in stream)
        except BaseException as error:
            raised.append(error)

    with Stream(frames(count), PREPROCESS, Reader()) as stream:
        for _ in range(3):  # each begins when the one before it is at the end
            thread = threading.Thread(target=watch)
            thread.start()
            thread.join(10)
        assert list(stream) == asyncio.run(results()) == []
    assert (seen, raised) == (list(range(count)), []) and stream.counts == (count, count, 0, 0, 0)
    with pytest.raises(nl.NpuLayoutError, match="it was stopped; make a new one"):
        list(stream)  # closed by its caller


def test_an_error_is_raised_in_each_thread_that_iterates() -> None:
    def function(result: Any) -> None:
        if result.number == 20:
            raise ValueError("x")

    seen: list[int] = []
    raised: list[Any] = []

    def watch() -> None:
        try:
            for result in stream:
                seen.append(result.number)
                time.sleep(0.001)
        except StreamError as error:
            raised.append(error)

    with Stream(frames(30), PREPROCESS, Reader(0.001), function) as stream:
        threads = [threading.Thread(target=watch) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(seen) == list(range(20)) and len({id(error) for error in raised}) == 3
    assert {str(error) for error in raised} == {"stream: frame 20: function: ValueError: x"}
    assert all(isinstance(error.__cause__, ValueError) for error in raised)


def test_an_event_loop_goes_on_with_what_another_one_asked_for() -> None:
    seen: list[int] = []

    async def some(seconds: float) -> bool:
        async def watch() -> None:
            async for result in stream:
                seen.append(checked(result))

        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(watch(), seconds)
            return True
        return False

    with Stream(frames(30), PREPROCESS, Reader(0.01)) as stream:
        assert not asyncio.run(some(0.035))
        assert not asyncio.run(some(0.025))
        assert asyncio.run(some(30.0))
    assert seen == list(range(30)) and stream.counts.shown == 30


def test_event_loops_of_several_threads_share_the_results() -> None:
    seen: list[int] = []

    async def watch() -> None:
        async for result in stream:
            seen.append(result.number)

    with Stream(frames(300), PREPROCESS, Reader()) as stream:
        threads = [threading.Thread(target=lambda: asyncio.run(watch())) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(seen) == list(range(300)) and stream.counts.shown == 300


@pytest.mark.alone
def test_what_was_dropped_is_counted_also_beside_frames_that_fail() -> None:
    def function(result: Any) -> None:
        time.sleep(0.01)
        if result.number % 2 == 0:
            raise ValueError("even")

    with Stream(frames(60, 0.002), PREPROCESS, Reader(), function, policy="latest", on_error="skip") as stream:
        dropped = [(result.dropped, result.number) for result in stream]
    counts = stream.counts
    assert counts.failed > 0 and counts.dropped > 10 and dropped[-1][1] == 59
    assert sum(count for count, _ in dropped) == counts.dropped


def soak(count: int, seed: int, policy: str = "every") -> None:
    """Random faults in every stage: no result is ever shown with another frame, and every frame is accounted for."""
    rng = random.Random(seed)

    def source() -> Iterator[Any]:
        for n in range(count):
            fault = rng.random()
            if fault < 0.01:
                yield ValueError("corrupt")
            elif fault < 0.02:
                yield np.zeros((4, 4), np.int64)
            else:
                yield drawn(n, rng.choice([(16, 24), (8, 8), (20, 30)]))

    def fault(n: int) -> Any:
        chance = (n * 2654435761 % 4294967296) / 4294967296
        if chance < 0.01:
            raise OSError("the bus")
        if chance < 0.02:
            return {"number": np.zeros(3, np.int32)}
        if chance < 0.021:
            time.sleep(0.01)
        return None

    def function(result: Any) -> int:
        if result.number % 97 == 5:
            raise KeyError("yours")
        return number(result)

    pool = EnginePool([Reader(0, fault) for _ in range(3)])
    with pool, Stream(source(), PREPROCESS, pool, function, on_error="skip", debug=True, policy=policy) as stream:
        last = -1
        for result in stream:
            assert checked(result) == result.value > last
            last = result.number
    counts = stream.counts
    assert counts.captured == count == counts.shown + counts.dropped + counts.failed and counts.pending == 0
    assert 0.03 * count < counts.failed + counts.dropped and (counts.dropped > 0) == (policy == "latest")
    assert policy == "latest" or counts.failed < 0.08 * count


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.alone
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux")
def test_soak() -> None:
    soak(500, 0)
    gc.collect()
    memory, descriptors = resident(), len(os.listdir("/proc/self/fd"))
    soak(3000, 1)
    soak(3000, 3, "latest")
    gc.collect()
    assert resident() - memory < 5 << 20 and len(os.listdir("/proc/self/fd")) == descriptors


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux")
def test_long_soak() -> None:
    soak(500, 0)
    gc.collect()
    memory = resident()
    soak(100_000, 2)
    soak(100_000, 4, "latest")
    gc.collect()
    assert resident() - memory < 5 << 20


@pytest.mark.alone
def test_a_disk_that_is_full_while_it_is_recorded(tmp_path: Path) -> None:
    """Frames that cannot be written fail; the others are recorded, and the stream goes on when there is room again."""
    with nl.Recorder(Reader(), tmp_path / "r") as recorder:
        with Stream(frames(30), PREPROCESS, recorder, on_error="skip", depth=1) as stream:
            results = iter(stream)
            seen = [checked(next(results)) for _ in range(5)]
            with no_room(16):
                time.sleep(0.2)  # what is on its way meets it
            seen += [checked(result) for result in results]
        counts = stream.counts
    assert counts.failed > 0 and counts.shown == len(seen) == 30 - counts.failed
    assert len(nl.Recording.load(tmp_path / "r").frames) == counts.shown


def test_bad_arguments() -> None:
    good: tuple[Any, ...] = ([], PREPROCESS, Reader())
    for change, words in (
        (dict(source=None), "source: expected a camera's number"),
        (dict(source=True), "source: expected a camera's number"),
        (dict(source="nowhere.mp4"), "nowhere.mp4: no such file or folder"),
        (dict(preprocess=3), "preprocess: expected a Preprocessor or a function"),
        (dict(engine=object()), "engine object: expected an object with infer and output_specs"),
        (dict(function=3), "function: expected a function or None"),
        (dict(policy="newest"), "policy: expected one of None, latest, every"),
        (dict(on_error="ignore"), "on_error: expected one of stop, skip|on_error: expected stop or skip"),
        (dict(watchdog=0), "watchdog: expected a number above 0"),
        (dict(depth=0), "depth: expected a whole number of 1 or more"),
    ):
        given = dict(zip(("source", "preprocess", "engine"), good))
        with pytest.raises(nl.NpuLayoutError, match=words):
            Stream(**{**given, **change})  # type: ignore[arg-type]
    assert list(Stream(Source([]), PREPROCESS, Reader())) == []
