"""Frames with a number drawn into their pixels, and engines that return it: what proves whose result is whose."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import npu_layout as nl

INPUT = nl.TensorSpec((1, 3, 8, 8), "NHWC", "uint8", name="image")
OUTPUT = nl.TensorSpec((1, 4), "NC", "int32", name="number")
PREPROCESS = nl.Preprocessor(INPUT, color="BGR", resize="stretch")


def drawn(number: int, size: tuple[int, int] = (16, 24)) -> np.ndarray:
    """A frame whose colour is the number, in 24 bits."""
    frame = np.empty((*size, 3), np.uint8)
    frame[:] = [number & 255, number >> 8 & 255, number >> 16]
    return frame


def read(pixels: np.ndarray) -> int:
    """The number in a frame, or in the network's input."""
    b, g, r = (int(v) for v in np.asarray(pixels).reshape(-1, 3)[0])
    return b | g << 8 | r << 16


class Foreign:
    """Another library's array, of memory that a source may use again."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    @property
    def __array_interface__(self) -> Any:
        return self.array.__array_interface__


class Reader:
    """An engine that returns the number in its input, after some seconds; `fault`: called with each number first."""

    owns_outputs = False
    input_specs, output_specs = (INPUT,), (OUTPUT,)

    def __init__(self, seconds: float = 0.0, fault: Callable[[int], Any] | None = None) -> None:
        self.seconds, self.fault, self.closed = seconds, fault, False
        self.runs, self.at_work, self.together = 0, 0, 0
        self._lock = threading.Lock()

    def infer(self, inputs: Any, out: Any = None) -> dict[str, np.ndarray]:
        with self._lock:
            self.at_work += 1
            self.together = max(self.together, self.at_work)
        try:
            if self.closed:
                raise nl.NpuLayoutError("closed")
            number = read(inputs["image"] if isinstance(inputs, dict) else inputs)
            answer = None if self.fault is None else self.fault(number)
            if self.seconds:
                time.sleep(self.seconds)
            self.runs += 1
            if answer is not None:
                return answer  # type: ignore[no-any-return]
            found = np.full(4, number, np.int32)
            if out is None:
                return {"number": found}
            np.copyto(out["number"].reshape(-1), found)
            return {"number": out["number"]}
        finally:
            with self._lock:
                self.at_work -= 1

    def close(self) -> None:
        self.closed = True

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def frames(count: int, seconds: float = 0.0) -> Iterator[np.ndarray]:
    """Numbered frames, in one memory that is used again, as cameras do."""
    memory = drawn(0)
    for number in range(count):
        if seconds:
            time.sleep(seconds)
        memory[:] = drawn(number)
        yield memory


def number(result: Any) -> int:
    return int(result.outputs["number"][0])


def checked(result: Any) -> int:
    """The number of a result, which is that of its frame, its input and its output."""
    assert read(result.frame) == read(result.inputs["image"]) == number(result) == result.number
    return int(result.number)
