"""MNN on the CPU: int8 by its own calibration, float outputs.

Its tools are called below the Python wrappers MNN.tools, which install a package and report usage over the network.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import Device, Runtime


def compiled(model: Any, inputs: Sequence[np.ndarray], folder: Path) -> None:
    import _tools

    single, int8, config = (str(folder / name) for name in ("float.mnn", "int8.mnn", "config.json"))
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", model.path, "--MNNModel", single, "--bizCode", "zoo"])
    for i, x in enumerate(inputs):
        sample = folder / "samples" / str(i)
        sample.mkdir(parents=True)
        about = {"inputs": [{"name": "image", "shape": x.shape}], "outputs": list(model.outputs)}
        (sample / "input.json").write_text(json.dumps(about))
        np.savetxt(sample / "image.txt", x.ravel(), fmt="%.6g")
    asked = {"format": "RGB", "path": f"{folder}/samples/", "used_sample_num": len(inputs), "input_type": "sequence"}
    asked |= {"feature_quantize_method": "KL", "weight_quantize_method": "MAX_ABS", "model": single, "batch_size": 1}
    Path(config).write_text(json.dumps(asked))
    _tools.mnnquant(["mnnquant", single, int8, config])


def opened(folder: Path) -> Device:
    import MNN

    network = MNN.Interpreter(str(folder / "int8.mnn"))
    session = network.createSession({"numThread": 1, "backend": "CPU"})
    entrance, kind = network.getSessionInput(session), MNN.Halide_Type_Float

    def infer(x: np.ndarray) -> dict[str, np.ndarray]:
        x = np.ascontiguousarray(x, np.float32)
        entrance.copyFrom(MNN.Tensor(x.shape, kind, x, MNN.Tensor_DimensionType_Caffe))
        network.runSession(session)
        found = {}
        for name, answer in network.getSessionOutputAll(session).items():
            shape = answer.getShape()
            copied = MNN.Tensor(shape, kind, np.zeros(shape, np.float32), MNN.Tensor_DimensionType_Caffe)
            answer.copyToHostTensor(copied)
            found[name] = np.array(copied.getNumpyData(), np.float32).reshape(shape)
        return found

    return Device(infer)


RUNTIMES = {"mnn-int8": Runtime({"MNN": "MNN"}, compiled, opened)}
