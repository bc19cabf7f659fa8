"""What is explained: its numbers against the scalar oracle, and measures of a picture that are refused."""

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


@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1e3, 1e308])
def test_pictures_without_pixels_or_with_too_many(scale: float) -> None:
    with pytest.raises(nl.NpuLayoutError, match=r"scale: a picture of .* too small, expected 1 to 32768"):
        nl.explain("NCHW", (1, 1, 2, 2)).to_png(scale=scale)


def test_other_endings_are_refused() -> None:
    with pytest.raises(nl.NpuLayoutError, match=r"\.svg or \.png"):
        nl.explain("NCHW", (1, 3, 8, 8)).save("picture.gif")
