"""Run a model in OpenVINO, and read what its PrePostProcessor does by itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..specs import from_openvino
from ..support import checked_call
from .runtime import RuntimeEngine, model_file, opening, runtime

_CPU = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"}


class OpenVinoEngine(RuntimeEngine):
    """Runs a model in OpenVINO.

    The input's spec says what a PrePostProcessor in the graph does: its layout, and with `color` whether it reverses
    channels, and the mean and scale that it applies. So ``Preprocessor(spec, ...)`` and `validate` know them.

    Parameters
    ----------
    model
        Path of the .xml or .onnx file, or an openvino.Model.
    device
        "CPU", "GPU", "NPU", "AUTO" ...
    color
        "RGB" or "BGR": the order of colours that the model was trained on. None: the graph's preprocessing is not read.
    layouts
        {name: layout} of inputs and outputs whose ports have none: {"images": "NHWC"}.
    config
        Properties for compile_model. Unless they say otherwise, the CPU uses one thread and float32 (OpenVINO's own
        choice may be bfloat16).

    Raises
    ------
    NpuLayoutError
        If openvino is missing, the model is missing or damaged, or its shapes are not fixed.
    """

    @checked_call
    def __init__(
        self,
        model: Any,
        *,
        device: str = "CPU",
        color: str | None = None,
        layouts: Mapping[str, str] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        is_file = isinstance(model, (str, os.PathLike))
        name = f"model {model_file(model)}" if is_file else "model"
        openvino = runtime("openvino", "openvino")
        known = {} if layouts is None else dict(layouts)
        own = _CPU if device == "CPU" else {}
        with opening(name):
            core = openvino.Core()
            graph = core.read_model(model_file(model)) if is_file else model
            ports = [
                [from_openvino(p, layout=known.get(_name(p)), color=color if is_input else None) for p in side]
                for side, is_input in ((graph.inputs, True), (graph.outputs, False))
            ]
            self._request = core.compile_model(graph, device, {**own, **(config or {})}).create_infer_request()
        self._openvino = openvino
        super().__init__(name, _named(ports[0], "input"), _named(ports[1], "output"))

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        for i, (spec, flat) in enumerate(zip(self.input_specs, inputs)):
            tensor = self._request.get_input_tensor(i)
            np.copyto(tensor.data.reshape(-1), flat.view(tensor.data.dtype) if spec.dtype != "bool" else flat)
        self._request.infer()
        return [self._request.get_output_tensor(i).data for i in range(len(self.output_specs))]

    def _release(self) -> None:
        del self._request


def _name(port: Any) -> str:
    return str(min(port.names, default=""))


def _named(specs: list[Any], what: str) -> list[Any]:
    return [spec if spec.name else spec.replace(name=f"{what}{i}") for i, spec in enumerate(specs)]
