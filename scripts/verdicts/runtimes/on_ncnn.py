"""ncnn on the CPU, converted by pnnx: bfloat16, or int8 convolutions as its ncnn2int8 writes them; float outputs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from . import Device, Runtime

FLOATS, INTEGERS = 0, 0x000D4B38  # how a weight's data starts


def compiled(quantise: bool, model: Any, inputs: Sequence[np.ndarray], folder: Path) -> None:
    import pnnx

    shutil.copy(model.path, folder / "model.onnx")
    shape = ",".join(map(str, model.shape))
    program = Path(pnnx.__file__).with_name("pnnx")
    command = [str(program), "model.onnx", f"inputshape=[{shape}]f32", "fp16=0"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    rows = "\n".join(" ".join([name, *map(str, shape)]) for name, shape in model.outputs.items())
    (folder / "outputs.txt").write_text(rows)
    if quantise:
        _quantise(folder, inputs)


def _quantise(folder: Path, inputs: Sequence[np.ndarray]) -> None:
    """Weights per channel and inputs per tensor to 127 steps each way, by their largest values."""
    param, weights = folder / "model.ncnn.param", folder / "model.ncnn.bin"
    net, data, at, written = _net(folder, False), weights.read_bytes(), 0, []
    lines = param.read_text().splitlines()
    for i, line in enumerate(lines[2:], 2):
        kind, _, tops, bottoms, *rest = line.split()
        if not kind.startswith("Convolution"):
            continue
        assert kind == "Convolution" and (tops, bottoms) == ("1", "1"), line
        fields = dict(field.split("=") for field in rest[2:])
        channels, size, bias = int(fields["0"]), int(fields["6"]), int(fields.get("5", 0))
        assert int.from_bytes(data[at : at + 4], "little") == FLOATS
        w = np.frombuffer(data, np.float32, size, at + 4).reshape(channels, -1)
        at += 4 + 4 * size
        b, at = data[at : at + 4 * channels * bias], at + 4 * channels * bias
        scales = (127 / np.maximum(np.abs(w).max(1), 1e-8)).astype(np.float32)
        codes = np.rint(w * scales[:, None]).astype(np.int8).tobytes()
        largest = max(float(np.abs(_extracted(net, x, [rest[0]])[0]).max()) for x in inputs)
        written += [INTEGERS.to_bytes(4, "little"), codes, bytes(-len(codes) % 4), b, scales.tobytes()]
        written += [np.float32(127 / largest).tobytes()]
        lines[i] = f"{line} 8=2"
    assert at == len(data)
    weights.write_bytes(b"".join(written))
    param.write_text("\n".join(lines) + "\n")


def _net(folder: Path, bfloat16: bool) -> Any:
    import ncnn

    net = ncnn.Net()
    net.opt.num_threads = 1
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = bfloat16
    net.load_param(str(folder / "model.ncnn.param"))
    net.load_model(str(folder / "model.ncnn.bin"))
    return net


def _extracted(net: Any, x: np.ndarray, blobs: Sequence[str]) -> list[np.ndarray]:
    import ncnn

    extractor = net.create_extractor()
    extractor.set_light_mode(False)
    extractor.input("in0", ncnn.Mat(np.ascontiguousarray(x[0])).clone())
    answers = [extractor.extract(blob) for blob in blobs]
    assert not any(status for status, _ in answers)
    return [np.array(answer, np.float32) for _, answer in answers]


def opened(bfloat16: bool, folder: Path) -> Device:
    net = _net(folder, bfloat16)
    rows = [line.split() for line in (folder / "outputs.txt").read_text().splitlines()]
    shapes = {name: [int(n) for n in shape] for name, *shape in rows}

    def infer(x: np.ndarray) -> dict[str, np.ndarray]:
        answers = _extracted(net, x, [f"out{i}" for i in range(len(rows))])
        return {name: answer.reshape(shape) for (name, shape), answer in zip(shapes.items(), answers)}

    return Device(infer)


PACKAGES = {"ncnn": "ncnn", "pnnx": "pnnx"}
RUNTIMES = {
    "ncnn-int8": Runtime(PACKAGES, partial(compiled, True), partial(opened, False)),
    "ncnn-bf16": Runtime(PACKAGES, partial(compiled, False), partial(opened, True)),
}
