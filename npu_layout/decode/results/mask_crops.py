"""Masks of instances inside their boxes, from prototypes and the coefficients of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...buffers import TensorSpec
from ...errors import LayoutError, NpuLayoutError
from ...support import checked_call, instance, numbers_of, one_of, real_number, widened
from ..arithmetic.mask_logits import MASK_RULES, MaskLogits, planes_of
from ..heads.batches import refuse_batch
from ..heads.grids import grid_of
from ..heads.records import height_and_width
from .crops import Masks, Pool, crops_in, masks_of, pool_of


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

    An instance's coefficients times the prototypes, added up, are a logit for each cell.

    Parameters
    ----------
    spec, buffer
        The prototypes as stored, in any layout and dtype, and their spec: (1, channels, h, w), or the same axes in
        another order, such as N, H, W, C from `from_tflite`. The buffer may be reused afterwards.
    coefficients
        (n, channels): real numbers, or stored integers; "probabilities" needs real ones.
    xyxy
        (n, 4): boxes in pixels of the input. A pixel is inside if left <= x < right and top <= y < bottom. With rule
        "cells" cells are inside in the same way, and the mask may have every pixel that such a cell takes part in. A
        box with an edge that is not finite has an empty mask.
    input_shape
        Height and width of the network's input in pixels: whole multiples of h and w, or such that h and w are they
        divided by 2, 4 or 8 and rounded up (138x138 of 550x550, YOLACT).
    zero_point
        The zero point of the coefficients, if they are stored integers; their scale must be positive, and is not
        needed.
    rule
        "logits": logits are enlarged, linearly between the middles of cells, and a pixel inside the box is part of the
        mask if its logit is above 0 (ultralytics). "probabilities": their sigmoid is enlarged, and has to be above 0.5
        (airockchip/rknn_model_zoo). "cells": logits outside the box become 0, then all are enlarged, so that the mask
        extends beyond the box by half a cell or more (ultralytics' older process_mask).
    out
        Masks that an earlier call returned. Their memory is written again, and grows to the most pixels that a call
        needed: do not read them, nor crops that are views of them, afterwards.

    Returns
    -------
    Masks, in new memory or that of `out`. With "logits" and "cells", of prototypes and coefficients of 8 or 16 bits
    with one positive scale each, they are exact: the sign of a sum of integers, which no scale changes, and a sum of 0
    is outside. (Of the same numbers in float32, whose products are rounded, such a sum may be 6e-9: one pixel in four
    million of random masks.) Otherwise logits are computed in float64 from what `unpack` returns. A pixel whose logit
    is NaN is outside.

    Raises
    ------
    LayoutError, NpuLayoutError
        If the prototypes, coefficients, boxes and the input do not fit each other, if `rule` is unknown or needs real
        coefficients, or if `out` is no Masks.
    """
    instance("spec", spec, TensorSpec, "a TensorSpec")
    size = height_and_width(input_shape)
    one_of("rule", rule, tuple(MASK_RULES))
    zero_point = real_number("zero_point", zero_point)
    pool = pool_of(None if out is None else instance("out", out, Masks, "Masks of an earlier call"))
    refuse_batch(spec, "masks")
    shape = planes_of(spec)
    if shape is None:
        raise LayoutError(f"prototypes: expected (1, channels, h, w), got {spec.describe()}")
    _, h, w = shape
    if (size[0] % h or size[1] % w) and not _rounded_up(size, (h, w)):
        raise LayoutError(
            f"prototypes: expected an input of a whole multiple of {h}x{w}, or one that is {h}x{w} if it is divided by "
            f"2, 4 or 8 and rounded up; got {size[0]}x{size[1]}"
        )
    given, boxes = numbers_of("coefficients", coefficients), widened(numbers_of("xyxy", xyxy))
    if MASK_RULES[rule].sigmoid and given.dtype.kind in "iu":
        raise NpuLayoutError(
            f"coefficients: expected real numbers for rule={rule!r}, whose sigmoid depends on their scale, got "
            f"{given.dtype}; give (q - zero_point) * scale in float32"
        )
    if given.ndim != 2 or given.shape[1] != shape[0] or boxes.shape != (len(given), 4):
        raise LayoutError(
            f"coefficients and xyxy: expected (n, {shape[0]}) and (n, 4), got {given.shape} and {boxes.shape}"
        )
    return masks_in(pool, MaskLogits(spec, spec.flat(buffer), given, zero_point), boxes, size, rule)


def masks_in(pool: Pool, logits: MaskLogits, boxes: np.ndarray, size: tuple[int, int], rule: str) -> Masks:
    """Return what `masks` does, with crops and offsets in the memory of `pool`; arguments are known to be good.

    boxes: float64 (n, 4).
    """
    windows, cells = _windows(boxes, size), None
    if MASK_RULES[rule].cells:
        _, h, w = logits.planes
        cells = _windows(boxes * np.tile([w / size[1], h / size[0]], 2), (h, w))
        windows = _enlarged(cells, (size[0] // h, size[1] // w), size)
    sides = (windows[:, 2:] - windows[:, :2]).tolist()
    pixels = pool.array("pixels", (sum(across * down for across, down in sides),), np.uint8)
    crops = crops_in(pixels, sides)
    if len(logits.coefficients) and (rule != "logits" or not logits.write_compiled(windows, size, pixels)):
        logits.write_by_numpy(MASK_RULES[rule], cells, windows, size, crops)
    offsets = pool.array("offsets", (len(windows), 2), np.int64)
    offsets[:] = windows[:, :2]
    return masks_of(pool, crops, offsets, size)


def _rounded_up(size: tuple[int, int], cells: tuple[int, int]) -> bool:
    """Whether cells of 2, 4 or 8 pixels are so many each way, the last one perhaps beyond the input."""
    return any(cells == grid_of(size, pixels) for pixels in (2, 4, 8))


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
