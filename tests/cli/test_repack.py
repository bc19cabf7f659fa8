"""npu-layout repack: raw files and .npy of every kind of dtype, links and pipes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import npu_layout as nl
from tests.support.command_line import ran


@pytest.mark.parametrize("dtype", ["int8", "float16", "bfloat16", "int4", ">u2", "bool"])
@pytest.mark.parametrize("raw", [True, False])
def test_repack(here: Path, capsys: pytest.CaptureFixture[str], dtype: str, raw: bool) -> None:
    shape = (1, 21, 4, 6)
    source, target = (nl.TensorSpec(shape, layout, dtype) for layout in ("NCHW16c", "NHWC"))
    most = 2 if dtype == "bool" else 8
    buffer = source.pack(np.random.default_rng(0).integers(0, most, shape).astype(source.element.unpacked))
    if raw:
        buffer.tofile("in.bin")
    else:
        np.save("in.npy", buffer)
    names = ["in.bin", "out.bin"] if raw else ["in.npy", "out.npy"]
    how = ["--shape", "1x21x4x6", "--from", "NC1HWC2:16", "--to", "NHWC"]
    if raw or dtype in ("bfloat16", "int4"):
        how += ["--dtype", dtype]
    status, out, _ = ran(capsys, "repack", *names, *how)
    assert status == 0 and "NHWC of (1,21,4,6)" in out
    read = np.fromfile(names[1], target.stored) if raw else np.load(names[1])
    np.testing.assert_array_equal(target.unpack(read), source.unpack(buffer))
    assert raw or dtype == "int4" or read.shape == (1, 4, 6, 21)
    before = Path(names[1]).read_bytes()
    status, _, err = ran(capsys, "repack", *names, *how)
    assert status == 2 and "--force" in err and Path(names[1]).read_bytes() == before
    assert ran(capsys, "repack", *names, *how, "--force")[0] == 0
    assert not list(Path().glob(".*"))


def test_a_npy_file_whose_shape_says_another_order(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The library refuses such an array; its elements in one row would be read as NHWC."""
    array = np.arange(60, dtype=np.int8).reshape(1, 3, 4, 5)
    np.save("in.npy", array)
    for how in (["--from", "NHWC", "--to", "NCHW"], ["--from", "NHWC", "--to", "NCHW", "--dtype", "int8"]):
        status, out, err = ran(capsys, "repack", "in.npy", "out.npy", "--shape", "1x3x4x5", *how)
        assert status == 2 and "(1,3,4,5)" in err.replace(", ", ",") and not out and not Path("out.npy").exists()
    for name, given in (("rows", array.reshape(1, 60)), ("row", array.ravel()), ("plain", array[0])):
        np.save(f"{name}.npy", given)
        how = ["--shape", "1x3x4x5", "--from", "NCHW", "--to", "NHWC"]
        assert ran(capsys, "repack", f"{name}.npy", f"{name}_out.npy", *how)[0] == 0
        assert np.array_equal(np.load(f"{name}_out.npy"), array.transpose(0, 2, 3, 1))


def test_links_are_followed_and_pipes_written_to(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For root, a file put in their place would remove /dev/stdout."""
    Path("raw.bin").write_bytes(bytes(range(6)))
    how = ["--shape", "2x3", "--from", "NC", "--to", "CN", "--dtype", "uint8", "--force"]
    Path("there").write_bytes(b"old")
    Path("there").chmod(0o640)
    Path("link").symlink_to("there")
    assert ran(capsys, "repack", "raw.bin", "link", *how)[0] == 0
    assert Path("link").is_symlink() and Path("there").read_bytes() == bytes([0, 3, 1, 4, 2, 5])
    assert Path("there").stat().st_mode & 0o777 == 0o640
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert ran(capsys, "repack", "raw.bin", "pipe", *how)[0] == 0
        assert os.read(reader, 9) == bytes([0, 3, 1, 4, 2, 5]) and Path("pipe").is_fifo()
    finally:
        os.close(reader)
    status, _, err = ran(capsys, "validate", "good", "model.onnx", "--html", "/dev/full")
    assert status == 2 and "'/dev/full': No space left on device" in err


@pytest.mark.parametrize("verb", ["repack", "explain"])
def test_a_shape_in_storage_order_needs_its_axes(here: Path, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    """Channels last, as a tool lists them: read as N, C, H, W it would be another tensor of the same size."""
    pixels = np.random.default_rng(0).integers(0, 256, (1, 4, 4, 5)).astype(np.uint8)
    pixels.tofile("in.bin")
    repack = ["in.bin", "out.npy", "--shape", "1x4x4x5", "--from", "NHWC", "--to", "NCHW", "--dtype", "uint8"]
    how = {"repack": repack, "explain": ["NHWC", "1x4x4x5"]}[verb]
    status, out, err = ran(capsys, verb, *how)
    assert status == 2 and not out and not Path("out.npy").exists()
    assert "would mean N=1, C=4, H=4, W=5" in err and "--axes NHWC" in err and "--axes NCHW" in err
    for axes in ("NCHW", "NHWC"):
        force = ["--force"] * (verb == "repack")
        assert ran(capsys, verb, *how, *force, "--axes", axes)[0] == 0
    if verb == "repack":
        np.testing.assert_array_equal(np.load("out.npy"), pixels.transpose(0, 3, 1, 2))
