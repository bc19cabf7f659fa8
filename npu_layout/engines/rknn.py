"""Run an RKNN model on a Rockchip board by rknn-toolkit-lite2."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import NpuLayoutError
from ..support import checked_call, isolated
from .runtime import RuntimeEngine, declared_inputs, model_file, opening, runtime, seen

_USUAL = "nhwc"  # the default of data_format
_FORMATS = {"NHWC": _USUAL, "NCHW": "nchw"}  # the words of inference, by the input's tag


class RknnEngine(RuntimeEngine):
    """Runs an RKNN model with RKNNLite (airockchip/rknn-toolkit2, rknn-toolkit-lite2); its outputs are float32.

    RKNNLite dequantises, and returns the model's own shapes; it reports neither names nor inputs. RknnRuntimeEngine
    returns the buffers as the NPU stores them. RknnEngine was never run on a device: it was tried against a stand-in
    for RKNNLite.

    Parameters
    ----------
    model
        Path of the .rknn file.
    input_specs
        TensorSpecs of the inputs with their names, or their dicts (`TensorSpec.to_dict`): mostly uint8 with the axes N,
        H, W, C (``TensorSpec.of_storage``). RKNNLite takes inputs of four axes for NHWC; an input whose spec is NCHW is
        passed with ``data_format="nchw"``.
    output_names
        Names of the outputs; None: output0, output1 ... in the model's order.
    core_mask
        The core_mask of RKNNLite.init_runtime: ``RKNNLite.NPU_CORE_0`` ...; None: the driver's choice.

    Raises
    ------
    NpuLayoutError
        If rknn-toolkit-lite2 is missing, RKNNLite refuses the model, the numbers of names and outputs differ, or an
        input of four axes is neither NHWC nor NCHW.
    """

    @checked_call
    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        input_specs: Sequence[TensorSpec | Mapping[str, Any]] | None = None,
        output_names: Sequence[str] | None = None,
        core_mask: int | None = None,
    ) -> None:
        path = model_file(model)
        name = f"model {path}"
        inputs = declared_inputs(input_specs)
        self._formats = [_format_of(spec) for spec in inputs]
        library = runtime("rknnlite.api", "rknn-toolkit-lite2")
        self._lite: Any = None
        more = {} if core_mask is None else {"core_mask": core_mask}
        with opening(name, self._release):
            self._lite = library.RKNNLite()
            if (status := self._lite.load_rknn(path)) != 0:
                raise RuntimeError(f"load_rknn returned {status}; its log says why")
            if (status := self._lite.init_runtime(**more)) != 0:
                raise RuntimeError(f"init_runtime returned {status}; its log says why")
            answers = self._infer(inputs, [np.zeros(spec.size, spec.stored) for spec in inputs], name)
            outputs = seen(name, answers, output_names)
        super().__init__(name, inputs, outputs)

    def _infer(self, specs: Sequence[TensorSpec], inputs: list[np.ndarray], name: str) -> list[np.ndarray]:
        formats: Any = {"data_format": self._formats} if {*self._formats} - {_USUAL} else {}
        answers = self._lite.inference(
            inputs=[flat.reshape(spec.storage_shape) for spec, flat in zip(specs, inputs)], **formats
        )
        if answers is None:
            raise NpuLayoutError(f"{name}: RKNNLite returned nothing; its log says why")
        return [np.ascontiguousarray(answer) for answer in answers]

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        return self._infer(self.input_specs, inputs, self.model)

    def _release(self) -> None:
        if self._lite is not None:
            self._lite.release()


def _format_of(spec: TensorSpec) -> str:
    """Return the data_format of an input for RKNNLite's `inference`, which ignores it of other than four axes."""
    if len(spec.storage_shape) != 4:
        return _USUAL
    if spec.layout.tag not in _FORMATS:
        raise NpuLayoutError(
            f"input_specs: {isolated(spec.name)}: RKNNLite takes inputs of four axes as {' or '.join(_FORMATS)}, got "
            f"{spec.describe()}"
        )
    return _FORMATS[spec.layout.tag]
