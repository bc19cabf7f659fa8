"""nl.ops.table: every operator, every format, whatever is imported first."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import ops
from tests.support.operators import DTYPES
from tests.support.paths import ROOT

ROOMS = sorted(path.stem for path in Path(ops.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("first", ROOMS)
def test_the_order_of_imports_does_not_matter(first: str) -> None:
    """Whichever module of the wing is imported first, the table is the same."""
    code = f"import npu_layout.ops.{first}, npu_layout as nl; print(nl.ops.table())"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == f"{ops.table()}\n", done.stderr


def test_every_operator_and_format_has_a_kernel() -> None:
    tags = ["".join(p) for p in itertools.permutations("NCHW") if "".join(p) not in ("WHCN", "CWHN")]
    for dtype in DTYPES:
        table = ops.table(tags, dtype)
        assert all(list(row) == tags and all(row.values()) for row in table.values())
    others = ("table", "result_layout", "above", "max_channels")  # the last two have no kernels of their own
    public = set(ops.__all__) - set(others)
    assert {name.split(",")[0] for name in ops.table()} == public
    assert ops.table()["resize"]["NWHC"] == "generic"
    assert "generic" not in ops.table(["NCHW", "NHWC", "CHWN", "NHCW"])["resize"].values()
    assert ops.table(dtype="float64")["argmax_channels"]["NHWC"] == "generic"
    computing = ops.table(dtype="uint8").keys() - {"resize", "resize, nearest"}
    assert all(ops.table(dtype=bool)[name] == ops.table(dtype="uint8")[name] for name in computing)
    for dtype in ("f4", np.float32, np.dtype(">f4")):
        assert ops.table(dtype=dtype) == ops.table()
    lines = str(ops.table()).splitlines()
    assert len(lines) == len(ops.table()) + 1
    assert lines[0].split() == ["NCHW", "NHWC", "CHWN", "NHCW", "NWHC"]


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: ops.table(["NCW"]), "axes NCHW"),
    (lambda: ops.table(dtype="no dtype"), "table: dtype 'no dtype'"),
]


@pytest.mark.parametrize("call, message", BAD)
def test_bad_input(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=message):
        call()
