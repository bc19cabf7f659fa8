"""Read camera frames from images, videos and folders of images."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import NpuLayoutError
from ..support import PathLike, counted

IMAGES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})


class Frames(Iterable[np.ndarray]):
    """Frames, (H,W,3) uint8 BGR, of images, videos and folders of images, one file after the other.

    Parameters
    ----------
    paths
        Files and folders, or one of them; a folder's images come by name.
    limit
        The largest number of frames.

    Attributes
    ----------
    total
        The number of frames, according to the files' headers.

    Raises
    ------
    NpuLayoutError
        If a path is missing, contains no image, or, while frames are read, cannot be read; it names the path.

    Each iteration reads the files again.
    """

    def __init__(self, paths: PathLike | Iterable[PathLike], limit: int | None = None) -> None:
        given = [paths] if isinstance(paths, (str, os.PathLike)) else paths
        self._files = [file for path in given for file in _files(Path(path))]
        self._limit = None if limit is None else counted("limit", limit)
        lengths = sum(1 if file.suffix.lower() in IMAGES else _length(file) for file in self._files)
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
        raise NpuLayoutError(f"{path}: no such file or folder")
    return [path]


def _opened(file: Path) -> Any:
    import cv2

    capture = cv2.VideoCapture(str(file))
    if not capture.isOpened():
        raise NpuLayoutError(f"{file}: cannot be read as a video (damaged, or no video file)")
    return capture


def _length(file: Path) -> int:
    import cv2

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
