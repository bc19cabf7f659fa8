"""The words of the command line: what each is read as, and what is refused."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import pytest

import npu_layout as nl
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
        (words.target, "./-", "./-"),
        (words.target, "--", "--"),
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
        (words.target, "-", "the report goes to the standard output"),
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


def test_preprocessing() -> None:
    parser = argparse.ArgumentParser()
    words.add_preprocessing(parser)
    plain = {"resize": "letterbox", "color": "RGB", "mean": 0.0, "std": 1.0}
    assert words.preprocessing(parser.parse_args([])) == plain
    said = ["--interpolation", "area", "--pad-value", "1,2,3", "--mean", "7", "--std", "2,3,4"]
    wanted = {**plain, "mean": 7.0, "std": [2.0, 3.0, 4.0], "interpolation": "area", "pad_value": [1.0, 2.0, 3.0]}
    assert words.preprocessing(parser.parse_args(said)) == wanted
    assert words.preprocessing(parser.parse_args(["--no-scaleup"])) == {**plain, "scaleup": False}
