"""What other libraries do for the benchmark's cases, spelled as their users would, into memory that is there.

A peer is a function of a Case that returns what is to be timed, or None where the library has nothing for it. Which
installed library a function needs is said where it is registered.
"""

from __future__ import annotations

import importlib
import os
import platform
import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from .cases import TOP, Case

Call = Callable[[], Any]

# kind of case -> [(library, spelling, function)]
PEERS: dict[str, list[tuple[str, str, Callable[[Case], Call | None]]]] = {}


def peer(kind: str, library: str, spelling: str) -> Callable[[Any], Any]:
    """Register a function of a Case under the kinds it serves."""

    def register(function: Any) -> Any:
        for one in kind.split():
            PEERS.setdefault(one, []).append((library, spelling, function))
        return function

    return register


def installed() -> dict[str, str]:
    """The libraries that are there, and their versions; each has been told to use `use_threads` threads."""
    found = {}
    names = {"cv2": "opencv-python"}
    for library in sorted({entry[0] for entries in PEERS.values() for entry in entries}):
        try:
            importlib.import_module(library)
            found[library] = version(names.get(library, library))
        except Exception:  # a peer that does not start is a peer that is not there
            continue
    return found


# What holds libraries that are imported afterwards to an instruction set of ours, as their documentation has it. Where
# numba is given no features it takes those of the processor named. The other libraries have no such switch.
_HELD: dict[str, dict[str, str]] = {
    "native (avx2)": {
        "OPENCV_CPU_DISABLE": "AVX512-SKX",
        "OPENCV_IPP": "avx2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "NUMBA_CPU_NAME": "haswell",
        "NUMBA_CPU_FEATURES": "",
    },
    "native (sse4)": {
        "OPENCV_CPU_DISABLE": "AVX512-SKX,AVX2,FP16,AVX",
        "OPENCV_IPP": "sse42",
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "NUMBA_CPU_NAME": "penryn",
        "NUMBA_CPU_FEATURES": "",
    },
    "native (base)": {
        "OPENCV_CPU_DISABLE": "AVX512-SKX,AVX2,FP16,AVX,SSE4.2,SSE4.1",
        "OPENCV_IPP": "disabled",
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "NUMBA_CPU_NAME": "x86-64",
        "NUMBA_CPU_FEATURES": "",
    },
}


def hold_to(active: str) -> list[str]:
    """Hold cv2, numba and torch to the instruction set of our active kernels, where they are not imported yet; which of
    them it holds."""
    known = active in _HELD and platform.machine() in ("x86_64", "AMD64")
    held = [name for name in ("cv2", "numba", "torch") if known and name not in sys.modules]
    if held:
        os.environ.update(_HELD[active])
    return held


_threads = 1


def use_threads(n: int) -> None:
    """Let every peer use `n` threads."""
    global _threads
    _threads = n
    import cv2

    cv2.setNumThreads(n)
    if "torch" in installed():
        import torch

        torch.set_num_threads(n)


# -- orders of memory


def _writes(out: np.ndarray, function: Callable[..., Any], *arguments: Any) -> Call:
    """A call of function(*arguments), which fills `out`."""

    def run() -> np.ndarray:
        function(*arguments)
        return out

    return run


@peer("move", "numpy", "copyto(out, x.transpose())")
def _(case: Case) -> Call:
    out = case.out()
    return _writes(out, np.copyto, out, case.permuted())


@peer("move", "einops", "ascontiguousarray(rearrange())")
def _(case: Case) -> Call:
    import einops

    letters = [chr(97 + i) for i in range(len(case.x.shape))]
    pattern = f"{' '.join(letters)} -> {' '.join(letters[i] for i in case.order)}"
    x = case.x
    return lambda: np.ascontiguousarray(einops.rearrange(x, pattern))


@peer("move", "torch", "out.copy_(x.permute())")
def _(case: Case) -> Call | None:
    import torch

    if case.x.dtype == np.uint16 or min(case.x.strides) < 0:
        return None
    out = case.out()
    return _writes(out, torch.from_numpy(out).copy_, torch.from_numpy(case.x).permute(case.order))


@peer("move", "cv2", "transpose, split, merge, cvtColor")
def _(case: Case) -> Call | None:
    import cv2

    out, x = case.out(), case.x
    if min(x.strides) < 0:
        return None
    if case.order == (2, 0, 1) and x.shape[2] in (3, 4):
        return _writes(out, lambda: cv2.split(x, list(out)))
    if case.order == (1, 2, 0) and x.shape[0] in (3, 4):
        return _writes(out, lambda: cv2.merge(list(x), out))
    if case.order == (0, 1) and x.shape[1] == 3 and x.strides == (4, 1):
        pixels = np.lib.stride_tricks.as_strided(x, (1, len(x), 4), (4 * len(x), 4, 1))
        return _writes(out, cv2.cvtColor, pixels, cv2.COLOR_BGRA2BGR, out[None])
    if not x.flags.c_contiguous:
        return None
    if case.order == (1, 0) or (case.order == (1, 0, 2) and x.strides[1] <= 32):
        return _writes(out, cv2.transpose, x, out)
    if case.order == (0, 2, 1):
        return _writes(out, lambda: [cv2.transpose(a, b) for a, b in zip(x, out)])
    given, target = cv2.Mat(x, wrap_channels=False), cv2.Mat(out, wrap_channels=False)
    return _writes(out, cv2.transposeND, given, case.order, target)


@peer("move", "cv2", "flip, cvtColor, split, merge")
def _(case: Case) -> Call | None:
    import cv2

    out, x = case.out(), case.x
    if min(x.strides) >= 0:
        return None
    plain = np.flip(x, int(np.argmin(x.strides)))
    if case.order == (2, 0, 1):
        middle = np.zeros_like(plain)
        return _writes(out, lambda: cv2.split(cv2.flip(plain, 1, middle), list(out)))
    if case.order == (1, 2, 0):
        middle = np.zeros_like(out)
        return _writes(out, lambda: cv2.flip(cv2.merge(list(plain), middle), 1, out))
    if x.strides[-1] == -1 and x.shape[-1] == 3:
        return _writes(out, cv2.cvtColor, plain, cv2.COLOR_BGR2RGB, out)
    return _writes(out, cv2.flip, plain, 1, out)


def _graph(x: np.ndarray, out: np.ndarray, nodes: list[Any], constants: dict[str, np.ndarray]) -> Call:
    import onnx
    import onnxruntime as ort
    from onnx import helper, numpy_helper

    types = [helper.np_dtype_to_tensor_dtype(a.dtype) for a in (x, out)]
    graph = helper.make_graph(
        nodes,
        "case",
        [helper.make_tensor_value_info("x", types[0], x.shape)],
        [helper.make_tensor_value_info("y", types[1], out.shape)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    onnx.checker.check_model(model)
    options = ort.SessionOptions()
    options.intra_op_num_threads = _threads
    session = ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_output("y", "cpu", 0, out.dtype, out.shape, out.ctypes.data)

    return _writes(out, session.run_with_iobinding, binding)


@peer("move", "onnxruntime", "Transpose, bound")
def _(case: Case) -> Call | None:
    from onnx import helper

    if not case.x.flags.c_contiguous:
        return None
    return _graph(case.x, case.out(), [helper.make_node("Transpose", ["x"], ["y"], perm=case.order)], {})


def _loops(case: Case, element: str, **parameters: Any) -> Call:
    """numba: one loop for each dimension, in the order of the result; `element` is made of {x}."""
    names = [f"i{k}" for k in range(len(case.x.shape))]
    lines = [f"def run({', '.join(['x', 'out', *parameters])}):"]
    for depth, axis in enumerate(case.order):
        lines.append(" " * (depth + 1) + f"for {names[axis]} in range(x.shape[{axis}]):")
    index = ", ".join(names[i] for i in case.order)
    lines.append(" " * (len(names) + 1) + f"out[{index}] = " + element.format(x=f"x[{', '.join(names)}]"))
    out = case.out()
    return _writes(out, _compiled("\n".join(lines)), case.x, out, *parameters.values())


@cache
def _compiled(text: str) -> Any:
    """numba: the function `run` that is written there."""
    import numba

    space: dict[str, Any] = {"np": np}
    exec(text, space)
    return numba.njit(space["run"])


@peer("move", "numba", "loops")
def _(case: Case) -> Call | None:
    return None if case.x.dtype == np.float16 else _loops(case, "{x}")  # numba has no float16 on a CPU


# -- frames into blocks of more channels; whoever writes no zeros found them there


@peer("pad", "numpy", "copyto(out[..., :3], x.transpose())")
def _(case: Case) -> Call:
    out, x = case.out(), case.permuted()
    return _writes(out, lambda: np.copyto(out[..., : x.shape[-1]], x))


@peer("pad", "torch", "out[..., :3].copy_(x.permute())")
def _(case: Case) -> Call:
    import torch

    out = case.out()
    wanted = torch.from_numpy(out)[..., : case.permuted().shape[-1]]
    return _writes(out, wanted.copy_, torch.from_numpy(case.x).permute(case.order))


@peer("pad", "cv2", "mixChannels, or merge with planes of zeros")
def _(case: Case) -> Call:
    import cv2

    out, x = case.out(), case.x
    if case.order == (0, 1, 2):
        pairs = [k for c in range(x.shape[2]) for k in (c, c)]
        return _writes(out, cv2.mixChannels, [x], [out], pairs)
    planes = [*x, *[np.zeros_like(x[0])] * (out.shape[2] - len(x))]
    return _writes(out, cv2.merge, planes, out)


@peer("pad", "onnxruntime", "Transpose and Pad, bound")
def _(case: Case) -> Call:
    from onnx import helper

    more = case.out().shape[-1] - case.permuted().shape[-1]
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=case.order),
        helper.make_node("Pad", ["t", "pads"], ["y"]),
    ]
    return _graph(case.x, case.out(), nodes, {"pads": np.array([0, 0, 0, 0, 0, more])})


@peer("pad", "numba", "loops")
def _(case: Case) -> Call:
    return _loops(case, "{x}")


# -- dequantised outputs


@peer("dequantize", "numpy", "(x.astype(float32) - zp) * scale, transposed")
def _(case: Case) -> Call:
    scale, zero_point = case.scale
    x = case.permuted()
    return lambda: np.ascontiguousarray((x.astype(np.float32) - zero_point) * scale)


@peer("dequantize", "torch", "out.copy_(x.permute()).sub_().mul_()")
def _(case: Case) -> Call:
    import torch

    scale, zero_point = case.scale
    out = case.out()
    x, y = torch.from_numpy(case.x).permute(case.order), torch.from_numpy(out)

    def run() -> np.ndarray:
        y.copy_(x).sub_(float(zero_point)).mul_(float(scale))
        return out

    return run


@peer("dequantize", "cv2", "transpose and LUT")
def _(case: Case) -> Call:
    import cv2

    scale, zero_point = case.scale
    x, middle, out = case.x, np.zeros(case.out().shape, case.x.dtype), case.out()
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
def _(case: Case) -> Call:
    from onnx import helper

    scale, zero_point = case.scale
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=case.order),
        helper.make_node("DequantizeLinear", ["t", "scale", "zero"], ["y"]),
    ]
    return _graph(case.x, case.out(), nodes, {"scale": np.asarray(scale), "zero": zero_point.astype(case.x.dtype)})


@peer("dequantize", "numba", "loops")
def _(case: Case) -> Call:
    scale, zero_point = case.scale
    return _loops(case, "(np.float32({x}) - zero) * scale", zero=zero_point, scale=scale)


# -- float tensors to quantised inputs, or to float16


@peer("quantize quantize-each", "numpy", "clip(round(x / scale) + zp), transposed")
def _(case: Case) -> Call:
    scale, zero_point = case.scale
    x, dtype = case.permuted(), case.target.stored
    info = np.iinfo(dtype)
    return lambda: np.ascontiguousarray(np.clip(np.round(x / scale) + zero_point, info.min, info.max).astype(dtype))


@peer("quantize", "onnxruntime", "Transpose and QuantizeLinear, bound")
def _(case: Case) -> Call | None:
    from onnx import helper

    if case.target.stored.itemsize > 2:  # it quantises to no int32
        return None

    scale, zero_point = case.scale
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        helper.make_node("Transpose", ["q"], ["y"], perm=case.order),
    ]
    constants = {"scale": np.asarray(scale), "zero": zero_point.astype(case.target.stored)}
    return _graph(case.x, case.out(), nodes, constants)


@peer("quantize quantize-each", "numba", "loops")
def _(case: Case) -> Call:
    scale, zero_point = case.scale
    dtype = case.target.stored
    if scale.ndim:
        return _loops(case, "np.int32(np.rint(np.float64({x} / scale[i1])) + zero[i1])", zero=zero_point, scale=scale)
    element = "np.int8(min(max(np.rint({x} / scale) + zero, np.float32(-128)), np.float32(127)))"
    if dtype == np.int32:
        element = "np.int32(np.rint(np.float64({x} / scale)) + zero)"
    return _loops(case, element, zero=zero_point, scale=scale)


# -- bytes from one quantization to another


@peer("requantize requantize-each", "numpy", "clip(round((x - zp) * scale / to) + zp)")
def _(case: Case) -> Call:
    (scale, zero), (to, other) = _quantizations(case)
    x = case.permuted()
    return lambda: np.clip(np.round((x.astype(np.float32) - zero) * scale / to) + other, -128, 127).astype(np.int8)


@peer("requantize requantize-each", "cv2", "LUT")
def _(case: Case) -> Call:
    import cv2

    (scale, zero), (to, other) = _quantizations(case)
    levels = np.arange(256, dtype=np.uint8).view(case.x.dtype)[:, None].astype(np.float32)
    table = np.clip(np.rint((levels - zero) * scale / to) + other, -128, 127).astype(np.int8)
    out = np.zeros(case.x.shape, np.int8)
    shape = (case.x.shape[0], -1, table.shape[1])
    return _writes(out, cv2.LUT, case.x.view(np.uint8).reshape(shape), table[None], out.reshape(shape))


def _quantizations(case: Case) -> list[tuple[np.ndarray, np.ndarray]]:
    """Scale and zero point of both sides, float32."""
    sides = (case.source.quantization, case.target.quantization)
    return [(np.float32(q.scale), np.float32(q.zero_point)) for q in sides if q is not None]


@peer("half", "numpy", "copyto(out, x)")
def _(case: Case) -> Call:
    out, x = case.out(), case.permuted()

    def run() -> np.ndarray:
        np.copyto(out, x, casting="same_kind")
        return out

    return run


@peer("half", "torch", "out.copy_(x)")
def _(case: Case) -> Call:
    import torch

    out = case.out()
    return _writes(out, torch.from_numpy(out).copy_, torch.from_numpy(case.x).permute(case.order))


# -- pictures


@peer("normalize", "numpy", "((x.astype(float32) - mean) / std).transpose()")
def _(case: Case) -> Call:
    x = case.x[..., ::-1]
    return lambda: np.ascontiguousarray(((x.astype(np.float32) - case.mean) / case.std).transpose(2, 0, 1))


@peer("normalize", "cv2", "blobFromImageWithParams")
def _(case: Case) -> Call:
    import cv2

    parameters = cv2.dnn.Image2BlobParams()
    parameters.scalefactor = tuple((1 / case.std).tolist())
    parameters.mean = tuple(case.mean.tolist())
    parameters.swapRB = True
    return lambda: cv2.dnn.blobFromImageWithParams(case.x, parameters)


@peer("normalize", "torch", "out.copy_(x.permute()).sub_().div_()")
def _(case: Case) -> Call:
    import torch

    out = np.zeros((3, *case.x.shape[:2]), np.float32)
    x, y = torch.from_numpy(case.x).permute(2, 0, 1), torch.from_numpy(out)
    mean, std = (torch.from_numpy(v[:, None, None]) for v in (case.mean, case.std))

    def run() -> np.ndarray:
        for plane in range(3):
            y[plane].copy_(x[2 - plane])
        y.sub_(mean).div_(std)
        return out

    return run


@peer("normalize", "onnxruntime", "Cast, Sub, Div, Transpose, bound")
def _(case: Case) -> Call:
    from onnx import TensorProto, helper

    nodes = [
        helper.make_node("Cast", ["x"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Sub", ["f", "mean"], ["s"]),
        helper.make_node("Div", ["s", "std"], ["d"]),
        helper.make_node("Transpose", ["d"], ["t"], perm=case.order),
        helper.make_node("Gather", ["t", "rgb"], ["y"], axis=0),
    ]
    constants = {"mean": case.mean[::-1].copy(), "std": case.std[::-1].copy(), "rgb": np.array([2, 1, 0])}
    return _graph(case.x, case.out(), nodes, constants)


@peer("normalize", "openvino", "PrePostProcessor")
def _(case: Case) -> Call:
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
    compiled = ov.Core().compile_model(steps.build(), "CPU", {"INFERENCE_NUM_THREADS": _threads})
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
def _(case: Case) -> Call:
    out = np.zeros((3, *case.x.shape[:2]), np.float32)
    return _writes(out, _compiled(_NORMALIZE_LOOPS), case.x, out, case.mean, np.float32(1) / case.std)


@peer("input", "numpy", "astype, subtract, divide, round, clip, astype")
def _(case: Case) -> Call:
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
def _(case: Case) -> Call:
    out = case.out()
    scale, zero_point = case.scale
    return _writes(out, _compiled(_INPUT_LOOPS), case.x, out, case.mean, np.float32(1) / case.std, scale, zero_point)


@peer("input", "cv2", "LUT of each channel")
def _(case: Case) -> Call:
    import cv2

    scale, zero_point = case.scale
    levels = np.arange(256, dtype=np.float32)[:, None]
    table = np.rint((levels - case.mean[::-1]) * (np.float32(1) / case.std[::-1]) / scale) + zero_point
    table = np.clip(table, -128, 127).astype(np.int8).view(np.uint8)[None]
    middle, out = np.zeros_like(case.x), case.out().view(np.uint8)

    def run() -> np.ndarray:
        cv2.LUT(case.x, table, middle)
        if out.shape == middle.shape:
            cv2.cvtColor(middle, cv2.COLOR_BGR2RGB, out)
        else:
            cv2.mixChannels([middle], [out], [2, 0, 1, 1, 0, 2])
        return out.view(np.int8)

    return run


# -- gray


@peer("gray", "numpy", "weighted sum")
def _(case: Case) -> Call:
    x = np.moveaxis(case.x, case.order[0], 0)
    b, g, r = x[0], x[1], x[2]

    def integers() -> np.ndarray:
        wide = 3735 * b.astype(np.uint32) + 19235 * g.astype(np.uint32) + 9798 * r.astype(np.uint32)
        return ((wide + 16384) >> 15).astype(case.target.stored)

    weights = np.array([0.114, 0.587, 0.299], np.float32)
    return integers if x.dtype.kind in "iu" else lambda: weights[0] * b + weights[1] * g + weights[2] * r


@peer("gray", "cv2", "cvtColor, after merge where needed")
def _(case: Case) -> Call:
    import cv2

    x = case.x
    axis, channels = case.order[0], case.x.shape[case.order[0]]
    shape = [n for k, n in enumerate(case.x.shape) if k != axis]
    out = np.zeros(shape, case.target.stored)
    if axis == len(case.x.shape) - 1:
        pixels = x.reshape(-1, shape[-1], channels)
        if channels > 4:
            pixels = pixels[..., :3]
        rule = cv2.COLOR_BGRA2GRAY if channels == 4 else cv2.COLOR_BGR2GRAY
        return _writes(out, cv2.cvtColor, pixels, rule, out.reshape(pixels.shape[:2]))
    planes = [plane.reshape(-1, shape[-1]) for plane in x[:3]]
    merged, flat = np.zeros((*planes[0].shape, 3), out.dtype), out.reshape(planes[0].shape)

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
def _(case: Case) -> Call:
    x = np.moveaxis(case.x, case.order[0], 0)
    out = np.zeros(x.shape[1:], case.target.stored)
    planes = [plane.reshape(-1, plane.shape[-1]) for plane in x[:3]]
    rows = out.reshape(-1, out.shape[-1])
    return _writes(out, _compiled(_GRAY_LOOPS.format(**_GRAYS[x.dtype.kind])), *planes, rows)


# -- reductions over channels, and peaks: results lie in the source's order, as ours


@peer("argmax", "numpy", "x.argmax(1)")
def _(case: Case) -> Call:
    stored, axis = case.flat.reshape(case.source.storage_shape), case.source.layout.tag.index("C")
    return lambda: stored.argmax(axis)


@peer("top_k", "numpy", "argsort(-x, 1, stable)[:, :5]; take_along_axis")
def _(case: Case) -> Call:
    stored, axis = case.flat.reshape(case.source.storage_shape), case.source.layout.tag.index("C")

    def run() -> np.ndarray:
        order = np.argsort(-stored, axis, kind="stable").take(range(TOP), axis)
        np.take_along_axis(stored, order, axis)
        return order

    return run


@peer("softmax", "numpy", "e = exp(x - x.max(1)); e / e.sum(1)")
def _(case: Case) -> Call:
    stored, axis = case.flat.reshape(case.source.storage_shape), case.source.layout.tag.index("C")

    def run() -> np.ndarray:
        e = np.exp(stored - stored.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)

    return run


@peer("sigmoid", "numpy", "1 / (1 + exp(-x))")
def _(case: Case) -> Call:
    stored = case.flat.reshape(case.source.storage_shape)
    return lambda: 1 / (1 + np.exp(-stored))


@peer("peaks", "numpy", "x > each of eight slices; argwhere")
def _(case: Case) -> Call:
    x, threshold = case.logical, case.threshold
    lowest = np.finfo(x.dtype).min if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    height, width = x.shape[2:]

    def run() -> np.ndarray:
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=lowest)
        good = x > threshold
        for at in range(9):
            other = padded[:, :, at // 3 : at // 3 + height, at % 3 : at % 3 + width]
            if at != 4:
                good &= x > other if at < 4 else x >= other
        return np.argwhere(good)

    return run


@peer("argmax softmax sigmoid", "torch", "argmax(x, 1), softmax(x, 1), sigmoid(x)")
def _(case: Case) -> Call:
    import torch

    x, axis = torch.from_numpy(case.flat.reshape(case.source.storage_shape)), case.source.layout.tag.index("C")
    if case.kind == "argmax":
        return lambda: torch.argmax(x, axis).numpy()
    if case.kind == "sigmoid":
        return lambda: torch.sigmoid(x).numpy()
    return lambda: torch.softmax(x, axis).numpy()


@peer("softmax sigmoid", "onnxruntime", "Softmax or Sigmoid, bound")
def _(case: Case) -> Call | None:
    from onnx import helper

    shape, axis = case.source.storage_shape, case.source.layout.tag.index("C")
    if case.kind == "softmax" and axis != 3:  # 18 times torch's time
        return None
    node = helper.make_node(case.kind.capitalize(), ["x"], ["y"], **({"axis": axis} if case.kind == "softmax" else {}))
    return _graph(case.flat.reshape(shape), np.zeros(shape, case.target.stored), [node], {})


@peer("top_k", "torch", "topk(x, 5, 1)")
def _(case: Case) -> Call:
    import torch

    x, axis = torch.from_numpy(case.flat.reshape(case.source.storage_shape)), case.source.layout.tag.index("C")
    return lambda: torch.topk(x, TOP, axis)[1].numpy()


@peer("top_k", "onnxruntime", "TopK, bound")
def _(case: Case) -> Call:
    from onnx import helper

    axis = case.source.layout.tag.index("C")
    node = helper.make_node("TopK", ["x", "k"], ["values", "y"], axis=axis)
    out = np.zeros(case.target.storage_shape, np.int64)
    return _graph(case.flat.reshape(case.source.storage_shape), out, [node], {"k": np.array([TOP])})


@peer("peaks", "torch", "x == max_pool2d(x, 3); nonzero")
def _(case: Case) -> Call | None:
    import torch

    if case.x.dtype.kind != "f":  # it pools no integers
        return None
    x, threshold = torch.from_numpy(case.flat.reshape(case.source.storage_shape)), case.threshold
    x = x.permute([case.source.layout.tag.index(axis) for axis in "NCHW"])

    def run() -> np.ndarray:
        found = (x == torch.nn.functional.max_pool2d(x, 3, 1, 1)) & (x > threshold)
        return torch.nonzero(found).numpy()

    return run
