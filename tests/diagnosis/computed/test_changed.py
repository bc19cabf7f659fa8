"""Changed outputs are made when they are read."""

from __future__ import annotations

import numpy as np

from npu_layout.diagnosis.computed.changed import Changed


def test_a_row_is_changed_when_it_is_read() -> None:
    calls: list[int] = []

    def change(x: np.ndarray) -> np.ndarray:
        calls.append(int(x[0]))
        return -x

    changed = Changed([np.array([k]) for k in range(3)], change)
    assert len(changed) == 3 and list(changed) == [0, 1, 2] and not calls
    assert changed[1].tolist() == [-1] and calls == [1]
    assert changed.get(3) is None and calls == [1]
