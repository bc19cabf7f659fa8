"""Read frames: from cameras, files, folders, network streams, and from any iterator."""

from __future__ import annotations

import inspect
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import NpuLayoutError
from ..support import checked_call, path_of, real_number, shown

IMAGES = (".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
_LIVE = ("rtsp://", "rtmp://", "http://", "https://", "udp://", "tcp://")
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
        Releases what `frames` uses; None: nothing.

    Raises NpuLayoutError if `frames` is no iterable.
    """

    @checked_call
    def __init__(self, frames: Iterable[Any], live: bool = False, close: Callable[[], None] | None = None) -> None:
        if not isinstance(frames, Iterable):
            raise NpuLayoutError(f"frames: expected an iterable, got {shown(frames)}")
        self.live, self._frames, self._close = live, iter(frames), close

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._frames)

    def close(self) -> None:
        """Release the camera or file; a second call does nothing. Raises nothing."""
        closing, self._close = self._close, None
        if closing is not None:
            with suppress(ValueError):  # a generator that another thread is in
                closing()


@checked_call
def open_source(source: Any, *, reopen: float = 10.0) -> Source:
    """Return the frames of a camera, a file, a folder, a network stream, a pipeline or an iterable.

    Parameters
    ----------
    source
        A camera's number; the path of a video or of a folder of images (by name); an address such as rtsp://...; a
        GStreamer pipeline, which has a "!" in it (OpenCV has to be built with GStreamer); an iterable of frames, such
        as PyAV's decoded frames; or a Source.
    reopen
        For how many seconds a camera or network stream that is gone is tried again; then the stream ends with an error.

    Returns
    -------
    A Source; cameras, network streams and pipelines are live, but for those of a known number of frames, as files.

    Raises
    ------
    NpuLayoutError
        If there is no such camera or file, or no image in a folder, and on what is no source.
    """
    patience = real_number("reopen", reopen)
    if isinstance(source, Source):
        return source
    if isinstance(source, bool) or source is None:
        raise _none(source)
    if isinstance(source, (int, np.integer)):
        source = int(source)
        if not 0 <= source < 1 << 16 or (sys.platform == "linux" and not os.path.exists(f"/dev/video{source}")):
            raise NpuLayoutError(f"source: {source}: no such camera")  # some versions of OpenCV crash on it
        return _captured(source, True, patience)
    if isinstance(source, (str, os.PathLike)):
        text = path_of("source", source)
        if text.startswith(_LIVE) or "!" in text:
            return _captured(text, True, patience)
        path = Path(text)
        if text and path.is_dir():
            return Source(_folder(path, _images(path)))
        if not text or not path.is_file():
            raise NpuLayoutError(f"source: {path}: no such file or folder")
        return _captured(str(path), False, 0.0)
    if isinstance(source, Iterable) and not isinstance(source, bytes):
        return Source(source, close=getattr(source, "close", None))
    raise _none(source)


def _none(given: Any) -> NpuLayoutError:
    advice = ""
    if callable(getattr(given, "read", None)) and hasattr(given, "isOpened"):
        advice = "; give the number or path that it was opened with"
    elif inspect.isgeneratorfunction(given):
        advice = "; call it"
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

    api = [cv2.CAP_GSTREAMER] if isinstance(source, str) and "!" in source else []
    capture = cv2.VideoCapture(source, *api)
    if not capture.isOpened():
        capture.release()
        raise NpuLayoutError(f"source: {source!r}: OpenCV cannot open it")
    if isinstance(source, str) and capture.get(cv2.CAP_PROP_FRAME_COUNT) > 0:
        live = False  # a file behind an address, or in a pipeline, which has an end
    state: dict[str, Any] = {"capture": capture, "ended": False}

    def frames() -> Generator[Any, None, None]:
        end: float | None = None  # until when it is opened again, since the last frame
        try:
            while not state["ended"]:
                done, picture = state["capture"].read()
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
                if not _again(state, source, api, end):
                    if not state["ended"]:
                        yield NpuLayoutError(f"source: {source!r} is gone, and did not come back in {patience:g} s")
                    return
        finally:
            state["capture"].release()

    reading = frames()

    def close() -> None:
        state["ended"] = True  # OpenCV cannot release what another thread reads: that thread does it then
        reading.close()

    return Source(reading, live, close)


def _again(state: dict[str, Any], source: Any, api: list[int], end: float) -> bool:
    """Open a capture again; return whether that was possible until `end`."""
    import cv2

    state["capture"].release()
    while not state["ended"] and time.monotonic() < end:
        state["capture"] = cv2.VideoCapture(source, *api)
        if state["capture"].isOpened():
            return True
        time.sleep(_WAIT)
    return False
