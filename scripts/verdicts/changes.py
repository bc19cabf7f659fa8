"""What a device may have done to an output after the network, or to an input before it."""

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


def _elementwise(function: Callable[[np.ndarray], np.ndarray], low: float = -np.inf, high: float = np.inf) -> Change:
    """A function of each value, where the values are from `low` to `high`, and vary enough for it to matter."""

    def changed(rng: Rng, values: np.ndarray) -> np.ndarray:
        if not low < values.min() <= values.max() < high:
            raise Unchanged("not of such values")
        with np.errstate(all="ignore"):
            result = function(values.astype(np.float64)).astype(np.float32)
        if np.abs(result - values).max() < 0.05 * values.std():
            raise Unchanged("hardly another value")
        return result

    return changed


def _softmax(rng: Rng, values: np.ndarray) -> np.ndarray:
    if values.shape[2] < 3 or values.shape[2] > 200:
        raise Unchanged("no classes")
    powers = np.exp(values - values.max(2, keepdims=True))
    return np.asarray(powers / powers.sum(2, keepdims=True))


def _normalised(rng: Rng, values: np.ndarray) -> np.ndarray:
    if values.shape[2] < 3 or values.shape[2] > 200:
        raise Unchanged("no vectors")
    return np.asarray(values / np.maximum(np.sqrt((values * values).sum(2, keepdims=True)), 1e-6), np.float32)


def _each_factor(rng: Rng, values: np.ndarray) -> np.ndarray:
    """A factor for each channel: as where a runtime forgets the scales of the channels."""
    count = values.shape[2]
    if count < 3 or count > 200:
        raise Unchanged("no channels")
    factor = np.geomspace(0.02, 0.2, count)[np.random.default_rng(5).permutation(count)]
    return np.asarray(values * factor.reshape(-1, *[1] * (values.ndim - 3)), np.float32)


def _unit_boxes(rng: Rng, values: np.ndarray) -> np.ndarray:
    """Boxes of 0 to 1, in the first four channels of 84; of an input of 128 x 128."""
    axis = next((a for a in (2, 3) if values.ndim == 4 and values.shape[a] == 84), None)
    if axis is None:
        raise Unchanged("no boxes")
    factor = np.where(np.arange(84) < 4, 1 / 128, 1.0)
    return np.asarray(values * factor.reshape([-1 if a == axis else 1 for a in range(4)]), np.float32)


def _corners(rng: Rng, values: np.ndarray) -> np.ndarray:
    """The corners of boxes whose centres and sizes are the first four channels of 84."""
    axis = next((a for a in (2, 3) if values.ndim == 4 and values.shape[a] == 84), None)
    if axis is None:
        raise Unchanged("no boxes")
    x, y, wide, high = (values.take([i], axis) for i in range(4))
    ends = [x - wide / 2, y - high / 2, x + wide / 2, y + high / 2]
    return np.concatenate([*ends, values.take(range(4, 84), axis)], axis)


def _sorted_rows(rng: Rng, values: np.ndarray) -> np.ndarray:
    """The rows of each frame by their first value, the largest first."""
    if values.ndim != 4 or not values.shape[2] > values.shape[3] >= 4:
        raise Unchanged("no rows")
    order = np.argsort(-values[..., :1], axis=2, kind="stable")
    return np.take_along_axis(values, order, 2)


ACTIVATIONS: dict[str, Change] = {
    "sigmoid_added": _elementwise(lambda x: 1 / (1 + np.exp(-x))),
    "exp_added": _elementwise(np.exp, high=6),
    "log_added": _elementwise(np.log, low=1e-3),
    "relu_added": _elementwise(lambda x: np.maximum(x, 0)),
    "reciprocal_added": _elementwise(lambda x: 1 / x, low=1e-2),
    "sign_changed": _elementwise(np.negative),
    "taken_from_one": _elementwise(lambda x: 1 - x, low=-1e-6, high=1 + 1e-6),
    "softmax_added": _softmax,
    "l2_added": _normalised,
    "factors_each": _each_factor,
    "boxes_of_one": _unit_boxes,
    "box_corners": _corners,
    "rows_sorted": _sorted_rows,
}


def _codes(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """A change of the bytes of pixels, which what they are between is interpolated by."""
    table = change(np.arange(256, dtype=np.uint8)).astype(np.float64)

    def changed(pixels: np.ndarray) -> np.ndarray:
        return table[np.clip(np.rint(pixels), 0, 255).astype(np.uint8)]

    return changed


def _colours(code: str, back: str, order: list[int]) -> Callable[[np.ndarray], np.ndarray]:
    """Channels of another colour space in another order, by OpenCV, of (N, RGB, H, W)."""

    def changed(pixels: np.ndarray) -> np.ndarray:
        import cv2

        if pixels.shape[1] != 3:
            raise Unchanged("one channel")
        rgb = np.ascontiguousarray(pixels[0].transpose(1, 2, 0) / 255, np.float32)
        other = cv2.cvtColor(rgb, getattr(cv2, code))
        other = np.atleast_3d(other)[..., order]
        changed = cv2.cvtColor(np.ascontiguousarray(other), getattr(cv2, back)).transpose(2, 0, 1)[None]
        return 255.0 * changed.clip(0, 1)

    return changed


_FROM_601 = np.array([[1, 0, 1.402], [1, -0.344136, -0.714136], [1, 1.772, 0]])  # red, green, blue of Y, Cb, Cr
_FROM_709 = np.array([[1, 0, 1.5748], [1, -0.187324, -0.468124], [1, 1.8556, 0]])


def _of_matrix(written: np.ndarray, read: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Colours written as Y, Cb and Cr by one matrix, and read by another."""
    both = read @ np.linalg.inv(written)

    def changed(pixels: np.ndarray) -> np.ndarray:
        if pixels.shape[1] != 3:
            raise Unchanged("one channel")
        return np.einsum("ij,njhw->nihw", both, pixels).clip(0, 255)

    return changed


def _square(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    def changed(pixels: np.ndarray) -> np.ndarray:
        if pixels.shape[2] != pixels.shape[3]:
            raise Unchanged("not square")
        return change(pixels)

    return changed


def _apart(pixels: np.ndarray) -> np.ndarray:
    """Planes that are read as if each were padded to whole pages: the last ends in what is behind it."""
    count = pixels[0, 0].size
    gap = -count % 4096 or -count % 16384
    flat = np.concatenate([pixels[0].ravel(), np.zeros(gap * pixels.shape[1])])
    if pixels.shape[1] == 1 or not 0 < 3 * gap <= count:
        raise Unchanged("one plane, or no gap")
    return np.stack([flat[c * (count + gap) :][:count] for c in range(pixels.shape[1])]).reshape(pixels.shape)


# {fault: (the verdict, what the device makes of the pixels (N, C, H, W), 0..255)}
SEEN: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "input_sign": ("input_layout", _codes(lambda p: p ^ 0x80)),
    "input_as_int8": ("input_layout", _codes(lambda p: p.view(np.int8))),
    "input_as_int8_without_sign": ("input_layout", _codes(lambda p: np.maximum(p.view(np.int8), 0))),
    "input_clamped": ("input_layout", _codes(lambda p: np.where(p > 127, 127, p))),
    "input_planes": ("input_layout", _apart),
    "input_gray": ("preprocessing", _colours("COLOR_RGB2GRAY", "COLOR_GRAY2RGB", [0])),
    "input_uv": ("preprocessing", _colours("COLOR_RGB2YUV", "COLOR_YUV2RGB", [0, 2, 1])),
    "input_bt709": ("preprocessing", _of_matrix(_FROM_709, _FROM_601)),
    "input_bt601": ("preprocessing", _of_matrix(_FROM_601, _FROM_709)),
    "input_gamma": ("preprocessing", lambda p: 255.0 * (p.clip(0) / 255.0) ** 2.2),
    "input_bright_gamma": ("preprocessing", lambda p: 255.0 * (p.clip(0) / 255.0) ** (1 / 2.2)),
    "input_negative": ("preprocessing", lambda p: 255 - p),
    "input_halved": ("preprocessing", lambda p: p / 2),
    "input_doubled": ("preprocessing", lambda p: np.minimum(p * 2, 255)),
    "input_mirrored": ("geometry", lambda p: p[..., ::-1]),
    "input_upside_down": ("geometry", lambda p: p[:, :, ::-1]),
    "input_rotated_180": ("geometry", lambda p: p[:, :, ::-1, ::-1]),
    "input_rotated_90": ("geometry", _square(lambda p: p.transpose(0, 1, 3, 2)[..., ::-1])),
    "input_transposed": ("geometry", _square(lambda p: p.swapaxes(2, 3))),
    "input_shifted_1": ("geometry", lambda p: np.concatenate([p[..., -1:], p[..., :-1]], -1)),
    "input_shifted_2": ("geometry", lambda p: np.concatenate([p[:, :, 2:], p[:, :, :2]], 2)),
}
IN_MEMORY = ("input_planes",)  # of these, changes of the planes as they are stored, and not of red, green and blue
