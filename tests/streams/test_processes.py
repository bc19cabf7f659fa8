"""A forked process has none of its parent's threads: its calls are refused, and it closes nothing of the parent's."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator

import pytest

import npu_layout as nl
from npu_layout.streams import Source, Stream
from npu_layout.streams.processes import Process
from tests.support.streaming import PREPROCESS, Reader, frames

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
]


def in_a_child(act: Callable[[], bool]) -> bool:
    """Whether `act` returns True in a process that is forked, within 5 seconds."""
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(5)
        try:
            os._exit(0 if act() else 1)
        finally:
            os._exit(2)
    return os.waitpid(child, 0)[1] == 0


def test_a_process_knows_itself() -> None:
    here = Process()
    assert here.is_this
    here.check("pool")

    def refused() -> bool:
        with pytest.raises(nl.NpuLayoutError, match=rf"^pool: .* process {os.getppid()}, .*, {os.getpid()},"):
            here.check("pool")
        return not here.is_this

    assert in_a_child(refused)


@pytest.mark.parametrize("started", [False, True])
def test_a_stream_ends_where_it_was_made(started: bool) -> None:
    """The child iterated forever, and its close released the parent's camera."""
    closed: list[int] = []

    class Camera:
        def __iter__(self) -> Iterator[object]:
            return iter(frames(20))

        def close(self) -> None:
            closed.append(os.getpid())

    stream = Stream(Source(Camera()), PREPROCESS, Reader())
    results = iter(stream)
    shown = 0
    if started:
        next(results)
        shown = 1

    def refused() -> bool:
        with pytest.raises(nl.NpuLayoutError, match=r"^stream: it was made in process"):
            list(results)
        stream.close()
        with pytest.raises(nl.NpuLayoutError, match=r"^stream: it was made in process"):
            stream.start()
        stream._crew.abandon()
        return not closed

    assert in_a_child(refused)
    assert shown + len(list(results)) == 20 and closed == [os.getpid()]
