"""Grayscale, at every instruction set, against its rule in integers: widths, steps, fences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from npu_layout import kernels
from npu_layout.kernels.choice import LEVELS
from tests.support.kernel_walks import BACKENDS, NATIVE
from tests.support.memory import Fenced

if NATIVE:
    from npu_layout.kernels import native

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
                np.testing.assert_array_equal(out, (3735 * b + 19235 * g + 9798 * r + (1 << 14)) >> 15)
