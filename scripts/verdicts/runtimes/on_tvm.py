"""TVM's Relax on the CPU: the zoo's quantised network, with integers at its input and outputs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import Device, Runtime
from .on_qnn import bare, on_integers


def compiled(model: Any, inputs: Sequence[np.ndarray], folder: Path) -> None:
    import onnx
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    network = onnx.load(model.quantised)
    found = bare(network)
    graph = relax.transform.DecomposeOpsForInference()(from_onnx(network, keep_params_in_input=False))
    tvm.compile(graph, target="llvm").export_library(str(folder / "model.so"))
    (folder / "quantised.json").write_text(json.dumps({**found, "outputs": [o.name for o in network.graph.output]}))


def opened(folder: Path) -> Device:
    import tvm
    from tvm import relax

    machine = relax.VirtualMachine(tvm.runtime.load_module(str(folder / "model.so")), tvm.cpu())

    def run(x: np.ndarray) -> list[np.ndarray]:
        answers = machine["main"](tvm.runtime.tensor(x))
        return [a.numpy() for a in ([answers] if hasattr(answers, "numpy") else answers)]

    return on_integers(run, folder)


RUNTIMES = {"tvm-int8": Runtime({"tvm": "apache-tvm"}, compiled, opened)}
