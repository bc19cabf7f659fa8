"""Run an RKNN model on a Rockchip board by rknn-toolkit-lite2."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..errors import LayoutError, NpuLayoutError
from ..support import checked_call, isolated
from .runtime import RuntimeEngine, declared_inputs, model_file, opening, runtime, seen

_TAKEN = "NHWC"  # the order of an input of four axes, unless data_format says otherwise


class RknnEngine(RuntimeEngine):
    """Runs an RKNN model with RKNNLite (airockchip/rknn-toolkit2, rknn-toolkit-lite2); its outputs are float32.

    RKNNLite dequantises, and returns the model's own shapes; it reports neither names nor inputs, nor the order of an
    output's axes. `data_format` of its `inference` is of the inputs alone (rknnlite/api/rknn_lite.py of 2.5.0). The
    outputs are NCHW, of a TFLite model's convolutions too (airockchip/rknn-toolkit2, issue 530), unless the graph
    itself ends in a transposition. RknnRuntimeEngine returns the buffers as the NPU stores them. RknnEngine was never
    run on a device: it was tried against a stand-in for RKNNLite.

    Parameters
    ----------
    model
        Path of the .rknn file.
    input_specs
        TensorSpecs of the inputs with their names, or their dicts (`TensorSpec.to_dict`): mostly uint8 with the axes N,
        H, W, C (``TensorSpec.of_storage``). RKNNLite takes inputs of four axes for NHWC; those whose spec has another
        order are transposed here, because versions differ in which `data_format` they accept for NCHW
        (rockchip-linux/rknn-toolkit2, issue 344).
    output_names
        Names of the outputs; None: output0, output1 ... in the model's order.
    layouts
        {name: letters of its axes}, such as ``{"output0": "NHWC"}``, of outputs; the letters of others follow from
        their rank, N, NC, NCW, NCHW, with a warning if channels are last by the look of the shape.
    core_mask
        The core_mask of RKNNLite.init_runtime: ``RKNNLite.NPU_CORE_0`` ...; None: the driver's choice.

    Raises
    ------
    NpuLayoutError
        If rknn-toolkit-lite2 is missing, RKNNLite refuses the model, the numbers of names and outputs differ, there is
        no such output, or an input of four axes has others than N, C, H and W, blocks of channels, or half bytes.
    """

    @checked_call
    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        input_specs: Sequence[TensorSpec | Mapping[str, Any]] | None = None,
        output_names: Sequence[str] | None = None,
        layouts: Mapping[str, str] | None = None,
        core_mask: int | None = None,
    ) -> None:
        path = model_file(model)
        name = f"model {path}"
        inputs = declared_inputs(input_specs)
        for spec in inputs:
            _check_axes(spec)
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
            outputs = seen(name, answers, output_names, layouts)
        super().__init__(name, inputs, outputs)

    def _infer(self, specs: Sequence[TensorSpec], inputs: list[np.ndarray], name: str) -> list[np.ndarray]:
        answers = self._lite.inference(inputs=[_taken(spec, flat) for spec, flat in zip(specs, inputs)])
        if answers is None:
            raise NpuLayoutError(f"{name}: RKNNLite returned nothing; its log says why")
        return [np.ascontiguousarray(answer) for answer in answers]

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        return self._infer(self.input_specs, inputs, self.model)

    def _release(self) -> None:
        if self._lite is not None:
            self._lite.release()


def _check_axes(spec: TensorSpec) -> None:
    if len(spec.axes) == 4 and not ({*spec.axes} == {*_TAKEN} and _is_viewed(spec)):
        raise NpuLayoutError(
            f"input_specs: {isolated(spec.name)}: RKNNLite takes inputs of four axes as {_TAKEN}: expected the axes N, "
            f"C, H and W in any order, without blocks and half bytes, got {spec.describe()}"
        )


def _is_viewed(spec: TensorSpec) -> bool:
    try:
        spec.view(np.empty(spec.size, spec.stored))
    except LayoutError:
        return False
    return True


def _taken(spec: TensorSpec, flat: np.ndarray) -> np.ndarray:
    """Return a flat input as RKNNLite takes it: of four axes NHWC, which is a view where it is stored so."""
    if len(spec.axes) != 4:
        return flat.reshape(spec.storage_shape)
    return np.ascontiguousarray(spec.view(flat).transpose([spec.axes.index(letter) for letter in _TAKEN]))
