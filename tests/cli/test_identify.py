"""npu-layout identify: a buffer that was packed by this library is identified, another one is not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import ran


def test_identify(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = ran(capsys, "identify", "heat.bin", "heat.npy", "--dtype", "int8")
    assert status == 0 and "TensorSpec((1, 57, 46, 46), 'NCHW16c', 'int8', quantization=Quantization(0.0" in out
    found = json.loads(ran(capsys, "identify", "heat.bin", "heat.npy", "--json")[1])
    assert found["spec"]["layout"] == "NCHW16c" and found["ranking"][0]["score"] > 20
    np.save("flat.npy", np.fromfile("heat.bin", np.int8))
    assert ran(capsys, "identify", "flat.npy", "heat.npy", "--axes", "NCHW")[0] == 0
    np.save("other.npy", np.random.default_rng(1).standard_normal((1, 57, 46, 46)))
    status, out, _ = ran(capsys, "identify", "heat.bin", "other.npy")
    assert status == 1 and "not identified" in out
