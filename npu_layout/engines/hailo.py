"""Run a HEF on a Hailo accelerator by HailoRT's Python package."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any

import numpy as np

from ..specs import from_hailo
from ..support import checked_call, one_of
from .runtime import RuntimeEngine, model_file, opening, runtime

FORMATS = ("AUTO", "UINT8", "UINT16", "FLOAT32")


class HailoEngine(RuntimeEngine):
    """Runs a HEF by hailo_platform (hailo-ai/hailort, hailort/libhailort/bindings/python): a virtual device, vstreams.

    The network stays active until `close`. Outputs that HailoRT has suppressed already (NMS in the HEF) have no
    TensorSpec and are refused: `decode.hailo_nms` reads them. Never run on a device: it was tried against a stand-in
    for hailo_platform.

    Parameters
    ----------
    model
        Path of the .hef file.
    input_format, output_format
        FormatType of the vstreams: "AUTO" (as the HEF has them: quantised), "UINT8", "UINT16" or "FLOAT32", which
        HailoRT quantises and dequantises itself.

    Raises
    ------
    NpuLayoutError
        If hailo_platform is missing, there is no device, or HailoRT refuses the model.
    """

    @checked_call
    def __init__(
        self, model: str | os.PathLike[str], *, input_format: str = "AUTO", output_format: str = "AUTO"
    ) -> None:
        path = model_file(model)
        name = f"model {path}"
        asked = [one_of("input_format", input_format, FORMATS), one_of("output_format", output_format, FORMATS)]
        hailo = runtime("hailo_platform", "hailort", "install HailoRT from Hailo's developer zone")
        self._open = ExitStack()
        with opening(name, self._open.close):
            hef = hailo.HEF(path)
            device = self._open.enter_context(hailo.VDevice())
            how = hailo.ConfigureParams.create_from_hef(hef, interface=hailo.HailoStreamInterface.PCIe)
            group = device.configure(hef, how)[0]
            kinds = [getattr(hailo.FormatType, kind) for kind in asked]
            streams = [
                side.make(group, format_type=kind)
                for side, kind in zip((hailo.InputVStreamParams, hailo.OutputVStreamParams), kinds)
            ]
            infos = (hef.get_input_vstream_infos(), hef.get_output_vstream_infos())
            inputs, outputs = (
                [from_hailo(info, format_type=None if kind == "AUTO" else kind) for info in side]
                for side, kind in zip(infos, asked)
            )
            self._streams = self._open.enter_context(hailo.InferVStreams(group, *streams))
            self._open.enter_context(group.activate(group.create_params()))
        super().__init__(name, inputs, outputs)

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        given = {spec.name: flat.reshape(spec.storage_shape) for spec, flat in zip(self.input_specs, inputs)}
        found: dict[str, Any] = self._streams.infer(given)
        return [np.ascontiguousarray(found[spec.name]).reshape(-1) for spec in self.output_specs]

    def _release(self) -> None:
        self._open.close()
