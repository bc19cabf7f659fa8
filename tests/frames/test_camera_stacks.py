"""Frames of other libraries: PyAV's as recorded, and stand-ins with the attributes of Pillow, ROS and DepthAI."""

from __future__ import annotations

import array
from collections.abc import Iterator
from functools import partial
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
from tests.support.gstreamer_frames import meta
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
        ({"format": "YUV420", "size": 640}, "size_wh: expected 2 whole numbers of at least 1, got 640"),
        (nl.FrameSpec("NV12", (2, 2)).to_dict(), r"got the dict of a FrameSpec; give FrameSpec.from_dict\(x\)"),
        (Twin(config={"raw": {}}), "picamera2: expected a stream 'main' with format and size, got raw"),
        (Image(np.zeros((2, 2, 3), np.uint8), "YCbCr"), "Pillow's format 'YCbCr' is not in the table"),
        (Twin(encoding="rgb16", step=6, width=1, height=1), "ROS's format 'rgb16'"),
        (
            np.zeros((2, 2)),
            r"x: expected a frame of PyAV, .*, pylon, jetson_utils, Harvesters or linuxpy, or a V4L2 format, got numpy",
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
        (
            Twin(format=Twin(name="yuv410p"), planes=()),
            r"bayer_gbrg8: convert it, frame.reformat\(format='bgr24'\), or 'nv12'",
        ),
        (meta("VUYA", (2, 2), [8], [0]), r": put videoconvert ! video/x-raw,format=NV12 before the sink$"),
        (Image(np.zeros((2, 2, 3), np.uint8), "CMYK"), r": convert it, image.convert\('RGB'\)$"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=advice):
            nl.FrameSpec.of(x)


@pytest.mark.parametrize("encoding", ["16UC1", "32FC1", "16SC1"])
def test_depths_are_no_gray(encoding: str) -> None:
    """A room in millimetres was read as GRAY16: of its words the high bytes, 0 to 15, nearly black."""
    depth = np.linspace(300, 3900, 24).reshape(4, 6)
    data = depth.astype(np.float32 if encoding == "32FC1" else np.uint16)
    message = Twin(encoding=encoding, height=4, width=6, step=data[0].nbytes, is_bigendian=0, data=data.tobytes())
    words = (
        rf"ROS's format '{encoding}' is no picture: it has depths, .*np.clip\(depth // 16, 0, 255\).*, as GRAY16\. "
        rf"Of a picture, expected one of bgr8, .*: convert it, CvBridge\(\).imgmsg_to_cv2\(message, 'bgr8'\)$"
    )
    gray = nl.Preprocessor(nl.TensorSpec((1, 1, 4, 6), "NHWC", "uint8"), source="GRAY", color="GRAY")
    for read in (nl.FrameSpec.of, gray):
        with pytest.raises(nl.NpuLayoutError, match=words):
            read(message)
    shown = gray(np.clip(depth // 16, 0, 255).astype(np.uint8))[0]  # what is advised uses the range
    assert np.ptp(shown) > 200


def test_a_compressed_message_of_another_kind_says_what_to_do() -> None:
    message = Twin(format="png", data=b"\x89PNG")
    preprocess = nl.Preprocessor(nl.TensorSpec((1, 3, 8, 8)))
    with pytest.raises(
        nl.NpuLayoutError, match=r"got SimpleNamespace of format 'png': decode it first, by cv2.imdecode$"
    ):
        preprocess(message)


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


def test_data_of_ros_messages() -> None:
    """rclpy delivers array.array("B"), rospy bytes; bridges in JSON a list of integers, which was taken for planes."""
    pixels = formats.noise(18 * 24 * 3).reshape(18, 24, 3)
    flat = pixels.tobytes()
    coded = cv2.imencode(".jpg", pixels)[1].tobytes()
    target = nl.TensorSpec((1, 3, 18, 24), "NHWC", "uint8")
    for kind in (bytes, bytearray, list, tuple, partial(array.array, "B"), partial(np.frombuffer, dtype=np.uint8)):
        message = Twin(encoding="bgr8", width=24, height=18, step=72, is_bigendian=0, data=kind(flat))
        assert np.array_equal(nl.FrameSpec.of(message).planes(message)[0], pixels)
        made = nl.Preprocessor(target, color="BGR")(message)[0]
        assert np.array_equal(target.unpack(made)[0].transpose(1, 2, 0), pixels)
        assert np.array_equal(nl.FrameSpec.of(message).planes(own_copy(message))[0], pixels)
        picture = Twin(format="jpeg", data=kind(coded))
        assert nl.FrameSpec.of(picture).planes(picture)[0].tobytes() == coded
    for wrong in ([300] * len(flat), [0.5] * len(flat), ["a"]):
        message.data = wrong
        with pytest.raises(
            nl.NpuLayoutError, match=r"data of \w+: expected bytes, or a list of whole numbers 0 \.\. 255"
        ):
            nl.Preprocessor(target)(message)
    message.data = list(flat[:-1])
    with pytest.raises(nl.BufferSizeError, match="buffer has 1295 bytes"):
        nl.Preprocessor(target)(message)


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


class Closed:
    """A frame of a library that raises something of its own once it is closed."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"the frame is closed, {name}")


@pytest.mark.parametrize("source", ["BGR", "NV12", nl.FrameSpec("NV12", (8, 8))])
def test_attributes_that_cannot_be_read_are_named(source: Any) -> None:
    with pytest.raises(nl.NpuLayoutError, match=r"x: expected a frame whose attributes .*RuntimeError: the frame is"):
        nl.FrameSpec.of(Closed())
    preprocess = nl.Preprocessor(nl.TensorSpec((1, 3, 8, 8)), source=source)
    for frame in (Closed(), (Closed(), Closed())):
        with pytest.raises(nl.NpuLayoutError, match=r"^frame: "):
            preprocess(frame)
