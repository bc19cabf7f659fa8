"""Check that an engine keeps the protocol: its specs, its buffers, its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..engines import Engine, checked_outputs, specs_of
from ..errors import NpuLayoutError
from ..support import checked_call, isolated


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
        first = _run(engine, given, wanted, checked)
        again = _run(engine, given, wanted, [])
        _rule(
            checked,
            _same(first, again, wanted),
            "infer is repeatable: equal inputs, equal outputs",
        )
        _outputs(engine, given, wanted, first, checked)
        if len(given_specs) == 1:
            single = checked_outputs(engine, engine.infer(next(iter(given.values()))), wanted)
            _rule(checked, _same(first, single, wanted), "one input needs no name")
        _refuses(engine, given, checked)
    _closes(make, given, checked)
    return checked


def _made(make: Callable[[], Any]) -> Any:
    engine = make()
    _rule([], isinstance(engine, Engine), f"{type(engine).__name__} has every member of the protocol",
          f"missing: {', '.join(n for n in _MEMBERS if not hasattr(engine, n)) or 'none'}")  # fmt: skip
    return engine


_MEMBERS = ("input_specs", "output_specs", "infer", "close", "__enter__", "__exit__", "owns_outputs")


def _rule(checked: list[str], kept: bool, rule: str, got: str = "") -> None:
    if not kept:
        raise AssertionError(f"{rule}: not so" + (f"; {got}" if got else ""))
    checked.append(rule)


def _specs(engine: Any, checked: list[str]) -> tuple[dict[str, TensorSpec], dict[str, TensorSpec]]:
    inputs, outputs = (specs_of(engine, which) for which in ("input_specs", "output_specs"))
    _rule(checked, bool(inputs) and bool(outputs), "input_specs and output_specs are named TensorSpecs")
    same = specs_of(engine, "input_specs") == inputs and specs_of(engine, "output_specs") == outputs
    _rule(checked, same, "specs stay the same")
    _rule(checked, isinstance(engine.owns_outputs, bool), "owns_outputs is True or False", repr(engine.owns_outputs))
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


def _run(
    engine: Any, given: dict[str, Any], wanted: dict[str, TensorSpec], checked: list[str]
) -> dict[str, np.ndarray]:
    try:
        found = checked_outputs(engine, engine.infer(dict(given)), wanted)
    except NpuLayoutError as error:
        raise AssertionError(f"infer returns what output_specs say: not so; {error}") from error
    checked.append("infer returns what output_specs say")
    return {name: array.copy() for name, array in found.items()}


def _same(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray], specs: Mapping[str, TensorSpec]) -> bool:
    """Whether all elements have equal bits, whatever is in the padding."""
    return all(spec.unpack(a[name]).tobytes() == spec.unpack(b[name]).tobytes() for name, spec in specs.items())


def _outputs(
    engine: Any, given: dict[str, Any], wanted: dict[str, TensorSpec], first: dict[str, np.ndarray], checked: list[str]
) -> None:
    """Check whose the buffers are, and that `out` is written."""
    if not engine.owns_outputs:
        kept = checked_outputs(engine, engine.infer(dict(given)), wanted)
        for array in kept.values():
            if array.flags.writeable:
                array.view(np.uint8).fill(0xA5)
        answer = checked_outputs(engine, engine.infer(dict(given)), wanted)
        apart = not any(np.shares_memory(kept[k], answer[k]) for k in kept)
        same = _same(first, answer, wanted)
        _rule(checked, apart and same, "buffers that infer returned are the caller's (owns_outputs is False)")
    out = {name: np.zeros(spec.size, spec.stored) for name, spec in wanted.items()}
    shaped = {name: np.asarray(array) for name, array in engine.infer(dict(given)).items()}
    out = {name: out[name].reshape(shaped[name].shape) for name in out}
    returned = engine.infer(dict(given), out=out)
    fits = _same(first, {k: array.reshape(-1) for k, array in out.items()}, wanted)
    fits = fits and all(np.shares_memory(np.asarray(returned[k]), out[k]) for k in out)
    _rule(checked, fits, "out= is written, and returned")


def _refuses(engine: Any, given: dict[str, Any], checked: list[str]) -> None:
    for name in given:
        wrong = {other: value for other, value in given.items() if other != name}
        wrong[f"not {name}"] = given[name]
        try:
            engine.infer(wrong)
        except Exception as error:
            rule = f"an unknown input is named in the error: {isolated(name)}"
            _rule([], name in str(error), rule, f"{type(error).__name__}: {error}")
        else:
            raise AssertionError(f"an input of another name is refused: not so, for {isolated(name)}")


def _closes(make: Callable[[], Any], given: dict[str, Any], checked: list[str]) -> None:
    engine = make()
    engine.close()
    engine.close()
    try:
        engine.infer(dict(given))
    except NpuLayoutError:
        checked.append("a closed engine refuses to run, with an NpuLayoutError")
    else:
        raise AssertionError("a closed engine refuses to run, with an NpuLayoutError: not so, infer returned")
