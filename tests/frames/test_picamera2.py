"""Frames of picamera2: stand-ins with the configuration of a request, a camera or a stream."""

from __future__ import annotations

from types import SimpleNamespace as Twin

import numpy as np
import pytest

import npu_layout as nl
from tests.support.gstreamer_frames import meta


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
