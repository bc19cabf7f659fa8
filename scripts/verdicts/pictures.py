"""Frames (H, W, 3) uint8 BGR: stick figures, blobs, crops of a photograph, a clip whose successive frames are alike."""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np

from . import rendered

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "samples" / "data"
sys.path.append(str(ROOT / "scripts"))  # behind everything else: for stick_figures alone

KINDS = ("mixed", "figures", "blobs", "photo", "clip")


@lru_cache(maxsize=1)
def _photo() -> np.ndarray:
    return np.asarray(cv2.imread(str(DATA / "demo.jpg")))


@lru_cache(maxsize=1)
def _clip() -> list[np.ndarray]:
    capture, frames = cv2.VideoCapture(str(DATA / "walk.mp4")), []
    while True:
        good, frame = capture.read()
        if not good:
            return frames
        frames.append(cv2.resize(frame, (320, 240), interpolation=cv2.INTER_AREA))


def _figures(rng: np.random.Generator, size_wh: tuple[int, int]) -> np.ndarray:
    import stick_figures

    return cv2.resize(stick_figures.render(rng).frame, size_wh, interpolation=cv2.INTER_AREA)


def _blobs(rng: np.random.Generator, size_wh: tuple[int, int]) -> np.ndarray:
    width, height = size_wh
    x, y = np.meshgrid(np.arange(width) / width, np.arange(height) / height)
    image = np.full((height, width, 3), rng.uniform(30, 225, 3))
    for _ in range(int(rng.integers(4, 12))):
        (cx, cy), r = rng.uniform(0, 1, 2), rng.uniform(0.04, 0.3)
        weight = np.exp(-((((x - cx) ** 2 + (y - cy) ** 2) / r**2) ** rng.uniform(1, 4)))[..., None]
        image += weight * (rng.uniform(0, 255, 3) - image)
    return np.clip(image + rng.normal(0, 4, image.shape), 0, 255).astype(np.uint8)


def _crop(rng: np.random.Generator, size_wh: tuple[int, int]) -> np.ndarray:
    photo = _photo()
    height = int(rng.integers(photo.shape[0] // 5, photo.shape[0]))
    width = min(photo.shape[1], round(height * size_wh[0] / size_wh[1]))
    y, x = (int(rng.integers(0, room + 1)) for room in (photo.shape[0] - height, photo.shape[1] - width))
    return cv2.resize(photo[y : y + height, x : x + width], size_wh, interpolation=cv2.INTER_AREA)


def _shapes(rng: np.random.Generator, size_wh: tuple[int, int]) -> np.ndarray:
    return rendered.shapes(rng, size_wh).frame


def _face(rng: np.random.Generator, size_wh: tuple[int, int]) -> np.ndarray:
    return rendered.face(rng, int(rng.integers(rendered.PEOPLE)), size_wh)


def _word(rng: np.random.Generator, size_wh: tuple[int, int]) -> np.ndarray:
    return rendered.word(rng, size_wh)[0]


_MAKERS = {
    "figures": [_figures],
    "blobs": [_blobs],
    "photo": [_crop],
    "mixed": [_figures, _blobs, _crop],
    "shapes": [_shapes],
    "faces": [_face],
    "words": [_word],
}


def stream(rng: np.random.Generator, kind: str, count: int, size_wh: tuple[int, int]) -> list[np.ndarray]:
    """`count` different frames of one kind; those of "clip" follow each other."""
    if kind == "clip":
        frames, step = _clip(), int(rng.integers(2, 7))
        start = int(rng.integers(0, len(frames) - step * (count - 1)))
        return [cv2.resize(f, size_wh, interpolation=cv2.INTER_AREA) for f in frames[start::step][:count]]
    makers = _MAKERS[kind]
    return [makers[i % len(makers)](rng, size_wh) for i in range(count)]
