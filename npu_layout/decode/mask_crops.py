"""Masks of instances, from prototypes and the coefficients of each: exact where they are stored as integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import kernels
from ..buffers import TensorSpec, kernel_name
from ..errors import LayoutError
from ..support import checked_call, instance, numbers_of, one_of, real_number
from .batches import refuse_batch
from .crops import Masks, Pool, crops_in, masks_of, pool_of
from .records import height_and_width


class MaskRule(NamedTuple):
    """How masks are made of logits at the prototypes' resolution.

    sigmoid: enlarge probabilities instead of logits; cells: clear the logits outside the box before they are enlarged.
    """

    sigmoid: bool
    cells: bool


#: The rules in use. logits: enlarge, above 0, inside the box (ultralytics' process_mask and process_mask_native); this
#: is the default. probabilities: sigmoid, enlarge, inside the box, above 0.5 (airockchip/rknn_model_zoo,
#: examples/yolov8_seg). cells: cut the box out of the logits, then enlarge (ultralytics' older process_mask, which has
#: no sigmoid and cuts no box out afterwards): the mask's edge is smeared beyond the box, by half a cell and more.
RULES = {"logits": MaskRule(False, False), "probabilities": MaskRule(True, False), "cells": MaskRule(False, True)}


@checked_call
def masks(
    spec: TensorSpec,
    buffer: Any,
    coefficients: Any,
    xyxy: Any,
    input_shape: Sequence[int],
    *,
    zero_point: float = 0,
    rule: str = "logits",
    out: Masks | None = None,
) -> Masks:
    """Return the masks of instances inside their boxes.

    Parameters
    ----------
    spec, buffer
        The prototypes, (1, channels, h, w) by their spec, or with their axes in another order (N, H, W, C, as
        `from_tflite` gives them), as stored in any layout. The buffer may be reused afterwards.
    coefficients
        (n, channels): stored integers, or real numbers.
    xyxy
        (n, 4): boxes in pixels of the input. A pixel x is inside if left <= x < right; of "cells" a cell x is, the box
        being in cells, and the mask has the pixels that cells inside take part in. A box with an edge that is not
        finite has none.
    input_shape
        Height and width of the network's input: whole multiples of the prototypes', or so many that they are divided by
        a power of 2 and rounded up (138x138 of 550x550, YOLACT).
    zero_point
        Of the coefficients, if they are stored integers; their scale must be positive, and is not needed.
    rule
        A name of RULES.
    out
        Masks of an earlier call: their memory is used again, and grows to the most pixels that a call needed. Nothing
        of them may be read from then on, and no crops that are views of it.

    Returns
    -------
    Masks, in new memory or that of `out`. Of 8-bit prototypes and coefficients of one positive scale each, by "logits"
    and "cells", they are those of exact arithmetic: the sign of an integer. Others are computed in float64. A pixel
    whose sum is no number is outside.

    Raises
    ------
    LayoutError, NpuLayoutError
        If the prototypes, coefficients, boxes and the input do not fit each other; on an unknown rule, and an `out`
        that is no Masks.
    """
    instance("spec", spec, TensorSpec, "a TensorSpec")
    size = height_and_width(input_shape)
    one_of("rule", rule, tuple(RULES))
    zero_point = real_number("zero_point", zero_point)
    pool = pool_of(None if out is None else instance("out", out, Masks, "Masks of an earlier call"))
    refuse_batch(spec, "masks")
    shape = planes_of(spec)
    if shape is None:
        raise LayoutError(f"prototypes: expected (1, channels, h, w), got {spec.describe()}")
    _, h, w = shape
    if (size[0] % h or size[1] % w) and not _rounded_up(size, (h, w)):
        raise LayoutError(
            f"prototypes: expected an input of whole multiples of {h}x{w}, or one that has as many cells of 2, 4 or 8 "
            f"pixels, rounded up; got {size[0]}x{size[1]}"
        )
    given, boxes = numbers_of("coefficients", coefficients), numbers_of("xyxy", xyxy).astype(np.float64)
    if given.ndim != 2 or given.shape[1] != shape[0] or boxes.shape != (len(given), 4):
        raise LayoutError(
            f"coefficients and xyxy: expected (n, {shape[0]}) and (n, 4), got {given.shape} and {boxes.shape}"
        )
    return masks_in(pool, spec, spec.flat(buffer), given, boxes, size, rule, zero_point)


def masks_in(
    pool: Pool,
    spec: TensorSpec,
    flat: np.ndarray,
    given: np.ndarray,
    boxes: np.ndarray,
    size: tuple[int, int],
    rule: str,
    zero_point: float = 0,
) -> Masks:
    """Return what `masks` does, with crops and offsets in the memory of `pool`; arguments are known to be good.

    flat: the prototypes' buffer, 1-D; given: the coefficients; boxes: float64 (n, 4).
    """
    windows, cells = _windows(boxes, size), None
    if RULES[rule].cells:
        h, w = (planes_of(spec) or (0, *size))[1:]
        cells = _windows(boxes * np.tile([w / size[1], h / size[0]], 2), (h, w))
        windows = _enlarged(cells, (size[0] // h, size[1] // w), size)
    sides = (windows[:, 2:] - windows[:, :2]).tolist()
    pixels = pool.array("pixels", (sum(across * down for across, down in sides),), np.uint8)
    crops = crops_in(pixels, sides)
    if len(given) and (rule != "logits" or not _compiled(spec, flat, given, zero_point, windows, size, pixels)):
        _fallback(spec, flat, given, zero_point, cells, windows, size, RULES[rule], crops)
    offsets = pool.array("offsets", (len(windows), 2), np.int64)
    offsets[:] = windows[:, :2]
    return masks_of(pool, crops, offsets, size)


def _rounded_up(size: tuple[int, int], cells: tuple[int, int]) -> bool:
    """Whether cells of 2, 4 or 8 pixels are so many each way, the last one perhaps beyond the input."""
    return any(cells == tuple(-(-extent // pixels) for extent in size) for pixels in (2, 4, 8))


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


def _windows(boxes: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    """Return left, top, right, bottom of the pixels inside each box, int32; 0, 0, 0, 0 if there are none."""
    finite = np.isfinite(boxes)
    known = boxes if finite.all() else np.where(finite.all(axis=1)[:, None], boxes, 0)
    inside = np.minimum(np.maximum(known, 0), (size[1], size[0], size[1], size[0]))
    found: np.ndarray = np.ceil(inside, inside).astype(np.int32)
    empty = found[:, 2:] <= found[:, :2]
    if empty.any():
        found[empty.any(axis=1)] = 0
    return found


def _enlarged(cells: np.ndarray, factors: tuple[int, int], size: tuple[int, ...]) -> np.ndarray:
    """Return left, top, right, bottom of the pixels that take part of such cells, int32; 0, 0, 0, 0 of none.

    factors: pixels of a cell, down and across. An enlarged pixel is a mean of the cells whose middles are less than one
    cell away.
    """
    each = np.tile(np.array(factors[::-1], np.int32), 2)
    beyond = np.array([-1, -1, 1, 1], np.int32) * (each // 2)
    most = np.array([size[1], size[0], size[1], size[0]], np.int32)
    empty = (cells[:, 2:] <= cells[:, :2]).any(axis=1)
    found: np.ndarray = np.minimum(np.maximum(cells * each + beyond, 0), most)
    found[empty] = 0
    return found


def _integers(spec: TensorSpec, given: np.ndarray, zero_point: float) -> bool:
    """Whether the sign of the logits is that of a sum of integers."""
    known = spec.quantization
    return bool(
        spec.stored.kind in "iu"
        and spec.stored.itemsize == 1
        and not spec.element.nibbles
        and (known is None or (known.axis is None and float(known.zero_point).is_integer()))  # type: ignore[arg-type]
        and given.dtype.kind in "iu"
        and given.dtype.itemsize <= 2
        and abs(zero_point) < 1 << 17
        and float(zero_point).is_integer()
    )


def _zero(spec: TensorSpec) -> int:
    return 0 if spec.quantization is None else int(spec.quantization.zero_point)  # type: ignore[arg-type]


def _compiled(
    spec: TensorSpec,
    flat: np.ndarray,
    given: np.ndarray,
    zero_point: float,
    windows: np.ndarray,
    size: tuple[int, ...],
    out: np.ndarray,
) -> bool:
    """Write the masks, one after the other, to `out`; False if the kernels have no loops for them."""
    _, h, w = planes_of(spec) or (0, 1, 1)
    factor = size[0] // h
    if not _integers(spec, given, zero_point) or size != (factor * h, factor * w):
        return False
    if not -255 <= _zero(spec) <= 255:
        return False
    if given.dtype != np.int16 or zero_point:
        wide = given.astype(np.int32) - int(zero_point)
        if int(abs(wide).max()) > np.iinfo(np.int16).max:
            return False
        given = wide.astype(np.int16)
    steps = np.ascontiguousarray(given)
    return kernels.masks(_map_of(spec), flat, _zero(spec), steps, windows, factor, out)


@lru_cache(maxsize=64)
def _map_of(spec: TensorSpec) -> kernels.FeatureMap:
    """Return where the prototypes are, for the kernels."""
    count, h, w = planes_of(spec) or (0, 1, 1)
    start = int(_places(spec, 0, 0, 0))
    channels = _places(spec, np.arange(count), 0, 0)
    rows = _places(spec, 0, np.arange(h), 0) - start
    columns = _places(spec, 0, 0, np.arange(w)) - start
    return kernels.FeatureMap(kernel_name(spec.stored), channels, rows, columns)


def _fallback(
    spec: TensorSpec,
    flat: np.ndarray,
    given: np.ndarray,
    zero_point: float,
    cells: np.ndarray | None,
    windows: np.ndarray,
    size: tuple[int, ...],
    rule: MaskRule,
    crops: Sequence[np.ndarray],
) -> None:
    """Write the crops by numpy: in integers where the sign is one, else in float64. A sum that is no number is no 1.

    cells: left, top, right and bottom of the cells outside which logits are cleared first; None: no cell is.
    """
    exact = _integers(spec, given, zero_point) and not rule.sigmoid
    kind: type = np.int64 if exact else np.float64
    count, h, w = planes_of(spec) or (0, 1, 1)
    if exact:
        stored = flat[_places(spec, *np.ogrid[:count, :h, :w])]
        prototypes = stored.astype(np.int64) - _zero(spec)
    else:
        order = [spec.axes.index(letter) for letter in "CHW"]
        values = spec.unpack(flat)
        prototypes = values.transpose(*(set(range(values.ndim)) - {*order}), *order).reshape(count, h, w)
        with np.errstate(invalid="ignore"):  # signalling NaN
            prototypes = prototypes.astype(np.float64)
    weights = given.astype(kind) - kind(zero_point)
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
            lines = _between(logits, top, bottom, size[0])
            np.greater(_between(lines.T, left, right, size[1]).T, 0, out=crop)


def _between(values: np.ndarray, first: int, last: int, size: int) -> np.ndarray:
    """Return pixels first .. last of axis 0 enlarged to a size, as align_corners=False does, times a whole number."""
    common = math.gcd(len(values), size)
    cells, pixels = len(values) // common, size // common
    at = (2 * np.arange(first, last) + 1) * cells - pixels
    low, part = at // (2 * pixels), (at % (2 * pixels))[:, None]
    most = len(values) - 1
    before, after = values[low.clip(0, most)], values[(low + 1).clip(0, most)]
    result: np.ndarray = before * (2 * pixels - part) + np.where(part, after * part, 0)  # 0 of what is no number too
    return result
