"""Simulate an accelerator: run the ONNX model, and return buffers as a board stores them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..buffers import TensorSpec, in_model_order
from ..errors import NpuLayoutError
from ..support import checked_call, items_of, not_copied
from .model_axes import fits, order_in_model, shape_text
from .onnxruntime import Arrays, OnnxRuntimeEngine, ports
from .protocol import by_name, checked_targets


class SimulatedNpu:
    """A simulated accelerator, which answers as a device does: with flat, padded and quantised buffers.

    The model runs in onnxruntime, and each output comes back as the buffer that its spec describes.

    Parameters
    ----------
    model
        Path or bytes of the model, or an OnnxRuntimeEngine (no second copy is loaded).
    outputs
        One TensorSpec for each output. A spec with a name belongs to the output of that name; the others
        belong to the remaining outputs in order. For a spec with other axes than the model's (NHWC for NCHW) the tensor
        is transposed, unless the model's own shape is the spec's (an NHWC model).
    inputs
        The same for the inputs, which are then buffers of these specs; None: arrays as the model declares them. A spec
        with channels="BGR" stands for a model that reads RGB: red and blue are exchanged for it.
    threads
        As for OnnxRuntimeEngine.

    Raises
    ------
    NpuLayoutError
        If the model cannot be loaded, or a spec fits no input or output of it.

    Attributes
    ----------
    engine
        The OnnxRuntimeEngine that runs it.
    last_float
        {name: array} of the model's own outputs in the last call of infer, before they were quantised and packed.
    """

    engine: OnnxRuntimeEngine
    last_float: Arrays
    owns_outputs = False
    __reduce__ = not_copied("a session of onnxruntime")

    @checked_call
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
        self._outputs = _match(f"{where}: output", self.engine.output_shapes, items_of("outputs", outputs, TensorSpec))
        self._inputs = None
        if inputs is not None:
            given = items_of("inputs", inputs, TensorSpec)
            self._inputs = _match(f"{where}: input", self.engine.input_shapes, given)
        self.last_float = {}

    @property
    def input_specs(self) -> list[TensorSpec]:
        """The inputs of infer in the model's order."""
        return self.engine.input_specs if self._inputs is None else list(self._inputs.values())

    @property
    def output_specs(self) -> list[TensorSpec]:
        """The flat buffers that infer returns, in the model's order."""
        return list(self._outputs.values())

    @checked_call
    def infer(self, inputs: Any, out: Mapping[str, np.ndarray] | None = None) -> Arrays:
        """Run the model once, and return {name: buffer} in the model's order.

        A buffer is a 1-D array of the spec's stored dtype; its padding is zero. inputs: {name: buffer}, or one buffer
        if the model has one input, each as for TensorSpec.unpack: bytes or an array. out: {name: buffer} to write to;
        these are returned. Raises NpuLayoutError, such as BufferSizeError, if a buffer does not fit or the engine is
        closed.
        """
        if self._inputs is not None:
            dtypes = {port.name: port.dtype for port in ports(self.engine)["input"]}
            given = by_name(self.engine.model, list(self._inputs), inputs)
            shapes = self.engine.input_shapes
            inputs = {
                name: in_model_order(spec, spec.unpack(given[name], dtype=dtypes[name]), "RGB").transpose(
                    order_in_model(spec, shapes[name])
                )
                for name, spec in self._inputs.items()
            }
        answer = self.last_float = self.engine.infer(inputs)
        buffers = {}
        for name, spec in self._outputs.items():
            array = answer[name]  # another thread may set last_float meanwhile
            buffers[name] = spec.pack(array.transpose(np.argsort(order_in_model(spec, array.shape))))
        if out is None:
            return buffers
        for name, target in checked_targets(self.engine.model, out, self._outputs).items():
            np.copyto(target, buffers[name])
        return {name: out[name] for name in buffers}

    def close(self) -> None:
        """Close the engine that runs the model; a second call does nothing. Raises nothing."""
        self.engine.close()

    def __enter__(self) -> SimulatedNpu:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def _match(what: str, shapes: Mapping[str, tuple[Any, ...]], given: Sequence[TensorSpec]) -> dict[str, TensorSpec]:
    """Return {name: spec} in the model's order."""
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
                f"{what} {name!r} has shape {shape_text(shapes[name])}; "
                f"its spec has {shape_text(spec.shape)} ({spec.axes})"
            )
    return {name: _named(matched[name], name) for name in shapes}


def _named(spec: TensorSpec, name: str) -> TensorSpec:
    return spec.replace(name=name)
