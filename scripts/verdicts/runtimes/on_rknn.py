"""rknn-toolkit2's simulator of the RK3588: int8 by its own calibration, float outputs.

It wants older packages than the others do: an environment of its own (noxfile.py). Only what was just built can be
simulated, so each process builds it.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import Device, Runtime


def compiled(model: Any, inputs: Sequence[np.ndarray], folder: Path) -> None:
    shutil.copy(model.path, folder / "model.onnx")
    for i, x in enumerate(inputs):
        np.save(folder / f"{i}.npy", x)
    (folder / "outputs.txt").write_text("\n".join(model.outputs))


def opened(folder: Path) -> Device:
    from rknn.api import RKNN

    folder = folder.absolute()
    names = (folder / "outputs.txt").read_text().split()
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        samples = Path(scratch) / "samples.txt"
        samples.write_text("\n".join(str(path) for path in sorted(folder.glob("*.npy"))))
        network = RKNN(verbose=False)
        network.config(target_platform="rk3588")
        assert network.load_onnx(str(folder / "model.onnx")) == 0
        assert network.build(do_quantization=True, dataset=str(samples)) == 0
        assert network.init_runtime() == 0

    def infer(x: np.ndarray) -> dict[str, np.ndarray]:
        answers = network.inference([np.ascontiguousarray(x)], data_format=["nchw"])
        return {name: np.asarray(a, np.float32) for name, a in zip(names, answers)}

    return Device(infer)


RUNTIMES = {"rknn-rk3588": Runtime({"rknn": "rknn-toolkit2"}, compiled, opened)}
