"""What the engines of runtimes have in common: named buffers in and out, checked, and an end."""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..layouts import Layout
from ..support import isolated, items_of, path_of
from .onnxruntime import by_name

E = TypeVar("E", bound="RuntimeEngine")


def runtime(module: str, package: str) -> Any:
    """Import a runtime; NpuLayoutError that says what to install if it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise NpuLayoutError(f"{module} cannot be imported ({error}); pip install {package}") from error


def model_file(model: Any) -> str:
    """Return the path of a model that exists; NpuLayoutError if there is no such file."""
    path = path_of("model", model)
    if not os.path.isfile(path):
        raise NpuLayoutError(f"model {path}: " + ("is a directory" if os.path.isdir(path) else "no such file"))
    return path


def refused(name: str, error: Exception) -> NpuLayoutError:
    """Return the error that a model cannot be loaded, with the runtime's reason on one line."""
    return NpuLayoutError(f"{name}: cannot be loaded: {' '.join(str(error).split())}")


def told(input_specs: Any) -> list[TensorSpec]:
    """Return the inputs that a runtime does not report; NpuLayoutError if one is no TensorSpec with a name."""
    specs = items_of("input_specs", input_specs, TensorSpec)
    if not specs or not all(spec.name for spec in specs):
        raise NpuLayoutError("input_specs: expected a TensorSpec with a name for each input")
    return specs


def names_of(model: str, kind: str, count: int, given: Any) -> list[str]:
    """Return names of inputs or outputs ("input", "output"): those that are given, or input0, input1 ..."""
    names = [f"{kind}{i}" for i in range(count)] if given is None else items_of(f"{kind}_names", given, str, "names")
    if len(names) != count:
        raise NpuLayoutError(f"{kind}_names: {model} has {count} {kind}s, got {len(names)} names")
    return names


def seen(model: str, answers: Sequence[np.ndarray], output_names: Any) -> list[TensorSpec]:
    """Return the specs of outputs that a runtime does not report, from those of a run: dense, in their own order."""
    names = names_of(model, "output", len(answers), output_names)
    return [TensorSpec(a.shape, Layout.of_rank(a.ndim), a.dtype, name=name) for a, name in zip(answers, names)]


class RuntimeEngine:
    """An engine on top of a runtime: a class of it loads the model, and implements `_run` and `_release`.

    Attributes
    ----------
    model
        Its name in messages.
    input_specs, output_specs
        TensorSpecs with the tensors' names, in the model's order.
    owns_outputs
        False: the buffers that infer returns are copies.
    """

    owns_outputs = False

    def __init__(self, model: str, inputs: list[TensorSpec], outputs: list[TensorSpec]) -> None:
        self.model = model
        self.input_specs, self.output_specs = inputs, outputs
        self._closed, self._lock = False, threading.RLock()

    def __repr__(self) -> str:
        ports = ", ".join(f"{spec.name}{spec.shape}" for spec in (*self.input_specs, *self.output_specs))
        return f"<{type(self).__name__} {self.model}: {ports}>"

    def infer(self, inputs: Any, out: Mapping[str, np.ndarray] | None = None) -> dict[str, np.ndarray]:
        """Run the model once.

        Parameters
        ----------
        inputs
            {name: buffer}, or one buffer if the model has one input, each as TensorSpec.unpack accepts it: 1-D, or of
            the spec's storage shape, in the spec's dtype.
        out
            {name: array} to write outputs to, of the size and dtype of their specs; None: new arrays.

        Returns
        -------
        {name: buffer}, 1-D, in the model's order.

        Raises
        ------
        NpuLayoutError
            If a name is missing or unknown, a size or dtype differs, the runtime fails, or the engine is closed.
        """
        given = by_name(self.model, [spec.name for spec in self.input_specs], inputs)
        with self._lock:
            if self._closed:
                raise NpuLayoutError(f"{self.model}: the engine is closed")
            flat = []
            for spec in self.input_specs:
                try:
                    flat.append(spec.flat(given[spec.name]))
                except NpuLayoutError as error:
                    raise type(error)(f"{self.model}: input {isolated(spec.name)}: {error}") from None
            try:
                answers = self._run(flat)
            except NpuLayoutError:
                raise
            except Exception as error:  # runtimes' exceptions share no base of their own
                raise NpuLayoutError(f"{self.model}: {type(self).__name__} failed: {error}") from error
            return self._given(answers, out)

    def _given(self, answers: list[np.ndarray], out: Mapping[str, np.ndarray] | None) -> dict[str, np.ndarray]:
        """Return copies of the runtime's buffers, in `out` if that is given."""
        found = {}
        for spec, answer in zip(self.output_specs, answers):
            flat = spec.flat(answer)
            if out is None:
                found[spec.name] = flat.copy()
                continue
            if spec.name not in out:
                raise NpuLayoutError(f"out: no array for the output {isolated(spec.name)}")
            target = spec.flat(out[spec.name])
            if not np.shares_memory(target, out[spec.name]) or not target.flags.writeable:
                raise NpuLayoutError(f"out: {isolated(spec.name)}: expected a contiguous array that can be written")
            np.copyto(target, flat)
            found[spec.name] = target
        return found

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """Run the runtime on flat inputs; return its outputs, which may be its own memory."""
        raise NotImplementedError

    def _release(self) -> None:
        """Release the runtime."""

    def close(self) -> None:
        """Release the runtime; a second call does nothing. Raises nothing."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._release()

    def __enter__(self: E) -> E:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()
