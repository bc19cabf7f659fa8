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


def test_a_dtype_of_the_other_byte_order(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reference = np.random.default_rng(0).standard_normal((1, 5, 6, 7)).astype(np.float32)
    np.save("reference.npy", reference)
    reference.astype(">f4").transpose(0, 2, 3, 1).tofile("foreign.bin")
    for dtype in ([], ["--dtype", ">f4"]):
        status, out, _ = ran(capsys, "identify", "foreign.bin", "reference.npy", *dtype)
        assert status == 0 and "TensorSpec((1, 5, 6, 7), 'NHWC', '>f4')" in out
    assert ran(capsys, "identify", "foreign.bin", "reference.npy", "--dtype", "float32")[0] == 1
    status, out, _ = ran(capsys, "identify", "foreign.bin", "reference.npy", "--dtype", "bfloat16")
    assert status == 1 and "not identified" in out


@pytest.mark.parametrize("dtype", ["O", "S", "V0", "U4", "i4,f4", "int4", "M8", "", "nonsense"])
def test_a_dtype_that_no_buffer_has(here: Path, capsys: pytest.CaptureFixture[str], dtype: str) -> None:
    status, _, said = ran(capsys, "identify", "heat.bin", "heat.npy", "--dtype", dtype)
    assert status == 2 and "--dtype" in said and "defect" not in said


def test_files_in_the_other_order(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, said = ran(capsys, "identify", "heat.npy", "heat.bin")
    assert status == 2 and "heat.bin: expected the tensor (.npy); the buffer comes before it" in said
