"""The bytes that an explanation of a frame names, against the definitions of the formats; text, SVG and PNG."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.drawing import FrameExplanation
from tests.support import frame_formats as formats


@pytest.mark.parametrize("name", formats.YUV)
@pytest.mark.parametrize("pitch", [0, 128])
def test_samples_are_at_the_addresses_shown(name: str, pitch: int) -> None:
    spec = nl.FrameSpec(name, (22, 14), strides=[s + pitch for s in nl.FrameSpec(name, (22, 14)).strides])
    seen = set()
    for memory in nl.explain(spec).planes():
        for run in memory.runs:
            for at, byte in enumerate(run.bytes):
                if not byte.component:
                    continue
                every = 1 if byte.component == "Y" else 1 if name in formats.YUV_444 else 2
                tall = 2 if byte.component != "Y" and name in formats.YUV_420 else 1
                plane, column, row = formats.place(name, byte.component, byte.number * every, run.row * tall)
                expected = spec.offsets[plane] + formats.in_plane(name, plane, spec.strides[plane], column, row)
                assert expected == run.address + at
                seen.add((byte.component, byte.number, run.row))
    assert {("Y", 0, 0), ("Y", 3, 1), ("U", 1, 0), ("V", 0, 1)} <= seen


@pytest.mark.parametrize("name", formats.MOSAICS)
def test_filters_of_mosaics(name: str) -> None:
    memory = np.arange(20 * 12 * 2) % 251
    spec = nl.FrameSpec(name, (20, 12))
    mosaic = formats.mosaic_of(name, memory, spec.strides[0], 20, 12)
    (plane,) = nl.explain(spec).planes()
    for run in plane.runs:
        shown = [(byte, run.address + at) for at, byte in enumerate(run.bytes) if byte.component]
        for byte, address in shown:
            assert mosaic[run.row, byte.number] == memory[address]
            assert byte.component == name[run.row % 2 * 2 + byte.number % 2]
        assert len(shown) > 10


def test_the_text() -> None:
    spec = nl.FrameSpec("NV12", (6, 4), strides=8)
    assert str(nl.explain(spec)).splitlines() == [
        "NV12 of 6x4 with strides (8, 8), 48 bytes",
        "Y, from byte 0: 4 rows of 6 bytes, one every 8",
        "   0: Y0  Y1  Y2  Y3  Y4  Y5  +2 of a gap",
        "   8: Y0  Y1  Y2  Y3  Y4  Y5  +2 of a gap",
        "  16: Y0  Y1  Y2  Y3  Y4  Y5  +2 of a gap",
        "  24: Y0  Y1  Y2  Y3  Y4  Y5",
        "UV, from byte 32: 2 rows of 6 bytes, one every 8",
        "  32: U0  V0  U1  V1  U2  V2  +2 of a gap",
        "  40: U0  V0  U1  V1  U2  V2",
    ]
    assert "R0  G1  R2  G3  ..  R4" in str(nl.explain(nl.FrameSpec("RGGB10P", (8, 4))))
    assert "B0  G0  R0  X0  B1" in str(nl.explain(nl.FrameSpec("BGRX", (8, 4))))
    assert "..  Y0  ..  Y1" in str(nl.explain(nl.FrameSpec("GRAY16", (8, 4))))
    large = str(nl.explain(nl.FrameSpec("NV12_32L32", (1920, 1080))))
    assert "in tiles of 32 rows of 32 bytes, 60 side by side" in large and "+16 more" in large


@pytest.mark.parametrize("name", formats.FLAT)
def test_pictures(name: str, tmp_path: Path) -> None:
    found = nl.explain(nl.FrameSpec(name, (8, 4)))
    assert isinstance(found, FrameExplanation)
    found.save(tmp_path / "frame.svg")
    found.save(str(tmp_path / "frame.png"))
    svg = (tmp_path / "frame.svg").read_text()
    assert svg == found.to_svg() == found._repr_svg_()
    texts = [element.text for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("}text")]
    shown = {byte.label for memory in found.planes() for run in memory.runs for byte in run.bytes}
    assert shown <= set(texts)
    width, height = (int(re.search(f'{side}="(\\d+)"', svg)[1]) for side in ("width", "height"))  # type: ignore[index]
    assert cv2.imread(str(tmp_path / "frame.png")).shape[:2] == (2 * height, 2 * width)


def test_what_cannot_be_explained(tmp_path: Path) -> None:
    with pytest.raises(nl.NpuLayoutError, match="MJPEG of 8x4: compressed bytes have no places"):
        nl.explain(nl.FrameSpec("MJPEG", (8, 4)))
    spec = nl.FrameSpec("NV12", (8, 4))
    wrong: list[dict[str, Any]] = [{"shape": (1, 2)}, {"compare": "NCHW"}, {"gray": True}, {"at": (0, 0)}]
    for arguments in wrong:
        with pytest.raises(nl.NpuLayoutError, match="layout: NV12 of 8x4 is explained alone"):
            nl.explain(spec, **arguments)  # type: ignore[call-overload]
    with pytest.raises(nl.NpuLayoutError, match=r"expected a name that ends in .svg or .png"):
        nl.explain(spec).save(tmp_path / "frame.gif")
