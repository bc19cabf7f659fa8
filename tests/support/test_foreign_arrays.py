"""Arrays of other libraries: read in place by DLPack or numpy's protocols, or refused by name."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.support import foreign_array


class ByDlpack:
    """What PyTorch's tensors have, and nothing else."""

    def __init__(self, array: np.ndarray, device: tuple[int, int] = (1, 0)) -> None:
        self.array, self.device = array, device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, *_: Any, **__: Any) -> Any:
        if self.device != (1, 0):
            raise BufferError("on another device")
        return self.array.__dlpack__()


class ByInterface:
    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.array.__array_interface__


class ByArray:
    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.array


DOORS = [ByDlpack, ByInterface, ByArray]
STRIDED = np.arange(2 * 3 * 4 * 5, dtype=np.int16).reshape(2, 3, 4, 5)
ARRAYS = [
    STRIDED,
    STRIDED.transpose(0, 2, 3, 1),
    STRIDED[:, :, ::2, 1:4],
    STRIDED[:, :1],
    np.float32(7).reshape(1, 1),
    np.asfortranarray(STRIDED),
]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("array", ARRAYS, ids=range(len(ARRAYS)))
def test_every_stride_in_place(door: Any, array: np.ndarray) -> None:
    read = foreign_array("x", door(array))
    assert read is not None and np.array_equal(read, array) and np.shares_memory(read, array)
    assert read.dtype == array.dtype
    assert [s for s, n in zip(read.strides, read.shape) if n > 1] == [
        s for s, n in zip(array.strides, array.shape) if n > 1
    ]


def test_what_is_none() -> None:
    assert foreign_array("x", STRIDED) is STRIDED
    for other in (None, 3, "text", b"bytes", [1, 2], np.ndarray, ByDlpack, object()):
        assert foreign_array("x", other) is None


def test_another_device_is_named() -> None:
    with pytest.raises(
        nl.NpuLayoutError, match=r"x: numpy cannot read this .*ByDlpack in place \(.*expected memory of"
    ):
        foreign_array("x", ByDlpack(STRIDED, (2, 0)))


def test_read_only_memory_stays_read_only_or_is_refused() -> None:
    array = STRIDED.copy()
    array.flags.writeable = False
    read = foreign_array("x", ByInterface(array))
    assert read is not None and not read.flags.writeable
    spec = nl.TensorSpec(array.shape, "NCHW", "int16")
    view = spec.view(ByInterface(array))
    assert np.shares_memory(view, array) and not view.flags.writeable


@pytest.mark.parametrize("door", DOORS)
def test_a_buffer_by_any_door(door: Any) -> None:
    spec = nl.TensorSpec((1, 5, 3, 4), "NCHW4c", "int8", quantization=nl.Quantization(0.5, 3))
    flat = np.arange(spec.size).astype(np.int8)
    expected = spec.unpack(flat)
    assert np.array_equal(spec.unpack(door(flat)), expected)
    assert np.array_equal(spec.unpack(door(flat.reshape(spec.storage_shape))), expected)
    assert np.shares_memory(spec.flat(door(flat)), flat)
    assert np.array_equal(spec.unpack(flat, out=np.empty(spec.shape, np.float32)), expected)
    with pytest.raises(nl.NpuLayoutError, match="not C-contiguous"):
        spec.unpack(door(np.repeat(flat, 2)[::2]))
    with pytest.raises(nl.NpuLayoutError, match="buffer has dtype uint8"):
        spec.unpack(door(flat.view(np.uint8)))
    with pytest.raises(nl.BufferSizeError, match="buffer has 95 bytes"):
        spec.unpack(door(flat[:-1]))
    assert nl.identify(door(flat), expected).spec is not None


@pytest.mark.parametrize("door", DOORS)
def test_a_frame_by_any_door(door: Any) -> None:
    preprocess = nl.Preprocessor(nl.TensorSpec((1, 3, 8, 8), "NHWC", "uint8"))
    wide = np.arange(9 * 16 * 3, dtype=np.uint8).reshape(9, 16, 3)
    for frame in (wide, wide[:, 3:13], wide[::-1]):
        assert np.array_equal(preprocess(door(frame))[0], preprocess(frame)[0])
    with pytest.raises(nl.NpuLayoutError, match="frame"):
        preprocess(door(wide.astype(np.float32)))
    spec = nl.FrameSpec("NV12", (16, 8))
    planar = cv2.cvtColor(wide[:8], cv2.COLOR_BGR2YUV_I420)
    nv12 = nl.Preprocessor(nl.TensorSpec((1, 3, 8, 8), "NHWC", "uint8"), source=spec)
    assert np.array_equal(nv12(door(planar.reshape(-1)))[0], nv12(planar.tobytes())[0])
    y, uv = spec.planes(planar.reshape(-1))
    assert np.array_equal(nv12((door(y), door(uv)))[0], nv12((y, uv))[0])


@pytest.mark.parametrize("door", DOORS)
def test_numbers_by_any_door(door: Any) -> None:
    spec = nl.TensorSpec(STRIDED.shape, "NHWC", "int16")
    assert np.array_equal(spec.pack(door(STRIDED)), spec.pack(STRIDED))
    assert np.array_equal(nl.Quantization(0.5).dequantize(door(STRIDED)), STRIDED * np.float32(0.5))
