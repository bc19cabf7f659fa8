"""What the engines of runtimes have in common: named buffers in and out, checked, and an end."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar, Union

import numpy as np

from ..buffers import TensorSpec, axes_of_rank
from ..errors import LayoutError, NpuLayoutError
from ..layouts import Layout
from ..support import ProcessLock, isolated, items_of, lfs_pointer, many, naming, no_file, not_copied, path_of, text_of
from .protocol import by_name, checked_outputs, checked_targets

E = TypeVar("E", bound="RuntimeEngine")
Answers = Union[Sequence[np.ndarray], Mapping[str, np.ndarray]]


def runtime(module: str, package: str, how: str = "") -> Any:
    """Import a runtime; if it is missing, NpuLayoutError says what to install, or `how` if no package index has it."""
    try:
        return importlib.import_module(module)
    except Exception as error:  # an OSError where a package loads its library by ctypes
        raise NpuLayoutError(f"{module} cannot be imported ({error}); {how or f'pip install {package}'}") from error


def model_file(model: Any) -> str:
    """Return the path of a model that exists; NpuLayoutError if there is no such file."""
    path = path_of("model", model)
    if not path:
        raise NpuLayoutError(f"model: expected the path of a file, got {model!r}")
    if not os.path.isfile(path):
        raise NpuLayoutError(f"model {path}: {no_file(path)}")
    if pointer := lfs_pointer(path):
        raise NpuLayoutError(f"model {path}: is no model{pointer}")
    return path


def refused(name: str, error: Exception) -> NpuLayoutError:
    """Return the error that a model cannot be loaded, with the runtime's reason on one line."""
    return NpuLayoutError(f"{name}: cannot be loaded: {' '.join(str(error).split())}")


@contextmanager
def opening(name: str, release: Callable[[], None] | None = None) -> Iterator[None]:
    """Call `release` if opening a model fails or is interrupted by Ctrl-C, so that the device does not stay taken.

    Any exception that a runtime raises becomes the error that the model cannot be loaded; a warning that the program
    makes an error is none of those.
    """
    try:
        yield
    except BaseException as error:
        with suppress(Exception):  # why it failed is worth more
            if release is not None:
                release()
        if isinstance(error, (NpuLayoutError, Warning)) or not isinstance(error, Exception):
            raise
        raise refused(name, error) from error


def declared_inputs(input_specs: Any) -> list[TensorSpec]:
    """Return the inputs that a runtime does not report, given as TensorSpecs or dicts; NpuLayoutError without names."""
    given = input_specs
    if given is None:
        raise NpuLayoutError(
            "input_specs: this runtime does not report the model's inputs: give a TensorSpec with a name for each, as "
            'in input_specs=[TensorSpec.of_storage((1, 640, 640, 3), "NHWC", "uint8", name="images")]'
        )
    if isinstance(given, (list, tuple)):
        with naming("input_specs"):
            given = [TensorSpec.from_dict(spec) if isinstance(spec, Mapping) else spec for spec in given]
    specs = items_of("input_specs", given, TensorSpec)
    names = [spec.name for spec in specs]
    if not specs or not all(names) or len(set(names)) != len(names):
        raise NpuLayoutError(f"input_specs: expected a TensorSpec with a name of its own for each input, got {names}")
    return specs


def names_of(model: str, kind: str, count: int, given: Any) -> list[str]:
    """Return names of inputs or outputs ("input", "output"): those that are given, or input0, input1 ..."""
    names = [f"{kind}{i}" for i in range(count)] if given is None else items_of(f"{kind}_names", given, str, "names")
    if len(names) != count:
        raise NpuLayoutError(f"{kind}_names: {model} has {many(count, kind)}, got {many(len(names), 'name')}")
    if not all(names) or len(set(names)) != len(names):
        raise NpuLayoutError(f"{kind}_names: expected a name of its own for each {kind}, got {names}")
    return names


def per_tensor(what: str, given: Any, names: Sequence[str], kind: str = "tensor") -> dict[str, Any]:
    """Return an option that is given for some tensors, {name: value}; NpuLayoutError if one of them does not exist."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise NpuLayoutError(f"{what}: expected {{name of the {kind}: value}}, got {given!r}")
    for name in given:
        if name not in names:
            raise NpuLayoutError(f"{what}: no {kind} {name!r}; the model has {', '.join(map(isolated, names))}")
    return dict(given)


def layout_of(model: str, name: str, shape: Sequence[int], layouts: Mapping[str, str]) -> Layout:
    """Return the layout of a tensor of which a runtime reports the shape alone: that of its letters in `layouts`.

    If it has none there, the letters are those of its rank, with a warning if channels are last by the look of it.
    """
    if name not in layouts:
        return Layout.plain(axes_of_rank(f"{model}: {name}", shape, f"layouts={{{name!r}: 'NHWC'}}"))
    letters = layouts[name]
    if not isinstance(letters, str) or len(letters) != len(shape):
        usual = Layout.of_rank(len(shape)).axes
        raise LayoutError(
            f"layouts: {isolated(name)}: expected a letter for each axis of shape {tuple(shape)}, such as {usual!r}, "
            f"got {letters!r}"
        )
    return Layout.plain(letters)


def one_network(model: str, what: str, names: Sequence[str], wanted: str | None) -> str:
    """Return the network of a file that may have several: the one that is asked for, or the only one."""
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted is None or wanted not in names:
        got = "it has several" if wanted is None else f"got {text_of(what, wanted)!r}"
        raise NpuLayoutError(f"{what}: {model}: expected one of {', '.join(map(repr, names)) or 'none'}; {got}")
    return wanted


def distinct(model: str, kind: str, specs: list[TensorSpec]) -> list[TensorSpec]:
    """Return the specs of inputs or outputs ("input", "output"), if each has a name of its own, and there are some."""
    names = [spec.name for spec in specs]
    if not all(names) or len(set(names)) != len(names) or not names:
        raise NpuLayoutError(f"{model}: expected {kind}s with names of their own, got {names}")
    return specs


def seen(model: str, answers: Sequence[np.ndarray], output_names: Any, layouts: Any = None) -> list[TensorSpec]:
    """Return the specs of outputs that a runtime does not report, from the dense arrays of a run.

    layouts: {name of an output: letters of its axes}; the letters of the others are those of `layout_of`.
    """
    names = names_of(model, "output", len(answers), output_names)
    letters = per_tensor("layouts", layouts, names, "output")
    return [
        TensorSpec(array.shape, layout_of(model, name, array.shape, letters), array.dtype, name=name)
        for array, name in zip(answers, names)
    ]


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
    __reduce__ = not_copied("a runtime")

    def __init__(self, model: str, inputs: list[TensorSpec], outputs: list[TensorSpec]) -> None:
        self.model = model
        self.input_specs, self.output_specs = inputs, outputs
        self._closed, self._lock = False, ProcessLock()

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
            If a name is missing or unknown, a size or dtype differs, arrays of `out` overlap, the runtime fails, or the
            engine is closed.
        """
        given = by_name(self.model, [spec.name for spec in self.input_specs], inputs)
        with self._lock.own:
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
            return self._copied_outputs(answers, out)

    def _copied_outputs(self, answers: Answers, out: Mapping[str, np.ndarray] | None) -> dict[str, np.ndarray]:
        """Return copies of the runtime's buffers, in `out` if that is given; nothing is written if one is wrong."""
        specs = {spec.name: spec for spec in self.output_specs}
        found = checked_outputs(self, answers, specs)
        if out is None:
            return {name: flat.copy() for name, flat in found.items()}
        targets = checked_targets(self.model, out, specs)
        for name, target in targets.items():
            np.copyto(target, found[name])
        return targets

    def _run(self, inputs: list[np.ndarray]) -> Answers:
        """Run the runtime on flat inputs; return its outputs, in order or by name, which may be its own memory."""
        raise NotImplementedError

    def _release(self) -> None:
        """Release the runtime."""

    def close(self) -> None:
        """Release the runtime; a second call does nothing. Raises nothing."""
        with self._lock.own:
            if not self._closed:
                self._closed = True
                with suppress(Exception):  # as of a device that was unplugged; nothing is left to do
                    self._release()

    def __enter__(self: E) -> E:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()
