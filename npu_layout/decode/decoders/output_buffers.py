"""Check the buffers of a run's outputs, and put them in the order of their specs."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from ...buffers import TensorSpec, unpack_nibbles
from ...errors import BufferSizeError, NpuLayoutError
from ...support import naming

_SEQUENCES = (list, tuple)
_MEMORY_OF = operator.attrgetter("__class__", "size", "strides", "dtype")


class UsualBuffers:
    """Whether buffers need no check: in the order of the specs, each a 1-D array as it is stored."""

    def __init__(self, specs: Sequence[TensorSpec]) -> None:
        self._stored = [_as_stored(spec) for spec in specs]

    def are(self, buffers: Any) -> bool:
        """Return whether buffers are usual."""
        if type(buffers) not in _SEQUENCES:
            return False
        try:
            return list(map(_MEMORY_OF, buffers)) == self._stored
        except AttributeError:
            return False


def _as_stored(spec: TensorSpec) -> tuple[type, int, tuple[int], np.dtype[Any]]:
    """Return class, size, strides and dtype of an output's buffer, 1-D."""
    kind = spec.element
    return ndarray, kind.buffer_size(spec.size), (kind.buffer.itemsize,), kind.buffer


def in_order(specs: Sequence[TensorSpec], buffers: Any, what: str = "buffers") -> list[np.ndarray]:
    """Return the buffers, {name: buffer} or in the order of the specs, in that order, checked.

    what: the argument's name, for messages.
    """
    if isinstance(buffers, Mapping):
        missing = [spec.name for spec in specs if spec.name not in buffers]
        if "" in missing:
            raise NpuLayoutError(
                f"{what}: got {', '.join(map(str, buffers)) or 'none'}, but a spec has no name; give buffers in the "
                f"order of the specs, or each spec the name of its output"
            )
        if missing:
            raise NpuLayoutError(f"{what}: no output {missing[0]!r}; got {', '.join(map(str, buffers)) or 'none'}")
        names = [spec.name for spec in specs]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise NpuLayoutError(
                f"{what}: {names.count(twice)} outputs are called {twice!r}, so that one buffer would be read for all; "
                f"give buffers in the order of the specs, or each spec a name of its own"
            )
        given = [buffers[spec.name] for spec in specs]
    elif isinstance(buffers, (list, tuple)):
        given = list(buffers)
    elif isinstance(getattr(buffers, "outputs", None), Mapping):
        raise NpuLayoutError(
            f"{what}: expected {{name: buffer}}, or buffers in the order of the specs, got {type(buffers).__name__}; "
            f"give its outputs"
        )
    else:
        given = [] if buffers is None else [buffers]
    if len(given) != len(specs):
        raise NpuLayoutError(
            f"{what}: expected {len(specs)}, one for each output, got {_counted(given, buffers, what)}"
        )
    return [_flat(i, specs, buffer, what) for i, buffer in enumerate(given)]


def _counted(given: list[Any], buffers: Any, what: str) -> str:
    """Return, for a message, how many buffers there are, and what they may be if that is another number."""
    if buffers is None:
        return "None (did the runtime report an error?)"
    if not isinstance(buffers, (list, tuple, Mapping)) and not hasattr(buffers, "dtype"):
        return f"one {type(buffers).__name__}; give a list of buffers, or {{name: buffer}}"
    inner = given[0] if len(given) == 1 else None
    return f"{len(given)}" + (f"; give {what}[0], which has {len(inner)}" if isinstance(inner, (list, tuple)) else "")


def _flat(i: int, specs: Sequence[TensorSpec], buffer: Any, what: str) -> np.ndarray:
    """Return the buffer of an output, checked; its error says what else it may be, if it has another size."""
    spec = specs[i]
    with naming(what if spec.name or len(specs) == 1 else f"{what}: output {i}"):
        try:
            return spec.flat(buffer)
        except BufferSizeError as error:
            raise BufferSizeError(f"{error}{_other_words(specs, spec, np.asarray(buffer))}") from None


def _other_words(specs: Sequence[TensorSpec], spec: TensorSpec, given: np.ndarray) -> str:
    """Return, for a message, that a buffer has the size of other outputs, or is one of several inputs; "" if not."""
    names = [other.name or f"output {i}" for i, other in enumerate(specs)]
    alike = [
        repr(name)
        for name, other in zip(names, specs)
        if other.element.buffer == spec.element.buffer and other.nbytes == given.nbytes
    ]
    if alike:
        by_name = "{name: buffer}, or " * all(other.name for other in specs)
        order = f"the order of the specs, {', '.join(names)}"
        return f"; {given.nbytes} are those of {' or '.join(alike)}: give {by_name}buffers in {order}"
    inputs = given.shape[0] if given.ndim > 1 else 0
    if inputs > 1 and given.nbytes == inputs * spec.nbytes:
        return f"; its first axis has {inputs} inputs: decode each by itself, with buffer[i] of every output"
    return ""


def unpacked_spec(spec: TensorSpec) -> TensorSpec:
    """Return the spec of the same numbers with a byte for each, if two share a byte."""
    return spec.replace(dtype=spec.element.unpacked) if spec.element.nibbles else spec


def unpacked_buffer(spec: TensorSpec, memory: np.ndarray) -> np.ndarray:
    """Return the buffer that has a byte for each number."""
    return unpack_nibbles(memory, spec.element, spec.size) if spec.element.nibbles else memory
