"""Rendered pictures (H, W, 3) uint8 BGR with what is in them: shapes with their depth, faces of a person, words."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np

PEOPLE = 200
SHAPES = ("disk", "square", "triangle", "ring", "cross")
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_FONTS = (cv2.FONT_HERSHEY_SIMPLEX, cv2.FONT_HERSHEY_DUPLEX, cv2.FONT_HERSHEY_COMPLEX, cv2.FONT_HERSHEY_PLAIN)
_ACROSS = [-0.3, 0.3, 0.3, 1, 1, 0.3, 0.3, -0.3, -0.3, -1, -1, -0.3]
_CORNERS = {
    "square": [(-1, -1), (1, -1), (1, 1), (-1, 1)],
    "triangle": [(0, -1.1), (1, 0.8), (-1, 0.8)],
    "cross": [(x, y) for x, y in zip(_ACROSS, _ACROSS[-3:] + _ACROSS[:-3])],
}


class Shapes(NamedTuple):
    """A picture; for each pixel the shape (0: none, else 1 + its place in SHAPES) and the nearness, 0 .. 1; boxes.

    boxes: (n, 4) corners x0, y0, x1, y1 of what can be seen of each shape; kinds: (n,) places in SHAPES.
    """

    frame: np.ndarray
    region: np.ndarray
    nearness: np.ndarray
    boxes: np.ndarray
    kinds: np.ndarray


def _background(rng: np.random.Generator, size_wh: tuple[int, int]) -> np.ndarray:
    """Two colours that run into each other, and coarse patches."""
    width, height = size_wh
    ends, angle = rng.uniform(20, 235, (2, 3)), rng.uniform(0, 2 * np.pi)
    y, x = np.mgrid[:height, :width] / max(width, height)
    share = np.clip(0.5 + np.cos(angle) * (x - 0.5) + np.sin(angle) * (y - 0.5), 0, 1)[..., None]
    coarse = rng.normal(0, rng.uniform(2, 14), (height // 8 + 1, width // 8 + 1, 3))
    picture = ends[0] * share + ends[1] * (1 - share)
    return np.asarray(picture + cv2.resize(coarse, size_wh, interpolation=cv2.INTER_CUBIC))


def _mask(rng: np.random.Generator, kind: str, size_wh: tuple[int, int], size: float) -> np.ndarray:
    mask = np.zeros(size_wh[::-1], np.uint8)
    centre = rng.uniform(0, 1, 2) * size_wh
    if kind in _CORNERS:
        angle = rng.uniform(-0.5, 0.5)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        points = np.array(_CORNERS[kind]) @ turn.T * size + centre
        cv2.fillPoly(mask, [points.round().astype(np.int32)], 1)
        return mask
    thick = -1 if kind == "disk" else max(2, round(0.45 * size))
    cv2.circle(mask, (int(centre[0]), int(centre[1])), max(2, round(size)), 1, thick)
    return mask


def shapes(rng: np.random.Generator, size_wh: tuple[int, int]) -> Shapes:
    """Two to six shapes, the nearer ones larger and in front, on a floor that comes nearer downwards."""
    width, height = size_wh
    picture = _background(rng, size_wh)
    region = np.zeros((height, width), np.int64)
    owner = np.full((height, width), -1)
    nearness = np.repeat(np.linspace(0.05, 0.35, height)[:, None], width, 1)
    kinds = rng.integers(0, len(SHAPES), int(rng.integers(2, 7)))
    for i, (kind, near) in enumerate(zip(kinds, np.sort(rng.uniform(0.2, 1, len(kinds))))):
        inside = _mask(rng, SHAPES[kind], size_wh, (0.06 + 0.2 * near) * min(size_wh)) > 0
        light = np.linspace(rng.uniform(0.7, 1), rng.uniform(0.7, 1.2), width)[None, :, None]
        picture = np.where(inside[..., None], rng.uniform(10, 245, 3) * light, picture)
        region[inside], owner[inside], nearness[inside] = 1 + kind, i, near
    seen = [i for i in range(len(kinds)) if (owner == i).sum() >= 24]
    boxes = np.zeros((len(seen), 4), np.float32)
    for row, i in enumerate(seen):
        y, x = np.nonzero(owner == i)
        boxes[row] = x.min(), y.min(), x.max() + 1, y.max() + 1
    return Shapes(_taken(rng, picture), region, nearness.astype(np.float32), boxes, kinds[seen])


def _taken(rng: np.random.Generator, picture: np.ndarray) -> np.ndarray:
    """A picture as a camera takes it: a little out of focus, with noise."""
    soft = cv2.GaussianBlur(picture, (3, 3), rng.uniform(0.3, 0.9))
    return np.clip(soft + rng.normal(0, rng.uniform(1, 5), picture.shape), 0, 255).astype(np.uint8)


def face(rng: np.random.Generator, person: int, size_wh: tuple[int, int]) -> np.ndarray:
    """The face of a person, whom a number names, in some light and turned a little."""
    own = np.random.default_rng(person)
    skin, hair, eyes, lips = (own.uniform(low, high, 3) for low, high in ((90, 230), (10, 160), (20, 150), (40, 200)))
    broad, apart, wide, brow, nose, mouth, chin = own.uniform(
        [0.62, 0.24, 0.05, -0.35, 0.12, 0.16, 0.5], [0.85, 0.42, 0.1, 0.35, 0.3, 0.42, 0.7]
    )
    side = 4 * max(size_wh)
    picture = cv2.resize(_background(rng, (64, 64)), (side, side))

    def at(x: float, y: float) -> tuple[int, int]:
        return round(side * (0.5 + 0.5 * x)), round(side * (0.5 + 0.5 * y))

    def ellipse(x: float, y: float, a: float, b: float, colour: np.ndarray) -> None:
        cv2.ellipse(picture, at(x, y), (round(side * a / 2), round(side * b / 2)), 0, 0, 360, colour.tolist(), -1)

    ellipse(0, -0.12, broad * 1.06, 0.82, hair)
    ellipse(0, 0.05, broad, 0.8, skin)
    for sign in (-1, 1):
        ellipse(sign * apart, -0.1, wide * 1.7, wide, np.full(3, 240.0))
        ellipse(sign * apart, -0.1, wide * 0.8, wide * 0.8, eyes)
        inner, outer = (sign * (apart - 0.13), -0.28 - 0.12 * brow), (sign * (apart + 0.13), -0.28 + 0.12 * brow)
        cv2.line(picture, at(*inner), at(*outer), hair.tolist(), side // 40)
    cv2.line(picture, at(0, -0.05), at(0.06, nose), (0.7 * skin).tolist(), side // 60)
    ellipse(0, chin - 0.08, mouth, 0.05, lips)
    shift, scale = rng.uniform(-0.06, 0.06, 2) * side, rng.uniform(0.85, 1.1)
    turn = cv2.getRotationMatrix2D((side / 2, side / 2), rng.uniform(-12, 12), scale)
    turn[:, 2] += shift
    turned = cv2.warpAffine(picture, turn, (side, side), borderMode=cv2.BORDER_REFLECT)
    light = np.linspace(*rng.uniform(0.6, 1.15, 2), side)[None, :, None]
    return _taken(rng, cv2.resize(turned * light, size_wh, interpolation=cv2.INTER_AREA))


def word(rng: np.random.Generator, size_wh: tuple[int, int]) -> tuple[np.ndarray, str]:
    """Three to seven letters and digits in one line, and the text."""
    width, height = size_wh
    text = "".join(rng.choice(list(LETTERS), int(rng.integers(3, 8))))
    font = int(rng.choice(_FONTS))
    thick = int(rng.integers(1, 3))
    (wide, tall), _ = cv2.getTextSize(text, font, 1.0, thick)
    scale = min(rng.uniform(0.75, 0.95) * width / wide, rng.uniform(0.5, 0.75) * height / tall)
    (wide, tall), _ = cv2.getTextSize(text, font, scale, thick)
    picture = np.clip(_background(rng, size_wh), 0, 255).astype(np.uint8)
    dark = picture.mean() > 128
    ink = rng.uniform(0, 70, 3) if dark else rng.uniform(185, 255, 3)
    left = int(rng.integers(0, max(1, width - wide)))
    low = int(rng.integers(tall, max(tall + 1, height - 2)))
    cv2.putText(picture, text, (left, low), font, scale, ink.tolist(), thick, cv2.LINE_AA)
    return _taken(rng, picture), text
