"""Compare outputs of class numbers: how many are equal, and which are confused."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_FIRST, _COUNT = -1, 1024  # labels that are counted; the device's other ones count as one
_MOST = 256  # different labels; an output that has more contains numbers or indices
_ENOUGH = 16  # elements of a label
_RARE = 0.1  # of all elements


class Confused(NamedTuple):
    """A label of the model that the device mostly returns as another one, and the share of its elements."""

    label: int
    given: int
    share: float


class Rarer(NamedTuple):
    """The model's commonest label, at how many places it has another one, and how many of these the device has."""

    commonest: int
    places: int
    equal: int


class Labels:
    """Counts over the frames that were added."""

    def __init__(self) -> None:
        self.equal = self.places = 0
        self._seen: np.ndarray | None = np.zeros((_COUNT, _COUNT + 1), np.int64)  # the model's, the device's

    def add(self, device: np.ndarray, model: np.ndarray) -> None:
        """Add a frame: arrays of whole numbers, of one shape."""
        self.equal += int((device == model).sum())
        self.places += model.size
        if self._seen is None or not model.size:
            return
        if model.min() < _FIRST or model.max() >= _FIRST + _COUNT:
            self._seen = None
            return
        known = (device >= _FIRST) & (device < _FIRST + _COUNT)
        given = np.where(known, device - _FIRST, _COUNT)
        codes = (model - _FIRST) * (_COUNT + 1) + given
        self._seen += np.bincount(codes.ravel().astype(np.int64), minlength=self._seen.size).reshape(self._seen.shape)

    def rarer(self) -> Rarer | None:
        """Return what is known of all labels but the commonest one; None if they are none, or more than a tenth."""
        if self._seen is None:
            return None
        places, equal = self._seen.sum(1), np.diagonal(self._seen)
        commonest = int(places.argmax())
        found = Rarer(commonest + _FIRST, *(int(x.sum() - x[commonest]) for x in (places, equal)))
        return found if 0 < found.places <= _RARE * self.places else None

    def confused(self) -> list[Confused]:
        """Return the confused labels by the model's label; none if there are so many that these are no labels."""
        if self._seen is None:
            return []
        places = self._seen.sum(1)
        labels = np.flatnonzero(places)
        if len(labels) > _MOST:
            return []
        most = self._seen.argmax(1)
        shares = self._seen.max(1) / np.maximum(places, 1)
        found = [Confused(int(k) + _FIRST, int(most[k]) + _FIRST, float(shares[k])) for k in labels]
        numbered = [c for c in found if c.label != c.given and c.given < _FIRST + _COUNT]
        return [c for c in numbered if 2 * c.share > 1 and places[c.label - _FIRST] >= _ENOUGH]
