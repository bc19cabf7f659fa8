"""What a device may have done to an output after the network: pictures moved, activations more or less."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Rng = np.random.Generator
Change = Callable[[Rng, np.ndarray], np.ndarray]  # of (frames, N, channels, ...)


class Unchanged(Exception):
    """This change makes no sense for such an output."""


def _maps(change: Callable[[np.ndarray], np.ndarray]) -> Change:
    def changed(rng: Rng, values: np.ndarray) -> np.ndarray:
        if values.ndim < 5 or min(values.shape[-2:]) < 6:
            raise Unchanged("no maps")
        result = np.ascontiguousarray(change(values))
        if result.shape != values.shape:
            raise Unchanged("not square")
        return result

    return changed


def _shifted(down: int, right: int, wraps: bool) -> Callable[[np.ndarray], np.ndarray]:
    def change(values: np.ndarray) -> np.ndarray:
        moved = np.roll(values, (down, right), (-2, -1))
        if wraps:
            return moved
        for axis, by in ((-2, down), (-1, right)):
            edge = [slice(None)] * values.ndim
            edge[axis] = slice(0, by) if by > 0 else slice(by, None) if by < 0 else slice(0, 0)
            moved[tuple(edge)] = 0
        return moved

    return change


def _cropped(values: np.ndarray) -> np.ndarray:
    """Without the first row, enlarged by OpenCV."""
    import cv2

    tall, wide = values.shape[-2:]
    flat = values.reshape(-1, tall, wide)
    return np.stack([cv2.resize(x[1:], (wide, tall)) for x in flat]).reshape(values.shape)


def _resized(mode: str) -> Change:
    """Of maps that the model enlarged to twice their size, linearly with half_pixel."""

    def changed(rng: Rng, values: np.ndarray) -> np.ndarray:
        if values.ndim < 5:
            raise Unchanged("no maps")
        small = values
        for axis in (-2, -1):
            count = values.shape[axis]
            small = np.moveaxis(
                np.moveaxis(small, axis, -1) @ np.linalg.pinv(_weights("half_pixel", count)).T, -1, axis
            )
        for axis in (-2, -1):
            small = np.moveaxis(np.moveaxis(small, axis, -1) @ _weights(mode, values.shape[axis]).T, -1, axis)
        return small.astype(np.float32)

    return changed


def _weights(mode: str, count: int) -> np.ndarray:
    half = count // 2
    i = np.arange(count)
    place = {
        "half_pixel": (i + 0.5) / 2 - 0.5,
        "align_corners": i * (half - 1) / (count - 1),
        "asymmetric": i / 2,
        "nearest": np.floor(i / 2),
    }[mode]
    return np.stack([np.interp(place, np.arange(half), column) for column in np.eye(half)], 1)


GEOMETRY: dict[str, Change] = {
    "mirrored": _maps(lambda x: x[..., ::-1]),
    "upside_down": _maps(lambda x: x[..., ::-1, :]),
    "rotated_180": _maps(lambda x: x[..., ::-1, ::-1]),
    "rotated_90": _maps(lambda x: np.rot90(x, -1, (-2, -1))),
    "rotated_270": _maps(lambda x: np.rot90(x, 1, (-2, -1))),
    "shifted_1": _maps(_shifted(0, 1, wraps=False)),
    "shifted_row": _maps(_shifted(1, 0, wraps=True)),
    "shifted_2": _maps(_shifted(-1, -2, wraps=False)),
    "row_cropped": _maps(_cropped),
    "resized_nearest": _resized("nearest"),
    "resized_align_corners": _resized("align_corners"),
    "resized_asymmetric": _resized("asymmetric"),
}
