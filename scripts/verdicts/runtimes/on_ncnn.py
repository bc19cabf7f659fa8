"""ncnn: bfloat16 storage, float outputs, converted by pnnx."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import Device, Runtime


def converted(model: Any, folder: Path) -> None:
    """model.ncnn.param and model.ncnn.bin."""
    import pnnx

    shutil.copy(model.path, folder / "model.onnx")
    shape = ",".join(map(str, model.shape))
    program = Path(pnnx.__file__).with_name("pnnx")
    command = [str(program), "model.onnx", f"inputshape=[{shape}]f32", "fp16=0"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (folder / "outputs.txt").write_text("\n".join(model.outputs))


def compiled(model: Any, inputs: Sequence[np.ndarray], folder: Path) -> None:
    converted(model, folder)
    shapes = "\n".join(" ".join([name, *map(str, shape)]) for name, shape in model.outputs.items())
    (folder / "outputs.txt").write_text(shapes)


def opened(folder: Path) -> Device:
    import ncnn

    net = ncnn.Net()
    net.opt.num_threads = 1
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = True
    net.load_param(str(folder / "model.ncnn.param"))
    net.load_model(str(folder / "model.ncnn.bin"))
    rows = [line.split() for line in (folder / "outputs.txt").read_text().splitlines()]

    def infer(x: np.ndarray) -> dict[str, np.ndarray]:
        extractor = net.create_extractor()
        extractor.input("in0", ncnn.Mat(x[0]).clone())
        found = {}
        for i, (name, *shape) in enumerate(rows):
            status, answer = extractor.extract(f"out{i}")
            assert status == 0
            found[name] = np.array(answer, np.float32).reshape([int(n) for n in shape])
        return found

    return Device(infer)


RUNTIMES = {"ncnn-bf16": Runtime({"ncnn": "ncnn", "pnnx": "pnnx"}, compiled, opened)}
