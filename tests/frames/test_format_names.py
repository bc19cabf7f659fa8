"""What pixel formats are called elsewhere: names of the same memory, of another, and of none of the library's."""

from __future__ import annotations

import re
from pathlib import Path

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.frames.format_names import ELSEWHERE, hint_of
from npu_layout.frames.pixel_formats import PIXEL_FORMATS, pixel_format


def named(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.partition(" (")[0]) if word in PIXEL_FORMATS]


def test_names_of_other_programs_lead_to_formats_that_exist() -> None:
    assert all(named(text) and re.split("[ ,]", text)[0] in PIXEL_FORMATS for text in ELSEWHERE.values())
    assert not set(ELSEWHERE) & set(PIXEL_FORMATS) and all(name == name.upper() for name in ELSEWHERE)
    for name, same in (("GREY", "GRAY"), ("YU12", "I420"), ("Y16 ", "GRAY16"), ("yuy2", "YUYV"), ("nv12", "NV12")):
        with pytest.raises(nl.NpuLayoutError, match=rf"got '{name}'\. Is it {same}\?$"):
            pixel_format(name)


def test_names_that_are_another_memory_elsewhere_name_both() -> None:
    """OpenCV's own constants say what it means; of the others, what FFmpeg's pixfmt.h and V4L2's videodev2.h say."""
    assert cv2.COLOR_YUV420sp2BGR == cv2.COLOR_YUV2BGR_NV21 and named(ELSEWHERE["YUV420SP"]) == ["NV12", "NV21"]
    assert cv2.COLOR_YUV420p2BGR == cv2.COLOR_YUV2BGR_YV12 and named(ELSEWHERE["YUV420P"]) == ["I420", "YV12"]
    red = cv2.cvtColor(np.uint8([[[0, 0, 255]]]), cv2.COLOR_BGR2BGR565).view("<u2")[0, 0, 0]
    assert red == 0b11111_000000_00000  # the high bits, as the library's RGB565; FFmpeg's BGR565 has blue there
    for name, says in (
        ("YUV420SP", r"Is it NV12, or NV21, as OpenCV and Android's Camera mean it\?$"),
        ("yuv420p", r"Is it I420, or YV12, as OpenCV and Android's Camera mean it\?$"),
        ("yuvj420p", r"Is it I420 with range='full'\?$"),
        ("BGR565", "Is it RGB565, as OpenCV means it .FFmpeg's and DRM's have blue in the high bits"),
        ("RGBP", "Is it RGB565, as V4L2 means it .GStreamer's has three planes"),
        ("Y444", "Is it I444, as GStreamer means it .V4L2's has 16 bits a pixel"),
        ("rgb8", "Is it RGB, as GenICam and ROS mean it .FFmpeg's has 8 bits a pixel"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            pixel_format(name)
    with pytest.raises(nl.NpuLayoutError) as refused:
        pixel_format("BGRA32")  # V4L2's has alpha first
    assert "Is it BGRA, " not in str(refused.value)


def test_the_names_in_the_documentation_are_known() -> None:
    text = (Path(__file__).parents[2] / "docs" / "frames.md").read_text(encoding="utf-8")
    table = text.partition("V4L2 and DRM names of the same memory:\n\n")[2].partition("\n\n")[0]
    rows = [[cell.split(", ") for cell in line.strip("| ").split(" | ")] for line in table.splitlines()[2:]]
    known = [(name.strip('" '), same) for here, there in rows for same, name in zip(here, there)]
    assert len(known) == sum(len(names) for row in rows for names in row) / 2 == 19
    for name, same in (*known, ("NM12", "NV12")):
        assert named(hint_of(name, PIXEL_FORMATS))[0] == same


def test_fourccs_that_differ_by_case_alone() -> None:
    """videodev2.h: 'p', 'G' or 'g' for GBRG and GRBG, then two letters for the bits."""
    for name, same in (("pgAA", "GRBG10P"), ("pGAA", "GBRG10P"), ("pgCC", "GRBG12P"), ("pGCC", "GBRG12P")):
        assert hint_of(name, PIXEL_FORMATS) == f". Is it {same}?"
    assert hint_of("PGAA", PIXEL_FORMATS) == ""


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("NV61", "V before U: give (y, uv[..., ::-1]) as NV16"),
        ("VYUY", "frame[..., ::-1] of the array (H, W, 2) is YVYU"),
        ("YV16", "give (y, u, v) as I422"),
        ("gbrp", "three planes of colours"),
        ("BGR888p", "three planes of colours"),
        ("xRGB", "first byte is no colour: frame[..., 1:] is RGB"),
        ("I010", "low bits used"),
        ("yuv420p10le", "low bits used"),
        ("Mono14", "frame << 6 of 10 bits, << 4 of 12, << 2 of 14, is GRAY16"),
        ("RG10", "(frame >> 2).astype(np.uint8)"),
        ("SBGGR12", "(frame >> 2).astype(np.uint8) of 10 bits, >> 4 of 12, >> 6 of 14, >> 8 of 16, is one"),
        ("BayerRG10p", "another than CSI-2's"),
        ("Mono12Packed", "another than CSI-2's"),
        ("Y10P", "the first 4 bytes of each 5 are GRAY"),
        ("NV15", "ask the decoder for NV12 or P010"),
        ("NV12_10LE40", "ask the decoder for NV12 or P010"),
        ("H264", "a decoder makes NV12, I420 or BGR of it"),
        ("hevc", "a decoder makes NV12, I420 or BGR of it"),
        ("Z16", "np.clip(depth // 16, 0, 255).astype(np.uint8)"),
        ("16UC1", "give these as GRAY"),
    ],
)
def test_names_of_memory_that_no_format_has(name: str, says: str) -> None:
    """A name that is nearly one of the library's is not taken for it: NV61 is not NV21, nor gbrp GBRG."""
    with pytest.raises(nl.NpuLayoutError) as refused:
        pixel_format(name)
    assert f"{name} is none of these: " in str(refused.value) and says in str(refused.value)
    assert "Is it" not in str(refused.value)


def test_what_is_advised_of_v_before_u_has_the_same_colors() -> None:
    """NV61, VYUY and YV16 made of one picture's samples, against I422's."""
    rng = np.random.default_rng(8)
    y, u, v = (rng.integers(0, 256, shape).astype(np.uint8) for shape in ((6, 8), (6, 4), (6, 4)))
    target = nl.TensorSpec((1, 3, 6, 8), "NHWC", "uint8")
    expected = nl.Preprocessor(target, source="I422")((y, u, v))[0]
    nv61 = np.stack([v, u], axis=-1)
    np.testing.assert_array_equal(nl.Preprocessor(target, source="NV16")((y, nv61[..., ::-1]))[0], expected)
    vyuy = np.empty((6, 8, 2), np.uint8)
    vyuy[:, 0::2, 0], vyuy[:, 1::2, 0], vyuy[..., 1] = v, u, y
    np.testing.assert_array_equal(nl.Preprocessor(target, source="YVYU")(vyuy[..., ::-1])[0], expected)


def test_what_is_advised_of_bits_at_the_low_end() -> None:
    target = nl.TensorSpec((1, 1, 4, 6), "NHWC", "uint8")
    words = np.arange(24, dtype=np.uint16).reshape(4, 6) * 44  # of 10 bits
    gray = nl.Preprocessor(target, source="GRAY16", color="GRAY")(words << 6)[0]
    np.testing.assert_array_equal(gray.reshape(4, 6), words // 4)
    colors = nl.TensorSpec((1, 3, 4, 6), "NHWC", "uint8")
    packed = np.zeros((4, 10), np.uint8)  # 6 pixels, and two more that complete the group
    for x in range(6):
        packed[:, x // 4 * 5 + x % 4] = words[:, x] // 4
    shifted = nl.Preprocessor(colors, source="RGGB")((words >> 2).astype(np.uint8))[0]
    spec = nl.FrameSpec("RGGB10P", (6, 4))
    np.testing.assert_array_equal(nl.Preprocessor(colors, source=spec)(packed)[0], shifted)


def test_a_slip_of_case_or_signs_is_named() -> None:
    for name, same in (
        ("nv12", "NV12"),
        ("NV-12", "NV12"),
        ("nv12_4l4", "NV12_4L4"),
        ("mjpeg", "MJPEG"),
        ("nv12m", "NV12"),
    ):
        assert hint_of(name, PIXEL_FORMATS) == f". Is it {same}?"
    assert hint_of("NV13", PIXEL_FORMATS) == hint_of("", PIXEL_FORMATS) == ""
