"""Run a nef on a Kneron NPU by Kneron PLUS's Python package."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..specs import from_kneron
from ..support import checked_call, items_of, many, one_of, path_of, shown, whole_number
from .runtime import RuntimeEngine, distinct, model_file, names_of, one_network, opening, runtime

_WAIT_MS = 10_000
# kp.ChannelOrdering: these have an order of their own, others the ONNX model's, which is all that they convert to.
_CHANNEL_FIRST = ("KL520", "KL630", "KL720")


class KneronEngine(RuntimeEngine):
    """Runs a nef with kp, Kneron PLUS 2 and 3 (doc.kneron.com, docs/plus_python): generic data inference on one device.

    Inputs are the NPU's own buffers (tutorial "Model Inference - Data Inference"), so that nothing is preprocessed on
    the device: `specs.from_kneron` reads their order, scale and radix. Outputs are what kp.inference retrieves: dense,
    in the order C, H, W on KL520, KL630 and KL720, else in the order of the ONNX model. In inputs of 16 bits the lowest
    bit is cleared, as in Kneron's examples. Never run on a device: it was tried against a stand-in for kp.

    Parameters
    ----------
    model
        Path of the .nef file.
    usb_port_id
        The device's number, as kp.core.scan_devices has it; 0: the first that can be connected.
    firmware
        Paths of fw_scpu.bin and fw_ncpu.bin, which are loaded first (for a KL520 that boots from USB); None: the
        device's own firmware.
    model_id
        Number of one of the file's networks; None: the only one.
    retrieved
        "fixed": outputs are integers, with their quantization; "float": the floats that kp makes of them.
    input_names, output_names
        Names of the ONNX model's inputs and outputs, in the order of the nef; None: the names in the nef, or input0,
        output0 ... if it has none, as nefs for KL520.

    Raises
    ------
    NpuLayoutError
        If kp is missing, there is no device, the device refuses the model, there is no such network, or no layout
        describes a tensor.
    """

    @checked_call
    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        usb_port_id: int = 0,
        firmware: Sequence[str | os.PathLike[str]] | None = None,
        model_id: int | None = None,
        retrieved: str = "fixed",
        input_names: Sequence[str] | None = None,
        output_names: Sequence[str] | None = None,
    ) -> None:
        path = model_file(model)
        name = f"model {path}"
        port = whole_number("usb_port_id", usb_port_id)
        files, how = _firmware(firmware), one_of("retrieved", retrieved, ("fixed", "float"))
        wanted = None if model_id is None else str(whole_number("model_id", model_id))
        self._kp = kp = runtime("kp", "KneronPLUS", "install the wheel of Kneron PLUS, from Kneron's developer center")
        self._group: Any = None
        with opening(name, self._release):
            self._group = group = kp.core.connect_devices(usb_port_ids=[port])
            kp.core.set_timeout(device_group=group, milliseconds=_WAIT_MS)
            if files:
                kp.core.load_firmware_from_file(device_group=group, scpu_fw_path=files[0], ncpu_fw_path=files[1])
            loaded = kp.core.load_model_from_file(device_group=group, file_path=path)
            networks = {str(one.id): one for one in loaded.models}
            network = networks[one_network(name, "model_id", list(networks), wanted)]
            chip = str(getattr(loaded.target_chip, "name", loaded.target_chip)).rpartition("_")[2]
            inputs = _specs(name, "input", network.input_nodes, input_names, chip=chip)
            outputs = _specs(name, "output", network.output_nodes, output_names, retrieved=how)
            ordering = "CHW" if chip in _CHANNEL_FIRST else "DEFAULT"
            self._ordering = getattr(kp.ChannelOrdering, f"KP_CHANNEL_ORDERING_{ordering}")
            self._retrieve = getattr(kp.inference, f"generic_inference_retrieve_{how}_node")
        self._network = network.id
        self._number = self._waiting = 0
        super().__init__(name, inputs, outputs)

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        kp = self._kp
        self._number = (self._number + 1) % (1 << 31)
        asked = kp.GenericDataInferenceDescriptor(
            model_id=self._network,
            inference_number=self._number,
            input_node_data_list=[kp.GenericInputNodeData(buffer=_sent(flat)) for flat in inputs],
        )
        kp.inference.generic_data_inference_send(device_group=self._group, generic_inference_input_descriptor=asked)
        self._waiting += 1
        result = self._received()
        count = int(result.header.num_output_node)
        if count != len(self.output_specs):
            raise NpuLayoutError(
                f"{self.model}: KneronEngine: got {many(count, 'output')}, expected {len(self.output_specs)}"
            )
        return [self._node(i, spec, result) for i, spec in enumerate(self.output_specs)]

    def _received(self) -> Any:
        """Return the result of the run that was sent last: one that failed may have left its own in the device."""
        got = None
        while self._waiting:
            result = self._kp.inference.generic_data_inference_receive(device_group=self._group)
            self._waiting -= 1
            got = result.header.inference_number
            if got == self._number:
                return result
        raise NpuLayoutError(f"{self.model}: KneronEngine: expected the result of run {self._number}, got run {got}")

    def _node(self, index: int, spec: TensorSpec, result: Any) -> np.ndarray:
        """Return an output; NpuLayoutError if its shape is another than the nef's, but for extents of 1."""
        node = self._retrieve(node_idx=index, generic_raw_result=result, channels_ordering=self._ordering)
        if node is None:
            raise NpuLayoutError(f"{self.model}: KneronEngine: kp retrieves no output {spec.name}; its log may say why")
        array = np.ascontiguousarray(node.ndarray)
        if [n for n in array.shape if n != 1] != [n for n in spec.shape if n != 1]:
            raise NpuLayoutError(f"{self.model}: KneronEngine: output {spec.name} is {array.shape}, not {spec.shape}")
        return array.reshape(-1)

    def _release(self) -> None:
        group, self._group = self._group, None
        if group is not None:
            self._kp.core.disconnect_devices(device_group=group)


def _firmware(given: Any) -> list[str]:
    if given is None:
        return []
    files = [path_of("firmware", one) for one in items_of("firmware", given, object, "paths")]
    if len(files) != 2:
        raise NpuLayoutError(f"firmware: expected the paths of fw_scpu.bin and fw_ncpu.bin, got {shown(given)}")
    return files


def _specs(model: str, kind: str, nodes: Sequence[Any], names: Any, **options: Any) -> list[TensorSpec]:
    """Return the specs of inputs or outputs, with the names that are given, or the nef's."""
    called = names_of(model, kind, len(nodes), names)
    if names is None:
        called = [str(getattr(node, "name", "") or word) for node, word in zip(nodes, called)]
    return distinct(model, kind, [from_kneron(node, name=word, **options) for node, word in zip(nodes, called)])


def _sent(flat: np.ndarray) -> bytes:
    """Return an input's bytes; those of 16 bits have 15 for the NPU (convert_onnx_data_to_npu_data of PLUS)."""
    return (flat & -2).astype(flat.dtype).tobytes() if flat.dtype.itemsize == 2 else flat.tobytes()
