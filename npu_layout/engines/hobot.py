"""Run a model on a BPU of Horizon or D-Robotics by hbm_runtime."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..specs import from_hobot
from ..support import checked_call, naming
from .runtime import RuntimeEngine, declared_inputs, distinct, model_file, one_network, opening, per_tensor, runtime


class HobotEngine(RuntimeEngine):
    """Runs a model with hbm_runtime's HB_HBMRuntime, which comes with RDK OS: .hbm (RDK S100), .bin (RDK X5).

    HB_HBMRuntime takes arrays of the tensors' shapes, which it pads itself, and returns views of padded memory: the
    specs here are dense, whatever its strides are. Its metadata has a shape, a type and a quantization for each tensor,
    but no layout (d-robotics.github.io/rdk_doc/en/rdk_s/Algorithm_Application/python-api, input_shapes, input_dtypes,
    input_quants, run). hobot_dnn.pyeasy_dnn, the older package, copies one image to all inputs and ignores strides; it
    is not used. Never run on a device: it was tried against a stand-in for hbm_runtime.

    Parameters
    ----------
    model
        Path of the .hbm or .bin file.
    model_name
        Name of one of the file's networks; None: the only one.
    layouts
        {name: letters of its axes}, such as ``{"output": "NHWC"}``, of inputs and outputs; the letters of others follow
        from their rank, N, NC, NCW, NCHW, with a warning if channels are last by the look of the shape.
    input_specs
        TensorSpecs with names, or their dicts, of inputs that the metadata does not describe. An NV12 picture of X5 is
        no tensor: its spec is uint8 of shape (1, 3 * H / 2, W, 1), as public programs feed it; the manual does not say.

    Raises
    ------
    NpuLayoutError
        If hbm_runtime is missing or refuses the model, there is no such network or tensor, or a tensor is a picture of
        several planes or has no fixed shape.
    """

    @checked_call
    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        model_name: str | None = None,
        layouts: Mapping[str, str] | None = None,
        input_specs: Sequence[TensorSpec | Mapping[str, Any]] | None = None,
    ) -> None:
        path = model_file(model)
        name = f"model {path}"
        given = {} if input_specs is None else {spec.name: spec for spec in declared_inputs(input_specs)}
        library = runtime("hbm_runtime", "hbm_runtime", "install that of RDK OS, on the board")
        self._runtime = None
        with opening(name, self._release):
            self._runtime = library.HB_HBMRuntime(path)
            self._network = one_network(name, "model_name", list(self._runtime.model_names), model_name)
            found = {side: self._described(side) for side in ("input", "output")}
            letters = per_tensor("layouts", layouts, [one for fields in found.values() for one in fields])
            per_tensor("input_specs", given, list(found["input"]))
            inputs, outputs = (
                distinct(
                    name,
                    side,
                    [(side == "input" and given.get(one)) or _spec(name, one, fields[one], letters) for one in fields],
                )
                for side, fields in found.items()
            )
        super().__init__(name, inputs, outputs)

    def _described(self, side: str) -> dict[str, dict[str, Any]]:
        """Return the fields of hbDNNTensorProperties that hbm_runtime reports, by the tensor's name."""
        names, shapes, dtypes, quants = (
            getattr(self._runtime, f"{side}_{what}")[self._network] for what in ("names", "shapes", "dtypes", "quants")
        )
        return {
            one: {
                "validShape": [int(n) for n in shapes[one]],
                "tensorType": dtypes[one],
                "quantiType": quants[one].quant_type,
                "scale": {
                    "scaleLen": len(quants[one].scale),
                    "scaleData": quants[one].scale,
                    "zeroPointLen": len(quants[one].zero_point),
                    "zeroPointData": quants[one].zero_point,
                },
                "quantizeAxis": quants[one].axis,
            }
            for one in names
        }

    def _run(self, inputs: list[np.ndarray]) -> dict[str, np.ndarray]:
        feed = {spec.name: flat.reshape(spec.storage_shape) for spec, flat in zip(self.input_specs, inputs)}
        library: Any = self._runtime
        answers = library.run(feed, model_name=self._network)
        if self._network not in answers:
            raise NpuLayoutError(f"{self.model}: HobotEngine: no answer of {self._network!r}, but of {list(answers)}")
        return {one: np.ascontiguousarray(array) for one, array in answers[self._network].items()}

    def _release(self) -> None:
        self._runtime = None  # which ends with its last array


def _spec(model: str, name: str, fields: dict[str, Any], letters: Mapping[str, str]) -> TensorSpec:
    if any(n < 1 for n in fields["validShape"]):
        raise NpuLayoutError(f"{model}: {name}: shape {fields['validShape']} is dynamic; give it a fixed one")
    with naming(model):
        return from_hobot(fields, layout=letters.get(name), name=name)
