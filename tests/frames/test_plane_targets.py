"""Planes that are resized as they are: against OpenCV's rules for each plane, and against places in floating point."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from tests.support import frame_formats as formats
from tests.support.resized_pixels import METHODS

#: Pixels across and down that share U and V.
SHARED = {"NV24": (1, 1), "I444": (1, 1), "NV16": (2, 1), "I422": (2, 1), "YUYV": (2, 1), "UYVY": (2, 1)}
SOURCES = ("NV12", "NV21", "I420", "YV12", "P010", "NV12_32L32", "NV16", "I422", "YUYV", "UYVY", "I444", "NV24")
TARGETS = ("NV12", "NV21", "I420", "YV12", "NV24", "I444")


def frame_of(name: str, size_wh: tuple[int, int], seed: int = 0) -> tuple[nl.FrameSpec, np.ndarray]:
    spec = nl.FrameSpec(name, size_wh)
    return spec, np.random.default_rng(seed).integers(0, 256, spec.size or 0).astype(np.uint8)


def every(name: str, component: str) -> tuple[int, int]:
    return (1, 1) if component == "Y" else SHARED.get(name, (2, 2))


def samples_of(spec: nl.FrameSpec, memory: np.ndarray, component: str) -> np.ndarray:
    """Return a component's samples (rows, columns), byte by byte."""
    (across, down), (width, height) = every(spec.format, component), spec.size_wh
    values = np.empty((-(-height // down), -(-width // across)), np.uint8)
    for j, i in np.ndindex(values.shape):
        x, y = i * across, j * down
        values[j, i] = formats.sample(spec.format, memory, spec.strides, spec.offsets, component, x, y)
    return values


@pytest.mark.parametrize("how", ["linear", "nearest", "nearest_floor"])
@pytest.mark.parametrize("source", ["NV12", "NV21", "I420", "P010", "NV12_32L32"])
def test_each_plane_is_resized_as_an_image(source: str, how: str) -> None:
    for size_wh, resized in (((40, 30), (32, 24)), ((64, 48), (32, 24)), ((32, 24), (32, 24)), ((96, 72), (32, 24))):
        spec, memory = frame_of(source, size_wh)
        for name in ("NV12", "I420"):
            target = nl.FrameSpec(name, (32, 32), strides=48 if name == "NV12" else (40, 24, 24))
            made, geometry = nl.Preprocessor(target, source=spec, yuv="planes", interpolation=how)(memory)
            assert (geometry.resized_wh, geometry.pad_ltrb) == (resized, (0, 4, 0, 4))
            for component in "YUV":
                found = samples_of(target, made, component)
                step = every(name, component)[0]
                wanted = METHODS[how](samples_of(spec, memory, component)[..., None], (32 // step, 24 // step))
                border = 4 // step
                np.testing.assert_array_equal(found[border:-border], wanted[..., 0], f"{name} {component}")
                # 114 of R, G and B is 114 of Y in limited range: 16 + 114 * 219 / 255
                assert (found[:border] == (114 if component == "Y" else 128)).all()
                assert (found[-border:] == found[0, 0]).all()
            outside = np.ones(target.size or 0, bool)
            for plane in target.planes(memory_of := np.zeros(target.size or 0, np.uint8)):
                plane[...] = 1
            outside[memory_of == 1] = False
            assert outside.any() and not made[outside].any()


@pytest.mark.parametrize("size_wh", [(16, 12), (15, 11), (1, 1), (2, 3)])
@pytest.mark.parametrize("source", SOURCES)
def test_a_frame_of_the_targets_size_is_itself(source: str, size_wh: tuple[int, int]) -> None:
    spec, memory = frame_of(source, size_wh)
    for name in TARGETS:
        if every(name, "U") != every(source, "U"):
            continue
        target = nl.FrameSpec(name, size_wh)
        made = nl.Preprocessor(target, source=spec, yuv="planes")(memory)[0]
        for component in "YUV":
            np.testing.assert_array_equal(samples_of(target, made, component), samples_of(spec, memory, component))
        if name == source:
            np.testing.assert_array_equal(made, memory)


def between(values: np.ndarray, x: float, y: float) -> float:
    """Return the value at a place between samples, whose middles are at whole numbers."""
    (rows, columns), total = values.shape, 0.0
    for i in (0, 1):
        for j in (0, 1):
            at = math.floor(x) + i, math.floor(y) + j
            share = (1 - abs(x - at[0])) * (1 - abs(y - at[1]))
            total += share * values[min(max(at[1], 0), rows - 1), min(max(at[0], 0), columns - 1)]
    return total


@pytest.mark.parametrize("source", SOURCES)
def test_samples_are_taken_in_the_middle_of_the_pixels_that_share_them(source: str) -> None:
    rng = np.random.default_rng(5)
    for i, name in enumerate(TARGETS * 2):
        frame_wh = int(rng.integers(1, 30)), int(rng.integers(1, 30))
        input_wh = int(rng.integers(1, 30)), int(rng.integers(1, 30))
        spec, memory = frame_of(source, frame_wh, i)
        roi = None
        if i % 2:
            x, y = (int(rng.integers(0, n)) for n in frame_wh)
            roi = (x, y, int(rng.integers(1, frame_wh[0] - x + 1)), int(rng.integers(1, frame_wh[1] - y + 1)))
        resize = ("letterbox", "stretch", "crop")[i % 3]
        target = nl.FrameSpec(name, input_wh)
        preprocess = nl.Preprocessor(target, source=spec, yuv="planes", resize=resize, pad_value=(255, 0, 0))
        made, geometry = preprocess(memory, roi_xywh=roi)
        for component in "YUV":
            check(target, made, geometry, component, spec, memory)


def check(
    target: nl.FrameSpec, made: np.ndarray, geometry: nl.Geometry, component: str, spec: nl.FrameSpec, memory: Any
) -> None:
    found, values = samples_of(target, made, component), samples_of(spec, memory, component)
    x0, y0, x1, y1 = geometry.crop_xyxy
    (left, top), (width, height) = geometry.pad_ltrb[:2], geometry.resized_wh
    across, down = every(target.format, component)
    own = every(spec.format, component)
    part = values[y0 // own[1] : -(-y1 // own[1]), x0 // own[0] : -(-x1 // own[0])]
    # A part that begins with a block and does not end with one: to 4:4:4 it is an image whose last sample counts fully.
    own_image = across == 1 and (
        (x0 % own[0] == 0 and (x1 - x0) % own[0] > 0) or (y0 % own[1] == 0 and (y1 - y0) % own[1] > 0)
    )
    for j, i in np.ndindex(found.shape):
        x, y = i * across - left, j * down - top
        if not (0 <= x < width and 0 <= y < height):
            assert found[j, i] == {"Y": 82, "U": 90, "V": 240}[component]  # red, as OpenCV converts it
            continue
        if own_image:
            continue
        at_x = (x0 % own[0] + (x + across / 2) * (x1 - x0) / width) / own[0] - 0.5
        at_y = (y0 % own[1] + (y + down / 2) * (y1 - y0) / height) / own[1] - 0.5
        assert abs(int(found[j, i]) - between(part, at_x, at_y)) <= 1.2, (component, i, j, geometry)


def test_other_colours_are_converted() -> None:
    """And so are frames of colours; the target's U and V are those of the top left pixels then."""
    frame = np.random.default_rng(3).integers(0, 256, (36, 32), np.uint8)
    for source in (nl.FrameSpec("NV12", (32, 24), matrix="bt709"), nl.FrameSpec("NV12", (32, 24), range="full")):
        how: Any = dict(source=source, yuv="planes", resize="stretch")
        pixels = nl.Preprocessor(nl.TensorSpec((3, 18, 20), "HWC", "uint8"), color="BGR", **how)(frame)[0]
        made = nl.Preprocessor(nl.FrameSpec("I420", (20, 18)), **how)(frame)[0]
        np.testing.assert_array_equal(made, nl.Preprocessor(nl.FrameSpec("I420", (20, 18)))(pixels)[0])
    preprocess = nl.Preprocessor(nl.FrameSpec("I420", (20, 18)), yuv="planes")
    np.testing.assert_array_equal(preprocess(pixels)[0], made)
    with pytest.raises(nl.NpuLayoutError, match="yuv='planes' resizes by"):
        nl.Preprocessor(nl.FrameSpec("NV12", (8, 8)), source="NV12", yuv="planes", interpolation="area")


def test_copies_out_and_planes_that_are_turned() -> None:
    spec, memory = frame_of("NV12", (32, 24))
    preprocess = nl.Preprocessor(nl.FrameSpec("NV12", (24, 32)), source="NV12", yuv="planes")
    turned = tuple(np.rot90(plane, -1) for plane in spec.planes(memory))
    made, geometry = preprocess(turned)
    assert geometry.frame_wh == (24, 32)
    y, uv = nl.FrameSpec("NV12", (24, 32)).planes(made)
    np.testing.assert_array_equal(y, turned[0])
    np.testing.assert_array_equal(uv, turned[1])
    out = np.full_like(made, 99)
    assert pickle.loads(pickle.dumps(preprocess))(turned, out)[0] is out
    np.testing.assert_array_equal(out, made)
    with pytest.raises(nl.NpuLayoutError, match="shares memory with a frame"):
        preprocess(tuple(spec.planes(memory)), memory)


@pytest.mark.parametrize("gap", [0, 6])
def test_frames_of_a_form_that_was_read_before(gap: int) -> None:
    """Arrays, planes and bytes, of other memory; parts between them; an out in the frame's memory writes nothing."""
    spec, first = frame_of("NV12", (46, 34))
    size = (30, 22)
    target = nl.FrameSpec("NV12", size, strides=size[0] + gap)
    how: Any = dict(source=spec, yuv="planes", resize="crop")
    preprocess, out = nl.Preprocessor(target, **how), np.full(target.size or 0, 99, np.uint8)
    for seed in range(3):
        memory = frame_of("NV12", (46, 34), seed)[1]
        expected, geometry = nl.Preprocessor(target, **how)(memory)
        for given in (memory, memory.reshape(51, 46), bytes(memory), tuple(spec.planes(memory))):
            for roi in (None, (3, 5, 20, 10), None):
                made, found = preprocess(given, out, roi_xywh=roi)
                if roi is None:
                    np.testing.assert_array_equal(made, expected)
                    assert found == geometry
            np.testing.assert_array_equal(preprocess(given)[0], expected)
        before = memory.copy()
        for given in (memory, tuple(spec.planes(memory))):
            with pytest.raises(nl.NpuLayoutError, match="shares memory with a frame"):
                preprocess(given, memory[-(target.size or 0) :])
            np.testing.assert_array_equal(memory, before)
    assert first.size == memory.size


@pytest.mark.parametrize("threads", [1, 3])
def test_frames_that_are_read_by_turns(threads: int) -> None:
    """Of pixels with a pitch: large enough that all planes are made of one part of them after the other."""
    width, height, pitch = 2046, 514, 4200
    rows = np.random.default_rng(2).integers(0, 256, (height, pitch), np.uint8)
    frame = nl.FrameSpec("YUYV", (width, height), strides=pitch)
    pixels = rows[:, : 2 * width].reshape(height, width // 2, 4)
    chroma = pixels[..., 1::2].astype(np.uint16)
    chroma = (chroma[::2] + chroma[1::2] + 1) // 2
    before = nl.kernels.get_num_threads()
    try:
        nl.kernels.set_num_threads(threads)
        for name, planes in (("NV12", (chroma,)), ("YV12", (chroma[..., 1], chroma[..., 0]))):
            preprocess = nl.Preprocessor(nl.FrameSpec(name, (width, height)), source=frame, yuv="planes")
            for _ in range(2):
                made = preprocess(rows.reshape(-1))[0]
                parts = [pixels[..., ::2], *planes]
                np.testing.assert_array_equal(made, np.concatenate([part.reshape(-1) for part in parts]))
    finally:
        nl.kernels.set_num_threads(before)
