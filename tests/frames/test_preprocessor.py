"""Preprocessor against a canvas made with cv2 and a loop over pixels; errors; no growing allocation."""

from __future__ import annotations

import itertools
import pickle
import tracemalloc
from functools import partial
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout import kernels
from npu_layout.frames.pictures import in_one_piece
from tests.support import frame_formats as formats
from tests.support.resized_pixels import as_on_x86

RNG = np.random.default_rng(7)
CHANNELS = {"BGR": 3, "RGB": 3, "BGRA": 4, "RGBA": 4, "GRAY": 1}
TO_RGB = {
    "BGR": cv2.COLOR_BGR2RGB,
    "RGB": None,
    "BGRA": cv2.COLOR_BGRA2RGB,
    "RGBA": cv2.COLOR_RGBA2RGB,
    "GRAY": cv2.COLOR_GRAY2RGB,
}


def frame_of(width: int, height: int, source: str) -> np.ndarray:
    shape = (height, width) if CHANNELS[source] == 1 else (height, width, CHANNELS[source])
    return RNG.integers(0, 256, shape, np.uint8)


def canvas_of(frame: np.ndarray, source: str, color: str, geometry: nl.Geometry, pad: int, flag: int) -> np.ndarray:
    """(H, W, channels of the model) uint8, by cv2 only."""
    x0, y0, x1, y1 = geometry.crop_xyxy
    part = np.ascontiguousarray(frame[y0:y1, x0:x1])
    if color == "GRAY":
        code = getattr(cv2, f"COLOR_{source}2GRAY", None)
        part = part if code is None else cv2.cvtColor(part, code)
    elif source == "GRAY":
        part = cv2.cvtColor(part, cv2.COLOR_GRAY2BGR)
    if part.shape[1::-1] != geometry.resized_wh:
        part = as_on_x86(part, geometry.resized_wh, flag)
    if color != "GRAY":
        seen = "BGR" if source == "GRAY" else source
        part = part if TO_RGB[seen] is None else cv2.cvtColor(part, TO_RGB[seen])
        part = part[..., ::-1] if color == "BGR" else part
    left, top, right, bottom = geometry.pad_ltrb
    part = np.atleast_3d(part)
    return np.pad(part, ((top, bottom), (left, right), (0, 0)), constant_values=pad)


@pytest.mark.parametrize("resize", ["letterbox", "letterbox_top_left", "stretch", "crop"])
@pytest.mark.parametrize("source", list(CHANNELS))
@pytest.mark.parametrize("color", ["RGB", "BGR", "GRAY"])
@pytest.mark.parametrize("size", [(13, 9), (5, 31), (16, 12), (8, 8)])
def test_pixels_colours_and_modes(resize: str, source: str, color: str, size: tuple[int, int]) -> None:
    channels = CHANNELS[color]
    spec = nl.TensorSpec((1, channels, 12, 16), "NHWC", "uint8")
    frame = frame_of(*size, source)
    before = frame.copy()
    buffer, geometry = nl.Preprocessor(spec, resize=resize, source=source, color=color)(frame)
    expected = canvas_of(frame, source, color, geometry, 114, cv2.INTER_LINEAR)
    np.testing.assert_array_equal(buffer[0], expected)
    np.testing.assert_array_equal(frame, before)


@pytest.mark.parametrize("resize", ["letterbox", "letterbox_top_left", "stretch", "crop"])
@pytest.mark.parametrize("size", [(13, 9), (16, 5), (3, 12), (5, 31), (1, 1)])
@pytest.mark.parametrize("target", [nl.TensorSpec((1, 3, 12, 16), "NHWC", "uint8"), nl.FrameSpec("RGB", (16, 12))])
def test_small_frames_keep_their_size_without_scaleup(resize: str, size: tuple[int, int], target: Any) -> None:
    frame, small = frame_of(*size, "BGR"), size[0] <= 16 and size[1] <= 12
    preprocess = nl.Preprocessor(target, resize=resize, scaleup=False)
    assert preprocess.scaleup is False and preprocess.arguments["scaleup"] is False
    usual = nl.Preprocessor(target, resize=resize)(frame)
    for _ in range(2):
        buffer, geometry = preprocess(frame)
        if resize.startswith("letterbox") and small:
            left, top = ((16 - size[0]) // 2, (12 - size[1]) // 2) if resize == "letterbox" else (0, 0)
            expected = np.full((12, 16, 3), 114, np.uint8)
            expected[top : top + size[1], left : left + size[0]] = frame[..., ::-1]
            np.testing.assert_array_equal(buffer.reshape(12, 16, 3), expected)
            assert geometry.points_to_frame([[left, top]]).tolist() == [[0, 0]]
        else:
            assert geometry == usual[1]
            np.testing.assert_array_equal(buffer, usual[0])
    part, where = preprocess(np.pad(frame, ((2, 2), (3, 3), (0, 0))), roi_xywh=(3, 2, *size))
    np.testing.assert_array_equal(part, buffer)
    assert where.resized_wh == geometry.resized_wh


@pytest.mark.parametrize("interpolation", ["linear", "cubic", "area", "nearest_floor"])
@pytest.mark.parametrize("source", ["BGR", "RGBA", "NV12"])
@pytest.mark.parametrize("size", [(48, 36), (60, 44), (20, 14)])
def test_gray_is_made_then_resized(interpolation: str, source: str, size: tuple[int, int]) -> None:
    """OpenCV's gray, or its stretched Y; resized first, then stretched, if planes are resized."""
    flag = getattr(cv2, "INTER_" + interpolation.removesuffix("_floor").upper())
    shape = (size[1] * 3 // 2, size[0]) if source == "NV12" else (size[1], size[0], CHANNELS[source])
    frame = np.random.default_rng(2).integers(0, 256, shape, np.uint8)

    def gray(pixels: np.ndarray) -> np.ndarray:
        if source != "NV12":
            return np.asarray(cv2.cvtColor(pixels, getattr(cv2, f"COLOR_{source}2GRAY")))
        light = np.maximum(pixels.astype(np.int64) - 16, 0) * 1220542  # OpenCV's 1.164
        return np.clip((light + (1 << 19)) >> 20, 0, 255).astype(np.uint8)

    def made(**how: Any) -> np.ndarray:
        spec = nl.TensorSpec((1, 1, 18, 24), "NCHW", "uint8")
        how = {"interpolation": interpolation, "resize": "stretch", "color": "GRAY", **how}
        return nl.Preprocessor(spec, source=source, **how)(frame)[0][0, 0]

    pixels = frame[: size[1]]
    first = as_on_x86(gray(pixels), (24, 18), flag)
    np.testing.assert_array_equal(made(), first)
    if source == "NV12" and interpolation == "linear":
        last = gray(as_on_x86(pixels, (24, 18), flag))
        np.testing.assert_array_equal(made(yuv="planes"), last)
        assert (first != last).any()


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "CHWN", "NCHW4c", "NCHW16c", "NHCW8w", "NHWC8c"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "uint8", "int8", "int16"])
@pytest.mark.parametrize("interpolation", ["linear", "cubic", "area", "nearest"])
def test_layouts_dtypes_and_arithmetic(layout: str, dtype: str, interpolation: str) -> None:
    quantization = None if "float" in dtype or dtype == "uint8" else nl.Quantization(0.03, -5)
    mean, std = ((0, 0, 0), (1, 1, 1)) if dtype == "uint8" else ((123.7, 116.3, 103.5), (58.4, 57.1, 57.4))
    spec = nl.TensorSpec((2, 3, 10, 14), layout, dtype, quantization=quantization)
    frames = [frame_of(21, 17, "BGR"), frame_of(9, 30, "BGR")]
    out = np.full(spec.storage_shape, 99, spec.stored)
    preprocess = nl.Preprocessor(spec, mean=mean, std=std, interpolation=interpolation)
    buffer, geometries = preprocess.batch(frames, out)
    assert buffer is out
    flag = cv2.INTER_NEAREST_EXACT if interpolation == "nearest" else getattr(cv2, f"INTER_{interpolation.upper()}")
    expected = np.zeros(spec.size, spec.stored)
    for n, (frame, geometry) in enumerate(zip(frames, geometries)):
        canvas = canvas_of(frame, "BGR", "RGB", geometry, 114, flag)
        for y, x, c in np.ndindex(*canvas.shape):
            value: Any = np.float32(canvas[y, x, c])
            if dtype != "uint8":
                value = (value - np.float32(mean[c])) * (np.float32(1) / np.float32(std[c]))
            if quantization is not None:
                info = np.iinfo(dtype)
                value = min(max(int(np.rint(value / np.float32(0.03))) - 5, info.min), info.max)
            if dtype == "bfloat16":  # the upper half of its bits, rounded half to even
                bits = int(np.float32(value).view(np.uint32))
                value = bits + 0x7FFF + (bits >> 16 & 1) >> 16
            expected[spec.offset(n, c, y, x)] = value
    np.testing.assert_array_equal(buffer.reshape(-1), expected)


@pytest.mark.parametrize("resize", ["letterbox", "letterbox_top_left", "stretch", "crop"])
@pytest.mark.parametrize("interpolation", ["linear", "area", "cubic", "nearest"])
@pytest.mark.parametrize("source", ["BGR", "RGBA", "GRAY"])
def test_a_part_of_a_frame_of_the_inputs_size(source: str, interpolation: str, resize: str) -> None:
    color = "GRAY" if source == "GRAY" else "RGB"
    frame = RNG.integers(0, 256, (24, 32) if source == "GRAY" else (24, 32, len(source)), np.uint8)
    target = nl.TensorSpec((1, 1 if source == "GRAY" else 3, 24, 32))
    given = {"source": source, "color": color, "interpolation": interpolation, "resize": resize}
    for x, y, x1, y1 in ((9, 6, 32, 24), (0, 0, 20, 17), (9, 0, 32, 24), (0, 5, 32, 24), (3, 4, 20, 17)):
        part = np.ascontiguousarray(frame[y:y1, x:x1])
        got = nl.Preprocessor(target, **given)(frame, roi_xywh=(x, y, x1 - x, y1 - y))[0]
        np.testing.assert_array_equal(got, nl.Preprocessor(target, **given)(part)[0], str((x, y, x1, y1)))


def test_rows_with_a_pitch_are_one_flat_buffer_with_zero_gaps() -> None:
    spec = nl.TensorSpec((1, 3, 4, 5), "NHWC", "uint8", storage_strides=(96, 24, 3, 1), size=96)
    frame = frame_of(5, 4, "RGB")
    buffer, _ = nl.Preprocessor(spec, source="RGB")(frame, np.full(96, 9, np.uint8))
    rows = buffer.reshape(4, 24)
    np.testing.assert_array_equal(rows[:, :15].reshape(4, 5, 3), frame)
    assert not rows[:, 15:].any()


def test_strided_frames() -> None:
    spec = nl.TensorSpec((1, 3, 12, 16), "NCHW", "float32")
    preprocess = nl.Preprocessor(spec)
    big = frame_of(40, 30, "BGR")
    windows = np.lib.stride_tricks.as_strided(big, (17, 26, 3), (7, 3, 1))  # rows that share pixels
    for view in (big[3:20, 5:31], big[::-1, ::-1], big[:, :, ::-1], big[::2, ::3], np.asfortranarray(big), windows):
        expected, _ = preprocess(np.ascontiguousarray(view))
        np.testing.assert_array_equal(preprocess(view)[0], expected)
    four = frame_of(20, 20, "BGRA")
    np.testing.assert_array_equal(preprocess(four[..., :3])[0], preprocess(four[..., :3].copy())[0])


@pytest.mark.parametrize("name", ["BGR", "RGBA", "GRAY", "NV12", "I420", "P010", "NV24"])
@pytest.mark.parametrize("interpolation", ["linear", "cubic", "nearest"])
@pytest.mark.parametrize("roi", [None, (4, 2, 10, 12)])
def test_frames_of_a_camera_that_is_mounted_turned_or_mirrored(name: str, interpolation: str, roi: Any) -> None:
    """Views of each plane are the views of the picture."""
    spec = nl.FrameSpec(name, (24, 18), strides=128)
    planes = spec.planes(formats.noise(spec.size or 0, 9))
    color = "GRAY" if name == "GRAY" else "BGR"
    shown = nl.TensorSpec((1, 1 if name == "GRAY" else 3, 18, 24), "NHWC", "uint8")
    picture = nl.Preprocessor(shown, source=name, color=color, resize="stretch")(
        planes if len(planes) > 1 else planes[0]
    )
    preprocess = nl.Preprocessor(
        nl.TensorSpec((1, 3, 20, 16), "NCHW", "float32"), source=name, interpolation=interpolation
    )
    plain = nl.Preprocessor(preprocess.target, source=color, interpolation=interpolation)
    for turns, mirrored in itertools.product(range(4), (False, True)):

        def seen(plane: np.ndarray, turns: int = turns, mirrored: bool = mirrored) -> np.ndarray:
            turned = np.rot90(plane, turns)
            return turned[:, ::-1] if mirrored else turned

        views = tuple(map(seen, planes))
        expected, geometry = plain(np.ascontiguousarray(seen(picture[0][0])), roi_xywh=roi)
        for _ in range(2):
            buffer, same = preprocess(views if len(views) > 1 else views[0], roi_xywh=roi)
            np.testing.assert_array_equal(buffer, expected)
            assert same == geometry


@pytest.mark.skipif(kernels.active() == "numpy", reason="the pass of numpy copies what it reads")
@pytest.mark.parametrize("roi", [None, (5, 40, 60, 33)])
def test_rows_that_are_mirrored_are_copied_once(roi: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are read, to the same memory for each frame."""
    copied: list[tuple[Any, int]] = []

    def counted(plane: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        copy = in_one_piece(plane, out)
        copied.append((plane.shape, copy.ctypes.data))
        return copy

    monkeypatch.setattr("npu_layout.frames.pictures.in_one_piece", counted)
    preprocess = nl.Preprocessor(nl.TensorSpec((1, 3, 32, 32), "NHWC", "uint8"))
    for _ in range(3):
        preprocess(frame_of(120, 90, "BGR")[:, ::-1], roi_xywh=roi)
    rows = 90 if roi is None else 33
    assert [shape for shape, _ in copied] == [(rows, 120, 3)] * 3 and len({at for _, at in copied[1:]}) == 1


class Mirrored(nl.Preprocessor):
    """One that a person made."""

    def __init__(self, *args: Any, mirror: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.mirror = mirror

    def __call__(self, frame: Any, out: Any = None) -> tuple[np.ndarray, nl.Geometry]:
        return super().__call__(frame[:, :: -1 if self.mirror else 1], out)


@pytest.mark.parametrize("made", [nl.Preprocessor, partial(Mirrored, mirror=True)])
def test_it_may_be_pickled(made: Any) -> None:
    spec = nl.TensorSpec((1, 3, 12, 16), "NCHW4c", "int8", quantization=nl.Quantization(0.03, -5))
    how: dict[str, Any] = {"mean": [120, 110, 100], "std": 58.4, "pad_value": [1, 2, 3], "interpolation": "area"}
    preprocess, frame = made(spec, source="RGB", color="BGR", **how), frame_of(31, 17, "RGB")
    buffer, geometry = preprocess(frame)  # has scratch memory from now on
    again, same = pickle.loads(pickle.dumps(preprocess))(frame)
    np.testing.assert_array_equal(again, buffer)
    assert same == geometry


def test_out_allocates_nothing_that_grows_with_the_image() -> None:
    peaks = []
    for side in (64, 512):
        spec = nl.TensorSpec((1, 3, side, side), "NCHW", "float32")
        preprocess = nl.Preprocessor(spec, mean=3, std=4)
        frame, out = frame_of(2 * side, side, "BGR"), np.empty(spec.storage_shape, np.float32)
        preprocess(frame, out)
        tracemalloc.start()
        preprocess(frame, out)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 3 << 20, f"scratch of conversion chunks is bounded, got {peaks}"


BAD_FRAMES = [
    (None, "camera"),
    (np.zeros((0, 4, 3), np.uint8), r"\(0, 4, 3\)"),
    (np.zeros((4, 4, 3), np.float64), "float64"),
    (np.zeros((4, 4, 5), np.uint8), r"\(4, 4, 5\)"),
    (np.zeros((4, 4), np.uint8), r"\(4, 4\)"),
    ([[1, 2]], "list"),
]


@pytest.mark.parametrize(("frame", "says"), BAD_FRAMES)
def test_bad_frames_leave_out_alone(frame: Any, says: str) -> None:
    spec = nl.TensorSpec((1, 3, 4, 4), "NCHW", "uint8")
    out = np.full(spec.storage_shape, 5, np.uint8)
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.Preprocessor(spec)(frame, out)
    assert (out == 5).all()


def test_a_bad_frame_of_several_is_named() -> None:
    preprocess, frame = nl.Preprocessor(nl.TensorSpec((2, 3, 4, 4), "NCHW", "uint8")), frame_of(4, 4, "BGR")
    with pytest.raises(nl.NpuLayoutError, match=r"^frame 1: expected .* got uint8 of shape \(4, 4\)"):
        preprocess.batch([frame, frame[..., 0]])


def test_one_frame_for_a_batch_is_refused_with_what_to_call() -> None:
    preprocess, frame = nl.Preprocessor(nl.TensorSpec((2, 3, 8, 8))), np.zeros((8, 8, 3), np.uint8)
    with pytest.raises(nl.NpuLayoutError, match=r"got 1; .* expects 2 \(its N\); give so many frames to batch\(\)"):
        preprocess(frame)
    with pytest.raises(nl.NpuLayoutError, match=r"frames: got 1; .* expects 2 \(its N\)$"):
        preprocess.batch([frame])


def test_bad_out() -> None:
    spec = nl.TensorSpec((1, 3, 4, 4), "NHWC", "uint8")
    frame = frame_of(4, 4, "BGR")
    readonly = np.zeros((1, 4, 4, 3), np.uint8)
    readonly.flags.writeable = False
    for out, says in (
        (np.zeros((1, 4, 4, 4), np.uint8), "shape"),
        (np.zeros((1, 4, 4, 3), np.int8), "dtype"),
        (readonly, "read-only"),
        (np.zeros((2, 4, 4, 3), np.uint8)[::2].transpose(0, 2, 1, 3), "contiguous"),
        (frame[None], "shares memory"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            nl.Preprocessor(spec)(frame, out)


def test_bad_arguments() -> None:
    uint8, int8 = nl.TensorSpec((1, 3, 4, 4), dtype="uint8"), nl.TensorSpec((1, 3, 4, 4), dtype="int8")
    with pytest.raises(nl.NpuLayoutError, match="sequence of frames, got NoneType"):
        nl.Preprocessor(uint8).batch(None)  # type: ignore[arg-type]
    for spec, arguments, says in (
        (int8, {}, "not quantised"),
        (uint8, {"mean": 1}, "mean and std"),
        (uint8, {"resize": "fit"}, "letterbox"),
        (uint8, {"color": "GRAY"}, "channels"),
        (nl.TensorSpec((1, 64, 96, 3), "NHWC"), {}, "axes NCHW, has 64 channels; color RGB expects 3"),
        (nl.TensorSpec((1, 1, 4, 4)), {}, "has 1 channels; color RGB expects 3; give color='GRAY'$"),
        (uint8, {"std": 0}, "std"),
        (nl.TensorSpec((1, 3, 4, 4)), {"std": 1e-46}, "in float32"),
        (nl.TensorSpec((1, 3, 4, 4)), {"mean": 1e39}, "mean: expected numbers in the range of float32"),
        (uint8, {"pad_value": 300}, "pad_value"),
        (nl.TensorSpec((1, 3), "NC", "uint8"), {}, "axes"),
        (nl.TensorSpec((2, 3, 4, 4), dtype="uint8"), {}, None),
    ):
        if says is None:
            with pytest.raises(nl.NpuLayoutError, match="expects 2"):
                nl.Preprocessor(spec)(frame_of(4, 4, "BGR"))
        else:
            with pytest.raises(nl.NpuLayoutError, match=says):
                nl.Preprocessor(spec, **arguments)  # type: ignore[arg-type]


IMAGENET = {"mean": [123.675, 116.28, 103.53], "std": [58.395, 57.12, 57.375]}


@pytest.mark.parametrize(
    ("dtype", "quantization", "arguments", "says"),
    [
        ("uint8", (1 / 128, 128), {}, r"from -1 to 0\.9922; mean=0 and std=1 make 0 to 255.*mean=127\.5, std=127\.5 "),
        ("uint8", (1 / 128, 128), {"mean": 127.5, "std": 127.5}, None),
        ("uint8", (1 / 128, 128), {"std": 255}, None),
        ("int8", (1 / 255, -128), {}, "99 % of the pixel values are clamped; mean=0, std=255 would fit"),
        ("int8", (1 / 255, -128), {"std": 255}, None),
        ("int8", (1, -128), {}, None),
        ("int8", (1, 0), {}, "make 0 to 255, and 50 % of the pixel values are clamped"),
        ("int8", (1, 0), {"mean": 128}, None),
        ("int8", (1 / 127, 0), {"std": 127.5}, r"; mean=0, std=255 or mean=127\.5, std=127\.5 would fit$"),
        ("int8", (1 / 64, 0), IMAGENET, None),
        ("int8", (4.758 / 255, -14), {"std": 255}, None),
        ("int8", (4.758 / 255, -14), {}, r"mean=\[123\.675, 116\.28, 103\.53\], std=\[58\.395, .* would fit"),
        ("int8", (4.758 / 255, -14), {"color": "BGR"}, r"mean=\[103\.53, 116\.28, 123\.675\]"),
        ("int8", (0.3, 0), {}, "clamped$"),
        ("int8", (2 / 255, 0), {}, r"; mean=0, std=255 or mean=127\.5, std=127\.5 would fit$"),
        ("int16", (1 / 32767, 0), {}, r"; mean=0, std=255 or mean=127\.5, std=127\.5 would fit$"),
        ("int16", (1 / 32768, 0), {"mean": 127.5, "std": 127.5}, None),
        ("int8", ([1 / 255, 1, 1], -128, 1), {}, "from 0 to 1; mean=0 .* clamped$"),
        ("int8", ([1 / 255, 1 / 255, 1 / 255], -128, 1), {}, "mean=0, std=255 would fit"),
        ("int8", ([1 / 255, 1, 1], -128, 1), {"std": [255, 1, 1]}, None),
        ("float32", None, {"std": 1.001}, None),
    ],
)
def test_what_mean_and_std_make_is_what_the_target_holds(
    dtype: str, quantization: Any, arguments: Any, says: str | None
) -> None:
    spec = nl.TensorSpec((1, 3, 4, 4), "NCHW", dtype, quantization=quantization and nl.Quantization(*quantization))
    if says is None:
        nl.Preprocessor(spec, **arguments)
        return
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.Preprocessor(spec, **arguments)


def test_mean_and_std_of_pixels_from_0_to_1() -> None:
    spec = nl.TensorSpec((1, 3, 4, 4))
    says = r"0 to 255; got mean=\[0\.485, 0\.456, 0\.406\] .* mean=\[123\.675, 116\.28, 103\.53\] and std="
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.Preprocessor(spec, mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])
    for fine in ({"mean": 1, "std": 1}, {"std": 1}, {"mean": [0, 0, 1], "std": 1.5}):
        nl.Preprocessor(spec, **fine)
    for wrong in ({"mean": 0.5, "std": 1}, {"std": 0.5}, {"mean": [0, 0, 1], "std": 0.5}, {"std": 1 / 255}):
        with pytest.raises(nl.NpuLayoutError, match="mean and std are in pixel units"):
            nl.Preprocessor(spec, **wrong)


def test_a_batch_whose_n_is_padded_or_blocked() -> None:
    """Sophgo's 4N, and padded N: frames are not one after the other, or there are more places than frames."""
    rng = np.random.default_rng(8)
    for count, layout, more in (
        (3, "NCHW4n", {}),
        (5, "NCHW4n", {}),
        (3, "NHWC2n", {"axes": "NCHW"}),
        (2, "NCHW", {"storage_shape": (4, 3, 8, 8)}),
        (3, "NCHW", {"storage_shape": (5, 3, 8, 8)}),
        (2, "NCHW", {"storage_shape": (3, 3, 8, 8)}),
        (2, "NCHW", {"storage_shape": (2, 4, 9, 10)}),
    ):
        spec, one = (
            nl.TensorSpec((count, 3, 8, 8), layout, "uint8", **more),
            nl.TensorSpec((1, 3, 8, 8), "NCHW", "uint8"),
        )
        frames = [rng.integers(0, 256, (13, 11, 3), np.uint8) for _ in range(count)]
        buffer, _ = nl.Preprocessor(spec).batch(frames, np.full(spec.storage_shape, 77, np.uint8))
        made = np.concatenate([one.unpack(nl.Preprocessor(one)(frame)[0]) for frame in frames])
        assert np.array_equal(buffer, spec.pack(made).reshape(spec.storage_shape)), (count, layout, more)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW16c", "NHCW8w", "CHWN", "HWCN"])
def test_a_batch_has_the_frames_that_single_calls_make(layout: str) -> None:
    """Where frames are one after the other each has a pass of its own; in CHWN they are interleaved."""
    rng = np.random.default_rng(len(layout))
    for dtype, quantization, more in (
        ("uint8", None, {}),
        ("int8", nl.Quantization(1.0, -128), {}),
        ("float32", None, {"mean": (9.0, 8.0, 7.0), "std": 3.0}),
    ):
        for source in ("BGR", "NV12"):
            numbers: dict[str, Any] = {"dtype": dtype, "quantization": quantization, "axes": "NCHW"}
            batch, one = (nl.TensorSpec((n, 3, 23, 31), layout, **numbers) for n in (3, 1))
            preprocess, single = (nl.Preprocessor(spec, source=source, **more) for spec in (batch, one))
            sizes = rng.integers(4, 60, (3, 2)) * 2
            frames = [
                rng.integers(0, 256, (h, w, 3) if source == "BGR" else (h * 3 // 2, w), np.uint8) for h, w in sizes
            ]
            out = np.full(batch.storage_shape, 77, batch.stored)
            buffer, geometries = preprocess.batch(frames, out)
            assert buffer is out
            made = [single(frame) for frame in frames]
            assert [geometry for _, geometry in made] == geometries
            stored = np.stack([one.unpack(single_buffer)[0] for single_buffer, _ in made])
            assert np.array_equal(batch.unpack(buffer), stored)
            with pytest.raises(nl.NpuLayoutError):
                preprocess.batch([*frames[:2], frames[2].astype(np.float32)], out)
            assert np.array_equal(batch.unpack(out), stored), "a frame was written before all were checked"
