"""Run a library that TVM's Relax compiled."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..support import checked_call, text_of
from .runtime import RuntimeEngine, declared_inputs, model_file, opening, runtime, seen


class TvmEngine(RuntimeEngine):
    """Runs a library that TVM's Relax compiled and exported (``export_library("model.so")``).

    A library has neither names nor shapes: `input_specs` declares the inputs, and a run on zeros finds the outputs:
    dense arrays of the function's own dtypes and shapes, of which nothing says the order of the axes. It is the order
    of the model that was imported (TFLite's is NHWC), unless a pass such as relax.transform.ConvertLayout changed it.

    Parameters
    ----------
    model
        Path of the library.
    input_specs
        TensorSpecs of the inputs with their names, or their dicts (`TensorSpec.to_dict`), in the function's order.
    output_names
        Names of the outputs; None: output0, output1 ...
    layouts
        {name: letters of its axes}, such as ``{"output0": "NHWC"}``, of outputs; the letters of others follow from
        their rank, N, NC, NCW, NCHW, with a warning if channels are last by the look of the shape.
    device
        Where it runs, as tvm.device reads it: "cpu", "cuda", "opencl" ...
    function
        Name of the library's function.

    Raises
    ------
    NpuLayoutError
        If apache-tvm is missing, if the library is missing or damaged, has no such function or refuses the inputs, if
        there are not as many names as outputs, or no such output.
    """

    @checked_call
    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        input_specs: Sequence[TensorSpec | Mapping[str, Any]] | None = None,
        output_names: Sequence[str] | None = None,
        layouts: Mapping[str, str] | None = None,
        device: str = "cpu",
        function: str = "main",
    ) -> None:
        path = model_file(model)
        name = f"model {path}"
        inputs = declared_inputs(input_specs)
        where, wanted = text_of("device", device), text_of("function", function)
        self._tvm, relax = runtime("tvm", "apache-tvm"), runtime("tvm.relax", "apache-tvm")
        with opening(name):
            self._device = self._tvm.device(where)
            self._call = relax.VirtualMachine(self._tvm.runtime.load_module(path), self._device)[wanted]
            answers = self._answers(inputs, [np.zeros(spec.size, spec.stored) for spec in inputs])
        super().__init__(name, inputs, seen(name, answers, output_names, layouts))

    def _answers(self, specs: Sequence[TensorSpec], inputs: list[np.ndarray]) -> list[np.ndarray]:
        tensors = [
            self._tvm.runtime.tensor(flat.reshape(spec.storage_shape), self._device)
            for spec, flat in zip(specs, inputs)
        ]
        found: Any = self._call(*tensors)
        return [np.ascontiguousarray(one.numpy()) for one in ([found] if hasattr(found, "numpy") else found)]

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        return self._answers(self.input_specs, inputs)

    def _release(self) -> None:
        del self._call
