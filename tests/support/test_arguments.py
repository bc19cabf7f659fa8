"""What is no array, layout, shape or order is refused by an error of the library's that says what was expected."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.recordings.sources import Frames
from npu_layout.support import arguments, iterates, text_keys, wanted_copy

X = np.zeros((1, 3, 4, 5), np.float32)
IMAGE = np.zeros((4, 4, 3), np.uint8)
SPEC = nl.TensorSpec((1, 3, 4, 5))
RAGGED: Any = [[1], [2, 3]]
MASKED = np.ma.masked_array(X, X == 0)
NONE: Any = []
GEOMETRY = nl.Geometry.stretch((4, 4), (4, 4))


class Unready:
    """As torch's tensors that require gradients."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise RuntimeError("detach it")


UNREADY = Unready()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: nl.repack(X, ["N"], "NHWC"), "expected a tag"),
        (lambda: nl.repack(X, "NCHW", NONE), "expected a tag"),
        (lambda: nl.repack(X, "NCHW", "NHWC", shape=([1], 3, 4, 5)), "sequence of integers"),
        (lambda: nl.repack(X, "NCHW", "NHWC", shape=(1.0, 3, 4, 5)), "sequence of integers"),
        (lambda: nl.repack(X, "NCHW", "NHWC", shape=5), "sequence of integers"),
        (lambda: nl.repack(RAGGED, "NC", "CN"), "expected an array"),
        (lambda: nl.repack(MASKED, "NCHW", "NHWC"), "mask would be lost"),
        (lambda: nl.repack(np.zeros((2, 2), "V0"), "NC", "CN"), "expected numbers"),
        (lambda: nl.to_gray(IMAGE, NONE), "expected a tag"),
        (lambda: nl.to_gray(IMAGE, "HWC", to=NONE), "expected a tag"),
        (lambda: nl.to_gray(IMAGE, "HWC", order=NONE), "BGR or RGB"),
        (lambda: nl.to_gray(RAGGED, "HWC"), "expected an array"),
        (lambda: nl.plan(NONE, SPEC), "plan: source: expected a TensorSpec, got"),
        (lambda: nl.validate_many([], "model.onnx", workers=NONE), "whole number of 1 or more"),
        (lambda: nl.validate_many([], "model.onnx", workers=2.5), "whole number of 1 or more, got 2.5"),
        (lambda: nl.validate_many(["no-such"], "model.onnx", workers=np.int64(2)), "no-such"),
        (lambda: Frames([], 2.5), "limit: expected a whole number of 1 or more, got 2.5"),
        (lambda: nl.exchange.save(NONE, "folder", form="raw"), "expected a Recording"),
        (lambda: SPEC.pack(RAGGED), "expected an array"),
        (lambda: SPEC.pack(MASKED), "mask would be lost"),
        (lambda: SPEC.unpack(MASKED), "mask would be lost"),
        (lambda: nl.Quantization(1.0).quantize(RAGGED, "int8"), "expected an array"),
        (lambda: nl.Quantization(1.0).dequantize(RAGGED), "expected an array"),
        (lambda: nl.identify(X, RAGGED), "expected an array"),
        (lambda: GEOMETRY.points_to_frame(UNREADY), r"points_xy: expected .* \(\.\.\., 2\), got Unready: detach it"),
        (lambda: GEOMETRY.mask_to_frame(UNREADY), "mask: expected .*, got Unready: detach it"),
        (lambda: GEOMETRY.boxes_to_input(MASKED), "mask would be lost"),
        (lambda: GEOMETRY.mask_to_input(MASKED[0, 0]), "mask would be lost"),
        (lambda: nl.Preprocessor(SPEC, mean=UNREADY), "mean: expected 1 or 3 finite numbers"),
        (lambda: nl.Preprocessor(SPEC, std=np.ma.array([1, 2, 3], mask=[0, 1, 0])), "std: expected 1 or 3"),
        (lambda: nl.Preprocessor(SPEC)(np.ma.array(IMAGE, mask=True)), "mask would be lost"),
        (lambda: nl.identify(X, X, axes=5), "a letter for each axis"),
        (lambda: nl.Layout.named("NC1HWC2", block="a"), "whole number"),
        (lambda: nl.Layout("NC1HWC2"), r"Layout\.named\('NC1HWC2', block=16\)"),
        (lambda: nl.Layout("nChw16c"), r"Layout\.named\('nChw16c'\)"),
        (lambda: nl.Layout("nchw"), r"Is it NCHW\?"),
        (lambda: nl.TensorSpec((1, 84, 8400)), "one of 3 axes, such as NCW"),
    ],
)
def test_what_cannot_be_meant(call: Callable[[], Any], says: str) -> None:
    nl.repack(X, "NCHW", "NHWC", shape=X.shape)  # what is remembered of good calls is no reason to take bad ones
    with pytest.raises(nl.NpuLayoutError, match=says):
        call()


def test_a_wanted_copy() -> None:
    assert wanted_copy(None) is None
    assert all(wanted_copy(v) is True for v in (True, np.True_))
    assert all(wanted_copy(v) is False for v in (False, np.False_))
    for bad in (0, 1, "", np.int8(1), [True], np.array(True)):
        with pytest.raises(nl.NpuLayoutError, match="copy: expected None, True or False, got"):
            wanted_copy(bad)


def refused(says: str) -> Any:
    return pytest.raises(nl.NpuLayoutError, match=says)


def test_paths(tmp_path: Path) -> None:
    assert arguments.path_of("out", "a/b") == "a/b" and arguments.path_of("out", tmp_path) == str(tmp_path)
    for bad in (1, True, None, b"a", ["a"]):
        with refused("^out: expected a str or an os.PathLike"):
            arguments.path_of("out", bad)
    for name in ("a\0b", "\ud800"):
        with refused("^out: no file can have the name"):
            arguments.path_of("out", name)


def test_a_path_that_is_too_long_for_the_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for fits in ("n" * 255, "\u00e9" * 127, "missing/" + "n" * 255, "./" * 60, "/" * 60, "n/" * 2000):
        assert arguments.path_of("out", fits) == fits
    for name, size in (("n" * 256, 256), ("\u00e9" * 128, 256), ("missing/" + "n" * 300 + "/file", 300)):
        with refused(rf"^out: the name '\S+' has {size} bytes, .* expected a shorter name"):
            arguments.path_of("out", name)
        assert arguments.path_text("out", name) == name  # it may be an address
    with refused(r"^out: the path 'n/n/\S+' has 5000 bytes, .* expected a shorter path"):
        arguments.path_of("out", "n/" * 2500)
    assert not list(tmp_path.iterdir())


def test_choices_and_flags() -> None:
    assert arguments.one_of("mode", "a", ("a", "b")) == "a" and arguments.one_of("mode", None, ("a", None)) is None
    for known, words in (
        (("a", "b"), "a or b"),
        (("a", "b", "c"), "one of a, b, c"),
        (("a", "b", None), "a, b or None"),
    ):
        for bad in ("x", ["a"], np.array(["a", "b"]), 1):
            with refused(f"^mode: expected {words}, got"):
                arguments.one_of("mode", bad, known)
    for bad, near in (("NHWC", ". Is it nhwc?"), ("nchw16", ". Is it nchw16c?"), ("x", ""), ("", "")):
        assert arguments.nearest(bad, ("nhwc", "nchw16c")) == near
        with pytest.raises(nl.NpuLayoutError, match=re.escape(f"got {bad!r}{near}") + "$"):
            arguments.one_of("order", bad, ("nhwc", "nchw16c", None))
    assert all(arguments.flag("clip", v) is True for v in (True, np.True_, 1))
    assert all(arguments.flag("clip", v) is False for v in (False, np.False_, 0))
    for bad in (None, 2, "no", 1.0, [], np.array([1])):
        with refused("^clip: expected True or False, got"):
            arguments.flag("clip", bad)


def test_items_and_fields() -> None:
    assert arguments.items_of("specs", iter([SPEC]), nl.TensorSpec) == [SPEC]
    for bad in (SPEC, "text", {"a": SPEC}, None):
        with refused("^specs: expected a sequence of TensorSpecs, got"):
            arguments.items_of("specs", bad, nl.TensorSpec)
    with refused("^specs: expected a sequence of TensorSpecs, got None as item 1"):
        arguments.items_of("specs", [SPEC, None], nl.TensorSpec)
    with refused("^model: expected text, got 5"):
        arguments.text_of("model", 5)
    with refused("^target: expected a TensorSpec, got 5"):
        arguments.instance("target", 5, nl.TensorSpec)
    arguments.check_fields(SPEC, name=str, quantization=(nl.Quantization, type(None)))
    with refused("^name: expected int or None, got ''"):
        arguments.check_fields(SPEC, name=(int, type(None)))


def test_names_are_put_in_front_and_nothing_else_is_caught() -> None:
    with pytest.raises(nl.LayoutError, match=r"^src: layout 'x'"), arguments.naming("src"):
        nl.Layout("x")
    with pytest.raises(TypeError, match=r"^ours$"), arguments.naming("src"):
        raise TypeError("ours")


def test_what_is_shown_of_an_argument_is_short() -> None:
    assert arguments.shown("a") == "'a'" and arguments.shown(None) == "None"
    assert arguments.shown(np.int8([1, 2])) == "array([1, 2], dtype=int8)"
    assert arguments.shown(np.zeros((3, 4), "f4")) == "numpy.ndarray of shape (3, 4) and dtype float32"
    assert arguments.shown(["x" * 200]) == "builtins.list"

    class Mute:
        def __repr__(self) -> str:
            raise RuntimeError

    assert arguments.shown(Mute()) == f"{__name__}.Mute"


def test_an_array_of_no_axes_is_no_iterable() -> None:
    """numpy gives it __iter__ and __len__, which raise a TypeError of numpy's."""
    assert iterates([]) and iterates(iter(())) and iterates(np.zeros((2, 0))) and iterates({})
    assert not any(map(iterates, (np.array(1.5), np.array("a"), np.float32(1), 1, None)))


def test_keys_as_text_are_as_many_as_before() -> None:
    class Named:
        def __str__(self) -> str:
            return "a"

    assert text_keys("x", {1: 2, "b": 3}) == {"1": 2, "b": 3}
    with pytest.raises(nl.NpuLayoutError, match=r"^x: expected names that differ as text, got 1 and '1'$"):
        text_keys("x", {1: 2, "1": 3})
    with pytest.raises(nl.LayoutError, match="names that differ as text"):
        text_keys("x", {Named(): 2, Named(): 3}, nl.LayoutError)
    for no_mapping in (bytearray(b"ab"), memoryview(b"ab"), [("a", 1)]):  # whose items are no keys
        with pytest.raises(nl.LayoutError, match="x: expected a mapping of names, got"):
            text_keys("x", no_mapping, nl.LayoutError)  # type: ignore[arg-type]
