"""The scan of a feature map for codes that pass, against numpy.argwhere over values, and descriptions that wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from npu_layout import kernels
from tests.support.memory import Fenced

COMPILED = [name for name in kernels.backends() if name != "numpy"]
pytestmark = pytest.mark.skipif(not COMPILED, reason="the compiled kernels were not built, or are turned off")
DTYPES = ("int8", "uint8", "int16", "uint16", "float16", "bfloat16", "float32")


def laid_out(rng: np.random.Generator, dtype: str, block: int) -> tuple[kernels.FeatureMap, np.ndarray, np.ndarray]:
    """Where elements are in blocks of channels, the buffer, and its values (C, H, W)."""
    whole = block * int(rng.integers(1, max(2, 96 // block + 1)))  # of which no lane is padding
    c, h, w = int(rng.choice([whole, rng.integers(1, 40)])), rng.integers(1, 9), rng.integers(1, 30)
    outer = -(-c // block)
    channel = np.arange(c)
    tables = (channel // block * (h * w * block) + channel % block, np.arange(h) * w * block, np.arange(w) * block)
    stored = np.dtype("uint16" if dtype == "bfloat16" else dtype)
    data = rng.integers(0, 256, outer * h * w * block * stored.itemsize, np.uint8).view(stored)
    place = tables[0][:, None, None] + tables[1][None, :, None] + tables[2]
    values = data[place]
    if dtype == "bfloat16":
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return kernels.FeatureMap(dtype, *tables), data, values.astype(np.float64)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("block", [1, 4, 16, 7, 32, 64, 83])
def test_every_level_finds_what_loops_find(dtype: str, block: int) -> None:
    rng = np.random.default_rng(block)
    for _ in range(20):
        with np.errstate(invalid="ignore"):
            made, data, values = laid_out(rng, dtype, block)
        bound = float(rng.choice(values[np.isfinite(values)])) if np.isfinite(values).any() else 0.0
        if dtype == "float32":
            least = kernels.least_float(bound)
        else:
            codes = {"int8": 128, "uint8": 0, "int16": 32768, "uint16": 0}.get(dtype)
            if codes is None:
                bits = int(np.float16(bound).view(np.uint16)) if dtype == "float16" else 0
                bits = int(np.float32(bound).view(np.uint32)) >> 16 if dtype == "bfloat16" else bits
                least = -(bits & 0x7FFF) if bits >> 15 else bits
            else:
                least = int(bound) - {"uint8": 128, "uint16": 32768}.get(dtype, 0)
        cells = values.reshape(len(values), -1).T
        wanted = np.argwhere((cells >= bound) | np.isnan(cells)).tolist()
        for backend in COMPILED:
            hits = kernels.scan(made, data, least, backend)
            assert hits is not None
            assert hits[:, :2].tolist() == wanted  # in this order
    assert kernels.scan(made, data, least, "numpy") is None


@pytest.mark.parametrize("cells", [(1, 33), (3, 700), (64, 77)])
@pytest.mark.parametrize("share", [0.001, 0.03, 0.9])
@pytest.mark.parametrize("pitch", [0, 5])
def test_hits_of_planes_are_in_the_order_of_cells(cells: tuple[int, int], share: float, pitch: int) -> None:
    rng = np.random.default_rng(int(1000 * share) + pitch)
    (rows, columns), channels = cells, 21
    wide = columns + pitch
    tables = np.arange(channels) * rows * wide, np.arange(rows) * wide, np.arange(columns)
    data = np.where(rng.random(channels * rows * wide) < share, rng.integers(0, 4, channels * rows * wide), -1)
    values = data.reshape(channels, rows, wide)[:, :, :columns].reshape(channels, -1)
    wanted = [[cell, c, int(values[c, cell])] for cell, c in np.argwhere(values.T >= 0).tolist()]
    for backend in COMPILED:
        hits = kernels.scan(kernels.FeatureMap("int8", *tables), data.astype(np.int8), 0, backend)
        assert hits is not None and hits.tolist() == wanted


@pytest.mark.parametrize(
    "block, before, channels",
    [(16, 0, 80), (16, 5, 80), (4, 0, 19), (8, 3, 33), (32, 0, 60), (1, 0, 21), (86, 0, 85), (86, 1, 81), (33, 0, 32)],
)
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("gap", [0, 3])
@pytest.mark.parametrize("dtype", ["uint16", "float32"])
def test_a_span_of_blocks_or_planes(block: int, before: int, channels: int, inside: bool, gap: int, dtype: str) -> None:
    """Blocks of planes or of rows, or one of all channels, from the first bytes on; what else passes, or not."""
    rng, kind, (rows, columns) = np.random.default_rng(block + gap), np.dtype(dtype), (13, 20)
    blocks, wide = -(-(before + channels) // block), (columns + gap) * block
    across, down = (wide, blocks * wide) if inside else (rows * wide, wide)
    place = np.arange(before, before + channels)
    tables = place // block * across + place % block, np.arange(rows) * down, np.arange(columns) * block
    size = (blocks - 1) * across + (rows - 1) * down + columns * block
    data = Fenced(size * kind.itemsize).last(size * kind.itemsize).view(kind)
    made = kernels.FeatureMap(dtype, *tables)
    at = (tables[0][:, None, None] + tables[1][None, :, None] + tables[2]).reshape(channels, -1).T  # cells, channels
    half = {"uint16": 32768}.get(dtype, 0)
    least = 5 - half if kind.kind != "f" else kernels.least_float(5)
    for share in (0, 1e-3, 0.02):
        for beside in (0, 7):
            data[...] = beside
            data[at] = np.where(rng.random(at.shape) < share, rng.integers(5, 8, at.shape), rng.integers(0, 5))
            if share == 0:
                data[at[[0, 19, 20, 131, 259, 259], [0, -1, 2, channels // 2, 0, -1]]] = 6  # the ends of it
            wanted = [[cell, c, int(data[at[cell, c]])] for cell, c in np.argwhere(data[at] >= 5).tolist()]
            for backend in COMPILED:
                hits = kernels.scan(made, data, least, backend)
                assert hits is not None and hits[:, :2].tolist() == [row[:2] for row in wanted]
                assert kind.kind == "f" or (hits[:, 2] + half).tolist() == [row[2] for row in wanted]


@pytest.mark.parametrize("channels", [(4,), (4, 89, 174), (0, 3), (9, 2, 5, 7, 0), tuple(range(1, 40, 2))])
@pytest.mark.parametrize("gap", [41, 255, 3])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "float32"])
def test_channels_that_are_not_contiguous_are_read_cell_by_cell(
    channels: tuple[int, ...], gap: int, dtype: str
) -> None:
    """Numbers of cells that are no multiple of those asked at once; the last element is the last one of memory."""
    rng = np.random.default_rng(gap)
    kind = np.dtype(dtype)
    low, half = (0, 128) if dtype == "uint8" else (-100, 0)
    for cells in (1, 3, 4, 5, 62, 700):
        size = (cells - 1) * gap + max(channels) + 1
        data = Fenced(size * kind.itemsize).last(size * kind.itemsize).view(kind)
        data[...] = rng.integers(low, 100, size)
        made = kernels.FeatureMap(dtype, np.array(channels), np.zeros(1, int), np.arange(cells) * gap)
        for bound in (97, 60, 0):
            least = kernels.least_float(bound) if dtype == "float32" else bound - half
            wanted = [
                [cell, c] for cell in range(cells) for c, at in enumerate(channels) if data[cell * gap + at] >= bound
            ]
            for backend in COMPILED:
                hits = kernels.scan(made, data, least, backend)
                assert hits is not None and hits[:, :2].tolist() == wanted


@pytest.mark.parametrize("channels", [16, 33, 64, 80, 83, 100])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "float32"])
@pytest.mark.parametrize("cells", [1, 3, 4, 11])
def test_one_hit_anywhere_in_rows_without_gaps(channels: int, dtype: str, cells: int) -> None:
    """Cells are asked some at a time; the last element is the last one of memory, and each is the only hit once."""
    kind, size = np.dtype(dtype), channels * cells
    data = Fenced(size * kind.itemsize).last(size * kind.itemsize).view(kind)
    data[...] = np.random.default_rng(channels).integers(0, 99, size)
    made = kernels.FeatureMap(dtype, np.arange(channels), np.zeros(1, int), np.arange(cells) * channels)
    least = kernels.least_float(100) if dtype == "float32" else 100 - (128 if dtype == "uint8" else 0)
    for backend in COMPILED:
        none = kernels.scan(made, data, least, backend)
        assert none is not None and len(none) == 0
        for at in range(size):
            before, data[at] = data[at], 100
            hits = kernels.scan(made, data, least, backend)
            data[at] = before
            assert hits is not None and hits[:, :2].tolist() == [list(divmod(at, channels))]


@pytest.mark.parametrize(
    "channels, gap", [(3, 0), (20, 0), (80, 0), (300, 0), (64, 0), (80, 4), (64, 64), (20, 124), (40, 1)]
)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint16", "float16", "float32"])
def test_long_rows_are_read_in_pieces(channels: int, gap: int, dtype: str) -> None:
    """Few hits, many, and one at the ends of pieces and windows; what is between cells passes and is no hit."""
    rng, kind, wide = np.random.default_rng(channels + gap), np.dtype(dtype), channels + gap
    half = {"uint8": 128, "uint16": 32768}.get(dtype, 0)
    long = [(1 << 20) // channels + 3] if (channels, gap) == (80, 0) else []
    for cells in (4096 // wide * 8 + 1, 1600, 1607, *long):
        size = (cells - 1) * wide + channels
        data = Fenced(size * kind.itemsize).last(size * kind.itemsize).view(kind)
        made = kernels.FeatureMap(dtype, np.arange(channels), np.zeros(1, int), np.arange(cells) * wide)
        least = 5 - half if kind.kind != "f" else kernels.least_float(5) if dtype == "float32" else 0x4500
        inside = np.concatenate([(np.arange(cells)[:, None] * wide + np.arange(channels)).ravel()])
        for share in (0, 1e-5, 1e-3, 0.02, 0.5):
            data[...] = 7
            data[inside] = np.where(
                rng.random(len(inside)) < share, rng.integers(5, 8, len(inside)), rng.integers(0, 5)
            )
            ends = [cells // 8 * k + d for k in range(9) for d in (-1, 0, 1)] if share == 0 else []
            for cell in (cell for cell in ends if 0 <= cell < cells):
                data[cell * wide + (cell * 7) % channels] = 6
            at = inside[data[inside] >= 5]
            wanted = np.stack([at // wide, at % wide], 1)
            for backend in COMPILED:
                hits = kernels.scan(made, data, least, backend)
                assert hits is not None and np.array_equal(hits[:, :2], wanted)


@pytest.mark.parametrize(
    "wrong",
    [
        {"channels": np.array([0, 1 << 40])},
        {"rows": np.array([-1])},
        {"columns": np.arange(65)},
        {"columns": np.array([(1 << 62) + 1])},
        {"channels": np.empty(0, np.int64)},
        {"dtype": "int32"},
    ],
)
def test_what_is_outside_the_buffer_is_refused(wrong: dict[str, Any]) -> None:
    made = kernels.FeatureMap("int8", np.arange(4), np.arange(4) * 16, np.arange(4) * 4)
    data = np.zeros(64, np.int8)
    found = kernels.scan(made, data, 0, COMPILED[0])
    assert found is not None and len(found) == 64
    with pytest.raises(ValueError):
        kernels.scan(made._replace(**wrong), data, 0, COMPILED[0])
    with pytest.raises(ValueError):
        kernels.scan(made, data, 1 << 40, COMPILED[0])
