"""What plants a fault: wrong specs, orders and arithmetic of pixels, exchanged names and frames, spoiled values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import npu_layout as nl
from npu_layout.engines import calibrate

from .ports import LAYOUTS, NotApplicable, Port, Rng, Specs, anchors_first, place

# Specs of one output: the true one, and the one that is declared.


def with_fields(spec: nl.TensorSpec, **fields: Any) -> nl.TensorSpec:
    return nl.TensorSpec.from_dict({**spec.to_dict(), **fields})


def true_spec(rng: Rng, port: Port, dtype: str, **more: Any) -> nl.TensorSpec:
    layouts = LAYOUTS[len(port.shape)]
    return place(port, str(rng.choice(layouts)), dtype, **more)


def scaled(factor: float, rng: Rng, port: Port, dtype: str) -> Specs:
    true = true_spec(rng, port, dtype)
    q = true.quantization
    assert q is not None
    return true, with_fields(true, quantization=nl.Quantization(np.multiply(q.scale, factor), q.zero_point, q.axis))


def zero_point(change: str, rng: Rng, port: Port, dtype: str) -> Specs:
    true = true_spec(rng, port, dtype)
    q = true.quantization
    assert q is not None
    zero, step = np.asarray(q.zero_point), 256 if dtype == "int16" else 1
    wrong = 0 * zero if change == "ignored" else zero + 20 * step
    if np.abs(zero - wrong).mean() < 5 * step:
        raise NotApplicable("the zero point is 0")
    return true, with_fields(true, quantization=nl.Quantization(q.scale, wrong.astype(int), q.axis))


def other_dtype(declared: str, rng: Rng, port: Port, dtype: str) -> Specs:
    true = true_spec(rng, port, dtype)
    return true, with_fields(true, dtype=declared)


def each_as_one(rng: Rng, port: Port, dtype: str) -> Specs:
    each = port.quantization(dtype, each=True)
    assert each is not None
    if each.count == 1:
        raise NotApplicable("one channel")
    scales = np.asarray(each.scale) * rng.uniform(1, 3, each.count)  # converters do not fit all of them tightly
    true = true_spec(rng, port, dtype, quantization=nl.Quantization(scales, each.zero_point, axis=1))
    k = int(np.argmax(scales))
    one = nl.Quantization(float(scales[k]), float(np.asarray(each.zero_point)[k]))
    return true, with_fields(true, quantization=one)


def one_as_each(rng: Rng, port: Port, dtype: str) -> Specs:
    true = true_spec(rng, port, dtype)
    q = true.quantization
    assert q is not None
    if port.shape[1] == 1 or anchors_first(port.shape) or q.axis is not None:
        raise NotApplicable("one channel, or a scale for each in truth")
    scales = float(q.scale) * rng.uniform(0.4, 1.6, port.shape[1])
    return true, with_fields(true, quantization=nl.Quantization(scales, q.zero_point, axis=1))


def shared_scale(rng: Rng, port: Port, dtype: str) -> Specs:
    """One scale for channels of very different ranges, as is declared: of some nothing is left."""
    true = true_spec(rng, port, dtype, quantization=calibrate([port.low, port.high], dtype))
    return true, true


# Channels: a device whose channel k is the model's channel result[k].


def in_reverse(rng: Rng, count: int) -> Sequence[int]:
    return list(range(count))[::-1]


def rolled(rng: Rng, count: int) -> Sequence[int]:
    return [(k + 1) % count for k in range(count)]


def shuffled(rng: Rng, count: int) -> Sequence[int]:
    return [int(k) for k in rng.permutation(count)]


def swapped(rng: Rng, count: int) -> Sequence[int]:
    order = list(range(count))
    a, b = rng.permutation(count)[:2]
    order[a], order[b] = order[b], order[a]
    return order


def reversed_but_two(rng: Rng, count: int) -> Sequence[int]:
    return swapped(rng, count)[::-1]


# Preprocessing: Preprocessor arguments -> those of what was done. Units are pixels, 0..255.


def same_mean(m: np.ndarray, s: np.ndarray) -> np.ndarray:
    return m


def same_std(m: np.ndarray, s: np.ndarray) -> np.ndarray:
    return s


def arithmetic(mean: Callable[..., Any], std: Callable[..., Any], flip: bool, p: dict[str, Any]) -> dict[str, Any]:
    m, s = np.asarray(p["mean"], np.float64), np.asarray(p["std"], np.float64)
    done = {**p, "mean": mean(m, s).tolist(), "std": std(m, s).tolist()}
    if flip:
        if p["color"] == "GRAY":
            raise NotApplicable("one channel")
        done["color"] = p["color"][::-1]
    return done


def divides(p: dict[str, Any]) -> None:
    if set(p["std"]) == {1}:
        raise NotApplicable("nothing is divided by 255")


def twice(p: dict[str, Any]) -> dict[str, Any]:
    """(p / 255 / 255 - mean / 255) / (std / 255)"""
    divides(p)
    return arithmetic(lambda m, s: 255 * m, lambda m, s: 255 * s, False, p)


def divided_after(p: dict[str, Any]) -> dict[str, Any]:
    """(p - mean) / std / 255"""
    divides(p)
    return arithmetic(same_mean, lambda m, s: 255 * s, False, p)


def undivided(p: dict[str, Any]) -> dict[str, Any]:
    """(p - mean / 255) / (std / 255)"""
    divides(p)
    return arithmetic(lambda m, s: m / 255, lambda m, s: s / 255, False, p)


def unit_only(p: dict[str, Any]) -> dict[str, Any]:
    """p / 255"""
    divides(p)
    return arithmetic(lambda m, s: 0 * m, lambda m, s: 0 * s + 255, False, p)


def doubled_unit(p: dict[str, Any]) -> dict[str, Any]:
    """x = (p / 255 - m) / s, then (x - m) / s, m = mean / 255, s = std / 255"""
    divides(p)
    return arithmetic(lambda m, s: m + m * s / 255, lambda m, s: s * s / 255, False, p)


def bytes_as(p: dict[str, Any], layout: str) -> dict[str, Any]:
    return {**p, "target": layout}


def famous(mean: Sequence[float], std: Sequence[float], p: dict[str, Any]) -> dict[str, Any]:
    if p["color"] == "GRAY" or np.allclose(p["std"], std, rtol=0.02):
        raise NotApplicable("one channel, or nearly the same")
    return arithmetic(lambda m, s: np.array(mean), lambda m, s: np.array(std), False, p)


def opposite(p: dict[str, Any]) -> dict[str, Any]:
    return arithmetic(lambda m, s: m[::-1], lambda m, s: s[::-1], False, p)


ARITHMETIC: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "bgr": partial(arithmetic, same_mean, same_std, True),
    "bgr_after": partial(arithmetic, lambda m, s: m[::-1], lambda m, s: s[::-1], True),
    "divided_twice": twice,
    "divided_after": divided_after,
    "not_divided": undivided,
    "raw_pixels": partial(arithmetic, lambda m, s: 0 * m, lambda m, s: 0 * s + 1, False),
    "raw_bgr": partial(arithmetic, lambda m, s: 0 * m, lambda m, s: 0 * s + 1, True),
    "multiplied": partial(arithmetic, same_mean, lambda m, s: 1 / s, False),
    "unit_only": unit_only,
    "doubled": partial(arithmetic, lambda m, s: m + m * s, lambda m, s: s * s, False),
    "doubled_unit": doubled_unit,
    "mean_forgotten": partial(arithmetic, lambda m, s: 0 * m, same_std, False),
    "std_forgotten": partial(arithmetic, same_mean, lambda m, s: 0 * s + 1, False),
    "clips_mean_and_std": partial(famous, (122.771, 116.746, 104.094), (68.501, 66.632, 70.323)),
    "mean_std_opposite": opposite,
    "less_a_half": partial(arithmetic, lambda m, s: 0 * m + 63.75, lambda m, s: 0 * s + 127.5, False),
    "video_range": partial(arithmetic, lambda m, s: (m - 16) * 255 / 219, lambda m, s: s * 255 / 219, False),
}


def whole(p: dict[str, Any]) -> dict[str, Any]:
    """Floats that are given as integers."""
    divides(p)
    return {**p, "whole": True}


# Means and deviations that are near to those of a fault: what a recording may not tell from it.
FAMOUS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "imagenet": partial(famous, (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)),
    "of_one": partial(famous, (127.5, 127.5, 127.5), (127.5, 127.5, 127.5)),
}


def resized(how: str, p: dict[str, Any]) -> dict[str, Any]:
    return {**p, "resize": how}


def bordered(pad_value: float, p: dict[str, Any]) -> dict[str, Any]:
    return {**p, "pad_value": pad_value}


def seen_with_border(name: str, pad_value: float, p: dict[str, Any]) -> dict[str, Any]:
    return seen(name, bordered(pad_value, p))


# Names: {recorded name: the output that it really holds}.


def exchanged(equal: bool, shapes: dict[str, tuple[int, ...]]) -> dict[str, str]:
    names = list(shapes)
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            if (shapes[a] == shapes[b]) == equal:
                return {a: b, b: a}
    raise NotApplicable("no such two outputs")


def rotated(shapes: dict[str, tuple[int, ...]]) -> dict[str, str]:
    names = list(shapes)
    if len(names) < 3:
        raise NotApplicable("fewer than three outputs")
    return {name: names[(i + 1) % 3] for i, name in enumerate(names[:3])}


# Frames: of which frame are the outputs that stand beside frame t?


def shifted(by: int, rng: Rng, count: int) -> Sequence[int]:
    return [t + by for t in range(count)]


def mixed(rng: Rng, count: int) -> Sequence[int]:
    """An order in which no frame keeps its place and no shift explains more than a third."""
    while True:
        order = rng.permutation(count)
        shifts = np.bincount(order - np.arange(count) + count, minlength=2 * count)
        if shifts[count] == 0 and shifts.max() <= max(1, count // 3):
            return [int(t) for t in order]


def stuck(rng: Rng, count: int) -> Sequence[int]:
    return [-1] * count


# Of (frames, N, channels, ...) one part spoiled, which is a small share of the whole.


def dead_channel(rng: Rng, values: np.ndarray) -> np.ndarray:
    values[:, :, widest(values, 2)] = 0
    return values


def random_channel(rng: Rng, values: np.ndarray) -> np.ndarray:
    part = values[:, :, widest(values, 2)]
    part[...] = rng.permutation(part.ravel()).reshape(part.shape)
    return values


def again(rng: Rng, values: np.ndarray) -> np.ndarray:
    if len(values) < 6:
        raise NotApplicable("a frame is much of the whole")
    values[3] = values[2]
    return values


def cut_rows(rng: Rng, values: np.ndarray) -> np.ndarray:
    if values.ndim < 5 or values.shape[-2] < 8:
        raise NotApplicable("no rows")
    values[..., -2:, :] = 0
    return values


def sigmoid(rng: Rng, values: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-values)), np.float32)


def inputs_exchanged(declared: dict[str, Any]) -> dict[str, Any]:
    return {**declared, "exchanged": True}


def seen(name: str, declared: dict[str, Any]) -> dict[str, Any]:
    return {**declared, "seen": name}


def widest(values: np.ndarray, axis: int) -> int:
    if values.shape[axis] < 2:
        raise NotApplicable("one channel")
    return int(np.argmax(np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1).var(1)))


SPOILED: dict[str, Callable[[Rng, np.ndarray], np.ndarray]] = {
    "dead_channel": dead_channel,
    "random_channel": random_channel,
    "frame_again": again,
    "rows_cut": cut_rows,
    "sigmoid_more": sigmoid,
}
