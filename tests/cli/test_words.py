"""The words of the command line: what each is read as, and what is refused."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout import decode
from npu_layout.cli import words


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (words.shape, "1x57x46x46", (1, 57, 46, 46)),
        (words.shape, "1,57X46", (1, 57, 46)),
        (words.shape, "7", (7,)),
        (words.numbers, "128", [128.0]),
        (words.numbers, "123.7,-1e3,.5", [123.7, -1000.0, 0.5]),
        (words.tolerance, "0.99", ("", 0.99)),
        (words.tolerance, "heat:0.99", ("heat", 0.99)),
        (words.tolerance, "a:b:2", ("a:b", 2.0)),
        (words.layout, "NCHW16c", nl.Layout("NCHW16c")),
        (words.layout, "NC1HWC2:16", nl.Layout("NCHW16c")),
        (words.layout, "NC1HWC2:8", nl.Layout("NCHW8c")),
        (words.layout_and_dtype, "NHWC", (nl.Layout("NHWC"), "int8")),
        (words.layout_and_dtype, "NHWC:uint8", (nl.Layout("NHWC"), "uint8")),
        (words.layout_and_dtype, "NC1HWC2:16", (nl.Layout("NCHW16c"), "int8")),
        (words.layout_and_dtype, "NC1HWC2:16:float16", (nl.Layout("NCHW16c"), "float16")),
        (words.option, 'input_shapes={"in0": [3, 192, 256]}', ("input_shapes", {"in0": [3, 192, 256]})),
        (words.option, "core_mask=1", ("core_mask", 1)),
        (words.option, "accelerator=npu", ("accelerator", "npu")),
        (words.option, "dataset=a=b.txt", ("dataset", "a=b.txt")),
        (words.option, "dataset=" + "[" * 100_000, ("dataset", "[" * 100_000)),
        (words.option, "color=", ("color", "")),
    ],
)
def test_words(read: Callable[[str], Any], text: str, value: Any) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text", "says"),
    [
        (words.shape, "1x-2", "expected a shape such as 1x57x46x46"),
        (words.shape, "1x", "expected a shape"),
        (words.shape, "1x\u0662", "expected a shape"),  # a digit, but not an ASCII one
        (words.numbers, "1;2", "a number, or one for each channel"),
        (words.tolerance, "heat:", "OUTPUT:NUMBER"),
        (words.layout, "NC1HWC2:x", "a block's size behind the colon"),
        (words.layout, "NC1HWC2", "needs block="),
        (words.layout, "NC1HWC2", "write it behind a colon, as in NC1HWC2:16"),
        (words.layout, "QQQ", "QQQ"),
        (words.layout, "NCHW16c:8", "NCHW16c takes none behind a colon"),
        (words.layout_and_dtype, "NHWC:16", "NHWC takes none behind a colon"),
        (words.dtype, "i8", "numpy means int64 by it, others int8"),
        (words.layout_and_dtype, "NCHW16c:u8", "numpy means uint64 by it, others uint8"),
        (words.option, "core_mask", "expected NAME=VALUE"),
        (words.option, "core mask=1", "expected NAME=VALUE"),
    ],
)
def test_words_that_are_refused(read: Callable[[str], Any], text: str, says: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=says):
        read(text)


def test_files(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"")
    assert words.file("--model", str(tmp_path / "m.onnx")) == str(tmp_path / "m.onnx")
    for path, got in ((tmp_path / "n.onnx", "nothing"), (tmp_path, "a folder")):
        with pytest.raises(nl.NpuLayoutError) as refused:
            words.file("--model", str(path))
        assert str(refused.value) == f"--model: {path}: expected a file, got {got}"


def test_options() -> None:
    assert words.options("--engine-option", None) == {}
    assert words.options("--engine-option", [("a", 1), ("b", 2)]) == {"a": 1, "b": 2}
    with pytest.raises(nl.NpuLayoutError, match="--engine-option: expected each name once, got a, a"):
        words.options("--engine-option", [("a", 1), ("a", 2)])


def test_tolerances() -> None:
    assert words.tolerances("--x", [("", 2.0)]) == 2.0
    assert words.tolerances("--x", [("a", 1.0), ("b", 2.0)]) == {"a": 1.0, "b": 2.0}
    assert words.tolerances("--x", None) == {}
    with pytest.raises(nl.NpuLayoutError, match=r"--x: expected one number for all outputs, or"):
        words.tolerances("--x", [("", 2.0), ("b", 2.0)])
    for twice in ([("a", 1.0), ("a", 0.5)], [("", 1.0), ("", 0.5)]):  # the last one is not the one that counts
        with pytest.raises(nl.NpuLayoutError, match=r"--x: expected one number for all outputs, or OUTPUT:NUMBER once"):
            words.tolerances("--x", twice)


def test_buffers(tmp_path: Path) -> None:
    numbers = np.arange(-6, 6, dtype=np.int16).reshape(3, 4)
    raw, npy = str(tmp_path / "a.bin"), str(tmp_path / "a.npy")
    words.write_array(raw, numbers.T)
    words.write_array(npy, numbers.T)
    assert Path(raw).read_bytes() == numbers.T.copy().tobytes() and np.array_equal(np.load(npy), numbers.T)
    assert words.buffer_in(raw).dtype == np.uint8 and words.buffer_in(raw).tobytes() == numbers.T.copy().tobytes()
    for path, shape in ((raw, (12,)), (npy, (4, 3))):
        found = words.buffer_in(path, "int16")
        assert found.dtype == np.int16 and found.shape == shape and np.array_equal(found.ravel(), numbers.T.ravel())
    np.save(tmp_path / "bytes.npy", numbers.view(np.uint8))
    assert np.array_equal(words.buffer_in(str(tmp_path / "bytes.npy"), "int16"), numbers.ravel())
    with pytest.raises(nl.NpuLayoutError, match=r"int16.*float32"):
        words.buffer_in(npy, "float32")
    Path(raw).write_bytes(bytes(7))
    with pytest.raises(nl.NpuLayoutError, match="7 bytes"):
        words.buffer_in(raw, "int16")
    for content, got in ((b"", "an empty file"), (bytes(2), r"begins with b'\\x00\\x00'"), (b"PK\3\4", "archive")):
        Path(raw).write_bytes(content)
        with pytest.raises(nl.NpuLayoutError, match=f"expected one array.*got .*{got}"):
            words.array_in(raw)


def test_specs(tmp_path: Path) -> None:
    spec = nl.TensorSpec((1, 5, 2, 3), "NCHW4c", "uint8", quantization=nl.Quantization(0.5, 3), name="heat")
    assert words.specs_in(json.dumps(spec.to_dict())) == {"heat": spec}
    other = nl.TensorSpec((4,), "N")
    several = json.dumps({"a": spec.to_dict(), "b": other.to_dict()})
    (tmp_path / "specs.json").write_text(several)
    assert words.specs_in(several) == words.specs_in(str(tmp_path / "specs.json")) == {"a": spec, "b": other}
    assert words.specs_in(json.dumps(other.to_dict())) == {"tensor": other}
    for text, says in (
        ("{", "not JSON"),
        ("", "not JSON"),
        ("{}", "expected a TensorSpec's fields"),
        ('{"a": 1, "layout": "NHWC"}', r"expected .* the key shape, or \{name: fields\}; got the keys a, layout"),
        ('{"a": {"layout": "NHWC"}}', "TensorSpec: expected a dict with shape"),
        ("{" * 3000, "not JSON"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=f"--spec: {says}"):
            words.specs_in(text)


def test_a_file_that_exists_is_kept(tmp_path: Path) -> None:
    path = str(tmp_path / "out.bin")
    words.free(path, force=False)
    Path(path).write_bytes(b"old")
    words.free(path, force=True)
    with pytest.raises(nl.NpuLayoutError, match="--force overwrites it"):
        words.free(path, force=False)
    assert Path(path).read_bytes() == b"old"


def test_heads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text, head in (
        ("yolov8(80)", decode.yolov8(80)),
        ("yolov8(classes=3, strides=(8,), activation='sigmoid')", decode.yolov8(3, (8,), activation="sigmoid")),
        (
            "yolov5(2, anchors=[[(10, 20)], [(30, 40)], [(50, 60)]])",
            decode.yolov5(2, anchors=[[(10, 20)], [(30, 40)], [(50, 60)]]),
        ),
        ("scrfd", decode.scrfd()),
    ):
        assert words.head(text) == head
    Path("own.json").write_text(json.dumps(decode.scrfd().to_dict()))
    Path("yolox").write_text(json.dumps(decode.scrfd().to_dict()))  # a file is a file, whatever its name
    assert words.head("own.json") == words.head("yolox") == decode.scrfd()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("yolov8(open('x', 'w'))", "expected a head with numbers, texts and lists"),
        ("yolov8(classes)", "expected a head with numbers, texts and lists"),
        ("yolov8(80))", "expected a head with numbers, texts and lists"),
        ("yolov8(" + "(" * 5000 + ")" * 5000 + ")", "expected a head with numbers, texts and lists"),
        ("yolov8(80).name", "heads are blazeface, .*yunet"),
        ("yolov8(activaton='sigmoid')", r"no argument 'activaton'.* Is it activation\?"),
        ("yolov8(-1)", "classes: expected a whole number of at least 1"),
        ("guess(1)", r"expected a JSON file of Head.to_dict\(\), or a head"),
        ("nowhere.json", "nowhere.json: No such file"),
    ],
)
def test_heads_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(nl.NpuLayoutError, match=says):
        words.head(text)
    assert not list(tmp_path.iterdir())


def test_preprocessing() -> None:
    parser = argparse.ArgumentParser()
    words.add_preprocessing(parser)
    plain = {"resize": "letterbox", "color": "RGB", "mean": 0.0, "std": 1.0}
    assert words.preprocessing(parser.parse_args([])) == plain
    said = ["--interpolation", "area", "--pad-value", "1,2,3", "--mean", "7", "--std", "2,3,4"]
    wanted = {**plain, "mean": 7.0, "std": [2.0, 3.0, 4.0], "interpolation": "area", "pad_value": [1.0, 2.0, 3.0]}
    assert words.preprocessing(parser.parse_args(said)) == wanted
    assert words.preprocessing(parser.parse_args(["--no-scaleup"])) == {**plain, "scaleup": False}
