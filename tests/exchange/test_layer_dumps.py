"""Each tool's dump is read by its names and values; what is no dump is refused in a sentence."""

from __future__ import annotations

import io
import json
import shutil
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import exchange
from npu_layout.exchange.layer_dumps import open_layers
from tests.support.exchanged import SNAPSHOT, recording
from tests.support.layer_dumps import as_npy, as_qairt, channels_last

LAYERS = {
    "/conv/out": np.random.default_rng(0).standard_normal((1, 3, 4, 5)).astype(np.float32),
    "scores": np.arange(6, dtype=np.float32).reshape(1, 6),
}


def test_arrays_and_bytes() -> None:
    dump = open_layers({"a": LAYERS["scores"], "b": b"1234", "c": [[1.0]]})
    assert dump.form == "arrays" and dump.readers["b"]() == b"1234" and dump.readers["c"]().shape == (1, 1)
    assert open_layers({"b": bytearray(b"12")}).readers["b"]() == b"12"
    assert open_layers({"x": np.zeros(3, np.longdouble)}).readers["x"]().dtype == np.float64  # type: ignore[union-attr]
    for values, dtype in (("x", "<U1"), ("longer", "<U6"), ([1j], "complex128"), (np.zeros(1, "i8,i8"), ".*f1")):
        with pytest.raises(nl.RecordingError, match=f"layer 'a': expected numbers or bytes, got {dtype}"):
            open_layers({"a": values}).readers["a"]()


def test_bfloat16_of_ml_dtypes() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes brings bfloat16 to numpy")
    halves = np.array([1.0, -2.5], ml_dtypes.bfloat16)
    assert open_layers({"x": halves}).readers["x"]().tolist() == [1.0, -2.5]  # type: ignore[union-attr]


def test_npz_and_a_folder(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "all.npz", **LAYERS)
    as_npy(LAYERS, tmp_path / "folder")
    for path, form in ((tmp_path / "all.npz", "npz"), (tmp_path / "folder", "files")):
        dump = open_layers(path)
        assert dump.form == form and len(dump.readers) == 2
        assert np.array_equal(dump.readers["scores"](), LAYERS["scores"])
    assert "conv/out" in open_layers(tmp_path / "folder").readers
    with zipfile.ZipFile(tmp_path / "bad.npz", "w") as archive:
        archive.writestr("x.npy", b"no array")
    with pytest.raises(nl.RecordingError, match=r"bad\.npz: x\.npy"):
        open_layers(tmp_path / "bad.npz").readers["x"]()
    (tmp_path / "torn.npz").write_bytes(b"PK")
    with pytest.raises(nl.RecordingError, match=r"torn\.npz"):
        open_layers(tmp_path / "torn.npz")


def test_qualcomms_results(tmp_path: Path) -> None:
    as_qairt(LAYERS, tmp_path / "out")
    as_qairt({k: v + 1 for k, v in LAYERS.items()}, tmp_path / "out", 1)
    native = {"scores": np.arange(6, dtype=np.uint8)}
    as_qairt({**native, "only": native["scores"]}, tmp_path / "more", suffix="_native")
    for file in (tmp_path / "more" / "Result_0").iterdir():
        shutil.copy(file, tmp_path / "out" / "Result_0")
    dump = open_layers(tmp_path / "out")
    assert dump.form == "qairt" and sorted(dump.readers) == ["_conv_out", "only", "scores"]
    assert dump.readers["_conv_out"]() == channels_last(LAYERS["/conv/out"]).tobytes()
    assert dump.readers["scores"]() == LAYERS["scores"].tobytes()  # the floats, where both are there
    assert dump.readers["only"]() == bytes(range(6))
    assert open_layers(tmp_path / "out", 1).readers["scores"]() == (LAYERS["scores"] + 1).tobytes()
    assert open_layers(tmp_path / "out" / "Result_0").form == "files"
    as_qairt(LAYERS, tmp_path / "latest" / "output")  # the accuracy debugger's own folder
    assert sorted(open_layers(tmp_path / "latest").readers) == ["_conv_out", "scores"]
    with pytest.raises(nl.RecordingError, match="frame 2: there are only Result_0, Result_1"):
        open_layers(tmp_path / "out", 2)


def test_aimets_layer_outputs(tmp_path: Path) -> None:
    home = tmp_path / "aimet" / "outputs" / "layer_outputs_0"
    home.mkdir(parents=True)
    (home / "conv_out.raw").write_bytes(LAYERS["/conv/out"].tobytes())
    (tmp_path / "aimet" / "layer_output_name_order.json").write_text(json.dumps({"layer_output_names": ["conv_out"]}))
    dump = open_layers(tmp_path / "aimet")
    assert dump.form == "aimet" and list(dump.readers) == ["conv_out"] and dump.numbered
    (tmp_path / "aimet" / "layer_output_name_order.json").unlink()
    assert open_layers(tmp_path / "aimet")[:2] == dump[:2]
    (tmp_path / "aimet" / "LayerOutputNameMapper.json").write_text(json.dumps({"/conv/out": "conv_out"}))
    assert list(open_layers(tmp_path / "aimet").readers) == ["/conv/out"]
    mapper = tmp_path / "aimet" / "LayerOutputNameMapper.json"
    mapper.write_text(json.dumps({"conv/out": "conv_out", "conv.out": "conv_out"}))  # who wrote it last is unknown
    assert list(open_layers(tmp_path / "aimet").readers) == ["conv_out"]
    mapper.write_text(json.dumps({"other": "conv_out"}))
    shutil.copy(
        *(next((tmp_path / "aimet").rglob("conv_out.raw")).with_name(f"{n}.raw") for n in ("conv_out", "other"))
    )
    with pytest.raises(nl.RecordingError, match=r"two files have tensor 'other', one of them other\.raw"):
        open_layers(tmp_path / "aimet")
    (tmp_path / "aimet" / "LayerOutputNameMapper.json").write_text("[1]")
    with pytest.raises(nl.RecordingError, match=r"LayerOutputNameMapper\.json: expected \{name: file's name\}, got"):
        open_layers(tmp_path / "aimet")


def test_a_snapshot_of_rknn_toolkit2() -> None:
    golden, simulated = (open_layers(SNAPSHOT / side) for side in ("golden", "simulator/npy"))
    assert golden.form == simulated.form == "rknn" and "heat/out:0" in golden.readers
    assert not {"a/b", "a_b"} & set(golden.readers)  # which share a file
    assert list(open_layers(SNAPSHOT).readers) == list(simulated.readers)
    found = exchange.compare_layers(SNAPSHOT / "golden", SNAPSHOT / "simulator", SNAPSHOT / "model.onnx")
    by_name = {layer.name: layer for layer in found.layers}
    assert found and by_name["heat/out:0"].verdict == "same" and by_name["a/b"].verdict == "missing"
    assert "im age_int8" in found.unknown_a


def test_polygraphy_and_recordings(tmp_path: Path) -> None:
    original = recording()
    exchange.save(original, tmp_path / "polygraphy", form="polygraphy")
    exchange.save(original, tmp_path / "raw", form="raw")
    original.save(tmp_path / "own")
    expected = original.specs["heat"].unpack(original.frames[1].outputs["heat"])
    for name, form in (("polygraphy", "polygraphy"), ("raw", "raw"), ("own", "recording")):
        dump = open_layers(tmp_path / name, 1)
        assert dump.form == form and np.array_equal(dump.readers["heat"](), expected), name
    with pytest.raises(nl.RecordingError, match=r"frame: expected 0 \.\. 2, got 3"):
        open_layers(tmp_path / "own", 3)


def test_what_is_no_dump(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "x.npy").write_bytes(b"")
    for path, says in (("empty", "expected tensors"), ("x.npy", "got another file"), ("gone", "got nothing")):
        with pytest.raises(nl.RecordingError, match=says):
            open_layers(tmp_path / path)
    outside = tmp_path / "secret.npy"
    np.save(outside, np.zeros(3))
    (tmp_path / "empty" / "link.npy").symlink_to(outside)
    with pytest.raises(nl.RecordingError, match="leaves the folder"):
        open_layers(tmp_path / "empty").readers["link"]()


def test_damaged_dumps_are_refused(tmp_path: Path) -> None:
    """Whatever the bytes of a dump are, it is read or refused with a RecordingError."""
    np.savez(tmp_path / "all.npz", **LAYERS)
    whole = (tmp_path / "all.npz").read_bytes()
    np.save(tmp_path / "one.npy", LAYERS["scores"])
    one = (tmp_path / "one.npy").read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for i in range(200):
        content = bytearray(whole if i % 2 else one)
        content[rng.integers(len(content))] ^= 1 << rng.integers(8)
        content = content[: rng.integers(1, len(content))] if i % 5 == 0 else content
        folder = tmp_path / str(i)
        folder.mkdir()
        path = folder / "x.npz" if i % 2 else folder
        (folder / ("x.npz" if i % 2 else "x.npy")).write_bytes(content)
        try:
            for read in open_layers(path).readers.values():
                read()
        except nl.RecordingError as error:
            assert str(folder) in str(error)
            refused += 1
    assert 50 < refused < 200


def test_archives_that_claim_more_or_less_than_they_contain(tmp_path: Path) -> None:
    """An array is decompressed only if its header says as many bytes; a name that is there twice is refused."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (10,)})
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", header.getvalue() + bytes(1 << 26))
    read = open_layers(tmp_path / "bomb.npz").readers["a"]
    tracemalloc.start()
    try:
        with pytest.raises(
            nl.RecordingError, match=r"a\.npy: 67108864 bytes follow the header; uint8 of \(10,\) takes 10"
        ):
            read()
        assert tracemalloc.get_traced_memory()[1] < 1 << 22
    finally:
        tracemalloc.stop()

    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(tmp_path / "twice.npz", "w") as archive:
        for _ in range(2):
            archive.writestr("a.npy", header.getvalue() + bytes(10))
    with pytest.raises(nl.RecordingError, match=r"a\.npy is there 2 times"):
        open_layers(tmp_path / "twice.npz")
