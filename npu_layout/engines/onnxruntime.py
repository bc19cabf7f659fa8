"""Who runs the model: onnxruntime on the CPU, and a stand-in that answers as an accelerator would.

onnxruntime is imported when the first engine is made.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..buffers import Quantization, TensorSpec, element
from ..errors import NpuLayoutError
from ..layouts import Layout
from ..support import counted

Arrays = dict[str, np.ndarray]

_DTYPES = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(float16)": "float16",
    "tensor(bool)": "bool",
    **{f"tensor({sign}int{bits})": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


class _Port:
    """One input or output as the model declares it; an axis without a fixed length holds its name or None."""

    def __init__(self, where: str, kind: str, node: Any) -> None:
        self.name: str = node.name
        self.shape: tuple[Any, ...] = tuple(node.shape)
        self.what = f"{where}: {kind} {node.name!r}"
        self.type: str = node.type
        self.dtype = np.dtype(_DTYPES[node.type]) if node.type in _DTYPES else None

    def free(self) -> list[str]:
        return ["?" if n is None else str(n) for n in self.shape if not isinstance(n, int) or n < 1]

    def spec(self) -> TensorSpec:
        if self.dtype is None:
            raise NpuLayoutError(f"{self.what} is a {self.type}; a TensorSpec needs a tensor of numpy numbers")
        if self.free():
            named = [name for name in self.free() if name != "?"]
            give = f"give OnnxRuntimeEngine dimensions={{{named[0]!r}: ...}} or " if named else ""
            raise NpuLayoutError(
                f"{self.what} has shape {_words(self.shape)}: the length of {', '.join(self.free())} is not fixed; "
                f"{give}fix it in the model (python -m onnxruntime.tools.make_dynamic_shape_fixed)"
            )
        layout = Layout.of_rank(len(self.shape)) if self.shape else Layout.plain("A")
        return TensorSpec(self.shape or (1,), layout, self.dtype, name=self.name)

    def check(self, value: Any) -> np.ndarray:
        array = np.asarray(value)
        if not self.shape and array.shape == (1,):
            array = array.reshape(())
        if self.dtype is not None and array.dtype != self.dtype:
            raise NpuLayoutError(f"{self.what} expects dtype {self.dtype}, got {array.dtype} of shape {array.shape}")
        if not fits(self.shape, array.shape):
            raise NpuLayoutError(f"{self.what} expects shape {_words(self.shape)}, got {array.shape}")
        return array


class OnnxRuntimeEngine:
    """Runs an ONNX model in onnxruntime on the CPU.

    Parameters
    ----------
    model
        Path of the model, or its bytes.
    threads
        Threads that one operator may use; None: onnxruntime's own choice.
    dimensions
        Lengths for the axes that the model names instead of fixing: ``{"batch": 1}``.

    Raises
    ------
    NpuLayoutError
        Where the model is missing, damaged or no ONNX model, or onnxruntime cannot run it; the message names it.

    Attributes
    ----------
    model
        What messages call it: "model" and its path.
    """

    model: str

    def __init__(
        self,
        model: str | os.PathLike[str] | bytes,
        *,
        threads: int | None = None,
        dimensions: Mapping[str, int] | None = None,
    ) -> None:
        if not isinstance(model, (bytes, bytearray, str, os.PathLike)):
            raise NpuLayoutError(f"model: expected a path or the bytes of a model, got {type(model).__name__}")
        self.model = "model" if isinstance(model, (bytes, bytearray)) else f"model {os.fspath(model)}"
        self._session = _session(self.model, model, threads, dimensions or {})
        self._inputs = [_Port(self.model, "input", node) for node in self._session.get_inputs()]
        self._outputs = [_Port(self.model, "output", node) for node in self._session.get_outputs()]

    def __repr__(self) -> str:
        ports = ", ".join(f"{port.name}{_words(port.shape)}" for port in self._inputs + self._outputs)
        return f"<OnnxRuntimeEngine {self.model}: {ports}>"

    @property
    def input_shapes(self) -> dict[str, tuple[Any, ...]]:
        """The inputs' shapes as the model gives them: an axis without a fixed length is its name, or None."""
        return {port.name: port.shape for port in self._inputs}

    @property
    def output_shapes(self) -> dict[str, tuple[Any, ...]]:
        """The outputs' shapes as the model gives them."""
        return {port.name: port.shape for port in self._outputs}

    @property
    def input_specs(self) -> list[TensorSpec]:
        """What infer takes, in model order: dense arrays, each with its name.

        The letters go by rank, whatever the axes mean in this model: N, NC, NCW, NCHW, NCDHW, and A B C ... beyond;
        a scalar counts as shape (1,). Raises NpuLayoutError where an axis has no fixed length.
        """
        return [port.spec() for port in self._inputs]

    @property
    def output_specs(self) -> list[TensorSpec]:
        """What infer returns, in model order; see input_specs."""
        return [port.spec() for port in self._outputs]

    def infer(self, inputs: Any) -> Arrays:
        """Run once.

        inputs: {name: array}, or one array where the model has one input, of exactly the model's dtype and shape.
        Returns {name: array} in the model's order, arrays of the caller's own. Raises NpuLayoutError on a missing or
        unknown name, another shape or dtype, and where onnxruntime fails.
        """
        given = _by_name(self.model, [port.name for port in self._inputs], inputs)
        feeds = {port.name: port.check(given[port.name]) for port in self._inputs}
        try:
            results = self._session.run(None, feeds)
        except Exception as error:  # onnxruntime's exceptions share no base of their own
            raise NpuLayoutError(f"{self.model}: onnxruntime failed: {_reason(error)}") from error
        return {
            port.name: result if port.shape else np.asarray(result).reshape(1)
            for port, result in zip(self._outputs, results)
        }


def _session(where: str, model: Any, threads: int | None, dimensions: Mapping[str, int]) -> Any:
    if not isinstance(model, (bytes, bytearray)) and not os.path.isfile(model):
        raise NpuLayoutError(f"{where}: " + ("is a directory" if os.path.isdir(model) else "no such file"))
    if threads is not None:
        threads = counted("threads", threads)
    if not isinstance(dimensions, Mapping):
        raise NpuLayoutError(f"dimensions: expected {{name: length}}, got {dimensions!r}")
    lengths = {str(name): counted(f"dimensions: length of {name!r}", length) for name, length in dimensions.items()}
    try:
        import onnxruntime  # type: ignore[import-untyped]
    except ImportError as error:
        raise NpuLayoutError(f"{where}: onnxruntime cannot be imported ({error}); pip install onnxruntime") from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if threads is not None:
        options.intra_op_num_threads = threads
    for name, length in lengths.items():
        options.add_free_dimension_override_by_name(name, length)
    source = bytes(model) if isinstance(model, (bytes, bytearray)) else os.fspath(model)
    try:
        session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise NpuLayoutError(f"{where}: onnxruntime cannot load it: {_reason(error)}") from error
    return session


def _reason(error: Exception) -> str:
    words = " ".join(str(error).split())
    return words.split(" : ", 2)[-1] if words.startswith("[ONNXRuntimeError]") else words


def _by_name(model: str, names: list[str], inputs: Any) -> dict[str, Any]:
    if not isinstance(inputs, Mapping):
        if len(names) != 1:
            raise NpuLayoutError(f"{model} has {len(names)} inputs: expected {{name: array}} for {', '.join(names)}")
        return {names[0]: inputs}
    if set(inputs) != set(names):
        got = ", ".join(map(str, inputs)) or "none"
        raise NpuLayoutError(f"{model} has the inputs {', '.join(names)}; got {got}")
    return dict(inputs)


class SimulatedNpu:
    """Answers as an accelerator does: the model runs in onnxruntime, and each output comes back as the flat, 1-D,
    padded and quantised buffer that its spec describes.

    Parameters
    ----------
    model
        Path or bytes of the model, or an OnnxRuntimeEngine (no second copy is loaded).
    outputs
        One TensorSpec for each output. A spec with a name belongs to the output of that name; the others take the
        remaining outputs in order. A spec with other axes than the model's (NHWC for NCHW) gets the tensor transposed,
        unless the model's own shape is the spec's (an NHWC model).
    inputs
        The same for the inputs, whose buffers then are what infer takes; None: arrays as the model declares them.
    threads
        As for OnnxRuntimeEngine.

    Raises
    ------
    NpuLayoutError
        Where the model cannot be loaded, or a spec fits no input or output of it.

    Attributes
    ----------
    engine
        The OnnxRuntimeEngine that runs it.
    last_float
        {name: array}: what the model itself gave in the last infer, before quantisation and packing.
    """

    engine: OnnxRuntimeEngine
    last_float: Arrays

    def __init__(
        self,
        model: str | os.PathLike[str] | bytes | OnnxRuntimeEngine,
        outputs: Sequence[TensorSpec],
        inputs: Sequence[TensorSpec] | None = None,
        *,
        threads: int | None = None,
    ) -> None:
        self.engine = model if isinstance(model, OnnxRuntimeEngine) else OnnxRuntimeEngine(model, threads=threads)
        where = self.engine.model
        self._outputs = _match(f"{where}: output", self.engine.output_shapes, outputs)
        self._inputs = None if inputs is None else _match(f"{where}: input", self.engine.input_shapes, inputs)
        self.last_float = {}

    @property
    def input_specs(self) -> list[TensorSpec]:
        """What infer takes, in model order."""
        return self.engine.input_specs if self._inputs is None else list(self._inputs.values())

    @property
    def output_specs(self) -> list[TensorSpec]:
        """What the flat buffers that infer returns are, in model order."""
        return list(self._outputs.values())

    def infer(self, inputs: Any) -> Arrays:
        """Run once: {name: flat 1-D array of the spec's buffer dtype}, in the model's order; pad elements are zero.

        inputs: {name: buffer}, or one buffer where the model has one input; bytes or an array, as TensorSpec.unpack
        takes it. Raises NpuLayoutError (BufferSizeError ...) where one does not fit.
        """
        if self._inputs is not None:
            dtypes = {port.name: port.dtype for port in self.engine._inputs}
            given = _by_name(self.engine.model, list(self._inputs), inputs)
            shapes = self.engine.input_shapes
            inputs = {
                name: spec.unpack(given[name], dtype=dtypes[name]).transpose(order_in_model(spec, shapes[name]))
                for name, spec in self._inputs.items()
            }
        self.last_float = self.engine.infer(inputs)
        buffers = {}
        for name, spec in self._outputs.items():
            array = self.last_float[name]
            buffers[name] = spec.pack(array.transpose(np.argsort(order_in_model(spec, array.shape))))
        return buffers


def _match(what: str, shapes: Mapping[str, tuple[Any, ...]], specs: Iterable[TensorSpec]) -> dict[str, TensorSpec]:
    """{name: spec}, in the model's order."""
    given = list(specs)
    matched = {spec.name: spec for spec in given if spec.name}
    unknown = [name for name in matched if name not in shapes]
    if unknown:
        raise NpuLayoutError(
            f"{what} {unknown[0]!r} does not exist, expected {', '.join(shapes)}; "
            f"a spec without a name is matched by order"
        )
    matched.update(
        zip(
            (name for name in shapes if name not in matched),
            (spec for spec in given if not spec.name),
        )
    )
    if len(given) != len(shapes) or set(matched) != set(shapes):
        raise NpuLayoutError(
            f"{what} specs: expected one for each of {', '.join(shapes)}; "
            f"got {', '.join(spec.name or 'one without a name' for spec in given) or 'none'}"
        )
    for name, spec in matched.items():
        wanted = shapes[name] or (1,)
        if not fits(wanted, tuple(spec.shape[i] for i in order_in_model(spec, wanted))):
            raise NpuLayoutError(
                f"{what} {name!r} has shape {_words(shapes[name])}; its spec has {_words(spec.shape)} ({spec.axes})"
            )
    return {name: _named(matched[name], name) for name in shapes}


def _words(shape: tuple[Any, ...]) -> str:
    return "(" + ",".join("?" if n is None else str(n) for n in shape) + ")"


def _named(spec: TensorSpec, name: str) -> TensorSpec:
    return TensorSpec.from_dict({**spec.to_dict(), "name": name})


def fits(wanted: tuple[Any, ...], shape: tuple[int, ...]) -> bool:
    """Whether the model takes `shape` for the one that it declares, in which an axis may have a name or None."""
    return len(shape) == len(wanted) and all(
        not isinstance(want, int) or want < 1 or want == got for want, got in zip(wanted, shape)
    )


def axes_in_model(axes: str) -> list[int]:
    """Where the model's axes stand in `axes`; letters that the model does not have keep their places."""
    model = Layout.of_rank(len(axes)).axes
    return [axes.index(letter) for letter in model] if sorted(model) == sorted(axes) else list(range(len(axes)))


def shape_in_model(spec: TensorSpec) -> tuple[int, ...]:
    """The spec's shape in the model's order of letters."""
    return tuple(spec.shape[i] for i in axes_in_model(spec.axes))


def order_in_model(spec: TensorSpec, wanted: tuple[Any, ...]) -> list[int]:
    """Where the axes of a model that declares the shape `wanted` stand among the spec's: in the model's order of
    letters, or, where only that fits, as they are."""
    order = axes_in_model(spec.axes)
    return order if fits(wanted, shape_in_model(spec)) or not fits(wanted, spec.shape) else list(range(len(order)))


def transposed(array: np.ndarray, axes: str, from_model: bool) -> np.ndarray:
    """A view of `array`, whose axes are `axes`, in the model's order; or, from_model, the other way."""
    order = axes_in_model(axes)
    return array.transpose(np.argsort(order) if from_model else order)


def calibrate(values: Any, dtype: Any) -> Quantization | None:
    """The per-tensor quantisation of `dtype` whose range holds `values` and zero; None for a float dtype.

    values: an array or a list of them (of any shapes). ``scale = (high - low) / (qmax - qmin)``, and the zero point is
    the nearest integer, so zero is exact and the ends may lie half a step outside. Raises NpuLayoutError on values
    that are not finite.

    >>> calibrate([-0.5, 127.0], "uint8")
    Quantization(0.5, 1)
    >>> calibrate([0.0], "float16") is None
    True
    """
    kind = element(dtype)
    if kind.unpacked.kind not in "iu":
        return None
    arrays = [np.asarray(v) for v in (values if isinstance(values, (list, tuple)) else [values])]
    low = min([0.0, *(float(a.min()) for a in arrays if a.size)])
    high = max([0.0, *(float(a.max()) for a in arrays if a.size)])
    if not np.isfinite([low, high]).all() or any(np.isnan(a).any() for a in arrays):
        raise NpuLayoutError(f"calibrate: expected finite values, got {low}..{high}")
    info = np.iinfo(kind.unpacked)
    bits = 4 if kind.nibbles else info.bits
    lowest = 0 if kind.unpacked.kind == "u" else -(2 ** (bits - 1))
    scale = (high - low) / (2**bits - 1) or 1.0
    return Quantization(scale, lowest - round(low / scale))
