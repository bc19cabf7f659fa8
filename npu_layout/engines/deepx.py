"""Run a dxnn model on a DEEPX NPU by dx_engine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..support import checked_call
from .runtime import RuntimeEngine, distinct, layout_of, model_file, opening, per_tensor, runtime


class DeepxEngine(RuntimeEngine):
    """Runs a .dxnn model with dx_engine's InferenceEngine (DEEPX's DX-RT, github.com/DEEPX-AI/dx_rt).

    dx_engine reports the name, shape, dtype and size in bytes of each tensor, but not the order of its axes; it returns
    lists of arrays, in the order of its outputs (get_input_tensors_info, get_input_tensor_sizes, run, run_multi_input
    of its Python API). Never run on a device: it was tried against a stand-in for dx_engine.

    Parameters
    ----------
    model
        Path of the .dxnn file.
    layouts
        {name: letters of its axes}, such as ``{"images": "NHWC"}``, of inputs and outputs; the letters of others follow
        from their rank, N, NC, NCW, NCHW, with a warning if channels are last by the look of the shape.

    Raises
    ------
    NpuLayoutError
        If dx_engine is missing or refuses the model, there is no NPU, a buffer has more or fewer bytes than its shape
        needs (as where rows are padded to 64 bytes), or the model ends in DEEPX's PPU, which returns lists of boxes.
    """

    @checked_call
    def __init__(self, model: str | os.PathLike[str], *, layouts: Mapping[str, str] | None = None) -> None:
        path = model_file(model)
        name = f"model {path}"
        library = runtime("dx_engine", "dx_engine", "install DEEPX's DX-RT, which has its wheel")
        self._engine: Any = None
        with opening(name, self._release):
            self._engine = engine = library.InferenceEngine(path)
            if engine.is_ppu():
                raise NpuLayoutError(
                    f"{name}: ends in a PPU: its output is a list of boxes, which no TensorSpec describes"
                )
            infos = {side: getattr(engine, f"get_{side}_tensors_info")() for side in ("input", "output")}
            letters = per_tensor("layouts", layouts, [str(info["name"]) for side in infos.values() for info in side])
            inputs, outputs = (
                distinct(
                    name,
                    side,
                    [
                        _spec(name, info, size, letters)
                        for info, size in zip(infos[side], getattr(engine, f"get_{side}_tensor_sizes")())
                    ],
                )
                for side in infos
            )
        super().__init__(name, inputs, outputs)

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        feed = {spec.name: flat.reshape(spec.storage_shape) for spec, flat in zip(self.input_specs, inputs)}
        # A list of several arrays would be a batch to `run`.
        found = self._engine.run(list(feed.values())) if len(feed) == 1 else self._engine.run_multi_input(feed)
        return [np.ascontiguousarray(array) for array in found]

    def _release(self) -> None:
        if self._engine is not None:
            self._engine.dispose()


def _spec(model: str, info: Mapping[str, Any], size: int, letters: Mapping[str, str]) -> TensorSpec:
    name, shape = str(info["name"]), tuple(int(n) for n in info["shape"])
    if not shape or min(shape) < 1:
        raise NpuLayoutError(
            f"{model}: {name}: shape {list(shape)} is not fixed: export the ONNX model with fixed shapes"
        )
    spec = TensorSpec(shape, layout_of(model, name, shape, letters), np.dtype(info["dtype"]), name=name)
    if spec.nbytes != size:
        raise NpuLayoutError(f"{model}: {name}: its buffer has {size} bytes; {spec.describe()} needs {spec.nbytes}")
    return spec
