"""Run any engine once, so that what it returns is checked and the caller's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..engines import checked_outputs


def run(
    engine: Any,
    inputs: Any,
    specs: Mapping[str, TensorSpec],
    out: Mapping[str, np.ndarray] | None = None,
    check: Callable[[bool, Mapping[str, np.ndarray], Iterable[Any]], None] | None = None,
) -> dict[str, np.ndarray]:
    """Run any engine, and return its checked outputs as the caller's own: in `out`, or copied if it owns them.

    check: what is called with whether it owns them, with them, and with the inputs and `out`.
    """
    owns, given = getattr(engine, "owns_outputs", True), inputs.values() if isinstance(inputs, Mapping) else (inputs,)
    if out is None:
        found = checked_outputs(engine, engine.infer(inputs), specs)
        if check is not None:
            check(owns, found, given)
        return {name: array.copy() for name, array in found.items()} if owns else found
    takes_out = hasattr(engine, "owns_outputs") and _takes_out(type(engine))  # type: ignore[arg-type]
    answer = engine.infer(inputs, out=out) if takes_out else engine.infer(inputs)
    found = checked_outputs(engine, answer, specs)
    if check is not None:
        check(True, found, (*given, *out.values()))  # who gave `out` has the results there
    for name, array in found.items():
        np.copyto(out[name].reshape(-1), array)  # nothing happens where it is that memory, as the protocol asks
    return {name: out[name] for name in found}


@lru_cache(maxsize=64)
def _takes_out(kind: type) -> bool:
    """Whether `infer` of such engines has the argument `out`, which one with `owns_outputs` alone may lack."""
    try:
        parameters = inspect.signature(kind.infer).parameters.values()  # type: ignore[attr-defined]
    except (AttributeError, TypeError, ValueError):  # of the instance, or in C
        return True
    return any(one.name == "out" or one.kind is one.VAR_KEYWORD for one in parameters)
