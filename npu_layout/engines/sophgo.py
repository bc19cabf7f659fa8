"""Run a bmodel on a Sophgo TPU by SOPHON-SAIL."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..specs import from_sophgo
from ..support import checked_call, whole_number
from .runtime import RuntimeEngine, distinct, model_file, one_network, opening, per_tensor, runtime


class SophgoEngine(RuntimeEngine):
    """Runs a bmodel with sophon.sail's Engine (sophgo/sophon-sail, docs/source_en/module_python/sail.Engine.rst).

    Tensors are sail.Tensors in system and device memory, copied with sync_s2d and sync_d2s, so that outputs are the
    integers that the TPU stores; Engine.process with numpy arrays would return scaled float32. sail only logs that a
    launch has failed (src/graph.cpp, inference): this engine cannot notice it. Never run on a device: it was tried
    against a stand-in for sail.

    Parameters
    ----------
    model
        Path of the .bmodel file.
    tpu_id
        The TPU's number, as bm-smi counts them.
    graph_name
        Name of one of the file's networks; None: the only one.
    layouts
        {name: letters of its axes}, such as ``{"images": "NHWC"}``, of inputs and outputs; the letters of others follow
        from their rank, N, NC, NCW, NCHW, with a warning if channels are last by the look of the shape.

    Raises
    ------
    NpuLayoutError
        If sophon.sail is missing, there is no TPU, sail refuses the model, or there is no such network or tensor.
    """

    @checked_call
    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        tpu_id: int = 0,
        graph_name: str | None = None,
        layouts: Mapping[str, str] | None = None,
    ) -> None:
        path = model_file(model)
        name = f"model {path}"
        where = whole_number("tpu_id", tpu_id)
        sail = runtime("sophon.sail", "sophon", "install SOPHON-SAIL, built of github.com/sophgo/sophon-sail")
        self._tensors: dict[str, Any] = {}
        self._engine = None
        with opening(name, self._release):
            self._engine = engine = sail.Engine(path, where, sail.IOMode.DEVIO)
            self._graph = graph = one_network(name, "graph_name", list(engine.get_graph_names()), graph_name)
            names = {"input": list(engine.get_input_names(graph)), "output": list(engine.get_output_names(graph))}
            letters = per_tensor("layouts", layouts, names["input"] + names["output"])
            inputs, outputs = (
                distinct(name, side, [_spec(engine, graph, side, one, letters.get(one)) for one in names[side]])
                for side in names
            )
            handle = engine.get_handle()
            for side, specs in zip(names, (inputs, outputs)):
                for spec in specs:
                    dtype = getattr(engine, f"get_{side}_dtype")(graph, spec.name)
                    self._tensors[f"{side} {spec.name}"] = sail.Tensor(handle, list(spec.shape), dtype, True, True)
        super().__init__(name, inputs, outputs)

    def _run(self, inputs: list[np.ndarray]) -> dict[str, np.ndarray]:
        engine: Any = self._engine
        feed = {spec.name: self._tensors[f"input {spec.name}"] for spec in self.input_specs}
        found = {spec.name: self._tensors[f"output {spec.name}"] for spec in self.output_specs}
        for spec, flat in zip(self.input_specs, inputs):
            bits = flat.view(np.uint16) if flat.dtype == np.float16 else flat
            feed[spec.name].update_data(bits.reshape(spec.shape))
            feed[spec.name].sync_s2d()
        engine.process(self._graph, feed, found)
        for spec in self.output_specs:
            shape = tuple(engine.get_output_shape(self._graph, spec.name))
            if shape != spec.shape:
                raise NpuLayoutError(f"{self.model}: SophgoEngine: output {spec.name} is now {shape}, not {spec.shape}")
            found[spec.name].sync_d2s()
        return {spec.name: _bits(found[spec.name].asnumpy(), spec) for spec in self.output_specs}

    def _release(self) -> None:
        self._tensors.clear()
        self._engine = None


def _spec(engine: Any, graph: str, side: str, name: str, layout: str | None) -> TensorSpec:
    """Return the spec of a tensor from what sail's methods report of it: the fields of bm_net_info_t."""
    info = {
        f"{side}_names": [name],
        f"{side}_dtypes": [getattr(engine, f"get_{side}_dtype")(graph, name)],
        f"{side}_scales": [getattr(engine, f"get_{side}_scale")(graph, name)],
        "stages": [{f"{side}_shapes": [list(getattr(engine, f"get_{side}_shape")(graph, name))]}],
    }
    return from_sophgo(info, side=side, layout=layout)


def _bits(array: np.ndarray, spec: TensorSpec) -> np.ndarray:
    """Return what asnumpy gives as the spec stores it: float16 comes as uint16."""
    return array.view(np.float16) if spec.stored == np.float16 and array.dtype == np.uint16 else array
