"""People from heatmaps of joints and part affinity fields, as OpenPose's networks return them."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import kernels
from ...buffers import TensorSpec
from ...errors import LayoutError, NpuLayoutError
from ...support import checked_call, instance, items_of, numbers_of, real_number, shown, whole_numbers
from ..arithmetic.mask_logits import planes_of
from ..decoders.output_buffers import in_order
from ..heads.batches import refuse_batch
from ..heads.records import count_of, items, share_of


@checked_call
@dataclass(frozen=True)
class Skeleton:
    """What the channels of a network of heatmaps and part affinity fields are, and what makes a person.

    A field has two channels, x and y of a vector in each cell, which points along the limb.

    Attributes
    ----------
    joints
        The number of joints: the heatmaps of the joints are the first channels.
    limbs
        Pairs of joints, by number, in the order of their fields.
    fields
        The channel of the first field; x and y of a limb follow each other.
    cell
        Pixels of the input from one cell to the next, in x and y.
    peak
        The least heat of a joint. A joint is a maximum among 3x3 cells.
    field, aligned
        Along a limb, the field's component in the limb's direction has to be above `field` in at least this share of
        the points, `aligned`, 0 to 1.
    total
        The least sum of the scores of a person's limbs. A limb's score is the mean of that component, times the square
        root of the heats of its two joints.
    samples
        The number of points of a limb at which the field is read, its ends included.

    Raises NpuLayoutError if a number is out of range, or a limb names a joint that is not there.
    """

    joints: int
    limbs: tuple[tuple[int, int], ...]
    fields: int
    cell: int = 8
    peak: float = 0.3
    field: float = 0.05
    aligned: float = 0.7
    total: float = 6.0
    samples: int = 10

    def __post_init__(self) -> None:
        for name, least in (("joints", 1), ("fields", 0), ("cell", 1), ("samples", 2)):
            object.__setattr__(self, name, count_of(f"Skeleton: {name}", getattr(self, name), least))
        for name in ("peak", "field", "total"):
            object.__setattr__(self, name, real_number(f"Skeleton: {name}", getattr(self, name)))
        object.__setattr__(self, "aligned", share_of("Skeleton: aligned", self.aligned))
        limbs = tuple(whole_numbers("Skeleton: limbs", limb, 2, 0) for limb in items("Skeleton: limbs", self.limbs))
        if any(max(limb) >= self.joints for limb in limbs):
            raise NpuLayoutError(f"Skeleton: limbs: expected pairs of {self.joints} joints, got {shown(limbs)}")
        object.__setattr__(self, "limbs", limbs)


#: 18 joints, the background, and 19 limbs (Cao et al., "Realtime Multi-Person 2D Pose Estimation using Part Affinity
#: Fields", 2017).
OPENPOSE = Skeleton(
    18,
    ((1, 8), (8, 9), (9, 10), (1, 11), (11, 12), (12, 13), (1, 2), (2, 3), (3, 4), (2, 16), (1, 5), (5, 6), (6, 7),
     (5, 17), (1, 0), (0, 14), (0, 15), (14, 16), (15, 17)),
    19,
)  # fmt: skip


@checked_call
def people(maps: Any, buffer: Any = None, skeleton: Skeleton = OPENPOSE) -> np.ndarray:
    """Return the people in the output of a network of heatmaps and part affinity fields, such as OpenPose.

    Parameters
    ----------
    maps
        The output's spec: one image with the axes N, C, H and W in any order, in any layout and dtype. For several
        outputs, a list or {name: spec}, in the order of their channels: the heatmaps, then the fields. Or real values
        instead of specs: an array (channels, H, W) or (1, channels, H, W), as TensorSpec.unpack returns it.
    buffer
        The output as stored, or {name: buffer}; for several specs a list or {name: buffer}. Beside real values there
        is no buffer: leave it out, or give the skeleton in its place.
    skeleton
        What the channels are.

    Returns
    -------
    float32 (n, joints, 3), a new array: for each person and joint x, y in pixels of the input (centres of pixels are
    whole numbers) and the heat; NaN, NaN and 0 for a joint that was not found.

    Raises
    ------
    LayoutError
        If the channels are not those of the skeleton, or outputs have other axes.
    BufferSizeError
        If a buffer has another size than its spec.
    NpuLayoutError
        If another argument is wrong.

    Examples
    --------
    >>> spec = TensorSpec((1, 57, 46, 46), "NCHW16c", "int8")
    >>> people(spec, np.zeros(spec.size, np.int8)).shape
    (0, 18, 3)
    """
    if isinstance(buffer, Skeleton):
        buffer, skeleton = None, buffer
    instance("skeleton", skeleton, Skeleton)
    given = _values(maps, buffer)
    shape = given.shape[1:] if given.ndim == 4 and len(given) == 1 else given.shape
    channels = skeleton.fields + 2 * len(skeleton.limbs)
    if len(shape) != 3 or shape[0] != channels or 0 in shape:
        hint = "; people reads one image: give maps[i]" if given.ndim == 4 and len(given) > 1 else ""
        raise LayoutError(f"maps: expected ({channels}, H, W), got {given.shape}{hint}")
    real = np.ascontiguousarray(given, np.float32).reshape(shape)
    heat = real[: skeleton.joints]
    if not np.isfinite(heat).all():
        heat = np.nan_to_num(heat, nan=0.0, posinf=0.0, neginf=0.0)
    rows = kernels.peaks(heat[None], skeleton.peak)
    tops = np.empty((len(rows), 5))
    kernels.tops(heat[None], rows, tops, "parabola")
    found = np.ascontiguousarray(tops[:, 2:])
    limbs, joints = _numbers(skeleton.limbs, skeleton.joints)
    ends = np.searchsorted(rows[:, 1], joints).astype(np.int64, copy=False)
    enough = math.ceil(skeleton.aligned * skeleton.samples - 1e-9)
    line = skeleton.samples, enough, skeleton.field
    groups, _ = kernels.skeletons(real[skeleton.fields :], limbs, found, ends, line, skeleton.total)
    pixels = np.empty((len(found) + 1, 3))  # the last row is that of joints that were not found
    pixels[:-1], pixels[-1] = found, (np.nan, np.nan, 0)
    pixels[:, :2] *= skeleton.cell
    pixels[:, :2] += (skeleton.cell - 1) / 2
    result: np.ndarray = pixels.astype(np.float32)[groups]
    return result


@functools.lru_cache(maxsize=16)
def _numbers(limbs: tuple[tuple[int, int], ...], joints: int) -> tuple[np.ndarray, np.ndarray]:
    """Return limbs and the numbers of joints, and one more, as the kernels take them."""
    return np.array(limbs, np.int64).reshape(-1, 2), np.arange(joints + 1)


def _values(maps: Any, buffer: Any) -> np.ndarray:
    """Return the real values of outputs as they are stored, channels after channels; of real values themselves."""
    maps = list(maps.values()) if isinstance(maps, Mapping) else maps
    if isinstance(maps, Iterator) or (isinstance(maps, (list, tuple)) and not maps):
        raise NpuLayoutError(f"maps: expected a TensorSpec, a list of TensorSpecs or real values, got {shown(maps)}")
    several = isinstance(maps, (list, tuple)) and any(isinstance(one, TensorSpec) for one in maps)
    if not several and not isinstance(maps, TensorSpec):
        if buffer is not None:
            raise NpuLayoutError(
                f"buffer: expected none beside real values, got {shown(buffer)}; maps= is no TensorSpec"
            )
        return numbers_of("maps", maps)
    specs = items_of("maps", maps if several else [maps], TensorSpec)
    for spec in specs:
        refuse_batch(spec, "people")
    planes = [planes_of(spec) for spec in specs]
    if None in planes or len({found[1:] for found in planes if found}) != 1:
        got = ", ".join(spec.describe() for spec in specs)
        raise LayoutError(f"maps: expected one image with the axes N, C, H and W, of one height and width; got {got}")
    parts = []
    for spec, found, flat in zip(specs, planes, _flats(specs, buffer, several)):
        values = spec.unpack(flat)
        order = [spec.axes.index(letter) for letter in "CHW"]
        parts.append(values.transpose(*(set(range(values.ndim)) - {*order}), *order).reshape(found))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _flats(specs: Sequence[TensorSpec], buffer: Any, several: bool) -> list[np.ndarray]:
    """Return the argument `buffer` as the stored values of each output."""
    if buffer is None:
        raise NpuLayoutError(f"buffer: expected the output of {'; '.join(spec.describe() for spec in specs)}, got none")
    if several or isinstance(buffer, Mapping):
        return in_order(specs, buffer, "buffer")
    return [specs[0].flat(buffer)]
