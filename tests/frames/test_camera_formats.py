"""The tables of other libraries' names: each leads to a format, and each library to a next step."""

from __future__ import annotations

import pytest

from npu_layout.frames import camera_formats
from npu_layout.frames.format_names import ELSEWHERE
from npu_layout.frames.pixel_formats import PIXEL_FORMATS

TABLES = {
    name: getattr(camera_formats, name)
    for name in (
        "FFMPEG",
        "GSTREAMER",
        "PICAMERA2",
        "ROS",
        "DEPTHAI",
        "V4L2",
        "PILLOW",
        "REALSENSE",
        "ORBBEC",
        "JETSON",
        "GENICAM",
    )
}
DIFFER_BY_CASE = {"PGAA", "PGCC"}  # V4L2's pgAA and pGAA


@pytest.mark.parametrize("library", TABLES)
def test_each_name_leads_to_a_format(library: str) -> None:
    assert set(TABLES[library].values()) <= set(PIXEL_FORMATS) and len(TABLES[library]) >= 5


def test_each_library_has_a_next_step() -> None:
    assert {name.upper() for name in camera_formats.ADVICE} == set(TABLES)


def test_genicams_numbers_are_those_of_its_names() -> None:
    """The bits of a number of the convention say how many bits a pixel has: 0x01 or 0x02, then the bits, then an id."""
    assert set(camera_formats.PFNC.values()) <= set(camera_formats.GENICAM)
    for number, name in camera_formats.PFNC.items():
        (plane,) = PIXEL_FORMATS[camera_formats.GENICAM[name]].planes
        bits = 16 if PIXEL_FORMATS[camera_formats.GENICAM[name]].kind == "packed" else plane.row_bytes(8)
        assert number >> 16 & 0xFF == bits, name
        assert number >> 24 == (1 if name.startswith(("Mono", "Bayer")) else 2)


def test_two_libraries_that_share_a_name_mean_the_same_or_are_known_to_differ() -> None:
    """FFmpeg's, GStreamer's and ROS's letters say the order in memory; picamera2's and DRM's RGB888 say another."""
    meant: dict[str, set[str]] = {}
    for table in TABLES.values():
        for name, same in table.items():
            meant.setdefault(name.upper(), set()).add(same)
    assert {name for name, formats in meant.items() if len(formats) > 1} == DIFFER_BY_CASE
    assert TABLES["PICAMERA2"]["RGB888"] == "BGR" and TABLES["DEPTHAI"]["RGB888i"] == "RGB"


def test_a_name_of_a_library_is_the_same_elsewhere() -> None:
    """What `FrameSpec.of` reads and what the message on an unknown name says agree, where both know a name."""
    apart = [
        (name, same, ELSEWHERE[name.upper()])
        for table in TABLES.values()
        for name, same in table.items()
        if name.upper() in ELSEWHERE and same not in ELSEWHERE[name.upper()]
    ]
    assert apart == []
