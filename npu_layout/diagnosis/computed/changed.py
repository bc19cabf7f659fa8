"""The model's outputs as a device with another ending would return them, for pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np


class Changed(Mapping[int, np.ndarray]):
    """{row of the kept frames: the model's output, changed}; each is made when it is read."""

    def __init__(self, references: Sequence[np.ndarray], change: Callable[[np.ndarray], np.ndarray]) -> None:
        self._references, self._change = references, change

    def __getitem__(self, row: int) -> np.ndarray:
        if row not in range(len(self._references)):
            raise KeyError(row)
        return self._change(self._references[row])

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self._references)))

    def __len__(self) -> int:
        return len(self._references)
