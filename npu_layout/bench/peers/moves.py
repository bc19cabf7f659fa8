"""Reorder axes with other libraries, with and without pad channels.

Peers that write no zeros into pad channels find them there: the output is zeros before the first call.
"""

from __future__ import annotations

import numpy as np

from ..cases import Case
from .calls import graph, loops, writes
from .registry import Call, peer


@peer("move", "numpy", "copyto(out, x.transpose())")
def numpy_move(case: Case) -> Call:
    """Copy a transposed view into the output."""
    out = case.out()
    return writes(out, np.copyto, out, case.permuted())


@peer("move", "einops", "ascontiguousarray(rearrange())")
def einops_move(case: Case) -> Call:
    """Rearrange, and make the result contiguous."""
    import einops

    letters = [chr(97 + i) for i in range(len(case.x.shape))]
    pattern = f"{' '.join(letters)} -> {' '.join(letters[i] for i in case.order)}"
    x = case.x
    return lambda: np.ascontiguousarray(einops.rearrange(x, pattern))


@peer("move", "torch", "out.copy_(x.permute())")
def torch_move(case: Case) -> Call | None:
    """Copy a permuted tensor into the output; torch has no uint16 and no negative strides."""
    import torch

    if case.x.dtype == np.uint16 or min(case.x.strides) < 0:
        return None
    out = case.out()
    return writes(out, torch.from_numpy(out).copy_, torch.from_numpy(case.x).permute(case.order))


@peer("move", "cv2", "transpose, split, merge, cvtColor")
def cv2_move(case: Case) -> Call | None:
    """Use the function that fits the order of axes and the number of channels."""
    import cv2

    out, x = case.out(), case.x
    if min(x.strides) < 0:
        return None
    if case.order == (2, 0, 1) and x.shape[2] in (3, 4):
        return writes(out, lambda: cv2.split(x, list(out)))
    if case.order == (1, 2, 0) and x.shape[0] in (3, 4):
        return writes(out, lambda: cv2.merge(list(x), out))
    if case.order == (0, 1) and x.shape[1] == 3 and x.strides == (4, 1):
        pixels = np.lib.stride_tricks.as_strided(x, (1, len(x), 4), (4 * len(x), 4, 1))
        return writes(out, cv2.cvtColor, pixels, cv2.COLOR_BGRA2BGR, out[None])
    if not x.flags.c_contiguous:
        return None
    if case.order == (1, 0) or (case.order == (1, 0, 2) and x.strides[1] <= 32):
        return writes(out, cv2.transpose, x, out)
    if case.order == (0, 2, 1):
        return writes(out, lambda: [cv2.transpose(a, b) for a, b in zip(x, out)])
    given, target = cv2.Mat(x, wrap_channels=False), cv2.Mat(out, wrap_channels=False)
    return writes(out, cv2.transposeND, given, case.order, target)


@peer("move", "cv2", "flip, cvtColor, split, merge")
def cv2_mirrored_move(case: Case) -> Call | None:
    """Flip, and reorder the axes before or after."""
    import cv2

    out, x = case.out(), case.x
    if min(x.strides) >= 0:
        return None
    plain = np.flip(x, int(np.argmin(x.strides)))
    if case.order == (2, 0, 1):
        middle = case.zeros(plain.shape, plain.dtype, scratch=True)
        return writes(out, lambda: cv2.split(cv2.flip(plain, 1, middle), list(out)))
    if case.order == (1, 2, 0):
        middle = case.zeros(out.shape, out.dtype, scratch=True)
        return writes(out, lambda: cv2.flip(cv2.merge(list(plain), middle), 1, out))
    if x.strides[-1] == -1 and x.shape[-1] == 3:
        return writes(out, cv2.cvtColor, plain, cv2.COLOR_BGR2RGB, out)
    return writes(out, cv2.flip, plain, 1, out)


@peer("move", "onnxruntime", "Transpose, bound")
def onnxruntime_move(case: Case) -> Call | None:
    """Run a graph of one Transpose on a contiguous source."""
    from onnx import helper

    if not case.x.flags.c_contiguous:
        return None
    return graph(case.x, case.out(), [helper.make_node("Transpose", ["x"], ["y"], perm=case.order)], {})


@peer("move", "numba", "loops")
def numba_move(case: Case) -> Call | None:
    """Assign in loops over the target's order."""
    return None if case.x.dtype == np.float16 else loops(case, "{x}")  # numba has no float16 on a CPU


@peer("pad", "numpy", "copyto(out[..., :3], x.transpose())")
def numpy_pad(case: Case) -> Call:
    """Copy a transposed view into the real channels."""
    out, x = case.out(), case.permuted()
    return writes(out, lambda: np.copyto(out[..., : x.shape[-1]], x))


@peer("pad", "torch", "out[..., :3].copy_(x.permute())")
def torch_pad(case: Case) -> Call:
    """Copy a permuted tensor into the real channels."""
    import torch

    out = case.out()
    wanted = torch.from_numpy(out)[..., : case.permuted().shape[-1]]
    return writes(out, wanted.copy_, torch.from_numpy(case.x).permute(case.order))


@peer("pad", "cv2", "mixChannels, or merge with planes of zeros")
def cv2_pad(case: Case) -> Call:
    """Mix the channels into the output, or merge planes with planes of zeros."""
    import cv2

    out, x = case.out(), case.x
    if case.order == (0, 1, 2):
        pairs = [k for c in range(x.shape[2]) for k in (c, c)]
        return writes(out, cv2.mixChannels, [x], [out], pairs)
    planes = [*x, *[np.zeros_like(x[0])] * (out.shape[2] - len(x))]
    return writes(out, cv2.merge, planes, out)


@peer("pad", "onnxruntime", "Transpose and Pad, bound")
def onnxruntime_pad(case: Case) -> Call:
    """Run a graph of Transpose and Pad."""
    from onnx import helper

    more = case.out().shape[-1] - case.permuted().shape[-1]
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=case.order),
        helper.make_node("Pad", ["t", "pads"], ["y"]),
    ]
    return graph(case.x, case.out(), nodes, {"pads": np.array([0, 0, 0, 0, 0, more])})


@peer("pad", "numba", "loops")
def numba_pad(case: Case) -> Call:
    """Assign the real channels in loops."""
    return loops(case, "{x}")
