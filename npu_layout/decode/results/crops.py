"""Masks of instances, as crops that know their places, and the memory that later calls use again."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...errors import NpuLayoutError
from ...support import array_of, shown, whole_number
from ..heads.records import items


class Pool:
    """Memory of one call's masks, which a later call may use again: arrays by name, which grow and never shrink."""

    def __init__(self) -> None:
        self._flat: dict[str, np.ndarray] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return an array over the memory of that name; what was in it is still there."""
        count = math.prod(shape)
        flat = self._flat.get(name)
        if flat is None or flat.dtype != dtype or len(flat) < count:
            flat = self._flat[name] = np.empty(count, dtype)
        return flat[:count].reshape(shape)


def picked_rows(column: np.ndarray, rows: Any, what: str) -> np.ndarray:
    """Return `column[rows]`, of one axis; IndexError if `rows` picks none of that column of detections or masks."""
    picked: np.ndarray | None
    try:
        picked = column[rows]
    except (IndexError, TypeError, ValueError):
        picked = None
    if picked is None or picked.ndim != 1:
        raise IndexError(
            f"expected a mask of bools, indices, a slice, or one index, got {shown(rows)}, of {len(column)} {what}"
        ) from None
    return picked


class Masks(Sequence[np.ndarray]):
    """Masks of n instances. Each is stored as a crop: the part of the mask inside its box.

    Attributes
    ----------
    crops
        A list of n arrays bool (h, w), each of its own size; empty if the box has no pixel inside the input. The crops
        of a call share one memory, and `masks[rows]` has views of it. A later call that is given them as `out` writes
        to it again.
    offsets
        int64 (n, 2): x, y of each crop's upper left pixel in the network's input.
    input_shape
        Height and width of the network's input.

    Raises nothing: `masks` makes them.
    """

    def __init__(self, crops: Sequence[np.ndarray], offsets: np.ndarray, input_shape: tuple[int, int]) -> None:
        self.crops: tuple[np.ndarray, ...] = items("crops", crops)
        self.offsets, self.input_shape = offsets, input_shape
        self._pool = Pool()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pool": Pool()}  # memory that nothing of these masks is in

    def __len__(self) -> int:
        return len(self.crops)

    def __repr__(self) -> str:
        return f"<Masks: {len(self)} crops of {self.input_shape[0]}x{self.input_shape[1]}>"

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self.crops)

    def __getitem__(self, rows: Any) -> Any:
        """Return one crop (an index), or the Masks of some rows (bools, indices or a slice)."""
        if isinstance(rows, (int, np.integer)) and not isinstance(rows, bool):
            return self.crops[self._row(operator.index(rows))]
        picked = picked_rows(np.arange(len(self)), rows, "masks")
        return Masks([self.crops[i] for i in picked], self.offsets[picked], self.input_shape)

    def full(self, i: int, out: np.ndarray | None = None) -> np.ndarray:
        """Return mask `i` over the whole input, bool (H, W), a copy. `out`: the array to which it is written instead.

        IndexError if there is no such mask; NpuLayoutError if `out` has another shape or dtype, or is read-only.
        """
        whole = np.empty(self.input_shape, bool) if out is None else array_of(out, "out")
        i = self._row(i)
        if whole.shape != self.input_shape or whole.dtype != bool:
            raise NpuLayoutError(f"out: expected bool {self.input_shape}, got {whole.dtype} {whole.shape}")
        if not whole.flags.writeable:
            raise NpuLayoutError("out: expected an array that can be written, got a read-only one")
        (x, y), crop = self.offsets[i], self.crops[i]
        whole[...] = False
        whole[y : y + crop.shape[0], x : x + crop.shape[1]] = crop
        return whole

    def _row(self, i: int) -> int:
        row = whole_number("i", i)
        if not -len(self) <= row < len(self):
            raise IndexError(f"i: expected one of {len(self)} masks, got {shown(row)}")
        return row

    def dense(self) -> np.ndarray:
        """Return all masks over the whole input, bool (n, H, W), a copy: 410 KB each at 640x640."""
        result = np.empty((len(self), *self.input_shape), bool)
        for i in range(len(self)):
            self.full(i, result[i])
        return result

    def polygons(self, i: int) -> list[np.ndarray]:
        """Return the outlines of mask `i`, the one with the largest area first, without the outlines of its holes.

        Each is float32 (points, 2), a copy: x, y of the centres of pixels on the edge, in pixels of the network's
        input, as cv2.findContours returns them (RETR_EXTERNAL, CHAIN_APPROX_SIMPLE). A mask in pieces has several, an
        empty mask none. ``geometry.points_to_frame(polygon)`` maps one into the frame. IndexError if there is no such
        mask.
        """
        import cv2

        x, y = self.offsets[self._row(i)].tolist()
        crop = np.ascontiguousarray(self.crops[i])
        if not crop.size:
            return []
        found, _ = cv2.findContours(
            crop.view(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE, offset=(int(x), int(y))
        )
        outlines = sorted(found, key=cv2.contourArea, reverse=True)
        return [outline.reshape(-1, 2).astype(np.float32) for outline in outlines]


def no_masks(pool: Pool, input_shape: tuple[int, int]) -> Masks:
    """Return the masks of no instance, in the memory of `pool`."""
    return masks_of(pool, (), pool.array("offsets", (0, 2), np.int64), input_shape)


def masks_of(pool: Pool, crops: Sequence[np.ndarray], offsets: np.ndarray, size: tuple[int, int]) -> Masks:
    """Return Masks whose memory is that of `pool`."""
    found = Masks(crops, offsets, size)
    found._pool = pool
    return found


def pool_of(found: Any) -> Pool:
    """Return the memory of Masks; of None new memory."""
    return found._pool if isinstance(found, Masks) else Pool()


def crops_in(pixels: np.ndarray, sides: Sequence[Sequence[int]]) -> list[np.ndarray]:
    """Return views of masks that follow each other, bool, of such widths and heights."""
    whole, crops, at = pixels.view(bool), [], 0
    for across, down in sides:
        crops.append(whole[at : at + across * down].reshape(down, across))
        at += across * down
    return crops
