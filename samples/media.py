"""Frames from cameras, videos and images for the samples; a bar of progress; an mp4 of results."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np

HERE = Path(__file__).resolve().parent
CLIP = HERE / "data" / "walk.mp4"
IMAGES = {".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"}


class InputError(Exception):
    """What the person who started the program can put right: printed as one line, exit status 2."""


class Source:
    """Frames (H,W,3 uint8 BGR) of a camera, a video file, an image or a folder; `total` is 0 where unknown."""

    def __init__(self, source: str | None) -> None:
        self.name = str(CLIP) if source is None else source
        self.fps = 25.0
        self.total = 0
        self.live = False  # whether frames come by themselves
        self._images: list[Path] = []
        path = Path(self.name)
        if source is not None and source.isdigit() and not path.exists():
            self.name, self.live = f"camera {source}", True
            self._capture = self._open(int(source), f"{self.name} is not there or cannot be opened")
        elif path.is_dir():
            self._images = sorted(p for p in path.iterdir() if p.suffix.lower() in IMAGES)
            self.fps = 5.0
            if not self._images:
                raise InputError(f"{path}: no images in this folder (looked for {' '.join(sorted(IMAGES))})")
        elif not path.exists():
            raise InputError(f"{path}: no such file, folder or camera")
        elif path.suffix.lower() in IMAGES:
            self._images = [path]
        else:
            self._capture = self._open(str(path), f"{path}: cannot be read as a video (damaged, or no video file)")
        if self._images:
            self.total = len(self._images)

    def _open(self, what: int | str, message: str) -> cv2.VideoCapture:
        capture = cv2.VideoCapture(what)
        if not capture.isOpened():
            raise InputError(message)
        self.total = max(int(capture.get(cv2.CAP_PROP_FRAME_COUNT)), 0) if isinstance(what, str) else 0
        fps = capture.get(cv2.CAP_PROP_FPS)
        self.fps = fps if 1 <= fps <= 240 else 25.0
        return capture

    def __iter__(self) -> Iterator[np.ndarray]:
        for path in self._images:
            frame = cv2.imread(str(path))
            if frame is None:
                raise InputError(f"{path}: cannot be read as an image (damaged, or another format)")
            yield frame
        if self._images:
            return
        count = 0
        while True:
            good, frame = self._capture.read()
            if not good or frame is None:
                break
            count += 1
            yield frame
        self._capture.release()
        if count == 0:
            raise InputError(f"{self.name}: opened, but gives no frame")
        if count < self.total:
            print(f"warning: {self.name} announces {self.total} frames, only {count} could be read", file=sys.stderr)


class Progress:
    """A bar where stderr is a terminal, else a line every 25 frames."""

    def __init__(self, total: int) -> None:
        self.total, self.start, self.live = total, time.perf_counter(), sys.stderr.isatty()

    def show(self, done: int) -> None:
        rate = done / max(time.perf_counter() - self.start, 1e-9)
        if self.live and self.total:
            filled = 40 * done // self.total
            bar = "#" * filled + "." * (40 - filled)
            print(f"\r[{bar}] {done}/{self.total} frames, {rate:.1f} fps", end="", file=sys.stderr, flush=True)
        elif self.live:
            print(f"\r{done} frames, {rate:.1f} fps", end="", file=sys.stderr, flush=True)
        elif done % 25 == 0 or done == self.total:
            print(f"{done}{f'/{self.total}' if self.total else ''} frames, {rate:.1f} fps", file=sys.stderr)

    def close(self) -> None:
        if self.live:
            print(file=sys.stderr)


def fitted(image: np.ndarray, size_wh: tuple[int, int]) -> np.ndarray:
    """The image on a canvas of this size: a folder's images may differ, a video's frames may not."""
    height, width = image.shape[:2]
    if (width, height) == size_wh:
        return image
    scale = min(size_wh[0] / width, size_wh[1] / height)
    image = cv2.resize(image, (max(1, int(width * scale)), max(1, int(height * scale))), interpolation=cv2.INTER_AREA)
    canvas = np.zeros((size_wh[1], size_wh[0], 3), np.uint8)
    canvas[: image.shape[0], : image.shape[1]] = image
    return canvas


class Video:
    """An mp4 of frames, opened with the first one."""

    def __init__(self, path: Path, fps: float) -> None:
        self.path, self.fps, self.size_wh = path, fps, (0, 0)
        self._writer: cv2.VideoWriter | None = None

    def write(self, image: np.ndarray) -> None:
        if self._writer is None:
            self.size_wh = (max(2, image.shape[1] // 2 * 2), max(2, image.shape[0] // 2 * 2))
            self._writer = cv2.VideoWriter(str(self.path), cv2.VideoWriter_fourcc(*"mp4v"), self.fps, self.size_wh)
            if not self._writer.isOpened():
                raise InputError(f"{self.path}: OpenCV cannot write an mp4 of {self.size_wh} here")
        self._writer.write(fitted(image, self.size_wh))

    def close(self) -> None:
        if self._writer is not None:
            self._writer.release()
