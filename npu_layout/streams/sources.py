"""Read frames: from cameras, files, folders, network streams, and from any iterator."""

from __future__ import annotations

import inspect
import os
import re
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import NpuLayoutError
from ..support import checked_call, iterates, not_copied, path_of, real_number, shown

IMAGES = (".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # more than one letter: C:// is a path
_DEVICE = re.compile(r"/dev/video(\d{1,5})")
_BUSY = "already executing"  # what Python says of a generator that another thread is in
#: What to give in the place of other libraries' cameras and files, by a member that they have.
_ADVICE = {
    "demux": "give what its decode(video=0) returns",
    "capture_request": "give a generator of its requests' buffers, as in docs/streams.md",
    "emit": "give a generator of its samples' memory, as in docs/streams.md",
}
_WAIT = 0.2  # seconds between tries to open a camera again


class Source:
    """An iterator of frames that can be closed from another thread.

    Parameters
    ----------
    frames
        Yields frames; an exception in its place is a frame that failed.
    live
        Whether frames come by themselves, as a camera's do: a stream drops old ones then.
    close
        Releases what `frames` uses; None: the `close` of `frames` and of its iterator, as a generator has one.

    Raises NpuLayoutError if `frames` is no iterable.
    """

    __reduce__ = not_copied("a camera, a file or an iterator")

    @checked_call
    def __init__(self, frames: Iterable[Any], live: bool = False, close: Callable[[], None] | None = None) -> None:
        if not iterates(frames):
            raise NpuLayoutError(f"frames: expected an iterable, got {shown(frames)}")
        self.live, self._frames = live, iter(frames)
        both = (frames,) if frames is self._frames else (frames, self._frames)
        found = [getattr(one, "close", None) for one in both] if close is None else [close]
        self._closing = [one for one in found if callable(one)]

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._frames)

    def close(self) -> None:
        """Release the camera or file; a second call does nothing. Raises what `close` raises.

        A generator in which another thread waits for a frame cannot be closed: the next call does that.
        """
        closing, self._closing = self._closing, []
        with ExitStack() as every:
            for one in reversed(closing):
                every.callback(self._ended, one)

    def _ended(self, close: Callable[[], Any]) -> None:
        try:
            close()
        except ValueError as error:
            if _BUSY not in str(error):
                raise
            self._closing.append(close)


@checked_call
def open_source(source: Any, *, reopen: float = 10.0) -> Source:
    """Return the frames of a camera, a file, a folder, a network stream, a pipeline or an iterable.

    Parameters
    ----------
    source
        A camera's number, or its device, such as /dev/video0; the path of a video or of a folder of images (by name);
        an address such as rtsp://...; a GStreamer pipeline, which has a "!" in it (OpenCV has to be built with
        GStreamer); a cv2.VideoCapture whose size or format was set, which `close` releases; an iterable of frames, such
        as PyAV's decoded frames; or a Source.
    reopen
        For how many seconds a camera or network stream that is gone is tried again; then the stream ends with an
        error, also one that skips what fails. A VideoCapture is not opened again.

    Returns
    -------
    A Source; cameras, network streams and pipelines are live, but for those of a known number of frames, as files.

    Raises
    ------
    NpuLayoutError
        If there is no such camera or file, or no image in a folder, on a VideoCapture that is not open, and on what is
        no source.
    """
    patience = real_number("reopen", reopen)
    if isinstance(source, Source):
        return source
    if isinstance(source, bool) or source is None:
        raise _none(source)
    if isinstance(source, (int, np.integer)):
        source = int(source)
        if not 0 <= source < 1 << 16 or not _is_here(source):
            raise NpuLayoutError(f"source: {source}: no such camera")
        return _captured(source, True, patience)
    if isinstance(source, (str, os.PathLike)):
        text = path_of("source", source)
        if _ADDRESS.match(text) or "!" in text:
            return _captured(text, True, patience)
        if _device(text) is not None:
            if not _is_here(text):
                raise NpuLayoutError(f"source: {text}: no such camera")
            return _captured(text, True, patience)
        path = Path(text)
        if text and path.is_dir():
            return Source(_folder(path, _images(path)))
        if not text or not path.is_file():
            number = f"; camera {text} is the number {int(text)}, not a text" if text.isdecimal() else ""
            raise NpuLayoutError(f"source: {text or path}: no such file or folder{number}")
        return _captured(str(path), False, 0.0)
    if all(callable(getattr(source, name, None)) for name in ("read", "isOpened", "get", "release")):
        return _given(source)
    if iterates(source) and not isinstance(source, bytes):
        return Source(source)
    raise _none(source)


def _none(given: Any) -> NpuLayoutError:
    advice = next((words for name, words in _ADVICE.items() if hasattr(given, name)), "")
    if inspect.isgeneratorfunction(given):
        advice = "call it"
    advice = advice and f"; {advice}"
    return NpuLayoutError(
        f"source: expected a camera's number, a path, an address or an iterable, got {shown(given)}{advice}"
    )


def _images(folder: Path) -> list[str]:
    names = sorted(name for name in os.listdir(folder) if name.lower().endswith(IMAGES))
    if not names:
        raise NpuLayoutError(f"source: {folder}: no images in this folder (looked for {' '.join(IMAGES)})")
    return names


def _folder(folder: Path, names: Iterable[str]) -> Iterator[Any]:
    import cv2

    for name in names:
        picture = cv2.imread(str(folder / name), cv2.IMREAD_COLOR)
        yield NpuLayoutError(f"{folder / name}: no image that OpenCV reads") if picture is None else picture


def _captured(source: Any, live: bool, patience: float) -> Source:
    """Return the frames of cv2.VideoCapture; one that is gone is opened again."""
    import cv2

    capture = _opened(source)
    if not capture.isOpened():
        capture.release()
        raise NpuLayoutError(f"source: {source!r}: OpenCV cannot open it{_lacking(source)}")
    if isinstance(source, str) and capture.get(cv2.CAP_PROP_FRAME_COUNT) > 0:
        live = False  # a file behind an address, or in a pipeline, which has an end
    return _reading(capture, source, live, patience)


def _given(capture: Any) -> Source:
    """Return the frames of a cv2.VideoCapture whose size or format was set; nobody knows how to open it again."""
    import cv2

    if not capture.isOpened():
        raise NpuLayoutError("source: this VideoCapture is not open")
    return _reading(capture, None, capture.get(cv2.CAP_PROP_FRAME_COUNT) <= 0, 0.0)


def _reading(capture: Any, source: Any, live: bool, patience: float) -> Source:
    """Return the frames of an opened capture; source: what is opened again if it is live and gone, None: nothing."""
    import cv2

    gone = f"{source!r} is gone, and did not come back in {patience:g} s"
    if source is None:
        gone = "the VideoCapture gives no frame any more; a number or an address is opened again"
    state: dict[str, Any] = {"capture": capture, "ended": False}

    def frames() -> Generator[Any, None, None]:
        end: float | None = None  # until when it is opened again, since the last frame
        try:
            while not state["ended"]:
                try:
                    done, picture = state["capture"].read()
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
                if source is None or not _again(state, source, end):
                    if not state["ended"]:
                        raise NpuLayoutError(f"source: {gone}")
                    return
        finally:
            state["capture"].release()

    reading = frames()

    def close() -> None:
        state["ended"] = True
        reading.close()  # which raises while another thread reads: OpenCV cannot release it then
        state["capture"].release()  # of one that was never read

    return Source(reading, live, close)


def _again(state: dict[str, Any], source: Any, end: float) -> bool:
    """Open a capture again; return whether that was possible until `end`."""
    state["capture"].release()
    while not state["ended"] and time.monotonic() < end:
        if _is_here(source):
            state["capture"] = _opened(source)
            if state["capture"].isOpened():
                return True
        time.sleep(_WAIT)
    return False


def _opened(source: Any) -> Any:
    """Return cv2's capture: of a device by its number, because OpenCV's V4L2 has no names."""
    import cv2

    device = _device(source)
    if device is not None:
        return cv2.VideoCapture(device)
    return cv2.VideoCapture(source, *([cv2.CAP_GSTREAMER] if "!" in source else []))


def _lacking(source: Any) -> str:
    """Return what this OpenCV lacks to open a source, as pip's has no GStreamer; "" if it is nothing that is known."""
    import cv2

    if "!" not in str(source) or cv2.videoio_registry.hasBackend(cv2.CAP_GSTREAMER):
        return ""
    return "; it was built without GStreamer, as those of pip are: use the system's (python3-opencv), or an appsink"


def _device(source: Any) -> int | None:
    """Return the number of a camera, which that of a link such as /dev/v4l/by-id/... may change; None of others."""
    if isinstance(source, int):
        return source
    found = _DEVICE.fullmatch(os.path.realpath(source)) if source.startswith("/dev/") else None
    return int(found[1]) if found else None


def _is_here(source: Any) -> bool:
    """Return whether a camera has a device: some versions of OpenCV crash on a number that has none."""
    device = _device(source)
    return device is None or sys.platform != "linux" or os.path.exists(f"/dev/video{device}")
