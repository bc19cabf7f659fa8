"""What can be asked of explain: the part that is shown, where it starts, and every refusal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from tests.support.specs import rects


def test_part_and_at() -> None:
    found = nl.explain("NCHW16c", (1, 57, 46, 46), at=(0, 50, 45, 45), part=(1, 9, 1, 2))
    assert found.part == {"N": range(1), "C": range(48, 57), "H": range(45, 46), "W": range(44, 46)}
    assert sum(title.startswith("padding at") for title in rects(found.to_svg())) >= 14


def test_bad_input() -> None:
    shape = (1, 3, 8, 8)
    for arguments, options, words in (
        (("NCHW",), {}, "needs a shape"),
        ((nl.TensorSpec((), nl.Layout.of_rank(0)),), {}, "expected a tensor with axes"),
        (("NCHW", (1, 3)), {}, "4 axes"),
        (("NV12", (640, 480)), {}, r"write explain\(FrameSpec\('NV12', \(width, height\)\)\)"),
        (("NCHW", shape), {"window": (9, 3)}, "reaches beyond"),
        (("NCHW", shape), {"window": (3, 3, 3)}, "2 axes besides N and C, expected 3"),
        (("NCHW", shape), {"window": (0, 3)}, "1 or more"),
        (("NCHW", shape), {"window": ()}, "got none"),
        (("NCHW", shape), {"window": 3}, "sequence of integers"),
        (("NCHW", shape), {"at": 3}, "an index for each"),
        (("NCHW", shape), {"at": "0110"}, "an index for each"),
        (("NCHW", shape), {"at": b"0110"}, "an index for each"),
        (("NCHW", (1, 2, 8, 8)), {"gray": True}, "at least 3"),
        (("NCHW", shape), {"compare": "CHW"}, "axes"),
        (("NCHW", shape), {"part": (1, 0, 8, 8)}, "1 or more"),
        (("NCHW", shape), {"cache_line": 0}, "1 byte or more"),
        ((nl.TensorSpec(shape), shape), {}, "give only the spec"),
        (("NCHW", shape), {"compare": nl.TensorSpec((1, 3, 8, 9))}, "is not"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=words):
            nl.explain(*arguments, **options)  # type: ignore[arg-type]
    with pytest.raises(IndexError):
        nl.explain("NCHW", shape, at=(0, 3, 0, 0))


def test_a_place_may_be_a_row_of_argwhere() -> None:
    where = np.argwhere(np.arange(12).reshape(1, 3, 2, 2) == 7)[0]
    assert nl.explain("NCHW", (1, 3, 2, 2), at=where).at == (0, 1, 1, 1)


@pytest.mark.parametrize("bad", [0, -1, 2**30 + 1, 10**30, 1.5, math.nan, "64", None, []])
def test_cache_lines_that_are_none(bad: Any) -> None:
    with pytest.raises(nl.NpuLayoutError, match="cache_line: expected 1 byte or more"):
        nl.explain("NCHW", (1, 3, 4, 4), window=(2, 2), cache_line=bad)
    assert nl.explain("NCHW", (1, 3, 4, 4), window=(2, 2), cache_line=np.int64(2**30)).reads[0].lines == [0]
