"""Sources: files, folders, iterables, and a camera that goes and comes back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import npu_layout as nl
from npu_layout.streams import Stream, StreamError, open_source
from tests.support.paths import SAMPLES
from tests.support.streaming import PREPROCESS, Reader, drawn, read


def test_a_file_is_read_to_its_end() -> None:
    source = open_source(SAMPLES / "data" / "walk.mp4")
    count = sum(1 for frame in source if frame.dtype == np.uint8 and frame.ndim == 3)
    capture = cv2.VideoCapture(str(SAMPLES / "data" / "walk.mp4"))
    assert not source.live and count == sum(1 for _ in iter(lambda: capture.read()[0], False))
    source.close()
    source.close()


def test_a_folder_by_name_with_a_corrupt_image(tmp_path: Path) -> None:
    for n in (2, 0, 1, 3):
        cv2.imwrite(str(tmp_path / f"{n}.png"), drawn(n))
    (tmp_path / "2.png").write_bytes(b"\xff\xd8corrupt")
    (tmp_path / "note.txt").write_text("no image")
    found = list(open_source(tmp_path))
    assert [read(f) for f in found if isinstance(f, np.ndarray)] == [0, 1, 3]
    assert isinstance(found[2], nl.NpuLayoutError) and "2.png: no image" in str(found[2])
    with Stream(tmp_path, PREPROCESS, Reader(), on_error="skip") as stream:
        assert [r.number for r in stream] == [0, 1, 3] and stream.counts.failed == 1
    with (
        Stream(tmp_path, PREPROCESS, Reader()) as stream,
        pytest.raises(StreamError, match=r"frame 2: capture: .*2\.png"),
    ):
        list(stream)


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
    monkeypatch.setattr("npu_layout.streams.sources._WAIT", 0.05)
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
    monkeypatch.setattr("npu_layout.streams.sources._WAIT", 0.01)
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
    monkeypatch.setattr("npu_layout.streams.sources._WAIT", 0.01)
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
    monkeypatch.setattr("npu_layout.streams.sources._WAIT", 0.01)
    monkeypatch.setattr(Raises, "opened", 0)
    frames = open_source(source, reopen=5)
    assert [read(next(frames)) for _ in range(2)] == [0, 1]
    if frames.live:
        assert read(next(frames)) == 3 and Raises.opened == 4
    else:
        with pytest.raises(cv2.error, match="empty"):
            next(frames)
    frames.close()


def test_a_folder_without_images_is_refused(tmp_path: Path) -> None:
    """As the command line does: a stream without results says nothing."""
    (tmp_path / "note.txt").write_text("no image")
    for give in (open_source, lambda path: Stream(path, PREPROCESS, Reader())):
        with pytest.raises(nl.NpuLayoutError, match=r"source: .*: no images in this folder \(looked for \.bmp \.jpeg"):
            give(tmp_path)


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


def test_what_is_no_source() -> None:
    for wrong in (None, True, np.True_, 1.5, np.float32(0), b"x", object()):
        with pytest.raises(nl.NpuLayoutError, match="source: expected a camera's number, a path, an address"):
            open_source(wrong)
    for wrong in ("nowhere", "", "/dev/null"):
        with pytest.raises(nl.NpuLayoutError, match="no such file or folder"):
            open_source(wrong)
    for number in (-1, 1 << 70, 60_000):
        with pytest.raises(nl.NpuLayoutError, match=f"source: {number}: "):
            open_source(number)


def test_what_is_nearly_a_source_is_refused_with_what_to_give() -> None:
    def camera() -> Any:
        yield None

    with pytest.raises(nl.NpuLayoutError, match="; call it"):
        open_source(camera)
    with pytest.raises(nl.NpuLayoutError, match="source: this VideoCapture is not open"):
        open_source(cv2.VideoCapture())
    for member, words in (
        ("demux", r"; give what its decode\(video=0\) returns$"),
        ("capture_request", "; give a generator of its requests' buffers"),
        ("emit", "; give a generator of its samples' memory"),
    ):
        with pytest.raises(nl.NpuLayoutError, match=words):
            open_source(type("Given", (), {member: None})())
    with pytest.raises(nl.NpuLayoutError, match="source: 0: no such file or folder; camera 0 is the number 0, not a t"):
        open_source("0")
    with pytest.raises(nl.NpuLayoutError, match="source: /dev/video60000: no such camera"):
        open_source("/dev/video60000")


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
    monkeypatch.setattr("npu_layout.streams.sources._WAIT", 0.01)
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
    monkeypatch.setattr("npu_layout.streams.sources._WAIT", 0.01)
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


def test_every_close_of_a_source_is_called() -> None:
    calls: list[str] = []

    class Both:
        def __iter__(self) -> Any:
            try:
                yield 1
                yield 2
            finally:
                calls.append("iterator")

        def close(self) -> None:
            calls.append("object")
            raise OSError("it is gone")

    source = open_source(Both())
    assert next(source) == 1
    with pytest.raises(OSError, match="it is gone"):
        source.close()
    source.close()
    assert calls == ["object", "iterator"]
