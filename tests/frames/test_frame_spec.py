"""FrameSpec: strides, offsets and size of every format, its views, JSON, and bad arguments."""

from __future__ import annotations

import json
import mmap
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from npu_layout.frames.pixel_formats import PIXEL_FORMATS
from tests.support import frame_formats as formats

ASKED = {
    *("BGR", "RGB", "BGRA", "RGBA", "BGRX", "RGBX", "GRAY", "GRAY16", "RGB565"),
    *("NV12", "NV21", "NV16", "NV24", "I420", "YV12", "I422", "I444", "YUYV"),
    *("UYVY", "YVYU", "P010", "RGGB", "BGGR", "GRBG", "GBRG", "NV12_4L4", "NV12_32L32"),
    *("NV12_16L32S", "NV12_8L128", "MJPEG"),
}


def test_every_format_is_there_and_has_a_reference() -> None:
    assert set(PIXEL_FORMATS) >= ASKED and set(PIXEL_FORMATS) == {*formats.FLAT, "MJPEG"}


@pytest.mark.parametrize("name", formats.FLAT)
@pytest.mark.parametrize("size", [(8, 6), (7, 5), (1, 1), (37, 131)])
def test_default_strides_offsets_and_size(name: str, size: Any) -> None:
    """As the definitions say: rows without gaps, one plane after the other, whole tiles."""
    spec, planes = nl.FrameSpec(name, size), formats.planes_of(name, *size)
    assert spec.strides == tuple(row for row, _ in planes)
    sizes = [row * rows for row, rows in planes]
    assert spec.offsets == tuple(sum(sizes[:i]) for i in range(len(sizes))) and spec.size == sum(sizes)
    assert spec.is_dense


@pytest.mark.parametrize("name", formats.FLAT)
def test_planes_are_views_of_the_memory(name: str) -> None:
    spec = nl.FrameSpec(name, (37, 21))
    memory = formats.noise(spec.size or 0)
    for plane, offset in zip(spec.planes(memory), spec.offsets):
        assert np.shares_memory(plane, memory) and plane.flags.writeable
        assert plane.__array_interface__["data"][0] == memory.__array_interface__["data"][0] + offset
    for plane in spec.planes(memory.tobytes()):
        assert not plane.flags.writeable
    assert sum(plane.nbytes for plane in spec.planes(memory)) == spec.size


def test_the_shapes_of_views() -> None:
    def shapes(name: str) -> list[tuple[int, ...]]:
        spec = nl.FrameSpec(name, (34, 22))
        return [plane.shape for plane in spec.planes(bytes(spec.size or 0))]

    assert shapes("BGRX") == [(22, 34, 4)] and shapes("GRAY") == shapes("GBRG") == shapes("RGB565") == [(22, 34)]
    assert shapes("NV12") == shapes("P010") == [(22, 34), (11, 17, 2)] and shapes("NV16") == [(22, 34), (22, 17, 2)]
    assert shapes("I420") == [(22, 34), (11, 17), (11, 17)] and shapes("NV24") == [(22, 34), (22, 34, 2)]
    assert shapes("UYVY") == [(22, 34, 2)] and shapes("RGGB10P") == [(22, 45)] and shapes("BGGR12P") == [(22, 51)]
    assert shapes("NV12_16L32S") == [(1, 3, 32, 16), (1, 3, 16, 16)]
    assert nl.FrameSpec("P010", (2, 2)).planes(bytes([1, 2] * 6))[0].tolist() == [[513, 513], [513, 513]]


@pytest.mark.parametrize("name", formats.FLAT)
def test_pitches_offsets_and_gaps(name: str) -> None:
    """Planes in another order, rows apart, a tail: the same samples as in dense memory."""
    size = (37, 21)
    dense = nl.FrameSpec(name, size)
    strides = [s + 128 for s in dense.strides]
    rows = [rows for _, rows in formats.planes_of(name, *size)]
    starts, end = [], 5
    for stride, count in zip(strides[::-1], rows[::-1]):
        starts.insert(0, end)
        end += stride * count + 3
    spec = nl.FrameSpec(name, size, strides=strides, offsets=starts, size=end + 9)
    memory, apart = formats.noise(dense.size or 0), np.zeros(spec.size or 0, np.uint8)
    for plane, other in zip(dense.planes(memory), spec.planes(apart)):
        other[...] = plane
    for plane, other in zip(dense.planes(memory), spec.planes(apart)):
        np.testing.assert_array_equal(plane, other)
    assert not spec.is_dense and f"with strides {spec.strides}" in spec.describe()


def test_one_number_is_the_first_planes_stride() -> None:
    assert nl.FrameSpec("NV12", (1920, 1080), strides=2048).strides == (2048, 2048)
    assert nl.FrameSpec("I420", (1920, 1080), strides=2048).strides == (2048, 1024, 1024)
    assert nl.FrameSpec("NV24", (30, 2), strides=32).strides == (32, 64)
    assert nl.FrameSpec("P010", (30, 2), strides=64).strides == (64, 64)
    assert nl.FrameSpec("NV12", (7, 5), strides=7).strides == (7, 8)
    assert nl.FrameSpec("NV12_32L32", (40, 40), strides=np.int64(128)).strides == (128, 128)


def test_the_last_rows_gap_may_be_missing() -> None:
    spec = nl.FrameSpec("GRAY", (5, 3), strides=8, size=2 * 8 + 5)
    assert spec.planes(bytes(range(21)))[0][2].tolist() == [16, 17, 18, 19, 20]
    with pytest.raises(nl.NpuLayoutError, match=r"size 20 is too small; strides .* need 21 bytes"):
        nl.FrameSpec("GRAY", (5, 3), strides=8, size=20)


def test_memory_of_every_kind(tmp_path: Path) -> None:
    spec = nl.FrameSpec("NV12", (8, 6), strides=16)
    memory = formats.noise(spec.size or 0)
    (tmp_path / "frame").write_bytes(memory.tobytes())
    with (tmp_path / "frame").open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        for given in (memory, memory.tobytes(), bytearray(memory), memoryview(memory), mapped, memory.view(np.int8)):
            for plane, expected in zip(spec.planes(given), spec.planes(memory)):
                np.testing.assert_array_equal(plane, expected)
        del given, plane, expected
    y, uv = spec.planes((memory[:96], memory[96:].tobytes()))  # buffers of their own
    np.testing.assert_array_equal(y, spec.planes(memory)[0])
    np.testing.assert_array_equal(uv, spec.planes(memory)[1])
    assert nl.FrameSpec("MJPEG", (8, 6)).planes(b"abc")[0].tolist() == [97, 98, 99]


def test_frozen_hashable_json_and_repr() -> None:
    for name in PIXEL_FORMATS:
        pitched = {} if name == "MJPEG" else {"strides": [s + 128 for s in nl.FrameSpec(name, (10, 6)).strides]}
        for spec in (
            nl.FrameSpec(name, (10, 6)),
            nl.FrameSpec(name, (10, 6), matrix="bt2020", range="full", **pitched),
        ):
            again = nl.FrameSpec.from_dict(json.loads(json.dumps(spec.to_dict())))
            assert again == spec == pickle.loads(pickle.dumps(spec)) and hash(again) == hash(spec)
            assert eval(repr(spec), {"FrameSpec": nl.FrameSpec}) == spec
    assert repr(nl.FrameSpec("BGR", (4, 2))) == "FrameSpec('BGR', (4, 2))"
    assert nl.FrameSpec("BGR", [4, 2]) != nl.FrameSpec("RGB", (4, 2))
    with pytest.raises(AttributeError):
        nl.FrameSpec("BGR", (4, 2)).format = "RGB"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (dict(format="NV13"), r"format: expected one of BGR, RGB, .*NV12, .*MJPEG, got 'NV13'"),
        (dict(format="NV12_64Z32"), "NV12_64Z32 is refused: its tiles of 64x32 are in Z-order"),
        (dict(format=3), "format: expected one of .* got 3"),
        (dict(size_wh=(0, 4)), "size_wh: expected 2 whole numbers of at least 1"),
        (dict(strides=-8), r"strides: plane Y expects at least 8 bytes .* got -8; .*planes\[::-1\]"),
        (dict(strides=(8, -8)), "strides: plane UV expects at least 8 bytes .* got -8"),
        (dict(strides=7), "strides: plane Y expects at least 8 bytes from one row to the next, got 7"),
        (dict(strides=(8, 8, 8)), "strides: expected 2 whole numbers"),
        (dict(format="NV12_32L32", strides=40), "in whole tiles of 32, got 40"),
        (dict(offsets=(0, 47)), r"planes Y \(bytes 0 to 48\) and UV \(47 to 71\) overlap"),
        (dict(offsets=(0, -1)), "offsets: expected 2 whole numbers of at least 0"),
        (dict(size=71), "size 71 is too small; strides .* need 72 bytes"),
        (dict(matrix="bt470"), "matrix: expected one of bt601, bt709, bt2020, got 'bt470'"),
        (dict(range="tv"), "range: expected limited or full, got 'tv'"),
        (dict(format="MJPEG", strides=8), "compressed bytes have no strides"),
    ],
)
def test_bad_arguments(arguments: Any, says: str) -> None:
    with pytest.raises(nl.NpuLayoutError, match=says):
        nl.FrameSpec(**{"format": "NV12", "size_wh": (8, 6), **arguments})


def test_planes_may_alternate_by_rows() -> None:
    spec = nl.FrameSpec("I420", (8, 4), strides=(16, 16, 16), offsets=(0, 64, 68), size=96)
    _, u, v = spec.planes(bytes(range(96)))
    assert u.tolist() == [[64, 65, 66, 67], [80, 81, 82, 83]] and v[0].tolist() == [68, 69, 70, 71]
    with pytest.raises(nl.NpuLayoutError, match=r"planes U .* and V .* overlap"):
        nl.FrameSpec("I420", (8, 4), strides=(16, 16, 16), offsets=(0, 64, 67))


def test_bad_memory() -> None:
    spec = nl.FrameSpec("NV12", (8, 6))
    for given, says in (
        ((bytes(48),), "buffer has 1 planes; NV12 of 8x6 has 2: Y, UV"),
        ((bytes(48), bytes(23)), "plane UV has 23 bytes; NV12 of 8x6 needs 24: 3 rows, one every 8 bytes"),
        (np.zeros((9, 8), np.uint16), "expected its bytes in one piece, a C-contiguous uint8 array, got uint16"),
        (np.zeros((9, 16), np.uint8)[:, ::2], "C-contiguous"),
        ("text", "expected bytes, a memoryview, an mmap or a uint8 array, got str"),
        (None, "got NoneType"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=says):
            spec.planes(given)
    for d, says in (({"format": "BGR"}, "no size_wh"), ({"x": 1}, "unknown keys"), (3, "expected a dict, got 3")):
        with pytest.raises(nl.NpuLayoutError, match=says):
            nl.FrameSpec.from_dict(d)
