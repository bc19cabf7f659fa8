"""Run an ONNX model in onnxruntime; onnxruntime is imported when the first engine is made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..layouts import Layout
from ..support import (
    checked_call,
    counted,
    isolated,
    lfs_pointer,
    no_file,
    not_copied,
    plain_array,
    shown,
    text_keys,
    thread_count,
)
from .model_axes import fits, shape_text
from .onnxruntime_faults import has_wrong_products, warn_of_products
from .protocol import by_name, check_apart, check_named
from .providers import CPU, Providers, asked_for, check_available, check_used
from .registry import SUFFIXES

Arrays = dict[str, np.ndarray]

_DTYPES = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(float16)": "float16",
    "tensor(bool)": "bool",
    **{f"tensor({sign}int{bits})": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


class Port:
    """One input or output as the model declares it; an axis without a fixed length is its name or None."""

    def __init__(self, where: str, kind: str, node: Any) -> None:
        self.name: str = node.name
        self.shape: tuple[Any, ...] = tuple(node.shape)
        self.what = f"{where}: {kind} {node.name!r}"
        self.type: str = node.type
        self.dtype = np.dtype(_DTYPES[node.type]) if node.type in _DTYPES else None

    def free(self) -> list[str]:
        """Return the axes without a fixed length: their names, or ``?``."""
        return ["?" if n is None else str(n) for n in self.shape if not isinstance(n, int) or n < 1]

    def spec(self) -> TensorSpec:
        """Return the spec of a contiguous array; NpuLayoutError if there is none."""
        if self.dtype is None:
            raise NpuLayoutError(f"{self.what} is a {self.type}; a TensorSpec needs a tensor of numpy numbers")
        if self.free():
            named = ", ".join(f"{name!r}: ..." for name in dict.fromkeys(self.free()) if name != "?")
            give = f"give OnnxRuntimeEngine dimensions={{{named}}} or " if named else ""
            raise NpuLayoutError(
                f"{self.what} has shape {shape_text(self.shape)}: the length of {', '.join(self.free())} is not fixed; "
                f"{give}fix it in the model (python -m onnxruntime.tools.make_dynamic_shape_fixed)"
            )
        layout = Layout.of_rank(len(self.shape)) if self.shape else Layout.plain("A")
        return TensorSpec(self.shape or (1,), layout, self.dtype, name=self.name)

    def check(self, value: Any) -> np.ndarray:
        """Return an input as an array; NpuLayoutError if its dtype or shape is not the model's."""
        array = plain_array(self.what, value)
        if not self.shape and array.shape == (1,):
            array = array.reshape(())
        if self.dtype is not None and array.dtype != self.dtype:
            no_array = array.dtype == object and not isinstance(value, np.ndarray)
            got = shown(value) if no_array else f"{array.dtype} of shape {array.shape}"
            raise NpuLayoutError(f"{self.what} expects dtype {self.dtype}, got {got}")
        if not fits(self.shape, array.shape):
            advice = "; it is a scalar, or the model declares no shape: give it one"
            if self.shape:
                advice = next((words for words, shape in _near(array.shape) if fits(self.shape, shape)), "")
            raise NpuLayoutError(f"{self.what} expects shape {shape_text(self.shape)}, got {array.shape}{advice}")
        return array

    def answer(self, result: Any) -> np.ndarray:
        """Return what onnxruntime returns for this output as an array; a sequence is one of objects."""
        if isinstance(result, list):
            array = np.empty(len(result), object)
            for i, value in enumerate(result):
                array[i] = value
            return array
        array = np.asarray(result)  # onnxruntime says the shape () of an unknown rank, too
        return array if array.ndim else array.reshape(1)


def _near(shape: tuple[int, ...]) -> list[tuple[str, tuple[int, ...]]]:
    """Return what may be wrong with an input, in words that end a message, and the shape that it is meant to have."""
    found = [("; its first axis is missing: give x[None]", (1, *shape))]
    if shape[:1] == (1,):
        found.append(("; it has an axis too many: give x[0]", shape[1:]))
    if len(shape) == 4:
        n, a, b, c = shape
        found.append(("; its channels are last: give x.transpose(0, 3, 1, 2)", (n, c, a, b)))
        found.append(("; its channels are first: give x.transpose(0, 2, 3, 1)", (n, b, c, a)))
    return found


class OnnxRuntimeEngine:
    """Runs an ONNX model in onnxruntime: on the CPU, or on an accelerator by a vendor's execution provider.

    Parameters
    ----------
    model
        Path of the model, or its bytes.
    threads
        Threads that one operator may use, 1 to 1024; None: onnxruntime's own choice.
    dimensions
        {name: length} of the axes that have a name instead of a length in the model: ``{"batch": 1}``.
    providers
        Execution providers, the first choice first, each a name or a pair (name, options):
        ``[("TIDLExecutionProvider", {"artifacts_folder": "..."})]``. The CPU's provider is added for operators that the
        others do not have; onnxruntime's log says which. None: the CPU alone. `validate` accepts no engine with another
        provider as its reference.

    Raises
    ------
    NpuLayoutError
        If the model is missing, damaged or no ONNX model, or onnxruntime cannot run it; the message names the model. If
        onnxruntime lacks a provider or cannot start it, where it would itself go on with the CPU.

    Warns
    -----
    UserWarning
        If the model has QLinearConv, MatMulInteger or another such operator, and this onnxruntime multiplies integers
        wrongly on this processor (versions 1.21 to 1.24 on x86 with AMX, microsoft/onnxruntime#26324). Models in QDQ
        format are then computed as their graphs say, in floats.

    Attributes
    ----------
    model
        What messages call the model: "model" and its path.
    """

    model: str
    owns_outputs = False  # the arrays are copies
    __reduce__ = not_copied("a session of onnxruntime")

    @checked_call
    def __init__(
        self,
        model: str | os.PathLike[str] | bytes,
        *,
        threads: int | None = None,
        dimensions: Mapping[str, int] | None = None,
        providers: Providers | None = None,
    ) -> None:
        self._providers = asked_for(providers)
        if not isinstance(model, (bytes, bytearray, str, os.PathLike)):
            raise NpuLayoutError(f"model: expected a path or the bytes of a model, got {type(model).__name__}")
        self.model = "model" if isinstance(model, (bytes, bytearray)) else f"model {os.fspath(model)}"
        self._session = self._opened(model, threads, {} if dimensions is None else dimensions)
        self._inputs = [Port(self.model, "input", node) for node in self._session.get_inputs()]
        self._outputs = [Port(self.model, "output", node) for node in self._session.get_outputs()]

    def __repr__(self) -> str:
        ports = ", ".join(f"{port.name}{shape_text(port.shape)}" for port in self._inputs + self._outputs)
        return f"<OnnxRuntimeEngine {self.model}: {ports}>"

    def _opened(self, model: Any, threads: int | None, dimensions: Mapping[str, int]) -> Any:
        """Return the session of a model, or raise NpuLayoutError."""
        where = self.model
        if not isinstance(model, (bytes, bytearray)) and not os.path.isfile(model):
            if not os.fspath(model):
                raise NpuLayoutError(f"model: expected the path of a file, got {model!r}")
            raise NpuLayoutError(f"{where}: {no_file(model)}")
        wanted = None if threads is None else thread_count(threads)
        lengths = _lengths(dimensions)
        try:
            import onnxruntime  # type: ignore[import-untyped]
        except ImportError as error:
            raise NpuLayoutError(
                f"{where}: onnxruntime cannot be imported ({error}); pip install onnxruntime"
            ) from error
        options = _session_options(onnxruntime, wanted, lengths)
        source = bytes(model) if isinstance(model, (bytes, bytearray)) else os.fspath(model)
        more = self._provided(onnxruntime, options)
        if not self.accelerators and has_wrong_products(onnxruntime.__version__):
            options.add_session_config_entry("session.disable_quant_qdq", "1")  # else QDQ becomes products of integers
            warn_of_products(where, source, onnxruntime.__version__)
        try:
            session = onnxruntime.InferenceSession(source, options, **more)
        except Exception as error:
            hint = "; give the model's path, its weights are beside it" if _lacks_files(model, error) else ""
            hint += _of_file(source) if isinstance(source, str) else ""
            raise NpuLayoutError(f"{where}: onnxruntime cannot load it: {_reason(error)}{hint}") from error
        check_used(where, more.get("providers", ()), session.get_providers())
        return session

    def _provided(self, onnxruntime: Any, options: Any) -> dict[str, Any]:
        """Say who computes: in `options`, or in further arguments of the session, which are returned."""
        names, each = zip(*self._providers)
        check_available(self.model, names, onnxruntime.get_available_providers())
        return {"providers": list(names), "provider_options": list(each)}

    @property
    def accelerators(self) -> list[str]:
        """The names of the execution providers other than the CPU's."""
        return [name for name, _ in self._providers if name != CPU]

    @property
    def input_shapes(self) -> dict[str, tuple[Any, ...]]:
        """{name: shape} of the inputs, as the model declares them: for an axis without a length, its name or None."""
        return {port.name: port.shape for port in self._inputs}

    @property
    def output_shapes(self) -> dict[str, tuple[Any, ...]]:
        """{name: shape} of the outputs, as the model declares them."""
        return {port.name: port.shape for port in self._outputs}

    @property
    def input_specs(self) -> list[TensorSpec]:
        """The specs of the inputs of infer, with their names, in the model's order: contiguous arrays.

        The letters of the axes depend on the rank alone, whatever the axes mean in this model: N, NC, NCW, NCHW, NCDHW,
        and A B C ... beyond; a scalar has the shape (1,). Raises NpuLayoutError if an axis has no fixed length.
        """
        return [port.spec() for port in self._inputs]

    @property
    def output_specs(self) -> list[TensorSpec]:
        """The outputs of infer in the model's order; see input_specs."""
        return [port.spec() for port in self._outputs]

    @checked_call
    def infer(self, inputs: Any, out: Mapping[str, np.ndarray] | None = None) -> Arrays:
        """Run the model once.

        inputs: {name: array}, or one array if the model has one input, of exactly the model's dtype and shape. out:
        {name: array} of the outputs' shapes and dtypes, to write them to. Returns {name: array} in the model's order:
        the arrays of `out`, or copies; an output that is a sequence is an array of objects. Raises NpuLayoutError if a
        name is missing or unknown, a shape or dtype differs, arrays of `out` overlap, onnxruntime fails, or the engine
        is closed.
        """
        session = self._session  # another thread may close the engine meanwhile
        if session is None:
            raise NpuLayoutError(f"{self.model}: the engine is closed")
        given = by_name(self.model, [port.name for port in self._inputs], inputs)
        feeds = {port.name: port.check(given[port.name]) for port in self._inputs}
        try:
            results = session.run(None, feeds)
        except Exception as error:  # onnxruntime's exceptions share no base of their own
            raise NpuLayoutError(f"{self.model}: onnxruntime failed: {_reason(error)}") from error
        found = {port.name: port.answer(result) for port, result in zip(self._outputs, results)}
        return found if out is None else written(self.model, found, out)

    def close(self) -> None:
        """Release the session; a second call does nothing. Raises nothing."""
        self._session = None

    def __enter__(self) -> OnnxRuntimeEngine:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def _lengths(dimensions: Any) -> dict[str, int]:
    """Return {name: length} of the axes that the model does not fix; NpuLayoutError if they are something else."""
    if not isinstance(dimensions, Mapping):
        raise NpuLayoutError(f"dimensions: expected {{name: length}}, got {dimensions!r}")
    named = text_keys("dimensions", dimensions)
    for name in named:
        if name.encode(errors="replace").decode() != name:  # half of a surrogate pair
            raise NpuLayoutError(f"dimensions: expected the name of an axis, got {name!a}")
    return {name: counted(f"dimensions: length of {name!r}", n) for name, n in named.items()}


def _session_options(onnxruntime: Any, threads: int | None, lengths: Mapping[str, int]) -> Any:
    """Return the options of a session whose results a board can be compared with."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Without it, sums of 8-bit products overflow 16 bits on x86 without VNNI, and the reference would be wrong
    # (onnxruntime, include/onnxruntime/core/session/onnxruntime_session_options_config_keys.h).
    options.add_session_config_entry("session.x64quantprecision", "1")
    # Else its threads go on spinning after a run, on the cores of what is done with the answers (same file).
    options.add_session_config_entry("session.force_spinning_stop", "1")
    if threads is not None:
        options.intra_op_num_threads = threads
    for name, length in lengths.items():
        options.add_free_dimension_override_by_name(name, length)
    return options


def ports(engine: OnnxRuntimeEngine) -> dict[str, list[Port]]:
    """Return {"input": inputs, "output": outputs} of an engine, as its model declares them."""
    return {"input": engine._inputs, "output": engine._outputs}


def reference(model: str | os.PathLike[str] | bytes | OnnxRuntimeEngine) -> OnnxRuntimeEngine:
    """Return the engine of a model that accelerators are compared with; NpuLayoutError if it runs on one itself."""
    engine = model if isinstance(model, OnnxRuntimeEngine) else OnnxRuntimeEngine(model)
    if engine.accelerators:
        raise NpuLayoutError(
            f"model: expected one that runs on the CPU, got {engine!r} on {', '.join(engine.accelerators)}, whose "
            f"faults would be the reference's too; give the model's path"
        )
    return engine


def written(model: str, found: Arrays, out: Any) -> Arrays:
    """Write arrays to those of `out`, and return these.

    NpuLayoutError if one is missing or unknown, has neither the output's shape nor one dimension, or overlaps another.
    """
    check_named(model, out, found)
    for name, array in found.items():
        target = out[name]
        shapes = (array.shape, (array.size,))
        if not isinstance(target, np.ndarray) or target.shape not in shapes or target.dtype != array.dtype:
            got = f"{getattr(target, 'shape', '')} {getattr(target, 'dtype', target)}"
            raise NpuLayoutError(f"{model}: out: {isolated(name)}: expected {array.shape} {array.dtype}, got {got}")
        if not target.flags.writeable or not target.flags.c_contiguous:
            raise NpuLayoutError(f"{model}: out: {isolated(name)}: expected a contiguous array that can be written")
    check_apart(model, {name: out[name] for name in found})
    for name, array in found.items():
        np.copyto(out[name].reshape(array.shape), array)
    return {name: out[name] for name in found}


_WEIGHTS_ELSEWHERE = ("external data", "model_path must not be empty")  # what newer versions say, and 1.17


def _lacks_files(model: Any, error: Exception) -> bool:
    """Whether a model was given as bytes, and has weights in other files."""
    said = str(error).lower()
    return isinstance(model, (bytes, bytearray)) and any(words in said for words in _WEIGHTS_ELSEWHERE)


def _of_file(path: str) -> str:
    """Return, behind a message on a file that is no ONNX model, what it is by its suffix or its beginning."""
    kind = SUFFIXES.get(os.path.splitext(path)[1].lower(), "onnx")
    return lfs_pointer(path) if kind == "onnx" else f"; expected an ONNX model: this one is opened by '{kind}:{path}'"


def _reason(error: Exception) -> str:
    words = " ".join(str(error).split()).rstrip(".")
    return words.split(" : ", 2)[-1] if words.startswith("[ONNXRuntimeError]") else words
