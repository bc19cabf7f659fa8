"""What fails has its stage and the frame's number."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.streams import Counts, EnginePool, Stream, StreamError
from npu_layout.streams.work import Work
from tests.support.streaming import PREPROCESS, Reader, checked, drawn, number, read

pytestmark = pytest.mark.usefixtures("nothing_is_left")


@pytest.mark.parametrize("stage", ["capture", "preprocess", "infer", "function"])
@pytest.mark.parametrize("workers", [1, 2])
def test_what_fails_has_its_stage(stage: str, workers: int) -> None:
    def at(where: str, n: int) -> None:
        if where == stage and n == 7:
            raise ValueError("broken")

    def source() -> Iterator[Any]:
        for n in range(20):
            yield ValueError("broken") if stage == "capture" and n == 7 else drawn(n)

    def preprocess(frame: np.ndarray) -> Any:
        at("preprocess", read(frame))
        return PREPROCESS(frame)

    def make(on_error: str) -> Any:
        pool = EnginePool([Reader(fault=lambda n: at("infer", n)) for _ in range(workers)])
        return pool, Stream(source(), preprocess, pool, lambda r: at("function", number(r)), on_error=on_error)

    pool, stream = make("stop")
    with pool, stream:
        seen = []
        with pytest.raises(StreamError, match=f"frame 7: {stage}: ValueError: broken") as raised:
            seen.extend(checked(r) for r in stream)
        assert seen == list(range(7)) and (raised.value.stage, raised.value.number) == (stage, 7)
        assert isinstance(raised.value.__cause__, ValueError)
        counts = stream.counts
        assert counts.failed == 1 and counts.captured == counts.shown + counts.dropped + counts.failed
        with pytest.raises(StreamError, match=f"frame 7: {stage}: ValueError: broken"):  # who comes late gets it too
            next(iter(stream))
    with pytest.raises(nl.NpuLayoutError, match="it was stopped"):
        next(iter(stream))
    pool, stream = make("skip")
    with pool, stream:
        assert [checked(r) for r in stream] == [n for n in range(20) if n != 7]
        assert stream.counts == (20, 19, 0, 1, 0)


def test_the_stages_are_those_that_fail() -> None:
    assert [name for name, _ in Work(PREPROCESS, Reader(), None).stages] == ["preprocess", "infer", "function"]


def test_an_error_goes_to_other_processes() -> None:
    error = StreamError("infer", 12, "OSError: the bus")
    assert isinstance(error, nl.NpuLayoutError) and str(error) == "stream: frame 12: infer: OSError: the bus"
    for other in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(other) is StreamError and str(other) == str(error)
        assert (other.stage, other.number, other.words) == ("infer", 12, "OSError: the bus")


def test_counts_have_names() -> None:
    counts = Counts(10, 6, 2, 1, 1)
    assert counts == (10, 6, 2, 1, 1)
    assert counts.shown + counts.dropped + counts.failed + counts.pending == counts.captured
