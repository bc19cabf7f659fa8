"""Every public call, with floats that are signalling NaNs, as bytes of other things may be: numpy warns of none.

The tests raise warnings. It warns where a float of another size is made of one, and marks it as an invalid value.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from tests.support.bad_calls import fresh_folder
from tests.support.good_calls import CALLS
from tests.support.public_call import Call

BITS = {2: (np.uint16, 0x7C01), 4: (np.uint32, 0x7F800001), 8: (np.uint64, 0x7FF0000000000001)}


def signalling(x: Any) -> Any:
    """The same with such NaNs in the arrays of floats; None if there are none."""
    if type(x) is np.ndarray and x.dtype.kind == "f" and x.itemsize in BITS:
        kind, bits = BITS[x.itemsize]
        return np.full(x.shape, bits, kind).view(x.dtype)
    if isinstance(x, (list, tuple, dict)):
        items = x.values() if isinstance(x, dict) else x
        changed = [signalling(item) for item in items]
        if all(new is None for new in changed):
            return None
        kept = [old if new is None else new for old, new in zip(items, changed)]
        return dict(zip(x, kept)) if isinstance(x, dict) else type(x)(kept)
    return None


TAKING = {"decode.masks": "xyxy", "decode.landmarks": "buffer", "identify": "reference", "TensorSpec.pack": "tensor"}


@pytest.mark.parametrize("name", CALLS)
def test_no_warning(name: str, tmp_path: Path) -> None:
    with fresh_folder(tmp_path):
        call = CALLS[name]()
        taken = []
        for argument, value in call.arguments.items():
            other = None if argument == "out" else signalling(value)
            if other is None:
                continue
            taken.append(argument)
            with suppress(nl.NpuLayoutError):  # such as of a mean
                Call(call.function, {**call.arguments, argument: other})()
        assert TAKING.get(name) in (None, *taken)
