"""Labels: outputs of class numbers, of which one is not more than another: equal or not, and taken for which."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

_MOST = 256  # different ones: what has more is a number, or an index
_ENOUGH = 16  # places of a label


class Confused(NamedTuple):
    """A label of the model's that the device mostly gives as another one, in such a share of its places."""

    label: int
    given: int
    share: float


class Labels:
    """Counts over the frames that were added."""

    def __init__(self) -> None:
        self.equal = self.places = 0
        self._seen: Counter[tuple[int, int]] | None = Counter()

    def add(self, device: np.ndarray, model: np.ndarray) -> None:
        """device, model: whole numbers, arrays of one shape."""
        self.equal += int((device == model).sum())
        self.places += model.size
        if self._seen is None:
            return
        pairs, counts = np.unique(np.stack([model.ravel(), device.ravel()]), axis=1, return_counts=True)
        self._seen.update({(int(m), int(d)): int(n) for m, d, n in zip(*pairs, counts)})
        if len({label for label, _ in self._seen}) > _MOST:
            self._seen = None

    def confused(self) -> list[Confused]:
        """By the model's label; nothing where there are so many that they are none."""
        seen, places = self._seen or Counter(), Counter[int]()
        for (label, _), n in seen.items():
            places[label] += n
        found = [Confused(label, given, n / places[label]) for (label, given), n in seen.items() if label != given]
        return sorted(c for c in found if 2 * c.share > 1 and places[c.label] >= _ENOUGH)
