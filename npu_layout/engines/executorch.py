"""Run an ExecuTorch program on the CPU, or with the backends that were lowered into it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..specs import from_executorch
from ..support import checked_call, text_of
from .runtime import RuntimeEngine, model_file, names_of, opening, runtime


class ExecuTorchEngine(RuntimeEngine):
    """Runs a method of an ExecuTorch program (.pte).

    A program has no names of tensors: they are input0, input1 ... and output0, output1 ... Python's runtime does not
    report the order of dimensions either: tensors are read as dense, in the order of their sizes.

    Parameters
    ----------
    model
        Path of the .pte file.
    method
        Name of the program's method.
    input_names, output_names
        Names of the method's inputs and outputs, in its order.

    Raises
    ------
    NpuLayoutError
        If executorch is missing, the model is missing or damaged, there is no such method, or there are not as many
        names as tensors.
    """

    @checked_call
    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        method: str = "forward",
        input_names: Sequence[str] | None = None,
        output_names: Sequence[str] | None = None,
    ) -> None:
        path = model_file(model)
        name, wanted = f"model {path}", text_of("method", method)
        runtimes = runtime("executorch.runtime", "executorch")
        self._torch = runtime("torch", "torch")
        with opening(name):
            self._program = runtimes.Runtime.get().load_program(path)
            if wanted not in self._program.method_names:
                raise NpuLayoutError(
                    f"{name}: no method {wanted!r}; it has {', '.join(sorted(self._program.method_names))}"
                )
            self._method = self._program.load_method(wanted)
            about = self._method.metadata
        ports = (("input", about.num_inputs(), about.input_tensor_meta, input_names),
                 ("output", about.num_outputs(), about.output_tensor_meta, output_names))  # fmt: skip
        inputs, outputs = (_specs(name, *port) for port in ports)
        super().__init__(name, inputs, outputs)

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        given = [
            self._torch.from_numpy(np.array(flat.reshape(spec.storage_shape)))
            for spec, flat in zip(self.input_specs, inputs)
        ]
        answers = self._method.execute(given)
        return [np.ascontiguousarray(answer.detach().numpy()) for answer in answers]

    def _release(self) -> None:
        del self._method, self._program


def _specs(model: str, kind: str, count: int, meta: Any, names: Sequence[str] | None) -> list[TensorSpec]:
    """Return the specs of a method's inputs or outputs."""
    return [from_executorch(meta(i), name=name) for i, name in enumerate(names_of(model, kind, count, names))]
