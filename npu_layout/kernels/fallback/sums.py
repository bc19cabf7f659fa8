"""Add up two arrays by row and by column: the reference implementation."""

from __future__ import annotations

import numpy as np

# What is added up, then the ends; of rows also what changed. See kernels.sums.
BY_COLUMN = (
    "model", "device", "squares", "products", "error", "device_squares",
    "low", "device_low", "high", "device_high", "largest",
)  # fmt: skip
BY_ROW = (*BY_COLUMN, "change_squares", "change_products")
TILE, LANES = 256, 4  # columns that are added up together, as so many partial sums
_ADDED = 6
_LOW, _HIGH, _LARGEST = slice(6, 8), slice(8, 10), 10
_CHANGES = slice(11, 13)
_PIECE = 1 << 16  # values, of which a few arrays fit the second level of cache


def sums(device: np.ndarray, model: np.ndarray, before: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return what `kernels.sums` returns, of arrays of float32 or float64."""
    count, rows, columns = model.shape
    tiles = max(-(-columns // TILE), 1)
    by_tile, by_column = _of_none(len(BY_ROW), (tiles, rows)), _of_none(len(BY_COLUMN), (count, columns))
    work = np.empty(0)
    for first, last in _parts(columns, rows):
        tile = slice(first // TILE, -(-last // TILE))
        height = max(_PIECE // (last - first), 1)
        for a in range(count):
            for r in range(0, rows, height):
                at = a, slice(r, r + height), slice(first, last)
                changed = None if before is None else before[at]
                work = _work(work, device[at].shape, tile.stop - tile.start)
                _add(device[at], model[at], changed, work, by_tile[:, tile, at[1]], by_column[:, a, at[2]])
    by_row = by_tile[:, 0]
    for t in range(1, tiles):
        _join(by_row, by_tile[:, t])
    return by_row, by_column


def _parts(columns: int, rows: int) -> list[tuple[int, int]]:
    """Return first and last column of each part: whole tiles, then the rest."""
    whole, step = columns - columns % TILE, max(_PIECE // (TILE * max(rows, 1)), 1) * TILE
    found = [(first, min(first + step, whole)) for first in range(0, whole, step)]
    return [*found, (whole, columns)] if whole < columns else found


def _of_none(count: int, shape: tuple[int, ...]) -> np.ndarray:
    found = np.zeros((count, *shape))
    found[_LOW], found[_HIGH] = np.inf, -np.inf
    return found


def _join(into: np.ndarray, more: np.ndarray) -> None:
    """Join sums and ends of both."""
    into[:_ADDED] += more[:_ADDED]
    into[_CHANGES] += more[_CHANGES]
    np.minimum(into[_LOW], more[_LOW], out=into[_LOW])
    np.maximum(into[_HIGH], more[_HIGH], out=into[_HIGH])
    np.maximum(into[_LARGEST], more[_LARGEST], out=into[_LARGEST])


def _work(former: np.ndarray, shape: tuple[int, ...], tiles: int) -> np.ndarray:
    """Return room for what is added up, with zeros behind the columns: the former one, if it has this shape."""
    rows, columns = shape
    wanted = _ADDED, rows + 1, tiles, -(-columns // (LANES * tiles)), LANES
    if former.shape != wanted:
        return np.zeros(wanted)
    former.reshape(_ADDED, rows + 1, -1)[:, :, columns:] = 0.0  # the former part may have had up to three columns more
    return former


def _add(
    device: np.ndarray,
    model: np.ndarray,
    before: np.ndarray | None,
    work: np.ndarray,
    by_row: np.ndarray,
    by_column: np.ndarray,
) -> None:
    """Add rows of some tiles, (rows, columns). by_row: (BY_ROW, tiles, rows), by_column: (BY_COLUMN, columns)."""
    rows, columns = model.shape
    tiles = by_row.shape[1]
    padded = work.reshape(_ADDED, rows + 1, -1)
    flat = padded[:, :, :columns]  # behind them are zeros
    m, d, squares, products, error, device_squares = flat[:, 1:]
    m[...], d[...] = model, device
    np.subtract(d, m, out=error)
    for x, y, out in ((error, error, error), (m, m, squares), (m, d, products), (d, d, device_squares)):
        np.multiply(x, y, out=out)
    found = _of_none(len(BY_ROW), (tiles, rows))
    found[:_ADDED] = _by_row(work[:, 1:])
    shape = (rows, tiles, -1)
    for k, end in ((_LOW, np.minimum), (_HIGH, np.maximum)):
        found[k] = end.reduce(flat[:2, 1:].reshape(2, *shape), axis=3).transpose(0, 2, 1)
        end(by_column[k], end.reduce(flat[:2, 1:], axis=1), out=by_column[k])
    found[_LARGEST] = error.reshape(shape).max(2).T
    np.maximum(by_column[_LARGEST], error.max(0), out=by_column[_LARGEST])
    flat[:, 0] = by_column[:_ADDED]  # the sum so far comes first
    by_column[:_ADDED] = np.add.reduce(padded, axis=1)[:, :columns]  # a single column would be added up pairwise
    if before is not None:
        b = before.astype(np.float64)
        of_model, of_device = np.subtract(m, b, out=squares), np.subtract(d, b, out=products)
        np.multiply(of_model, of_device, out=of_device)
        np.multiply(of_model, of_model, out=of_model)
        found[_CHANGES] = _by_row(work[2:4, 1:])
    _join(by_row, found)


def _by_row(work: np.ndarray) -> np.ndarray:
    """Return the sums (..., tiles, rows) of (..., rows, tiles, steps, LANES), step by step."""
    partial = np.einsum("...ij->...j", work)  # adds vectors of LANES; np.add.reduce takes four times as long
    found = (partial[..., 0] + partial[..., 1]) + (partial[..., 2] + partial[..., 3])
    return np.asarray(np.swapaxes(found, -1, -2))
