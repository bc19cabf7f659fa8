"""ExecuTorch with XNNPACK: int8 by PyTorch's PT2E quantisation of the ONNX graph written in PyTorch; float outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import Device, Runtime


def _functions(torch: Any) -> dict[str, Callable[..., Any]]:
    """For each kind of ONNX node that the zoo has: (its attributes, its weights by number, *its tensors)."""
    f = torch.nn.functional

    def conv(a: Any, w: Any, x: Any) -> Any:
        return f.conv2d(x, w[1], w.get(2), a["strides"], a["pads"][:2], a.get("dilations", 1), a.get("group", 1))

    def part(a: Any, w: Any, x: Any) -> Any:
        start, end, axis = (int(w[k][0]) for k in (1, 2, 3))
        return x.narrow(axis, start, min(end, x.shape[axis]) - start)

    return {
        "Conv": conv,
        "Relu": lambda a, w, x: torch.relu(x),
        "Sigmoid": lambda a, w, x: torch.sigmoid(x),
        "Tanh": lambda a, w, x: torch.tanh(x),
        "Identity": lambda a, w, x: x,
        "Concat": lambda a, w, *x: torch.cat(x, a["axis"]),
        "Reshape": lambda a, w, x: x.reshape([int(n) for n in w[1]]),
        "Flatten": lambda a, w, x: x.flatten(1),
        "Transpose": lambda a, w, x: x.permute(a["perm"]),
        "AveragePool": lambda a, w, x: f.avg_pool2d(x, a["kernel_shape"], a["strides"]),
        "Slice": part,
        "Resize": lambda a, w, x: f.interpolate(x, scale_factor=[float(n) for n in w[2][2:]], mode="bilinear"),
        "Add": lambda a, w, *x: x[0] + (x[1] if len(x) > 1 else w[1]),
        "Mul": lambda a, w, *x: x[0] * (x[1] if len(x) > 1 else w[1]),
    }


def _module(graph: Any) -> Any:
    """The ONNX graph as a torch module that returns its outputs."""
    import onnx
    import torch

    functions = _functions(torch)
    weights = {w.name: onnx.numpy_helper.to_array(w) for w in graph.initializer}
    computed = {name for node in graph.node if node.op_type in ("Conv", "Add", "Mul") for name in node.input}

    class Network(torch.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            for name in computed & set(weights):
                self.register_buffer(f"w_{name}", torch.from_numpy(weights[name].copy()))

        def forward(self, x: Any) -> Any:
            made = {graph.input[0].name: x}
            for node in graph.node:
                own = {k: getattr(self, f"w_{n}", weights[n]) for k, n in enumerate(node.input) if n in weights}
                attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
                tensors = [made[name] for name in node.input if name in made]
                made[node.output[0]] = functions[node.op_type](attributes, own, *tensors)
            return tuple(made[output.name] for output in graph.output)

    return Network().eval()


def compiled(model: Any, inputs: Sequence[np.ndarray], folder: Path) -> None:
    import onnx
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.backends.xnnpack.quantizer import xnnpack_quantizer as scheme
    from executorch.exir import to_edge_transform_and_lower
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    samples = [(torch.from_numpy(np.ascontiguousarray(x)),) for x in inputs]
    graph = torch.export.export(_module(onnx.load(model.path).graph), samples[0]).module()
    quantizer = scheme.XNNPACKQuantizer().set_global(scheme.get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(graph, quantizer)
    for sample in samples:
        prepared(*sample)
    quantised = torch.export.export(convert_pt2e(prepared), samples[0])
    program = to_edge_transform_and_lower(quantised, partitioner=[XnnpackPartitioner()]).to_executorch()
    (folder / "model.pte").write_bytes(program.buffer)
    (folder / "outputs.txt").write_text("\n".join(model.outputs))


def opened(folder: Path) -> Device:
    import torch
    from executorch.runtime import Runtime as Executor

    torch.set_num_threads(1)
    names = (folder / "outputs.txt").read_text().split()
    network = Executor.get().load_program(str(folder / "model.pte")).load_method("forward")

    def infer(x: np.ndarray) -> dict[str, np.ndarray]:
        answers = network.execute([torch.from_numpy(np.ascontiguousarray(x))])
        return {name: np.array(a, np.float32) for name, a in zip(names, answers)}

    return Device(infer)


PACKAGES = {"executorch": "executorch", "torch": "torch", "torchao": "torchao"}
RUNTIMES = {"executorch-int8": Runtime(PACKAGES, compiled, opened)}
