"""The threads of a stream: what they are called, when they begin, and that they end with it, however it ends."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.streams import EnginePool, Source, Stream
from tests.support.paths import ROOT
from tests.support.streaming import PREPROCESS, Reader, checked, drawn, frames

pytestmark = pytest.mark.usefixtures("nothing_is_left")


def own() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("npu_layout stream")}


def ended(seconds: float = 5.0) -> bool:
    """Whether the threads of all streams end."""
    end = time.monotonic() + seconds
    while own() and time.monotonic() < end:
        time.sleep(0.005)
    return not own()


def test_threads_begin_once_and_have_names() -> None:
    with EnginePool([Reader(), Reader()]) as pool, Stream(frames(10**9), PREPROCESS, pool) as stream:
        assert not own()
        stream.start()
        stream.start()
        assert own() == {f"npu_layout stream {name}" for name in ("capture", "worker 0", "worker 1")}
    assert not own()
    with pytest.raises(nl.NpuLayoutError, match="it was stopped; make a new one"):
        stream.start()


@pytest.mark.parametrize("kind", ["never asked", "left", "started"])
def test_a_stream_that_is_dropped_ends_its_threads(kind: str) -> None:
    closed = []

    def endless() -> Iterator[np.ndarray]:
        n = 0
        try:
            while True:
                yield drawn(n)
                n += 1
        finally:
            closed.append(True)

    stream = Stream(endless(), PREPROCESS, Reader(0.001), lambda result: result.number)
    dropped = weakref.ref(stream)
    result: Any = None
    if kind == "started":
        stream.start()
    if kind == "left":
        for result in stream:
            if result.number == 5:
                break
    del stream
    gc.collect()
    assert dropped() is None and ended()
    if kind == "left":
        time.sleep(0.05)
        assert checked(result) == 5  # nobody asked for the next one
    if kind != "never asked":
        gc.collect()
        assert closed == [True]


def test_the_source_of_a_dropped_stream_is_closed() -> None:
    calls: list[str] = []
    stream = Stream(Source(frames(3), close=lambda: calls.append("closed")), PREPROCESS, Reader())
    del stream
    gc.collect()
    assert calls == ["closed"]
    stream = Stream(Source(frames(3), close=lambda: calls.append("closed again")), PREPROCESS, Reader())
    assert len(list(stream)) == 3
    del stream
    gc.collect()
    assert calls == ["closed", "closed again"]


class Camera:
    """Frames that come by themselves, of what has to be stopped."""

    def __init__(self, seconds: float = 0.01) -> None:
        self.seconds, self.stopped = seconds, 0

    def __iter__(self) -> Iterator[np.ndarray]:
        number = 0
        try:
            while True:
                time.sleep(self.seconds)
                yield drawn(number)
                number += 1
        finally:
            self.stopped += 1


@pytest.mark.parametrize("give", [iter, lambda camera: camera, lambda camera: Source(iter(camera), live=True)])
def test_close_releases_what_a_thread_waits_in(give: Any) -> None:
    """A camera's thread is in `next` nearly always, where Python refuses to close a generator."""
    camera = Camera()
    with Stream(give(camera), PREPROCESS, Reader()) as stream:
        for result in stream:
            if result.number == 2:
                break
        assert not camera.stopped
    assert camera.stopped == 1 and ended()


def test_a_frame_that_comes_after_close_releases_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npu_layout.streams.crew._PATIENCE", 0.05)
    camera = Camera(0.5)
    stream = Stream(iter(camera), PREPROCESS, Reader())
    stream.start()
    time.sleep(0.05)
    stream.close()
    assert not camera.stopped
    assert ended() and camera.stopped == 1


def test_a_source_that_cannot_be_closed_leaves_no_thread() -> None:
    calls: list[str] = []

    def close() -> None:
        calls.append("closed")
        raise ValueError("the camera was unplugged")

    stream = Stream(Source(Camera(), close=close), PREPROCESS, Reader())
    stream.start()
    with pytest.raises(ValueError, match="unplugged"):
        stream.close()
    assert ended()
    stream.close()
    assert calls == ["closed"]


def test_threads_that_close_together_close_once() -> None:
    calls: list[str] = []

    def close() -> None:
        time.sleep(0.05)
        calls.append("closed")

    stream = Stream(Source(frames(10**9), close=close), PREPROCESS, Reader())
    stream.start()
    threads = [threading.Thread(target=stream.close) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == ["closed"] and ended()


def test_each_close_waits_for_the_threads() -> None:
    begun, release, left = threading.Event(), threading.Event(), []

    def slow(number: int) -> None:
        begun.set()
        release.wait(10)

    stream = Stream(frames(10**9), PREPROCESS, Reader(fault=slow))
    stream.start()
    assert begun.wait(10)

    def close() -> None:
        stream.close()
        left.append((own(), stream.counts.pending))

    threads = [threading.Thread(target=close) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    assert left == []
    release.set()
    for thread in threads:
        thread.join(10)
    assert left == [(set(), 0)] * 3


def test_a_close_that_was_interrupted_is_done_by_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, release = threading.Event(), threading.Event()

    def hangs(number: int) -> None:
        begun.set()
        release.wait(10)

    closed: list[bool] = []
    stream = Stream(Source(frames(9), close=lambda: closed.append(True)), PREPROCESS, Reader(fault=hangs))

    def interrupt(self: object, thread: threading.Thread) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), stream:
        stream.start()
        assert begun.wait(10)
        monkeypatch.setattr("npu_layout.streams.crew.Crew._wait", interrupt)
    monkeypatch.undo()
    assert closed == [True] and own()
    start = time.monotonic()
    stream.close()  # does not wait again
    assert time.monotonic() - start < 5 and stream.counts.pending == 0
    release.set()
    assert ended()


def test_a_source_that_waits_does_not_keep_it_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npu_layout.streams.crew._PATIENCE", 0.1)
    release = threading.Event()

    def waits() -> Iterator[np.ndarray]:
        yield drawn(0)
        release.wait(30)

    with Stream(waits(), PREPROCESS, Reader()) as stream:
        assert checked(next(iter(stream))) == 0
    assert own() == {"npu_layout stream capture"}
    release.set()
    assert ended()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("can't start new thread")])
def test_what_is_raised_while_threads_are_started_is_raised(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, closed = threading.Thread.start, []

    def start(thread: threading.Thread) -> None:
        if thread.name == "npu_layout stream worker 0":
            raise error
        begin(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    stream = Stream(Source(frames(9), close=lambda: closed.append(True)), PREPROCESS, Reader())
    with pytest.raises(type(error)) as raised, stream:
        list(stream)
    assert raised.value is error and closed == [True] and ended() and stream.counts.pending == 0


LEFT = f"""
import time
import npu_layout as nl
from npu_layout.streams import Stream

image = nl.TensorSpec((1, 3, 256, 256), name="image")

class Mean:
    input_specs, output_specs = [image], [nl.TensorSpec((1, 3), "NC", name="mean")]

    def infer(self, inputs):
        return [inputs["image"].mean((2, 3))]

def hung():
    yield from [bytes(3 * 64 * 64)] * 2
    time.sleep(60)

def stream(source={str(ROOT / "samples" / "data" / "walk.mp4")!r}, how="BGR"):
    return Stream(source, nl.Preprocessor(image, source=how, std=255), Mean())
"""
WAYS = {
    "left": ("for result in stream():\n    if result.number == 4:\n        break", 0),
    "kept": ("kept = stream()\nfor result in kept:\n    if result.number == 4:\n        break", 0),
    "raised": ("kept = stream()\nfor result in kept:\n    assert result.number < 2", 1),
    "hung": ("kept = stream(hung(), nl.FrameSpec('BGR', (64, 64)))\nfor result in kept:\n    break", 0),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_program_ends_though_nobody_closed_its_stream(way: str) -> None:
    """Its threads were in OpenCV when the interpreter ended, and the process was aborted."""
    code, expected = WAYS[way]
    done = subprocess.run([sys.executable, "-c", LEFT + code], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == expected, done.stderr
