"""Runs, cache lines and wasted bytes of a read, counted element by element."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npu_layout as nl
from npu_layout.drawing.reads import window
from tests.support.specs import place


def counted(addresses: list[int], bits: int, line: int) -> tuple[int, int, int]:
    """(runs, cache lines, bytes wasted), one element after the other."""
    runs, touched, before = 0, set(), None
    for address in sorted(addresses):
        runs += before is None or address != before + 1
        before = address
        touched |= {bit // 8 // line for bit in range(address * bits, (address + 1) * bits)}
    return runs, len(touched), len(touched) * line - (len(addresses) * bits + 7) // 8


@pytest.mark.parametrize("tag", ["NCHW", "NHWC", "CHWN", "NHCW", "NCHW4c", "NHWC8c", "NHCW8w4c"])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "int4", "float64"])
@given(data=st.data())
def test_reads_are_the_oracles(tag: str, dtype: str, data: st.DataObject) -> None:
    shape = tuple(data.draw(st.tuples(*(st.integers(lo, hi) for lo, hi in ((1, 2), (3, 9), (3, 12), (3, 12))))))
    at = tuple(data.draw(st.integers(0, n - 1)) for n in shape[:2])
    size = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    at += tuple(data.draw(st.integers(0, n - k)) for n, k in zip(shape[2:], size))
    line = data.draw(st.sampled_from([1, 3, 16, 32, 64, 128]))
    found = nl.explain(tag, shape, dtype, at=at, window=size, gray=True, cache_line=line)
    n, _, h, w = at
    window = [(n, c, h + i, w + j) for c in range(shape[1]) for i in range(size[0]) for j in range(size[1])]
    gray = [(n, c, h, w) for c in range(3)]
    bits = 4 if dtype == "int4" else 8 * np.dtype(dtype).itemsize
    for reads, wanted in zip(found.reads, (window, gray)):
        addresses = [place(found.spec, index) for index in wanted]
        assert reads.offsets.tolist() == sorted(addresses)
        assert (len(reads.runs), len(reads.lines), reads.bytes_wasted) == counted(addresses, bits, line)
        assert sum(length for _, length in reads.runs) == len(wanted)


def test_a_window_over_three_channels_is_3_runs_or_9() -> None:
    found = nl.explain("NHWC", (1, 3, 224, 224), window=(3, 3), compare="NCHW")
    (last,), (first,) = found.reads, found.compared[0].reads
    assert (last.runs, len(first.runs)) == ([(0, 9), (672, 9), (1344, 9)], 9)
    assert str(last).endswith(
        "27 elements in 3 runs, 3 cache lines of 64 bytes; 192 bytes fetched, 84 of them wasted (44 %)"
    )
    assert "9 runs, 9 cache lines" in str(first)


def test_both_orders_of_accumulation_give_the_same_sum() -> None:
    """One output of a convolution: 3 channels, a 3x3 window of pixels 0..2, a kernel of -1, 0 and 1; it is 5."""
    image = np.array(
        [
            [[0, 1, 2, 9], [2, 1, 0, 9], [1, 2, 1, 9], [9, 9, 9, 9]],
            [[1, 1, 0, 9], [0, 2, 2, 9], [1, 0, 1, 9], [9, 9, 9, 9]],
            [[2, 0, 1, 9], [1, 1, 2, 9], [0, 2, 1, 9], [9, 9, 9, 9]],
        ],
        np.int32,
    )[None]
    kernel = np.array(
        [
            [[1, 0, -1], [1, 1, 0], [0, 1, 1]],
            [[0, 1, -1], [-1, 0, 1], [1, 0, 0]],
            [[-1, 0, 1], [0, 1, -1], [1, -1, 1]],
        ],
        np.int32,
    )[None]
    orders = {}
    for tag in ("NCHW", "NHWC"):
        reads = nl.explain(tag, image.shape, "int32", window=(3, 3)).reads[0]
        pixels = nl.TensorSpec(image.shape, tag, "int32").pack(image)[reads.offsets].tolist()
        weights = nl.TensorSpec(kernel.shape, tag, "int32").pack(kernel).tolist()
        total, orders[tag] = 0, [x * w for x, w in zip(pixels, weights)]
        for product in orders[tag]:
            total += product
        assert total == 5
    assert orders["NCHW"] != orders["NHWC"] and sorted(orders["NCHW"]) == sorted(orders["NHWC"])


def test_a_window_reads_no_more_than_can_be_counted() -> None:
    spec = nl.TensorSpec((1, 4, 100000, 100000))
    found = window(spec, (512, 512), dict.fromkeys("NCHW", 0))
    assert found.offsets.size == 1 << 20 and len(found.runs) == 4 * 512
    for size in ((512, 513), (100000, 100000)):
        with pytest.raises(
            nl.LayoutError, match=r"window .*: it reads \d+ elements of layout NCHW .*, expected at most"
        ):
            window(spec, size, dict.fromkeys("NCHW", 0))
