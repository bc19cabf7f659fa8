"""Models quantised by onnxruntime, and the scales of their outputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper


def quantized(model: bytes, folder: Path, images: Sequence[np.ndarray], kinds: Sequence[str] = ()) -> bytes:
    """The model with QDQ of int8, calibrated on inputs `image`; kinds: operators that are quantised, () is all."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    left = list(images)

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def get_next(self) -> dict[str, np.ndarray] | None:
            return {"image": left.pop()} if left else None

    source, target = folder / "float.onnx", folder / "int8.onnx"
    source.write_bytes(model)
    quantize_static(
        str(source), str(target), Reader(), quant_format=QuantFormat.QDQ, activation_type=QuantType.QInt8,
        weight_type=QuantType.QInt8, op_types_to_quantize=list(kinds) or None,
    )  # fmt: skip
    return target.read_bytes()


def scales(model: bytes) -> dict[str, tuple[float, int]]:
    """{output: scale and zero point of int8} of those that the model quantises."""
    graph = onnx.load_from_string(model).graph
    known = {w.name: numpy_helper.to_array(w) for w in graph.initializer}
    made = {node.output[0]: node for node in graph.node}
    found = {}
    for output in graph.output:
        node = made.get(output.name)
        while node is not None and node.op_type == "Identity":
            node = made.get(node.input[0])
        if node is not None and node.op_type == "DequantizeLinear":
            found[output.name] = float(known[node.input[1]]), int(known[node.input[2]])
    return found
