"""Run a model in MNN."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..specs import from_mnn
from ..support import checked_call, thread_count
from .runtime import RuntimeEngine, model_file, opening, runtime


class MnnEngine(RuntimeEngine):
    """Runs a model in MNN, in a session on the CPU or another backend.

    Outputs are in the model's own order, NCHW or NHWC: host tensors in Python cannot have MNN's NC4HW4.

    Parameters
    ----------
    model
        Path of the .mnn file.
    threads
        Threads of the session, 1 to 1024.
    backend
        "CPU", "OPENCL", "VULKAN" ..., as MNN names it.

    Raises
    ------
    NpuLayoutError
        If MNN is missing, or the model is missing or damaged.
    """

    @checked_call
    def __init__(self, model: str | os.PathLike[str], *, threads: int = 1, backend: str = "CPU") -> None:
        path = model_file(model)
        name = f"model {path}"
        self._mnn = runtime("MNN", "MNN")
        settings = {"numThread": thread_count(threads), "backend": backend}
        with opening(name):
            self._network = self._mnn.Interpreter(path)
            self._session = self._network.createSession(settings)
            ports = (self._network.getSessionInputAll(self._session), self._network.getSessionOutputAll(self._session))
        if not all(ports):
            raise NpuLayoutError(f"{name}: MNN cannot load it; expected a file that its converter wrote")
        self._inputs = list(ports[0].values())
        self._names = list(ports[1])
        self._hosts = [self._host(tensor) for tensor in ports[1].values()]
        inputs = [_spec(tensor, self._host(tensor), port) for port, tensor in ports[0].items()]
        outputs = [_spec(t, host, port) for (port, t), host in zip(ports[1].items(), self._hosts)]
        super().__init__(name, inputs, outputs)

    def _host(self, tensor: Any) -> Any:
        """Return a host tensor like `tensor`, in its own order; of blocks, in that of Caffe."""
        mnn, shape, kind = self._mnn, tensor.getShape(), tensor.getDataType()
        order = tensor.getDimensionType()
        if order == mnn.Tensor_DimensionType_Caffe_C4 or len(shape) != 4:
            order = mnn.Tensor_DimensionType_Caffe
        return mnn.Tensor(shape, kind, np.zeros(int(np.prod(shape)), _numpy(mnn, kind)), order)

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        for tensor, spec, flat in zip(self._inputs, self.input_specs, inputs):
            order = self._mnn.Tensor_DimensionType_Caffe if spec.axes[-1] != "C" else tensor.getDimensionType()
            tensor.copyFrom(self._mnn.Tensor(tensor.getShape(), tensor.getDataType(), flat, order))
        self._network.runSession(self._session)
        found = self._network.getSessionOutputAll(self._session)
        for name, host in zip(self._names, self._hosts):
            found[name].copyToHostTensor(host)
        return [np.asarray(host.getNumpyData()).reshape(-1) for host in self._hosts]

    def _release(self) -> None:
        self._inputs, self._hosts = [], []
        del self._session, self._network


def _numpy(mnn: Any, kind: Any) -> type:
    for name, dtype in (("Float", np.float32), ("Int", np.int32), ("Int64", np.int64), ("Uint8", np.uint8)):
        if kind == getattr(mnn, f"Halide_Type_{name}", None):
            return dtype
    raise NpuLayoutError(f"MNN: a tensor has the type {kind!r}, which MNN's tensors in Python cannot have")


def _spec(tensor: Any, host: Any, name: str) -> TensorSpec:
    return from_mnn({"shape": tensor.getShape(), "dimension_type": host.getDimensionType()},
                    dtype=host.getNumpyData().dtype, name=name)  # fmt: skip
