"""Outputs of engines that own theirs, of others, and of those that write where they are asked to."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.streams import EnginePool, Stream, running
from npu_layout.streams.running import run
from tests.support.streaming import OUTPUT, PREPROCESS, frames, number, read

SPECS = {"number": OUTPUT}


class Doubles:
    """Returns twice its input, in memory of its own."""

    output_specs = (OUTPUT,)

    def __init__(self) -> None:
        self.memory = np.zeros(4, np.int32)

    def infer(self, inputs: Any) -> dict[str, np.ndarray]:
        self.memory[:] = 2 * inputs
        return {"number": self.memory}


class Gives(Doubles):
    """Returns new memory each time."""

    owns_outputs = False

    def infer(self, inputs: Any) -> dict[str, np.ndarray]:
        return {"number": np.full(4, 2 * inputs, np.int32)}


class Writes(Gives):
    """Writes to the memory that it is given."""

    asked = 0

    def infer(self, inputs: Any, out: Any = None) -> dict[str, np.ndarray]:
        if out is None:
            return super().infer(inputs)
        self.asked += 1
        out["number"][...] = 2 * inputs
        return dict(out)


@pytest.mark.parametrize("kind", [Doubles, Gives, Writes])
def test_results_are_the_callers_own(kind: Any) -> None:
    engine = kind()
    first, second = (run(engine, n, SPECS)["number"] for n in (1, 2))
    assert first.tolist() == [2] * 4 and second.tolist() == [4] * 4
    assert not np.shares_memory(first, engine.memory)


@pytest.mark.parametrize("kind", [Doubles, Gives, Writes])
def test_results_are_where_they_were_asked_for(kind: Any) -> None:
    engine, out = kind(), {"number": np.zeros(OUTPUT.storage_shape, np.int32)}
    found = run(engine, 3, SPECS, out)
    assert found["number"] is out["number"] and (out["number"] == 6).all()
    assert getattr(engine, "asked", 1) == 1


def test_what_is_checked_knows_who_has_the_results() -> None:
    seen: list[tuple[bool, int]] = []

    def check(owns: bool, found: Any, given: Any) -> None:
        seen.append((owns, len(list(given))))

    out = {"number": np.zeros(4, np.int32)}
    for kind, where in ((Doubles, None), (Gives, None), (Gives, out)):
        run(kind(), 1, SPECS, where, check)
    assert seen == [(True, 1), (False, 1), (True, 2)]


def test_an_answer_that_does_not_fit_is_refused() -> None:
    other = {"number": nl.TensorSpec((1, 5), "NC", "int32", name="number")}
    with pytest.raises(nl.NpuLayoutError, match="number"):
        run(Doubles(), 1, other)


@pytest.mark.parametrize("owns", [True, False])
def test_an_engine_that_says_whose_its_outputs_are_needs_no_out(owns: bool) -> None:
    """The protocol's `infer` has it; a user's, which has one of the protocol's two, is no worse than one with none."""

    class Own:
        output_specs, owns_outputs = (OUTPUT,), owns

        def __init__(self) -> None:
            self.memory = np.zeros(4, np.int32)

        def infer(self, inputs: Any) -> list[np.ndarray]:
            found = self.memory if owns else np.empty(4, np.int32)
            found[:] = read(inputs)
            return [found]

    with Stream(frames(20), PREPROCESS, Own()) as stream:
        assert [number(r) for r in stream] == list(range(20))
    with EnginePool([Own(), Own()]) as pool, Stream(frames(20), PREPROCESS, pool) as stream:
        assert [number(r) for r in stream] == list(range(20))


class Slow(Doubles):
    """Writes its memory in two halves, between which other threads run."""

    input_specs = (PREPROCESS.target,)

    def __init__(self, pause: float = 0.0001) -> None:
        super().__init__()
        self.pause, self.at_work, self.together = pause, 0, 0

    def infer(self, inputs: Any) -> dict[str, np.ndarray]:
        self.at_work += 1
        self.together = max(self.together, self.at_work)
        value = read(inputs["image"])
        self.memory[:2] = value
        time.sleep(self.pause)
        self.memory[2:] = value
        self.at_work -= 1
        return {"number": self.memory}


def test_an_engine_that_owns_its_outputs_is_used_by_one_thread_at_a_time() -> None:
    """Before, streams that share one mixed their answers, in silence."""
    engine, wrong = Slow(), []  # type: tuple[Slow, list[int]]
    pool = EnginePool([engine])

    def watch(used: Any) -> None:
        with Stream(frames(200), PREPROCESS, used) as stream:
            for result in stream:
                if set(result.outputs["number"].tolist()) != {result.number}:
                    wrong.append(result.number)

    threads = [threading.Thread(target=watch, args=(used,)) for used in (engine, engine, pool)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pool.close()
    assert wrong == [] and engine.together == 1 and not running._GUARD.engines


def test_engines_whose_outputs_are_the_callers_run_at_the_same_time() -> None:
    class Own(Slow):
        owns_outputs = False

        def infer(self, inputs: Any) -> dict[str, np.ndarray]:
            return {name: array.copy() for name, array in super().infer(inputs).items()}

    engine = Own(0.02)
    image = {"image": np.zeros(PREPROCESS.target.storage_shape, np.uint8)}
    threads = [threading.Thread(target=run, args=(engine, image, SPECS)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert engine.together > 1
