"""OpenVINO on the CPU: int8 by nncf's post-training quantisation, float outputs; or bfloat16 without it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from . import Device, Runtime


def compiled(quantise: bool, model: Any, inputs: Sequence[np.ndarray], folder: Path) -> None:
    import openvino as ov

    graph = ov.Core().read_model(model.path)
    if quantise:
        import nncf

        nncf.set_log_level(logging.ERROR)
        graph = nncf.quantize(graph, nncf.Dataset(list(inputs)), subset_size=len(inputs))
    ov.save_model(graph, folder / "model.xml", compress_to_fp16=False)


def opened(precision: str, folder: Path) -> Device:
    import openvino as ov

    options = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": precision}
    network = ov.Core().compile_model(folder / "model.xml", "CPU", options)
    names = [output.any_name for output in network.outputs]

    def infer(x: np.ndarray) -> dict[str, np.ndarray]:
        answers = network([x])
        return {name: np.array(answers[i], np.float32) for i, name in enumerate(names)}

    return Device(infer)


RUNTIMES = {
    "openvino-int8": Runtime({"openvino": "openvino", "nncf": "nncf"}, partial(compiled, True), partial(opened, "f32")),
    "openvino-bf16": Runtime({"openvino": "openvino"}, partial(compiled, False), partial(opened, "bf16")),
}
