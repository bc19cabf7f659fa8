"""One pass from a frame to a buffer that is in no cache: the same bytes, wherever it begins, and when a pass looks."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import kernels
from npu_layout.frames.buffer_writing import written_by
from tests.frames.test_fitting import buffer_of, canvas_of, frame_of
from tests.support.memory import Fenced

if kernels.active() != "numpy":
    from npu_layout.kernels import _native

pytestmark = pytest.mark.skipif(kernels.active() == "numpy", reason="the compiled kernels are turned off")
LOOKS = platform.machine() in ("x86_64", "AMD64")  # elsewhere nothing is stored past the caches
INT8 = nl.Quantization(1.0, -128)
TARGETS: tuple[tuple[str, str, Any, Any, Any], ...] = (  # layout, dtype, quantization, mean, std
    ("NCHW16c", "int8", INT8, 0, 1),
    ("NCHW16c", "int8", nl.Quantization(1 / 32, 3), 128, 64),  # exact in float32, and no move of bits
    ("NCHW16c", "int8", nl.Quantization(1 / 32, 3), (128, 64, 100), (64, 32, 128)),
    ("NCHW16c", "uint8", None, 0, 1),
    ("NCHW4c", "int8", INT8, 0, 1),
    ("NHWC16c", "int8", INT8, 0, 1),
    ("NCHW16c", "float32", None, (123.7, 116.3, 103.5), (58.4, 57.1, 57.4)),
    ("NCHW16c", "float16", None, 0, 255),
    ("NCHW", "float32", None, (123.7, 116.3, 103.5), (58.4, 57.1, 57.4)),
    ("NHWC", "float32", None, 0, 255),
)


@pytest.fixture(params=((False, 0), (True, 0)), ids=("any", "whole lines"))
def stores(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Of processors for which parts of lines are as fast past the caches as whole ones, and of those for which they are
    not."""
    _native.set_stores(*request.param)
    written_by.cache_clear()  # how programs store is planned
    yield request.param[0]
    _native.set_stores(False, 0)
    written_by.cache_clear()


@pytest.fixture(params=(1, 2))
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = kernels.get_num_threads()
    kernels.set_num_threads(request.param)
    yield request.param
    kernels.set_num_threads(before)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("layout, dtype, quantization, mean, std", TARGETS)
@pytest.mark.parametrize("size_wh, target_wh", [((417, 263), (299, 301)), ((320, 200), (320, 320))])
def test_results_in_no_cache(
    layout: str,
    dtype: str,
    quantization: Any,
    mean: Any,
    std: Any,
    size_wh: tuple[int, int],
    target_wh: tuple[int, int],
    cached: Callable[[int], int],
    stores: bool,
) -> None:
    """The first call stores through the caches, the others past them, if the pass gains by it."""
    w, h = target_wh
    spec = nl.TensorSpec((1, 3, h, w), layout, dtype, axes="NCHW", quantization=quantization)
    preprocess = nl.Preprocessor(spec, source="BGR", mean=mean, std=std, pad_value=7)
    frame = frame_of(np.random.default_rng(w), "BGR", size_wh, 5)
    made, geometry = preprocess(frame)
    expected = buffer_of(spec, canvas_of(frame, "BGR", "RGB", geometry, 7, "linear"), mean, std)
    fence = Fenced(expected.nbytes + 64)
    for behind in (0, expected.itemsize, 16, 48):
        room = fence.last(expected.nbytes + behind)
        out = room[: expected.nbytes].view(expected.dtype).reshape(made.shape)
        for call in range(3):
            room[:] = 0x37
            cached(0)
            preprocess(frame, out)
            np.testing.assert_array_equal(out.reshape(-1), expected, f"{behind} {call}")
            assert (room[expected.nbytes :] == 0x37).all()
            assert cached(0) == (LOOKS and call > 0), f"{stores} {behind} {call}"


@pytest.mark.parametrize(
    "layout, dtype, wh, looks",
    [
        ("NCHW16c", "int8", (299, 301), 1),
        ("NCHW", "float32", (299, 301), 1),
        ("NCHW16c", "int8", (99, 101), 0),  # stays in a cache
        ("NHWC", "int8", (640, 640), 0),  # rows of the frame are rows of the result
    ],
)
def test_when_a_pass_looks(
    layout: str, dtype: str, wh: tuple[int, int], looks: int, cached: Callable[[int], int]
) -> None:
    """Once for each call, at the result alone; not at one that was never written."""
    w, h = wh
    quantization = INT8 if dtype == "int8" else None
    spec = nl.TensorSpec((1, 3, h, w), layout, dtype, axes="NCHW", quantization=quantization)
    preprocess, frame = nl.Preprocessor(spec), np.zeros((200, 320, 3), np.uint8)
    out = preprocess(frame)[0]
    cached(1)
    for _ in range(3):
        preprocess(frame, out)
        assert cached(1) == (looks if LOOKS else 0)
    other = out.copy()
    preprocess(frame, other)
    assert cached(1) == 0
