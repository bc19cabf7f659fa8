"""What is said of arrays that fit no frame: exchanged extents, rows of a pitch, mirrored planes, another order."""

from __future__ import annotations

import ast
import re
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.frames.frame_source import FrameSource


def test_rows_of_the_specs_pitch_that_are_not_its_memory() -> None:
    spec = nl.FrameSpec("I420", (64, 48), strides=96, offsets=(0, 4608, 5760), size=96 * 72 + 5000)
    with pytest.raises(nl.NpuLayoutError, match=r"6912 bytes in rows of 96; .* has 11912, in one piece$"):
        FrameSource.of(spec).read("frame", np.zeros((72, 96), np.uint8))


@pytest.mark.parametrize(("name", "rows"), [("NV12", 1632), ("I420", 1632), ("NV16", 2176)])
def test_rows_of_a_rounded_height_are_named_with_the_spec_that_reads_them(name: str, rows: int) -> None:
    """Decoders return 1088 rows of Y for 1080, and what maps their memory an array of all rows."""
    target, plain = nl.TensorSpec((1, 3, 36, 64), "NHWC", "uint8"), nl.FrameSpec(name, (1920, 1080))
    frame = np.random.default_rng(0).integers(0, 256, (rows, 1920)).astype(np.uint8)
    with pytest.raises(nl.NpuLayoutError, match=rf"got uint8 of shape \({rows}, 1920\); .* 1088 rows") as refused:
        nl.Preprocessor(target, source=plain)(frame)
    given = str(refused.value).rpartition("give ")[2]
    found = dict(re.findall(r"(strides|offsets|size)=(\([\d, ]+\)|\d+)", given))
    assert list(found) == ["strides", "offsets", "size"], given
    strides, offsets, size = (ast.literal_eval(text) for text in found.values())
    spec = nl.FrameSpec(name, (1920, 1080), strides=strides, offsets=offsets, size=size)
    y, chroma = spec.planes(frame.reshape(-1))[:2]
    assert np.array_equal(y, frame[:1080]) and np.array_equal(chroma.ravel()[:960], frame[1088, :960])
    read = nl.Preprocessor(target, source=spec)
    assert np.array_equal(read(frame)[0], read(frame.tobytes())[0])


def test_pixels_for_a_source_of_planes_are_named() -> None:
    source = nl.Preprocessor(nl.TensorSpec((1, 3, 8, 8), "NHWC", "uint8"), source=nl.FrameSpec("NV12", (8, 8)))
    with pytest.raises(nl.NpuLayoutError, match=r"\(8, 8, 3\); it has the shape of BGR, RGB: say which by source=$"):
        source(np.zeros((8, 8, 3), np.uint8))


def test_width_and_height_exchanged_are_named() -> None:
    preprocess = nl.Preprocessor(nl.TensorSpec((1, 3, 8, 8)), source=nl.FrameSpec("NV12", (16, 32)))
    with pytest.raises(nl.NpuLayoutError, match=r"size_wh is width, then height: is it \(32, 16\)\?"):
        preprocess(np.zeros((24, 32), np.uint8))
    with pytest.raises(nl.NpuLayoutError, match=r"got uint8 of shape .24, 30.$"):
        preprocess(np.zeros((24, 30), np.uint8))


@pytest.mark.parametrize(
    ("shape", "dtype", "names"),
    [
        ((8, 8, 4), "uint8", "BGRA, RGBA, BGRX, RGBX"),
        ((8, 8, 2), "uint8", "YUYV, UYVY, YVYU"),
        ((9, 8), "uint8", "GRAY, NV12, NV21, NV24, I420, YV12, I444, RGGB, BGGR, GRBG, GBRG"),
        ((8, 8), "uint8", "GRAY, NV16, I422, RGGB, BGGR, GRBG, GBRG"),
        ((6, 8), "<u2", "GRAY16, RGB565, P010"),
    ],
)
def test_the_formats_that_have_a_shape_are_named(shape: tuple[int, ...], dtype: str, names: str) -> None:
    """And each of them accepts it."""
    frame = np.zeros(shape, dtype)
    with pytest.raises(nl.NpuLayoutError, match=f"; it has the shape of {names}: say which by source=$"):
        FrameSource.of("BGR").read("frame", frame)
    for name in names.split(", "):
        assert FrameSource.of(name).read("frame", frame).format.planes
    with pytest.raises(nl.NpuLayoutError, match=r"; it has the shape of BGR, RGB: say which by source=$"):
        FrameSource.of("NV12").read("frame", np.zeros((6, 8, 3), np.uint8))


@pytest.mark.parametrize("shape", [(8, 8, 3), (8, 8)])
def test_float_frames_are_refused_with_who_normalises(shape: tuple[int, ...]) -> None:
    for source in ("BGR", "GRAY", "NV12"):
        with pytest.raises(nl.NpuLayoutError, match=r"from 0 to 255: the Preprocessor applies mean and std$"):
            FrameSource.of(source).read("frame", np.zeros(shape, np.float32))


@pytest.mark.parametrize("source", ["RGB565", nl.FrameSpec("RGB565", (4, 3))])
def test_big_endian_words_are_refused_with_how_to_swap_their_bytes(source: str | nl.FrameSpec) -> None:
    big = np.arange(12, dtype=">u2").reshape(3, 4)
    with pytest.raises(nl.NpuLayoutError, match=r"got >u2 .*; it is in big endian: give frame.astype\('<u2'\)"):
        FrameSource.of(source).read("frame", big)
    (plane,) = FrameSource.of(source).read("frame", big.astype("<u2")).planes
    assert plane.tolist() == big.tolist()


@pytest.mark.parametrize("name", ["NV12", "I420", "NV24"])
@pytest.mark.parametrize("size_wh", [(7, 4), (6, 5), (7, 5), (6, 4)])
def test_mirrored_planes_of_an_odd_size_are_refused(name: str, size_wh: tuple[int, int]) -> None:
    """The pixel that has U and V alone is the last one; it would be the first."""
    width, height = size_wh
    shared = name != "NV24"
    chroma = ((height + 1) // 2, (width + 1) // 2) if shared else (height, width)
    rng = np.random.default_rng(width * height)
    shapes = [size_wh[::-1], chroma, chroma] if name == "I420" else [size_wh[::-1], (*chroma, 2)]
    planes = [rng.integers(0, 256, shape).astype(np.uint8) for shape in shapes]
    picture = nl.Preprocessor(nl.TensorSpec((1, 3, height, width), "NHWC", "uint8"), source=name)
    plain = picture(tuple(planes))[0].reshape(height, width, 3)
    for axis, odd in ((1, width % 2), (0, height % 2)):
        mirrored = tuple(np.flip(plane, axis) for plane in planes)
        if odd and shared:
            with pytest.raises(
                nl.NpuLayoutError, match=f"mirrored so that other ones of {size_wh[1 - axis]} pixels share"
            ):
                picture(mirrored)
        else:
            np.testing.assert_array_equal(picture(mirrored)[0].reshape(plain.shape), np.flip(plain, axis))


def test_rows_of_u_and_v_that_are_mirrored_byte_by_byte_are_refused() -> None:
    y, uv = np.zeros((4, 6), np.uint8), np.zeros((2, 6), np.uint8)
    picture = nl.Preprocessor(nl.TensorSpec((1, 3, 4, 6), "NHWC", "uint8"), source="NV12")
    with pytest.raises(nl.NpuLayoutError, match=r"U and V are exchanged; mirror the planes in the shape \(2, 3, 2\)"):
        picture((y[:, ::-1], uv[:, ::-1]))


@pytest.mark.parametrize(
    ("source", "shape", "dtype", "view"),
    [
        ("YUYV", (4, 6), "<u2", lambda a: a.view(np.uint8).reshape(4, 6, 2)),  # as RealSense hands it out
        (nl.FrameSpec("YUYV", (6, 4)), (4, 6), "<u2", lambda a: a.view(np.uint8).reshape(4, 6, 2)),
        ("UYVY", (4, 12), "u1", lambda a: a.reshape(4, 6, 2)),
        ("GRAY16", (4, 6, 2), "u1", lambda a: a.view(np.uint16).reshape(4, 6)),
        ("RGB565", (4, 12), "u1", lambda a: a.view(np.uint16).reshape(4, 6)),
        ("P010", (6, 12), "u1", lambda a: a.view(np.uint16).reshape(6, 6)),
    ],
)
def test_rows_of_bytes_and_of_words_are_refused_with_the_view_to_pass(
    source: Any, shape: tuple[int, ...], dtype: str, view: Any
) -> None:
    """The view that the message gives is accepted, and has the same bytes."""
    array = np.random.default_rng(5).integers(0, 256, (4 if shape[0] == 4 else 6) * 12).astype(np.uint8)
    frame = array.view(dtype).reshape(shape)
    with pytest.raises(
        nl.NpuLayoutError, match=r"if its rows are bytes of \w+, give frame(\.view.*)?\.reshape.*$"
    ) as said:
        FrameSource.of(source).read("frame", frame)
    given = str(said.value).rpartition("give ")[2]
    advised = eval(given, {"frame": frame, "np": np})
    np.testing.assert_array_equal(advised, view(frame))
    assert FrameSource.of(source).read("frame", advised).size_wh == (6, 4)


def test_channels_in_front_are_refused_with_the_view_to_pass() -> None:
    frame = np.random.default_rng(6).integers(0, 256, (3, 4, 6)).astype(np.uint8)
    for source in ("BGR", nl.FrameSpec("BGR", (6, 4))):
        with pytest.raises(nl.NpuLayoutError, match=r"channels come first: give frame.transpose\(1, 2, 0\), a view$"):
            FrameSource.of(source).read("frame", frame)
    assert FrameSource.of("BGR").read("frame", frame.transpose(1, 2, 0)).size_wh == (6, 4)


def test_a_batch_of_one_and_memory_of_a_gpu_are_refused_with_the_fix() -> None:
    class OnGpu:
        @property
        def __cuda_array_interface__(self) -> Any:
            return {"shape": (4, 6, 3), "typestr": "|u1", "data": (64, False), "version": 3}

    for given, says in (
        (np.zeros((1, 4, 6, 3), np.uint8), r"; it is a batch of one: give frame\[0\]$"),
        (OnGpu(), r"got OnGpu; its memory is a GPU's: copy it to the CPU's first$"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            FrameSource.of("BGR").read("frame", given)


def test_what_opencv_stores_elsewhere_is_refused_with_how_to_read_it() -> None:
    frame = np.arange(72, dtype=np.uint8).reshape(4, 6, 3)
    with pytest.raises(nl.NpuLayoutError, match=r"got UMat; give frame\.get\(\)$"):
        FrameSource.of("BGR").read("frame", cv2.UMat(frame))
    assert FrameSource.of("BGR").read("frame", cv2.UMat(frame).get()).size_wh == (6, 4)


def test_channels_that_are_mirrored_byte_by_byte_are_no_u_and_v() -> None:
    read = FrameSource.of(nl.FrameSpec("BGR", (6, 4))).read
    with pytest.raises(nl.NpuLayoutError, match=r"channels of a pixel are exchanged; .* in the shape \(4, 6, 3\)$"):
        read("frame", (np.zeros((4, 18), np.uint8)[:, ::-1],))


@pytest.mark.parametrize("given", ["name", "spec"])
@pytest.mark.parametrize("name", ["NV12", "NV21", "NV16", "NV24", "P010", "I444", "YUYV", "UYVY", "RGGB10P", "RGGB"])
def test_a_view_of_a_whole_frame_is_what_it_is_of_the_picture_or_refused(name: str, given: str) -> None:
    """Mirrored, upside down and turned: rows of chroma would come first, U be V, and columns be rows."""
    width, height = 24, 24
    spec = nl.FrameSpec(name, (width, height))
    planes = spec.planes(np.random.default_rng(3).integers(0, 256, spec.size or 0).astype(np.uint8))
    array = planes[0] if len(planes) == 1 else np.concatenate([plane.reshape(-1, width) for plane in planes])
    source = name if given == "name" else spec
    picture = nl.Preprocessor(nl.TensorSpec((1, 3, height, width), "NHWC", "uint8"), source=source)
    plain = picture(array)[0][0]
    served = []
    for view in (lambda a: a[:, ::-1], lambda a: a[::-1], np.rot90, lambda a: np.swapaxes(a, 0, 1)):
        try:
            shown = picture(view(array))[0][0]
        except nl.NpuLayoutError as error:
            assert re.search(r"expected a .*(mirrored so|upside down|turned so|got uint)", str(error))
            continue
        served.append(view)
        if name[:4] != "RGGB":  # a mosaic that is mirrored has another name
            np.testing.assert_array_equal(shown, view(plain))
    assert len(served) == {"YUYV": 1, "UYVY": 1, "RGGB10P": 1, "I444": 1, "RGGB": 4}.get(name, 0)


def test_a_mirrored_mosaic_is_that_of_the_other_name() -> None:
    mosaic = np.random.default_rng(4).integers(0, 256, (8, 10)).astype(np.uint8)
    target = nl.TensorSpec((1, 3, 8, 10), "NHWC", "uint8")
    for view, name in ((np.s_[:, ::-1], "GRBG"), (np.s_[::-1], "GBRG"), (np.s_[::-1, ::-1], "BGGR")):
        expected = nl.Preprocessor(target, source=name)(mosaic[view].copy())[0]
        np.testing.assert_array_equal(nl.Preprocessor(target, source=name)(mosaic[view])[0], expected)
        plain = nl.Preprocessor(target, source="RGGB")(mosaic)[0][0]
        assert np.abs(plain[view].astype(int) - expected[0])[1:-1, 1:-1].max() == 0


def test_tiles_that_are_mirrored_are_refused() -> None:
    spec = nl.FrameSpec("NV12_4L4", (8, 8))
    planes = spec.planes(np.zeros(spec.size or 0, np.uint8))
    with pytest.raises(nl.NpuLayoutError, match="tiles are reversed"):
        FrameSource.of(spec).read("frame", tuple(plane[::-1] for plane in planes))


@pytest.mark.parametrize(
    ("frame", "source", "advice"),
    [
        (np.zeros((6, 8, 1), np.uint8), "BGR", "one channel: give source=.GRAY. if that is brightness$"),
        (np.zeros((6, 8, 1), np.uint16), "RGB", "one channel: give source=.GRAY16. if that is brightness$"),
        (np.zeros((6, 8, 1), np.float32), "BGR", "frames have pixels from 0 to 255: the Preprocessor applies mean"),
        (np.zeros((6, 8, 1), bool), "BGR", r"got bool of shape \(6, 8, 1\)$"),
        (np.zeros((6, 16, 1), np.uint8), "YUYV", r"got uint8 of shape \(6, 16, 1\)$"),
        (np.zeros((6, 8, 3), np.int8), "BGR", r"got int8 of shape \(6, 8, 3\)$"),
        (np.zeros((6, 8, 3), np.int64), "BGR", r"if its values are 0 to 255, give frame.astype\(np.uint8\)$"),
        (np.zeros((6, 8, 3), bool), "BGR", r"got bool of shape \(6, 8, 3\)$"),
        ((False, None), "BGR", "VideoCapture.read had no frame"),
    ],
)
def test_what_first_programs_give(frame: Any, source: str, advice: str) -> None:
    target = nl.TensorSpec((1, 3, 6, 8), "NHWC", "uint8")
    with pytest.raises(nl.NpuLayoutError, match=advice):
        nl.Preprocessor(target, source=source)(frame)
