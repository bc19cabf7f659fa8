"""Check that an engine keeps the protocol: its specs, its buffers, its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..engines import Engine, checked_outputs, specs_of
from ..errors import NpuLayoutError
from ..support import checked_call, isolated, shown


@checked_call
def check_engine(make: Callable[[], Any], inputs: Mapping[str, Any] | None = None) -> list[str]:
    """Check an engine of yours against the protocol `npu_layout.engines.Engine`, and return what was checked.

    Parameters
    ----------
    make
        Returns a new engine; it is called twice, and both are closed.
    inputs
        {name: buffer} to run; None: random numbers, or random integers of the inputs' dtypes.

    Returns
    -------
    A line for each rule that the engine keeps.

    Raises
    ------
    AssertionError
        That names the first rule that it does not keep: what, expected and got.
    NpuLayoutError
        If `make` cannot be called.

    Examples
    --------
    >>> import numpy as np
    >>> class Twice:
    ...     owns_outputs = False
    ...     input_specs = [TensorSpec((1, 2), "NC", "int8", name="x")]
    ...     output_specs = [TensorSpec((1, 2), "NC", "int8", name="y")]
    ...     def infer(self, inputs, out=None):
    ...         if self.closed:
    ...             raise NpuLayoutError("closed")
    ...         given = inputs["x"] if isinstance(inputs, dict) else inputs
    ...         twice = np.asarray(given).reshape(-1) * np.int8(2)
    ...         if out is None:
    ...             return {"y": twice}
    ...         np.copyto(out["y"].reshape(-1), twice)
    ...         return {"y": out["y"]}
    ...     closed = False
    ...     def close(self):
    ...         self.closed = True
    ...     def __enter__(self):
    ...         return self
    ...     def __exit__(self, *error):
    ...         self.close()
    >>> len(check_engine(Twice))
    9
    """
    if not callable(make):
        raise NpuLayoutError(f"make: expected a function that returns a new engine, got {type(make).__name__}")
    if inputs is not None and not isinstance(inputs, Mapping):
        raise NpuLayoutError(f"inputs: expected {{name: buffer}}, got {type(inputs).__name__}")
    checked: list[str] = []
    with _made(make) as engine:
        given_specs, wanted = _specs(engine, checked)
        given = _inputs(given_specs, inputs)
        first = _run(engine, given, wanted)
        checked.append(_RUNS)
        checked.append(_repeats(engine, given, given_specs, wanted, first))
        if not engine.owns_outputs:
            checked.append(_leaves_outputs(engine, given, wanted, first))
        checked.append(_writes_out(engine, given, wanted, first))
        if len(given_specs) == 1:
            single = checked_outputs(engine, engine.infer(next(iter(given.values()))), wanted)
            checked.append(_checked(_same(first, single, wanted), "one input needs no name"))
        _refuses(engine, given)
    checked.append(_closes(make, given))
    return checked


_MEMBERS = ("input_specs", "output_specs", "infer", "close", "__enter__", "__exit__", "owns_outputs")
_RUNS = "infer returns what output_specs say"
_LATE = 3  # runs by which a runtime with a queue may be late


def _checked(kept: bool, rule: str, got: str = "") -> str:
    """Return the rule; AssertionError if it is not kept."""
    if not kept:
        raise AssertionError(f"{rule}: not so" + (f"; {got}" if got else ""))
    return rule


def _made(make: Callable[[], Any]) -> Any:
    engine = make()
    missing = ", ".join(name for name in _MEMBERS if not hasattr(engine, name)) or "none"
    rule = f"{type(engine).__name__} has every member of the protocol"
    _checked(isinstance(engine, Engine), rule, f"missing: {missing}")
    return engine


def _specs(engine: Any, checked: list[str]) -> tuple[dict[str, TensorSpec], dict[str, TensorSpec]]:
    inputs, outputs = (specs_of(engine, which) for which in ("input_specs", "output_specs"))
    checked.append(_checked(bool(inputs) and bool(outputs), "input_specs and output_specs are named TensorSpecs"))
    same = specs_of(engine, "input_specs") == inputs and specs_of(engine, "output_specs") == outputs
    checked.append(_checked(same, "specs stay the same"))
    owns = engine.owns_outputs
    checked.append(_checked(isinstance(owns, bool), "owns_outputs is True or False", shown(owns)))
    return inputs, outputs


def _inputs(specs: Mapping[str, TensorSpec], given: Mapping[str, Any] | None) -> dict[str, Any]:
    if given is not None:
        return dict(given)
    rng = np.random.default_rng(0)
    buffers = {name: spec.pack(_numbers(rng, spec)) for name, spec in specs.items()}
    return {
        name: buffer.reshape(specs[name].storage_shape)
        if buffer.size == int(np.prod(specs[name].storage_shape))
        else buffer
        for name, buffer in buffers.items()
    }


def _numbers(rng: np.random.Generator, spec: TensorSpec) -> np.ndarray:
    if spec.stored.kind == "f" or spec.dtype == "bfloat16":
        return rng.random(spec.shape).astype(np.float32)
    stored = rng.integers(0, 2 if spec.dtype == "bool" else 8, spec.shape)
    return stored.astype(np.float32) if spec.quantization is not None else stored.astype(spec.element.unpacked)


def _run(engine: Any, given: dict[str, Any], wanted: dict[str, TensorSpec]) -> dict[str, np.ndarray]:
    try:
        answer = engine.infer(dict(given))
    except NpuLayoutError as error:
        raise AssertionError(f"{_RUNS}: not so; {error}") from error
    found = _outputs(_RUNS, engine, answer, wanted)
    _checked(isinstance(answer, Mapping), "infer returns {name: buffer}", f"got {type(answer).__name__}")
    return {name: array.copy() for name, array in found.items()}


def _outputs(rule: str, engine: Any, answer: Any, wanted: dict[str, TensorSpec]) -> dict[str, np.ndarray]:
    """Return what infer returned as {name: flat buffer}; AssertionError with the rule if that is something else."""
    try:
        return checked_outputs(engine, answer, wanted)
    except NpuLayoutError as error:
        raise AssertionError(f"{rule}: not so; {error}") from error


def _same(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray], specs: Mapping[str, TensorSpec]) -> bool:
    """Whether all elements have equal bits, whatever is in the padding."""
    return all(spec.unpack(a[name]).tobytes() == spec.unpack(b[name]).tobytes() for name, spec in specs.items())


def _repeats(
    engine: Any,
    given: dict[str, Any],
    specs: dict[str, TensorSpec],
    wanted: dict[str, TensorSpec],
    first: dict[str, np.ndarray],
) -> str:
    """Run the inputs again, then others, then the inputs: a runtime that is late returns the others' outputs then."""
    rule = "infer is repeatable: equal inputs, equal outputs"
    again = _run(engine, given, wanted)
    if not _same(first, again, wanted):
        behind = _same(again, _run(engine, given, wanted), wanted)
        got = (
            "the first run of these inputs returned other outputs than the next ones: do they belong to an earlier "
            "input, as in an async mode?"
        )
        _checked(False, rule, got if behind else "")
    try:
        engine.infer({name: _other(specs[name], buffer) for name, buffer in given.items()})
    except Exception:  # what is no input of this network proves nothing
        return rule
    rule += ", whatever was run between"
    for late in range(1, _LATE + 1):
        got = f"run {late} after one of another input returned other outputs: do they belong to an earlier input?"
        _checked(_same(first, _run(engine, given, wanted), wanted), rule, got)
    return rule


def _other(spec: TensorSpec, buffer: Any) -> np.ndarray:
    """Return the numbers of a buffer in the opposite order, and in its shape, which an engine may look at."""
    turned = spec.flat(buffer)[::-1].copy()
    return turned.reshape(buffer.shape) if isinstance(buffer, np.ndarray) and buffer.size == turned.size else turned


def _leaves_outputs(
    engine: Any, given: dict[str, Any], wanted: dict[str, TensorSpec], first: dict[str, np.ndarray]
) -> str:
    kept = checked_outputs(engine, engine.infer(dict(given)), wanted)
    for array in kept.values():
        if array.flags.writeable:
            array.view(np.uint8).fill(0xA5)
    answer = checked_outputs(engine, engine.infer(dict(given)), wanted)
    apart = not any(np.shares_memory(kept[name], answer[name]) for name in kept)
    rule = "buffers that infer returned are the caller's (owns_outputs is False)"
    return _checked(apart and _same(first, answer, wanted), rule)


def _writes_out(engine: Any, given: dict[str, Any], wanted: dict[str, TensorSpec], first: dict[str, np.ndarray]) -> str:
    rule, plain = "out= is written, and returned", engine.infer(dict(given))
    shapes = {name: getattr(plain[name], "shape", spec.size) for name, spec in wanted.items()}  # bytes have none
    out = {name: np.zeros(shapes[name], spec.stored) for name, spec in wanted.items()}
    returned = _outputs(rule, engine, engine.infer(dict(given), out=out), wanted)
    written = _same(first, {name: array.reshape(-1) for name, array in out.items()}, wanted)
    same = all(np.shares_memory(returned[name], out[name]) for name in out)
    return _checked(written and same, rule)


def _refuses(engine: Any, given: dict[str, Any]) -> None:
    for name in given:
        wrong = {other: value for other, value in given.items() if other != name}
        wrong[f"not {name}"] = given[name]
        try:
            engine.infer(wrong)
        except Exception as error:
            rule = f"an unknown input is named in the error: {isolated(name)}"
            _checked(name in str(error), rule, f"{type(error).__name__}: {error}")
        else:
            raise AssertionError(f"an input of another name is refused: not so, for {isolated(name)}")


def _closes(make: Callable[[], Any], given: dict[str, Any]) -> str:
    rule = "a closed engine refuses to run, with an NpuLayoutError"
    engine = make()
    engine.close()
    engine.close()
    try:
        engine.infer(dict(given))
    except NpuLayoutError:
        return rule
    raise AssertionError(f"{rule}: not so; infer returned")
