"""Raw dumps and their spec file: what they contain comes in, and what is wrong is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout import exchange
from tests.support.exchanged import HEAT, dumps, equal, fingerprint, npy, recording


def test_raw_keeps_the_part_of_a_frame(tmp_path: Path) -> None:
    inputs = {"image": np.zeros((1, 3, 4, 4), np.float32), "frame": np.zeros((9, 9, 3), np.uint8)}
    runs = [({**inputs, "frame.roi_xywh": np.array([1, 2, 3, 4])}, {"y": np.zeros(4, np.int8)})]
    own = nl.Recording({"y": nl.TensorSpec((4,), "C", "int8")}, runs, {"preprocess": {"std": 255}})
    exchange.save(own, tmp_path / "dumps", form="raw")
    again = exchange.load(tmp_path / "dumps").frames[0].inputs["frame.roi_xywh"]
    assert again.tolist() == [1, 2, 3, 4] and again.dtype == np.int64


def test_raw_keeps_everything(tmp_path: Path) -> None:
    original = recording()
    exchange.save(original, tmp_path / "dumps", form="raw")
    before = fingerprint(tmp_path)
    loaded = exchange.load(tmp_path / "dumps")
    assert (loaded.specs, loaded.meta, len(loaded)) == (original.specs, original.meta, 3)
    for one, two in zip(original, loaded):
        for side, other in zip(one, two):
            equal(side, other)
        assert two.inputs["mask"].shape == (1, 4, 5) and two.inputs["threshold"].shape == ()
        assert two.outputs["boxes/xyxy:0"].shape == (24,)  # a buffer
    assert nl.Recording(loaded.specs, loaded, loaded.meta).frames[2].inputs["threshold"] == np.float32(0.5)
    loaded.save(tmp_path / "own")
    equal(nl.Recording.load(tmp_path / "own").frames[1].outputs, original.frames[1].outputs)
    with pytest.raises(nl.RecordingError, match=r"own.*Recording\.load reads it"):
        exchange.load(tmp_path / "own")
    shutil.rmtree(tmp_path / "own")
    assert fingerprint(tmp_path) == before


def test_a_spec_file_written_by_hand(tmp_path: Path) -> None:
    words = {
        "outputs": {
            "heat": {
                "file": "heat_*.bin",
                "shape": [1, 17, 4, 5],
                "layout": "NC1HWC2",
                "block": 16,
                "dtype": "int8",
                "scale": 0.1,
                "zero_point": 3,
            },
            "vector": {"file": "run*/v.npy", "shape": [1, 4]},
        },
        "inputs": {
            "image": {"file": "image-*.raw", "shape": [1, 3, 2, 2], "dtype": "uint8", "layout": "NHWC"},
            "plain": {"file": "run*/plain.raw", "shape": [2, 3], "dtype": "int16"},
            "scale": {"file": "run*/scale.npy"},
        },
        "meta": {"preprocess": {"color": "RGB"}},
    }
    order = ("2", "9", "10", "11")
    buffers = {k: np.random.default_rng(int(k)).integers(-128, 128, HEAT.size).astype(np.int8) for k in order}
    for k in order:
        files = {
            f"heat_{k}__bin": buffers[k].tobytes(),
            f"run{k}__v__npy": npy(np.full((2, 2), int(k), np.float32)),  # another shape: the bytes count
            f"image-{k}__raw": bytes(range(12)),
            f"run{k}__plain__raw": np.full(6, int(k), np.int16).tobytes(),
            f"run{k}__scale__npy": npy(np.array(int(k), np.float64)),
        }
        dumps(tmp_path, **files)
    dumps(tmp_path, words)
    before = fingerprint(tmp_path)
    for path in (tmp_path, tmp_path / "spec.json", str(tmp_path)):
        loaded = exchange.load(path)
        assert loaded.specs["heat"] == HEAT and set(loaded.specs) == {"heat", "vector", "image"}
        assert loaded.meta == words["meta"] and len(loaded) == 4
        for k, frame in zip(order, loaded):
            np.testing.assert_array_equal(frame.outputs["heat"], buffers[k])
            assert frame.outputs["vector"].tolist() == [int(k)] * 4
            assert loaded.specs["vector"].unpack(frame.outputs["vector"]).shape == (1, 4)
            assert frame.inputs["plain"].tolist() == [[int(k)] * 3] * 2 and frame.inputs["plain"].dtype == np.int16
            assert frame.inputs["scale"].shape == () and frame.inputs["scale"] == int(k)
    assert loaded.specs["image"].unpack(loaded.frames[0].inputs["image"])[0, :, 0, 0].tolist() == [0, 1, 2]
    assert fingerprint(tmp_path) == before

    elsewhere = tmp_path / "elsewhere.json"
    (tmp_path / "spec.json").rename(elsewhere)
    assert len(exchange.load(tmp_path, form="raw", description=elsewhere)) == 4
    with pytest.raises(nl.RecordingError, match="form is not recognised"):
        exchange.load(tmp_path)
    by_name = exchange.load(tmp_path, form="raw", specs={"heat": HEAT})  # heat_*.bin is found by the name
    assert by_name.specs == {"heat": HEAT} and len(by_name) == 4
    override = nl.TensorSpec((1, 17, 4, 5), "NCHW16c", "int8", quantization=nl.Quantization(0.2, 0))
    assert exchange.load(tmp_path, form="raw", description=words, specs={"heat": override}).specs["heat"] is override


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"shape": [1, 3]}, r"y\.bin: output 'y': 4 bytes; expected 12 for 'y': layout NC of \(1,3\) float32"),
        ({"shape": [1, 4], "dtype": "int8", "layout": "NHWC"}, "layout NHWC has 4 axes"),
        ({"shape": [1, 4], "dtype": "int7"}, "int7"),
        ({"shape": [1, 4], "dtype": "int8", "layout": "NC1HWC2"}, "needs block="),
        ({"shape": [1, 4], "dtype": "int8", "layout": "NQ9"}, "unknown layout name 'NQ9'"),
        ({"shape": [1, 4], "dtype": "int8", "block": 4}, "block"),
        ({"shape": [1, 4], "dtype": "int8", "zero_point": 4}, "expected scale"),
        ({"shape": [1, 4], "dtype": "int8", "scale": 0}, "scale: expected positive"),
        ({"shape": [1, 4], "dtype": "int8", "scale": [1, 2]}, "give axis="),
        ({"shape": [1, 4], "dtype": "int8", "scales": 1}, "got .*scales"),
        ({"shape": "NCHW", "dtype": "int8"}, "shape"),
        ({"dtype": "int8"}, "shape"),
        ({"shape": [10**9, 10**9], "dtype": "int8"}, "4 bytes; expected 1000000000000000000"),
        ({"shape": [1, 4], "dtype": "int8", "file": "z.bin"}, "file: nothing .* 'z.bin'"),
        ({"shape": [1, 4], "dtype": "int8", "file": "../y.bin"}, "file: expected a path below"),
        ({"shape": [1, 4], "dtype": "int8", "file": "a/../../y.bin"}, "file: expected a path below"),
        ({"shape": [1, 4], "dtype": "int8", "file": "/etc/passwd"}, "file: expected a path below"),
        ({"shape": [1, 4], "dtype": "int8", "file": "C:\\y.bin"}, "file: expected a path below"),
        ({"shape": [1, 4], "dtype": "int8", "file": "y\0.bin"}, "file: expected a path below"),
        ({"shape": [1, 4], "dtype": "int8", "file": ["y.bin"]}, "file: expected a path below"),
        ({"shape": [1, 4], "dtype": "int8", "file": "*/*.bin"}, r"one \* at most"),
        ({"shape": [1, 4], "dtype": "int8", "file": "link.bin"}, r"link\.bin: output 'y': leaves the folder"),
        ({"shape": [1, 4], "dtype": "int8", "file": "out/secret.bin"}, r"secret\.bin: output 'y': leaves the folder"),
        ({"shape": [1, 4], "dtype": "int8", "file": "o*/secret.bin"}, r"secret\.bin: output 'y': leaves the folder"),
        ({"shape": [1, 4], "dtype": "int8", "file": "sub"}, "sub: output 'y': expected a file"),
        ({"shape": [1, 4], "dtype": "int8", "file": "f.npy"}, "npy of float32; expected int8 or its bytes"),
        ({"shape": [2, 2], "dtype": "float32", "file": "t.npy"}, "npy in column order"),
        (
            {"shape": [1, 2, 3, 4], "layout": "NHWC", "dtype": "float32", "file": "c.npy"},
            r"c\.npy: output 'y': buffer has shape \(1, 2, 3, 4\), axes in the order NCHW; 'y': layout NHWC",
        ),
        ({"file": "f.npy", "dtype": "float32"}, r"give its shape, and its layout, dtype and scale if it has any"),
        ({"shape": [1, 4], "dtype": "int8", "file": "o.npy"}, r"o\.npy: output 'y': dtype object"),
        ("y.bin", r"expected \{...\}, got 'y.bin'"),
        (None, "got None"),
    ],
)
def test_a_spec_file_that_is_wrong(tmp_path: Path, entry: Any, says: str) -> None:
    outside = tmp_path / "outside"
    dumps(outside, secret__bin=bytes(4))
    folder = tmp_path / "dumps"
    square, cube = np.arange(4, dtype=np.float32).reshape(2, 2), np.zeros((1, 2, 3, 4), np.float32)
    dumps(folder, y__bin=bytes(4), f__npy=npy(square[:1, :1]), t__npy=npy(square.T), c__npy=npy(cube))
    np.save(folder / "o.npy", np.array([None]), allow_pickle=True)
    (folder / "sub").mkdir()
    (folder / "link.bin").symlink_to(outside / "secret.bin")
    (folder / "out").symlink_to(outside)
    dumps(folder, {"outputs": {"y": entry}})
    with pytest.raises(nl.RecordingError, match=says) as refused:
        exchange.load(folder)
    assert "'y'" in str(refused.value) and str(folder) in str(refused.value)


def test_raw_folders_that_are_not_whole(tmp_path: Path) -> None:
    tensor = {"shape": [1, 4], "dtype": "int8"}
    both = {"outputs": {"y": {"file": "y_*.bin", **tensor}, "z": {"file": "z_*.bin", **tensor}}}
    whole = {f"{n}_{i}__bin": bytes(4) for n in "yz" for i in range(3)}
    cases: dict[str, tuple[Any, dict[str, bytes], str]] = {
        "missing": (both, {k: v for k, v in whole.items() if k != "z_1__bin"}, "output 'z': no file for frame '1'"),
        "short": (both, {**whole, "y_2__bin": bytes(3)}, r"y_2\.bin: output 'y': 3 bytes; expected 4"),
        "none": ({"outputs": {}}, whole, "expected outputs"),
        "keys": ({**both, "model": "m"}, whole, "got outputs, model"),
        "list": ([], whole, "got list"),
        "meta": ({**both, "meta": 3}, whole, "meta: expected an object"),
        "infinite": ({**both, "meta": {"x": float("inf")}}, whole, r"spec\.json: meta"),
        "inputs": ({**both, "inputs": {"x": {}}}, whole, "input 'x': give its file; nothing"),
        "bare": ({**both, "inputs": {"x": {"file": "y_*.bin"}}}, whole, "only bytes; give its shape"),
        "two": ({"outputs": {"y": tensor}}, {"y__bin": bytes(4), "y__npy": bytes(4)}, r"y\.bin and y\.npy"),
        "slash": ({"outputs": {"a/b": tensor}}, whole, "give its file"),
        "star": (
            {"outputs": {"y": {"file": "y_0.bin", **tensor}, "z": both["outputs"]["z"]}},
            whole,
            "'y': no file for frame '0'",
        ),
    }
    for name, (words, files, says) in cases.items():
        dumps(tmp_path / name, words, **files)
        with pytest.raises(nl.RecordingError, match=says) as refused:
            exchange.load(tmp_path / name)
        assert str(tmp_path / name) in str(refused.value)
    (tmp_path / "twice").mkdir()
    (tmp_path / "twice" / "spec.json").write_text('{"outputs": {"y": {}, "y": {}}}')
    with pytest.raises(nl.RecordingError, match="twice"):
        exchange.load(tmp_path / "twice")
    with pytest.raises(nl.RecordingError, match=r"specs: .* no tensor 'q'"):
        exchange.load(dumps(tmp_path / "fine", both, **whole), specs={"q": HEAT})
    loaded = exchange.load(tmp_path / "fine")
    (tmp_path / "fine" / "z_1.bin").write_bytes(bytes(5))
    with pytest.raises(nl.RecordingError, match=r"z_1\.bin: output 'z': 5 bytes"):  # changed behind its back
        list(loaded)


def test_channels_go_out_and_come_in(tmp_path: Path) -> None:
    """As a field of the spec in raw dumps; in a form that has no specs, the input is the model's."""
    spec = nl.TensorSpec((1, 3, 2, 2), "NHWC", "uint8", channels="BGR")
    pixels = np.arange(12, dtype=np.uint8)
    original = nl.Recording(
        {"x": spec, "y": nl.TensorSpec((1, 2), "NC")}, [({"x": pixels}, {"y": np.ones(2, np.float32)})]
    )
    exchange.save(original, tmp_path / "dumps", form="raw")
    assert exchange.load(tmp_path / "dumps").specs["x"] == spec
    exchange.save(original, tmp_path / "runs.json", form="polygraphy")
    (run,) = exchange.load(tmp_path / "runs.json")
    equal(run.inputs, {"x": pixels.reshape(1, 2, 2, 3).transpose(0, 3, 1, 2)[:, ::-1]})
    description = {"inputs": {"x": {"shape": [1, 3, 2, 2], "dtype": "uint8", "channels": "BRG"}}}
    description["outputs"] = {"y": {"shape": [1, 2]}}
    with pytest.raises(nl.RecordingError, match=r"input 'x'.*channels: expected 'BGR' or 'RGB'"):
        exchange.load(tmp_path / "dumps", description=description)


def test_a_shape_in_storage_order_is_warned_of(tmp_path: Path) -> None:
    words = {"outputs": {"y": {"shape": [1, 8, 8, 5], "layout": "NHWC", "dtype": "int8"}}}
    folder = dumps(tmp_path / "raw", words, y__bin=bytes(320))
    with pytest.warns(UserWarning, match=r"read in the order of its axes, N=1, C=8, H=8, W=5"):
        assert exchange.load(folder).specs["y"].axes == "NCHW"
    words["outputs"]["y"]["axes"] = "NHWC"
    assert exchange.load(dumps(tmp_path / "said", words, y__bin=bytes(320))).specs["y"].axes == "NHWC"


def test_a_missing_spec_file_is_drafted(tmp_path: Path) -> None:
    folder = dumps(tmp_path / "flat", heat_0__npy=npy(np.zeros((1, 4, 4, 5), np.uint8)), heat_1__npy=b"", b__bin=b"123")
    with pytest.raises(nl.RecordingError, match=r"spec\.json: expected a file that describes the dumps") as refused:
        exchange.load(folder, form="raw")
    drafted = json.loads("{" + str(refused.value).partition("{")[2].rpartition("}")[0] + "}")
    open_ = {"layout": "LAYOUT", "scale": "SCALE", "zero_point": "ZERO"}
    assert drafted["outputs"] == {
        "heat": {"file": "heat_*.npy", "shape": [1, 4, 4, 5], "dtype": "uint8", **open_},
        "b": {"file": "b.bin", "shape": "SHAPE", "dtype": "DTYPE", **open_},
    }
    for name in ("Result_0", "Result_1"):
        dumps(tmp_path / "qnn" / name, conv1__raw=bytes(4))
    with pytest.raises(nl.RecordingError, match=r'"conv1": \{"file": "Result_\*/conv1\.raw"'):
        exchange.load(tmp_path / "qnn", form="raw")
    dumps(tmp_path / "none", notes__txt=b"")
    with pytest.raises(nl.RecordingError, match=r"got nothing$"):
        exchange.load(tmp_path / "none", form="raw")
    dumps(tmp_path / "damaged", a__npy=b"no array")
    with pytest.raises(nl.RecordingError, match=r"a\.npy"):
        exchange.load(tmp_path / "damaged", form="raw")


def test_camera_frames_are_images(tmp_path: Path) -> None:
    frames = np.random.default_rng(0).integers(0, 256, (2, 6, 8, 3)).astype(np.uint8)
    words = {"outputs": {"y": {"shape": [1, 4], "dtype": "int8"}}, "inputs": {"frame": {"file": "frame_*.png"}}}
    folder = dumps(tmp_path / "raw", words, y_0__raw=bytes(4), y_1__raw=bytes(4))
    for i, frame in enumerate(frames):
        (folder / f"frame_{i}.png").write_bytes(cv2.imencode(".png", frame)[1].tobytes())
    loaded = exchange.load(folder)
    assert all(np.array_equal(run.inputs["frame"], frame) for run, frame in zip(loaded, frames))
    (folder / "frame_1.png").write_bytes(b"no image")
    with pytest.raises(nl.RecordingError, match=r"frame_1\.png: input 'frame': cannot be read as an image"):
        list(loaded)
    words["inputs"] = {"image": {"file": "frame_*.png"}}  # what a model is fed with is no file of an image
    with pytest.raises(nl.RecordingError, match=r"input 'image': frame_[01]\.png contains only bytes"):
        exchange.load(dumps(folder, words))
