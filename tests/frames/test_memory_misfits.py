"""Sizes of other pitches, heights and pages than a FrameSpec has are refused, and named."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import npu_layout as nl
from tests.support import frame_formats as formats


@pytest.mark.parametrize(
    ("spec", "nbytes", "says"),
    [
        (
            nl.FrameSpec("NV12", (1920, 1080)),
            2048 * 1620,
            r"needs 3110400; 3317760 .* 1080 rows of 2048 bytes: give strides=\(2048, 2048\)",
        ),
        (
            nl.FrameSpec("NV12", (1920, 1080), strides=2048),
            1920 * 1620,
            r"strides \(2048, 2048\) needs 3317760; 3110400 .* rows of 1920",
        ),
        (nl.FrameSpec("BGR", (1918, 1080)), 5760 * 1080, r"1080 rows of 5760 bytes: give strides=\(5760,\)"),
        (
            nl.FrameSpec("NV12", (1920, 1080)),
            1920 * 1632,
            r"1088 rows of 1920 bytes: .* offsets=\(0, 2088960\), size=3133440",
        ),
        (nl.FrameSpec("NV12", (1920, 1080)), 100, r"buffer has 100 bytes; NV12 of 1920x1080 needs 3110400$"),
        (nl.FrameSpec("NV12", (1920, 1080)), 1984 * 1620, r"1080 rows of 1984 bytes: give strides=\(1984, 1984\)"),
        (
            nl.FrameSpec("NV12", (1920, 1080)),
            1922 * 1620,
            r"needs 3110400; if rows have gaps, .* its first 3110400 bytes$",
        ),
        (nl.FrameSpec("NV12_32L32", (64, 40)), 96 * 96, r"needs 6144; if .* its first 6144 bytes$"),
        (
            nl.FrameSpec("NV12", (640, 480)),
            462848,
            r"462848 bytes fit 480 rows of 640 bytes, rounded up to pages of 4096: give size=462848$",
        ),
        (
            nl.FrameSpec("NV12", (640, 360)),
            356352,
            r"368 rows of 640 bytes, rounded up to pages of 4096: .* offsets=\(0, 235520\), size=356352$",
        ),
        (
            nl.FrameSpec("NV12", (160, 120)),
            32768,
            r"give strides=\(160, 160\), offsets=\(0, 20480\), size=32768, or strides=\(160, 160\) and "
            r"offsets=\(0, 19200\) and size=32768 if what is behind the last row is a gap$",
        ),
        (
            nl.FrameSpec("NV12", (1080, 1920), strides=2048),
            2048 * 1620,
            r"; a frame of 1920x1080 has as many, in rows of 2048: size_wh is width, then height$",
        ),
        (nl.FrameSpec("BGR", (1920, 1080)), 5760 * 1088, r"1088 rows of 5760 bytes: give size=6266880$"),
    ],
)
def test_another_size_names_both_readings(spec: nl.FrameSpec, nbytes: int, says: str) -> None:
    with pytest.raises(nl.BufferSizeError, match=says):
        spec.planes(bytes(nbytes))


def test_a_size_of_more_rows_needs_offsets() -> None:
    """A driver's NV12 of 1080 rows in a buffer of 1088: chroma begins behind the 1088th row."""
    how: dict[str, Any] = {"strides": 2048, "size": 2048 * 1088 * 3 // 2}
    with pytest.raises(
        nl.NpuLayoutError, match=r"size 3342336 is that of 1088 rows of 2048 bytes: expected offsets=\(0, 2228224"
    ):
        nl.FrameSpec("NV12", (1920, 1080), **how)
    spec = nl.FrameSpec("NV12", (1920, 1080), offsets=(0, 2228224), **how)
    assert nl.FrameSpec.from_dict(spec.to_dict()) == spec
    gap = nl.FrameSpec("NV12", (1920, 1080), offsets=(0, 2211840), **how)
    assert gap.offsets == nl.FrameSpec("NV12", (1920, 1080), strides=2048).offsets
    assert nl.FrameSpec("NV12", (1920, 1080), strides=2048, size=2048 * 1080 * 3 // 2 + 4096).size == 3321856
    assert nl.FrameSpec("BGR", (1920, 1080), size=1920 * 3 * 1088).size == 1920 * 3 * 1088
    with pytest.raises(
        nl.NpuLayoutError, match=r"size 356352 is that of 368 rows of 640 bytes, rounded up to pages of 4096: .*235520"
    ):
        nl.FrameSpec("NV12", (640, 360), strides=640, size=356352)
    assert nl.FrameSpec("NV12", (640, 480), size=462848).size == 462848  # pages, and nothing else
    for name in ("I420", "NV16", "P010", "NV21"):
        whole = nl.FrameSpec(name, (64, 50)).size
        taller = nl.FrameSpec(name, (64, 64)).size
        assert whole and taller and nl.FrameSpec(name, (64, 50), size=whole).size == whole
        with pytest.raises(nl.NpuLayoutError, match="is that of 64 rows"):
            nl.FrameSpec(name, (64, 50), size=taller)


@pytest.mark.parametrize(
    ("size", "pitch", "nbytes"), [((160, 120), 160, 32768), ((320, 180), 320, 90112), ((300, 300), 320, 147456)]
)
def test_a_stated_pitch_and_pages_are_a_drivers_buffer(size: Any, pitch: int, nbytes: int) -> None:
    """V4L2's bytesperline and the length of its map; a rounded height counts if it explains the size without pages."""
    for name in ("NV12", "I420"):
        spec = nl.FrameSpec(name, size, strides=pitch, size=nbytes)
        assert spec.offsets == nl.FrameSpec(name, size, strides=pitch).offsets and spec.size == nbytes
        with pytest.raises(nl.NpuLayoutError, match=f"size {nbytes} is that of"):
            nl.FrameSpec(name, size, size=nbytes)
    with pytest.raises(nl.NpuLayoutError, match=r"is that of 128 rows of 192 bytes: expected offsets=\(0, 24576\)"):
        nl.FrameSpec("NV12", (160, 120), strides=192, size=192 * 192)


def test_a_size_of_another_pitch_needs_strides() -> None:
    """A driver's buffer given by its length alone: of rows of 2048 bytes, and of 1088 of them."""
    for lines, places in ((1080, r"\(2048, 2048\), or"), (1088, r"\(2048, 2048\) and offsets=\(0, 2228224\), or")):
        size = 2048 * lines * 3 // 2
        with pytest.raises(
            nl.NpuLayoutError, match=rf"size {size} is that of {lines} rows of 2048 bytes: expected strides={places}"
        ):
            nl.FrameSpec("NV12", (1920, 1080), size=size)
    with pytest.raises(nl.NpuLayoutError, match=r"1080 rows of 5760 bytes: expected strides=\(5760,\), or"):
        nl.FrameSpec("BGR", (1918, 1080), size=5760 * 1080)
    with pytest.raises(nl.NpuLayoutError, match=r"1080 rows of 1984 bytes: expected strides=\(1984, 1984\), or"):
        nl.FrameSpec("NV12", (1920, 1080), size=1984 * 1620)
    gap = nl.FrameSpec("NV12", (1920, 1080), strides=1920, offsets=(0, 2073600), size=1984 * 1620)
    assert gap.strides == (1920, 1920) and gap.offsets == (0, 2073600)
    for spec in (gap, nl.FrameSpec("NV12", (64, 50), offsets=(0, 3200), size=64 * 96)):
        assert eval(repr(spec), {"FrameSpec": nl.FrameSpec}) == spec == nl.FrameSpec.from_dict(spec.to_dict())


BEHIND = {  # bytes that Linux's drivers of decoders add behind the planes
    "rkvdec": lambda w, h: 128 * -(-w // 16) * -(-h // 16),
    "hantro H.264": lambda w, h: 64 * -(-w // 16) * -(-h // 16) + 32,
    "hantro VP9": lambda w, h: 16 * 64 * -(-w // 64) * -(-h // 64),
    "hantro HEVC": lambda w, h: w * h // 16,
    "hantro AV1": lambda w, h: 384 * -(-w // 64) * -(-h // 64) * 2 + 512,
}


@pytest.mark.parametrize("decoder", BEHIND)
@pytest.mark.parametrize("page", [1, 4096])
@pytest.mark.parametrize("name", ["NV12", "I420"])
def test_what_decoders_keep_behind_the_picture(name: str, decoder: str, page: int) -> None:
    """They round the height to 16: where that moves planes, the size is refused, and says where they are."""
    for size in ((1920, 1080), (1280, 720), (640, 360), (1024, 768), (720, 576)):
        lines = -(-size[1] // 16) * 16
        nbytes = size[0] * lines * 3 // 2 + BEHIND[decoder](size[0], lines)
        nbytes = -(-nbytes // page) * page
        if lines == size[1]:
            spec = nl.FrameSpec(name, size, strides=size[0], size=nbytes)
            assert spec.offsets == nl.FrameSpec(name, size).offsets and spec.size == nbytes
            continue
        for pitch in (dict(strides=size[0]), {}):
            with pytest.raises(nl.NpuLayoutError, match=f"size {nbytes} is that of ") as caught:
                nl.FrameSpec(name, size, size=nbytes, **pitch)  # type: ignore[arg-type]
            text = str(caught.value)
            assert "if what is behind the last row is a gap" in text
            if pitch and page == 1:
                assert f"{lines} rows of {size[0]} bytes, with " in text
                assert f"expected offsets=(0, {size[0] * lines}" in text


def test_a_size_that_nothing_explains() -> None:
    """With room for a decoder's rows, the planes may be there; offsets say that they are not."""
    size, venus = (1280, 720), 1280 * 736 * 3 // 2 + 16384  # heights rounded to 32, and data of its own
    for pitch in (dict(strides=1280), {}):
        with pytest.raises(
            nl.NpuLayoutError, match=r"no usual pitch and height.*expected offsets=\(0, 942080\), .* 921600\) if"
        ):
            nl.FrameSpec("NV12", size, size=venus, **pitch)  # type: ignore[arg-type]
    for offsets in ((0, 942080), (0, 921600)):
        assert nl.FrameSpec("NV12", size, strides=1280, offsets=offsets, size=venus).offsets == offsets
    assert nl.FrameSpec("NV12", size, strides=1280, size=1280 * 1080 + 999).offsets == (0, 921600)  # no room
    assert nl.FrameSpec("BGR", (1920, 1080), size=5760 * 1088 + 6001).offsets == (0,)  # one plane


@pytest.mark.parametrize("pitch", [1984, 2560])
@pytest.mark.parametrize("lines", [1080, 1088])
@pytest.mark.parametrize("page", [1, 4096])
@pytest.mark.parametrize(("name", "parts"), [("NV12", (2, 1)), ("I420", (4, 1, 1)), ("NV16", (1, 1)), ("GRAY", (1,))])
def test_rows_of_any_pitch_are_no_pixels(name: str, parts: tuple[int, ...], pitch: int, lines: int, page: int) -> None:
    spec = nl.FrameSpec(name, (1920, 1080))
    sizes = [-(-pitch * lines * part // parts[0] // page) * page for part in parts]
    with pytest.raises(nl.BufferSizeError, match=f"rows of {pitch}.* has rows of 1920"):
        spec.planes([bytes(size) for size in sizes])
    whole = -(-pitch * lines * sum(parts) // parts[0] // page) * page
    with pytest.raises(nl.NpuLayoutError, match=f"size {whole} is that of .* rows of .*if what is behind the last row"):
        nl.FrameSpec(name, (1920, 1080), size=whole)


@pytest.mark.parametrize(
    ("name", "size", "planes", "says"),
    [
        ("NV12", (1920, 1080), (2048 * 1088, 2048 * 544), "Y has 2228224 bytes, which are 1088 rows of 2048; .* 1920"),
        ("NV12", (1920, 1080), (1920 * 1080, 2048 * 544), "UV has 1114112 bytes, which are 544 rows of 2048; .* 1920"),
        ("NV12", (1920, 1088), (1920 * 1088, 2048 * 576), "UV has 1179648 bytes, which are 576 rows of 2048"),
        ("I420", (640, 480), (640 * 480, 384 * 256, 384 * 256), "U has 98304 bytes, which are 256 rows of 384; .* 320"),
        ("BGR", (1918, 1080), (5760 * 1088,), "pixels has 6266880 bytes, which are 1088 rows of 5760; .* rows of 5754"),
        ("NV12", (632, 360), (233472, 640 * 180), "Y has 233472 bytes, which are 360 rows of 640, rounded up to pages"),
        ("NV12", (160, 120), (160 * 120, 12288), "UV has 12288 bytes, which are 64 rows of 192; .* the first 9600 "),
    ],
)
def test_planes_with_other_rows_and_a_rounded_height_are_refused(
    name: str, size: Any, planes: tuple[int, ...], says: str
) -> None:
    with pytest.raises(nl.BufferSizeError, match="plane " + says):
        nl.FrameSpec(name, size).planes(tuple(map(bytes, planes)))


@pytest.mark.parametrize("name", ["NV12", "I420", "NV16", "P010", "NV24", "YUYV", "BGR", "GRAY"])
def test_no_usual_pitch_is_read_as_pixels(name: str) -> None:
    """Rows rounded up, heights rounded up, pages: nothing is accepted that has rows or planes elsewhere."""

    def up(number: int, step: int) -> int:
        return -(-number // step) * step

    seen = {"accepted": 0, "refused": 0}
    room = np.zeros(1 << 24, np.uint8)
    cases = [(320, 240), (424, 240), (638, 360), (1366, 768), (1920, 1080)]
    for (width, height), pitch, lines, page in itertools.product(
        cases, (1, 16, 64, 256), (1, 8, 16, 64), (1, 4096, 16384)
    ):
        rows = [row for row, _ in formats.planes_of(name, width, height)]
        counts = [count for _, count in formats.planes_of(name, width, up(height, lines))]
        first = up(rows[0], pitch)
        strides = [first * row // rows[0] for row in rows]
        sizes = [stride * count for stride, count in zip(strides, counts)]
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        own = [sum(row * count for row, count in formats.planes_of(name, width, height)[:i]) for i in range(len(rows))]
        try:
            nl.FrameSpec(name, (width, height)).planes([room[: up(size, page)] for size in sizes])
            assert strides == rows
            seen["accepted"] += 1
        except nl.BufferSizeError:
            seen["refused"] += 1
        try:
            nl.FrameSpec(name, (width, height), size=up(sum(sizes), page))
            assert strides == rows and starts == own
        except nl.NpuLayoutError as error:
            assert "is that of" in str(error)
    assert seen["accepted"] > 40 and seen["refused"] > 40


def test_planes_that_are_rounded_up_are_accepted() -> None:
    """To a height that rows of the same pitch explain, or to whole pages where nothing else explains it."""
    for spec, planes in (
        (nl.FrameSpec("NV12", (1920, 1080)), (1920 * 1088, 1920 * 544)),
        (nl.FrameSpec("NV12", (1920, 1080), strides=2048), (2048 * 1088, 2048 * 544)),
        (nl.FrameSpec("NV12", (640, 480)), (307200, 155648)),  # 38 pages
        (nl.FrameSpec("NV12", (160, 120), strides=192), (24576, 12288)),  # a pitch that was given
    ):
        memory = [formats.noise(size, i) for i, size in enumerate(planes)]
        for view, given, stride in zip(spec.planes(memory), memory, spec.strides):
            assert view[1].tobytes() == given[stride : stride + view[1].nbytes].tobytes()


@pytest.mark.parametrize(
    ("name", "size", "pitch", "planes"),
    [
        ("I420", (848, 480), 896, (430080, 110592, 110592)),  # U is 256 rows of 432 too
        ("I420", (720, 480), None, (348160, 90112, 90112)),  # U is 240 rows of 368 in pages too, Y none of 736
    ],
)
def test_planes_in_pages_are_judged_together(name: str, size: Any, pitch: Any, planes: tuple[int, ...]) -> None:
    """V4L2's YM12: a pitch that one plane's size has is none where another plane has no room for it."""
    memory = [formats.noise(nbytes, i) for i, nbytes in enumerate(planes)]
    spec = nl.FrameSpec(name, size, strides=pitch)
    for view, given, stride in zip(spec.planes(memory), memory, spec.strides):
        assert view[1].tobytes() == given[stride : stride + view[1].nbytes].tobytes()


def test_the_advice_on_planes_is_the_pitch_of_the_first() -> None:
    """It is accepted where it is followed, and so is what both pitches explain."""
    for name, size, planes, pitch in (
        ("I420", (176, 144), (28672, 8192, 8192), 192),
        ("NV12", (1920, 1080), (2048 * 1088, 2048 * 544), 2048),
        ("NV12", (854, 480), (413696, 208896), 856),
    ):
        memory = list(map(bytes, planes))
        with pytest.raises(nl.BufferSizeError, match=f"give strides={pitch}, or the first"):
            nl.FrameSpec(name, size).planes(memory)
        assert nl.FrameSpec(name, size, strides=pitch).planes(memory)[0].strides[0] == pitch
    with pytest.raises(nl.BufferSizeError, match=r"U has 88320 bytes, which are 240 rows of 368; .* with that pitch"):
        nl.FrameSpec("I420", (720, 480)).planes([bytes(720 * 480), bytes(368 * 240), bytes(368 * 240)])


def test_planes_with_other_rows_are_refused() -> None:
    """Their memory is as long as rows of another pitch."""
    spec = nl.FrameSpec("NV12", (16, 16))
    with pytest.raises(
        nl.BufferSizeError, match=r"plane Y has 512 bytes, which are 16 rows of 32; .* has rows of 16: give"
    ):
        spec.planes((bytes(16 * 32), bytes(8 * 32)))
    with pytest.raises(nl.BufferSizeError, match="plane pixels has 1024 bytes, which are 16 rows of 64"):
        nl.FrameSpec("BGR", (16, 16)).planes((bytes(16 * 64),))
    i420 = nl.FrameSpec("I420", (16, 16))
    with pytest.raises(nl.BufferSizeError, match="plane U has 256 bytes"):
        i420.planes((bytes(256), bytes(256), bytes(64)))
    assert len(spec.planes((bytes(256 + 9), bytes(128 + 33)))) == 2  # rounded up, to pages say
    pitched = nl.FrameSpec("NV12", (16, 16), strides=32)
    assert pitched.planes((bytes(16 * 32), bytes(8 * 32 - 16)))[0].shape == (16, 16)
