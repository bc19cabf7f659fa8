"""Preprocessor with every source, color and part of a frame, against converting, cropping and resizing one by one."""

from __future__ import annotations

import json
import pickle
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from tests.support import frame_formats as formats
from tests.support.resized_pixels import as_on_x86

CHANNELS = {"BGR": 3, "RGB": 3, "BGRA": 4, "RGBA": 4, "GRAY": 1}
SIZE = (26, 18)


def reference(name: str, spec: nl.FrameSpec, memory: np.ndarray) -> np.ndarray:
    """The whole picture: BGR, BGRA or gray, from loops over pixels, or OpenCV's interpolation of a mosaic."""
    if name in formats.YUV:
        return formats.yuv_picture(name, memory, spec.size_wh, spec.strides, spec.offsets, spec.matrix, spec.range)
    if name in formats.MOSAICS:
        mosaic = formats.mosaic_of(name, memory, spec.strides[0], *spec.size_wh)
        return cv2.cvtColor(mosaic, getattr(cv2, f"COLOR_Bayer{name[:4]}2BGR"))
    pixels = formats.channels_picture(name, memory, spec.size_wh, spec.strides[0])
    order = [0, 1, 2, 3][: pixels.shape[2]]
    if name[0] == "R" and pixels.shape[2] > 2 and name != "RGB565":
        order[:3] = [2, 1, 0]
    return np.ascontiguousarray(pixels[..., order])


def gray_of(name: str, spec: nl.FrameSpec, memory: np.ndarray, picture: np.ndarray) -> np.ndarray:
    width, height = spec.size_wh
    if name in formats.YUV:
        luma = [
            [formats.sample(name, memory, spec.strides, spec.offsets, "Y", x, y) for x in range(width)]
            for y in range(height)
        ]
        return np.array([[formats.gray_of(y, spec.matrix, spec.range) for y in row] for row in luma], np.uint8)
    if name in formats.MOSAICS:
        mosaic = formats.mosaic_of(name, memory, spec.strides[0], width, height)
        return cv2.cvtColor(mosaic, getattr(cv2, f"COLOR_Bayer{name[:4]}2GRAY"))
    if name == "RGB565":
        words = spec.planes(memory)[0]
        return cv2.cvtColor(np.ascontiguousarray(words).view(np.uint8).reshape(height, width, 2), cv2.COLOR_BGR5652GRAY)
    return picture[..., 0] if picture.shape[2] == 1 else cv2.cvtColor(picture[..., :3], cv2.COLOR_BGR2GRAY)


def in_color(name: str, spec: nl.FrameSpec, memory: np.ndarray, color: str) -> np.ndarray:
    """The whole picture in the model's channels."""
    picture = reference(name, spec, memory)
    if color == "GRAY":
        return gray_of(name, spec, memory, picture)[..., None]
    if picture.shape[2] == 1:
        picture = np.repeat(picture, 3, 2)
    colors = picture[..., :3] if color.startswith("BGR") else picture[..., 2::-1]
    if len(color) == 3:
        return colors
    alpha = picture[..., 3:] if name in ("BGRA", "RGBA") else np.full((*colors.shape[:2], 1), 255, np.uint8)
    return np.concatenate([colors, alpha], 2)


def fitted(picture: np.ndarray, geometry: nl.Geometry, pad: int) -> np.ndarray:
    x0, y0, x1, y1 = geometry.crop_xyxy
    part = np.ascontiguousarray(picture[y0:y1, x0:x1])
    if part.shape[1::-1] != geometry.resized_wh:
        part = np.atleast_3d(as_on_x86(part, geometry.resized_wh))
    left, top, right, bottom = geometry.pad_ltrb
    return np.pad(part, ((top, bottom), (left, right), (0, 0)), constant_values=pad)


def frame_of(name: str, seed: int, size: Any = SIZE, **colors: str) -> tuple[nl.FrameSpec, np.ndarray]:
    spec = nl.FrameSpec(name, size, strides=[s + 128 for s in nl.FrameSpec(name, size).strides], **colors)
    return spec, formats.noise(spec.size or 0, seed)


@pytest.mark.parametrize("name", formats.FLAT)
@pytest.mark.parametrize("color", CHANNELS)
def test_every_format_in_every_color(name: str, color: str) -> None:
    spec, memory = frame_of(name, 1)
    picture = in_color(name, spec, memory, color)
    target = nl.TensorSpec((1, CHANNELS[color], 12, 16), "NHWC", "uint8")
    for resize in ("letterbox", "crop", "stretch"):
        preprocess = nl.Preprocessor(target, source=spec, color=color, resize=resize)
        buffer, geometry = preprocess(memory)
        np.testing.assert_array_equal(buffer[0], fitted(picture, geometry, 114))
        again, same = preprocess(spec.planes(memory))
        np.testing.assert_array_equal(again, buffer)
        assert same == geometry == getattr(nl.Geometry, resize)(SIZE, (16, 12))


@pytest.mark.parametrize("name", formats.FLAT)
@pytest.mark.parametrize(
    "roi", [(0, 0, 26, 18), (3, 5, 15, 9), (4, 2, 8, 8), (25, 17, 1, 1), (1, 1, 16, 12), (0, 3, 2, 15)]
)
def test_a_part_is_cropped_before_it_is_resized(name: str, roi: Any) -> None:
    spec, memory = frame_of(name, 2)
    x, y, width, height = roi
    for color in ("RGB", "GRAY", "BGRA"):
        picture = in_color(name, spec, memory, color)
        target = nl.TensorSpec((1, CHANNELS[color], 12, 16), "NHWC", "uint8")
        for resize in ("letterbox", "crop"):
            preprocess = nl.Preprocessor(target, source=spec, color=color, resize=resize)
            buffer, geometry = preprocess(memory, roi_xywh=roi)
            np.testing.assert_array_equal(buffer[0], fitted(picture, geometry, 114))
            alone = getattr(nl.Geometry, resize)((width, height), (16, 12))
            x0, y0, x1, y1 = alone.crop_xyxy
            assert geometry.frame_wh == SIZE and geometry.crop_xyxy == (x + x0, y + y0, x + x1, y + y1)
            assert (geometry.resized_wh, geometry.pad_ltrb) == (alone.resized_wh, alone.pad_ltrb)


@given(st.data())
def test_parts_colors_matrices_and_sizes(data: Any) -> None:
    name = data.draw(st.sampled_from([n for n in formats.FLAT if n not in formats.MOSAICS]))
    size = data.draw(st.tuples(st.integers(1, 40), st.integers(1, 40)))
    colors = dict(
        matrix=data.draw(st.sampled_from(["bt601", "bt709", "bt2020"])),
        range=data.draw(st.sampled_from(["limited", "full"])),
    )
    spec, memory = frame_of(name, data.draw(st.integers(0, 99)), size, **colors)
    x, y = (data.draw(st.integers(0, n - 1)) for n in size)
    roi = (x, y, data.draw(st.integers(1, size[0] - x)), data.draw(st.integers(1, size[1] - y)))
    color = data.draw(st.sampled_from(list(CHANNELS)))
    target = nl.TensorSpec((1, CHANNELS[color], 11, 9), "NHWC", "uint8")
    buffer, geometry = nl.Preprocessor(target, source=spec, color=color, pad_value=3)(memory, roi_xywh=roi)
    np.testing.assert_array_equal(buffer[0], fitted(in_color(name, spec, memory, color), geometry, 3))


def test_points_and_boxes_of_a_part_are_those_of_the_frame() -> None:
    preprocess = nl.Preprocessor(nl.TensorSpec((1, 3, 10, 10), "NHWC", "uint8"), source="NV12")
    _, geometry = preprocess(np.zeros((60, 60), np.uint8), roi_xywh=(7, 5, 20, 10))
    assert geometry.boxes_to_frame([0, 2, 10, 7]).tolist() == [7, 5, 27, 15]
    assert geometry.mask_to_frame(np.ones((10, 10), np.uint8)).sum() == 20 * 10


def test_parts_that_are_not_inside() -> None:
    preprocess, frame = nl.Preprocessor(nl.TensorSpec((1, 3, 4, 4), "NHWC", "uint8")), np.zeros((6, 8, 3), np.uint8)
    out = np.full((1, 4, 4, 3), 7, np.uint8)
    for roi in (
        (0, 0, 9, 6),
        (1, 0, 8, 6),
        (0, 6, 1, 1),
        (0, 0, 0, 6),
        (-1, 0, 2, 2),
        (0, 0, 2),
        "abcd",
        (0, 0, 1.5, 2),
    ):
        with pytest.raises(nl.NpuLayoutError, match="roi_xywh: expected"):
            preprocess(frame, out, roi_xywh=roi)  # type: ignore[arg-type]
    assert (out == 7).all()


def test_a_batch_of_frames_of_other_formats() -> None:
    preprocess = nl.Preprocessor(nl.TensorSpec((3, 3, 8, 8), "NHWC", "uint8"), source="NV12")
    alone = nl.Preprocessor(nl.TensorSpec((1, 3, 8, 8), "NHWC", "uint8"), source="NV12")
    frames: list[Any] = [formats.noise(24 * 16, 1).reshape(24, 16), formats.noise(30 * 10, 2).reshape(30, 10)]
    frames.append((formats.noise(35).reshape(5, 7), formats.noise(24).reshape(3, 4, 2)))
    buffer, geometries = preprocess.batch(frames)
    for one, geometry, frame in zip(buffer, geometries, frames):
        expected, same = alone(frame)
        np.testing.assert_array_equal(one, expected[0])
        assert geometry == same
    with pytest.raises(nl.NpuLayoutError, match=r"^frame 1: expected .* got uint8 of shape \(5,\)"):
        preprocess.batch([frames[0], np.zeros(5, np.uint8), frames[1]])


@pytest.mark.parametrize("layout", ["NHWC", "NCHW16c", "CHWN"])
@pytest.mark.parametrize("format", ["BGR", "NV12", "YUYV", "RGGB"])
def test_parts_of_one_frame_are_a_batch(format: str, layout: str) -> None:
    """As detections of one network are the input of the next."""
    batch, one = (nl.TensorSpec((n, 3, 8, 8), layout, "uint8") for n in (4, 1))
    preprocess, alone = (nl.Preprocessor(target, source=format) for target in (batch, one))
    frame = formats.noise(nl.FrameSpec(format, (30, 20)).size, 3)
    shape = {"BGR": (20, 30, 3), "NV12": (30, 30), "YUYV": (20, 30, 2), "RGGB": (20, 30)}[format]
    frame = frame.reshape(shape)
    rois = [(0, 0, 30, 20), (3, 5, 11, 9), None, np.array([17, 1, 13, 19])]
    out = np.full(batch.storage_shape, 7, np.uint8)
    buffer, geometries = preprocess.batch([frame] * 4, out, rois_xywh=rois)
    assert buffer is out
    for i, roi in enumerate(rois):
        expected, geometry = alone(frame, roi_xywh=roi)
        np.testing.assert_array_equal(batch.unpack(buffer)[i], one.unpack(expected)[0])
        assert geometries[i] == geometry
    single, geometries = alone.batch([frame], rois_xywh=[rois[1]])
    np.testing.assert_array_equal(single, alone(frame, roi_xywh=rois[1])[0])
    assert geometries[0].frame_wh == (30, 20)
    out[:] = 7
    for bad, says in (
        (rois[:3], r"rois_xywh: got 3; target .* expects 4"),
        ([*rois[:3], (17, 1, 14, 19)], r"^rois_xywh\[3\]: expected .* inside the frame of 30x20"),
        ((3, 5, 11, 9), r"^rois_xywh\[0\]: expected 4 "),
        (np.array([3, 5, 11, 9]), r"rois_xywh: expected a sequence of parts .* got an array of shape \(4,\)"),
        (iter(rois), "rois_xywh: expected a sequence of parts .* got list_iterator"),
        (7, "rois_xywh: expected a sequence of parts .* got int"),
        (list, "rois_xywh: expected a sequence of parts .* got type"),
        ({(0, 0, 4, 4): 1}, "rois_xywh: expected a sequence of parts .* got dict"),
        ("0123", "rois_xywh: expected a sequence of parts .* got str"),
        (np.array(None), r"rois_xywh: expected a sequence of parts .* got an array of shape \(\)"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            preprocess.batch([frame] * 4, out, rois_xywh=bad)  # type: ignore[arg-type]
    assert (out == 7).all()
    for frames in ({str(i): frame for i in range(4)}, list, "abcd", b"abcd"):
        with pytest.raises(nl.NpuLayoutError, match=r"^frames: expected a sequence of frames, got "):
            preprocess.batch(frames, out)  # type: ignore[arg-type]
    objects, parts = np.empty(4, object), np.empty(4, object)
    for i, roi in enumerate(rois):
        objects[i], parts[i] = frame, roi
    expected = preprocess.batch([frame] * 4, rois_xywh=rois)[0]
    np.testing.assert_array_equal(preprocess.batch(objects, rois_xywh=parts)[0], expected)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW4c", "NCHW16c", "NHWC8c", "CHWN"])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "int8"])
def test_four_channels_in_every_layout(layout: str, dtype: str) -> None:
    quantization = nl.Quantization(0.03, -5) if dtype == "int8" else None
    spec = nl.TensorSpec((1, 4, 6, 8), layout, dtype, quantization=quantization)
    mean, std = ((0,) * 4, (1,) * 4) if dtype == "uint8" else ((100, 110, 120, 0), (60, 61, 62, 255))
    frame = formats.noise(6 * 8 * 4).reshape(6, 8, 4)
    for source, color in (("BGRA", "RGBA"), ("RGBA", "RGBA"), ("BGRX", "BGRA"), ("BGRA", "BGRA")):
        buffer, _ = nl.Preprocessor(spec, source=source, color=color, mean=mean, std=std)(frame)
        pixels = frame if source == color or source == "BGRX" else frame[..., [2, 1, 0, 3]]
        pixels = pixels.copy()
        pixels[..., 3] = 255 if source == "BGRX" else pixels[..., 3]
        value = (pixels.astype(np.float32) - np.float32(mean)) * (np.float32(1) / np.float32(std))
        tensor = np.moveaxis(pixels if dtype == "uint8" else value, 2, 0)[None]
        np.testing.assert_array_equal(buffer.reshape(-1), spec.pack(np.ascontiguousarray(tensor)))


def test_bordered_alpha_is_what_pad_value_says() -> None:
    spec = nl.TensorSpec((1, 4, 4, 4), "NHWC", "uint8")
    buffer, _ = nl.Preprocessor(spec, color="RGBA", pad_value=(1, 2, 3, 255))(np.full((2, 4, 3), 9, np.uint8))
    assert buffer[0, 0, 0].tolist() == [1, 2, 3, 255] and buffer[0, 1, 0].tolist() == [9, 9, 9, 255]


def test_arguments_are_json_and_make_an_equal_preprocessor() -> None:
    target = nl.TensorSpec((1, 3, 8, 8), "NHWC", "uint8")
    for source in ("NV12", nl.FrameSpec("NV12", (16, 12), strides=32, matrix="bt709")):
        preprocess = nl.Preprocessor(target, source=source)
        again = nl.Preprocessor(target, **json.loads(json.dumps(preprocess.arguments)))
        assert again.source == preprocess.source == source and again.arguments == preprocess.arguments
        copied = pickle.loads(pickle.dumps(preprocess))
        assert copied.source == source and repr(copied) == repr(preprocess) and "NV12" in repr(copied)
    memory = formats.noise(32 * 18)
    np.testing.assert_array_equal(again(memory)[0], copied(memory)[0])


def test_mjpeg_end_to_end() -> None:
    image = cv2.resize(formats.noise(48).reshape(4, 4, 3), (24, 18))
    data = bytes(cv2.imencode(".jpg", image)[1])
    decoded = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    target = nl.TensorSpec((1, 3, 12, 12), "NHWC", "uint8")
    expected, geometry = nl.Preprocessor(target)(decoded, roi_xywh=(3, 2, 17, 11))
    buffer, same = nl.Preprocessor(target, source="MJPEG")(data, roi_xywh=(3, 2, 17, 11))
    np.testing.assert_array_equal(buffer, expected)
    assert geometry == same


@pytest.mark.parametrize("name", ["NV12", "I420", "NV16", "P010", "GRAY16", "RGGB", "YUYV"])
def test_flipped_and_read_only_planes(name: str) -> None:
    """Views with negative strides, up and down and left and right, are what copies of them are; nothing is changed."""
    spec = nl.FrameSpec(name, (24, 18))
    memory = formats.noise(spec.size or 0, 7)
    before = memory.copy()
    preprocess = nl.Preprocessor(nl.TensorSpec((1, 3, 12, 16), "NHWC", "uint8"), source=name)
    along = () if name == "YUYV" else (np.s_[:, ::-1], np.s_[::-1, ::-1])  # which would exchange its U and V
    for flip in (np.s_[::-1], *along):
        views = tuple(plane[flip] for plane in spec.planes(memory.tobytes()))
        assert not any(view.flags.writeable for view in views)
        expected = preprocess(tuple(view.copy() for view in views), roi_xywh=(2, 2, 20, 15))
        buffer, geometry = preprocess(views, roi_xywh=(2, 2, 20, 15))
        np.testing.assert_array_equal(buffer, expected[0])
        assert geometry == expected[1]
    np.testing.assert_array_equal(memory, before)
