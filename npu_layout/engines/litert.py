"""Run a TFLite model in LiteRT: by its interpreter, or compiled for the CPU, a GPU or an NPU."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..specs import from_tflite
from ..support import checked_call, one_of, shown, thread_count
from .runtime import RuntimeEngine, distinct, model_file, opening, runtime

_PACKAGE = "ai-edge-litert"
#: Where the interpreter is: the first that can be imported. Boards' images have the second (NXP's BSPs, Coral, Debian).
_INTERPRETERS = ("ai_edge_litert.interpreter", "tflite_runtime.interpreter", "tensorflow.lite.python.interpreter")
ACCELERATORS = ("cpu", "gpu", "npu")


class LiteRtEngine(RuntimeEngine):
    """Runs a TFLite model, int8 or float, in LiteRT (ai-edge-litert); buffers are NHWC, as TFLite stores them.

    If that package is not installed, the same interpreter in tflite_runtime or tensorflow is used.

    Parameters
    ----------
    model
        Path of the .tflite file, or its bytes.
    threads
        Threads on the CPU, 1 to 1024.
    delegates
        Libraries of delegates, by path or name, or pairs (library, options), which the interpreter's own package loads:
        ``["libedgetpu.so.1"]`` for a Coral, ``["/usr/lib/libvx_delegate.so"]`` or
        ``["/usr/lib/libethosu_delegate.so"]`` for an i.MX; or delegates that you have loaded before.
    accelerator
        None: the interpreter runs the model. "cpu", "gpu", "npu", or several of them, best first, such as "npu+cpu":
        LiteRT's CompiledModel compiles the model for them (ai_edge_litert.compiled_model); inputs and outputs have the
        names and the order of the model's first signature. Only the CPU was tried.

    Raises
    ------
    NpuLayoutError
        If there is no interpreter, the model is missing or damaged, a delegate cannot be loaded, LiteRT cannot compile
        the model for the accelerator, or both delegates and an accelerator are given.
    """

    @checked_call
    def __init__(
        self,
        model: str | os.PathLike[str] | bytes,
        *,
        threads: int = 1,
        delegates: Sequence[Any] = (),
        accelerator: str | None = None,
    ) -> None:
        content = bytes(model) if isinstance(model, (bytes, bytearray)) else None
        path = "" if content is not None else model_file(model)
        name = "model" if content is not None else f"model {path}"
        threads = thread_count(threads)
        if isinstance(delegates, (str, bytes)) or not isinstance(delegates, Iterable):
            listed = f"; give [{delegates!r}]" if isinstance(delegates, str) else ""
            raise NpuLayoutError(
                f"delegates: expected a list of libraries or delegates, got {shown(delegates)}{listed}"
            )
        if accelerator is not None and delegates:
            raise NpuLayoutError("delegates: expected none with accelerator=, which chooses them")
        with opening(name):
            self._runner: Any = (
                _Interpreted(path, content, threads, delegates)
                if accelerator is None
                else _Compiled(path, content, threads, accelerator)
            )
        sides = {"input": self._runner.inputs, "output": self._runner.outputs}
        super().__init__(name, *(distinct(name, kind, specs) for kind, specs in sides.items()))

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        found: list[np.ndarray] = self._runner.run(inputs)
        return found

    def _release(self) -> None:
        del self._runner


def _library() -> Any:
    """Return the module that has the interpreter; NpuLayoutError if there is none, or it fails."""
    errors = []
    for module in _INTERPRETERS:
        try:
            return runtime(module, _PACKAGE)
        except NpuLayoutError as error:
            errors.append(error)
    raise next((error for error in errors if not isinstance(error.__cause__, ModuleNotFoundError)), errors[0])


def _interpreter(path: str, content: bytes | None, **options: Any) -> Any:
    source = {"model_path": path} if content is None else {"model_content": content}
    return _library().Interpreter(**source, **options)


def _loaded(delegate: Any) -> Any:
    """Return a delegate of its library, a path or a pair of one and its options; any other object as it is."""
    library, options = delegate if isinstance(delegate, tuple) and len(delegate) == 2 else (delegate, None)
    if not isinstance(library, (str, os.PathLike)):
        return delegate
    if options is not None and not isinstance(options, Mapping):
        raise NpuLayoutError(
            f"delegates: {os.fspath(library)}: expected {{name: value}} as options, got {shown(options)}"
        )
    try:
        return _library().load_delegate(os.fspath(library), options)
    except (ValueError, OSError, RuntimeError) as error:
        raise NpuLayoutError(f"delegates: {os.fspath(library)}: cannot be loaded: {error}") from error


class _Interpreted:
    """The interpreter, which fills the tensors in place. A tensor without a name is input0, output0 ..."""

    def __init__(self, path: str, content: bytes | None, threads: int, delegates: Sequence[Any]) -> None:
        self._interpreter = _interpreter(
            path, content, num_threads=threads, experimental_delegates=[_loaded(one) for one in delegates] or None
        )
        self._interpreter.allocate_tensors()
        given, made = self._interpreter.get_input_details(), self._interpreter.get_output_details()
        self._given, self._made = ([details["index"] for details in side] for side in (given, made))
        self.inputs, self.outputs = (
            [from_tflite({**details, "name": details["name"] or f"{kind}{i}"}) for i, details in enumerate(side)]
            for kind, side in (("input", given), ("output", made))
        )

    def run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        for index, spec, flat in zip(self._given, self.inputs, inputs):
            self._interpreter.set_tensor(index, flat.reshape(spec.storage_shape))
        self._interpreter.invoke()
        return [self._interpreter.get_tensor(index) for index in self._made]


class _Compiled:
    """A CompiledModel. It reports no quantization; the interpreter, which is not started, reads it from the model."""

    def __init__(self, path: str, content: bytes | None, threads: int, accelerator: str) -> None:
        chosen = [one_of("accelerator", word, ACCELERATORS) for word in accelerator.split("+")]
        compiling = runtime("ai_edge_litert.compiled_model", _PACKAGE)
        options = compiling.Options(
            hardware_accelerators=reduce(or_, (compiling.HardwareAccelerator[word.upper()] for word in chosen)),
            cpu_options=compiling.CpuOptions(num_threads=threads),
        )
        model = compiling.CompiledModel
        self._model = (
            model.from_file(path, options=options) if content is None else model.from_buffer(content, options=options)
        )
        signature = self._model.get_signature_by_index(0)
        known = _interpreter(path, content)
        tensors = {d["index"]: d for d in (*known.get_input_details(), *known.get_output_details())}
        sides = self._model.get_input_tensor_details, self._model.get_output_tensor_details
        self.inputs, self.outputs = (
            _named(signature[side], details(signature["key"]), tensors)
            for side, details in zip(("inputs", "outputs"), sides)
        )
        self._given, self._made = self._model.create_input_buffers(0), self._model.create_output_buffers(0)

    def run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        for buffer, flat in zip(self._given, inputs):
            buffer.write(flat)
        self._model.run_by_index(0, self._given, self._made)
        return [buffer.read(spec.size, spec.stored) for buffer, spec in zip(self._made, self.outputs)]


def _named(names: Sequence[str], details: dict[str, Any], tensors: dict[int, Any]) -> list[TensorSpec]:
    """Return specs by the names of a signature."""
    return [from_tflite(tensors[details[name]["index"]]).replace(name=name) for name in names]
