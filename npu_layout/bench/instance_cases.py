"""List the benchmark's masks and skeletons: what is made of a network's maps for each instance."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..buffers import Quantization, TensorSpec
from ..decode import OPENPOSE, Masks
from .cases import Case

INPUT, CELL = 640, 4  # pixels of a network's input, and of a cell of its prototypes
GRID = 46  # cells of a pose network's maps, each way
_PROTOTYPES, _WEIGHTS = Quantization(0.03, 5), Quantization(0.02, -3)

# A standing person: x and y of the joints in cells, in OpenPose's order.
_BODY = np.array(
    [(0, -5), (0, -3), (-2, -3), (-3, -1), (-3, 1), (2, -3), (3, -1), (3, 1), (-1, 1), (-1, 4), (-1, 7), (1, 1), (1, 4),
     (1, 7), (-1, -6), (1, -6), (-2, -5), (2, -5)], float,
)  # fmt: skip


class InstanceCase(Case):
    """A row whose source is one array: `memory`, also `flat` and `x`."""

    key = kind = ""

    def _start(self, title: str, memory: np.ndarray, target: TensorSpec) -> None:
        self.title, self.target, self.outputs = title, target, None
        self._use(memory)

    def _use(self, memory: np.ndarray) -> None:
        self.memory = self.flat = self.x = memory

    def cropped(self, result: np.ndarray) -> np.ndarray:
        """Return the values, 1-D."""
        return np.asarray(result).reshape(-1)


class MasksCase(InstanceCase):
    """One row: masks of 20 boxes, cut out, from 32 int8 prototypes of 160x160 and int8 coefficients.

    A result is uint8: the pixels of every crop, one crop after the other. Attributes: spec, of the prototypes that
    `flat` stores; coefficients int8 (20, 32) with `zero_point`; xyxy float32 (20, 4), whole pixels; earlier, the Masks
    whose memory the next call uses again, which copies of the case share.
    """

    key = kind = "masks"
    count, channels, zero_point = 20, 32, int(_WEIGHTS.zero_point)  # type: ignore[arg-type]

    def __init__(self, layout: str) -> None:
        rng, side = np.random.default_rng(0), INPUT // CELL
        self.spec = TensorSpec((1, self.channels, side, side), layout, "int8", quantization=_PROTOTYPES)
        coarse = rng.normal(0, 1, (self.channels, side // 8 + 1, side // 8 + 1))
        smooth = np.repeat(np.repeat(coarse, 8, 1), 8, 2)[:, :side, :side]
        prototypes = smooth + rng.normal(0, 0.2, (self.channels, side, side))
        self.coefficients = rng.integers(-60, 60, (self.count, self.channels)).astype(np.int8)
        corner, sides = rng.integers(0, 440, (self.count, 2)), rng.integers(40, 200, (self.count, 2))
        self.xyxy = np.concatenate([corner, corner + sides], 1).astype(np.float32)
        self.earlier: dict[str, Masks] = {}
        pixels = int(sides.prod(1).sum())
        packed = self.spec.pack(prototypes[None].astype(np.float32))
        self._start(f"{self.count} masks {layout}", packed, TensorSpec((pixels,), "N", "uint8"))

    @property
    def is_exact(self) -> bool:
        """Whether results are equal or wrong."""
        return True


class PeopleCase(InstanceCase):
    """One row: skeletons from the float32 maps of OpenPose, 57 channels of 46x46.

    A result is float32 (count, 18, 3): x, y in pixels and heat of each joint, zeros for one that was not found.
    """

    key = kind = "people"

    def __init__(self, count: int) -> None:
        self.count = count
        maps = drawn(np.random.default_rng(count), count)
        self._start(f"{count} people", maps.reshape(-1), TensorSpec((count, 18, 3), "NHW"))

    @property
    def is_exact(self) -> bool:
        """Whether results are equal or wrong: the thousandth of a pixel is rounding."""
        return False

    @property
    def maps(self) -> np.ndarray:
        """The maps, (57, 46, 46)."""
        return self.flat.reshape(-1, GRID, GRID)

    def filled(self, people: Any) -> np.ndarray:
        """Return what was found as a result, in the order of the necks' places."""
        out = self.zeros(self.target.shape, np.float32)
        out[...] = 0
        found = np.nan_to_num(np.asarray(people, np.float32).reshape(-1, 18, 3))[: len(out)]
        out[: len(found)] = found[np.lexsort(found[:, 1, :2].round(1).T)]
        return out


def drawn(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return maps of people who stand in a grid: float32 (57, 46, 46)."""
    size, across = (0.9 if count > 4 else 1.4), int(np.ceil(np.sqrt(count)))
    y, x = np.mgrid[:GRID, :GRID]
    maps = rng.normal(0, 0.01, (57, GRID, GRID))
    for i in range(count):
        slot = (np.array([i % across, i // across]) + 0.5) * GRID / across
        person = _BODY * size + slot + rng.uniform(-0.4, 0.4, (18, 2))
        for joint, (px, py) in enumerate(person):
            np.maximum(maps[joint], np.exp(-((x - px) ** 2 + (y - py) ** 2) / 0.8), out=maps[joint])
        for limb, (a, b) in enumerate(OPENPOSE.limbs):
            vector = person[b] - person[a]
            length = float(np.hypot(*vector))
            unit = vector / length
            along = (x - person[a][0]) * unit[0] + (y - person[a][1]) * unit[1]
            beside = np.abs((x - person[a][0]) * unit[1] - (y - person[a][1]) * unit[0])
            near = (along > -1) & (along < length + 1) & (beside < 1)
            for k in (0, 1):
                maps[OPENPOSE.fields + 2 * limb + k][near] = unit[k]
    return maps.astype(np.float32)
