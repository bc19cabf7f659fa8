"""Find which pixels of an instance's mask are set: the sign of its logits, sums of prototypes by coefficients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ... import kernels
from ...buffers import TensorSpec, kernel_name

_MOST_ZERO = 255  # of the prototypes, either way: the kernels accept no other (csrc/binding/mask_calls.c)
_MOST_WHOLE_ZERO = 1 << 17  # from there on no stored 16 bits less it fit in the kernels' 16 bits


class MaskRule(NamedTuple):
    """How masks are made of logits at the prototypes' resolution.

    sigmoid: enlarge probabilities instead of logits; cells: clear the logits outside the box before they are enlarged.
    """

    sigmoid: bool
    cells: bool


#: The rules by name. logits: enlarge, above 0, inside the box (ultralytics' process_mask and process_mask_native); this
#: is the default. probabilities: sigmoid, enlarge, inside the box, above 0.5 (airockchip/rknn_model_zoo,
#: examples/yolov8_seg). cells: cut the box out of the logits, then enlarge (ultralytics' older process_mask, which has
#: no sigmoid and cuts no box out afterwards): the mask's edge is smeared beyond the box, by half a cell and more.
MASK_RULES = {"logits": MaskRule(False, False), "probabilities": MaskRule(True, False), "cells": MaskRule(False, True)}


class MaskLogits(NamedTuple):
    """The prototypes of an image, and the coefficients of its instances, as they are stored.

    spec, flat: the prototypes' and their buffer, 1-D. coefficients: (n, channels), integers or real numbers.
    zero_point: of the coefficients.
    """

    spec: TensorSpec
    flat: np.ndarray
    coefficients: np.ndarray
    zero_point: float = 0

    @property
    def planes(self) -> tuple[int, int, int]:
        """Channels, rows and columns of the prototypes."""
        return planes_of(self.spec) or (0, 1, 1)

    @property
    def prototypes_zero(self) -> int:
        """The zero point of the prototypes."""
        known = self.spec.quantization
        return 0 if known is None else int(known.zero_point)  # type: ignore[arg-type]

    @property
    def are_integers(self) -> bool:
        """Whether the sign of the logits is that of a sum of integers."""
        spec, given, known = self.spec, self.coefficients, self.spec.quantization
        return bool(
            spec.stored.kind in "iu"
            and spec.stored.itemsize <= 2
            and not spec.element.nibbles
            and (known is None or (known.axis is None and _whole(known.zero_point)))
            and given.dtype.kind in "iu"
            and given.dtype.itemsize <= 2
            and _whole(self.zero_point)
        )

    def write_compiled(self, windows: np.ndarray, size: tuple[int, ...], out: np.ndarray) -> bool:
        """Write the masks, one after the other, to `out`; False if the kernels have no loops for them.

        windows: left, top, right and bottom of each mask in pixels; size: height and width of the input.
        """
        _, h, w = self.planes
        factor = size[0] // h
        if not self.are_integers or self.spec.stored.itemsize != 1 or size != (factor * h, factor * w):
            return False
        if not -_MOST_ZERO <= self.prototypes_zero <= _MOST_ZERO:
            return False
        given = self.coefficients
        if given.dtype != np.int16 or self.zero_point:
            wide = given.astype(np.int32) - int(self.zero_point)
            if int(abs(wide).max()) > np.iinfo(np.int16).max:
                return False
            given = wide.astype(np.int16)
        steps = np.ascontiguousarray(given)
        return kernels.masks(_map_of(self.spec), self.flat, self.prototypes_zero, steps, windows, factor, out)

    def write_by_numpy(
        self,
        rule: MaskRule,
        cells: np.ndarray | None,
        windows: np.ndarray,
        size: tuple[int, ...],
        crops: Sequence[np.ndarray],
    ) -> None:
        """Write each mask to its crop: in integers where the sign is one, else in float64. NaN is not set.

        cells: left, top, right and bottom of the cells outside which logits are cleared first; None: no cell is.
        windows, size: as for the kernels.
        """
        exact = self.are_integers and not rule.sigmoid
        kind: type = np.int64 if exact else np.float64
        prototypes = self._stored_prototypes() if exact else self._real_prototypes()
        weights = self.coefficients.astype(kind) - kind(self.zero_point)
        for i, (c, (left, top, right, bottom), crop) in enumerate(zip(weights, windows.tolist(), crops)):
            if right == left:
                continue
            with np.errstate(invalid="ignore", over="ignore"):
                logits = np.tensordot(c, prototypes, 1)
                if rule.sigmoid:
                    logits = 1 / (1 + np.exp(-logits)) - 0.5
            if cells is not None:
                x0, y0, x1, y1 = cells[i].tolist()
                inside = logits[y0:y1, x0:x1].copy()
                logits[...] = 0
                logits[y0:y1, x0:x1] = inside
            with np.errstate(invalid="ignore", over="ignore"):
                lines = _enlarged_rows(logits, top, bottom, size[0])
                np.greater(_enlarged_rows(lines.T, left, right, size[1]).T, 0, out=crop)

    def _stored_prototypes(self) -> np.ndarray:
        """Return the steps of the prototypes from their zero point, int64 (channels, h, w)."""
        count, h, w = self.planes
        stored: np.ndarray = self.flat[_places(self.spec, *np.ogrid[:count, :h, :w])]
        return stored.astype(np.int64) - self.prototypes_zero

    def _real_prototypes(self) -> np.ndarray:
        """Return the values of the prototypes, float64 (channels, h, w)."""
        order = [self.spec.axes.index(letter) for letter in "CHW"]
        values = self.spec.unpack(self.flat)
        prototypes = values.transpose(*(set(range(values.ndim)) - {*order}), *order).reshape(self.planes)
        with np.errstate(invalid="ignore"):  # signalling NaN
            return np.asarray(prototypes.astype(np.float64, order="C"))  # one order of sums, whatever the layout


def _whole(zero_point: Any) -> bool:
    """Whether stored integers less such a zero point are integers whose sums fit in 64 bits."""
    zero = float(zero_point)
    return zero.is_integer() and abs(zero) < _MOST_WHOLE_ZERO


def planes_of(spec: TensorSpec) -> tuple[int, int, int] | None:
    """Return channels, rows and columns of one image, whatever the order of its axes; None of anything else."""
    extents = dict(zip(spec.axes, spec.shape))
    if not {"C", "H", "W"} <= extents.keys() <= {"N", "C", "H", "W"} or extents.get("N", 1) != 1:
        return None
    return extents["C"], extents["H"], extents["W"]


def _places(spec: TensorSpec, channel: Any, row: Any, column: Any) -> np.ndarray:
    """Return the places in the buffer of such elements of the one image."""
    index = {"N": 0, "C": channel, "H": row, "W": column}
    return np.asarray(spec.offset(*(index[letter] for letter in spec.axes)), np.int64)


@lru_cache(maxsize=64)
def _map_of(spec: TensorSpec) -> kernels.FeatureMap:
    """Return where the prototypes are, for the kernels."""
    count, h, w = planes_of(spec) or (0, 1, 1)
    start = int(_places(spec, 0, 0, 0))
    channels = _places(spec, np.arange(count), 0, 0)
    rows = _places(spec, 0, np.arange(h), 0) - start
    columns = _places(spec, 0, 0, np.arange(w)) - start
    return kernels.FeatureMap(kernel_name(spec.stored), channels, rows, columns)


def _enlarged_rows(values: np.ndarray, first: int, last: int, size: int) -> np.ndarray:
    """Return pixels first .. last of axis 0 enlarged to a size, as align_corners=False does, times a whole number."""
    common = math.gcd(len(values), size)
    cells, pixels = len(values) // common, size // common
    at = (2 * np.arange(first, last) + 1) * cells - pixels
    low, part = at // (2 * pixels), (at % (2 * pixels))[:, None]
    most = len(values) - 1
    before, after = values[low.clip(0, most)], values[(low + 1).clip(0, most)]
    result: np.ndarray = before * (2 * pixels - part) + np.where(part, after * part, 0)  # 0 of what is no number too
    return result
