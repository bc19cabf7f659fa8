"""Define what an engine is, and read any object that infers as one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Protocol, Union, runtime_checkable

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..support import isolated, many

Specs = Union[Sequence[TensorSpec], Mapping[str, TensorSpec]]


@runtime_checkable
class Engine(Protocol):
    """What runs a network: a runtime, an accelerator, or a simulation of one.

    Wherever the library accepts an engine, it accepts any object with `infer` and `output_specs`; the library's own
    engines have all of these members. A further method `submit(inputs)`, which returns a concurrent.futures.Future of
    what infer returns, is optional. `npu_layout.testing.check_engine` tests an engine. This class is a Protocol for
    type checkers: it is never called, whatever its args and kwargs. Raises nothing.

    Attributes
    ----------
    input_specs, output_specs
        TensorSpecs with the tensors' names, in the model's order; a mapping {name: spec} is accepted too.
    owns_outputs
        True: the buffers that infer returns are the engine's own, and valid until its next call or `close`; the library
        copies what it keeps of them. False: they are the caller's. An engine without this attribute counts as True.
    """

    owns_outputs: bool

    @property
    def input_specs(self) -> Specs:
        """The inputs of infer."""

    @property
    def output_specs(self) -> Specs:
        """The buffers that infer returns."""

    def infer(self, inputs: Any, out: Mapping[str, np.ndarray] | None = None) -> Mapping[str, Any]:
        """Run the network once: {name: buffer} in, {name: buffer} out, each of its spec's size and dtype.

        inputs: buffers that are 1-D or of their spec's storage shape; a network with one input accepts a single buffer
        without its name. out: {name: buffer} to write the outputs to; these are then returned. Raises NpuLayoutError on
        inputs or an `out` that do not fit.
        """

    def close(self) -> None:
        """Release the runtime; a second call does nothing, and infer raises NpuLayoutError afterwards."""

    def __enter__(self) -> Engine:
        """Return the engine."""

    def __exit__(self, *error: Any) -> None:
        """Close it."""


def specs_of(engine: Any, which: str) -> dict[str, TensorSpec]:
    """Return {name: spec} of an engine's `which`, "input_specs" or "output_specs"; {} if it has no input_specs.

    NpuLayoutError, which names the engine, on a class, what is no TensorSpec and a spec without a name of its own.
    """
    if isinstance(engine, type):
        raise NpuLayoutError(f"engine: expected an engine, got the class {engine.__name__}; call it")
    kind = type(engine).__name__
    given = getattr(engine, which, None)
    if given is None:
        if which == "input_specs":
            return {}
        raise NpuLayoutError(f"engine {kind}: expected an object with infer and output_specs{_advice(engine)}")
    pairs = given.items() if isinstance(given, Mapping) else [(getattr(s, "name", ""), s) for s in _several(given)]
    found: dict[str, TensorSpec] = {}
    for i, (name, spec) in enumerate(pairs):
        if not isinstance(spec, TensorSpec):
            raise NpuLayoutError(f"engine {kind}: {which}: expected TensorSpecs, got {spec!r}")
        if not isinstance(name, str) or not name or name in found:
            raise NpuLayoutError(f"engine {kind}: {which}: spec {i}, {spec.describe()}, needs a name of its own")
        found[name] = spec
    return found


def _advice(given: Any) -> str:
    """Return what to do with what is no engine."""
    if isinstance(given, (str, os.PathLike)):
        return f"; give open_engine({os.fspath(given)!r})"
    if isinstance(given, (list, tuple)) and len(given) and all(hasattr(item, "infer") for item in given):
        return "; give EnginePool(engines)"
    return ""


def _several(given: Any) -> Iterable[Any]:
    return [given] if isinstance(given, (TensorSpec, str)) or not isinstance(given, Iterable) else given


def by_name(model: str, names: list[str], inputs: Any) -> dict[str, Any]:
    """Return {name: input}; NpuLayoutError if the names are not the model's."""
    if not isinstance(inputs, Mapping):
        if len(names) != 1:
            raise NpuLayoutError(f"{model} has {len(names)} inputs: expected {{name: array}} for {_names(names)}")
        if isinstance(inputs, tuple) and len(inputs) == 2 and hasattr(inputs[1], "boxes_to_frame"):
            raise NpuLayoutError(
                f"{model}: input {isolated(names[0])}: expected a buffer, got (buffer, geometry), as a Preprocessor "
                f"returns; give its first item"
            )
        return {names[0]: inputs}
    if set(inputs) != set(names):
        raise NpuLayoutError(f"{model} has the inputs {_names(names)}; got {_names(inputs)}")
    return dict(inputs)


def checked_outputs(engine: Any, answer: Any, specs: Mapping[str, TensorSpec]) -> dict[str, np.ndarray]:
    """Return what an engine's infer returned as {name: flat buffer}, each checked against its spec.

    A sequence is in the order of the specs, and one buffer belongs to the only output. NpuLayoutError names the engine
    and the output if names, sizes or dtypes are others. Buffers are views where they can be.
    """
    kind = type(engine).__name__
    if answer is None:  # as RKNNLite does when it fails
        raise NpuLayoutError(f"engine {kind}: returned None, expected {_names(specs)}; its runtime's log may say why")
    if not isinstance(answer, Mapping):
        several = list(answer) if isinstance(answer, (list, tuple)) else [answer]
        if len(several) != len(specs):
            raise NpuLayoutError(f"engine {kind}: returned {many(len(several), 'output')}, expected {_names(specs)}")
        answer = dict(zip(specs, several))
    if set(answer) != set(specs):
        raise NpuLayoutError(f"engine {kind}: returned the outputs {_names(answer)}, expected {_names(specs)}")
    return {name: _flat(f"engine {kind}: output {isolated(name)}", spec, answer[name]) for name, spec in specs.items()}


def checked_targets(model: str, out: Any, specs: Mapping[str, TensorSpec]) -> dict[str, np.ndarray]:
    """Return the arrays of `out`, to which outputs are written, as {name: flat view}.

    NpuLayoutError, which names `model` and the output, if one is missing, unknown or not of its spec's size and dtype,
    is no contiguous array that can be written, or overlaps another one.
    """
    check_named(model, out, specs)
    targets = {}
    for name, spec in specs.items():
        targets[name] = _flat(f"{model}: out: {isolated(name)}", spec, out[name])
        if not isinstance(out[name], np.ndarray) or not targets[name].flags.writeable:
            raise NpuLayoutError(f"{model}: out: {isolated(name)}: expected a contiguous array that can be written")
    check_apart(model, targets)
    return targets


def check_named(model: str, out: Any, names: Iterable[str]) -> None:
    """Raise NpuLayoutError unless `out` is a mapping with an array for each of these outputs, and no other."""
    if not isinstance(out, Mapping):
        raise NpuLayoutError(f"{model}: out: expected {{name: array}} for {_names(names)}, got {type(out).__name__}")
    if set(out) != set(names):
        raise NpuLayoutError(f"{model}: out: expected arrays for {_names(names)}, got {_names(out)}")


def check_apart(model: str, out: Mapping[str, np.ndarray]) -> None:
    """Raise NpuLayoutError if two of these contiguous arrays have a byte in common: the second replaced the first."""
    for one, other in combinations(out, 2):
        if np.may_share_memory(out[one], out[other]):
            raise NpuLayoutError(
                f"{model}: out: {isolated(one)} and {isolated(other)} overlap; expected memory of its own for each"
            )


def _flat(what: str, spec: TensorSpec, value: Any) -> np.ndarray:
    """Return a flat view of a buffer; the error that it is not the spec's names what it is."""
    try:
        return spec.flat(value)
    except NpuLayoutError as error:
        raise type(error)(f"{what}: {error}") from None


def _names(given: Iterable[Any]) -> str:
    return ", ".join(isolated(str(name)) for name in given) or "none"
