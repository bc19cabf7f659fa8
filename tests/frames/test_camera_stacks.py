"""Frames of other libraries: PyAV's as recorded, and stand-ins with the attributes of GStreamer, picamera2 and ROS."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace as Twin
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.frames.camera_stacks import own_copy
from npu_layout.frames.frame_source import FrameSource
from npu_layout.frames.jpeg import jpeg_size
from npu_layout.frames.pictures import picture
from tests.support import frame_formats as formats
from tests.support.paths import ROOT

RECORDED = np.load(ROOT / "tests" / "data" / "frames" / "swscale_frames.npz")


class Plane(bytes):
    """A plane as PyAV has it: memory with a pitch."""

    line_size: int


def pyav_frames() -> Iterator[tuple[str, Any, np.ndarray]]:
    """FFmpeg's name, a frame, and swscale's BGR of it; scripts/record_swscale.py wrote them."""
    for key in sorted({name.split("/")[0] for name in RECORDED.files if "/" in name}):
        name, size, colorspace, color_range = key.rsplit("_", 3)
        width, height = map(int, size.split("x"))
        planes: list[Plane] = []
        while f"{key}/plane{len(planes)}" in RECORDED.files:
            plane = Plane(RECORDED[f"{key}/plane{len(planes)}"].tobytes())
            plane.line_size = int(RECORDED[f"{key}/line_size{len(planes)}"])
            planes.append(plane)
        frame = Twin(
            format=Twin(name=name),
            width=width,
            height=height,
            planes=tuple(planes),
            colorspace=int(colorspace),
            color_range=int(color_range),
        )
        yield name, frame, RECORDED[f"{key}/bgr"]


def most_apart(name: str) -> tuple[int, float]:
    """Largest and mean difference from swscale, which interpolates chroma and mosaics and scales 16 and 5 bits."""
    if name in ("nv24", "yuv444p", "gray16le"):
        return 1, 0.6
    if name == "rgb565le":
        return 7, 4
    return (0, 0) if name[:3] in ("bgr", "rgb", "gra") else (26, 4)


def test_pyav_frames_with_their_pitches_odd_sizes_and_colors() -> None:
    """The picture is swscale's, but for how chroma is interpolated: 4:4:4 is off by 1 of 255 at most."""
    seen, pitched = set(), 0
    for name, frame, bgr in pyav_frames():
        spec = nl.FrameSpec.of(frame)
        seen.add((spec.format, spec.matrix, spec.range))
        assert spec.size_wh == (frame.width, frame.height)
        assert spec.strides == tuple(plane.line_size for plane in frame.planes)
        pitched += not spec.is_dense
        for source in (spec.format, spec):
            pixels = picture(FrameSource.of(source).read("frame", frame))[..., :3].astype(int)
            pixels = pixels[..., ::-1] if name.startswith("rgb") and name != "rgb565le" else pixels
            off = np.abs(pixels - bgr)[1:-1, 1:-1]
            largest, mean = most_apart(name)
            assert off.max() <= largest and off.mean() <= mean, (name, off.max(), off.mean())
        out = nl.Preprocessor(nl.TensorSpec((1, 3, 8, 8), "NHWC", "uint8"), source=spec)(frame)[0]
        np.testing.assert_array_equal(
            out, nl.Preprocessor(nl.TensorSpec((1, 3, 8, 8), "NHWC", "uint8"), source=spec)(spec.planes(frame))[0]
        )
    assert pitched > 20 and {matrix for _, matrix, _ in seen} == {"bt601", "bt709", "bt2020"}
    assert {name for name, _, _ in seen} >= {"NV12", "NV16", "NV24", "I420", "I422", "I444", "P010", "YVYU", "RGGB"}


def test_other_matrices_are_further_from_swscale() -> None:
    """The recorded colors decide: read as another standard, the same frame is several values off."""
    for name, frame, bgr in pyav_frames():
        if name != "yuv444p":
            continue
        own = nl.FrameSpec.of(frame)
        for matrix in ("bt601", "bt709", "bt2020"):
            for range_ in ("limited", "full"):
                spec = nl.FrameSpec.from_dict({**own.to_dict(), "matrix": matrix, "range": range_})
                off = np.abs(picture(FrameSource.of(spec).read("frame", frame)).astype(int) - bgr).max()
                assert (off <= 1) == ((matrix, range_) == (own.matrix, own.range))


def test_a_frame_that_describes_itself_as_another_is_refused() -> None:
    (frame,) = [frame for name, frame, _ in pyav_frames() if name == "nv21" and frame.width == 24]
    target = nl.TensorSpec((1, 3, 8, 8), "NHWC", "uint8")
    for source in ("NV12", nl.FrameSpec("NV21", (24, 16))):
        with pytest.raises(nl.NpuLayoutError, match=r"^frame: .*got NV21 of 24x14 with strides .* describes itself"):
            nl.Preprocessor(target, source=source)(frame)


def meta(name: str, size: Any, strides: Any, offsets: Any) -> Twin:
    """A GstVideo.VideoMeta; it always has four strides and offsets."""
    nick = name.lower().replace("_", "-")
    padded = [[*given, *[0] * (4 - len(given))] for given in (strides, offsets)]
    format_ = Twin(value_nick=nick)
    return Twin(
        format=format_, width=size[0], height=size[1], n_planes=len(strides), stride=padded[0], offset=padded[1]
    )


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


def test_picamera2() -> None:
    main = {"format": "YUV420", "size": (640, 480), "stride": 768, "framesize": 768 * 720}
    spec = nl.FrameSpec("I420", (640, 480), strides=(768, 384, 384), size=768 * 720)
    raw = {"format": "SBGGR10_CSI2P", "size": (1536, 864), "stride": 1920}
    assert nl.FrameSpec.of(main) == spec == nl.FrameSpec.of(Twin(config={"main": main, "raw": raw}))
    assert nl.FrameSpec.of(raw) == nl.FrameSpec("BGGR10P", (1536, 864), strides=1920)
    # the manual's appendix A: BGR888 is R, G, B in memory, XRGB8888 is B, G, R and 255
    formats_ = {"BGR888": "RGB", "RGB888": "BGR", "XBGR8888": "RGBX", "XRGB8888": "BGRX"}
    for name, ours in formats_.items():
        assert nl.FrameSpec.of({"format": name, "size": (8, 6)}).format == ours


@pytest.mark.parametrize("encoding", ["Null", "Rec601", "Rec709", "Rec2020"])
@pytest.mark.parametrize("span", ["Full", "Limited"])
def test_picamera2_colour_spaces(encoding: str, span: str) -> None:
    """libcamera's enumerations have names; a still's space is sYCC, of full range, a video's from 720p on Rec. 709."""
    main = {"format": "YUV420", "size": (64, 48), "stride": 64}
    space = Twin(ycbcrEncoding=Twin(name=encoding), range=Twin(name=span))
    found = nl.FrameSpec.of(Twin(config={"main": main, "colour_space": space}))
    known = encoding != "Null"
    assert found.matrix == {"Rec709": "bt709", "Rec2020": "bt2020"}.get(encoding, "bt601")
    assert found.range == ("full" if known and span == "Full" else "limited")


@pytest.mark.parametrize("as_request", [True, False])
def test_picamera2_streams(as_request: bool) -> None:
    """A preview's colour space is sYCC, for main and lores alike; picamera2 gives it to libcamera for both."""
    config = {
        "main": {"format": "XBGR8888", "size": (640, 480), "stride": 2560, "framesize": 1228800},
        "lores": {"format": "YUV420", "size": (320, 240), "stride": 384, "framesize": 384 * 360},
        "raw": None,
        "colour_space": Twin(ycbcrEncoding=Twin(name="Rec601"), range=Twin(name="Full")),
        "controls": {},
    }
    x = Twin(config=config) if as_request else config
    assert nl.FrameSpec.of(x) == nl.FrameSpec.of(x, stream="main") == nl.FrameSpec("RGBX", (640, 480))
    lores = nl.FrameSpec("I420", (320, 240), strides=384, matrix="bt601", range="full")
    assert nl.FrameSpec.of(x, stream="lores") == lores
    config["raw"] = {"format": "SBGGR10_CSI2P", "size": (1536, 864), "stride": 1920}
    assert nl.FrameSpec.of(x, stream="raw") == nl.FrameSpec("BGGR10P", (1536, 864), strides=1920)
    with pytest.raises(nl.NpuLayoutError, match=r"^stream: picamera2: expected a stream 'low' .*got main, lores, raw;"):
        nl.FrameSpec.of(x, stream="low")
    config["lores"] = None
    with pytest.raises(nl.NpuLayoutError, match=r"^stream: .* expected a stream 'lores' .*got main, raw;"):
        nl.FrameSpec.of(x, stream="lores")
    with pytest.raises(nl.NpuLayoutError, match=r"^stream: expected text, got 3"):
        nl.FrameSpec.of(x, stream=3)  # type: ignore[arg-type]
    for other in (config["main"], meta("NV12", (20, 10), [20, 20], [0, 200]), np.zeros(3)):
        with pytest.raises(nl.NpuLayoutError, match=r"^stream: expected a picamera2 request, or its configuration"):
            nl.FrameSpec.of(other, stream="lores")


class Image:
    """An image as Pillow has it."""

    def __init__(self, pixels: np.ndarray, mode: str) -> None:
        self.pixels, self.mode, self.size = pixels, mode, pixels.shape[1::-1]
        self.__array_interface__ = pixels.__array_interface__

    def getbands(self) -> tuple[str, ...]:
        return tuple(self.mode)

    def tobytes(self) -> bytes:
        return self.pixels.tobytes()


def test_pillow_images_say_their_order() -> None:
    """Its arrays have R first: where B is expected they are refused, and never read as something else."""
    pixels = formats.noise(6 * 5 * 3).reshape(6, 5, 3)
    image = Image(pixels, "RGB")
    assert nl.FrameSpec.of(image) == nl.FrameSpec("RGB", (5, 6))
    target = nl.TensorSpec((1, 3, 6, 5), "NHWC", "uint8")
    rgb = nl.Preprocessor(target, source="RGB", color="RGB")
    np.testing.assert_array_equal(rgb(image)[0].reshape(6, 5, 3), pixels)
    gray = nl.Preprocessor(nl.TensorSpec((1, 1, 6, 5), "NCHW", "uint8"), source="GRAY", color="GRAY")
    np.testing.assert_array_equal(gray(Image(pixels[..., 0].copy(), "L"))[0].reshape(6, 5), pixels[..., 0])
    for given, says in ((image, "got RGB of 5x6.* give source='RGB'"), (Image(pixels, "YCbCr"), "Pillow's format")):
        with pytest.raises(nl.NpuLayoutError, match=says):
            nl.Preprocessor(target)(given)


def test_pillow_itself() -> None:
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    red = pillow.new("RGB", (4, 4), (255, 0, 0))
    made = nl.Preprocessor(nl.TensorSpec((1, 3, 4, 4), "NCHW", "uint8"), source="RGB")(red)[0]
    assert made.reshape(3, 16).max(1).tolist() == [255, 0, 0]


@pytest.mark.parametrize(
    ("encoding", "ours"),
    [
        ("bgr8", "BGR"),
        ("rgb8", "RGB"),
        ("mono8", "GRAY"),
        ("mono16", "GRAY16"),
        ("bayer_grbg8", "GRBG"),
        ("yuv422", "UYVY"),
        ("yuv422_yuy2", "YUYV"),
    ],
)
def test_ros_images(encoding: str, ours: str) -> None:
    """`step` is the pitch; the message is a frame by itself."""
    step = nl.FrameSpec(ours, (10, 6)).strides[0] + 8
    data = formats.noise(step * 6)
    message = Twin(encoding=encoding, width=10, height=6, step=step, is_bigendian=0, data=data)
    spec = nl.FrameSpec.of(message)
    assert spec == nl.FrameSpec(ours, (10, 6), strides=step)
    target = nl.TensorSpec((1, 3, 6, 10), "NHWC", "uint8")
    by_message, by_bytes = (nl.Preprocessor(target, source=ours)(message), nl.Preprocessor(target, source=spec)(data))
    np.testing.assert_array_equal(by_message[0], by_bytes[0])
    message.is_bigendian = 1
    if ours == "GRAY16":
        with pytest.raises(nl.NpuLayoutError, match="mono16 in big endian"):
            nl.FrameSpec.of(message)
    else:
        assert nl.FrameSpec.of(message) == spec


def test_ros_compressed_images() -> None:
    for flags in ([], [cv2.IMWRITE_JPEG_PROGRESSIVE, 1]):
        data = bytes(cv2.imencode(".jpg", formats.noise(300 * 70).reshape(70, 100, 3), flags)[1])
        assert jpeg_size(data) == (100, 70)
        assert nl.FrameSpec.of(Twin(format="bgr8; jpeg compressed bgr8", data=data)) == nl.FrameSpec("MJPEG", (100, 70))


def test_what_is_not_known_is_named() -> None:
    for x, says in (
        (
            Twin(format=Twin(name="yuv410p"), planes=()),
            r"x: FFmpeg's format 'yuv410p' is not in the table; expected one of bgr24",
        ),
        (meta("VUYA", (2, 2), [8], [0]), "GStreamer's format 'vuya' is not in the table"),
        ({"format": "R9", "size": (2, 2)}, "picamera2's format 'R9' is not in the table"),
        (Twin(config={"raw": {}}), "picamera2: expected a stream 'main' with format and size, got raw"),
        (Image(np.zeros((2, 2, 3), np.uint8), "YCbCr"), "Pillow's format 'YCbCr' is not in the table"),
        (Twin(encoding="rgb16", step=6, width=1, height=1), "ROS's format 'rgb16'"),
        (
            np.zeros((2, 2)),
            r"x: expected a frame of PyAV, .*, pylon, jetson_utils or Harvesters, or a V4L2 format, got numpy",
        ),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            nl.FrameSpec.of(x)


def test_objects_that_do_not_show_their_memory_are_refused_with_what_to_give() -> None:
    def nothing(*_: Any) -> None: ...

    for frame, says in (
        (
            Twin(config={"main": {}}, make_buffer=nothing),
            r"; give frame.make_buffer\('main'\) and source=FrameSpec.of\(f",
        ),
        (Twin(get_caps=nothing, get_buffer=nothing), r"; give get_buffer\(\).map\(Gst.MapFlags.READ\)\[1\].data"),
        (Twin(get_data=nothing, get_stride_in_bytes=nothing), r"; give np.asanyarray\(frame.get_data\(\)\)$"),
        (Twin(GetArray=nothing), r"; give frame.GetArray\(\)$"),
        (Twin(payload=Twin(components=[])), r"; give the data of payload.components\[0\]"),
        (Twin(), "got SimpleNamespace$"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            FrameSource.of("BGR").read("frame", frame)


def test_a_compressed_message_is_a_frame() -> None:
    image = cv2.resize(formats.noise(48).reshape(4, 4, 3), (24, 18))
    data = bytes(cv2.imencode(".jpg", image)[1])
    message = Twin(format="bgr8; jpeg compressed bgr8", data=memoryview(data))
    preprocess = nl.Preprocessor(nl.TensorSpec((1, 3, 18, 24), "NHWC", "uint8"), source="MJPEG")
    np.testing.assert_array_equal(preprocess(message)[0], preprocess(data)[0])
    with pytest.raises(
        nl.NpuLayoutError, match=r"got MJPEG of 24x18, as SimpleNamespace describes itself; give source='MJ"
    ):
        FrameSource.of("BGR").read("frame", message)


def test_each_library_has_its_own_next_step() -> None:
    for x, advice in (
        (Twin(format=Twin(name="yuv410p"), planes=()), r"bayer_gbrg8: convert it, frame.reformat\(format='nv12'\)$"),
        (meta("VUYA", (2, 2), [8], [0]), r": put videoconvert ! video/x-raw,format=NV12 before the sink$"),
        (Image(np.zeros((2, 2, 3), np.uint8), "CMYK"), r": convert it, image.convert\('RGB'\)$"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=advice):
            nl.FrameSpec.of(x)


@pytest.mark.parametrize("space", [4, 7, 8, 10, 14])  # FCC, SMPTE240M, YCGCO, BT2020_CL, ICTCP of AVColorSpace
def test_a_matrix_that_is_not_known_is_refused(space: int) -> None:
    """It was read as BT.601. Frames of colors have none."""
    plane = Plane(bytes(48))
    plane.line_size = 8
    frame = Twin(format=Twin(name="yuv444p"), width=8, height=6, planes=(plane,) * 3, colorspace=space, color_range=1)
    with pytest.raises(nl.NpuLayoutError, match=rf"^x: its colorspace is .* number {space}; expected that of bt601"):
        nl.FrameSpec.of(frame)
    spec = nl.FrameSpec("I444", (8, 6), strides=8, matrix="bt709")
    assert [view.shape for view in spec.planes([memoryview(plane) for plane in frame.planes])] == [(6, 8)] * 3
    frame.format.name, frame.planes = "gray", (plane,)
    assert nl.FrameSpec.of(frame) == nl.FrameSpec("GRAY", (8, 6))
    for none in (None, 0, 2, 3):
        frame.format.name, frame.planes, frame.colorspace = "yuv444p", (plane,) * 3, none
        assert nl.FrameSpec.of(frame).matrix == "bt601"


@pytest.mark.parametrize("name", ["p010le", "p012le", "p016le"])
def test_16_bits_of_which_the_high_ones_count(name: str) -> None:
    plane = Plane(bytes(96))
    plane.line_size = 16
    frame = Twin(format=Twin(name=name), width=8, height=6, planes=(plane, plane), colorspace=2, color_range=0)
    assert nl.FrameSpec.of(frame) == nl.FrameSpec("P010", (8, 6))


def test_rows_from_the_bottom_up_have_their_own_advice() -> None:
    """The memory of a PyAV plane begins at its last row then: its rows reversed are not the picture."""
    plane = Plane(bytes(144))
    plane.line_size = -24
    frame = Twin(format=Twin(name="bgr24"), width=8, height=6, planes=(plane,))
    with pytest.raises(nl.NpuLayoutError, match=r"^frame: x: its rows .* from the bottom up, line_size -24: give fr"):
        nl.Preprocessor(nl.TensorSpec((1, 3, 6, 8), "NHWC", "uint8"))(frame)


def depthai_frame(name: str, memory: np.ndarray, size_wh: tuple[int, int], stride: int, *offsets: int) -> Any:
    """What depthai 3 has of an ImgFrame: the offsets of planes are 0 where nobody said them."""
    starts = dict(zip(("p1Offset", "p2Offset", "p3Offset"), (*offsets, 0, 0, 0)))
    fb = Twin(width=size_wh[0], height=size_wh[1], stride=stride, **starts)
    return Twin(getType=lambda: Twin(name=name), getData=lambda: memory, fb=fb)


@pytest.mark.parametrize(
    ("name", "stride", "offsets", "spec"),
    [
        ("NV12", 24, (), nl.FrameSpec("NV12", (24, 18))),
        ("NV12", 32, (), nl.FrameSpec("NV12", (24, 18), strides=32)),
        ("NV21", 32, (0, 32 * 24), nl.FrameSpec("NV21", (24, 18), strides=32, offsets=(0, 768), size=32 * 36)),
        ("YUV420p", 24, (), nl.FrameSpec("I420", (24, 18))),
        ("BGR888i", 80, (), nl.FrameSpec("BGR", (24, 18), strides=80)),
        ("RGB888i", 0, (), nl.FrameSpec("RGB", (24, 18))),
        ("RAW8", 24, (), nl.FrameSpec("GRAY", (24, 18))),
    ],
)
def test_depthai_frames(name: str, stride: int, offsets: tuple[int, ...], spec: nl.FrameSpec) -> None:
    memory = formats.noise(spec.size or 0, 3)
    frame = depthai_frame(name, memory, (24, 18), stride, *offsets)
    assert nl.FrameSpec.of(frame) == spec
    preprocess = nl.Preprocessor(nl.TensorSpec((1, 3, 12, 16), "NHWC", "uint8"), source=spec.format)
    expected = nl.Preprocessor(preprocess.target, source=spec)(memory)[0]
    np.testing.assert_array_equal(preprocess(frame)[0], expected)
    assert own_copy(frame) is frame


def test_what_depthai_does_not_say_is_refused() -> None:
    for frame, says in (
        (depthai_frame("BGR888p", np.zeros(1296, np.uint8), (24, 18), 24), r"'BGR888p' .*: give frame.getCvFrame\(\)"),
        (
            depthai_frame("YUV420p", np.zeros(864, np.uint8), (24, 18), 32),
            "does not say those of U and V: give frame.get",
        ),
        (depthai_frame("NV12", np.zeros(24 * 36, np.uint8), (24, 18), 24), r"size 864 is that of 24 rows of 24 bytes"),
        (depthai_frame("NV12", np.zeros(600, np.uint8), (24, 18), 24), "size 600 is too small"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            nl.FrameSpec.of(frame)


def test_depthai_itself() -> None:
    """Its own conversion to BGR, of rows with a gap and planes apart."""
    dai = pytest.importorskip("depthai", reason="depthai is not installed; stand-ins have its attributes")
    memory = formats.noise(64 * 72, 4)
    frame = dai.ImgFrame().setType(dai.ImgFrame.Type.NV12).setWidth(60).setHeight(44)
    fb = frame.fb
    fb.stride, fb.p2Offset = 64, 64 * 48
    frame.fb = fb
    frame.setData(memory)
    spec = nl.FrameSpec.of(frame)
    assert (spec.strides, spec.offsets) == ((64, 64), (0, 64 * 48))
    shown = nl.Preprocessor(nl.TensorSpec((1, 3, 44, 60), "NHWC", "uint8"), source="NV12", color="BGR")(frame)[0]
    np.testing.assert_array_equal(shown[0], frame.getCvFrame())


def test_pillow_of_16_bits() -> None:
    words = formats.noise(48).view("<u2").reshape(4, 6)
    read = FrameSource.of("GRAY16").read("frame", Image(words, "I;16"))
    np.testing.assert_array_equal(read.planes[0], words)


def test_pyav_itself() -> None:
    av = pytest.importorskip("av", reason="PyAV is not installed; its recorded frames are read")
    frame = av.VideoFrame.from_ndarray(formats.noise(33 * 21 * 3).reshape(21, 33, 3), "bgr24").reformat(format="nv12")
    spec = nl.FrameSpec.of(frame)
    for view, plane in zip(spec.planes(frame), frame.planes):
        assert np.shares_memory(view, np.frombuffer(plane, np.uint8))


def test_own_copies() -> None:
    """Of ROS messages with all they have; PyAV's frames have their own memory; others are none of this."""
    data = bytearray(range(12))
    message = Twin(encoding="bgr8", width=2, height=2, step=6, data=data, header=Twin(stamp=3))
    coded = Twin(format="jpeg", data=memoryview(data))
    copies = [own_copy(message), own_copy(coded)]
    data[:] = bytes(12)
    assert [bytes(copy.data) for copy in copies] == [bytes(range(12))] * 2 and type(copies[0].data) is bytearray
    assert (copies[0].width, copies[0].header.stamp) == (2, 3) and copies[0].header is not message.header
    frame = Twin(format=Twin(name="nv12"), planes=(Plane(b"abc"),))
    assert own_copy(frame) is frame
    for other in (np.zeros((2, 2), np.uint8), b"abc", None, {"format": "NV12", "size": (2, 2)}, Twin(data=data)):
        assert own_copy(other) is None
    with pytest.raises(nl.NpuLayoutError, match=r"frame: this .*SimpleNamespace cannot be copied \(.*generator"):
        own_copy(Twin(encoding="bgr8", step=6, data=(n for n in range(3))))
