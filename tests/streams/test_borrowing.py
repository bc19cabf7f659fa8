"""Memory that a function or an iterable hands over again and again: every frame has its own pixels in the end."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.streams import EnginePool, Stream
from npu_layout.streams.borrowing import Borrowed
from npu_layout.streams.leases import Slot
from npu_layout.streams.stages import Job
from tests.support.streaming import INPUT, Reader, checked, drawn, frames

pytestmark = pytest.mark.usefixtures("nothing_is_left")
SHAPE = INPUT.storage_shape
Made = tuple[np.ndarray, None]


def written(buffer: np.ndarray, frame: np.ndarray) -> Made:
    """Write a frame's colour in two halves, between which other threads run."""
    half = buffer.reshape(-1, 3)
    half[:32] = frame[0, 0]
    if random.random() < 0.1:
        time.sleep(0.0002)
    half[32:] = frame[0, 0]
    return buffer, None


def same() -> Callable[[np.ndarray], Made]:
    buffer = np.zeros(SHAPE, np.uint8)
    return lambda frame: written(buffer, frame)


def views() -> Callable[[np.ndarray], Made]:
    memory = np.zeros((2, *SHAPE), np.uint8)
    return lambda frame: written(memory[frame[0, 0, 0] % 2], frame)


def one_each() -> Callable[[np.ndarray], Made]:
    local = threading.local()
    return lambda frame: written(local.__dict__.setdefault("buffer", np.zeros(SHAPE, np.uint8)), frame)


def ring() -> Callable[[np.ndarray], Made]:
    buffers = [np.zeros(SHAPE, np.uint8) for _ in range(5)]
    return lambda frame: written(buffers[int(frame[0, 0, 0]) % 5], frame)


def foreign() -> Callable[[np.ndarray], Any]:
    memory = bytearray(192)
    return lambda frame: (memoryview(written(np.frombuffer(memory, np.uint8).reshape(SHAPE), frame)[0]), None)


def fresh() -> Callable[[np.ndarray], Made]:
    return lambda frame: written(np.zeros(SHAPE, np.uint8), frame)


@pytest.mark.parametrize("made", [same, views, one_each, ring, foreign, fresh])
@pytest.mark.parametrize("engines", [1, 3])
def test_what_a_function_returns_is_of_its_own_frame(made: Callable[[], Any], engines: int) -> None:
    """Before, three workers that share a buffer mixed almost every frame, and result.inputs had a later one's."""
    pool = EnginePool([Reader(0.0003 * n) for n in range(engines)])
    with pool, Stream(frames(300), made(), pool, checked) as stream:
        for n, result in enumerate(stream):
            if n > 100 and n % 50 == 0:
                time.sleep(0.02)  # so that as many frames are on their way as may be
            assert checked(result) == result.value == n
    assert n == 299


@pytest.mark.parametrize("named", [False, True])
def test_a_pool_maps_an_iterable_that_uses_its_memory_again(named: bool) -> None:
    """Before, about half of the results were those of later inputs."""

    def inputs() -> Iterator[Any]:
        memory = np.zeros(SHAPE, np.uint8)
        for n in range(400):
            memory[...] = drawn(n, (8, 8))
            yield {"image": memory} if named else memory

    with EnginePool([Reader(0.0003 * n) for n in range(3)]) as pool:
        assert [int(found["number"][0]) for found in pool.map(inputs())] == list(range(400))


def test_a_pool_loses_no_result_before_what_an_iterable_raises() -> None:
    """Before, the results of as many inputs as there are engines were lost."""

    def inputs(count: int) -> Iterator[np.ndarray]:
        for n in range(count):
            yield drawn(n, (8, 8)).reshape(SHAPE)
        raise OSError("the disk is gone")

    with EnginePool([Reader() for _ in range(3)]) as pool:
        for count in (0, 1, 3, 10):
            found = []
            with pytest.raises(OSError, match="the disk is gone"):
                for answer in pool.map(inputs(count)):
                    found.append(int(answer["number"][0]))
            assert found == list(range(count))


def test_a_pool_that_is_closed_meanwhile_loses_no_result_either() -> None:
    pool, found = EnginePool([Reader() for _ in range(3)]), []
    with pytest.raises(nl.NpuLayoutError, match="the engine is closed"):
        for answer in pool.map(drawn(n, (8, 8)).reshape(SHAPE) for n in range(99)):
            found.append(int(answer["number"][0]))
            if len(found) == 10:
                pool.close()
    assert found == list(range(13))


def test_memory_of_its_own_is_copied_at_first_only() -> None:
    borrowed, slots = Borrowed(3), [Slot() for _ in range(3)]
    for n in range(12):
        slot = slots[n % 3]
        slot.returned(False)
        given = {"image": np.full(SHAPE, n, np.uint8), "scale": b"constant"}
        taken = borrowed.taken(slot, given)
        assert (taken is given) == (n >= 3) and slot.borrowed == (n >= 3)
        assert (taken["image"] == n).all() and taken["scale"] == b"constant"
    again = np.zeros(SHAPE, np.uint8)
    for n in range(12):
        slot = slots[n % 3]
        slot.returned(False)
        again[...] = n
        assert (borrowed.taken(slot, again) is again) == (n == 0)


def test_memory_that_comes_again_when_it_is_free_is_copied_if_it_was_among_the_first() -> None:
    """A ring of buffers may be long enough while results are used fast, and too short later."""
    slot, ring = Slot(), [np.zeros(SHAPE, np.uint8) for _ in range(4)]
    few, many = Borrowed(4), Borrowed(5)
    for n in range(20):
        slot.returned(False)
        memory = ring[n % 4]
        assert (few.taken(slot, memory) is memory) == (n >= 4)
        assert many.taken(slot, memory) is not memory


def test_who_makes_and_does_not_come_back_lets_others_make() -> None:
    """A stream's watchdog gives up the first frame: only its worker is lost, and the others wait for it no longer."""
    free = threading.Event()

    def preprocess(frame: np.ndarray) -> Made:
        if not frame.any():
            free.wait(10)
        return written(np.zeros(SHAPE, np.uint8), frame)

    pool = EnginePool([Reader(), Reader(), Reader()])
    with pool, Stream(frames(40), preprocess, pool, on_error="skip", watchdog=0.3) as stream:
        assert [checked(result) for result in stream] == list(range(1, 40))
        free.set()
    assert stream.counts.failed == 1


def test_a_turn_is_one_thread_at_a_time_while_memory_is_copied() -> None:
    borrowed, together, most = Borrowed(50), [], []  # type: tuple[Borrowed, list[int], list[int]]

    def work(n: int) -> None:
        for _ in range(10):
            job = Job(n, 0.0, None, None)
            with borrowed.turn(job):
                assert not job.queued
                together.append(n)
                most.append(len(together))
                time.sleep(0.0002)
                together.remove(n)
                borrowed.taken(Slot(), np.zeros(4))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
