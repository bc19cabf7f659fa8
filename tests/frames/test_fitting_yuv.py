"""Frames of Y, U and V in one pass: both orders of resizing and conversion, against the reference rows in numpy."""

from __future__ import annotations

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import kernels
from npu_layout.frames.passes import Passes
from npu_layout.frames.pictures import byte_rows
from npu_layout.frames.pixel_formats import pixel_format
from tests.support.yuv_pictures import BT601, resize_of

FORMATS = ("NV12", "NV21", "NV16", "NV24", "I420", "YV12", "I422", "I444", "YUYV", "UYVY", "YVYU", "P010")
TARGETS = {
    "bytes": nl.TensorSpec((1, 3, 40, 48), "NHWC", "uint8"),
    "planes of float32": nl.TensorSpec((1, 3, 40, 48)),
    "blocks": nl.TensorSpec((1, 3, 40, 48), "NCHW16c", "uint8"),
}


def frame_of(rng: np.random.Generator, spec: nl.FrameSpec) -> tuple[np.ndarray, ...]:
    memory = rng.integers(0, 256, spec.size, np.uint8)
    return tuple(spec.planes(memory))


def pixels_of(buffer: np.ndarray, target: nl.TensorSpec) -> np.ndarray:
    return target.unpack(buffer)[0].astype(np.uint8)


@pytest.mark.parametrize("yuv", ["exact", "planes"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", FORMATS)
def test_equals_the_reference_rows(name: str, target: str, yuv: str) -> None:
    rng = np.random.default_rng(3)
    for size_wh in ((96, 80), (48, 40), (144, 120), (98, 66), (301, 200), (24, 20)):
        spec = nl.FrameSpec(name, size_wh)
        planes = frame_of(rng, spec)
        preprocess = nl.Preprocessor(TARGETS[target], source=spec, resize="stretch", yuv=yuv)
        buffer, _ = preprocess(planes)
        samples = pixel_format(name).samples
        resize = resize_of(samples, size_wh, (48, 40), exact=yuv == "exact", color=BT601)
        expected = np.empty((3, 40, 48), np.uint8)
        kernels.picture_rows(resize, "numpy").write(tuple(byte_rows(plane) for plane in planes), expected)
        np.testing.assert_array_equal(pixels_of(buffer, TARGETS[target]), expected, f"{name} {size_wh}")


@pytest.mark.parametrize("color", ["GRAY", "BGRA", "RGBA", "BGR"])
def test_planes_have_every_order_of_channels(color: str) -> None:
    rng, channels = np.random.default_rng(4), 1 if color == "GRAY" else len(color)
    target = nl.TensorSpec((1, channels, 30, 36), "NHWC", "uint8")
    planes = frame_of(rng, nl.FrameSpec("NV12", (100, 90)))
    buffer, _ = nl.Preprocessor(target, source="NV12", yuv="planes", color=color, resize="stretch")(planes)
    if color == "GRAY":
        expected = np.empty((1, 30, 36), np.uint8)
        luma = (kernels.ComponentSamples(0, 0, 1),)
        kernels.picture_rows(resize_of(luma, (100, 90), (36, 30), exact=False), "numpy").write(planes[:1], expected)
        np.testing.assert_array_equal(buffer[0, ..., 0], expected[0])
        return
    rgb = nl.TensorSpec((1, 3, 30, 36), "NHWC", "uint8")
    pixels, _ = nl.Preprocessor(rgb, source="NV12", yuv="planes", resize="stretch")(planes)
    for i, c in enumerate(color):
        np.testing.assert_array_equal(buffer[..., i], 255 if c == "A" else pixels[..., "RGB".index(c)])


def test_a_part_that_begins_with_whole_samples() -> None:
    """Each of its planes is an image of its own; the letterbox and the frame's pitch change nothing."""
    rng, target = np.random.default_rng(5), nl.TensorSpec((1, 3, 32, 32), "NHWC", "uint8")
    for name in ("NV12", "YUYV", "I420"):
        spec = nl.FrameSpec(name, (90, 70), strides=192 if name == "YUYV" else 96)
        planes = frame_of(rng, spec)
        preprocess = nl.Preprocessor(target, source=spec, yuv="planes", resize="stretch")
        y, u, v = (byte_rows(planes[c.plane])[:, c.start :: c.step] for c in pixel_format(name).samples)
        down = 1 if name == "YUYV" else 2
        for x0, y0, width, height in ((0, 0, 90, 70), (2, 6, 47, 33), (4, 2, 40, 31), (2, 0, 33, 40)):
            buffer, _ = preprocess(planes, roi_xywh=(x0, y0, width, height))
            part = [np.ascontiguousarray(y[y0 : y0 + height, x0 : x0 + width])]
            for c in (u, v):
                rows, columns = -(-height // down), -(-width // 2)
                part.append(np.ascontiguousarray(c[y0 // down :, x0 // 2 :][:rows, :columns]))
            samples = tuple(kernels.ComponentSamples(k, 0, 1, *((2, down) if k else ())) for k in range(3))
            resize, expected = (
                resize_of(samples, (width, height), (32, 32), exact=False),
                np.empty((3, 32, 32), np.uint8),
            )
            kernels.picture_rows(resize, "numpy").write(tuple(part), expected)
            np.testing.assert_array_equal(pixels_of(buffer, target), expected)


def test_planes_without_the_compiled_pass_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, target = np.random.default_rng(6), nl.TensorSpec((1, 3, 40, 48))
    for interpolation in ("linear", "nearest", "nearest_floor"):
        planes = frame_of(rng, nl.FrameSpec("NV12", (130, 101)))
        given = {"source": "NV12", "yuv": "planes", "interpolation": interpolation, "mean": 3, "std": 58.0}
        buffer, geometry = nl.Preprocessor(target, **given)(planes)
        with monkeypatch.context() as patch:
            patch.setattr(Passes, "write", lambda *_: False)
            other, same = nl.Preprocessor(target, **given)(planes)
        np.testing.assert_array_equal(buffer, other)
        assert geometry == same


def test_what_planes_cannot_be_resized_by_is_refused() -> None:
    target = nl.TensorSpec((1, 3, 40, 48))
    for interpolation in ("cubic", "area"):
        with pytest.raises(nl.NpuLayoutError, match="yuv='planes' resizes by linear, nearest, nearest_floor, got"):
            nl.Preprocessor(target, source="NV12", yuv="planes", interpolation=interpolation)
    with pytest.raises(nl.NpuLayoutError, match="yuv: expected"):
        nl.Preprocessor(target, source="NV12", yuv="half")
