"""One pass from a frame to a buffer: pixels by OpenCV's rules written again, for every layout; who has a pass."""

from __future__ import annotations

import platform
import threading
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout import kernels
from npu_layout.frames import compiled_pass
from tests.support.memory import Fenced
from tests.support.resized_pixels import METHODS

NATIVE = kernels.active() != "numpy"
SOURCES = {"BGR": "BGR", "RGB": "RGB", "BGRA": "BGRA", "RGBA": "RGBA", "BGRX": "BGRX", "GRAY": "Y"}
LAYOUTS = ("NCHW", "NHWC", "CHWN", "NCHW4c", "NCHW16c", "NHCW8w", "NHWC8c", "NWHC", "HWCN")
# dtype, quantization, mean, std
NUMBERS: list[tuple[str, Any, Any, Any]] = [
    ("uint8", None, 0, 1),
    ("int8", nl.Quantization(1.0, -128), 0, 1),
    ("float32", None, (123.7, 116.3, 103.5), (58.4, 57.1, 57.4)),
    ("float16", None, 0, 255),
]


def frame_of(rng: np.random.Generator, source: str, size_wh: tuple[int, int], slack: int) -> np.ndarray:
    """Return a frame whose rows have `slack` bytes between them."""
    channels = len(SOURCES[source])
    width, height = size_wh
    rows = rng.integers(0, 256, (height, width * channels + slack), np.uint8)
    shape = (height, width) if channels == 1 else (height, width, channels)
    return np.lib.stride_tricks.as_strided(rows, shape, (rows.strides[0], channels, 1)[: len(shape)])


def canvas_of(frame: np.ndarray, source: str, color: str, geometry: nl.Geometry, pad: int, how: str) -> np.ndarray:
    """Return (H, W, channels of the model), without OpenCV."""
    x0, y0, x1, y1 = geometry.crop_xyxy
    part = frame[y0:y1, x0:x1].reshape(y1 - y0, x1 - x0, -1)
    order = SOURCES[source]
    wanted = [0] * (1 if color == "GRAY" else 3) if order == "Y" else [order.index(c) for c in color]
    part = part[..., wanted]
    if part.shape[1::-1] != geometry.resized_wh:
        part = METHODS[how](part, geometry.resized_wh)
    left, top, right, bottom = geometry.pad_ltrb
    return np.pad(part, ((top, bottom), (left, right), (0, 0)), constant_values=pad)


def buffer_of(spec: nl.TensorSpec, canvas: np.ndarray, mean: Any, std: Any) -> np.ndarray:
    values: Any = canvas
    if spec.dtype != "uint8":
        values = (canvas.astype(np.float32) - np.asarray(mean, np.float32)) * (
            np.float32(1) / np.asarray(std, np.float32)
        )
        if spec.quantization is not None:
            scale, zero = (float(n) for n in (spec.quantization.scale, spec.quantization.zero_point))
            values = np.clip(np.rint(values / scale) + zero, -128, 127)
        values = values.astype(spec.dtype)
    flat = np.zeros(spec.size, spec.stored)
    n, h, w, c = np.ix_(*(np.arange(k) for k in (1, *canvas.shape)))
    index = dict(zip("NHWC", (n, h, w, c)))
    flat[np.broadcast_to(spec.offset(*(index[a] for a in spec.axes)), (1, *canvas.shape))] = values
    return flat


def check(rng: np.random.Generator, i: int, most: int = 200) -> bool:
    """Compare one frame of random form; return whether there was a pass."""
    source, layout = list(SOURCES)[i % 6], LAYOUTS[(i // 2) % len(LAYOUTS)]
    color = "GRAY" if source == "GRAY" and i % 4 else ("RGB", "BGR")[i // 3 % 2]
    dtype, quantization, mean, std = NUMBERS[i % 7 % 4]
    how = ("linear", "linear", "nearest_floor", "area")[i // 5 % 4]
    channels, (w, h) = 1 if color == "GRAY" else 3, rng.integers(1, 90, 2).tolist()
    size_wh = tuple(int(n) for n in rng.integers(1, most, 2))
    resize = ("letterbox", "stretch", "crop", "letterbox_top_left")[i // 4 % 4]
    if how == "area":
        size_wh, resize = (w * int(rng.integers(1, 5)), h * int(rng.integers(1, 5))), "stretch"
    mean = mean if channels == 3 or not isinstance(mean, tuple) else mean[:1]
    std = std if channels == 3 or not isinstance(std, tuple) else std[:1]
    spec = nl.TensorSpec((1, channels, h, w), layout, dtype, axes="NCHW", quantization=quantization)
    preprocess = nl.Preprocessor(
        spec, source=source, color=color, resize=resize, interpolation=how, mean=mean, std=std, pad_value=7
    )
    frame = frame_of(rng, source, size_wh, int(rng.integers(0, 70)) * (i % 2))
    buffer, geometry = preprocess(frame)
    expected = buffer_of(spec, canvas_of(frame, source, color, geometry, 7, how), mean, std)
    np.testing.assert_array_equal(buffer.reshape(-1), expected, f"{preprocess!r} {size_wh}")
    out = np.full_like(buffer, 99)
    for _ in range(2):
        assert preprocess(frame, out)[0] is out
        np.testing.assert_array_equal(out, buffer)
        out[...] = 99
    return any(made is not None for made in preprocess._passes._passes.values())


def test_random_frames() -> None:
    rng = np.random.default_rng(1)
    assert any([check(rng, i) for i in range(240)]) == NATIVE


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_many_random_frames(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    for i in range(200):
        check(rng, 200 * seed + i, 1000)


@pytest.mark.skipif(not NATIVE, reason="no compiled kernels")
@pytest.mark.parametrize(
    ("layout", "dtype", "how", "has"),
    [
        ("NHWC", "uint8", {}, True),
        ("NCHW", "float32", {"mean": 3, "std": 4}, True),
        ("NCHW16c", "uint8", {}, True),
        ("NHWC", "uint8", {"source": "NV12"}, True),
        ("NHWC", "uint8", {"source": "GRAY"}, True),
        ("NCHW", "float32", {"source": "GRAY", "color": "GRAY"}, True),
        ("NHWC", "uint8", {"source": "GRAY16", "color": "GRAY"}, True),
        ("NHWC", "uint8", {"interpolation": "nearest_floor"}, True),
        ("NHWC", "uint8", {"interpolation": "cubic"}, False),
        ("NHWC", "uint8", {"interpolation": "area"}, False),
        ("NHWC", "uint8", {"interpolation": "area", "resize": "stretch"}, True),
    ],
)
def test_which_frames_have_a_pass(layout: str, dtype: str, how: Any, has: bool) -> None:
    channels = 1 if how.get("color") == "GRAY" else 3
    preprocess = nl.Preprocessor(nl.TensorSpec((1, channels, 20, 30), layout, dtype), **how)
    source = how.get("source", "BGR")
    shapes = {"NV12": (60, 60), "GRAY": (40, 60), "GRAY16": (40, 60)}
    shape = shapes.get(source, (80 if "resize" in how else 70, 60, 3))
    preprocess(np.zeros(shape, np.uint16 if source == "GRAY16" else np.uint8))
    assert [made is not None for made in preprocess._passes._passes.values()] == [has]


def test_a_part_of_a_frame_is_that_of_a_copy() -> None:
    rng = np.random.default_rng(4)
    frame = frame_of(rng, "BGR", (90, 70), 11)
    for layout, dtype in (("NHWC", "uint8"), ("NCHW", "float32"), ("NCHW16c", "uint8")):
        preprocess = nl.Preprocessor(nl.TensorSpec((1, 3, 24, 32), layout, dtype))
        for x, y, w, h in ((0, 0, 90, 70), (5, 3, 64, 48), (89, 69, 1, 1), (1, 0, 7, 70)):
            buffer, geometry = preprocess(frame, roi_xywh=(x, y, w, h))
            again, _ = preprocess(frame[y : y + h, x : x + w].copy())
            np.testing.assert_array_equal(buffer, again)
            assert geometry.frame_wh == (90, 70) and geometry.crop_xyxy == (x, y, x + w, y + h)


def test_nothing_beyond_frame_and_buffer_is_touched() -> None:
    frames, buffers = Fenced(1 << 18), Fenced(1 << 18)
    rng = np.random.default_rng(6)
    for i, (layout, dtype) in enumerate((tag, kind[0]) for tag in LAYOUTS[:7] for kind in NUMBERS[::2]):
        spec = nl.TensorSpec((1, 3, 17, 23), layout, dtype)
        preprocess = nl.Preprocessor(spec, resize=("letterbox", "stretch")[i % 2])
        size_wh = ((46, 34), (23, 17), (69, 51), (31, 40), (9, 5))[i % 5]
        pixels = rng.integers(0, 256, (size_wh[1], size_wh[0], 3), np.uint8)
        expected, _ = preprocess(pixels)
        for end in ("first", "last"):
            frame = getattr(frames, end)(pixels.size).reshape(pixels.shape)
            frame[...] = pixels
            out = getattr(buffers, end)(spec.nbytes).view(spec.stored).reshape(expected.shape)
            for _ in range(2):
                out[...] = 9
                preprocess(frame, out)
                np.testing.assert_array_equal(out, expected)


def test_frames_flipped_read_only_and_over_out() -> None:
    rng = np.random.default_rng(8)
    spec = nl.TensorSpec((1, 3, 16, 16), "NHWC", "uint8")
    preprocess, frame = nl.Preprocessor(spec), rng.integers(0, 256, (40, 50, 3), np.uint8)
    expected, _ = preprocess(frame)
    flipped = np.ascontiguousarray(frame[::-1])[::-1]
    flipped.flags.writeable = False
    for _ in range(2):
        np.testing.assert_array_equal(preprocess(flipped)[0], expected)
    big = np.zeros(frame.size + spec.nbytes, np.uint8)
    near = big[: frame.size].reshape(frame.shape)
    near[...] = frame
    preprocess(near)
    for start in (0, 100, frame.size - 1):
        before = big.copy()
        with pytest.raises(nl.NpuLayoutError, match="shares memory"):
            preprocess(near, big[start : start + spec.nbytes].reshape(1, 16, 16, 3))
        assert (big == before).all()
    np.testing.assert_array_equal(preprocess(near, big[frame.size :].reshape(1, 16, 16, 3))[0], expected)
    inside = np.zeros(2 * spec.nbytes, np.uint8)  # frames that begin behind the first byte of out
    for height in (4, 60):
        behind = np.lib.stride_tricks.as_strided(inside[1:], (height, 6, 3), (18, 3, 1))
        preprocess(behind.copy())
        with pytest.raises(nl.NpuLayoutError, match="shares memory"):
            preprocess(behind, inside[: spec.nbytes].reshape(1, 16, 16, 3))
        assert not inside.any()
    read_only = np.zeros((1, 16, 16, 3), np.uint8)
    read_only.flags.writeable = False
    with pytest.raises(nl.NpuLayoutError, match="read-only"):
        preprocess(frame, read_only)
    assert not read_only.any()


@pytest.mark.skipif(not NATIVE, reason="no compiled kernels")
def test_a_signal_before_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a handler raises leaves the buffer as it was, for a form of frames that is new and for a known one."""
    spec = nl.TensorSpec((1, 3, 1600, 1600), "NCHW", "float32")
    preprocess, frame = nl.Preprocessor(spec), np.zeros((1600, 1600, 3), np.uint8)
    out = np.full(spec.storage_shape, 77, np.float32)

    def interrupted() -> threading.Thread:
        raise KeyboardInterrupt

    for _ in range(2):
        out[...] = 77
        with monkeypatch.context() as patched:
            patched.setattr(threading, "main_thread", interrupted)
            with pytest.raises(KeyboardInterrupt):
                preprocess(frame, out)
        assert (out == 77).all()
        preprocess(frame, out)
        assert not out.any()


def test_threads_share_a_preprocessor() -> None:
    rng = np.random.default_rng(9)
    spec = nl.TensorSpec((1, 3, 96, 160), "NCHW", "float32")
    preprocess = nl.Preprocessor(spec, mean=3, std=4)
    frames = [rng.integers(0, 256, (h, w, 3), np.uint8) for w, h in ((320, 180), (333, 200), (160, 96), (480, 270))]
    before = kernels.get_num_threads()
    try:
        kernels.set_num_threads(1)
        expected = [nl.Preprocessor(spec, mean=3, std=4)(frame)[0] for frame in frames]
        kernels.set_num_threads(4)
        wrong: list[int] = []

        def work(k: int) -> None:
            out = np.empty_like(expected[0])
            for i in range(40):
                j = (i + k) % len(frames)
                preprocess(frames[j], out)
                if not np.array_equal(out, expected[j]):
                    wrong.append(j)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
    finally:
        kernels.set_num_threads(before)


@pytest.mark.parametrize("threads", [1, 3])
def test_large_frames_by_threads(threads: int) -> None:
    """Parts of a picture whose rows do not divide evenly into bands and threads."""
    rng = np.random.default_rng(10)
    before = kernels.get_num_threads()
    try:
        kernels.set_num_threads(threads)
        for layout, dtype in (("NHWC", "uint8"), ("NCHW", "float32")):
            spec = nl.TensorSpec((1, 3, 601, 643), layout, dtype)
            preprocess, frame = nl.Preprocessor(spec), rng.integers(0, 256, (777, 1111, 3), np.uint8)
            out = np.zeros(spec.storage_shape, spec.stored)
            for _ in range(5):
                out[...] = 0
                _, geometry = preprocess(frame, out)
                expected = buffer_of(spec, canvas_of(frame, "BGR", "RGB", geometry, 114, "linear"), 0, 1)
                np.testing.assert_array_equal(out.reshape(-1), expected)
    finally:
        kernels.set_num_threads(before)


@pytest.mark.parametrize("interpolation", ["linear", "nearest", "nearest_floor", "area"])
def test_sides_beyond_those_of_the_kernels(interpolation: str) -> None:
    rng = np.random.default_rng(0)
    codes = {"linear": 1, "nearest": cv2.INTER_NEAREST_EXACT, "nearest_floor": cv2.INTER_NEAREST, "area": 3}
    spec = nl.TensorSpec((1, 3, 24, 16), "NHWC", "uint8")
    preprocess = nl.Preprocessor(spec, resize="stretch", interpolation=interpolation, color="BGR")
    for size in ((65537, 3, 3), (2, 70000, 3)):
        frame = rng.integers(0, 256, size, np.uint8)
        expected = cv2.resize(frame, (16, 24), interpolation=codes[interpolation])
        if interpolation == "linear" and platform.machine() not in ("x86_64", "AMD64"):
            assert abs(preprocess(frame)[0][0].astype(int) - expected).max() <= 2
        else:
            np.testing.assert_array_equal(preprocess(frame)[0][0], expected)
    wide = nl.Preprocessor(nl.TensorSpec((1, 3, 2, 70000), "NHWC", "uint8"), interpolation=interpolation)
    np.testing.assert_array_equal(wide(np.full((6, 6, 3), 114, np.uint8))[0], np.full((1, 2, 70000, 3), 114, np.uint8))
    if interpolation != "area":
        planes = nl.Preprocessor(spec, source="YUYV", yuv="planes", interpolation=interpolation)
        with pytest.raises(nl.NpuLayoutError, match="up to 65536 pixels a side, got 70000"):
            planes(np.zeros((2, 70000, 2), np.uint8))


@pytest.mark.parametrize("backend", kernels.backends())
@pytest.mark.parametrize("source, shape", [("BGR", (30, 48, 3)), ("NV12", (45, 48))])
def test_each_kind_of_kernels_has_the_pass_of_the_preprocessor(
    backend: str, source: str, shape: tuple[int, ...]
) -> None:
    spec = nl.TensorSpec((1, 3, 32, 32), "NCHW16c", "int8", quantization=nl.Quantization(1.0, -128))
    preprocess = nl.Preprocessor(spec, source=source)
    frame = np.random.default_rng(4).integers(0, 256, shape, np.uint8)
    run, out = compiled_pass(preprocess, frame, backend), np.full(spec.storage_shape, 99, np.int8)
    if backend == "numpy":
        assert run is None
    else:
        assert run is not None and run(out, frame)
        np.testing.assert_array_equal(out, preprocess(frame)[0])
    assert compiled_pass(nl.Preprocessor(spec, source=source, interpolation="cubic"), frame, backend) is None
