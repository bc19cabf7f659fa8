"""FrameSpec.of V4L2's formats: structs of ctypes in the layout of Linux's videodev2.h, as any binding has them."""

from __future__ import annotations

import ctypes
from collections import namedtuple
from types import SimpleNamespace as Twin
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.frames import own_copy
from npu_layout.frames.camera_formats import V4L2
from npu_layout.frames.format_names import hint_of
from npu_layout.frames.pixel_formats import PIXEL_FORMATS

U8, U16, U32 = ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32
CAPTURE, CAPTURE_MPLANE, META = 1, 9, 13  # enum v4l2_buf_type
MAGIC = 0xFEEDCAFE


class Pix(ctypes.Structure):
    _fields_ = [
        *((name, U32) for name in ("width", "height", "pixelformat", "field", "bytesperline", "sizeimage")),
        *((name, U32) for name in ("colorspace", "priv", "flags", "ycbcr_enc", "quantization", "xfer_func")),
    ]


class Plane(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("sizeimage", U32), ("bytesperline", U32), ("reserved", U16 * 6)]


class Mplane(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [
        *((name, U32) for name in ["width", "height", "pixelformat", "field", "colorspace"]),
        ("plane_fmt", Plane * 8),
        *((name, U8) for name in ["num_planes", "flags", "ycbcr_enc", "quantization", "xfer_func"]),
        ("reserved", U8 * 7),
    ]


class Union(ctypes.Union):
    _fields_ = [("pix", Pix), ("pix_mp", Mplane), ("raw_data", U8 * 200), ("aligned", ctypes.c_void_p)]


class Format(ctypes.Structure):
    _fields_ = [("type", U32), ("fmt", Union)]


def fourcc(code: str) -> int:
    return sum(ord(letter) << 8 * at for at, letter in enumerate(code))


def pix(code: str, width: int, height: int, pitch: int = 0, size: int = 0, **more: int) -> Pix:
    given = {"priv": MAGIC, "field": 1, "colorspace": 8, **more}
    return Pix(width=width, height=height, pixelformat=fourcc(code), bytesperline=pitch, sizeimage=size, **given)


def mplane(code: str, width: int, height: int, *planes: tuple[int, int], **more: int) -> Mplane:
    made = Mplane(width=width, height=height, pixelformat=fourcc(code), num_planes=len(planes), field=1, **more)
    for at, (pitch, size) in enumerate(planes):
        made.plane_fmt[at].bytesperline, made.plane_fmt[at].sizeimage = pitch, size
    return made


def union(kind: int, one: Any) -> Format:
    made = Format(type=kind)
    setattr(made.fmt, "pix" if kind == CAPTURE else "pix_mp", one)
    return made


def test_the_structs_are_as_long_as_linuxs() -> None:
    assert [ctypes.sizeof(one) for one in (Pix, Plane, Mplane)] == [48, 20, 192]
    if ctypes.sizeof(ctypes.c_void_p) == 8:
        assert (ctypes.sizeof(Format), Format.fmt.offset) == (208, 8)


def test_a_pitch_and_the_size_of_a_buffer() -> None:
    spec = nl.FrameSpec.of(pix("YUYV", 638, 480, 1280, 1280 * 480))
    assert spec == nl.FrameSpec("YUYV", (638, 480), strides=1280, size=1280 * 480)
    assert nl.FrameSpec.of(pix("YUYV", 640, 480)) == nl.FrameSpec("YUYV", (640, 480))  # neither is said
    behind = nl.FrameSpec.of(pix("GREY", 100, 10, 128, 4096))  # rounded up to a page
    assert behind.size == 4096 and behind.strides == (128,)


@pytest.mark.parametrize("code", ["YU12", "YV12", "422P"])
def test_chroma_has_half_of_the_pitch(code: str) -> None:
    """The chapter on planar formats: bytesperline is that of the first plane, divided as the width is for others."""
    rows = 8 if code == "422P" else 4
    spec = nl.FrameSpec.of(pix(code, 12, 8, 32, 32 * 8 + 2 * 16 * rows))
    assert spec.strides == (32, 16, 16) and spec.offsets == (0, 256, 256 + 16 * rows)


def test_the_frame_is_read_with_its_pitch() -> None:
    wide, height, pitch = 20, 12, 64
    memory = np.random.default_rng(3).integers(0, 256, pitch * height * 3 // 2, np.uint8)
    spec = nl.FrameSpec.of(union(CAPTURE_MPLANE, mplane("NV12", wide, height, (pitch, memory.size))))
    target = nl.TensorSpec((1, 3, height, wide), "NHWC", "uint8")
    y = memory[: pitch * height].reshape(height, pitch)[:, :wide]
    uv = memory[pitch * height :].reshape(height // 2, pitch)[:, :wide]
    expected, _ = nl.Preprocessor(target, source="NV12")(np.concatenate([y, uv]))
    found, _ = nl.Preprocessor(target, source=spec)(memory.tobytes())
    assert np.array_equal(found, expected)
    apart = nl.FrameSpec.of(mplane("NM12", wide, height, (pitch, pitch * height), (pitch, pitch * height // 2)))
    both = memory[: pitch * height], memory[pitch * height :]
    found, _ = nl.Preprocessor(target, source=apart)(both)
    assert np.array_equal(found, expected)


def test_the_member_of_the_union_that_its_type_says() -> None:
    one = union(CAPTURE, pix("RGB3", 10, 4, 32, 128))
    assert nl.FrameSpec.of(one) == nl.FrameSpec("RGB", (10, 4), strides=32)
    several = union(CAPTURE_MPLANE, mplane("GREY", 10, 4, (16, 64)))
    assert nl.FrameSpec.of(several) == nl.FrameSpec("GRAY", (10, 4), strides=16)
    with pytest.raises(nl.NpuLayoutError, match=r"x: a V4L2 format of buffers of type 13; expected 1, V4L2_BUF_TYPE_V"):
        nl.FrameSpec.of(Format(type=META))


def test_a_height_that_is_rounded_up_is_not_guessed() -> None:
    with pytest.raises(nl.NpuLayoutError, match=r"that of 1088 rows .* expected offsets=\(0, 2088960\)"):
        nl.FrameSpec.of(pix("NV12", 1920, 1080, 1920, 1920 * 1088 * 3 // 2))


#: colorspace, ycbcr_enc, quantization; matrix and range
COLORS = [
    ((0, 0, 0), ("bt601", "limited")),
    ((1, 0, 0), ("bt601", "limited")),  # SMPTE170M
    ((3, 0, 0), ("bt709", "limited")),  # REC709
    ((7, 0, 0), ("bt601", "full")),  # JPEG
    ((8, 0, 0), ("bt601", "limited")),  # SRGB, as webcams say
    ((10, 0, 0), ("bt2020", "limited")),
    ((12, 0, 0), ("bt709", "limited")),  # DCI-P3
    ((8, 2, 1), ("bt709", "full")),
    ((3, 1, 0), ("bt601", "limited")),
    ((7, 0, 2), ("bt601", "limited")),
    ((3, 4, 0), ("bt709", "limited")),  # XV709
    ((8, 5, 1), ("bt601", "full")),  # SYCC
    ((2, 1, 0), ("bt601", "limited")),  # SMPTE240M's primaries, BT.601's Y
]


@pytest.mark.parametrize(("said", "means"), COLORS)
def test_colors(said: tuple[int, int, int], means: tuple[str, str]) -> None:
    names = dict(zip(("colorspace", "ycbcr_enc", "quantization"), said))
    for one in (pix("NV12", 4, 4, **names), mplane("NV12", 4, 4, (4, 24), **names)):
        spec = nl.FrameSpec.of(one)
        assert (spec.matrix, spec.range) == means
    assert nl.FrameSpec.of(pix("BGR3", 4, 4, **names)) == nl.FrameSpec("BGR", (4, 4))  # colors need none


def test_without_the_magic_number_what_is_behind_it_is_not_set() -> None:
    spec = nl.FrameSpec.of(pix("NV12", 4, 4, priv=0, colorspace=3, ycbcr_enc=8, quantization=1))
    assert (spec.matrix, spec.range) == ("bt709", "limited")
    signed = Twin(width=4, height=4, pixelformat=fourcc("NV12"), field=1, bytesperline=4, sizeimage=24, colorspace=3)
    assert nl.FrameSpec.of(signed).matrix == "bt709"  # a binding that ends before it
    signed.priv, signed.ycbcr_enc, signed.quantization = MAGIC - (1 << 32), 1, 1  # and one whose priv is signed
    assert (nl.FrameSpec.of(signed).matrix, nl.FrameSpec.of(signed).range) == ("bt601", "full")


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ({"colorspace": 2}, r"colorspace 2, is SMPTE 240M; expected bt601, bt709, bt2020: give FrameSpec\('NV12'"),
        ({"ycbcr_enc": 7}, "is BT.2020 of constant luminance; expected"),
        ({"ycbcr_enc": 200}, "is 200; expected"),
        ({"field": 7}, "field is 7: its buffers have one field each, half of the lines; expected whole frames"),
        ({"field": 5}, "field is 5: its buffers have two fields, one behind the other"),
    ],
)
def test_what_would_be_a_wrong_picture_is_refused(names: dict[str, int], says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.FrameSpec.of(pix("NV12", 4, 4, 4, 24, **names))


def test_formats_that_are_none_here() -> None:
    for code in ("NV61", "VYUY", "BG10", "H264", "RGB4", "Y10 "):
        with pytest.raises(nl.NpuLayoutError, match=rf"V4L2's format '{code}' is not in the table; .*VIDIOC_S_FMT$"):
            nl.FrameSpec.of(pix(code, 4, 4))
    big = pix("Y16 ", 4, 4)
    big.pixelformat |= 1 << 31
    with pytest.raises(nl.NpuLayoutError, match="V4L2's format 'Y16 -BE' is not"):
        nl.FrameSpec.of(big)
    with pytest.raises(nl.NpuLayoutError, match="num_planes is 3; expected 2 of NV12, or 1 for all in one buffer"):
        nl.FrameSpec.of(mplane("NM12", 4, 4, (4, 16), (4, 8), (4, 8)))


def test_every_code_makes_a_spec_and_says_what_a_hint_says() -> None:
    for code, ours in V4L2.items():
        spec = nl.FrameSpec.of(pix(code, 64, 64))
        assert (spec.format, spec.size_wh) == (ours, (64, 64))
        hint = hint_of(code, PIXEL_FORMATS)
        assert code.strip() == ours or not hint or ours in hint, (code, ours, hint)


def test_motion_jpeg_has_neither_rows_nor_a_size() -> None:
    assert nl.FrameSpec.of(pix("MJPG", 640, 480, 0, 614400)) == nl.FrameSpec("MJPEG", (640, 480))


LinuxpyFormat = namedtuple("LinuxpyFormat", "width height pixel_format size bytes_per_line")  # as linuxpy 0.25 has it


class LinuxpyFrame:
    """linuxpy's Frame: it has its bytes, and hands them out by bytes() alone."""

    def __init__(self, code: str, data: Any, pitch: int, size: tuple[int, int] = (8, 6)) -> None:
        number = int.from_bytes(code.encode(), "little")
        self.format, self.data = LinuxpyFormat(*size, number, len(data), pitch), data

    def __bytes__(self) -> bytes:
        return bytes(self.data)

    def __len__(self) -> int:
        return len(self.data)

    @property
    def width(self) -> int:
        return self.format.width


def test_frames_of_linuxpy() -> None:
    """They were no frames, nor a V4L2 format, and the error did not say what to give."""
    pixels = np.random.default_rng(0).integers(0, 256, (6, 24), np.uint8)  # rows of 16 bytes, and a gap of 8
    wanted = cv2.cvtColor(np.ascontiguousarray(pixels[:, :16]).reshape(6, 8, 2), cv2.COLOR_YUV2BGR_YUYV)
    frame = LinuxpyFrame("YUYV", pixels.tobytes(), 24)
    assert nl.FrameSpec.of(frame) == nl.FrameSpec("YUYV", (8, 6), strides=24, size=144)
    target = nl.TensorSpec((1, 3, 6, 8), "NHWC", "uint8")
    for source in ("YUYV", nl.FrameSpec("YUYV", (8, 6), strides=24)):
        got = nl.Preprocessor(target, source=source, color="BGR", resize="stretch")(frame)[0][0]
        np.testing.assert_array_equal(got, wanted)
    with pytest.raises(nl.NpuLayoutError, match=r"got YUYV of 8x6 .* describes itself; give source='YUYV'"):
        nl.Preprocessor(target)(frame)
    picture = cv2.imencode(".jpg", wanted)[1].tobytes()
    motion = nl.Preprocessor(target, source="MJPEG", color="BGR", resize="stretch")
    decoded = cv2.imdecode(np.frombuffer(picture, np.uint8), cv2.IMREAD_COLOR)
    np.testing.assert_array_equal(motion(LinuxpyFrame("MJPG", picture, 0))[0][0], decoded)
    with pytest.raises(nl.NpuLayoutError, match="V4L2's format 'H264' is not in the table"):
        nl.FrameSpec.of(LinuxpyFrame("H264", b"x", 0))


def test_a_frame_of_linuxpy_is_copied_from_the_drivers_memory() -> None:
    memory = bytearray(range(96))
    frame = LinuxpyFrame("GREY", memoryview(memory), 16)
    kept = own_copy(frame)
    memory[:] = bytes(96)
    gray = nl.Preprocessor(nl.TensorSpec((1, 1, 6, 8), "NHWC", "uint8"), source="GRAY", color="GRAY", resize="stretch")
    assert gray(kept)[0][0, 1].ravel().tolist() == list(range(16, 24)) and not gray(frame)[0].any()
