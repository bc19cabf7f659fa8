"""Fitted frames before a buffer is made of them, against cv2 and by their memory."""

from __future__ import annotations

import pickle
import threading
import tracemalloc
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout import kernels
from npu_layout.frames.canvas import Canvas
from npu_layout.frames.frame_source import FrameSource
from npu_layout.frames.geometry import MODES, part_geometry
from npu_layout.frames.pictures import picture

RNG = np.random.default_rng(17)


def canvas_of(
    source: str = "BGR", color: str = "RGB", interpolation: str = "cubic", batch: int = 1, **changes: Any
) -> Any:
    given = {"step": 1, "pad": (10.0, 20.0, 30.0), "yuv": "exact", "input_wh": (40, 32), **changes}
    return Canvas(FrameSource.of(source).format, color, interpolation=interpolation, batch=batch, **given)


def fitted(canvas: Canvas, *frames: np.ndarray, source: str = "BGR") -> np.ndarray:
    read = [FrameSource.of(source).read("frame", frame) for frame in frames]
    return canvas.fitted(read, [MODES["letterbox"](frame.size_wh, (40, 32)) for frame in read])


def test_a_frame_is_resized_and_bordered_as_cv2_does() -> None:
    frame = RNG.integers(0, 256, (90, 160, 3), np.uint8)
    resized = cv2.resize(frame, (40, 22), interpolation=cv2.INTER_CUBIC)
    expected = cv2.copyMakeBorder(resized, 5, 5, 0, 0, cv2.BORDER_CONSTANT, value=(30, 20, 10))  # of RGB, in BGR
    np.testing.assert_array_equal(fitted(canvas_of(), frame), expected[None])


def test_gray_is_converted_before_it_is_resized() -> None:
    frame = RNG.integers(0, 256, (64, 80, 3), np.uint8)
    got = fitted(canvas_of(color="GRAY", pad=(7.0,)), frame)
    expected = cv2.resize(cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY), (40, 32), interpolation=cv2.INTER_CUBIC)
    np.testing.assert_array_equal(got, expected[None, ..., None])


def test_frames_of_a_batch_may_have_sizes_of_their_own() -> None:
    frames = [RNG.integers(0, 256, shape, np.uint8) for shape in ((32, 40, 3), (64, 80, 3))]
    got = fitted(canvas_of(batch=2), *frames)
    np.testing.assert_array_equal(got[0], frames[0])
    np.testing.assert_array_equal(got[1], cv2.resize(frames[1], (40, 32), interpolation=cv2.INTER_CUBIC))


def test_a_frame_that_is_the_canvas_is_not_copied() -> None:
    frame = RNG.integers(0, 256, (32, 40, 3), np.uint8)
    assert np.shares_memory(fitted(canvas_of(), frame), frame)
    padded = np.zeros((32, 50, 3), np.uint8)[:, :40]
    assert not np.shares_memory(fitted(canvas_of(), padded), padded)


def test_each_thread_has_a_canvas_of_its_own_and_keeps_it() -> None:
    canvas, frame = canvas_of(), RNG.integers(0, 256, (64, 80, 3), np.uint8)
    first = fitted(canvas, frame)
    assert fitted(canvas, frame) is first
    others: list[np.ndarray] = []
    thread = threading.Thread(target=lambda: others.append(fitted(canvas, frame)))
    thread.start()
    thread.join()
    assert not np.shares_memory(others[0], first)


def test_it_may_be_pickled() -> None:
    canvas, frame = canvas_of(), RNG.integers(0, 256, (64, 80, 3), np.uint8)
    before = fitted(canvas, frame).copy()
    np.testing.assert_array_equal(fitted(pickle.loads(pickle.dumps(canvas)), frame), before)


@pytest.mark.parametrize("color", ["RGB", "BGR"])
def test_its_plan_picks_the_channels_of_the_model(color: str) -> None:
    spec = nl.TensorSpec((1, 3, 32, 40), "NCHW", "uint8")
    frame, out = RNG.integers(0, 256, (32, 40, 3), np.uint8), np.empty(spec.size, np.uint8)
    canvas_of(color=color).plan(spec, None).run(frame.reshape(-1), out)
    expected = frame[..., ::-1] if color == "RGB" else frame
    np.testing.assert_array_equal(out.reshape(3, 32, 40), expected.transpose(2, 0, 1))


CONVERTED = ("NV12", "NV16", "I420", "YUYV", "P010", "NV12_32L32", "RGGB", "GBRG12P", "RGB565")


@pytest.mark.parametrize("name", CONVERTED)
@pytest.mark.parametrize("color", ["RGB", "GRAY"])
def test_formats_are_converted_in_memory_that_is_kept(name: str, color: str) -> None:
    """By OpenCV's resize of the picture; a second call allocates nothing that grows, where a pass converts."""
    wide, high = 384, 256
    spec = nl.FrameSpec(name, (wide, high), matrix="bt709")
    memory = RNG.integers(0, 256, spec.size or 0, np.uint8)
    for interpolation, box in (
        ("area", (0, 0, wide, high)),
        ("cubic", (0, 0, wide, high)),
        ("cubic", (7, 5, 201, 150)),
    ):
        read = FrameSource.of(spec).read("frame", memory)
        geometry = part_geometry("stretch", (wide, high), box, (64, 64))
        canvas = canvas_of(name, color, interpolation, pad=(0.0,) * (3 if color == "RGB" else 1), input_wh=(64, 64))
        got = canvas.fitted([read], [geometry]).copy()
        pixels = picture(read, box, gray=color == "GRAY")
        flag = {"area": cv2.INTER_AREA, "cubic": cv2.INTER_CUBIC}[interpolation]
        expected = cv2.resize(np.ascontiguousarray(pixels), (64, 64), interpolation=flag).reshape(got[0].shape)
        np.testing.assert_array_equal(got[0], expected)
        tracemalloc.start()
        try:
            canvas.fitted([read], [geometry])
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        converted = kernels.active() != "numpy" and not (color == "GRAY" and name in ("RGGB", "GBRG12P", "RGB565"))
        assert not converted or peak < 30_000, (interpolation, box, peak)


def test_conversions_are_of_the_frames_themselves() -> None:
    """Of other parts and sizes, colours and mirrored rows, one after the other, and in threads at once."""
    canvas = canvas_of("NV12", interpolation="area", input_wh=(16, 12), pad=(0.0,) * 3)
    cases = []
    for k in range(80):
        wide, high = 32 + 2 * (k % 7), 24 + 2 * (k % 5)
        spec = nl.FrameSpec(
            "NV12", (wide, high), matrix=("bt601", "bt709")[k % 2], range=("full", "limited")[k % 3 % 2]
        )
        planes = spec.planes(RNG.integers(0, 256, spec.size or 0, np.uint8))
        read = FrameSource.of(spec).read("frame", tuple(plane[::-1] for plane in planes) if k % 4 == 0 else planes)
        box = (k % 3, k % 2, wide - k % 4, high - k % 3)
        pixels = np.ascontiguousarray(picture(read, box))
        expected = cv2.resize(pixels, (16, 12), interpolation=cv2.INTER_AREA)
        cases.append((read, part_geometry("stretch", (wide, high), box, (16, 12)), expected))
    wrong: list[int] = []

    def check(order: Any) -> None:
        for k in order:
            read, geometry, expected = cases[k]
            if not np.array_equal(canvas.fitted([read], [geometry])[0], expected):
                wrong.append(k)

    threads = [threading.Thread(target=check, args=(RNG.permutation(len(cases)),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
