"""Sums by row and by column: every backend has the bits of additions one by one, and is near the exact sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from npu_layout import kernels
from tests.support.memory import Fenced

SHAPES = [
    (1, 1, 1), (1, 1, 3), (1, 3, 4), (2, 5, 7), (1, 2, 255), (1, 4, 256), (3, 2, 257), (1, 5, 261), (2, 1, 1027),
    (1, 300, 5), (1, 70, 520), (1, 1, 70000), (4, 90, 1), (1, 1200, 85), (2, 2, 511), (1, 2, 509), (1, 300, 766),
]  # fmt: skip


#: What is added up or compared, of one number of the device, of the model, and of what was before.
TERMS: dict[str, Callable[[float, float, float], float]] = {
    "model": lambda d, m, b: m, "device": lambda d, m, b: d, "squares": lambda d, m, b: m * m,
    "products": lambda d, m, b: m * d, "error": lambda d, m, b: (d - m) * (d - m),
    "device_squares": lambda d, m, b: d * d, "low": lambda d, m, b: m, "device_low": lambda d, m, b: d,
    "high": lambda d, m, b: m, "device_high": lambda d, m, b: d, "largest": lambda d, m, b: (d - m) * (d - m),
    "change_squares": lambda d, m, b: (m - b) * (m - b), "change_products": lambda d, m, b: (m - b) * (d - b),
}  # fmt: skip


def joined(name: str, numbers: list[float]) -> float:
    """One by one, in their order."""
    if name in ("low", "device_low"):
        return min(numbers, default=math.inf)
    if name in ("high", "device_high"):
        return max(numbers, default=-math.inf)
    if name == "largest":
        return max([0.0, *numbers])
    total = 0.0
    for x in numbers:
        total += x
    return total


def in_order(name: str, values: list[list[float]]) -> float:
    """A row of several matrices: tile after tile, matrix after matrix, four partial sums each."""
    columns, tiles = len(values[0]) if values else 0, []
    for first in range(0, columns, 256):
        parts = [[row[first : first + 256][lane::4] for lane in range(4)] for row in values]
        of_matrices = []
        for lanes in parts:
            a, b, c, d = (joined(name, lane) for lane in lanes)
            of_matrices.append(joined(name, [joined(name, [a, b]), joined(name, [c, d])]))
        tiles.append(joined(name, of_matrices))
    return joined(name, tiles)


def numbers(shape: tuple[int, ...], dtype: type, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, *shape])
    model = (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4, shape)).astype(dtype)
    before = rng.standard_normal(shape).astype(dtype)
    return (model + 0.1 * rng.standard_normal(shape)).astype(dtype), model, before


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [s for s in SHAPES if np.prod(s) < 3000], ids=str)
def test_bits_are_those_of_the_documented_order(shape: tuple[int, int, int], dtype: type) -> None:
    device, model, before = numbers(shape, dtype)
    of = [x.astype(float).tolist() for x in (device, model, before)]
    count, rows, columns = shape
    matrices = range(count)
    wanted = [
        [in_order(name, [[*map(term, *(x[a][r] for x in of))] for a in matrices]) for r in range(rows)]
        for name, term in ((name, TERMS[name]) for name in kernels.BY_ROW)
    ]
    down = [[[*zip(*x[a])] for a in matrices] for x in of]
    wanted_down = [
        [[joined(name, [*map(term, *(x[a][c] for x in down))]) for c in range(columns)] for a in matrices]
        for name, term in ((name, TERMS[name]) for name in kernels.BY_COLUMN)
    ]
    for backend in kernels.backends():
        by_row, by_column = kernels.sums(device, model, before, backend)
        assert by_row.shape == (13, rows) and by_column.shape == (11, count, columns)
        for k, name in enumerate(kernels.BY_ROW):
            for r in range(rows):
                assert by_row[k, r] == wanted[k][r], (backend, name, r)
        for k, name in enumerate(kernels.BY_COLUMN):
            for a, c in np.ndindex(count, columns):
                assert by_column[k, a, c] == wanted_down[k][a][c], (backend, name, a, c)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_backend_has_the_same_bits(shape: tuple[int, int, int], dtype: type) -> None:
    arrays = numbers(shape, dtype, 1)
    for given in (arrays, (*arrays[:2], None)):
        expected = kernels.sums(*given, backend="numpy")
        for backend in kernels.backends():
            for have, wanted in zip(kernels.sums(*given, backend=backend), expected):
                assert np.array_equal(have, wanted), backend
        if given[2] is None:
            assert not expected[0][11:].any()


def ways(x: np.ndarray) -> Iterator[np.ndarray]:
    """The same numbers with other strides, and from other addresses."""
    yield np.asfortranarray(x)
    yield np.repeat(x, 2, axis=2)[:, :, ::2]
    yield np.ascontiguousarray(x[:, :, ::-1])[:, :, ::-1]
    yield np.ascontiguousarray(x[:, ::-1])[:, ::-1]
    yield np.ascontiguousarray(x.transpose(2, 0, 1)).transpose(1, 2, 0)
    memory = np.zeros(x.nbytes + 1, np.uint8)
    memory[1:] = x.reshape(-1).view(np.uint8)
    yield memory[1:].view(x.dtype).reshape(x.shape)


@pytest.mark.parametrize("backend", kernels.backends())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_strides_change_nothing(dtype: type, backend: str) -> None:
    for shape in ((2, 3, 5), (1, 7, 600), (3, 40, 1)):
        arrays = numbers(shape, dtype, 2)
        expected = kernels.sums(*arrays, backend=backend)
        for given in zip(*(ways(x) for x in arrays)):
            for have, wanted in zip(kernels.sums(*given, backend=backend), expected):
                assert np.array_equal(have, wanted)


@pytest.mark.parametrize("backend", kernels.backends())
def test_sums_are_near_the_exact_ones(backend: str) -> None:
    device, model, before = numbers((2, 9, 700), np.float32, 3)
    by_row, by_column = kernels.sums(device, model, before, backend)
    of = [x.astype(float) for x in (device, model, before)]
    for k, name in enumerate(kernels.BY_ROW):
        if name in ("low", "device_low", "high", "device_high", "largest"):
            continue
        for r in range(9):
            values = [*map(TERMS[name], *(x[:, r].ravel().tolist() for x in of))]
            assert abs(by_row[k, r] - math.fsum(values)) <= 1e-13 * math.fsum(map(abs, values))
    assert math.isclose(by_column[2].sum(), math.fsum((of[1] ** 2).ravel()), rel_tol=1e-13)


@pytest.mark.parametrize("backend", kernels.backends())
def test_nothing_beyond_the_arrays_is_read(backend: str) -> None:
    fenced = [Fenced(1 << 16) for _ in range(3)]
    for columns in (1, 2, 3, 5, 31, 255, 257, 514):
        arrays = numbers((1, 3, columns), np.float32, 4)
        for place in ("first", "last"):
            given = []
            for fence, x in zip(fenced, arrays):
                view = getattr(fence, place)(x.nbytes).view(np.float32).reshape(x.shape)
                view[...] = x
                given.append(view)
            for have, wanted in zip(kernels.sums(*given, backend=backend), kernels.sums(*arrays, backend="numpy")):
                assert np.array_equal(have, wanted)


@pytest.mark.parametrize("backend", kernels.backends())
@pytest.mark.parametrize("shape", [(0, 2, 3), (2, 0, 3), (2, 3, 0), (0, 0, 0)], ids=str)
def test_sums_of_nothing(shape: tuple[int, int, int], backend: str) -> None:
    x = np.zeros(shape, np.float32)
    for found in kernels.sums(x, x, x, backend):
        assert not found[[0, 1, 2, 3, 4, 5, 10]].any()
        assert np.array_equal(found[6:8], np.full_like(found[6:8], np.inf))
        assert np.array_equal(found[8:10], np.full_like(found[8:10], -np.inf))


@pytest.mark.parametrize("backend", kernels.backends())
def test_numbers_of_other_dtypes_are_converted(backend: str) -> None:
    for dtypes in ((np.float16, np.float32), (np.int8, np.int8), (np.float32, np.float64), (">f4", "<f4")):
        device, model = (np.arange(6).reshape(1, 2, 3).astype(dtype) for dtype in dtypes)
        by_row, _ = kernels.sums(device, model, backend=backend)
        assert by_row[0].tolist() == [3, 12] and by_row[2].tolist() == [5, 50]


@pytest.mark.parametrize("backend", kernels.backends())
def test_a_zero_has_no_sign(backend: str) -> None:
    zeros = np.full((1, 2, 3), -0.0, np.float32)
    for found in kernels.sums(zeros, zeros, zeros, backend):
        assert not np.signbit(found).any()


@pytest.mark.parametrize("backend", kernels.backends())
def test_arrays_of_other_shapes_are_refused(backend: str) -> None:
    x = np.zeros((1, 2, 3), np.float32)
    for arrays in ((x, x[:, :1]), (x[0], x[0]), (x, x, x[:, :, 1:])):
        with pytest.raises(ValueError, match="expected one shape of three axes, got"):
            kernels.sums(*arrays, backend=backend)


def test_threads_change_no_bit() -> None:
    arrays = numbers((1, 60, 6000), np.float32, 5)
    found = []
    for threads in (1, 2, 4):
        before = kernels.get_num_threads()
        kernels.set_num_threads(threads)
        try:
            found.append(kernels.sums(*arrays))
        finally:
            kernels.set_num_threads(before)
    for have in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(have, found[0]))
