"""Run a kmodel of Kendryte's K230 on a computer, by nncase's simulator."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..support import checked_call
from .runtime import RuntimeEngine, distinct, layout_of, model_file, names_of, opening, per_tensor, runtime


class NncaseSimulator(RuntimeEngine):
    """Runs a .kmodel in nncase's Simulator, which computes on x86-64 what the K230's KPU does.

    Arrays are dense, in the shapes and types of the kmodel: the ONNX model's, unless it was compiled with
    `preprocess=True` (kendryte/nncase, docs/USAGE_v2_EN.md, "nncase inference APIs"; get_input_shape and
    get_output_shape of nncase 2.11). A kmodel has no names. nncase needs .NET and the package nncase-kpu. Never run
    with nncase itself: it was tried against a stand-in.

    Parameters
    ----------
    model
        Path of the .kmodel file.
    input_names, output_names
        Names of the ONNX model's inputs and outputs, in their order; None: input0, output0 ...
    layouts
        {name: letters of its axes}, such as ``{"input0": "NHWC"}``; the letters of others follow from their rank, N,
        NC, NCW, NCHW, with a warning if channels are last by the look of the shape.

    Raises
    ------
    NpuLayoutError
        If nncase is missing, has no .NET or refuses the model, there is no such tensor, or a shape is not fixed.
    """

    @checked_call
    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        input_names: Sequence[str] | None = None,
        output_names: Sequence[str] | None = None,
        layouts: Mapping[str, str] | None = None,
    ) -> None:
        path = model_file(model)
        name = f"model {path}"
        self._simulator: Any = None
        with opening(name, self._release):
            self._library: Any = runtime("nncase", "nncase nncase-kpu")
            self._simulator = simulator = self._library.Simulator()
            with open(path, "rb") as file:
                simulator.load_model(file.read())
            names = {
                side: names_of(name, side, getattr(simulator, f"{side}s_size"), given)
                for side, given in (("input", input_names), ("output", output_names))
            }
            letters = per_tensor("layouts", layouts, [one for listed in names.values() for one in listed])
            inputs, outputs = (
                distinct(
                    name, side, [_spec(name, simulator, side, i, one, letters) for i, one in enumerate(names[side])]
                )
                for side in names
            )
        super().__init__(name, inputs, outputs)

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        for i, (spec, flat) in enumerate(zip(self.input_specs, inputs)):
            array = np.ascontiguousarray(flat.reshape(spec.storage_shape))
            self._simulator.set_input_tensor(i, self._library.RuntimeTensor.from_numpy(array))
        self._simulator.run()
        found = (self._simulator.get_output_tensor(i).to_numpy() for i in range(len(self.output_specs)))
        return [np.ascontiguousarray(array) for array in found]

    def _release(self) -> None:
        self._simulator = None


def _spec(model: str, simulator: Any, side: str, i: int, name: str, letters: Mapping[str, str]) -> TensorSpec:
    """Return the spec of an input or output; NpuLayoutError if its shape is not fixed."""
    shape = tuple(int(n) for n in getattr(simulator, f"get_{side}_shape")(i))
    if not shape or min(shape) < 1:
        raise NpuLayoutError(
            f"{model}: {name}: shape {list(shape)} is not fixed: export the ONNX model with fixed shapes"
        )
    dtype = np.dtype(getattr(simulator, f"get_{side}_desc")(i).dtype)
    return TensorSpec(shape, layout_of(model, name, shape, letters), dtype, name=name)
