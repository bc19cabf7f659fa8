"""Files that the command line names: what is read and written, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.cli import files


def test_files(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"")
    assert files.checked_file("--model", str(tmp_path / "m.onnx")) == str(tmp_path / "m.onnx")
    for path, got in ((tmp_path / "n.onnx", "nothing"), (tmp_path, "a folder")):
        with pytest.raises(nl.NpuLayoutError) as refused:
            files.checked_file("--model", str(path))
        assert str(refused.value) == f"--model: {path}: expected a file, got {got}"


def test_buffers(tmp_path: Path) -> None:
    numbers = np.arange(-6, 6, dtype=np.int16).reshape(3, 4)
    raw, npy = str(tmp_path / "a.bin"), str(tmp_path / "a.npy")
    files.write_array(raw, numbers.T)
    files.write_array(npy, numbers.T)
    assert Path(raw).read_bytes() == numbers.T.copy().tobytes() and np.array_equal(np.load(npy), numbers.T)
    assert files.buffer_in(raw).dtype == np.uint8 and files.buffer_in(raw).tobytes() == numbers.T.copy().tobytes()
    for path, shape in ((raw, (12,)), (npy, (4, 3))):
        found = files.buffer_in(path, "int16")
        assert found.dtype == np.int16 and found.shape == shape and np.array_equal(found.ravel(), numbers.T.ravel())
    np.save(tmp_path / "bytes.npy", numbers.view(np.uint8))
    assert np.array_equal(files.buffer_in(str(tmp_path / "bytes.npy"), "int16"), numbers.ravel())
    with pytest.raises(nl.NpuLayoutError, match=r"int16.*float32"):
        files.buffer_in(npy, "float32")
    np.savez(tmp_path / "frame-000000.npz", x=numbers)
    with pytest.raises(nl.NpuLayoutError, match=r"frame-000000\.npz: expected .* got an archive .* export RECORDING"):
        files.buffer_in(str(tmp_path / "frame-000000.npz"), "int16")
    Path(raw).write_bytes(bytes(7))
    with pytest.raises(nl.NpuLayoutError, match="7 bytes"):
        files.buffer_in(raw, "int16")
    for content, got in ((b"", "an empty file"), (bytes(2), r"begins with b'\\x00\\x00'"), (b"PK\3\4", "archive")):
        Path(raw).write_bytes(content)
        with pytest.raises(nl.NpuLayoutError, match=f"expected one array.*got .*{got}"):
            files.array_in(raw)


def test_specs(tmp_path: Path) -> None:
    spec = nl.TensorSpec((1, 5, 2, 3), "NCHW4c", "uint8", quantization=nl.Quantization(0.5, 3), name="heat")
    assert files.specs_in(json.dumps(spec.to_dict())) == {"heat": spec}
    other = nl.TensorSpec((4,), "N")
    several = json.dumps({"a": spec.to_dict(), "b": other.to_dict()})
    (tmp_path / "specs.json").write_text(several)
    assert files.specs_in(several) == files.specs_in(str(tmp_path / "specs.json")) == {"a": spec, "b": other}
    assert files.specs_in(json.dumps(other.to_dict())) == {"tensor": other}
    for text, says in (
        ("{", "not JSON"),
        ("", "not JSON"),
        ("{}", "expected a TensorSpec's fields"),
        ('{"a": 1, "layout": "NHWC"}', r"expected .* the key shape, or \{name: fields\}; got the keys a, layout"),
        ('{"a": {"layout": "NHWC"}}', "TensorSpec: expected a dict with shape"),
        ("{" * 3000, "not JSON"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=f"--spec: {says}"):
            files.specs_in(text)


def test_a_file_that_exists_is_kept(tmp_path: Path) -> None:
    path = str(tmp_path / "out.bin")
    files.free(path, force=False)
    Path(path).write_bytes(b"old")
    files.free(path, force=True)
    with pytest.raises(nl.NpuLayoutError, match="--force overwrites it"):
        files.free(path, force=False)
    assert Path(path).read_bytes() == b"old"
