"""Conversions by numpy: pieces, tables and repeated parameters change nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from npu_layout import kernels
from npu_layout.kernels import Arithmetic, Box
from npu_layout.kernels.fallback import converting
from tests.support.kernel_walks import Loops, arithmetics, boxed, converted, numbers, same, walked


def check(loops: Loops, a: Arithmetic) -> None:
    box, src_size, dst_size = boxed(loops)
    x = numbers(np.random.default_rng(src_size), a.src_dtype, src_size)
    stored = "uint16" if a.dst_dtype == "bfloat16" else a.dst_dtype
    got = np.full(dst_size, 77, stored)
    expected = got.copy()
    source, target, channel = (walked(loops, *at) for at in ((0, box.src), (1, box.dst), (2, 0)))
    expected[target] = converted(x[source], a, channel).astype(stored)
    kernels.FallbackProgram(dst_size, (), (box,), a).run(x, got)
    assert same(got, expected, a.dst_dtype), f"{a} {loops}"


@pytest.mark.parametrize(
    "source, target", [("uint8", "float32"), ("float32", "int8"), ("float16", "uint16"), ("int8", "bfloat16")]
)
def test_pieces_are_the_whole(source: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(converting, "_CHUNK", 100)
    for a in arithmetics(source, target, 5):
        p = int(any(values is not None for values in a.affine.values))
        check([(3, 5 * 41, 5 * 41, 0), (5, 41, 41, p), (41, 1, 1, 0)], a)
        check([(41, 1, 5, 0), (5, 41, 1, p)], a)


def test_pieces_cover_each_element_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(converting, "_CHUNK", 10)
    loops = ((4, 1, 15, 1), (3, 20, 5, 0), (5, 4, 1, 0))
    pieces = list(converting._chunks(loops, 7, 9, 2))
    assert len(pieces) > 1 and all(math.prod(k[0] for k in piece.loops) <= 10 for piece in pieces)

    def places(box: Box, side: int) -> list[int]:
        return walked([k for k in box.loops], side, box[1 + side]).tolist()

    for side in (0, 1):
        seen = [place for piece in pieces for place in places(piece, side)]
        assert sorted(seen) == sorted(places(Box(loops, 7, 9, 2), side)) and len(set(seen)) == 60


@pytest.mark.parametrize("source", ["uint8", "int8"])
@pytest.mark.parametrize("target", ["uint8", "int8"])
def test_a_table_of_bytes_is_the_arithmetic(source: str, target: str) -> None:
    """So many elements that a table pays; parameters that do not start at the first one."""
    for a in arithmetics(source, target, 3):
        each = int(any(values is not None for values in a.affine.values))
        check([(3, 9001, 9001, each), (9001, 1, 1, 0)], a)
        check([(3, 9001, 9004, each), (9001, 1, 1, 0)], a)


@pytest.mark.parametrize("rows, channels", [(1, 3), (700, 3), (701, 5), (64, 64), (3, 5000)])
def test_rows_of_neighbouring_channels(rows: int, channels: int) -> None:
    for a in arithmetics("int16", "float32", channels):
        if any(values is not None for values in a.affine.values):
            check([(rows, channels, channels, 0), (channels, 1, 1, 1)], a)
