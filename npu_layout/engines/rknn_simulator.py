"""Run an ONNX model as an RKNN model would compute it, by rknn-toolkit2's simulator on a computer."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import NpuLayoutError
from ..support import path_of
from .onnxruntime import OnnxRuntimeEngine
from .runtime import RuntimeEngine, model_file, opening, runtime, seen


class RknnSimulator(RuntimeEngine):
    """Converts an ONNX model with rknn-toolkit2 (airockchip/rknn-toolkit2) and runs it on that package's simulator.

    Inputs are those of the ONNX model, in its own layout; outputs are dequantised float32, with the model's names. A
    file that is an RKNN model already cannot be simulated. While a model is converted, the process has another working
    folder, because the toolkit writes files to it. rknn-toolkit2 is for Linux, and wants older packages of its own.

    Parameters
    ----------
    model
        Path of the .onnx file.
    target
        target_platform of RKNN.config: "rk3588" and its kin.
    dataset
        Path of the text file that lists samples, as `npu-layout calibration` writes it for RKNN; the model is
        quantised to 8 bits. None: it is not quantised.
    config
        Further arguments of RKNN.config, such as quantized_algorithm. mean_values and std_values would change what
        the inputs are; they are refused.

    Raises
    ------
    NpuLayoutError
        If rknn-toolkit2 is missing, or a step of the conversion fails: its log says why.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        target: str = "rk3588",
        dataset: str | os.PathLike[str] | None = None,
        **config: Any,
    ) -> None:
        path = os.path.abspath(model_file(model))
        name = f"model {path}"
        wrong = {"mean_values", "std_values"} & set(config)
        if wrong:
            raise NpuLayoutError(f"{', '.join(sorted(wrong))}: the inputs are the ONNX model's; give them normalised")
        samples = None if dataset is None else os.path.abspath(path_of("dataset", dataset))
        with OnnxRuntimeEngine(path) as known:
            inputs, reference = list(known.input_specs), list(known.output_specs)
        self._rknn: Any = runtime("rknn.api", "rknn-toolkit2").RKNN(verbose=False)
        steps = (
            ("config", lambda: self._rknn.config(target_platform=target, **config)),
            ("load_onnx", lambda: self._rknn.load_onnx(path)),
            ("build", lambda: self._rknn.build(do_quantization=samples is not None, dataset=samples)),
            ("init_runtime", self._rknn.init_runtime),
        )
        with opening(name, self._release):
            with _scratch():
                for step, call in steps:
                    status = call()
                    if status not in (0, None):
                        raise RuntimeError(f"{step} returned {status}; its log says why")
            self.input_specs = inputs
            answers = self._run([np.zeros(spec.size, spec.stored) for spec in inputs])
            own = {spec.name: spec.axes for spec, a in zip(reference, answers) if len(spec.axes) == a.ndim}
            outputs = seen(name, answers, [spec.name for spec in reference], own)
        super().__init__(name, inputs, outputs)

    def _run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        shaped = [flat.reshape(spec.shape) for spec, flat in zip(self.input_specs, inputs)]
        formats = ["nchw" if array.ndim == 4 else None for array in shaped]
        answers: Sequence[Any] | None = self._rknn.inference(inputs=shaped, data_format=formats)
        if answers is None:
            raise RuntimeError("the simulator returned nothing; its log says why")
        return [np.ascontiguousarray(answer, np.float32) for answer in answers]

    def _release(self) -> None:
        self._rknn.release()


@contextmanager
def _scratch() -> Iterator[Path]:
    """Work in a folder that is removed afterwards: the toolkit writes its intermediate models where it is."""
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(home)
