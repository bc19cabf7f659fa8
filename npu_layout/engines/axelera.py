"""Run a compiled model on an Axelera Metis by axelera.runtime."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..specs import from_axelera
from ..support import checked_call
from .runtime import RuntimeEngine, distinct, model_file, opening, runtime


class AxeleraEngine(RuntimeEngine):
    """Runs a compiled model with axelera.runtime, of the Voyager SDK, on as many cores as the model has images.

    Buffers are those of the AIPU: int8, in NHWC, with padding; the padding of inputs has the zero point
    (axelera-ai-hub/voyager-sdk, docs/reference/apis/axruntime-py.md: TensorInfo, ModelInstance.run). Outputs are the
    AIPU's too: the `postamble`, the end of the ONNX model that the compiler cut off, is not computed. Never run on a
    device: it was tried against a stand-in for axelera.runtime.

    Parameters
    ----------
    model
        Path of the compiled model's model.json.
    device
        Name or number of the device, as Context.list_devices has it; None: a device that is free.

    Raises
    ------
    NpuLayoutError
        If axelera.runtime is missing or refuses the model, there is no device, or the compiler cut off the beginning of
        the model (a preamble), so that the model's input is not the AIPU's.

    Attributes
    ----------
    postamble
        Path of the ONNX model that computes the network's answers from the AIPU's outputs; "" if there is none. It
        reads these dequantised and in NCHW: ``spec.unpack(buffer, to="NCHW")``.
    """

    postamble: str

    @checked_call
    def __init__(self, model: str | os.PathLike[str], *, device: str | int | None = None) -> None:
        path = model_file(model)
        name = f"model {path}"
        library = runtime(
            "axelera.runtime", "axelera-rt", "install Axelera's Voyager SDK, and activate its environment"
        )
        self._context: Any = None
        with opening(name, self._release):
            self._context = library.Context()
            loaded = self._context.load_model(path)
            inputs = _specs(name, "input", loaded.inputs())
            outputs = _specs(name, "output", loaded.outputs())
            if preamble := str(getattr(loaded, "preamble_graph", "") or ""):
                raise NpuLayoutError(
                    f"{name}: its beginning was cut off, and is {preamble}: that has to run before; expected a model "
                    f"without a preamble, or an engine of your own"
                )
            images = inputs[0].shape[0]
            connection = self._context.device_connect(device, images)
            self._instance = connection.load_model_instance(loaded, num_sub_devices=images, aipu_cores=images)
            ending = str(getattr(loaded, "postamble_graph", "") or "")
            # The padding is written once: what runs are given replaces the tensor within it.
            self._fed = [np.full(info.shape, info.zero_point, info.dtype) for info in loaded.inputs()]
            self._found = [np.zeros(info.shape, info.dtype) for info in loaded.outputs()]
        self.postamble = os.path.join(os.path.dirname(path), ending) if ending else ""
        super().__init__(name, inputs, outputs)

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        for spec, buffer, flat in zip(self.input_specs, self._fed, inputs):
            spec.view(buffer.reshape(-1))[:] = spec.view(flat)
        self._instance.run(self._fed, self._found)
        return [buffer.reshape(-1) for buffer in self._found]

    def _release(self) -> None:
        if self._context is not None:
            self._context.release()  # which releases all that it made


def _specs(model: str, kind: str, infos: list[Any]) -> list[TensorSpec]:
    """Return the specs of inputs or outputs; those without a name are input0, input1 ..."""
    return distinct(
        model, kind, [from_axelera(one, name=getattr(one, "name", "") or f"{kind}{i}") for i, one in enumerate(infos)]
    )
