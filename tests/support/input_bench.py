"""Inputs of every arithmetic and dtype beside a camera's frames, made by hand, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import cv2
import numpy as np

import npu_layout as nl
from npu_layout.diagnosis.input_checks.input_check import recorded_inputs
from tests.support.paths import SAMPLES

Picture = Callable[[np.ndarray], np.ndarray]

SIDE = 96
MEAN, STD = [123.7, 116.3, 103.5], [58.4, 57.1, 57.4]
ARITHMETIC = {"imagenet": (MEAN, STD), "unit": (0, 255), "signed": (127.5, 127.5), "plain": (0, 1)}
DTYPES = ("uint8", "int8", "int16", "float32")


def _walk() -> list[np.ndarray]:
    """A camera's frames at half their size, which a check takes a third of the time of."""
    clip = cv2.VideoCapture(str(SAMPLES / "data" / "walk.mp4"))
    return [cv2.resize(clip.read()[1], (320, 240), interpolation=cv2.INTER_AREA) for _ in range(5)]


def _texture(seed: int, contrast: float) -> np.ndarray:
    noise, total = np.random.default_rng(seed).normal(0, 1, (180, 240, 3)), np.zeros((180, 240, 3))
    for width in (1, 3, 9, 27):
        total += width**1.9 * cv2.GaussianBlur(noise, (0, 0), width)
    return np.clip((total / total.std() * 45 + [90, 110, 130]) * contrast, 0, 255).astype(np.uint8)


FRAMES = {
    "walk": _walk(),
    "texture": [_texture(seed, 1.0) for seed in range(5)],
    "dim": [_texture(seed, 0.12) for seed in range(5)],
}


def _quantization(mean: Any, std: Any, dtype: str) -> nl.Quantization | None:
    """The range of the pixels 0 to 255, as a converter calibrates it."""
    if dtype == "float32" or (dtype == "uint8" and np.ndim(mean) == 0 and (mean, std) == (0, 1)):
        return None
    m, s, info = np.array(mean) * np.ones(3), np.array(std) * np.ones(3), np.iinfo(dtype)
    low, high = float((-m / s).min()), float(((255 - m) / s).max())
    scale = (high - low) / (info.max - info.min)
    return nl.Quantization(scale, round(info.min - low / scale))


def in_order(frame: np.ndarray, source: str) -> np.ndarray:
    """A BGR frame as a camera of another order has it; alpha is noise, which nothing may read."""
    channels = [frame[..., "BGR".index(letter)] for letter in source if letter != "A"]
    alpha = np.random.default_rng(0).integers(0, 256, frame.shape[:2], np.uint8)
    return np.ascontiguousarray(np.stack([*channels, alpha][: len(source)], 2))


class Bench:
    """An input of one arithmetic and dtype; it makes, by hand, what a Preprocessor refuses."""

    def __init__(self, arithmetic: str, dtype: str, frames: str, source: str = "BGR") -> None:
        mean, std = ARITHMETIC[arithmetic]
        layout = "NHWC" if dtype in ("uint8", "int8") else "NCHW"
        self.spec = nl.TensorSpec((1, 3, SIDE, SIDE), layout, dtype, quantization=_quantization(mean, std, dtype))
        self.how = {"color": "RGB", "mean": mean, "std": std, "resize": "letterbox", "source": source}
        self.frames = [in_order(frame, source) for frame in FRAMES[frames]]
        self.is_pixels = dtype == "uint8" and self.spec.quantization is None

    def pixels(self, frame: np.ndarray, **how: Any) -> np.ndarray:
        fitting = {k: v for k, v in {**self.how, **how}.items() if k not in ("mean", "std")}
        return nl.Preprocessor(nl.TensorSpec((1, 3, SIDE, SIDE)), **fitting)(np.ascontiguousarray(frame))[0]

    def stored(self, pixels: np.ndarray, **how: Any) -> np.ndarray:
        if self.is_pixels:
            return self.spec.pack(np.rint(pixels).astype(np.uint8))
        mean, std = (np.reshape(np.array({**self.how, **how}[k]) * np.ones(3), (1, 3, 1, 1)) for k in ("mean", "std"))
        return self.spec.pack(((pixels - mean) / std).astype(np.float32))

    def judged(self, recorded: list[np.ndarray]) -> Any:
        runs = [({"image": made, "frame": frame}, {}) for made, frame in zip(recorded, self.frames)]
        return recorded_inputs(nl.Recording({"image": self.spec}, runs, {"preprocess": self.how})).reports["image"]

    def of_frames(self, change: Callable[[np.ndarray], np.ndarray], **how: Any) -> Any:
        return self.judged([self.stored(self.pixels(change(frame), **how), **how) for frame in self.frames])


def jpeg(quality: int) -> Picture:
    return lambda x: cv2.imdecode(cv2.imencode(".jpg", x, [cv2.IMWRITE_JPEG_QUALITY, quality])[1], 1)


def noisy(deviation: float) -> Picture:
    rng = np.random.default_rng(1)
    return lambda x: np.clip(x + rng.normal(0, deviation, x.shape), 0, 255).astype(np.uint8)


def lit(factor: float) -> Picture:
    return lambda x: np.clip(x * factor, 0, 255).astype(np.uint8)


def nothing_but_noise() -> Picture:
    rng = np.random.default_rng(1)
    return lambda x: rng.integers(0, 256, x.shape).astype(np.uint8)


#: What is done to a picture that no argument does: noise, light, a loss, another picture.
DISTURBED: dict[str, Callable[[], Picture]] = {
    **{f"noise of {n}": lambda n=n: noisy(n) for n in (0, 2, 8, 30)},
    **{f"{factor} times as light": lambda factor=factor: lit(factor) for factor in (0.6, 0.97, 1.04)},
    "a loss": lambda: jpeg(50),
    "only noise": nothing_but_noise,
}


@cache  # several rooms are silent on it
def said_of_disturbed(arithmetic: str, dtype: str, frames: str, what: str) -> str:
    """What the check says of disturbed frames."""
    return str(Bench(arithmetic, dtype, frames).of_frames(DISTURBED[what]()).why)
