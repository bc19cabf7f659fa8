"""Normalise pictures, quantise them and make them gray with other libraries."""

from __future__ import annotations

import numpy as np

from ..cases import Case
from . import libraries
from .calls import compiled, graph, writes
from .registry import Call, peer


@peer("normalize", "numpy", "((x.astype(float32) - mean) / std).transpose()")
def numpy_normalize(case: Case) -> Call:
    """Subtract and divide in float32, and make the transposed result contiguous."""
    x = case.x[..., ::-1]
    return lambda: np.ascontiguousarray(((x.astype(np.float32) - case.mean) / case.std).transpose(2, 0, 1))


@peer("normalize", "cv2", "blobFromImageWithParams")
def cv2_normalize(case: Case) -> Call:
    """Make a blob, which swaps red and blue, subtracts and multiplies."""
    import cv2

    parameters = cv2.dnn.Image2BlobParams()
    parameters.scalefactor = tuple((1 / case.std).tolist())
    parameters.mean = tuple(case.mean.tolist())
    parameters.swapRB = True
    return lambda: cv2.dnn.blobFromImageWithParams(case.x, parameters)


@peer("normalize", "torch", "out.copy_(x.permute()).sub_().div_()")
def torch_normalize(case: Case) -> Call:
    """Copy plane by plane into the output, and subtract and divide there."""
    import torch

    out = case.zeros((3, *case.x.shape[:2]), np.float32)
    x, y = torch.from_numpy(case.x).permute(2, 0, 1), torch.from_numpy(out)
    mean, std = (torch.from_numpy(v[:, None, None]) for v in (case.mean, case.std))

    def run() -> np.ndarray:
        for plane in range(3):
            y[plane].copy_(x[2 - plane])
        y.sub_(mean).div_(std)
        return out

    return run


@peer("normalize", "onnxruntime", "Cast, Sub, Div, Transpose, bound")
def onnxruntime_normalize(case: Case) -> Call:
    """Run a graph of Cast, Sub, Div, Transpose and Gather."""
    from onnx import TensorProto, helper

    nodes = [
        helper.make_node("Cast", ["x"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Sub", ["f", "mean"], ["s"]),
        helper.make_node("Div", ["s", "std"], ["d"]),
        helper.make_node("Transpose", ["d"], ["t"], perm=case.order),
        helper.make_node("Gather", ["t", "rgb"], ["y"], axis=0),
    ]
    constants = {"mean": case.mean[::-1].copy(), "std": case.std[::-1].copy(), "rgb": np.array([2, 1, 0])}
    return graph(case.x, case.out(), nodes, constants)


@peer("normalize", "openvino", "PrePostProcessor")
def openvino_normalize(case: Case) -> Call:
    """Run a preprocessing step on the CPU, and return the model's input as it made it."""
    import openvino as ov
    from openvino import opset8 as op
    from openvino.preprocess import ColorFormat, PrePostProcessor

    shape = [1, 3, *case.x.shape[:2]]
    parameter = op.parameter(shape, np.float32)
    steps = PrePostProcessor(ov.Model([op.relu(op.negative(parameter)), op.result(parameter)], [parameter]))
    tensor = steps.input().tensor()
    tensor.set_element_type(ov.Type.u8).set_layout(ov.Layout("NHWC")).set_color_format(ColorFormat.BGR)
    steps.input().model().set_layout(ov.Layout("NCHW"))
    steps.input().preprocess().convert_element_type(ov.Type.f32).convert_color(ColorFormat.RGB)
    steps.input().preprocess().mean(case.mean.tolist()).scale(case.std.tolist())
    compiled = ov.Core().compile_model(steps.build(), "CPU", {"INFERENCE_NUM_THREADS": libraries.threads()})
    request, x = compiled.create_infer_request(), case.x[None]

    def run() -> np.ndarray:
        request.infer([x], share_inputs=True, share_outputs=True)
        return request.get_output_tensor(compiled.outputs.__len__() - 1).data

    return run


_NORMALIZE_LOOPS = """
def run(x, out, mean, scale):
    for c in range(3):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                out[c, i, j] = (np.float32(x[i, j, 2 - c]) - mean[c]) * scale[c]
"""


@peer("normalize", "numba", "loops")
def numba_normalize(case: Case) -> Call:
    """Compute each element in loops over planes, rows and columns."""
    out = case.zeros((3, *case.x.shape[:2]), np.float32)
    return writes(out, compiled(_NORMALIZE_LOOPS), case.x, out, case.mean, np.float32(1) / case.std)


@peer("input", "numpy", "astype, subtract, divide, round, clip, astype")
def numpy_input(case: Case) -> Call:
    """Normalise in float32, and quantise into the real channels."""
    scale, zero_point = case.scale
    out = case.out()

    def run() -> np.ndarray:
        real = (case.x[..., ::-1].astype(np.float32) - case.mean) / case.std
        out[..., :3] = np.clip(np.round(real / scale) + zero_point, -128, 127).astype(np.int8)
        return out

    return run


_INPUT_LOOPS = """
def run(x, out, mean, factor, scale, zero):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for c in range(3):
                v = np.rint((np.float32(x[i, j, 2 - c]) - mean[c]) * factor[c] / scale) + zero
                out[i, j, c] = np.int8(min(max(v, np.float32(-128)), np.float32(127)))
"""


@peer("input", "numba", "loops")
def numba_input(case: Case) -> Call:
    """Normalise and quantise each element in loops over rows, columns and channels."""
    out = case.out()
    scale, zero_point = case.scale
    return writes(out, compiled(_INPUT_LOOPS), case.x, out, case.mean, np.float32(1) / case.std, scale, zero_point)


@peer("input", "cv2", "LUT of each channel")
def cv2_input(case: Case) -> Call:
    """Look up every byte in a table for its channel, and reorder the channels."""
    import cv2

    scale, zero_point = case.scale
    levels = np.arange(256, dtype=np.float32)[:, None]
    table = np.rint((levels - case.mean[::-1]) * (np.float32(1) / case.std[::-1]) / scale) + zero_point
    table = np.clip(table, -128, 127).astype(np.int8).view(np.uint8)[None]
    out = case.out().view(np.uint8)
    middle = case.zeros(case.x.shape, np.uint8, scratch=True)

    def run() -> np.ndarray:
        cv2.LUT(case.x, table, middle)
        if out.shape == middle.shape:
            cv2.cvtColor(middle, cv2.COLOR_BGR2RGB, out)
        else:
            cv2.mixChannels([middle], [out], [2, 0, 1, 1, 0, 2])
        return out.view(np.int8)

    return run


@peer("gray", "numpy", "weighted sum")
def numpy_gray(case: Case) -> Call:
    """Sum the weighted planes: in integers of 15 bits for integers, else in float32."""
    x = np.moveaxis(case.x, case.order[0], 0)
    b, g, r = x[0], x[1], x[2]

    def integers() -> np.ndarray:
        wide = 3735 * b.astype(np.uint32) + 19235 * g.astype(np.uint32) + 9798 * r.astype(np.uint32)
        return ((wide + 16384) >> 15).astype(case.target.stored)

    weights = np.array([0.114, 0.587, 0.299], np.float32)
    return integers if x.dtype.kind in "iu" else lambda: weights[0] * b + weights[1] * g + weights[2] * r


@peer("gray", "cv2", "cvtColor, after merge where needed")
def cv2_gray(case: Case) -> Call:
    """Convert BGR pixels to gray; planes are merged to pixels before."""
    import cv2

    x = case.x
    axis, channels = case.order[0], case.x.shape[case.order[0]]
    shape = [n for k, n in enumerate(case.x.shape) if k != axis]
    out = case.zeros(shape, case.target.stored)
    if axis == len(case.x.shape) - 1:
        pixels = x.reshape(-1, shape[-1], channels)
        if channels > 4:
            pixels = pixels[..., :3]
        rule = cv2.COLOR_BGRA2GRAY if channels == 4 else cv2.COLOR_BGR2GRAY
        return writes(out, cv2.cvtColor, pixels, rule, out.reshape(pixels.shape[:2]))
    planes = [plane.reshape(-1, shape[-1]) for plane in x[:3]]
    flat = out.reshape(planes[0].shape)
    merged = case.zeros((*flat.shape, 3), out.dtype, scratch=True)

    def run() -> np.ndarray:
        cv2.merge(planes, merged)
        cv2.cvtColor(merged, cv2.COLOR_BGR2GRAY, flat)
        return out

    return run


_GRAY_LOOPS = """
def run(b, g, r, out):
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            blue, green, red = {type}(b[i, j]), {type}(g[i, j]), {type}(r[i, j])
            out[i, j] = {gray}
"""
_GRAYS = {
    "f": dict(type="np.float32", gray="blue * np.float32(0.114) + green * np.float32(0.587) + red * np.float32(0.299)"),
    "u": dict(type="np.uint32", gray="(blue * 3735 + green * 19235 + red * 9798 + 16384) >> 15"),
}


@peer("gray", "numba", "loops")
def numba_gray(case: Case) -> Call:
    """Sum the weighted channels in loops over rows and columns."""
    x = np.moveaxis(case.x, case.order[0], 0)
    out = case.zeros(x.shape[1:], case.target.stored)
    planes = [plane.reshape(-1, plane.shape[-1]) for plane in x[:3]]
    rows = out.reshape(-1, out.shape[-1])
    return writes(out, compiled(_GRAY_LOOPS.format(**_GRAYS[x.dtype.kind])), *planes, rows)
