"""Grayscale, at every instruction set, against its rule in integers: widths, steps, fences."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from npu_layout import kernels
from npu_layout.kernels.choice import LEVELS
from tests.support.arrays import assert_same
from tests.support.kernel_walks import BACKENDS, NATIVE
from tests.support.memory import Fenced

if NATIVE:
    from npu_layout.kernels import native

LEAST = 1 << 18  # bytes of a result that may be stored past the caches (cold.c)
GRAYS = {"gray": ("uint8",), "gray wide": ("uint16", "float32")}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("path, dtype", [(path, dtype) for path, dtypes in GRAYS.items() for dtype in dtypes])
def test_gray_of_every_width_between_fences(path: str, dtype: str, backend: str, fences: tuple[Fenced, Fenced]) -> None:
    rng, level = np.random.default_rng(3), LEVELS[backend]
    size = np.dtype(dtype).itemsize
    for n, pixel in itertools.product((*range(1, 140), 1025, 2051), (1, 3, 4, 5, 16)):
        for places in ([fence.first for fence in fences], [fence.last for fence in fences]):
            image = places[0](3 * n * pixel * size if pixel == 1 else ((n - 1) * pixel + 3) * size).view(dtype)
            image[:] = rng.integers(0, 256, image.size) if dtype != "float32" else rng.random(image.size)
            step = image.itemsize * pixel
            planes = [
                np.lib.stride_tricks.as_strided(image[c * (n if pixel == 1 else 1) :], (n,), (step,)) for c in range(3)
            ]
            out = places[1](n * size).view(dtype)
            out[:] = 77
            if level is None:
                kernels.gray(*planes, out, backend=backend)
            else:
                assert native.gray(*planes, out, level).name == path
            if dtype == "float32":
                b, g, r = planes
                expected = b * np.float32(0.114) + g * np.float32(0.587) + r * np.float32(0.299)
                np.testing.assert_allclose(out, expected, rtol=1e-6)
            else:
                b, g, r = (p.astype(np.uint64) for p in planes)
                assert_same(out, (3735 * b + 19235 * g + 9798 * r + (1 << 14)) >> 15)


def ruled(planes: np.ndarray) -> np.ndarray:
    """The rule, in integers or in float32: one operation after the other."""
    b, g, r = planes
    if planes.dtype == np.float32:
        return b * np.float32(0.114) + g * np.float32(0.587) + r * np.float32(0.299)
    b, g, r = (p.astype(np.uint64) for p in planes)
    return ((3735 * b + 19235 * g + 9798 * r + (1 << 14)) >> 15).astype(planes.dtype)


@pytest.fixture
def no_cache() -> Iterator[None]:
    """Every buffer is in no cache."""
    if not NATIVE:
        pytest.skip("the compiled kernels are turned off")
    native._native.set_cached(0)
    yield
    native._native.set_cached(-1)


@pytest.mark.parametrize("channels", [1, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_gray_of_other_images_in_no_cache(dtype: str, channels: int, no_cache: None) -> None:
    """Past the caches from the second call on, from whichever byte on, in both orders of colours; 1 channel: planes."""
    size, n = np.dtype(dtype).itemsize, LEAST + 1013
    nbytes = max(channels, 3) * n * size
    image = Fenced(nbytes).last(nbytes).view(dtype)
    rng = np.random.default_rng(channels)
    image[:] = rng.integers(0, 256, image.size) if dtype != "float32" else rng.random(image.size)
    seen = image.reshape(3, n) if channels == 1 else image.reshape(n, channels).T[:3]
    fence = Fenced(n * size + 64)
    for backend, turned in itertools.product(NATIVE, (1, -1)):
        planes = seen[::turned]
        expected = ruled(np.ascontiguousarray(planes))
        for behind in (0, size, 16, 48):
            room = fence.last(n * size + behind)
            out = room[: n * size].view(dtype)
            made = kernels.gray_of((*planes, out), image, out, backend=backend)
            for call in range(3):
                room[:] = 0x37
                assert made.attempt(image, out)
                assert_same(out, expected, err_msg=f"{backend} {turned} {behind} {call}")
            assert (room[n * size :] == 0x37).all()


@pytest.mark.parametrize("rows, columns", [(300, 900), (300, 2000), (3, 100_000)])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_gray_of_rows_in_no_cache(dtype: str, rows: int, columns: int, no_cache: None) -> None:
    """Rows of the image have gaps behind them, so that each row of the result begins at another byte of a line."""
    image = (np.random.default_rng(rows).random((rows, columns + 7, 3)) * 255).astype(dtype)
    expected = ruled(np.ascontiguousarray(image[:, :columns].transpose(2, 0, 1)))
    views = [image[:, :columns, c] for c in range(3)]
    for backend in NATIVE:
        out = np.zeros((rows, columns), dtype)
        made = kernels.gray_of((*views, out), image, out, backend=backend)
        for _ in range(3):
            out[:] = 9
            assert made.attempt(image, out)
            assert_same(out, expected, err_msg=backend)


@pytest.mark.skipif(not NATIVE, reason="the compiled kernels are turned off")
def test_what_no_gray_is_made_of() -> None:
    image, out = np.arange(300, dtype=np.uint8).reshape(3, 100), np.zeros(100, np.uint8)
    made = kernels.gray_of((*image, out), image, out)
    for given, wanted in (
        (image[:, ::2], out),
        (image[:2], out),
        (image, out[:99]),
        (image, image[0]),
        (image.T, out),
        (image, np.broadcast_to(np.uint8(0), 100)),
        (image.tolist(), out),
    ):
        assert not made.attempt(given, wanted)
    assert not out.any() and (image == np.arange(300, dtype=np.uint8).reshape(3, 100)).all()
    other = image[::-1].copy()
    assert made.attempt(other, out)
    assert_same(out, ruled(other))
    for views, given in (((*image, out), other), ((*other, out), other[:2]), ((*other, out[:50]), other)):
        with pytest.raises(ValueError, match=r"not in its array|differ"):
            kernels.gray_of(views, given, out)
    with pytest.raises(TypeError, match="source and destination"):
        made.attempt(image)
