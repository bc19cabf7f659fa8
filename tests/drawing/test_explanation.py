"""explain: its numbers against the scalar oracle, and its refusals."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from tests.support import oracle
from tests.support.paths import SAMPLES
from tests.support.specs import EACH_SPEC, PITCHES, place, rects

README_PICTURE = SAMPLES / "data" / "memory_formats.svg"


@EACH_SPEC
def test_formula_numbers_and_padding(spec: nl.TensorSpec) -> None:
    found = nl.explain(spec)
    used = set()
    for index in oracle.indices(spec.shape):
        at = place(spec, index)
        used.add(at)
        assert eval(found.formula, {}, {a.lower(): i for a, i in zip(spec.axes, index)}) == at
        numbers, _, result = found.place(*index).rpartition(" = ")
        assert eval(numbers) == int(result) == at
    assert found.padding == spec.size - len(used)
    bits = 4 if spec.dtype == "int4" else 8 * spec.stored.itemsize
    assert found.padding_bytes == spec.nbytes - -(-len(used) * bits // 8)
    assert found.padding_percent == pytest.approx(100 * (spec.size - len(used)) / spec.size)
    text = str(found)
    for fact in (found.formula, f"{spec.nbytes} bytes", ", ".join(map(str, spec.storage_strides))):
        assert fact in text


def test_text() -> None:
    text = str(nl.explain("NCHW16c", (1, 57, 46, 46), "int8", at=(0, 17, 2, 3), compare="NHWC"))
    assert "1, 4, 46, 46, 16  counting n, c//16, h, w, c%16" in text
    assert "14812 elements, 14812 bytes, 10.9 % (C padded from 57 to 64)" in text
    assert "0*135424 + 1*33856 + 2*736 + 3*16 + 1 = 35377, byte 35377" in text
    assert "0*120612 + 2*2622 + 3*57 + 17 = 5432, byte 5432" in text
    assert "byte 1, its high half" in str(nl.explain("NC", (1, 9), "int4", at=(0, 3)))
    assert "4 + n*200 + c*48 + h*8 + w" in str(nl.explain(nl.TensorSpec((1, 3, 5, 6), "NCHW", "uint8", **PITCHES)))


@pytest.mark.parametrize("shape", [(8, 64, 1080, 1920), (1, 1, 1, 1), (1, 3, 1, 1), (300, 3, 2, 2), (1, 2048, 7, 7)])
@pytest.mark.parametrize("tag", ["NCHW", "NHWC", "CHWN", "NCHW16c", "NCHW4n", "CHWN16n16c", "NHWC8h4w"])
def test_large_and_small(tag: str, shape: tuple[int, ...]) -> None:
    found = nl.explain(tag, shape, compare="NCHW", at=tuple(n - 1 for n in shape))
    assert all(shape[i] - 1 in found.part[a] for i, a in enumerate("NCHW"))
    root = ET.fromstring(found.to_svg())
    assert float(root.get("width", 0)) < 2000 and float(root.get("height", 0)) < 3000
    assert ("Shown:" in found.to_svg()) == (np.prod(shape) > 1000)


def test_an_axis_too_long_to_be_enumerated() -> None:
    found = nl.explain("NHWC8c", (1, 3, 1, 10**12), at=(0, 2, 0, 10**12 - 1))
    assert found.place(0, 2, 0, 10**12 - 1).endswith(" = 7999999999994") and rects(found.to_svg())


def test_part_and_at() -> None:
    found = nl.explain("NCHW16c", (1, 57, 46, 46), at=(0, 50, 45, 45), part=(1, 9, 1, 2))
    assert found.part == {"N": range(1), "C": range(48, 57), "H": range(45, 46), "W": range(44, 46)}
    assert sum(title.startswith("padding at") for title in rects(found.to_svg())) >= 14


def test_bad_input() -> None:
    shape = (1, 3, 8, 8)
    for arguments, options, words in (
        (("NCHW",), {}, "needs a shape"),
        (("NCHW", (1, 3)), {}, "4 axes"),
        (("NCHW", shape), {"window": (9, 3)}, "reaches beyond"),
        (("NCHW", shape), {"window": (3, 3, 3)}, "2 axes besides N and C, expected 3"),
        (("NCHW", shape), {"window": (0, 3)}, "1 or more"),
        (("NCHW", shape), {"window": ()}, "got none"),
        (("NCHW", shape), {"window": 3}, "sequence of integers"),
        (("NCHW", shape), {"at": 3}, "an index for each"),
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
    with pytest.raises(nl.NpuLayoutError, match=r"\.svg or \.png"):
        nl.explain("NCHW", shape).save("picture.gif")
    for scale in (0, -1, float("nan")):
        with pytest.raises(nl.NpuLayoutError, match="above 0"):
            nl.explain("NCHW", shape).to_png(scale=scale)


def test_the_readmes_picture_is_what_explain_draws() -> None:
    found = nl.explain("NCHW", (1, 20, 2, 2), compare=["NHWC", "NCHW16c"])
    assert README_PICTURE.read_text(encoding="utf-8") == found.to_svg(860)
    assert README_PICTURE.stat().st_size < 150_000


@pytest.mark.parametrize("bad", [0, -5, -0.0, math.nan, math.inf, -math.inf, None, "5", [5], 1j])
def test_measures_of_a_picture_are_above_0(bad: Any, tmp_path: Path) -> None:
    found = nl.explain("NCHW", (1, 3, 4, 4))
    for name in ("a.svg", "a.png"):
        with pytest.raises(nl.NpuLayoutError, match="width of a picture: expected a number above 0"):
            found.save(tmp_path / name, bad)
    for attempt in (found.to_svg, found.to_png):
        with pytest.raises(nl.NpuLayoutError, match="width of a picture: expected a number above 0"):
            attempt(bad)
    with pytest.raises(nl.NpuLayoutError, match="scale of a picture: expected a number above 0"):
        found.to_png(scale=bad)
    assert not list(tmp_path.iterdir())
    assert found.to_svg(1) == found.to_svg(np.float32(0.5))


@pytest.mark.parametrize("bad", [0, -1, 2**30 + 1, 10**30, 1.5, math.nan, "64", None, []])
def test_cache_lines_that_are_none(bad: Any) -> None:
    with pytest.raises(nl.NpuLayoutError, match="cache_line: expected 1 byte or more"):
        nl.explain("NCHW", (1, 3, 4, 4), window=(2, 2), cache_line=bad)
    assert nl.explain("NCHW", (1, 3, 4, 4), window=(2, 2), cache_line=np.int64(2**30)).reads[0].lines == [0]
