"""Run a network on a Luxonis OAK camera by DepthAI."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..specs import from_depthai, from_nnarchive
from ..support import checked_call, real_number
from .runtime import RuntimeEngine, declared_inputs, distinct, model_file, opening, runtime

_TYPES = {
    "float16": "FP16",
    "uint8": "U8F",
    "int32": "INT",
    "float32": "FP32",
    "int8": "I8",
    "float64": "FP64",
    "uint16": "U16F",
}


class DepthAiEngine(RuntimeEngine):
    """Runs an NN Archive or a blob on an OAK device with depthai 3, in a pipeline of one NeuralNetwork fed by the host.

    The outputs' specs come from a first run on zeros: the TensorInfo of each tensor has its order of axes, its strides
    and its scale. Never run on a device: it was tried with depthai's own NNData and a stand-in for the device.

    Parameters
    ----------
    model
        Path of the archive (.tar.xz), or of a blob, superblob or DLC.
    input_specs
        TensorSpecs of the inputs with their names, or their dicts (`TensorSpec.to_dict`), as the device reads them.
        None: as the archive's config says.
    timeout
        Seconds to wait for an answer. An answer that comes later is dropped, and never taken for that of the next run.

    Raises
    ------
    NpuLayoutError
        If depthai is missing, there is no device, it refuses the model or does not answer, or `input_specs` is missing
        for a model that is no archive.
    """

    @checked_call
    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        input_specs: Sequence[TensorSpec | Mapping[str, Any]] | None = None,
        timeout: float = 10.0,
    ) -> None:
        path = model_file(model)
        name = f"model {path}"
        self._wait = datetime.timedelta(seconds=real_number("timeout", timeout))
        self._name, self._pipeline = name, None
        self._owed = 0  # answers to what was sent: those of runs that were given up come first, and are dropped
        inputs = None if input_specs is None else declared_inputs(input_specs)
        self._depthai = dai = runtime("depthai", "depthai")
        is_archive = ".tar" in os.path.basename(path)
        if inputs is None and not is_archive:
            raise NpuLayoutError(
                f"{name}: input_specs: expected a TensorSpec for each input; a blob does not contain them"
            )
        with opening(name, self._release):
            archive: Any = dai.NNArchive(path) if is_archive else None
            if inputs is None:
                inputs = distinct(name, "input", [from_nnarchive(one) for one in archive.getConfigV1().model.inputs])
            self._kinds = [getattr(dai.TensorInfo.DataType, self._kind(spec)) for spec in inputs]
            self._pipeline = dai.Pipeline()
            network = self._pipeline.create(dai.node.NeuralNetwork)
            if archive is not None:
                network.setNNArchive(archive)
            else:
                network.setModelPath(path)
            self._send, self._receive = network.input.createInputQueue(), network.out.createOutputQueue()
            self._pipeline.start()
            answer = self._answer(inputs, [np.zeros(spec.size, spec.stored) for spec in inputs])
            outputs = distinct(name, "output", [from_depthai(info) for info in answer.getAllLayers()])
        super().__init__(name, inputs, outputs)

    def _kind(self, spec: TensorSpec) -> str:
        if spec.dtype not in _TYPES:
            raise NpuLayoutError(f"{self._name}: input {spec.name}: DepthAI has no {spec.dtype}: {', '.join(_TYPES)}")
        return _TYPES[spec.dtype]

    def _answer(self, specs: Sequence[TensorSpec], inputs: list[np.ndarray]) -> Any:
        message = self._depthai.NNData()
        for spec, flat, kind in zip(specs, inputs, self._kinds):
            message.addTensor(spec.name, flat.reshape(spec.storage_shape), kind)
        self._owed += 1  # before: an interrupt may make it one too many, and never one too few
        self._send.send(message)
        while True:
            answer = self._receive.get(self._wait)
            if answer is None:
                raise NpuLayoutError(f"{self._name}: no answer within {self._wait.total_seconds():g} s")
            self._owed -= 1
            if not self._owed:
                return answer

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        answer = self._answer(self.input_specs, inputs)
        memory = np.asarray(answer.getData()).reshape(-1).view(np.uint8)
        starts = {info.name: int(info.offset) for info in answer.getAllLayers()}
        found = []
        for spec in self.output_specs:
            if spec.name not in starts:
                raise NpuLayoutError(f"{self._name}: no tensor {spec.name!r} in the answer; got {', '.join(starts)}")
            part = memory[starts[spec.name] : starts[spec.name] + spec.nbytes]
            found.append(np.frombuffer(part.tobytes(), spec.stored))
        return found

    def _release(self) -> None:
        if self._pipeline is not None:
            self._pipeline.stop()
