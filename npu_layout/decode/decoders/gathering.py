"""Read one part of some cells from stored outputs, without unpacking the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...buffers import TensorSpec
from ..arithmetic.activations import activated
from ..outputs.places import Level, Place, offsets_along
from ..outputs.ranges import codes, values_of
from .reference import Candidates, Read, chosen, values


class Gather:
    """The places of a part in one level; `read` returns what is there, for cells that were found."""

    def __init__(self, place: Place, level: Level, spec: TensorSpec) -> None:
        self.place, self.level, self.spec = place, level, spec
        quantization, kind = spec.quantization, spec.element
        axis = None if quantization is None else quantization.axis
        self._each = axis is not None and axis == place.channel and place.inner is None  # a scale for each channel
        self._direct = not kind.nibbles and (axis is None or self._each)
        if not self._direct:
            return
        self._numbers = np.stack([place.numbers(a) for a in range(level.turns)])
        parts = [offsets_along(place, level, spec, a) for a in range(level.turns)]
        self._channels = np.stack([channels for channels, _, _ in parts])
        self._rows = np.stack([rows for _, rows, _ in parts])
        self._columns = np.stack([columns for _, _, columns in parts])
        self._means: np.ndarray | None = None
        self._active: np.ndarray | None = None
        if self._has_bytes and place.part.activation != "softmax":
            self._means, self._active = _tables(spec, place.part.activation)

    def read(self, flat: np.ndarray, found: Candidates) -> np.ndarray:
        """Return the part's values, activated, float64 (n, count); `flat`: the output's buffer."""
        if not self._direct:
            tensors = [self.spec.unpack(flat)]
            return chosen(self.place._replace(output=0), self.level, found, tensors)
        stored = self._stored(flat, found)
        if self._active is not None:
            return self._active[stored.view(np.uint8)]
        if not self._each:
            return activated(self.place.part.activation, _real(self.spec, stored))
        real = np.empty(stored.shape, np.float32)
        for a, numbers in enumerate(self._numbers):
            rows = np.flatnonzero(found.anchor == a)
            real[rows] = self._scaled(stored[rows].T, numbers).T
        return activated(self.place.part.activation, real)

    def _scaled(self, stored: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Return what codes mean, of channels by their numbers on axis 0."""
        given = self.spec.quantization
        assert given is not None
        if not stored.size:
            return np.zeros(stored.shape, np.float32)
        scales, zeros = (np.asarray(v)[numbers] for v in (given.scale, given.zero_point))
        return type(given)(scales, zeros, 0).dequantize(stored)

    def read_each(self, flat: np.ndarray, found: Candidates, channels: np.ndarray) -> np.ndarray:
        """Return the value of one channel of each candidate, not activated, float64 (n,)."""
        if not self._direct:
            part = values(self.place, self.level, self.spec.unpack(flat))
            return np.asarray(part[found.anchor, channels, found.cell], np.float64)
        at = self._cells(found) + self._channels[found.anchor, channels]
        if self._means is not None:
            return np.asarray(self._means[flat[at].view(np.uint8)])
        if self._each:
            return self._scaled(flat[at], self._numbers[found.anchor, channels]).astype(np.float64)
        return _real(self.spec, flat[at]).astype(np.float64)

    @property
    def _has_bytes(self) -> bool:
        """Whether what is stored are 8-bit integers of one scale."""
        kind = self.spec.element.unpacked
        return self._direct and not self._each and kind.kind in "iu" and kind.itemsize == 1

    def steps(self, flat: np.ndarray, found: Candidates) -> np.ndarray:
        """Return the part's stored integers above the zero point, int16 (n, count); `are_steps` must be true."""
        zero = 0 if self.spec.quantization is None else int(self.spec.quantization.zero_point)  # type: ignore[arg-type]
        return self._stored(flat, found).astype(np.int16) - np.int16(zero)

    def _stored(self, flat: np.ndarray, found: Candidates) -> np.ndarray:
        stored: np.ndarray = flat[self._cells(found)[:, None] + self._channels[found.anchor]]
        return stored

    def _cells(self, found: Candidates) -> np.ndarray:
        width = self._columns.shape[1]
        at: np.ndarray = self._rows[found.anchor, found.cell // width] + self._columns[found.anchor, found.cell % width]
        return at


def _tables(spec: TensorSpec, activation: str) -> tuple[np.ndarray, np.ndarray]:
    """Return what codes of 8 bits mean, by their bits, and the same activated: float64 (256,)."""
    stored = codes(spec)
    assert stored is not None
    means = np.empty(256)
    means[stored.view(np.uint8)] = values_of(spec, stored)[0]
    return means, activated(activation, means[None])[0]


def _real(spec: TensorSpec, stored: np.ndarray) -> np.ndarray:
    """Return what stored elements mean, as TensorSpec.unpack does."""
    if spec.dtype == "bfloat16":
        return (stored.astype(np.uint32) << 16).view(np.float32)
    return stored if spec.quantization is None else spec.quantization.dequantize(stored)


def are_steps(place: Place, spec: TensorSpec) -> bool:
    """Whether what is stored are 8-bit integers that count steps of one scale from a whole zero point, in 16 bits."""
    kind, given = spec.element, spec.quantization
    if kind.nibbles or kind.unpacked.kind not in "iu" or kind.unpacked.itemsize != 1 or place.part.activation != "none":
        return False
    zero = 0.0 if given is None else np.inf if given.axis is not None else float(given.zero_point)
    return abs(zero) <= _FARTHEST and zero.is_integer()


_FARTHEST = 1 << 14  # a zero point from which steps have 16 bits


def gathers(levels: Sequence[Level], role: str, specs: Sequence[TensorSpec]) -> list[Gather]:
    """Return one for each level that has the role."""
    return [
        Gather(level.places[role], level, specs[level.places[role].output]) for level in levels if role in level.places
    ]


def reader(gathered: Mapping[str, Sequence[Gather]], flat: Sequence[np.ndarray]) -> Read:
    """Return what reads values of candidates from the stored buffers; gathered: {role: one for each level}."""

    def read(role: str, n: int, found: Candidates, channels: np.ndarray | None = None) -> np.ndarray:
        gather = gathered[role][n]
        buffer = flat[gather.place.output]
        return gather.read(buffer, found) if channels is None else gather.read_each(buffer, found, channels)

    return read
