"""Read frames: from cameras, files, folders, network streams, and from any iterator."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import NpuLayoutError
from ..support import checked_call, iterates, no_file, not_copied, path_of, path_text, real_number, shown
from .captures import captured, device, given, is_here, is_pipeline

IMAGES = (".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # more than one letter: C:// is a path
_BUSY = "already executing"  # what Python says of a generator that another thread is in
_CHANNELS = 4  # at most, of one frame
#: What to give in the place of other libraries' cameras and files, by a member that they have.
_ADVICE = {
    "demux": "give what its decode(video=0) returns",
    "capture_request": "give a generator of its requests' buffers, as in docs/streams.md",
    "emit": "give a generator of its samples' memory, as in docs/streams.md",
    "get_nowait": "give iter(queue.get, None), which ends at a None, with policy='latest' for a camera's frames",
}


class Source:
    """An iterator of frames that can be closed from another thread.

    Parameters
    ----------
    frames
        An iterable of frames; an exception that it yields stands for a frame that failed.
    live
        Whether frames come by themselves, as a camera's do; a stream then drops old ones.
    close
        A function that releases what `frames` uses; None: the `close` methods of `frames` and of its iterator, if they
        have any, as generators do.

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

        A generator cannot be closed while another thread waits in it for a frame; another call closes it later.
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
        A camera's number, or its device, such as /dev/video0; the path of a video, or of a folder of images, which come
        in the order of their names; an address such as rtsp://...; a GStreamer pipeline, which is a text with a "!"
        that is no path (OpenCV has to be built with GStreamer); a cv2.VideoCapture, whose size and format you have set,
        and which `close` releases; an iterable of frames, such as PyAV's decoded frames; or a Source.
    reopen
        For how many seconds to try again to open a camera or network stream that is gone; after that the stream ends
        with an error, even if it skips frames that fail. A VideoCapture is not opened again.

    Returns
    -------
    A Source. Cameras, network streams and pipelines are live, unless the number of their frames is known, as for files.

    Raises
    ------
    NpuLayoutError
        If there is no such camera or file, or no image in the folder; on a VideoCapture that is not open; and on any
        other object.
    """
    patience = real_number("reopen", reopen)
    if isinstance(source, Source):
        return source
    if isinstance(source, bool) or source is None:
        raise _none(source)
    if isinstance(source, (int, np.integer)):
        source = int(source)
        if not 0 <= source < 1 << 16 or not is_here(source):
            raise NpuLayoutError(f"source: {source}: no such camera")
        return Source(*captured(source, True, patience))
    if isinstance(source, (str, os.PathLike)):
        text = path_text("source", source)
        if _ADDRESS.match(text) or is_pipeline(text):
            return Source(*captured(text, True, patience))
        if device(text) is not None:
            if not is_here(text):
                raise NpuLayoutError(f"source: {text}: no such camera")
            return Source(*captured(text, True, patience))
        path = Path(path_of("source", text))
        if text and path.is_dir():
            return Source(_folder(path, _images(path)))
        if not text or not path.is_file():
            number = f"; camera {text} is the number {int(text)}, not a text" if text.isdecimal() else ""
            raise NpuLayoutError(f"source: {text or path}: {no_file(text, 'no such file or folder')}{number}")
        return Source(*captured(str(path), False, 0.0))
    if all(callable(getattr(source, name, None)) for name in ("read", "isOpened", "get", "release")):
        return Source(*given(source))
    if isinstance(source, np.ndarray) and (source.ndim < 3 or (source.ndim == 3 and source.shape[2] <= _CHANNELS)):
        raise NpuLayoutError(f"source: expected an iterable of frames, got an array {source.shape}; give [frame]")
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
