"""What public calls return is copied, pickled and compared as any object is, or the library says why it is not."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

import npu_layout as nl
from tests.support.bad_calls import fresh_folder
from tests.support.good_calls import CALLS

WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
}


@pytest.mark.parametrize("name", [name for name in CALLS if not name.startswith("pytest_plugin")])
def test_a_result(name: str, tmp_path: Path) -> None:
    with fresh_folder(tmp_path):
        result = CALLS[name]()()
        kind = type(result)
        if not kind.__module__.startswith("npu_layout") or issubclass(kind, (np.ndarray, tuple)):
            return  # those compare their elements
        for way in WAYS.values():
            try:
                other = way(result)
            except nl.NpuLayoutError as error:
                assert "cannot be copied or pickled" in str(error)
                continue
            assert type(other) is kind and (result == other) in (True, False) and result == result
            assert repr(other).partition(" at 0x")[0] == repr(result).partition(" at 0x")[0]
