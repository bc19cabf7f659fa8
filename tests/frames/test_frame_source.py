"""Frames as they are handed out: packed arrays, planes, memory; what does not fit is refused, with nothing written."""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.frames import as_channels
from npu_layout.frames.color_matrices import color_of
from npu_layout.frames.frame_source import FrameSource
from npu_layout.frames.pictures import FramePlanes, picture
from npu_layout.frames.pixel_formats import PIXEL_FORMATS
from tests.support import frame_formats as formats

NV12 = nl.FrameSpec("NV12", (16, 12))
PITCHED = nl.FrameSpec("NV12", (16, 12), strides=32)


def whole(spec: nl.FrameSpec, memory: Any) -> np.ndarray:
    return picture(
        FramePlanes(PIXEL_FORMATS[spec.format], spec.size_wh, spec.planes(memory), color_of(spec.matrix, spec.range))
    )


def packed(name: str, memory: np.ndarray, width: int, height: int) -> np.ndarray:
    """The array in OpenCV's shape."""
    if name in formats.CHANNELS:
        return memory.reshape(height, width, -1)
    if name in ("YUYV", "UYVY", "YVYU"):
        return memory.reshape(height, width, 2)
    if name in ("GRAY16", "RGB565", "P010"):
        return memory.view("<u2").reshape(-1, width)
    return memory.reshape(-1, width) if name[-1] != "P" else memory.reshape(height, -1)


@pytest.mark.parametrize("name", [name for name in formats.FLAT if name not in formats.TILES])
def test_packed_arrays(name: str) -> None:
    spec = nl.FrameSpec(name, (24, 10))
    memory = formats.noise(spec.size or 0, 2)
    array = packed(name, memory, 24, 10)
    for source in (FrameSource.of(name), FrameSource.of(spec), FrameSource.of(spec.to_dict())):
        for given in (array, np.broadcast_to(array, array.shape), array.view(np.ndarray)):
            read = source.read("frame", given)
            assert read.size_wh == (24, 10) and all(np.shares_memory(plane, memory) for plane in read.planes)
            np.testing.assert_array_equal(picture(read), whole(spec, memory))
    read = FrameSource.of(name).read("frame", array[..., None] if array.ndim == 2 and len(spec.strides) == 1 else array)
    np.testing.assert_array_equal(picture(read), whole(spec, memory))


@pytest.mark.parametrize("name", [n for n in formats.FLAT if n not in ("I420", "YV12", "I422", "NV24", *formats.TILES)])
def test_packed_arrays_with_a_pitch_of_their_own(name: str) -> None:
    spec = nl.FrameSpec(name, (24, 10))
    array = packed(name, formats.noise(spec.size or 0, 2), 24, 10)
    wide = np.zeros((array.shape[0], array.shape[1] + 5, *array.shape[2:]), array.dtype)
    view = wide[:, : array.shape[1]]
    view[...] = array
    for source in (name, spec):
        np.testing.assert_array_equal(
            picture(FrameSource.of(source).read("frame", view)), whole(spec, array.view(np.uint8))
        )


@pytest.mark.parametrize("name", formats.FLAT)
@pytest.mark.parametrize("size", [(24, 10), (23, 9), (1, 1)])
def test_planes_with_any_pitch(name: str, size: Any) -> None:
    spec = nl.FrameSpec(name, size)
    memory = formats.noise(spec.size or 0, 3)
    if name in formats.MOSAICS and min(size) < 3:
        for given in (memory, memory.tobytes(), spec.planes(memory)):
            with pytest.raises(nl.NpuLayoutError, match=r"^frame: OpenCV interpolates mosaics from 3x3 pixels"):
                FrameSource.of(spec).read("frame", given)
        return
    planes = []
    for i, plane in enumerate(spec.planes(memory)):
        wide = np.zeros((plane.shape[0], plane.shape[1] + 3 + i, *plane.shape[2:]), plane.dtype)
        planes.append(wide[:, : plane.shape[1]])
        planes[-1][...] = plane
    # widths of packed mosaics are rounded up to whole groups where no spec says otherwise, those of YUYV to pairs
    exact = name not in formats.TILES and (size[0] == 24 or not (name[-1] == "P" or name in ("YUYV", "UYVY", "YVYU")))
    for source in ([name] if exact else []) + [spec]:
        for given in (tuple(planes), planes):
            read = FrameSource.of(source).read("frame", given)
            assert all(np.shares_memory(*pair) for pair in zip(read.planes, planes))
            np.testing.assert_array_equal(picture(read), whole(spec, memory))
    if name in ("NV12", "NV21", "P010", "NV16"):  # pairs as rows of samples
        flat = [np.ascontiguousarray(planes[0]), np.ascontiguousarray(planes[1]).reshape(len(planes[1]), -1)]
        np.testing.assert_array_equal(picture(FrameSource.of(name).read("frame", flat)), whole(spec, memory))


@pytest.mark.parametrize("name", formats.FLAT)
def test_memory_with_a_spec(name: str, tmp_path: Path) -> None:
    dense = nl.FrameSpec(name, (23, 9))
    spec = nl.FrameSpec(name, (23, 9), strides=[s + 128 for s in dense.strides], matrix="bt709")
    memory = formats.noise(spec.size or 0, 4)
    (tmp_path / "frame").write_bytes(memory.tobytes())
    with (tmp_path / "frame").open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    for given in (memory, memory.tobytes(), memoryview(memory), bytearray(memory), mapped):
        np.testing.assert_array_equal(picture(FrameSource.of(spec).read("frame", given)), whole(spec, memory))


def test_memory_as_rows_of_its_pitch() -> None:
    memory = formats.noise(PITCHED.size or 0, 5)
    np.testing.assert_array_equal(
        picture(FrameSource.of(PITCHED).read("frame", memory.reshape(18, 32))), whole(PITCHED, memory)
    )


@pytest.mark.parametrize("name", ["BGR", "BGRA", "GRAY16", "RGB565", "YUYV", "P010", "RGGB10P"])
def test_memory_as_rows_without_a_pitch(name: str) -> None:
    """As a driver's buffer is, reshaped to its bytesperline, which has no gap for this width."""
    spec = nl.FrameSpec(name, (24, 10))
    memory = formats.noise(spec.size or 0, 5)
    rows = memory.reshape(-1, spec.strides[0])
    np.testing.assert_array_equal(picture(FrameSource.of(spec).read("frame", rows)), whole(spec, memory))
    with pytest.raises(nl.NpuLayoutError, match="frame: expected a"):
        FrameSource.of(spec).read("frame", memory.reshape(2, -1))


@pytest.mark.parametrize("name", ["I420", "YV12", "I422", "NV12", "NV16", "I444", "YUYV", "P010", "GRAY16", "BGR"])
@pytest.mark.parametrize("gap", [12, 80])
def test_arrays_of_a_pitch_are_read_by_its_strides(name: str, gap: int) -> None:
    """As picamera2's make_array hands them out: rows of the pitch, in I420's last of which are two of U or V."""
    dense = nl.FrameSpec(name, (64, 48))
    spec = nl.FrameSpec(name, (64, 48), strides=dense.strides[0] + gap)
    memory = formats.noise(spec.size or 0, 6)
    rows = memory.reshape(-1, spec.strides[0])
    arrays = [rows]
    if name == "YUYV":
        arrays.append(rows.reshape(48, -1, 2))
    if name in ("P010", "GRAY16"):
        arrays.append(rows.view("<u2"))
    preprocess = nl.Preprocessor(nl.TensorSpec((1, 3, 48, 64), "NHWC", "uint8"), source=spec)
    for array in arrays:
        read = FrameSource.of(spec).read("frame", array)
        assert all(np.shares_memory(plane, memory) for plane in read.planes)
        np.testing.assert_array_equal(picture(read), whole(spec, memory))
        for _ in range(2):  # the second call goes to the pass at once
            np.testing.assert_array_equal(preprocess(array)[0], preprocess(memory)[0])
        for other in (array[:-1], array[::-1], np.asfortranarray(array)):
            with pytest.raises(nl.NpuLayoutError, match=r"^frame: "):
                preprocess(other)


@pytest.mark.parametrize("name", ["I420", "YV12", "I422", "NV12", "NV16", "YUYV", "BGR"])
def test_advice_for_an_array_of_a_pitch_leads_to_its_pixels(name: str) -> None:
    """Columns of one array are columns of each plane only where all have the same bytes a row."""
    dense = nl.FrameSpec(name, (64, 48))
    pitched = nl.FrameSpec(name, (64, 48), strides=dense.strides[0] + 48)
    memory = formats.noise(pitched.size or 0, 7)
    shape = {"YUYV": (48, -1, 2), "BGR": (48, -1, 3)}.get(name, (-1, pitched.strides[0]))
    array = memory.reshape(shape)
    with pytest.raises(nl.NpuLayoutError) as caught:
        FrameSource.of(dense).read("frame", array)
    assert f"FrameSpec(..., strides={pitched.strides[0]})" in str(caught.value)
    assert ("frame[:, :64]" in str(caught.value)) == (name not in ("I420", "YV12", "I422"))
    if "frame[:, :64]" in str(caught.value):
        for view in (array[:, :64], array[:, :64].copy()):
            np.testing.assert_array_equal(picture(FrameSource.of(dense).read("frame", view)), whole(pitched, memory))


def test_an_array_of_a_rounded_height() -> None:
    spec = nl.FrameSpec("NV12", (16, 10), offsets=(0, 256), size=384)
    memory = formats.noise(384, 8)
    np.testing.assert_array_equal(
        picture(FrameSource.of(spec).read("frame", memory.reshape(24, 16))), whole(spec, memory)
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("a.jpg", "got str; read the file first, by cv2.imread"),
        (Path("a.jpg"), "PosixPath; read the file first"),
        ([], "got list without planes"),
        (b"\xff\xd8\xff\xe0", 'got bytes; it is a JPEG: give source="MJPEG"'),
        (bytes(9), r"got bytes; bytes need source=FrameSpec\(format, size_wh\)"),
        (memoryview(bytes(9))[::2], "got memoryview; bytes need source=FrameSpec"),
        (ctypes.c_int32(7), "got c_int"),
    ],
)
def test_what_is_no_frame_gets_advice(given: Any, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        FrameSource.of("BGR").read("frame", given)


def test_a_jpeg_that_opencv_did_not_decode() -> None:
    """VideoCapture with CAP_PROP_CONVERT_RGB of 0 returns a row of bytes, imencode a row or a column."""
    content = cv2.imencode(".jpg", np.zeros((8, 8, 3), np.uint8))[1].reshape(-1)
    for frame in (content, content.reshape(1, -1)):
        with pytest.raises(nl.NpuLayoutError, match=r'got uint8 of shape .*; it is a JPEG: give source="MJPEG"'):
            FrameSource.of("BGR").read("frame", frame)
    with pytest.raises(nl.NpuLayoutError, match="flat bytes need source=FrameSpec"):
        FrameSource.of("BGR").read("frame", content[2:])


def test_memory_that_was_released() -> None:
    memory = memoryview(bytearray(12))
    memory.release()
    for source in (FrameSource.of("BGR"), FrameSource.of(nl.FrameSpec("BGR", (2, 2)))):
        with pytest.raises(nl.NpuLayoutError, match="got a memoryview that was released"):
            source.read("frame", memory)


def test_what_the_frame_is_called_is_said_once() -> None:
    for wrong in (np.ma.masked_array(np.zeros((4, 4, 3), np.uint8)), type("Evil", (), {"__array__": None})()):
        with pytest.raises(nl.NpuLayoutError, match=r"^frames\[0\]: (masked|expected|numpy)"):
            FrameSource.of("BGR").read("frames[0]", wrong)


def test_memory_with_a_shape() -> None:
    """Such as a memoryview of an array, or one that ctypes has."""
    image = formats.noise(16 * 12 * 3).reshape(12, 16, 3)
    held = (ctypes.c_uint8 * 3 * 16 * 12).from_buffer_copy(image.tobytes())
    for given in (memoryview(image), memoryview(image[::-1]), memoryview(image[:, 2:9]), held):
        np.testing.assert_array_equal(picture(FrameSource.of("BGR").read("frame", given)), np.asarray(given))
    y, uv = NV12.planes(formats.noise(NV12.size or 0))
    read = picture(FrameSource.of("NV12").read("frame", (memoryview(y), memoryview(uv))))
    np.testing.assert_array_equal(read, picture(FrameSource.of("NV12").read("frame", (y, uv))))
    with pytest.raises(nl.NpuLayoutError, match=r"frame: memory of '<P' of shape \(9, 3\) is no array"):
        FrameSource.of("BGR").read("frame", (ctypes.c_void_p * 3 * 9)())
    with pytest.raises(nl.NpuLayoutError, match=r"expected a uint8 array .* got float32"):
        FrameSource.of("BGR").read("frame", memoryview(image.astype(np.float32)))


def test_flipped_frames() -> None:
    image = formats.noise(16 * 12 * 3).reshape(12, 16, 3)
    for view in (image[::-1], image[:, ::-1], image[..., ::-1], image.transpose(1, 0, 2)):
        np.testing.assert_array_equal(picture(FrameSource.of("BGR").read("frame", view)), view)
    memory = formats.noise(NV12.size or 0)
    y, uv = NV12.planes(memory)
    for flip in (np.s_[::-1], np.s_[:, ::-1]):
        got = picture(FrameSource.of("NV12").read("frame", (y[flip], uv[flip])))
        np.testing.assert_array_equal(got, whole(NV12, memory)[flip])


def target() -> nl.TensorSpec:
    return nl.TensorSpec((1, 3, 8, 8), "NHWC", "uint8")


def zeros(*shape: int, dtype: Any = np.uint8) -> np.ndarray:
    return np.zeros(shape, dtype)


BAD: list[tuple[Any, Any, str]] = [
    (
        "NV12",
        zeros(18, 15),
        r"expected a uint8 array \(height . 3/2, width\), or planes \(height, width\) and \(height / 2, width / 2, 2\)",
    ),
    (
        "NV12",
        zeros(16, 16),
        r"for source NV12, got uint8 of shape \(16, 16\); one array needs an even width and height, give others as",
    ),
    ("NV12", zeros(17, 16), "one array needs an even width and height"),
    ("NV12", zeros(18, 16, 3), r"got uint8 of shape \(18, 16, 3\)"),
    ("NV12", zeros(18, 16, dtype=np.uint16), "got uint16"),
    ("NV12", (zeros(6, 8, 2), zeros(12, 16)), r"they are in another order; expected Y, UV, got UV, Y"),
    (
        NV12,
        (zeros(6, 8, 2), zeros(12, 16)),
        r"\(12, 16\) and \(6, 8, 2\) for source NV12 of 16x12, .*another order; expected Y, UV, got UV, Y",
    ),
    ("I420", (zeros(6, 8), zeros(12, 16), zeros(6, 8)), "another order; expected Y, U, V, got U, Y, V"),
    (
        "NV12",
        (zeros(12, 16), zeros(5, 8, 2)),
        r"\(12, 16\) and \(6, 8, 2\) for source NV12, got planes uint8 \(12, 16\) and uint8 \(5, 8, 2\)$",
    ),
    ("NV12", (zeros(12, 16), zeros(12, 16, 2)), r"expected .*\(6, 8, 2\) .* got planes .*\(12, 16, 2\)"),
    (
        "I420",
        (zeros(12, 16), zeros(6, 8), zeros(6, 9)),
        r"plane V has 9 columns for 8; if 9 is the pitch in bytes, give plane\[:, :8\]",
    ),
    ("NV12", (zeros(12, 16),), r"got planes uint8 \(12, 16\)$"),
    ("NV12", (zeros(12, 16), zeros(6, 8, 2), zeros(6, 8)), "got planes"),
    ("NV12", bytes(288), r"got bytes; bytes need source=FrameSpec\(format, size_wh\)"),
    ("NV12", (bytes(192), bytes(96)), r"got planes of bytes; they need source=FrameSpec"),
    ("NV12", None, r"got None \(did the camera deliver a frame\?\)"),
    ("NV12", "text", "got str"),
    (
        NV12,
        bytes(32 * 18),
        r"buffer has 576 bytes; NV12 of 16x12 needs 288; 576 bytes fit 12 rows of 32 bytes: give strides=\(32, 32\)",
    ),
    (
        PITCHED,
        bytes(16 * 18),
        r"with strides \(32, 32\) needs 576; 288 bytes fit 12 rows of 16 bytes: give strides=\(16, 16\)",
    ),
    (
        NV12,
        zeros(18, 32),
        r"16 pixels a row and 32 differ; if 32 is the pitch in bytes, give frame\[:, :16\], or .*strides=32",
    ),
    (PITCHED, zeros(18, 16), "whose rows begin every 16 bytes; leave out strides= for arrays, .* rows of 32 bytes"),
    (
        NV12,
        (zeros(12, 32), zeros(6, 8, 2)),
        r"plane Y has 32 columns for 16; if 32 is the pitch in bytes, give plane\[:, :16\]",
    ),
    (NV12, (bytes(192), bytes(95)), "plane UV has 95 bytes; NV12 of 16x12 needs 96: 6 rows, one every 16 bytes"),
    (PITCHED, (bytes(192), bytes(96)), "plane Y has 192 bytes; .* needs 368: 12 rows, one every 32 bytes"),
    ("YUYV", zeros(12, 15, 2), "two pixels share U and V, so that the width is even"),
    (
        "YUYV",
        zeros(12, 16, 3),
        r"expected a uint8 array \(height, width, 2\) for source YUYV, got uint8 of shape \(12, 16, 3\)",
    ),
    ("I420", zeros(18, 20)[:, :16], "rows that begin every 20 bytes; .* or rows every 10 bytes: give planes"),
    (
        "P010",
        zeros(18, 16),
        r"expected a uint16 array \(height \* 3/2, width\).* got uint8 of shape \(18, 16\); it has the shape of",
    ),
    (
        "RGGB10P",
        zeros(12, 16),
        r"expected a uint8 array \(height, bytes of a row\) for source RGGB10P, got uint8 of shape \(12, 16\)",
    ),
    (nl.FrameSpec("BGR", (16, 12)), zeros(12, 20, 3), r"if 60 is the pitch in bytes, give frame\[:, :16\]"),
    (
        nl.FrameSpec("BGR", (16, 12)),
        zeros(11, 16, 3),
        r"expected a uint8 array \(12, 16, 3\) for source BGR of 16x12, got uint8 of shape \(11",
    ),
    (nl.FrameSpec("NV12", (15, 11)), zeros(18, 16), r"\(11, 15\) and \(6, 8, 2\) for source NV12 of 15x11"),
    ("NV12_32L32", bytes(100), "bytes need source=FrameSpec"),
    ("NV12_32L32", zeros(18, 16), "tiles need source=FrameSpec"),
    (nl.FrameSpec("NV12_32L32", (16, 12)), bytes(100), "buffer has 100 bytes; NV12_32L32 of 16x12 needs 2048"),
]


@pytest.mark.parametrize(("source", "frame", "says"), BAD)
def test_what_does_not_fit_is_refused_and_nothing_written(source: Any, frame: Any, says: str) -> None:
    out = np.full((1, 8, 8, 3), 77, np.uint8)
    with pytest.raises(nl.NpuLayoutError, match="^frame: .*" + says):
        nl.Preprocessor(target(), source=source)(frame, out)
    assert (out == 77).all()


def jpeg(width: int = 16, height: int = 12) -> bytes:
    return bytes(cv2.imencode(".jpg", cv2.resize(formats.noise(27).reshape(3, 3, 3), (width, height)))[1])


def test_mjpeg() -> None:
    data, out = jpeg(), np.full((1, 8, 8, 3), 77, np.uint8)
    expected = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    for source in ("MJPEG", nl.FrameSpec("MJPEG", (16, 12))):
        stale = data + data[len(data) // 3 :]  # an older frame's bytes, in a driver's buffer
        row = np.frombuffer(data, np.uint8)[None]
        for given in (data, data + bytes(500), stale, row, row[0], memoryview(data)):
            np.testing.assert_array_equal(picture(FrameSource.of(source).read("frame", given)), expected)
    for source, given, says in (
        ("MJPEG", data[:-2], r"from FF D8 to FF D9; got \d+ bytes that do not end with FF D9 \(its end was lost\)"),
        ("MJPEG", data[: len(data) // 2] + bytes(99), "do not end with FF D9"),
        ("MJPEG", data[:-2] + data, rf"its end was lost: another JPEG begins at byte {len(data) - 2}\)"),
        ("MJPEG", data[1:], "do not begin with FF D8"),
        ("MJPEG", b"", "got 0 bytes that do not begin with FF D8"),
        ("MJPEG", bytes(99), "do not begin with FF D8"),
        ("MJPEG", b"\xff\xd8\xff\xd9", "expected a JPEG with a frame header"),
        ("MJPEG", None, "expected the bytes of a JPEG for source MJPEG, got NoneType"),
        ("MJPEG", SimpleNamespace(format="png", data=b"\x89PNG"), "of format 'png': decode it first, by cv2.imdecode"),
        (nl.FrameSpec("MJPEG", (16, 13)), data, "expected a JPEG for source MJPEG of 16x13, got one of 16x12"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=f"^frame: .*{says}"):
            nl.Preprocessor(target(), source=source)(given, out)
    assert (out == 77).all()


def test_frames_of_a_batch_are_named() -> None:
    """Whatever finds the fault: the reading of the frame, or OpenCV's decoder."""
    pair = nl.TensorSpec((2, 3, 8, 8), "NHWC", "uint8")
    good, header = jpeg(), jpeg().index(b"\xff\xc0")
    flat, vast, broken = bytearray(good), bytearray(good), bytearray(good)
    flat[header + 5 : header + 7] = b"\0\0"
    vast[header + 5 : header + 9] = b"\xff" * 4
    broken[header + 9] = 7  # components
    mosaic = np.zeros((6, 6), np.uint8)
    for source, first, bad, says in (
        ("MJPEG", good, bytes(flat), "MJPEG: expected a JPEG whose header has its size, got one of 16x0"),
        ("MJPEG", good, bytes(vast), "MJPEG: expected a JPEG of 65535x65535, OpenCV decoded nothing"),
        ("MJPEG", good, bytes(broken), "MJPEG: expected a JPEG of 16x12, OpenCV decoded nothing"),
        ("MJPEG", good, good[:-2], "expected the bytes of a JPEG"),
        ("RGGB", mosaic, mosaic[:2, :2], r"OpenCV interpolates mosaics from 3x3 pixels on, got \(2, 2\)"),
    ):
        out = np.full((2, 8, 8, 3), 77, np.uint8)
        with pytest.raises(nl.NpuLayoutError, match=f"^frame 1: {says}"):
            nl.Preprocessor(pair, source=source).batch([first, bad], out)
        assert (out == 77).all()
        with pytest.raises(nl.NpuLayoutError, match=f"^frame: {says}"):
            nl.Preprocessor(target(), source=source)(bad, out[:1])
        assert (out == 77).all()
        with pytest.raises(nl.NpuLayoutError, match=f"^frame: {says}"):
            as_channels(np.frombuffer(bad, np.uint8) if source == "MJPEG" else bad, {"source": source})


def test_a_frame_as_one_row_of_bytes() -> None:
    """As OpenCV hands out what it does not convert."""
    for name in ("YUYV", "NV12", "BGR", "I420"):
        spec = nl.FrameSpec(name, (16, 12))
        data = np.random.default_rng(0).integers(0, 256, spec.size, np.uint8)
        np.testing.assert_array_equal(
            picture(FrameSource.of(spec).read("frame", data[None])), picture(FrameSource.of(spec).read("frame", data))
        )
        with pytest.raises(nl.NpuLayoutError, match=r"got uint8 of shape \(1, \d+\)"):
            FrameSource.of(spec).read("frame", data[None, :-1])
        for given in (data, data[None]):
            with pytest.raises(
                nl.NpuLayoutError, match=rf"flat bytes need source=FrameSpec\('{name}', \(width, height\)\)"
            ):
                FrameSource.of(name).read("frame", given)


def test_a_jpeg_is_not_turned_by_what_its_camera_noted() -> None:
    """Orientation in Exif is the viewer's; boxes belong to the pixels as they are stored."""
    exif = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"
    data = jpeg()
    turned = data[:2] + b"\xff\xe1" + (len(exif) + 2).to_bytes(2, "big") + exif + data[2:]
    assert cv2.imdecode(np.frombuffer(turned, np.uint8), cv2.IMREAD_COLOR).shape == (16, 12, 3)
    np.testing.assert_array_equal(
        picture(FrameSource.of("MJPEG").read("frame", turned)), picture(FrameSource.of("MJPEG").read("frame", data))
    )


def test_unknown_sources() -> None:
    for source, says in (
        ("NV13", "source: expected one of BGR, .*MJPEG, got 'NV13'"),
        ("NV12_64Z32", "source: NV12_64Z32 is refused: .*Z-order"),
        ({"format": "NV12"}, "source: d: no size_wh"),
        (3, "source: expected one of"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            nl.Preprocessor(target(), source=source)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["NV12", "I420", "YUYV", "GRAY16", "RGGB"])
def test_out_that_overlaps_a_plane(name: str) -> None:
    spec = nl.FrameSpec(name, (16, 12))
    memory = np.zeros(max(spec.size or 0, 200), np.uint8)
    frame, out = memory[: spec.size], memory[-192:].reshape(1, 8, 8, 3)
    with pytest.raises(nl.NpuLayoutError, match="shares memory with a frame"):
        nl.Preprocessor(target(), source=spec)(frame, out)
    assert not memory.any()


def test_what_a_capture_returns_is_a_pair() -> None:
    with pytest.raises(nl.NpuLayoutError, match=r"as VideoCapture\.read returns; give its second item"):
        FrameSource("BGR", None).read("frame", (True, np.zeros((4, 4, 3), np.uint8)))


@pytest.mark.parametrize("name", ["NV12", "NV16", "NV24", "I420", "I422", "I444", "P010", "GRAY", "BGR"])
def test_memory_of_one_row_is_a_frame_of_height_1(name: str) -> None:
    """OpenCV makes one row of raw bytes; a frame of several planes and height 1 is no such row itself."""
    spec = nl.FrameSpec(name, (10, 1))
    memory = formats.noise(spec.size or 0)
    read = FrameSource.of(spec).read("frame", memory.reshape(1, -1))
    wanted = spec.planes(memory)
    assert len(read.planes) == len(wanted) and read.size_wh == (10, 1)
    assert all(np.array_equal(a.reshape(-1), b.reshape(-1)) for a, b in zip(read.planes, wanted))
    assert all(np.shares_memory(plane, memory) for plane in read.planes)


def test_flat_bytes_are_not_taken_for_a_row_of_pixels() -> None:
    """OpenCV's raw frames are one row (1, n): it was said to be of gray, or to be reshaped to one row of pairs."""
    target = nl.TensorSpec((1, 3, 8, 8), "NHWC", "uint8")
    for name in ("YUYV", "NV12", "BGR"):
        with pytest.raises(nl.NpuLayoutError, match=rf"FrameSpec\('{name}', \(width, height\)\)$"):
            nl.Preprocessor(target, source=name)(np.zeros((1, 128), np.uint8))


def test_bytes_behind_a_frame_are_said() -> None:
    spec = nl.FrameSpec("NV12", (64, 48), strides=96)
    memory = np.random.default_rng(0).integers(0, 256, spec.size + 1001, np.uint8)
    preprocess = nl.Preprocessor(nl.TensorSpec((1, 3, 48, 64), "NHWC", "uint8"), source=spec)
    with pytest.raises(
        nl.BufferSizeError, match=rf"needs {spec.size}; if rows have gaps, .* its first {spec.size} bytes$"
    ):
        preprocess(memory)
    assert preprocess(memory[: spec.size])[0].any()
    with pytest.raises(nl.BufferSizeError, match=rf"needs {spec.size}$"):
        preprocess(memory[: spec.size - 1])
