"""Where JPEGs end, of every kind that an encoder writes, whole and cut at every byte."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.frames.jpeg import jpeg_end, jpeg_size

KINDS = {
    "baseline": [],
    "progressive": [cv2.IMWRITE_JPEG_PROGRESSIVE, 1],
    "restarts": [cv2.IMWRITE_JPEG_RST_INTERVAL, 1],
    "good": [cv2.IMWRITE_JPEG_QUALITY, 100],
}
LOST = "do not end with FF D9 (its end was lost)"


def jpeg(kind: str, width: int = 40, height: int = 24) -> bytes:
    pixels = np.random.default_rng(5).integers(0, 256, (height, width, 3), np.uint8)
    return bytes(cv2.imencode(".jpg", pixels, KINDS[kind])[1])


@pytest.mark.parametrize("kind", KINDS)
def test_the_end_is_found_whatever_follows(kind: str) -> None:
    data = jpeg(kind)
    assert jpeg_size(data) == (40, 24)
    for behind in (b"", bytes(99), b"\xff" * 9, data, data[len(data) // 2 :], b"\xff\xd9\xff\xd9"):
        assert jpeg_end(data + behind) == (len(data), "")
    filled = data[:-2] + b"\xff\xff\xff\xd9"
    assert jpeg_end(filled) == (len(filled), "")


@pytest.mark.parametrize("kind", KINDS)
def test_no_part_has_an_end(kind: str) -> None:
    data = jpeg(kind)
    for n in range(len(data)):
        end, wrong = jpeg_end(data[:n])
        assert end is None and wrong == (
            "do not begin with FF D8" if n < 2 else "do not end with FF D9 (its end was lost)"
        )


def test_a_thumbnail_is_no_end() -> None:
    data, small = jpeg("baseline"), jpeg("good", 8, 8)
    segment = b"\xff\xe1" + (len(small) + 2).to_bytes(2, "big") + small
    whole = data[:2] + segment + data[2:]
    assert jpeg_end(whole) == (len(whole), "") and jpeg_size(whole) == (40, 24)


def test_another_picture_begins() -> None:
    data = jpeg("baseline")
    cut = data[: len(data) - 40]
    assert (
        jpeg_end(cut + data)[1] == f"do not end with FF D9 (its end was lost: another JPEG begins at byte {len(cut)})"
    )
    with pytest.raises(nl.NpuLayoutError, match="expected a JPEG with a frame header, got 4 bytes without one"):
        jpeg_size(b"\xff\xd8\xff\xd9")


def pixels_of(data: bytes, height: int, width: int, color: str = "BGR") -> np.ndarray:
    target = nl.TensorSpec((1 if color == "GRAY" else 3, height, width), "HWC", "uint8")
    return nl.Preprocessor(target, source="MJPEG", color=color, resize="stretch")(data)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_the_tail_of_an_older_frame_in_a_buffer_of_fixed_size_is_ignored(kind: str) -> None:
    """V4L2's buffers are as long as its sizeimage; thumbnails, of which one has the older frame's size, end earlier."""
    rng = np.random.default_rng(2)
    small = jpeg("baseline", 32, 16)
    for quality, thumbnails in ((10, ()), (30, (small,)), (50, (small, jpeg("good", 8, 8)))):
        coarse = cv2.resize(rng.integers(0, 256, (6, 8, 3), np.uint8), (96, 80))
        new = bytes(cv2.imencode(".jpg", coarse, [*KINDS[kind], cv2.IMWRITE_JPEG_QUALITY, quality])[1])
        for one in thumbnails:
            new = new[:2] + b"\xff\xe1" + (len(one) + 8).to_bytes(2, "big") + b"Exif\0\0" + one + new[2:]
        older = jpeg(kind, 96, 80) + bytes(300)
        buffer = new + older[len(new) :]
        assert len(buffer) == len(older) > len(new) + 1000
        expected = cv2.imdecode(np.frombuffer(new, np.uint8), cv2.IMREAD_COLOR)
        np.testing.assert_array_equal(pixels_of(buffer, 80, 96), expected)


@pytest.mark.parametrize("color", ["BGR", "GRAY"])
@pytest.mark.parametrize("kind", ["baseline", "restarts", "good"])
def test_a_scan_without_all_its_data_is_refused(kind: str, color: str) -> None:
    """Its last bytes are an end that was added, or that of an older frame, behind less than what is missing."""
    data, older = jpeg(kind, 96, 80), jpeg(kind, 96, 80)[-200:]
    begin = data.index(b"\xff\xda") + 20
    for n in range(begin, len(data) * 3 // 4, (len(data) - begin) // 12):
        cut = data[:n].rstrip(b"\xff")
        for end in (b"\xff\xd9", b"\xff\xff\xff\xd9", bytes(9) + b"\xff\xd9", older):
            with pytest.raises(nl.NpuLayoutError, match=r"for all of its 96x80 pixels|restart markers out"):
                pixels_of(cut + end, 80, 96, color)


def test_restart_markers_that_are_missing_are_named() -> None:
    data = jpeg("restarts", 96, 80)
    assert jpeg_end(data) == (len(data), "")
    first, third = data.index(b"\xff\xd1"), data.index(b"\xff\xd3")
    lost = data[:first] + data[third:]
    assert jpeg_end(lost) == (
        None,
        f"have restart markers out of order before byte {len(lost) - 2} (bytes between them were lost)",
    )


@pytest.mark.parametrize("kind", KINDS)
def test_gray_that_has_its_data_is_read(kind: str) -> None:
    """It looks like what a decoder makes without data; encoders add bytes that nobody needs before the end."""
    for width, height in ((40, 24), (33, 17), (1, 1), (9, 64)):
        for gray in (127, 128, 129):
            pixels = np.random.default_rng(3).integers(0, 256, (height, width, 3), np.uint8)
            pixels[height // 3 :, width // 3 :] = gray
            data = bytes(cv2.imencode(".jpg", pixels, KINDS[kind])[1])
            expected = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
            for more in (b"", bytes(7), b"\x55" * 300, b"\xff\xff"):
                np.testing.assert_array_equal(pixels_of(data[:-2] + more + data[-2:], height, width), expected)
