"""Dequantise, quantise, requantise and round to float16 with other libraries."""

from __future__ import annotations

import numpy as np

from ..cases import Case
from .calls import graph, loops, writes
from .registry import Call, peer


@peer("dequantize", "numpy", "(x.astype(float32) - zp) * scale, transposed")
def numpy_dequantize(case: Case) -> Call:
    """Subtract and multiply in float32, and make the result contiguous."""
    scale, zero_point = case.scale
    x = case.permuted()
    return lambda: np.ascontiguousarray((x.astype(np.float32) - zero_point) * scale)


@peer("dequantize", "torch", "out.copy_(x.permute()).sub_().mul_()")
def torch_dequantize(case: Case) -> Call:
    """Convert into the output, and subtract and multiply there."""
    import torch

    scale, zero_point = case.scale
    out = case.out()
    x, y = torch.from_numpy(case.x).permute(case.order), torch.from_numpy(out)

    def run() -> np.ndarray:
        y.copy_(x).sub_(float(zero_point)).mul_(float(scale))
        return out

    return run


@peer("dequantize", "cv2", "transpose and LUT")
def cv2_dequantize(case: Case) -> Call:
    """Transpose the bytes, and look up their real values."""
    import cv2

    scale, zero_point = case.scale
    x, out = case.x, case.out()
    middle = case.zeros(out.shape, x.dtype, scratch=True)
    table = (np.arange(-128, 128, dtype=np.float32) - zero_point) * scale
    table = np.roll(table, 128) if cv2.LUT(np.zeros((1, 1), np.int8), table)[0, 0] != table[128] else table
    flat, target = middle.reshape(1, -1), out.reshape(1, -1)
    given, turned = cv2.Mat(x, wrap_channels=False), cv2.Mat(middle, wrap_channels=False)
    pairs = [(x, middle)] if x.ndim == 2 else list(zip(x, middle)) if case.order == (0, 2, 1) else []

    def run() -> np.ndarray:
        for plane, transposed in pairs:
            cv2.transpose(plane, transposed)
        if not pairs:
            cv2.transposeND(given, case.order, turned)
        cv2.LUT(flat, table, target)
        return out

    return run


@peer("dequantize", "onnxruntime", "Transpose and DequantizeLinear, bound")
def onnxruntime_dequantize(case: Case) -> Call:
    """Run a graph of Transpose and DequantizeLinear."""
    from onnx import helper

    scale, zero_point = case.scale
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=case.order),
        helper.make_node("DequantizeLinear", ["t", "scale", "zero"], ["y"]),
    ]
    return graph(case.x, case.out(), nodes, {"scale": np.asarray(scale), "zero": zero_point.astype(case.x.dtype)})


@peer("dequantize", "numba", "loops")
def numba_dequantize(case: Case) -> Call:
    """Compute each element in loops over the target's order."""
    scale, zero_point = case.scale
    return loops(case, "(np.float32({x}) - zero) * scale", zero=zero_point, scale=scale)


@peer("quantize quantize-each", "numpy", "clip(round(x / scale) + zp), transposed")
def numpy_quantize(case: Case) -> Call:
    """Divide, round and clamp, and make the result contiguous."""
    scale, zero_point = case.scale
    x, dtype = case.permuted(), case.target.stored
    info = np.iinfo(dtype)
    return lambda: np.ascontiguousarray(np.clip(np.round(x / scale) + zero_point, info.min, info.max).astype(dtype))


@peer("quantize", "onnxruntime", "Transpose and QuantizeLinear, bound")
def onnxruntime_quantize(case: Case) -> Call | None:
    """Run a graph of QuantizeLinear and Transpose."""
    from onnx import helper

    if case.target.stored.itemsize > 2:  # it quantises to no int32
        return None

    scale, zero_point = case.scale
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        helper.make_node("Transpose", ["q"], ["y"], perm=case.order),
    ]
    constants = {"scale": np.asarray(scale), "zero": zero_point.astype(case.target.stored)}
    return graph(case.x, case.out(), nodes, constants)


@peer("quantize quantize-each", "numba", "loops")
def numba_quantize(case: Case) -> Call:
    """Compute each element in loops over the target's order."""
    scale, zero_point = case.scale
    dtype = case.target.stored
    if scale.ndim:
        return loops(case, "np.int32(np.rint(np.float64({x} / scale[i1])) + zero[i1])", zero=zero_point, scale=scale)
    element = "np.int8(min(max(np.rint({x} / scale) + zero, np.float32(-128)), np.float32(127)))"
    if dtype == np.int32:
        element = "np.int32(np.rint(np.float64({x} / scale)) + zero)"
    return loops(case, element, zero=zero_point, scale=scale)


@peer("requantize requantize-each", "numpy", "clip(round((x - zp) * scale / to) + zp)")
def numpy_requantize(case: Case) -> Call:
    """Dequantise to float32, and quantise again."""
    (scale, zero), (to, other) = _quantizations(case)
    x = case.permuted()
    return lambda: np.clip(np.round((x.astype(np.float32) - zero) * scale / to) + other, -128, 127).astype(np.int8)


@peer("requantize requantize-each", "cv2", "LUT")
def cv2_requantize(case: Case) -> Call:
    """Look up every byte in a table for all channels, or one for each."""
    import cv2

    (scale, zero), (to, other) = _quantizations(case)
    levels = np.arange(256, dtype=np.uint8).view(case.x.dtype)[:, None].astype(np.float32)
    table = np.clip(np.rint((levels - zero) * scale / to) + other, -128, 127).astype(np.int8)
    out = case.zeros(case.x.shape, np.int8)
    shape = (case.x.shape[0], -1, table.shape[1])
    return writes(out, cv2.LUT, case.x.view(np.uint8).reshape(shape), table[None], out.reshape(shape))


def _quantizations(case: Case) -> list[tuple[np.ndarray, np.ndarray]]:
    """Scale and zero point of both sides, float32."""
    sides = (case.source.quantization, case.target.quantization)
    return [(np.float32(q.scale), np.float32(q.zero_point)) for q in sides if q is not None]


@peer("half", "numpy", "copyto(out, x)")
def numpy_half(case: Case) -> Call:
    """Copy into the output with numpy's conversion."""
    out, x = case.out(), case.permuted()

    def run() -> np.ndarray:
        np.copyto(out, x, casting="same_kind")
        return out

    return run


@peer("half", "torch", "out.copy_(x)")
def torch_half(case: Case) -> Call:
    """Copy a permuted tensor into the output with torch's conversion."""
    import torch

    out = case.out()
    return writes(out, torch.from_numpy(out).copy_, torch.from_numpy(case.x).permute(case.order))
