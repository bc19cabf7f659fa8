"""Fixes are Python that does what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.reports.fixes import code
from tests.support.boards import CHANNELS, Board
from tests.support.pages import alike, read


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


@pytest.mark.parametrize("layout", ["NHWC", nl.Layout("NHWC", axes="NHWC"), nl.Layout.plain("WHCN")], ids=str)
def test_the_code_of_a_layout_runs_as_it_stands(layout: nl.Layout) -> None:
    fix = nl.TensorSpec((1, 2, 3, 4), layout, "int8", quantization=nl.Quantization(0.5))
    names: dict[str, Any] = {"buffer": np.arange(24, dtype=np.int8)}
    exec(code("layout", fix, nl.TensorSpec((1, 2, 3, 4), "NCHW", "int8"), 1) or "", names)
    assert names["spec"] == fix and np.array_equal(names["tensor"], fix.unpack(names["buffer"]))


@pytest.mark.parametrize(
    "declared, found", [("float32", ">f4"), ("int8", "uint8"), ("float16", "bfloat16"), ("int8", "int16")]
)
def test_the_code_of_another_dtype_reads_the_same_bytes(declared: str, found: str) -> None:
    """An array of the declared dtype would be refused by the fix, or converted, whose values are wrong."""
    spec, fix = (nl.TensorSpec((1, 2, 3, 4), "NHWC", dtype, quantization=None) for dtype in (declared, found))
    raw = np.arange(96, dtype=np.uint8)[: fix.nbytes]
    names: dict[str, Any] = {"buffer": raw.view(spec.stored)}
    exec(code("layout", fix, spec, 1) or "", names)
    np.testing.assert_array_equal(names["tensor"], fix.unpack(raw.tobytes()))


@pytest.mark.parametrize("side", ["outputs", "inputs"])
def test_the_code_of_exchanged_tensors_renames_them(side: str) -> None:
    """Whatever they are called, and those that are not exchanged stay."""
    fix = {"outputs_1": "inputs_1", "inputs_1": "outputs_1"}
    names: dict[str, Any] = {side: {"outputs_1": 1, "inputs_1": 2, "outputs": 3}}
    exec(code(f"{side[:-1]}_order", fix, nl.TensorSpec((1, 2, 3, 4)), None) or "", names)
    assert names[side] == {"inputs_1": 1, "outputs_1": 2, "outputs": 3}


def test_what_the_fixes_do(board: Board, tmp_path: Path) -> None:
    order = np.random.default_rng(0).permutation(CHANNELS)
    report = nl.validate(board.recording(None, board.changed(lambda y: y[:, order])), board.engine)
    exhibit = report.outputs["maps"].exhibit
    names: dict[str, Any] = {"buffer": exhibit.buffer}
    exec(read(report, tmp_path).codes[0], names)
    assert report.verdict == "channel_order" and np.abs(names["tensor"] - exhibit.reference).max() < 0.1

    report = nl.validate(board.recording(None, board.fed(lambda x: x[:, ::-1].copy())), board.engine)
    page = read(report, tmp_path)
    exec(page.codes[0], names)
    assert report.verdict == "preprocessing" and names["how"] == report.outputs["maps"].fix
    nl.Preprocessor(nl.TensorSpec((1, 3, 48, 48)), **names["how"])
    sheet = page.sheet()
    (said,) = (image for alt, image in sheet.items() if ". As declared: " in alt)
    best, answer = next((alt, image) for alt, image in sheet.items() if "The model's answer" in alt)
    assert "BGR instead of RGB" in best and alike(said, answer) > 0.99 > alike(said, next(iter(sheet.values()))) + 0.05

    packed = board.packed(board.spec)
    report = nl.validate(board.recording(None, packed[:1] + packed[:-1]), board.engine)
    names = {"inputs": list(range(8)), "outputs": list("abcdefgh")}
    page = read(report, tmp_path)
    exec(page.codes[0], names)
    assert report.verdict == "wrong_input" and names["pairs"][:2] == [(0, "b"), (1, "c")]
    assert any("The model's answer" in alt and "1 frame earlier" in alt for alt in page.sheet())
