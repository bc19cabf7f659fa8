"""Run a HEF on a Hailo accelerator by HailoRT's Python package."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import LayoutError
from ..specs import from_hailo
from ..support import checked_call, isolated, one_of
from .runtime import RuntimeEngine, distinct, model_file, opening, runtime

Arrays = Mapping[str, Any]
FORMATS = ("AUTO", "UINT8", "UINT16", "FLOAT32")
_BOXES = ("HAILO_NMS", "HAILO_NMS_BY_CLASS")  # orders of boxes by class: hailort.h, hailo_format_order_t
_BBOX = 5  # edges and score

_WAIT_MS = 10_000


class HailoEngine(RuntimeEngine):
    """Runs a HEF with hailo_platform (hailo-ai/hailort, hailort/libhailort/bindings/python) on a virtual device.

    It uses vstreams. Where HailoRT has no vstreams, as for Hailo-10H (they end in HAILO_NOT_IMPLEMENTED:
    community.hailo.ai/t/18979), the InferModel API runs it, with HailoRT's scheduler. The network stays active until
    `close`. Never run on a device: it was tried against stand-ins for hailo_platform.

    If HailoRT suppresses boxes (NMS in the HEF, order HAILO_NMS_BY_CLASS), the output is HailoRT's list of them,
    (1, classes * (1 + 5 * most)) float32, which ``decode.hailo_nms`` reads; all outputs of such a HEF are FLOAT32.
    Other lists of boxes (by score, with masks) are refused.

    Parameters
    ----------
    model
        Path of the .hef file.
    input_format, output_format
        FormatType of the vstreams: "AUTO" (as the HEF has them, which is quantised), "UINT8", "UINT16" or "FLOAT32",
        for which HailoRT quantises and dequantises. Boxes are always floats.

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
            if asked[1] == "AUTO" and any(_is_boxes(info) for info in infos[1]):
                asked[1] = "FLOAT32"
            inputs, outputs = (
                distinct(name, which, [_spec(info, kind) for info in side])
                for which, side, kind in zip(("input", "output"), infos, asked)
            )
            kinds = [getattr(hailo.FormatType, kind) for kind in asked]
            try:
                self._infer = _by_vstreams(hailo, hef, kinds, self._open)
            except Exception as error:  # hailo_platform's exceptions say so in their text alone
                if "NOT_IMPLEMENTED" not in str(error):
                    raise
                self._open.close()
                given = [kind if word != "AUTO" else None for kind, word in zip(kinds, asked)]
                self._infer = _by_infer_model(hailo, path, (inputs, outputs), given, self._open)
        super().__init__(name, inputs, outputs)

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        given = {spec.name: flat.reshape(spec.storage_shape) for spec, flat in zip(self.input_specs, inputs)}
        found = self._infer(given)
        return [_flat(found[spec.name], spec) for spec in self.output_specs]

    def _release(self) -> None:
        self._open.close()


def _is_boxes(info: Any) -> bool:
    """Whether an output is a list of boxes for each class."""
    order = getattr(info.format.order, "name", info.format.order)
    return str(order).upper().rpartition("HAILO_FORMAT_ORDER_")[2] in _BOXES


def _spec(info: Any, kind: str) -> TensorSpec:
    """Return the spec of a stream; of boxes that of their memory: of each class a number, then room for so many."""
    if not _is_boxes(info):
        return from_hailo(info, format_type=None if kind == "AUTO" else kind)
    if kind != "FLOAT32":
        raise LayoutError(
            f"output_format: {isolated(info.name)} is a list of boxes: expected AUTO or FLOAT32, got {kind}"
        )
    shape = info.nms_shape
    return TensorSpec((1, shape.number_of_classes * (1 + _BBOX * shape.max_bboxes_per_class)), "NC", name=info.name)


def _flat(answer: Any, spec: TensorSpec) -> np.ndarray:
    """Return an output as one row of its memory; vstreams return boxes as a list of arrays for each image."""
    if not isinstance(answer, list):
        return np.ascontiguousarray(answer).reshape(-1)
    memory, at = np.zeros(spec.size, np.float32), 0
    for boxes in answer[0]:
        memory[at], end = len(boxes), at + 1 + boxes.size
        memory[at + 1 : end], at = boxes.reshape(-1), end
    return memory


def _by_vstreams(hailo: Any, hef: Any, kinds: Sequence[Any], opened: ExitStack) -> Callable[[Arrays], Arrays]:
    """Return what runs a network by vstreams, and activate it; `opened` closes all."""
    device = opened.enter_context(hailo.VDevice())
    group = device.configure(hef)[0]  # by the device's own interface: PCIe, or that of a Hailo-15's own cores
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

    def bound() -> tuple[Any, dict[str, np.ndarray]]:
        bindings = configured.create_bindings()
        found = {spec.name: np.zeros(spec.storage_shape[1:], spec.stored) for spec in outputs}
        for name, buffer in found.items():
            bindings.output(name).set_buffer(buffer)  # to which HailoRT writes at each run
        return bindings, found

    ready = [bound()]
    left: list[Any] = []  # of runs that failed: one that did not answer in time may still write to its memory

    def infer(given: Arrays) -> Arrays:
        bindings, found = ready.pop() if ready else bound()
        fed = [np.ascontiguousarray(given[spec.name][0]) for spec in inputs]
        for spec, buffer in zip(inputs, fed):
            bindings.input(spec.name).set_buffer(buffer)
        left.append((bindings, found, fed))
        configured.run([bindings], _WAIT_MS)
        ready.append(left.pop()[:2])
        return found

    return infer
