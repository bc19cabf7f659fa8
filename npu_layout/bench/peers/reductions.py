"""Compute argmax, top k, softmax and sigmoid, and find peaks, with other libraries.

Results are stored in the source's order, as this library's are.
"""

from __future__ import annotations

import numpy as np

from ..cases import TOP, Case
from .calls import graph
from .registry import Call, peer


@peer("argmax", "numpy", "x.argmax(1)")
def numpy_argmax(case: Case) -> Call:
    """Return the first largest channel; blocks are copied to neighbours first."""
    if case.source.layout.is_blocked:
        last, channels = case.channels_last, case.logical.shape[1]
        return lambda: last.reshape(*last.shape[:3], -1)[..., :channels].argmax(-1)
    stored, axis = case.flat.reshape(case.source.storage_shape), case.source.layout.tag.index("C")
    return lambda: stored.argmax(axis)


@peer("top_k", "numpy", "argsort(-x, 1, stable)[:, :5]; take_along_axis")
def numpy_top_k(case: Case) -> Call:
    """Sort all channels stably, and return the first."""
    stored, axis = case.flat.reshape(case.source.storage_shape), case.source.layout.tag.index("C")

    def run() -> np.ndarray:
        order = np.argsort(-stored, axis, kind="stable").take(range(TOP), axis)
        np.take_along_axis(stored, order, axis)
        return order

    return run


@peer("softmax", "numpy", "e = exp(x - x.max(1)); e / e.sum(1)")
def numpy_softmax(case: Case) -> Call:
    """Return exponentials of the differences to the largest, divided by their sum."""
    stored, axis = case.flat.reshape(case.source.storage_shape), case.source.layout.tag.index("C")

    def run() -> np.ndarray:
        e = np.exp(stored - stored.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)

    return run


@peer("sigmoid", "numpy", "1 / (1 + exp(-x))")
def numpy_sigmoid(case: Case) -> Call:
    """Apply the formula to the whole array."""
    stored = case.flat.reshape(case.source.storage_shape)
    return lambda: 1 / (1 + np.exp(-stored))


@peer("peaks", "numpy", "x > each of eight slices; argwhere")
def numpy_peaks(case: Case) -> Call:
    """Compare each value with its eight neighbours, and return the positions of peaks."""
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
def torch_channels(case: Case) -> Call:
    """Use torch's function of the case's name."""
    import torch

    if case.source.layout.is_blocked:
        last, channels = torch.from_numpy(case.channels_last), case.logical.shape[1]
        return lambda: torch.argmax(last.reshape(*last.shape[:3], -1)[..., :channels], -1).numpy()
    x, axis = torch.from_numpy(case.flat.reshape(case.source.storage_shape)), case.source.layout.tag.index("C")
    if case.kind == "argmax":
        return lambda: torch.argmax(x, axis).numpy()
    if case.kind == "sigmoid":
        return lambda: torch.sigmoid(x).numpy()
    return lambda: torch.softmax(x, axis).numpy()


@peer("softmax sigmoid", "onnxruntime", "Softmax or Sigmoid, bound")
def onnxruntime_activation(case: Case) -> Call | None:
    """Run a graph of one Softmax or Sigmoid."""
    from onnx import helper

    shape, axis = case.source.storage_shape, case.source.layout.tag.index("C")
    if case.kind == "softmax" and axis != 3:  # 18 times torch's time
        return None
    node = helper.make_node(case.kind.capitalize(), ["x"], ["y"], **({"axis": axis} if case.kind == "softmax" else {}))
    return graph(case.flat.reshape(shape), case.zeros(shape, case.target.stored), [node], {})


@peer("top_k", "torch", "topk(x, 5, 1)")
def torch_top_k(case: Case) -> Call:
    """Return the indices that torch's topk finds."""
    import torch

    x, axis = torch.from_numpy(case.flat.reshape(case.source.storage_shape)), case.source.layout.tag.index("C")
    return lambda: torch.topk(x, TOP, axis)[1].numpy()


@peer("top_k", "onnxruntime", "TopK, bound")
def onnxruntime_top_k(case: Case) -> Call:
    """Run a graph of one TopK."""
    from onnx import helper

    axis = case.source.layout.tag.index("C")
    node = helper.make_node("TopK", ["x", "k"], ["values", "y"], axis=axis)
    out = case.zeros(case.target.storage_shape, np.int64)
    return graph(case.flat.reshape(case.source.storage_shape), out, [node], {"k": np.array([TOP])})


@peer("peaks", "torch", "x == max_pool2d(x, 3); nonzero")
def torch_peaks(case: Case) -> Call | None:
    """Compare each value with the maximum of its window; torch pools no integers."""
    import torch

    if case.x.dtype.kind != "f":  # it pools no integers
        return None
    x, threshold = torch.from_numpy(case.flat.reshape(case.source.storage_shape)), case.threshold
    x = x.permute([case.source.layout.tag.index(axis) for axis in "NCHW"])

    def run() -> np.ndarray:
        found = (x == torch.nn.functional.max_pool2d(x, 3, 1, 1)) & (x > threshold)
        return torch.nonzero(found).numpy()

    return run
