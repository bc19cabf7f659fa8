"""The arrays of a call, and which of them cv2 copies."""

from __future__ import annotations

import cv2
import numpy as np

import npu_layout as nl
from npu_layout.arrays.watched_call import Function, WatchedCall, arrays_in, cv2_copies, has_tensor


def strided(seed: int) -> np.ndarray:
    """A float32 array whose strides are anybody's guess."""
    rng = np.random.default_rng(seed)
    x = np.zeros(rng.integers(1, 5, rng.integers(1, 5)), np.float32)
    x = x.transpose(rng.permutation(x.ndim)) if rng.integers(2) else x
    steps = rng.choice([1, 1, 1, 2, -1], x.ndim)
    return x[tuple(slice(None, None, step) for step in steps)] if rng.integers(2) else x


def test_what_opencv_copies_is_what_it_refuses_as_an_output() -> None:
    seen = set()
    many = [np.zeros((2, 3, n), np.float32)[:, :, :-1] for n in (100, 128, 129, 130, 300, 512, 513, 514)]
    for x in (*many, *map(strided, range(600))):
        dense = np.ascontiguousarray(x)
        try:
            cv2.add(dense, dense, dst=x)
            refused = False
        except cv2.error as error:
            assert "is incompatible with cv::Mat" in str(error)
            refused = True
        assert cv2_copies(x) == refused, (x.shape, x.strides)
        seen.add((x.ndim, refused))
    assert len(seen) == 8


def test_the_arrays_among_arguments() -> None:
    """In lists, tuples and dicts, as deep as people nest them; those without axes are numbers."""
    x, y = np.zeros((2, 3)), nl.Tensor(np.zeros((2, 3)), "CN")
    deep = [[[[x]]]]
    assert [a is b for a, b in zip(arrays_in(([x, (y,)], {"out": x}, np.float32(1), np.zeros(()))), (x, y, x))] == [
        True
    ] * 3
    assert list(arrays_in((deep,))) == [] and len(list(arrays_in((deep[0],)))) == 1
    assert has_tensor(([x, (y,)],)) and not has_tensor(([x], {"out": x})) and has_tensor({"where": [y]})
    assert not has_tensor((x.view(nl.Tensor),)), "a Tensor without a layout carries nothing"


def test_what_is_an_output_and_what_is_new_memory() -> None:
    x, out = (nl.Tensor(np.zeros((2, 3, 4, 5)), "NHWC") for _ in range(2))
    function = Function("np.add(x, ...)", "add")
    call = WatchedCall.of(function, (x, 1), {"out": (out,)}, out)
    assert [len(each) for each in (call.given, call.tensors, call.results, call.outs, call.fresh)] == [2, 2, 1, 1, 0]
    assert call.first is x and call.sources[0] is x and len(call.sources) == 1
    fresh = np.zeros((2, 3, 4, 5))
    assert [a is fresh for a in WatchedCall.of(function, (x, 1), {}, fresh).fresh] == [True]
    assert not WatchedCall.of(function, (x, 1), {}, np.asarray(x)[:1]).fresh
    copied = WatchedCall.of(Function("np.copyto(x, ...)", "copyto"), (out, x), {}, None)
    assert copied.results[0] is out and copied.sources[0] is x
    turned = nl.Tensor(np.zeros((8, 6, 3), np.uint8), nl.Layout("CHW", axes="HWC"))
    for is_cv2 in (True, False):
        entering = WatchedCall.of(Function("cv2.flip(x, ...)", "cv2.flip", is_cv2), (turned, 1), {}, None).entering
        assert [a is turned for a in entering] == [True] * is_cv2
