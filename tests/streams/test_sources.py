"""Sources: files, folders and iterables, and what is none."""

from __future__ import annotations

import queue
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


@pytest.mark.parametrize("name", ["wow!.mp4", "my clips!/a.mp4", "a%03d #1.mp4"])
def test_a_file_of_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """One with "!" in its path was taken for a GStreamer pipeline."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes((SAMPLES / "data" / "walk.mp4").read_bytes())
    monkeypatch.chdir(tmp_path)
    for given in (name, tmp_path / name):
        source = open_source(given)
        assert next(source).shape == (480, 640, 3) and not source.live
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


def test_a_folder_without_images_is_refused(tmp_path: Path) -> None:
    """As the command line does: a stream without results says nothing."""
    (tmp_path / "note.txt").write_text("no image")
    for give in (open_source, lambda path: Stream(path, PREPROCESS, Reader())):
        with pytest.raises(nl.NpuLayoutError, match=r"source: .*: no images in this folder \(looked for \.bmp \.jpeg"):
            give(tmp_path)


def test_what_is_no_source() -> None:
    for wrong in (None, True, np.True_, 1.5, np.float32(0), b"x", object()):
        with pytest.raises(nl.NpuLayoutError, match="source: expected a camera's number, a path, an address"):
            open_source(wrong)
    for wrong in ("nowhere", ""):
        with pytest.raises(nl.NpuLayoutError, match="no such file or folder"):
            open_source(wrong)
    with pytest.raises(nl.NpuLayoutError, match="source: /dev/null: is a device, a pipe or a socket; expected a file"):
        open_source("/dev/null")
    for number in (-1, 1 << 70, 60_000):
        with pytest.raises(nl.NpuLayoutError, match=f"source: {number}: "):
            open_source(number)


def test_a_queue_and_one_frame_are_told_what_to_give() -> None:
    frames: queue.Queue[Any] = queue.Queue()
    with pytest.raises(nl.NpuLayoutError, match=r"; give iter\(queue.get, None\), which ends at a None"):
        open_source(frames)
    for number in (1, 2, None):
        frames.put(number)
    assert list(open_source(iter(frames.get, None))) == [1, 2]
    for shape in ((4, 6), (4, 6, 3), (4, 6, 1)):
        with pytest.raises(nl.NpuLayoutError, match=r"of frames, got an array \(4, 6.*; give \[frame\]$"):
            open_source(np.zeros(shape, np.uint8))
    for shape in ((2, 4, 6, 3), (2, 4, 6)):  # frames in one array
        assert len(list(open_source(np.zeros(shape, np.uint8)))) == 2


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
