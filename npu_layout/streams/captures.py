"""Read frames by OpenCV: from cameras, files, network streams and pipelines; one that is gone is opened again."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Generator
from typing import Any, NamedTuple, Union

from ..errors import NpuLayoutError

_DEVICE = re.compile(r"/dev/video(\d{1,5})")
_WAIT = 0.2  # seconds between tries to open a camera again

Name = Union[int, str]  # of what OpenCV opens: the number of a camera, a path, an address or a pipeline


class CaptureFrames(NamedTuple):
    """Frames of a cv2.VideoCapture, whether they come by themselves, and what releases it."""

    frames: Generator[Any, None, None]
    live: bool
    close: Callable[[], None]


class _Capture:
    """A cv2.VideoCapture, and the name by which it is opened again when it is gone; None: it is not.

    Has no reference to the generator that reads it, so that one that nobody has any more is collected at once.
    """

    def __init__(self, capture: Any, name: Name | None) -> None:
        self.capture, self.name = capture, name
        self.ended = False  # whether it was closed

    def again(self, end: float) -> bool:
        """Open it again; return whether that was possible until `end`."""
        self.capture.release()
        while self.name is not None and not self.ended and time.monotonic() < end:
            if is_here(self.name):
                self.capture = _opened(self.name)
                if self.capture.isOpened():
                    return True
            time.sleep(_WAIT)
        return False


def captured(name: Name, live: bool, patience: float) -> CaptureFrames:
    """Return the frames of what OpenCV opens by a name; if it is gone it is tried again for `patience` seconds.

    live: whether it is a camera or an address; one of a known number of frames is not. NpuLayoutError if it cannot be
    opened.
    """
    import cv2

    capture = _opened(name)
    if not capture.isOpened():
        capture.release()
        raise NpuLayoutError(f"source: {name!r}: OpenCV cannot open it{_lacking(name)}")
    if isinstance(name, str) and capture.get(cv2.CAP_PROP_FRAME_COUNT) > 0:
        live = False  # a file behind an address, or in a pipeline, which has an end
    return _reading(capture, name, live, patience)


def given(capture: Any) -> CaptureFrames:
    """Return the frames of a cv2.VideoCapture whose size or format was set; nobody knows how to open it again.

    NpuLayoutError if it is not open.
    """
    import cv2

    if not capture.isOpened():
        raise NpuLayoutError("source: this VideoCapture is not open")
    return _reading(capture, None, capture.get(cv2.CAP_PROP_FRAME_COUNT) <= 0, 0.0)


def _reading(capture: Any, name: Name | None, live: bool, patience: float) -> CaptureFrames:
    """Return the frames of an opened capture; name: what is opened again if it is live and gone, None: nothing."""
    one = _Capture(capture, name)
    reading = _read(one, live, patience)

    def close() -> None:
        one.ended = True
        reading.close()  # which raises while another thread reads: OpenCV cannot release it then
        one.capture.release()  # of one that was never read

    return CaptureFrames(reading, live, close)


def _read(one: _Capture, live: bool, patience: float) -> Generator[Any, None, None]:
    import cv2

    gone = f"{one.name!r} is gone, and did not come back in {patience:g} s"
    if one.name is None:
        gone = "the VideoCapture gives no frame any more; a number or an address is opened again"
    end: float | None = None  # until when it is opened again, since the last frame
    try:
        while not one.ended:
            try:
                done, picture = one.capture.read()
            except cv2.error:  # as of a camera that is gone
                if not live:
                    raise
                done = False
            if done:
                end = None
                yield picture
                continue
            if not live:
                return
            if end is None:
                end = time.monotonic() + patience
            else:
                time.sleep(_WAIT)  # it opens, and gives no frame
            if one.name is None or not one.again(end):
                if not one.ended:
                    raise NpuLayoutError(f"source: {gone}")
                return
    finally:
        one.capture.release()


def _opened(name: Name) -> Any:
    """Return cv2's capture: of a device by its number, because OpenCV's V4L2 has no names."""
    import cv2

    number = device(name)
    if number is not None:
        return cv2.VideoCapture(number)
    return cv2.VideoCapture(name, *([cv2.CAP_GSTREAMER] if is_pipeline(name) else []))


def _lacking(name: Name) -> str:
    """Return what this OpenCV lacks to open it, as pip's has no GStreamer; "" if it is nothing that is known."""
    import cv2

    if not is_pipeline(name) or cv2.videoio_registry.hasBackend(cv2.CAP_GSTREAMER):
        return ""
    return "; it was built without GStreamer, as those of pip are: use the system's (python3-opencv), or an appsink"


def is_pipeline(name: Name) -> bool:
    """Return whether a name is a GStreamer pipeline, which has a "!" in it as some files do."""
    return isinstance(name, str) and "!" in name and not os.path.exists(name)


def device(name: Name) -> int | None:
    """Return the number of a camera, which that of a link such as /dev/v4l/by-id/... may change; None of others."""
    if isinstance(name, int):
        return name
    found = _DEVICE.fullmatch(os.path.realpath(name)) if name.startswith("/dev/") else None
    return int(found[1]) if found else None


def is_here(name: Name) -> bool:
    """Return whether a camera has a device: some versions of OpenCV crash on a number that has none."""
    number = device(name)
    return number is None or sys.platform != "linux" or os.path.exists(f"/dev/video{number}")
