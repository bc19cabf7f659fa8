"""Process a frame: preprocess it, run the engine, call the function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..engines import specs_of
from ..errors import NpuLayoutError
from ..frames import FrameSpec, Preprocessor
from ..support import isolated, shown
from .borrowing import Borrowed
from .leases import Result, Slot
from .pool import EnginePool, submitted
from .running import run
from .stages import Job
from .values import lasting

_MOST = 32  # buffers of others that are kept at first, to see whether their memory comes again


class Work:
    """The stages of a frame after its capture, for any number of threads; depth: how many frames beyond one a thread.

    Raises NpuLayoutError if `preprocess`, `function` or `engine` is something else, if the engine has several inputs,
    or if the Preprocessor's target is not what the engine reads.
    """

    def __init__(self, preprocess: Any, engine: Any, function: Callable[[Result], Any] | None, depth: int = 2) -> None:
        if not callable(preprocess):
            raise NpuLayoutError(f"preprocess: expected a Preprocessor or a function, got {type(preprocess).__name__}")
        if function is not None and not callable(function):
            raise NpuLayoutError(f"function: expected a function or None, got {type(function).__name__}")
        self._preprocess, self._engine, self._function = preprocess, engine, function
        self._outputs, inputs = specs_of(engine, "output_specs"), specs_of(engine, "input_specs")
        if len(inputs) > 1:
            raise NpuLayoutError(f"engine: expected a network with one input, got the inputs {', '.join(inputs)}")
        self._name = next(iter(inputs), "")
        self._input: TensorSpec | None = inputs.get(self._name)
        writer = _writer(preprocess)
        self._writes = writer is not None  # to memory that it is given
        if self._input is not None and writer is not None:
            _check_target(writer.target, self._input)
        self.workers = len(engine) if isinstance(engine, EnginePool) else 1
        self._borrowed = Borrowed(min(self.workers + depth + 4, _MOST))  # more than there are leases at a time
        self.stages = (("preprocess", self._make), ("infer", self._infer), ("function", self._call))

    def _make(self, job: Job, slot: Slot, result: Result) -> None:
        if self._writes:
            buffer, result.geometry = self._preprocess(result.frame, slot.inputs.get(self._name))
        else:
            with self._borrowed.turn(job):
                made = self._preprocess(result.frame)
                if not isinstance(made, (tuple, list)) or len(made) != 2:
                    raise NpuLayoutError(f"preprocess: expected (buffer, geometry), got {_several(made)}")
                buffer, result.geometry = self._borrowed.taken(slot, made[0]), made[1]
        slot.inputs[self._name] = buffer

    def _infer(self, job: Job, slot: Slot, result: Result) -> None:
        if not slot.outputs:
            slot.outputs = {name: np.zeros(spec.size, spec.stored) for name, spec in self._outputs.items()}
        given: Any = slot.inputs[self._name]
        if self._input is not None:
            storage = self._input.storage
            flat = isinstance(given, np.ndarray) and given.ndim == 1 and given.size == storage.size
            given = {self._name: given.reshape(storage.storage_shape) if flat and storage.is_dense else given}
        if isinstance(self._engine, EnginePool):
            job.queued = True
            job.future = submitted(self._engine, given, slot.outputs, job.begun)
            job.future.result()
            job.future = None
        else:
            run(self._engine, given, self._outputs, slot.outputs)

    def _call(self, job: Job, slot: Slot, result: Result) -> None:
        if self._function is not None:
            value = self._function(result)
            result.value = lasting(value, slot.arrays)


def _writer(preprocess: Any) -> Preprocessor | None:
    """Return the Preprocessor that is given itself, or by its `batch`; None of another function."""
    owner = getattr(preprocess, "__self__", preprocess)
    is_batch = isinstance(owner, Preprocessor) and preprocess in (owner, owner.batch)
    return owner if is_batch else None


def _check_target(target: TensorSpec | FrameSpec, wanted: TensorSpec) -> None:
    """Raise NpuLayoutError if a buffer of `target` is not one of `wanted`, which an engine reads."""
    if isinstance(target, FrameSpec):
        if wanted.stored != np.uint8 or wanted.size != target.size or not wanted.storage.is_dense:
            raise NpuLayoutError(
                f"preprocess: its target is {target.describe()}, of {target.size} bytes, and the engine's input "
                f"{isolated(wanted.name)} is {_words(wanted)}; expected uint8 of as many elements, without gaps"
            )
        return
    axes, read = target.layout.letters, wanted.layout.letters
    # An ONNX model names no axes: in one with channels last, the engine's NCHW has as many channels as rows.
    turned = axes != read and sorted(axes) == sorted(read) and _channels(target) == _channels(wanted)
    colors = {target.channels, wanted.channels} - {None}
    if _memory(target) != _memory(wanted) or turned or len(colors) > 1:
        raise NpuLayoutError(
            f"preprocess: its target is not the engine's input {isolated(wanted.name)}: {_words(target)}, and "
            f"{_words(wanted)}; make the Preprocessor with the engine's input_specs[0] as its target"
        )


def _channels(spec: TensorSpec) -> int | None:
    return dict(zip(spec.axes, spec.shape)).get("C")


def _memory(spec: TensorSpec) -> tuple[Any, ...]:
    """Return what identifies the memory of a buffer."""
    storage = spec.storage
    gaps = None if storage.is_dense else (storage.strides, storage.start, storage.size)
    return storage.storage_shape, gaps, spec.stored


def _words(spec: TensorSpec) -> str:
    storage = spec.storage
    gaps = "" if storage.is_dense else f" with strides {storage.strides} in {storage.size} elements"
    return f"{spec.replace(name='').describe()}, stored as {spec.stored} {storage.storage_shape}{gaps}"


def _several(made: Any) -> str:
    """Return in words what is no pair."""
    items = isinstance(made, (tuple, list))
    return f"{len(made)} items" if items else shown(made)
