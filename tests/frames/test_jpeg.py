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
