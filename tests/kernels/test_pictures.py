"""Rows of YUV pictures: every arrangement of samples, scale and level against a scalar reference, and OpenCV."""

from __future__ import annotations

import itertools
import platform

import cv2
import numpy as np
import pytest

from npu_layout import kernels
from npu_layout.kernels import ComponentSamples, PictureResize, linear_axis, nearest_axis, nearest_floor_axis
from npu_layout.kernels.choice import LEVELS
from tests.support.arrays import assert_same
from tests.support.kernel_walks import BACKENDS, NATIVE
from tests.support.memory import Fenced
from tests.support.picture_writers import writers
from tests.support.resized_pixels import METHODS
from tests.support.yuv_pictures import (
    ARRANGEMENTS,
    BT601,
    BT709_FULL,
    BT2020,
    IDENTITY,
    expected,
    extents,
    noise,
    resize_of,
    sizes,
)

if NATIVE:
    from npu_layout.kernels import native

COLORS = {"bt601": BT601, "bt709 full": BT709_FULL, "bt2020": BT2020}
EVERY = np.repeat(np.arange(256, dtype=np.uint8), 256), np.tile(np.arange(256, dtype=np.uint8), 256)  # U, V


def written(writer, resize: PictureResize, planes: tuple[np.ndarray, ...]) -> np.ndarray:  # type: ignore[no-untyped-def]
    """Return the canvas, which is written between bytes that stay as they are."""
    along, down = resize.axes[0]
    room = np.full((resize.depth, len(down.first), len(along.first) + 7), 77, np.uint8)
    writer.write(planes, room[:, :, 3:-4])
    assert (room[:, :, :3] == 77).all() and (room[:, :, -4:] == 77).all()
    return room[:, :, 3:-4]


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "planes"])
@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_equals_the_scalar_reference(name: str, exact: bool) -> None:
    rng, components = np.random.default_rng(len(name)), ARRANGEMENTS[name]
    for i, (size_wh, result_wh) in enumerate(sizes(rng, 40)):
        color = tuple(COLORS.values())[i % 3] if i % 7 else IDENTITY
        channels, depth = ((0, 1, 2), (2, 1, 0))[i % 2], (3, 4)[i % 5 == 0]
        resize = resize_of(components, size_wh, result_wh, exact=exact, color=color, channels=channels, depth=depth)
        planes = noise(rng, components, size_wh, slack=(0, 1, 64)[i % 3])
        result = expected(resize, planes)
        for backend, writer in writers(resize):
            assert_same(written(writer, resize, planes), result, f"{backend} {size_wh} {result_wh}")


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "planes"])
@pytest.mark.parametrize("name", ["NV12", "NV16", "I420", "I444", "YUYV", "P010", "gray"])
def test_backends_agree_on_long_rows(name: str, exact: bool) -> None:
    rng, components = np.random.default_rng(5), ARRANGEMENTS[name]
    scales = (0.4, 1, 1.1, 1.5, 1.9, 2, 2.5, 3, 4, 5, 6, 7.3, 9, 14, 15.5, 40)
    for i, scale in enumerate(scales):
        width = int(rng.integers(200, 420))
        size_wh = (max(1, round(scale * width)), max(1, round(scale * 3)))
        resize = resize_of(components, size_wh, (width, 3), exact=exact)
        planes = noise(rng, components, size_wh, slack=i % 4)
        first = None
        for backend, writer in writers(resize):
            result = written(writer, resize, planes)
            first = result if first is None else first
            assert_same(result, first, f"{backend} {size_wh}")


@pytest.mark.parametrize("how", ["linear", "nearest", "nearest_floor"])
@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_a_part_is_that_of_the_converted_picture(name: str, how: str) -> None:
    """A part that begins anywhere, with pixels around it that are in no result: converted, cropped, resized."""
    rng, components = np.random.default_rng(9), ARRANGEMENTS[name]
    axis_of = {"linear": linear_axis, "nearest": nearest_axis, "nearest_floor": nearest_floor_axis}[how]
    for i, (size_wh, result_wh) in enumerate(sizes(rng, 48)):
        left, top, right, bottom = ((i % 2, i // 2 % 2, 0, 0), (1, 1, 3, 2), (5, 0, 0, 7), (2, 3, 1, 1))[i % 4]
        whole_wh = left + size_wh[0] + right, top + size_wh[1] + bottom
        planes = noise(rng, components, whole_wh, slack=i % 3)
        plain = resize_of(components, whole_wh, whole_wh)
        picture = np.empty((plain.depth, *whole_wh[::-1]), np.uint8)
        kernels.picture_rows(plain, "numpy").write(planes, picture)
        part = np.moveaxis(picture, 0, -1)[top : top + size_wh[1], left : left + size_wh[0]]
        result = np.moveaxis(METHODS[how](np.ascontiguousarray(part), result_wh), -1, 0)
        along = axis_of(size_wh[0], result_wh[0]).within(left, right)
        down = axis_of(size_wh[1], result_wh[1], True).within(top, bottom)
        resize = plain._replace(axes=((along, down),))
        for backend, writer in writers(resize):
            assert_same(written(writer, resize, planes), result, f"{backend} {size_wh} {result_wh}")


@pytest.mark.parametrize("name, code", [
    ("NV12", "NV12"), ("NV21", "NV21"), ("I420", "I420"), ("YV12", "YV12"),
    ("YUYV", "YUYV"), ("UYVY", "UYVY"), ("YVYU", "YVYU"),
])  # fmt: skip
def test_exact_equals_opencv_on_x86(name: str, code: str) -> None:
    """cvtColor, then resize. On Arm OpenCV's own resize differs from its reference arithmetic."""
    rng, components = np.random.default_rng(7), ARRANGEMENTS[name]
    if not _opencv_computes_the_reference():
        assert platform.machine() not in ("x86_64", "AMD64"), "the wheels for x86 compute it"
        pytest.skip("this OpenCV does not compute INTER_LINEAR by its reference arithmetic")
    for i in range(60):
        w, h = int(rng.integers(1, 90)), int(rng.integers(1, 20))
        size_wh = (2 * w, 2 * h) if i % 4 == 0 else (2 * int(rng.integers(1, 150)), 2 * int(rng.integers(1, 40)))
        packed, planes = _as_opencv_has_it(rng, components, size_wh)
        pixels = cv2.cvtColor(packed, getattr(cv2, f"COLOR_YUV2BGR_{code}"))
        result = cv2.resize(pixels, (w, h), interpolation=cv2.INTER_LINEAR).transpose(2, 0, 1)
        resize = resize_of(components, size_wh, (w, h), channels=(2, 1, 0))
        for backend, writer in writers(resize):
            assert_same(written(writer, resize, planes), result, f"{backend} {size_wh} {w} {h}")


def _opencv_computes_the_reference() -> bool:
    picture = np.random.default_rng(1).integers(0, 256, (37, 53), np.uint8)
    along, down = linear_axis(53, 31), linear_axis(37, 23, down=True)
    resize = PictureResize((ComponentSamples(0, 0, 1),), IDENTITY, (53, 37), ((along, down),), True, (0,), 1)
    out = np.empty((1, 23, 31), np.uint8)
    kernels.picture_rows(resize, "numpy").write((picture,), out)
    return bool((cv2.resize(picture, (31, 23)) == out[0]).all())


def _as_opencv_has_it(rng, components, size_wh):  # type: ignore[no-untyped-def]
    """Return a frame of noise as cvtColor expects it, and its planes."""
    w, h = size_wh
    if len(extents(components, size_wh)) == 1:
        frame = rng.integers(0, 256, (h, w, 2), np.uint8)
        return frame, (frame,)
    frame = rng.integers(0, 256, (h * 3 // 2, w), np.uint8)
    if len(extents(components, size_wh)) == 2:
        return frame, (frame[:h], frame[h:].reshape(h // 2, w // 2, 2))
    chroma = frame[h:].reshape(2, h // 2, w // 2)
    return frame, (frame[:h], chroma[0], chroma[1])


@pytest.mark.parametrize("color", COLORS)
def test_every_y_u_and_v(color: str) -> None:
    """All 16.7 million; each loop of colors: each pixel with its chroma, two that share it, means of four."""
    u, v = (c[None] for c in EVERY)
    rows = range(256) if color == "bt601" else (0, 1, 15, 16, 17, 127, 128, 200, 234, 235, 236, 254, 255)
    k, wide = COLORS[color], 1 << 16
    each = resize_of(ARRANGEMENTS["I444"], (wide, 1), (wide, 1), color=k)
    shared = resize_of(ARRANGEMENTS["I420"], (wide, 2), (wide, 2), color=k)
    mean = resize_of(ARRANGEMENTS["I420"], (wide, 2), (wide // 2, 1), color=k)
    center = u[0].astype(np.int64) - 128, v[0].astype(np.int64) - 128
    sums = np.stack([k.red_v * center[1], k.green_u * center[0] + k.green_v * center[1], k.blue_u * center[0]])
    most = np.iinfo(np.int32).max - 255 * k.luma - (1 << 19)
    assert np.abs(sums).max() < most
    sums = sums.astype(np.int32)
    halves = slice(0, wide // 2), slice(wide // 2, wide)
    for y in rows:
        luma = max(y - k.black, 0) * k.luma + (1 << 19)
        result = ((sums + luma) >> 20).clip(0, 255).astype(np.uint8)
        doubled = [np.repeat(result[:, None, half], 2, 2).repeat(2, 1) for half in halves]
        plane = np.full((2, wide), y, np.uint8)
        for backend in NATIVE:
            level = LEVELS[backend]
            out = np.empty((3, 1, wide), np.uint8)
            native.picture_rows(each, level).write((plane[:1], u, v), out)
            assert_same(out[:, 0], result)
            for half, double in zip(halves, doubled):
                out = np.empty((3, 2, wide), np.uint8)
                native.picture_rows(shared, level).write((plane, u[:, half], v[:, half]), out)
                assert_same(out, double)
                out = np.empty((3, 1, wide // 2), np.uint8)
                native.picture_rows(mean, level).write((plane, u[:, half], v[:, half]), out)
                assert_same(out[:, 0], result[:, half])


def test_every_y_becomes_gray() -> None:
    """The luma term of the conversion with U and V of 128: R, G and B are equal there, and gray is each of them."""
    y, gray = np.arange(256, dtype=np.uint8)[None], np.full((1, 256), 128, np.uint8)
    for color in COLORS.values():
        three = resize_of(ARRANGEMENTS["I444"], (256, 1), (256, 1), color=color)
        one = resize_of(ARRANGEMENTS["gray"], (256, 1), (256, 1), color=color)
        for backend in BACKENDS:
            rgb, out = np.empty((3, 1, 256), np.uint8), np.empty((1, 1, 256), np.uint8)
            kernels.picture_rows(three, backend).write((y, gray, gray), rgb)
            kernels.picture_rows(one, backend).write((y,), out)
            assert (rgb == out).all()
            if color.luma == 1 << 20:
                assert (out == y).all()


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "planes"])
@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_nothing_beyond_the_samples_is_touched(name: str, exact: bool, fences: tuple[Fenced, Fenced]) -> None:
    """Each plane in turn is at a fence, with the fewest bytes that have all samples; so does the result."""
    rng, components = np.random.default_rng(11), ARRANGEMENTS[name]
    scales = (0.7, 1, 1.3, 2, 2.5, 3, 6, 10, 20)
    for scale, width in itertools.product(scales, (1, 2, 5, 8, 17, 33, 64, 65, 100)):
        size_wh = max(1, int(scale * width)), max(1, int(scale * 2))
        resize = resize_of(components, size_wh, (width, 2), exact=exact)
        planes = noise(rng, components, size_wh)
        for fenced in range(len(planes)):
            results = []
            for place, end in ((fences[0].first, fences[1].first), (fences[0].last, fences[1].last)):
                plane = place(planes[fenced].size).reshape(planes[fenced].shape)
                plane[...] = planes[fenced]
                for _, writer in writers(resize):
                    out = end(resize.depth * 2 * width).reshape(resize.depth, 2, width)
                    writer.write((*planes[:fenced], plane, *planes[fenced + 1 :]), out)
                    results.append(out.copy())
            assert all((result == results[0]).all() for result in results)


def test_planes_may_be_flipped_and_read_only() -> None:
    rng, components = np.random.default_rng(2), ARRANGEMENTS["NV12"]
    resize = resize_of(components, (90, 40), (31, 17))
    planes = noise(rng, components, (90, 40))
    flipped = tuple(np.ascontiguousarray(plane[::-1])[::-1] for plane in planes)
    for plane in flipped:
        plane.flags.writeable = False
    result = written(kernels.picture_rows(resize, "numpy"), resize, planes)
    for _, writer in writers(resize):
        assert_same(written(writer, resize, flipped), result)


def test_threads_share_rows_and_a_second_call_allocates_nothing() -> None:
    rng, components = np.random.default_rng(3), ARRANGEMENTS["NV12"]
    before = kernels.get_num_threads()
    try:
        for size_wh, result_wh in (((1920, 1080), (640, 360)), ((1280, 720), (640, 360)), ((801, 601), (500, 399))):
            planes = noise(rng, components, size_wh)
            resize = resize_of(components, size_wh, result_wh)
            kernels.set_num_threads(1)
            result = written(kernels.picture_rows(resize), resize, planes)
            kernels.set_num_threads(3)
            writer = kernels.picture_rows(resize)
            for _ in range(20):
                assert_same(written(writer, resize, planes), result)
    finally:
        kernels.set_num_threads(before)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_does_not_fit_is_refused(backend: str) -> None:
    resize = resize_of(ARRANGEMENTS["NV12"], (20, 10), (8, 4))
    y, uv = noise(np.random.default_rng(0), resize.components, (20, 10))
    writer, out = kernels.picture_rows(resize, backend), np.zeros((3, 4, 8), np.uint8)
    for planes, result, message in (
        ((y,), out, "planes: expected 2, got 1"),
        ((y[:9], uv), out, "plane 0: expected at least 10 rows of 20 bytes, got 9 rows of 20 bytes"),
        ((y, uv[:, :19]), out, "plane 1: expected at least 5 rows of 20 bytes, got 5 rows of 19 bytes"),
        ((y, uv), out[:, :3], r"out: expected bytes of shape \(3, 4, 8\)"),
        ((y, uv), np.zeros((3, 4, 16), np.uint8)[:, :, ::2], "neighbours"),
    ):
        with pytest.raises(ValueError, match=message):
            writer.write(planes, result)
    big = np.zeros((40, 20), np.uint8)
    with pytest.raises(ValueError, match="overlap"):
        writer.write((big[:10], uv), big.reshape(-1)[100:196].reshape(3, 4, 8))
    assert not out.any()


@pytest.mark.skipif(not NATIVE, reason="no compiled kernels")
@pytest.mark.parametrize("changes, message", [
    ({"size_wh": (0, 10)}, "size"),
    ({"channels": (0, 1, 1)}, "order"),
    ({"depth": 5}, "channels"),
    ({"color": BT601._replace(luma=1 << 30)}, "coefficients"),
    ({"color": BT601._replace(black=256)}, "coefficients"),
    ({"axes": ()}, "axes"),
    ({"axes": ((linear_axis(21, 8), linear_axis(10, 4, down=True)),)}, "as many elements"),
    ({"components": ARRANGEMENTS["NV12"][:2]}, "1 or 3"),
    ({"components": (ComponentSamples(0, 0, 0), *ARRANGEMENTS["NV12"][1:])}, "out of range"),
    ({"components": (ComponentSamples(0, 0, 1, 2), *ARRANGEMENTS["NV12"][1:])}, "Y for each pixel"),
    ({"components": (*ARRANGEMENTS["NV12"][:2], ComponentSamples(1, 1, 2, 1, 2))}, "same pixels"),
])  # fmt: skip
def test_the_core_checks_what_it_is_given(changes: dict[str, object], message: str) -> None:
    resize = resize_of(ARRANGEMENTS["NV12"], (20, 10), (8, 4))
    with pytest.raises(ValueError, match=message):
        native.picture_rows(resize._replace(**changes))


@pytest.mark.skipif(not NATIVE, reason="no compiled kernels")
def test_the_core_checks_axes() -> None:
    resize = resize_of(ARRANGEMENTS["gray"], (20, 10), (8, 4))
    along, down = resize.axes[0]
    beyond, heavy = along.first.copy(), along.weights.copy()
    beyond[3], heavy[2, 0] = 20, 2049
    for axes, message in (
        ((along._replace(first=beyond), down), "inside"),
        ((along._replace(weights=heavy), down), "2048"),
        ((along._replace(weights=heavy[1:]), down), "weights"),
        ((along._replace(mean=True), down._replace(mean=True)), "means"),
    ):
        with pytest.raises(ValueError, match=message):
            native.picture_rows(resize._replace(axes=(axes,)))
