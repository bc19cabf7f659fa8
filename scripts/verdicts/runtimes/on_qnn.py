"""onnxruntime's QNN provider on Qualcomm's emulator of the HTP (version 73): the zoo's quantised network, with integers
at its input and outputs. What the HTP cannot do runs on the CPU provider, as on a phone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import npu_layout as nl

from . import Device, Runtime, integers, reals


def _spec(node: Any, weights: dict[str, np.ndarray], value: Any) -> nl.TensorSpec:
    """Of the integers of a QuantizeLinear or DequantizeLinear, whose tensor `value` then is."""
    import onnx

    scale, zero = (weights[name] for name in node.input[1:3])
    value.type.tensor_type.elem_type = onnx.helper.np_dtype_to_tensor_dtype(zero.dtype)
    shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
    layout = {4: "NCHW", 3: "NCW", 2: "NC"}[len(shape)]
    quantization = nl.Quantization(float(scale), int(zero))
    return nl.TensorSpec(shape, layout, str(zero.dtype), quantization=quantization, name=value.name)


def _renamed(graph: Any, old: str, new: str) -> None:
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [new if name == old else name for name in names]


def bare(model: Any) -> dict[str, Any]:
    """Take the quantisation of its input and the dequantisation of its outputs from a QDQ model; what these were."""
    import onnx

    graph = model.graph
    weights = {w.name: onnx.numpy_helper.to_array(w) for w in graph.initializer}
    found: dict[str, Any] = {"fed": None, "codes": {}}
    entrance = graph.input[0]
    readers = [node for node in graph.node if entrance.name in node.input]
    if len(readers) == 1 and readers[0].op_type == "QuantizeLinear":
        found["fed"] = _spec(readers[0], weights, entrance).to_dict()
        graph.node.remove(readers[0])
        _renamed(graph, readers[0].output[0], entrance.name)
    for output in graph.output:
        last = next(node for node in graph.node if output.name in node.output)
        if last.op_type == "DequantizeLinear" and not any(output.name in node.input for node in graph.node):
            found["codes"][output.name] = _spec(last, weights, output).to_dict()
            graph.node.remove(last)
            _renamed(graph, last.input[0], output.name)
    return found


def compiled(model: Any, inputs: Sequence[np.ndarray], folder: Path) -> None:
    import onnx

    network = onnx.load(model.quantised)
    found = bare(network)
    onnx.save(network, str(folder / "model.onnx"))
    outputs = [output.name for output in network.graph.output]
    (folder / "quantised.json").write_text(json.dumps({**found, "outputs": outputs}))


def _session(path: Path) -> Any:
    import onnxruntime as ort
    import onnxruntime_qnn

    if not any(device.ep_name == "qnn" for device in ort.get_ep_devices()):
        ort.register_execution_provider_library("qnn", onnxruntime_qnn.get_library_path())
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    device = next(device for device in ort.get_ep_devices() if device.ep_name == "qnn")
    options.add_provider_for_devices([device], {"backend_path": onnxruntime_qnn.get_qnn_htp_path(), "htp_arch": "73"})
    return ort.InferenceSession(str(path), options)


def opened(folder: Path) -> Device:
    session = _session(folder / "model.onnx")
    name = session.get_inputs()[0].name
    return on_integers(lambda x: session.run(None, {name: x}), folder)


def on_integers(run: Callable[[np.ndarray], Sequence[np.ndarray]], folder: Path) -> Device:
    """A device of a function whose input and outputs are those that quantised.json describes."""
    about = json.loads((folder / "quantised.json").read_text())
    fed = about["fed"] and nl.TensorSpec.from_dict(about["fed"])
    codes = {name: nl.TensorSpec.from_dict(spec) for name, spec in about["codes"].items()}

    def infer(x: np.ndarray) -> dict[str, np.ndarray]:
        answers = dict(zip(about["outputs"], run(integers(x, fed) if fed else x)))
        return {
            k: reals(a, codes[k].quantization) if k in codes else np.asarray(a, np.float32) for k, a in answers.items()
        }

    return Device(infer, codes, fed)


SLOW = {"pose": "the emulator takes four seconds for a frame"}
RUNTIMES = {"qnn-htp": Runtime({"onnxruntime_qnn": "onnxruntime-qnn"}, compiled, opened, SLOW)}
