"""Fitted frames before a buffer is made of them, against cv2 and by their memory."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.frames.canvas import Canvas
from npu_layout.frames.frame_source import FrameSource
from npu_layout.frames.geometry import MODES

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
