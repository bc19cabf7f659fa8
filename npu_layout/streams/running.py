"""Run any engine once: its outputs are checked, and copied if they would not be the caller's own."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..engines import checked_outputs
from ..support import safe_lock


def run(
    engine: Any,
    inputs: Any,
    specs: Mapping[str, TensorSpec],
    out: Mapping[str, np.ndarray] | None = None,
    check: Callable[[bool, Mapping[str, np.ndarray], Iterable[Any]], None] | None = None,
) -> dict[str, np.ndarray]:
    """Run any engine, and return its checked outputs as the caller's own: in `out`, or copied if it owns them.

    check: what is called with whether it owns them, with them, and with the inputs and `out`. An engine that owns its
    outputs runs for one thread at a time, until they are copied: another thread's run would replace them.
    """
    owns = getattr(engine, "owns_outputs", True)
    with _exclusive(engine) if owns else nullcontext():
        return _run(engine, inputs, specs, out, check, owns)


def _run(engine: Any, inputs: Any, specs: Any, out: Any, check: Any, owns: bool) -> dict[str, np.ndarray]:
    given = inputs.values() if isinstance(inputs, Mapping) else (inputs,)
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


class _Guard:
    """The locks of engines that run, by their id, each with how many threads have or want it."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew, as in a child process, in which the threads that had the locks are not."""
        self.lock = safe_lock()
        self.engines: dict[int, tuple[Any, int]] = {}


_GUARD = _Guard()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_GUARD.forget)


@contextmanager
def _exclusive(engine: Any) -> Iterator[None]:
    """Keep other threads' runs of an engine out."""
    key = id(engine)
    with _GUARD.lock:
        own, count = _GUARD.engines.get(key, (None, 0))
        own = own or safe_lock(reentrant=True)
        _GUARD.engines[key] = own, count + 1
    try:
        with own:
            yield
    finally:
        with _GUARD.lock:
            own, count = _GUARD.engines.pop(key)
            if count > 1:
                _GUARD.engines[key] = own, count - 1


@lru_cache(maxsize=64)
def _takes_out(kind: type) -> bool:
    """Whether `infer` of such engines has the argument `out`, which one with `owns_outputs` alone may lack."""
    try:
        parameters = inspect.signature(kind.infer).parameters.values()  # type: ignore[attr-defined]
    except (AttributeError, TypeError, ValueError):  # of the instance, or in C
        return True
    return any(one.name == "out" or one.kind is one.VAR_KEYWORD for one in parameters)
