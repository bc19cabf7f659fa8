"""Engines that return memory which others write: their results would be mixed, in silence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.streams import EnginePool, Stream
from tests.support.streaming import INPUT, OUTPUT, PREPROCESS, Reader, drawn, frames

INPUTS = [drawn(n, (8, 8)).reshape(INPUT.storage_shape) for n in range(40)]


class Buffered(Reader):
    """Writes its outputs to memory that it was given, as an accelerator does."""

    def __init__(self, memory: np.ndarray, owns: bool = True) -> None:
        super().__init__(0.002)
        self.memory, self.owns_outputs = memory, owns

    def infer(self, inputs: Any) -> Any:
        self.memory[:] = super().infer(inputs)["number"]
        return {"number": self.memory}


def memory() -> np.ndarray:
    return np.zeros(OUTPUT.size, OUTPUT.stored)


def test_two_engines_with_one_output_buffer_are_refused() -> None:
    shared = memory()
    refused = pytest.raises(nl.NpuLayoutError, match=r"engines \d and \d return the same memory, .* output number")
    with EnginePool([Buffered(shared), Buffered(shared)]) as pool, refused:
        list(pool.map(INPUTS))
    shared = memory()
    pool = EnginePool([Buffered(shared), Buffered(shared)])
    with pool, Stream(frames(40), PREPROCESS, pool) as stream, refused:
        list(stream)


def test_one_engine_that_says_its_memory_is_the_callers_is_refused() -> None:
    refused = pytest.raises(nl.NpuLayoutError, match=r"engine 0 says owns_outputs = False, and returns memory of its")
    with EnginePool([Buffered(memory(), owns=False)]) as pool, refused:
        list(pool.map(INPUTS))


@pytest.mark.parametrize("count", [1, 3])
def test_engines_with_buffers_of_their_own_are_not(count: int) -> None:
    with EnginePool([Buffered(memory()) for _ in range(count)]) as pool:
        assert [int(y["number"][0]) for y in pool.map(INPUTS)] == list(range(40))
        out = {"number": memory()}
        assert [int(pool.infer(one, out)["number"][0]) for one in INPUTS] == list(range(40))


def test_new_arrays_constants_and_views_of_inputs_are_not() -> None:
    """Memory that is handed out again once it was freed, memory that nobody writes, and memory of the caller."""
    constant = np.arange(OUTPUT.size, dtype=OUTPUT.stored)

    class Constant(Reader):
        def infer(self, inputs: Any) -> Any:
            return {"number": constant}

    class New(Reader):
        def infer(self, inputs: Any) -> Any:
            return {"number": super().infer(inputs)["number"].copy()}

    class Views(Reader):
        def infer(self, inputs: Any) -> Any:
            given = inputs["image"] if isinstance(inputs, dict) else inputs
            return {"number": given.reshape(-1)[: OUTPUT.nbytes].view(OUTPUT.stored)}

    with EnginePool([Constant(), Constant()]) as pool:
        assert all((y["number"] == constant).all() for y in pool.map(INPUTS))
    with EnginePool([New(), New()]) as pool:
        assert [int(y["number"][0]) for y in pool.map(INPUTS)] == list(range(40))
    with EnginePool([Views(), Views()]) as pool:
        reused = np.zeros(INPUT.storage_shape, np.uint8)
        for one in INPUTS:
            reused[...] = one
            answer = pool.infer(reused)["number"]
            np.testing.assert_array_equal(answer.view(np.uint8), one.reshape(-1)[: OUTPUT.nbytes])
