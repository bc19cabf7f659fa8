"""Read camera frames from images, videos and folders of images."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import NpuLayoutError
from ..support import PathLike, argument, counted

_DEVICE = re.compile(r"/dev/video(\d{1,5})")
IMAGES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})


class Frames(Iterable[np.ndarray]):
    """Frames from images, videos, folders of images and cameras: an iterable of new arrays, (H,W,3) uint8 BGR.

    Parameters
    ----------
    paths
        One path, or several, which are read one after the other. A folder's images are read in the order of their
        names. /dev/video0 is a camera, which is read until `limit`.
    limit
        The largest number of frames; None: all. A camera needs it.

    Attributes
    ----------
    total
        The number of frames, according to the files' headers; for a camera, the limit.

    Raises
    ------
    NpuLayoutError
        If a path is missing or contains no image, or a camera is given without a limit. While frames are read: if a
        file or camera cannot be read. The message names the path.

    Each iteration reads the files again, and opens the camera again.
    """

    def __init__(self, paths: PathLike | Iterable[PathLike], limit: int | None = None) -> None:
        given = [paths] if isinstance(paths, (str, os.PathLike)) else paths
        self._files = [file for path in given for file in _files(Path(path))]
        self._limit = None if limit is None else counted("limit", limit)
        lengths = sum(_length(file, self._limit) for file in self._files)
        self.total = lengths if limit is None else min(lengths, limit)

    def __iter__(self) -> Iterator[np.ndarray]:
        return islice((frame for file in self._files for frame in _read(file)), self._limit)


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        images = sorted(p for p in path.iterdir() if p.suffix.lower() in IMAGES)
        if not images:
            raise NpuLayoutError(f"{path}: no images in this folder (looked for {' '.join(sorted(IMAGES))})")
        return images
    if not path.exists():
        camera = f"; camera {path} is /dev/video{path}" if path.name == str(path) and path.name.isdecimal() else ""
        raise NpuLayoutError(f"{path}: no such file or folder{camera}")
    return [path]


def _camera(path: Path) -> int | None:
    """Return the number of a camera's device, or None."""
    found = _DEVICE.fullmatch(str(path))
    return int(found[1]) if found else None


def _opened(file: Path) -> Any:
    import cv2

    camera = _camera(file)
    capture = cv2.VideoCapture(str(file) if camera is None else camera)
    if not capture.isOpened():
        what = "a video (damaged, or no video file)" if camera is None else "a camera (in use, or no camera)"
        raise NpuLayoutError(f"{file}: cannot be read as {what}")
    return capture


def _length(file: Path, limit: int | None) -> int:
    import cv2

    if file.suffix.lower() in IMAGES:
        return 1
    if _camera(file) is not None:
        if limit is None:
            raise NpuLayoutError(f"{file}: a camera has no last frame; give {argument('limit')}, the number of frames")
        return limit
    capture = _opened(file)
    count = int(capture.get(cv2.CAP_PROP_FRAME_COUNT))
    capture.release()
    return max(count, 0)


def _read(file: Path) -> Iterator[np.ndarray]:
    import cv2

    if file.suffix.lower() in IMAGES:
        image = cv2.imread(str(file))
        if image is None:
            raise NpuLayoutError(f"{file}: cannot be read as an image (damaged, or another format)")
        yield image
        return
    capture, count = _opened(file), 0
    try:
        while True:
            good, frame = capture.read()
            if not good or frame is None:
                break
            count += 1
            yield frame
    finally:
        capture.release()
    if not count:
        raise NpuLayoutError(f"{file}: opened as a video, but contains no frame")
