"""Borders of whole rows and columns around a picture, found as a loop over the pixels finds them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from npu_layout.diagnosis.other_inputs.picture_borders import border_around

PAD = np.array([114.0, 20.0, 250.0])
HEIGHT, WIDTH = 9, 12


def slowly(pixels: np.ndarray, pad: np.ndarray) -> np.ndarray:
    """Return which pixels are in rows or columns that have the border's colour, from a side on."""
    found = np.zeros(pixels.shape[1:3], bool)
    for rows, columns in itertools.product(range(-HEIGHT, HEIGHT + 1), range(-WIDTH, WIDTH + 1)):
        some = np.zeros_like(found)
        some[slice(rows) if rows > 0 else slice(HEIGHT + rows, None)] = True
        some[:, slice(columns) if columns > 0 else slice(WIDTH + columns, None)] = True
        if all(abs(float(v) - p) < 1.5 for one in pixels for pixel in one[some] for v, p in zip(pixel, pad)):
            found |= some
    return found


@pytest.mark.parametrize("sides", [(0, 0, 0, 0), (2, 0, 0, 0), (0, 3, 0, 0), (0, 0, 1, 0), (0, 0, 0, 4), (2, 1, 3, 2)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_border_at_each_side(sides: tuple[int, int, int, int], dtype: type) -> None:
    top, bottom, left, right = sides
    rng = np.random.default_rng(0)
    pixels = rng.uniform(0, 255, (2, HEIGHT, WIDTH, 3))
    pixels[:, 4, 5] = PAD  # inside the picture it is no border
    inside = np.zeros((HEIGHT, WIDTH), bool)
    inside[top : HEIGHT - bottom, left : WIDTH - right] = True
    pixels[:, ~inside] = PAD + rng.uniform(-1.4, 1.4, pixels[:, ~inside].shape)
    planes = np.ascontiguousarray(np.moveaxis(pixels, 3, 1).astype(dtype))
    for given in (pixels.astype(dtype), np.moveaxis(planes, 1, 3)):
        found = border_around(given, PAD)
        if any(sides):
            assert found is not None
            assert np.array_equal(found, slowly(given, PAD))
            assert np.array_equal(found, ~inside)
        else:
            assert found is None


def test_all_pictures_have_it_and_not_only_it() -> None:
    pixels = np.broadcast_to(PAD, (2, HEIGHT, WIDTH, 3)).copy()
    assert border_around(pixels, PAD) is None
    pixels[:, 3:6] += 50
    assert border_around(pixels, PAD) is not None
    pixels[1] += 50
    assert border_around(pixels, PAD) is None


@pytest.mark.parametrize("channel", range(3))
def test_each_channel_has_its_colour(channel: int) -> None:
    pixels = np.random.default_rng(1).uniform(0, 255, (1, HEIGHT, WIDTH, 3))
    pixels[:, :2] = PAD
    assert border_around(pixels, PAD) is not None
    pixels[:, 0, 3, channel] += 1.6
    found = border_around(pixels, PAD)
    assert found is None or not found[0].any()
