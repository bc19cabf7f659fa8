"""Frames of cv2.VideoCapture: cameras that are gone and come back, devices, addresses and pipelines."""

from __future__ import annotations

import os
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.streams import Stream, StreamError, open_source
from tests.support.paths import SAMPLES
from tests.support.streaming import PREPROCESS, Reader, drawn, read


class Camera:
    """A stand-in for cv2.VideoCapture: three frames, gone twice, then three more."""

    opened = 0

    def __init__(self, source: Any, *api: int) -> None:
        type(self).opened += 1
        self.number, self.there = 3 * (self.opened > 3), self.opened not in (2, 3)
        self.end = self.number + 3

    def isOpened(self) -> bool:
        return self.there

    def read(self) -> tuple[bool, Any]:
        if self.number == self.end:
            return False, None
        self.number += 1
        return True, drawn(self.number - 1)

    def release(self) -> None:
        self.there = False

    def get(self, what: int) -> float:
        return -1.0 if what == cv2.CAP_PROP_FRAME_COUNT else 0.0


class Empty(Camera):
    """Opens whenever it is asked to, and never gives a frame."""

    def __init__(self, source: Any, *api: int) -> None:
        type(self).opened += 1

    def isOpened(self) -> bool:
        return True

    def read(self) -> tuple[bool, Any]:
        return False, None

    def release(self) -> None:
        pass


def test_a_camera_that_opens_and_gives_no_frame_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not opened again and again at once, and not for longer than was asked."""
    monkeypatch.setattr(cv2, "VideoCapture", Empty)
    monkeypatch.setattr("npu_layout.streams.captures._WAIT", 0.05)
    monkeypatch.setattr(Empty, "opened", 0)
    with pytest.raises(nl.NpuLayoutError, match=r"is gone, and did not come back in 0\.4 s"):
        list(open_source("rtsp://nowhere", reopen=0.4))
    assert 2 <= Empty.opened <= 12


def test_an_address_with_a_known_number_of_frames_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    class File(Camera):
        def get(self, what: int) -> float:
            return 3.0 if what == cv2.CAP_PROP_FRAME_COUNT else 0.0

    monkeypatch.setattr(cv2, "VideoCapture", File)
    monkeypatch.setattr(File, "opened", 0)
    source = open_source("http://nowhere/clip.mp4")
    assert not source.live and len(list(source)) == 3 and File.opened == 1


def test_a_camera_that_is_gone_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cv2, "VideoCapture", Camera)
    monkeypatch.setattr("npu_layout.streams.captures._WAIT", 0.01)
    monkeypatch.setattr("os.path.exists", lambda path: path == "/dev/video0" or os.path.lexists(path))
    Camera.opened = 0
    source = open_source(0, reopen=5)
    assert source.live and [read(next(source)) for _ in range(6)] == list(range(6))
    assert Camera.opened == 4
    source.close()
    assert list(source) == []
    Camera.opened = 0
    source = open_source("rtsp://camera", reopen=0)
    with pytest.raises(nl.NpuLayoutError, match="is gone, and did not come back in 0 s"):
        list(source)


@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_a_camera_that_stays_away_ends_the_stream_with_an_error(on_error: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that skips what fails: a loop that ends without a word is restarted by nobody."""
    monkeypatch.setattr(cv2, "VideoCapture", Camera)
    monkeypatch.setattr("npu_layout.streams.captures._WAIT", 0.01)
    monkeypatch.setattr(Camera, "opened", 0)
    shown = []
    with (
        Stream(open_source("rtsp://x", reopen=0), PREPROCESS, Reader(), policy="every", on_error=on_error) as stream,
        pytest.raises(StreamError, match="frame 3: capture: source: 'rtsp://x' is gone, and did not come back in 0 s"),
    ):
        shown += [result.number for result in stream]
    assert stream.counts == (4, 3, 0, 1, 0)


@pytest.mark.parametrize("source", ["rtsp://x", str(SAMPLES / "data" / "walk.mp4")])
def test_what_opencv_raises_while_it_reads(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A camera is opened again; for a file it is an error."""

    class Raises(Camera):
        def read(self) -> tuple[bool, Any]:
            if self.opened == 1 and self.number == 2:
                raise cv2.error("(-215:Assertion failed) !buf.empty()")
            return super().read()

        def get(self, what: int) -> float:
            return -1.0

    monkeypatch.setattr(cv2, "VideoCapture", Raises)
    monkeypatch.setattr("npu_layout.streams.captures._WAIT", 0.01)
    monkeypatch.setattr(Raises, "opened", 0)
    frames = open_source(source, reopen=5)
    assert [read(next(frames)) for _ in range(2)] == [0, 1]
    if frames.live:
        assert read(next(frames)) == 3 and Raises.opened == 4
    else:
        with pytest.raises(cv2.error, match="empty"):
            next(frames)
    frames.close()


def test_a_number_of_numpy_is_a_cameras(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    class Opened(Camera):
        def __init__(self, source: Any, *api: int) -> None:
            given.append(source)
            super().__init__(source, *api)

    monkeypatch.setattr(cv2, "VideoCapture", Opened)
    monkeypatch.setattr("os.path.exists", lambda path: path == "/dev/video0" or os.path.lexists(path))
    monkeypatch.setattr(Opened, "opened", 0)
    for zero in (0, np.int64(0), np.uint8(0)):
        assert read(next(open_source(zero))) in (0, 3)
        Opened.opened = 0
    assert [type(source) for source in given] == [int] * 3
    with pytest.raises(nl.NpuLayoutError, match="source: -1: no such camera"):
        open_source(np.int16(-1))


def test_every_address_is_opened_by_opencv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cv2, "VideoCapture", Camera)
    for address in ("rtsp://x", "rtsps://x/1", "RTSP://x", "srt://x:9", "rtp://x", "file:///clip.mp4", "videotest ! x"):
        Camera.opened = 0
        assert open_source(address).live and Camera.opened == 1


def test_a_camera_by_its_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is opened by the number, which a link has another one of when the camera comes back."""
    given: list[Any] = []
    number = [2]

    class Opened(Camera):
        def __init__(self, source: Any, *api: int) -> None:
            given.append(source)
            super().__init__(source, *api)
            number[0] = 5

    monkeypatch.setattr(cv2, "VideoCapture", Opened)
    monkeypatch.setattr("npu_layout.streams.captures._WAIT", 0.01)
    monkeypatch.setattr("os.path.exists", lambda path: str(path) in ("/dev/video2", "/dev/video5"))
    monkeypatch.setattr("os.path.realpath", lambda path: f"/dev/video{number[0]}" if "by-id" in path else path)
    monkeypatch.setattr(Opened, "opened", 0)
    source = open_source("/dev/v4l/by-id/usb-camera", reopen=5)
    assert source.live and [read(next(source)) for _ in range(6)] == list(range(6))
    assert given == [2, 5, 5, 5]
    assert open_source("/dev/video5").live and given[-1] == 5


@pytest.mark.parametrize("has", [True, False])
def test_a_pipeline_for_an_opencv_without_gstreamer(has: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cv2.videoio_registry, "hasBackend", lambda api: has or api != cv2.CAP_GSTREAMER)
    for source, words in (("v4l2src device=/dev/nothing ! appsink", ""), ("rtsp://127.0.0.1:1/none", "$")):
        words = words or ("$" if has else "; it was built without GStreamer")
        with pytest.raises(nl.NpuLayoutError, match=f"OpenCV cannot open it{words}"):
            open_source(source)


def test_a_capture_whose_size_was_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read to its end, released, and not opened again."""
    clip = cv2.VideoCapture(str(SAMPLES / "data" / "walk.mp4"))
    expected = [frame for frame in open_source(SAMPLES / "data" / "walk.mp4")][:3]
    source = open_source(clip)
    assert not source.live and all(np.array_equal(next(source), frame) for frame in expected)
    source.close()
    assert not clip.isOpened()
    monkeypatch.setattr(Camera, "opened", 0)
    camera = Camera(0)
    with Stream(camera, PREPROCESS, Reader(), policy="every", on_error="skip") as stream:
        results = iter(stream)
        assert [next(results).number for _ in range(3)] == [0, 1, 2]
        with pytest.raises(StreamError, match="frame 3: capture: source: the VideoCapture gives no frame any more;"):
            next(results)
    assert Camera.opened == 1 and not camera.there


def test_a_camera_that_is_away_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some versions of OpenCV crash on the number of a camera that is none."""
    here = [True]
    monkeypatch.setattr(cv2, "VideoCapture", Camera)
    monkeypatch.setattr("npu_layout.streams.captures._WAIT", 0.01)
    monkeypatch.setattr("os.path.exists", lambda path: here[0])
    monkeypatch.setattr(Camera, "opened", 0)
    source = open_source(0, reopen=0.1)
    here[0] = False
    with pytest.raises(nl.NpuLayoutError, match="is gone"):
        list(source)
    assert Camera.opened == 1


def test_a_camera_that_was_never_read_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Camera] = []

    class Kept(Camera):
        def __init__(self, source: Any, *api: int) -> None:
            super().__init__(source, *api)
            made.append(self)

    monkeypatch.setattr(cv2, "VideoCapture", Kept)
    monkeypatch.setattr(Kept, "opened", 0)
    open_source("rtsp://x").close()
    assert not made[0].there


def test_a_stream_that_cannot_be_made_opens_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the camera is busy when the argument has been put right."""
    monkeypatch.setattr(cv2, "VideoCapture", Camera)
    monkeypatch.setattr(Camera, "opened", 0)
    wrong: list[dict[str, Any]] = [dict(policy="newest"), dict(on_error="go on"), dict(watchdog="x"), dict(depth=0)]
    for options in (*wrong, dict(debug=2)):
        with pytest.raises(nl.NpuLayoutError, match=next(iter(options))):
            Stream("rtsp://x", PREPROCESS, Reader(), **options)
    assert Camera.opened == 0
