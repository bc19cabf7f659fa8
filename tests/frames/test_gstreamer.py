"""Frames of GStreamer: stand-ins with the attributes of a VideoMeta, a VideoInfo and a Sample."""

from __future__ import annotations

import sys
from types import SimpleNamespace as Twin
from typing import Any

import pytest

import npu_layout as nl
from tests.support.gstreamer_frames import meta


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("NV12", "NV12"),
        ("I420", "I420"),
        ("YUY2", "YUYV"),
        ("BGRx", "BGRX"),
        ("GRAY16_LE", "GRAY16"),
        ("P010_10LE", "P010"),
        ("RGB16", "RGB565"),
        ("Y42B", "I422"),
    ],
)
def test_gstreamer_meta(name: str, ours: str) -> None:
    strides = [s + 64 for s in nl.FrameSpec(ours, (20, 10)).strides]
    spec = nl.FrameSpec(ours, (20, 10), strides=strides)
    assert nl.FrameSpec.of(meta(name, (20, 10), strides, spec.offsets)) == spec


def test_gstreamer_tiles_count_tiles_for_strides() -> None:
    """Four tiles across and two down, as GST_VIDEO_TILE_MAKE_STRIDE has it."""
    spec = nl.FrameSpec("NV12_32L32", (100, 40), strides=(128, 128))
    given = meta("NV12_32L32", (100, 40), [2 << 16 | 4, 1 << 16 | 4], spec.offsets)
    assert nl.FrameSpec.of(given) == spec


def test_gstreamer_info() -> None:
    info = Twin(
        finfo=Twin(name="NV12"),
        width=20,
        height=10,
        stride=[64, 64, 0, 0],
        offset=[0, 640, 0, 0],
        size=1000,
        colorimetry=Twin(matrix=3, range=1),
    )
    assert nl.FrameSpec.of(info) == nl.FrameSpec("NV12", (20, 10), strides=64, size=1000, matrix="bt709", range="full")


class Structure(dict):
    def get_name(self) -> str:
        return str(self["name"])

    def get_value(self, field: str) -> Any:
        return self[field]

    def has_field(self, field: str) -> bool:
        return field in self


def sample(size: int, **fields: Any) -> Twin:
    structure = Structure({"name": "video/x-raw", **fields})
    return Twin(
        get_caps=lambda: Twin(get_structure=lambda i: structure), get_buffer=lambda: Twin(get_size=lambda: size)
    )


def test_gstreamer_samples() -> None:
    """Without meta: rows of whole 4 bytes, and an even number of rows of Y (video-info.c)."""
    got = nl.FrameSpec.of(sample(24 * 12 + 24 * 6, format="NV12", width=21, height=11, colorimetry="bt709"))
    assert got == nl.FrameSpec("NV12", (21, 11), strides=24, offsets=(0, 288), size=432, matrix="bt709")
    got = nl.FrameSpec.of(sample(24 * 12 + 2 * 12 * 6, format="I420", width=21, height=11, colorimetry="1:4:0:1"))
    assert got.strides == (24, 12, 12) and got.offsets == (0, 288, 360) and (got.matrix, got.range) == ("bt601", "full")
    assert nl.FrameSpec.of(sample(64 * 11, format="BGR", width=21, height=11)).strides == (64,)
    assert nl.FrameSpec.of(sample(24 * 11, name="video/x-bayer", format="rggb", width=21, height=11)).format == "RGGB"
    assert nl.FrameSpec.of(sample(999, name="image/jpeg", width=21, height=11)) == nl.FrameSpec("MJPEG", (21, 11))


def test_a_samples_meta_is_read_if_gstvideo_is_loaded(monkeypatch: Any) -> None:
    spec = nl.FrameSpec("NV12", (20, 10), strides=64, offsets=(0, 640), size=2000)
    found = meta("NV12", (20, 10), spec.strides, spec.offsets)
    monkeypatch.setitem(sys.modules, "gi.repository.GstVideo", Twin(buffer_get_video_meta=lambda buffer: found))
    assert nl.FrameSpec.of(sample(2000, format="NV12", width=20, height=10)) == spec


def test_a_sample_that_is_cropped_by_meta_is_refused(monkeypatch: Any) -> None:
    """Its caps are those of the part, and its memory is that of the whole frame (gstvideocrop.c)."""
    found = meta("NV12", (20, 10), (64, 64), (0, 640))
    monkeypatch.setitem(sys.modules, "gi.repository.GstVideo", Twin(buffer_get_video_meta=lambda buffer: found))
    for width, height in ((16, 10), (20, 8)):
        with pytest.raises(
            nl.NpuLayoutError, match=rf"caps say {width}x{height}, and its VideoMeta 20x10: .* VideoCropMeta .*roi_xywh"
        ):
            nl.FrameSpec.of(sample(2000, format="NV12", width=width, height=height))


@pytest.mark.parametrize("mode", ["progressive", "interleaved", "mixed", "fields", "alternate"])
def test_interlaced_samples_are_whole_frames(mode: str) -> None:
    whole = mode not in ("fields", "alternate")
    info = Twin(
        **dict(finfo=Twin(name="NV12"), width=20, height=10, stride=[20, 20], offset=[0, 200], size=300),
        interlace_mode=Twin(value_nick=mode),
    )
    for given in (sample(300, **{"format": "NV12", "width": 20, "height": 10, "interlace-mode": mode}), info):
        if whole:
            assert nl.FrameSpec.of(given) == nl.FrameSpec("NV12", (20, 10), size=300)
        else:
            with pytest.raises(nl.NpuLayoutError, match=f"interlace-mode={mode}: .* put deinterlace before the sink"):
                nl.FrameSpec.of(given)


LARGER = [
    ("NV12", (1920, 1080), 2048 * 1620, 3110400),
    ("NV12", (1920, 1080), 1920 * 1632, 3110400),
    ("I420", (640, 480), 462848, 460800),
    ("BGR", (1918, 1080), 5760 * 1080, 5756 * 1080),
    ("NV12_4L4", (8, 8), 97, 96),
]


@pytest.mark.parametrize(("name", "size", "nbytes", "own"), LARGER)
def test_a_sample_of_another_size_is_refused(name: str, size: Any, nbytes: int, own: int, monkeypatch: Any) -> None:
    """Its pitch is in a VideoMeta that nobody read; rows of the width would be other pixels."""
    given = sample(nbytes, format=name, width=size[0], height=size[1])
    says = rf"x: its buffer has {nbytes} bytes; {name} of {size[0]}x{size[1]}, as its caps say, has {own} .*"
    monkeypatch.delitem(sys.modules, "gi.repository.GstVideo", raising=False)
    with pytest.raises(nl.BufferSizeError, match=says + r"import GstVideo \(from gi.repository import GstVideo\)"):
        nl.FrameSpec.of(given)
    monkeypatch.setitem(sys.modules, "gi.repository.GstVideo", Twin(buffer_get_video_meta=lambda buffer: None))
    with pytest.raises(nl.BufferSizeError, match=says + r"it has no VideoMeta; describe it with FrameSpec"):
        nl.FrameSpec.of(given)
    assert nl.FrameSpec.of(sample(own, format=name, width=size[0], height=size[1])).size == own


@pytest.mark.parametrize(
    ("height", "colorimetry", "matrix", "span"),
    [
        (576, None, "bt601", "limited"),
        (578, None, "bt709", "limited"),
        (1080, None, "bt709", "limited"),
        (2160, None, "bt709", "limited"),
        (1080, "what is this", "bt709", "limited"),
        (480, "what is this", "bt601", "limited"),
        (1080, "1:0:0:0", "bt709", "limited"),  # no matrix of YUV: GStreamer takes all of its default
        (1080, "1:1:7:1", "bt709", "limited"),
        (1080, "sRGB", "bt709", "limited"),
        (1080, "1:5:0:0", "bt709", "full"),
        (1080, "1:4:0:0", "bt601", "full"),
        (480, "2:3:5:1", "bt709", "limited"),
        (1080, "bt601", "bt601", "limited"),
    ],
)
def test_gstreamers_default_colours(height: int, colorimetry: Any, matrix: str, span: str) -> None:
    """video-info.c, set_default_colorimetry: by the height, where caps say none, or none that is known."""
    said = {} if colorimetry is None else {"colorimetry": colorimetry}
    for name, lines in (("I420", height * 3 // 2), ("YUY2", height * 2)):
        got = nl.FrameSpec.of(sample(16 * lines, format=name, width=16, height=height, **said))
        assert (got.matrix, got.range) == (matrix, span)
    plain = nl.FrameSpec.of(sample(64 * height, format="BGRx", width=16, height=height, **said))
    assert plain == nl.FrameSpec("BGRX", (16, height))


def test_default_colours_of_a_meta_and_of_an_info() -> None:
    for height, matrix in ((480, "bt601"), (1080, "bt709")):
        given = meta("NV12", (64, height), [64, 64], [0, 64 * height])
        assert nl.FrameSpec.of(given).matrix == matrix
        info = Twin(**{**vars(given), "finfo": Twin(name="NV12"), "colorimetry": Twin(matrix=0, range=0)})
        assert (nl.FrameSpec.of(info).matrix, nl.FrameSpec.of(info).range) == (matrix, "limited")


@pytest.mark.parametrize("name", ["bt2020-10", "bt2100-pq", "bt2100-hlg"])
def test_gstreamers_names_of_colours(name: str) -> None:
    got = nl.FrameSpec.of(sample(2 * 24 * 18, format="P010_10LE", width=24, height=12, colorimetry=name))
    assert (got.format, got.matrix, got.range) == ("P010", "bt2020", "limited")
