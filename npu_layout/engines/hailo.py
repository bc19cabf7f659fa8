"""Run a HEF on a Hailo accelerator by HailoRT's Python package."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..specs import from_hailo
from ..support import checked_call, one_of
from .runtime import RuntimeEngine, model_file, opening, runtime

Arrays = Mapping[str, np.ndarray]
FORMATS = ("AUTO", "UINT8", "UINT16", "FLOAT32")


_WAIT_MS = 10_000


class HailoEngine(RuntimeEngine):
    """Runs a HEF by hailo_platform (hailo-ai/hailort, hailort/libhailort/bindings/python): a virtual device, vstreams.

    Where HailoRT has no vstreams, as for Hailo-10H (they end in HAILO_NOT_IMPLEMENTED: community.hailo.ai/t/18979), it
    is the InferModel API, with HailoRT's scheduler. The network stays active until `close`. Outputs that HailoRT has
    suppressed already (NMS in the HEF) have no TensorSpec and are refused: `decode.hailo_nms` reads them. Never run on
    a device: it was tried against stand-ins for hailo_platform.

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
            infos = (hef.get_input_vstream_infos(), hef.get_output_vstream_infos())
            inputs, outputs = (
                [from_hailo(info, format_type=None if kind == "AUTO" else kind) for info in side]
                for side, kind in zip(infos, asked)
            )
            kinds = [getattr(hailo.FormatType, kind) for kind in asked]
            try:
                self._infer = _by_vstreams(hailo, hef, kinds, self._open)
            except Exception as error:  # hailo_platform's exceptions tell it in their text alone
                if "NOT_IMPLEMENTED" not in str(error):
                    raise
                self._open.close()
                given = [kind if word != "AUTO" else None for kind, word in zip(kinds, asked)]
                self._infer = _by_infer_model(hailo, path, (inputs, outputs), given, self._open)
        super().__init__(name, inputs, outputs)

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        given = {spec.name: flat.reshape(spec.storage_shape) for spec, flat in zip(self.input_specs, inputs)}
        found = self._infer(given)
        return [np.ascontiguousarray(found[spec.name]).reshape(-1) for spec in self.output_specs]

    def _release(self) -> None:
        self._open.close()


def _by_vstreams(hailo: Any, hef: Any, kinds: Sequence[Any], opened: ExitStack) -> Callable[[Arrays], Arrays]:
    """Return what runs a network by vstreams, and activate it; `opened` closes all."""
    device = opened.enter_context(hailo.VDevice())
    how = hailo.ConfigureParams.create_from_hef(hef, interface=hailo.HailoStreamInterface.PCIe)
    group = device.configure(hef, how)[0]
    streams = [
        side.make(group, format_type=kind)
        for side, kind in zip((hailo.InputVStreamParams, hailo.OutputVStreamParams), kinds)
    ]
    pipeline = opened.enter_context(hailo.InferVStreams(group, *streams))
    opened.enter_context(group.activate(group.create_params()))
    infer: Callable[[Arrays], Arrays] = pipeline.infer
    return infer


def _by_infer_model(
    hailo: Any, path: str, specs: tuple[list[TensorSpec], list[TensorSpec]], kinds: Sequence[Any], opened: ExitStack
) -> Callable[[Arrays], Arrays]:
    """Return what runs a network by an InferModel, whose tensors have no axis for images; `opened` closes all."""
    how = hailo.VDevice.create_params()
    how.scheduling_algorithm = hailo.HailoSchedulingAlgorithm.ROUND_ROBIN
    model = opened.enter_context(hailo.VDevice(how)).create_infer_model(path)
    inputs, outputs = specs
    for find, side, kind in zip((model.input, model.output), specs, kinds):
        for spec in side if kind is not None else ():
            find(spec.name).set_format_type(kind)
    configured = opened.enter_context(model.configure())
    bindings = configured.create_bindings()
    # HailoRT writes to these at each run.
    found = {spec.name: np.zeros(spec.storage_shape[1:], spec.stored) for spec in outputs}
    for name, buffer in found.items():
        bindings.output(name).set_buffer(buffer)

    def infer(given: Arrays) -> Arrays:
        for spec in inputs:
            bindings.input(spec.name).set_buffer(np.ascontiguousarray(given[spec.name][0]))
        configured.run([bindings], _WAIT_MS)
        return found

    return infer
