"""Y, U and V of pixels: every backend against loops over pixels, between pages that cannot be touched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from npu_layout import kernels
from npu_layout.kernels import YuvSamples
from tests.support.kernel_walks import BACKENDS
from tests.support.memory import Fenced

# Weights of B, G and R, and what is added: of limited BT.601, and some whose sums leave 0..255 on both sides.
LIMITED = (((102760, 528482, 269484), 16), ((460324, -305135, -155188), 128), ((-74448, -385875, 460324), 128))
WIDE = (((700000, 600000, 500000), 0), ((-900000, 900001, -63), 128), ((1, -1, 64), 0))
#: Steps of U and V, and pixels across and down that share them: planes, pairs of UV and of VU, and 4:4:4.
FORMS = {"planes": (1, 2, 2), "pairs": (2, 2, 2), "swapped": (2, 2, 2), "444": (1, 1, 1), "pairs of 444": (2, 1, 1)}

SIZES = ((1, 1), (2, 3), (7, 5), (31, 2), (33, 2), (64, 1), (65, 2), (127, 3), (129, 1), (257, 2), (300, 4))


def samples_of(form: str, size_wh: tuple[int, int], gap: int, weights: Any) -> tuple[list[YuvSamples], int]:
    """Return where the samples go, and the bytes of the buffer."""
    step, across, down = FORMS[form]
    width, height = size_wh
    columns, rows = -(-width // across), -(-height // down)
    pitch = columns * step + gap
    first = (width + gap) * height
    places = [first, first + 1] if step == 2 else [first, first + pitch * rows]
    if form == "swapped":
        places.reverse()
    end = max(places) + (rows - 1) * pitch + (columns - 1) * step + 1
    (y, u, v), one = weights, 1 << 20
    made = [YuvSamples(0, width + gap, 1, 1, 1, y[0], y[1] * one + one // 2)]
    for place, (factors, add) in zip(places, (u, v)):
        made.append(YuvSamples(place, pitch, step, across, down, factors, add * one + one // 2))
    return made, end


def expected_of(pixels: np.ndarray, samples: list[YuvSamples], size: int) -> np.ndarray:
    out = np.full(size, 99, np.uint8)
    for s in samples:
        for y in range(0, pixels.shape[1], s.every_y):
            for x in range(0, pixels.shape[2], s.every_x):
                total = sum(int(p) * w for p, w in zip(pixels[:, y, x], s.weights)) + s.add
                out[s.offset + y // s.every_y * s.pitch + x // s.every_x * s.step] = min(max(total >> 20, 0), 255)
    return out


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weights", [LIMITED, WIDE])
def test_samples_are_those_of_loops_over_pixels(form: str, weights: Any) -> None:
    rng = np.random.default_rng(1)
    room, result = Fenced(3 * 300 * 8), Fenced(8 * 300 * 8)
    for width, height in (
        (1, 1),
        (2, 3),
        (7, 5),
        (31, 2),
        (33, 2),
        (64, 1),
        (65, 2),
        (127, 3),
        (129, 1),
        (257, 2),
        (300, 4),
    ):
        given = rng.integers(0, 256, (3, height, width), np.uint8)
        given[:, :, -1], given[0, 0, 0] = 255, 0
        pixels = room.last(given.size).reshape(given.shape)
        pixels[...] = given
        for gap in (0, 5):
            samples, size = samples_of(form, (width, height), gap, weights)
            expected = expected_of(given, samples, size)
            for backend in BACKENDS:
                out = result.last(size)
                out[...] = 99
                kernels.to_yuv(pixels, out, samples, backend)
                np.testing.assert_array_equal(out, expected, f"{backend} {width}x{height}")


@pytest.mark.parametrize("threads", [1, 2])
def test_long_rows_and_threads(threads: int) -> None:
    """More samples than are joined at a time, and rows of several threads."""
    before = kernels.get_num_threads()
    pixels = np.random.default_rng(2).integers(0, 256, (3, 301, 2051), np.uint8)
    samples, size = samples_of("swapped", (2051, 301), 3, LIMITED)
    results = []
    try:
        kernels.set_num_threads(threads)
        for backend in BACKENDS:
            results.append(np.full(size, 99, np.uint8))
            kernels.to_yuv(pixels, results[-1], samples, backend)
    finally:
        kernels.set_num_threads(before)
    for out in results[:-1]:
        np.testing.assert_array_equal(out, results[-1])


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_does_not_fit_is_refused_and_nothing_is_written(backend: str) -> None:
    pixels = np.zeros((3, 4, 6), np.uint8)
    samples, size = samples_of("planes", (6, 4), 0, LIMITED)
    wrong = {
        "short": (pixels, size - 1, samples),
        "before the buffer": (pixels, size, [samples[0]._replace(offset=-1), *samples[1:]]),
        "mirrored": (pixels, size, [samples[0]._replace(pitch=-6), *samples[1:]]),
        "two channels": (pixels[:2], size, samples),
        "words": (pixels.astype(np.uint16), size, samples),
    }
    for what, (given, room, places) in wrong.items():
        out = np.full(room, 99, np.uint8)
        with pytest.raises(ValueError, match="do not fit"):
            kernels.to_yuv(given, out, places, backend)
        assert (out == 99).all(), what
    memory = np.full(3 * 4 * 6, 99, np.uint8)
    with pytest.raises(ValueError, match="do not fit"):
        kernels.to_yuv(memory.reshape(3, 4, 6), memory, samples, backend)
    assert (memory == 99).all()
