"""Rows of packed pixels: every count of channels, scale, pitch and level against OpenCV's rules and OpenCV itself."""

from __future__ import annotations

import itertools
from typing import Any

import cv2
import numpy as np
import pytest

from npu_layout import kernels
from npu_layout.kernels import ComponentSamples, PictureResize
from tests.support.kernel_walks import BACKENDS, NATIVE
from tests.support.memory import Fenced
from tests.support.picture_writers import writers
from tests.support.resized_pixels import METHODS

if NATIVE:
    from npu_layout.kernels import native

AXES: dict[str, Any] = {
    "area": kernels.area_axis,
    "linear": kernels.linear_axis,
    "nearest": kernels.nearest_axis,
    "nearest_floor": kernels.nearest_floor_axis,
}
# Bytes of a pixel, and which of them each channel of the result is.
ORDERS = {
    "gray": (1, (0,)),
    "same": (3, (0, 1, 2)),
    "swapped": (3, (2, 1, 0)),
    "green": (3, (1,)),
    "alpha dropped": (4, (2, 1, 0)),
    "four": (4, (2, 1, 0, 3)),
    "gray as three": (1, (0, 0, 0)),
    "two": (2, (1, 0)),
}


def resize_of(
    order: str, size_wh: tuple[int, int], result_wh: tuple[int, int], interpolation: str = "linear"
) -> PictureResize:
    step, starts = ORDERS[order]
    components = tuple(ComponentSamples(0, start, step) for start in starts)
    axes = tuple(AXES[interpolation](n, m, i == 1) for i, (n, m) in enumerate(zip(size_wh, result_wh)))
    return PictureResize(components, None, size_wh, ((axes[0], axes[1]),), True, (), len(starts))


def expected_of(order: str, frame: np.ndarray, result_wh: tuple[int, int], interpolation: str = "linear") -> np.ndarray:
    return METHODS[interpolation](frame[..., ORDERS[order][1]], result_wh)


def frame_of(rng: np.random.Generator, order: str, size_wh: tuple[int, int], slack: int = 0) -> np.ndarray:
    """Return pixels of noise with `slack` bytes between their rows."""
    step, (width, height) = ORDERS[order][0], size_wh
    return rng.integers(0, 256, (height, width * step + slack), np.uint8)[:, : width * step].reshape(
        height, width, step
    )


def view_of(rng: np.random.Generator, order: str, size_wh: tuple[int, int], slack: int) -> np.ndarray:
    """Return such pixels as a view: reshaping one with slack would copy it."""
    step, (width, height) = ORDERS[order][0], size_wh
    rows = rng.integers(0, 256, (height, width * step + slack), np.uint8)
    return np.lib.stride_tricks.as_strided(rows, (height, width, step), (rows.strides[0], step, 1))


def written(writer: Any, resize: PictureResize, frame: np.ndarray) -> np.ndarray:
    """Return the rows, which are written between bytes that stay as they are."""
    along, down = resize.axes[0]
    n, row = len(down.first), len(along.first) * resize.depth
    room = np.full((n, row + 7), 77, np.uint8)
    out = np.lib.stride_tricks.as_strided(room[:, 3:], (n, len(along.first), resize.depth), (row + 7, resize.depth, 1))
    writer.write((frame,), out)
    assert (room[:, :3] == 77).all() and (room[:, -4:] == 77).all()
    return out


def compare(rng: np.random.Generator, order: str, size_wh: Any, result_wh: Any, interpolation: str, slack: int) -> None:
    frame = view_of(rng, order, size_wh, slack)
    resize = resize_of(order, size_wh, result_wh, interpolation)
    expected = expected_of(order, frame, result_wh, interpolation)
    for name, writer in writers(resize):
        got = written(writer, resize, frame)
        np.testing.assert_array_equal(got, expected, f"{name} {order} {interpolation} {size_wh} to {result_wh}")


SCALES = (0.3, 0.5, 0.7, 1, 1.2, 1.49, 1.5, 1.8, 2, 2.2, 2.9, 3, 3.7, 4, 5, 6, 7.5, 8, 10.3, 13, 21, 33)


@pytest.mark.parametrize("interpolation", ["linear", "nearest", "nearest_floor"])
@pytest.mark.parametrize("order", list(ORDERS))
def test_scales_and_widths(order: str, interpolation: str) -> None:
    """Every way to gather: from enlarging to windows that no vector covers, rows of part of a vector and more."""
    rng = np.random.default_rng(3)
    for i, (scale, width) in enumerate(itertools.product(SCALES, (1, 2, 5, 11, 16, 21, 22, 43, 64, 86, 200))):
        down = SCALES[(i * 7) % len(SCALES)] if i % 3 else scale
        size_wh = max(1, round(scale * width)), max(1, round(down * 5))
        compare(rng, order, size_wh, (width, 5), interpolation, (0, 1, 29, 64)[i % 4])


@pytest.mark.parametrize("order", list(ORDERS))
def test_boxes(order: str) -> None:
    """Means of every box up to 16 by 16, for rows of part of a vector and more."""
    rng = np.random.default_rng(5)
    for i, (across, down) in enumerate(itertools.product((1, 2, 3, 4, 5, 7, 8, 11, 16), repeat=2)):
        width, height = (1, 3, 21, 43, 70, 133)[i % 6], (1, 4)[i % 2]
        compare(rng, order, (width * across, height * down), (width, height), "area", (0, 1, 29)[i % 3])


def test_boxes_of_the_largest_values() -> None:
    frame = np.full((32, 48, 3), 255, np.uint8)
    resize = resize_of("same", (48, 32), (3, 2), "area")
    for name, writer in writers(resize):
        assert (written(writer, resize, frame) == 255).all(), name


def test_boxes_equal_opencv() -> None:
    rng = np.random.default_rng(23)
    for i in range(120):
        across, down = (int(n) for n in rng.integers(1, 9, 2)) if i % 2 else (1 + i % 8,) * 2
        width, height = (int(n) for n in rng.integers(1, 40, 2))
        order = ("gray", "same", "four")[i % 3]
        frame = frame_of(rng, order, (width * across, height * down))
        made = cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA).reshape(height, width, -1)
        expected = expected_of(order, frame, (width, height), "area")
        np.testing.assert_array_equal(expected, made[..., ORDERS[order][1]], f"{across} {down} {width} {height}")


def test_what_is_no_whole_box() -> None:
    assert kernels.area_axis(10, 3) is None and kernels.area_axis(3, 10) is None and kernels.area_axis(17, 1) is None
    assert kernels.area_axis(10, 5).mean and kernels.area_axis(10, 10).box == 1


def random_sizes(rng: np.random.Generator, most: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the sizes of a picture and of its result, of at most a million pixels together; sides up to `most`."""
    while True:
        w, h, ow, oh = (int(2 ** rng.uniform(0, np.log2(most))) for _ in range(4))
        if w * h + ow * oh <= 1 << 20:
            break
    kind = rng.integers(8)
    if kind == 0:
        w, h = 2 * ow, 2 * oh
    elif kind == 1:
        w = 2 * ow
    elif kind == 2:
        w, h = 3 * ow, 3 * oh
    elif kind == 3:
        h = oh
    return (min(w, most), min(h, most)), (ow, oh)


def at_random(seed: int, count: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        size_wh, result_wh = random_sizes(rng, most)
        order, slack = str(rng.choice(list(ORDERS))), int(rng.integers(0, 100)) * int(rng.integers(2))
        compare(
            rng, order, size_wh, result_wh, str(rng.choice(["linear", "linear", "nearest", "nearest_floor"])), slack
        )


@pytest.mark.parametrize("seed", range(3))
def test_random_sizes(seed: int) -> None:
    at_random(seed, 80, 600)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_many_random_sizes(seed: int) -> None:
    at_random(seed, 150, 8192)


def test_equals_opencv_on_x86() -> None:
    """On Arm OpenCV's own resize differs from its reference arithmetic; nearest neighbours are the same everywhere."""
    rng = np.random.default_rng(17)
    flags = {
        "linear": cv2.INTER_LINEAR,
        "nearest": cv2.INTER_NEAREST_EXACT,
        "nearest_floor": cv2.INTER_NEAREST,
    }
    picture = frame_of(rng, "same", (53, 37))
    reference = (cv2.resize(picture, (31, 23)) == METHODS["linear"](picture, (31, 23))).all()
    for i in range(200):
        size_wh, result_wh = random_sizes(rng, 400)
        order, interpolation = ("gray", "same", "four")[i % 3], list(flags)[i % 5 if i % 5 < 3 else 0]
        if (interpolation == "linear" and not reference) or (interpolation == "nearest" and cv2.__version__ < "5"):
            continue
        frame = frame_of(rng, order, size_wh)
        made = cv2.resize(frame, result_wh, interpolation=flags[interpolation])
        result = made.reshape(*result_wh[::-1], -1)[..., ORDERS[order][1]]
        resize = resize_of(order, size_wh, result_wh, interpolation)
        np.testing.assert_array_equal(expected_of(order, frame, result_wh, interpolation), result)
        for name, writer in writers(resize):
            np.testing.assert_array_equal(written(writer, resize, frame), result, f"{name} {size_wh} {result_wh}")


@pytest.mark.parametrize("order", ["gray", "swapped", "four", "alpha dropped", "gray as three"])
def test_nothing_beyond_the_pixels_is_touched(order: str, fences: tuple[Fenced, Fenced]) -> None:
    rng = np.random.default_rng(11)
    for scale, width, interpolation in itertools.product(
        (0.7, 1, 1.3, 2, 2.5, 3, 4.7, 6, 12, 30), (1, 2, 5, 8, 17, 33, 64, 101), ("linear", "nearest", "area")
    ):
        if interpolation == "area" and (scale < 1 or scale > 16 or scale % 1):
            continue
        size_wh = max(1, int(scale * width)), max(1, int(scale * 2))
        resize = resize_of(order, size_wh, (width, 2), interpolation)
        frame = frame_of(rng, order, size_wh)
        expected = expected_of(order, frame, (width, 2), interpolation)
        for source, target in ((fences[0].first, fences[1].first), (fences[0].last, fences[1].last)):
            pixels = source(frame.size).reshape(frame.shape)
            pixels[...] = frame
            for name, writer in writers(resize):
                out = target(expected.size).reshape(expected.shape)
                out[...] = 0
                writer.write((pixels,), out)
                np.testing.assert_array_equal(out, expected, f"{name} {scale} {width} {interpolation}")


@pytest.mark.parametrize("interpolation", ["linear", "nearest", "nearest_floor"])
@pytest.mark.parametrize("step", [1, 2, 4])
def test_pixels_of_two_planes(step: int, interpolation: str, fences: tuple[Fenced, Fenced]) -> None:
    """Each with one of their two channels, and a pitch of its own; the second one ends at a fence."""
    rng = np.random.default_rng(step)
    for i, (scale, width) in enumerate(itertools.product(SCALES, (1, 2, 5, 16, 33, 64, 101, 1100))):
        down = SCALES[(i * 7) % len(SCALES)] if i % 3 else scale
        size_wh, result_wh = (max(1, round(scale * width)), max(1, round(down * 4))), (width, 4)
        if size_wh[0] > 3000:
            continue
        start = i % step
        first = view_of(rng, "gray", (size_wh[0] * step, size_wh[1]), i % 50)[..., 0]
        second = fences[0].last(first.size).reshape(first.shape)
        second[...] = rng.integers(0, 256, first.shape, np.uint8)
        components = ComponentSamples(0, start, step), ComponentSamples(1, start, step)
        resize = resize_of("two", size_wh, result_wh, interpolation)._replace(components=components)
        expected = METHODS[interpolation](np.stack([first, second], -1)[:, start::step], result_wh)
        for name, writer in writers(resize):
            out = fences[1].last(expected.size).reshape(expected.shape)
            out[...] = 0
            writer.write((first, second), out)
            np.testing.assert_array_equal(out, expected, f"{name} {step} {interpolation} {size_wh} {result_wh}")


@pytest.mark.parametrize("order", list(ORDERS))
def test_rows_of_half_the_height(order: str, fences: tuple[Fenced, Fenced]) -> None:
    """Means of two rows, as YUYV becomes NV12; the frame ends at a fence."""
    rng = np.random.default_rng(8)
    for width in (1, 2, 3, 7, 8, 21, 43, 64, 65, 130, 700):
        frame = frame_of(rng, order, (width, 6))
        pixels = fences[0].last(frame.size).reshape(frame.shape)
        pixels[...] = frame
        two = frame[..., ORDERS[order][1]].astype(np.uint16)
        resize = resize_of(order, (width, 6), (width, 3))
        for name, writer in writers(resize):
            out = fences[1].last(3 * width * resize.depth).reshape(3, width, resize.depth)
            out[...] = 0
            writer.write((pixels,), out)
            np.testing.assert_array_equal(out, (two[::2] + two[1::2] + 1) // 2, f"{name} {width}")


def test_every_weight_and_value() -> None:
    """All 2048 weights along a row, and all pairs of values: the split of weights into two bytes is exact."""
    size = 2049  # 2048 places between the first pixels, a different weight at each
    values = np.random.default_rng(1).integers(0, 256, (4, 3 * size), np.uint8)
    values[0], values[1, ::2], values[1, 1::2] = 255, 0, 255
    frame = values.reshape(4, size, 3)
    for result_wh in ((2048, 5), (2048, 4), (1999, 4), (4096, 7), (4099, 3)):
        for order in ("same", "swapped"):
            resize = resize_of(order, (size, 4), result_wh)
            expected = expected_of(order, frame, result_wh)
            for name, writer in writers(resize):
                np.testing.assert_array_equal(written(writer, resize, frame), expected, name)


def test_weights_whose_sum_is_one_off() -> None:
    """Both are rounded, and far out in a row that is enlarged float32 is so coarse that their sum is 2047 or 2049."""
    for size, results in ((17, 5775), (1, 7095), (2, 7267)):
        sums = kernels.linear_axis(size, results, True).weights.sum(1)
        assert set(sums) - {2048} and abs(sums.astype(int) - 2048).max() == 1
        for size_wh, result_wh in (((size, 3), (results, 4)), ((5, size), (3, results))):
            compare(np.random.default_rng(3), "same", size_wh, result_wh, "linear", 0)


def test_frames_may_be_flipped_and_read_only() -> None:
    rng = np.random.default_rng(2)
    frame = frame_of(rng, "same", (90, 41))
    flipped = np.ascontiguousarray(frame[::-1])[::-1]
    flipped.flags.writeable = False
    resize = resize_of("same", (90, 41), (31, 17))
    for name, writer in writers(resize):
        np.testing.assert_array_equal(written(writer, resize, flipped), expected_of("same", frame, (31, 17)), name)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_does_not_fit_is_refused(backend: str) -> None:
    resize = resize_of("same", (20, 10), (8, 4))
    writer, frame, out = (
        kernels.picture_rows(resize, backend),
        np.zeros((10, 20, 3), np.uint8),
        np.zeros((4, 8, 3), np.uint8),
    )
    for planes, result, message in (
        ((frame, frame), out, "planes: expected 1, got 2"),
        ((frame[:9],), out, "plane 0: expected at least 10 rows of 60 bytes, got 9 rows of 60 bytes"),
        ((frame[:, :19],), out, "plane 0: expected at least 10 rows of 60 bytes, got 10 rows of 57 bytes"),
        ((frame,), out[:3], r"out: expected bytes of shape \(4, 8, 3\)"),
        ((frame,), out.transpose(2, 0, 1), r"out: expected bytes of shape \(4, 8, 3\)"),
        ((frame,), np.zeros((4, 16, 3), np.uint8)[:, ::2], "neighbours"),
    ):
        with pytest.raises(ValueError, match=message):
            writer.write(planes, result)
    big = np.zeros((30, 20, 3), np.uint8)
    with pytest.raises(ValueError, match="overlap"):
        writer.write((big[:10],), big.reshape(-1)[500:596].reshape(4, 8, 3))
    assert not out.any()


@pytest.mark.skipif(not NATIVE, reason="no compiled kernels")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"components": ()}, "up to 4"),
        ({"components": (ComponentSamples(0, 0, 3),) * 5, "depth": 5}, "up to 4"),
        ({"components": (ComponentSamples(0, 0, 5),), "depth": 1}, "up to 4 bytes"),
        ({"components": (ComponentSamples(0, 3, 3),), "depth": 1}, "packed pixels"),
        ({"components": (ComponentSamples(1, 0, 3),), "depth": 1}, "packed pixels"),
        ({"components": (ComponentSamples(0, 0, 3), ComponentSamples(0, 1, 4)), "depth": 2}, "packed pixels"),
        ({"components": (ComponentSamples(0, 0, 3), ComponentSamples(2, 0, 3)), "depth": 2}, "two of two"),
        ({"components": (ComponentSamples(1, 0, 3), ComponentSamples(0, 0, 3)), "depth": 2}, "two of two"),
        ({"components": (ComponentSamples(0, 0, 3), ComponentSamples(1, 0, 2)), "depth": 2}, "two of two"),
        (
            {
                "components": (ComponentSamples(0, 0, 3), ComponentSamples(1, 0, 3), ComponentSamples(1, 1, 3)),
                "depth": 3,
            },
            "two of two",
        ),
        ({"depth": 4}, "as many as components"),
        ({"size_wh": (21, 10)}, "as many elements"),
        ({"size_wh": (0, 10)}, "size"),
    ],
)
def test_the_core_checks_what_it_is_given(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        native.picture_rows(resize_of("same", (20, 10), (8, 4))._replace(**changes))


@pytest.mark.skipif(not NATIVE, reason="no compiled kernels")
def test_packed_pixels_have_one_pair_of_axes() -> None:
    """Nothing is resized as planes, whatever the description says."""
    resize = resize_of("four", (20, 10), (8, 4))
    frame = frame_of(np.random.default_rng(4), "four", (20, 10))
    got = written(native.picture_rows(resize._replace(exact=False)), resize, frame)
    np.testing.assert_array_equal(got, expected_of("four", frame, (8, 4)))


@pytest.mark.parametrize("order", ["same", "swapped", "alpha dropped", "four"])
def test_the_second_element_behind_the_last_one_is_the_last_one(order: str) -> None:
    """However far results are from each other, and whatever the weights."""
    frame, down = frame_of(np.random.default_rng(6), order, (400, 9)), kernels.linear_axis(9, 3, down=True)
    first = np.array([399, 0, 399, 40, 398, 399, 200, 399], np.int32)
    weights = np.tile(np.array([[700, 1348], [2047, 1]], np.uint16), (4, 1))
    axes = ((kernels.Axis(400, first, weights), down),)
    resize = resize_of(order, (400, 9), (8, 3))._replace(axes=axes)
    expected = written(kernels.picture_rows(resize, "numpy"), resize, frame)
    for name, writer in writers(resize):
        np.testing.assert_array_equal(written(writer, resize, frame), expected, name)


@pytest.mark.skipif(not NATIVE, reason="no compiled kernels")
def test_numbers_of_a_fit_that_overflow_are_refused() -> None:
    most, rows, border = (1 << 63) - 1, native.picture_rows(resize_of("same", (8, 6), (8, 6))), bytes(3)
    for sizes, size, count, pitch in (
        ((8, 6, most, 0), 144, 6, 24),
        ((8, 6, 0, most), 144, 6, 24),
        ((most, 6, 0, 0), 144, 6, 24),
        ((8, 6, 0, 0), most, 6, 24),
        ((8, 6, 0, 0), 144, most, 24),
        ((8, 6, 0, 0), 144, 6, most),
    ):
        with pytest.raises(ValueError, match="fit: sizes"):
            native._native.Fit(rows, sizes, border, False, size, count, pitch, None, None)
    fit = native._native.Fit(rows, (8, 6, 0, 0), border, False, 144, 6, 24, None, None)
    frame, out = np.ones((6, 24), np.uint8), np.zeros(144, np.uint8)
    for offset, place in (
        (most, (0, 24)),
        (-1, (0, 24)),
        *((0, odd) for odd in ((most, 24), (-most - 1, 24), (0, most), (0, -most - 1), (1, 24), (0, 25), (0, -1))),
    ):
        assert not fit.run_in(out, offset, frame, (place,)) and not out.any()
    assert not fit.run_in(out, 0, frame[:, :0], ((0, 24),)) and not fit.run_in(out, 0, frame[::-1, :0], ((-23, 0),))
    assert fit.run_in(out, 0, frame, ((0, 24),)) and out.all()
    out[:] = 0
    for frames, places in (
        ((), ()),
        ((), ((0, 24),)),
        ((frame,), ()),
        ((frame,), ((0, 24), (0, 24))),
        ((frame,), ((0, 25),)),
        ((frame,), ((1, 24),)),
        ((frame, out[100:]), ((0, 24),)),
        ((None,), ((0, 24),)),
        ((frame, None), ((0, 24),)),
        ((frame,), (None,)),
        ((frame[::-1],), ((0, 24),)),
        ((frame,) * 4, ((0, 24),)),
    ):
        assert not fit.run_in(out, 0, frames, places) and not out.any()
    assert fit.run_in(out, 0, (frame, frame[:0]), ((0, 24),)) and out.all()


@pytest.mark.skipif(not NATIVE, reason="no compiled kernels")
def test_axes_that_are_not_aligned_or_too_heavy_are_refused() -> None:
    resize = resize_of("same", (20, 10), (8, 4))
    (along, down), given = resize.axes[0], ("base", False, resize.components, resize.size_wh)
    memory = np.zeros(33, np.uint8)
    memory[1:] = along.first.view(np.uint8)
    heavy = along.weights.copy()
    heavy[2] = 2049, 0
    for first, weights, message in ((memory[1:], along.weights, "first"), (along.first, heavy, "2048")):
        axes = (((first, weights, 20, 8, 0, 20), (down.first, down.weights, 10, 4, 0, 10), 0),)
        with pytest.raises(ValueError, match=message):
            native._native.PictureRows(*given, axes, True, None, (), 3, (0, 0, 0, 1, 1), ())


@pytest.mark.skipif(not NATIVE, reason="no compiled kernels")
def test_fits_that_do_not_fit_write_nothing() -> None:
    """One of two that run by turns is enough."""
    rows = native.picture_rows(resize_of("gray", (8, 6), (8, 6)))
    fit = native._native.Fit(rows, (8, 6, 0, 0), bytes(1), False, 48, 6, 8, None, None)
    frame, out = np.ones((6, 8), np.uint8), np.zeros(96, np.uint8)
    good, most = (fit, 0, ((0, 0, 8),)), (1 << 63) - 1
    for other in (
        (fit, 49, ((0, 0, 8),)),
        (fit, -1, ((0, 0, 8),)),
        (fit, 48, ((1, 0, 8),)),
        (fit, 48, ((-1, 0, 8),)),
        (fit, 48, ((most, 0, 8),)),
        (fit, 48, ((0, 1, 8),)),
        (fit, 48, ((0, 0, most),)),
        (fit, 48, ()),
        (fit, 48, ((0, 0, 8),) * 2),
        (fit, 48, (None,)),
        (rows, 48, ((0, 0, 8),)),
        (fit, 48),
        None,
    ):
        assert not kernels.run_fits((good, other), out, frame) and not out.any()
    for frames in ((), (frame,) * 4, (out[48:].reshape(6, 8),), (frame, out), None, (None,)):
        assert not kernels.run_fits((good,), out, frames) and not out.any()
    for steps in ((), (good,) * 4, None):
        with pytest.raises(TypeError, match="1 to 3 steps"):
            kernels.run_fits(steps, out, frame)  # type: ignore[arg-type]
    assert kernels.run_fits((good, (fit, 48, ((1, 40, -8),))), out, (frame, 2 * frame))
    assert (out[:48] == 1).all() and (out[48:] == 2).all()
