"""What devices and scripts did in the threads, beyond what the matrix plants."""

from __future__ import annotations

from functools import partial
from typing import Any

import cv2
import numpy as np

import npu_layout as nl

from .. import faults, planting, ports
from ..faults import BY_NAME, Fault
from ..models import Model
from ..ports import Port, Rng, Specs

# What devices did to outputs, beyond what the matrix plants.


def logits(rng: Rng, values: np.ndarray) -> np.ndarray:
    """The 19 heat maps of "maps" without the sigmoid that its model ends in."""
    heat = np.clip(values[:, :, :19], 2e-3, 1 - 2e-3)
    return np.concatenate([np.log(heat / (1 - heat)), values[:, :, 19:]], 2).astype(np.float32)


def sigmoid_of_one(rng: Rng, values: np.ndarray) -> np.ndarray:
    changed = values.copy()
    changed[:, :, 4] = 1 / (1 + np.exp(-values[:, :, 4]))
    return changed


def first_frame_unwritten(rng: Rng, values: np.ndarray) -> np.ndarray:
    values[0] = rng.permutation(values[-1].ravel()).reshape(values[0].shape)
    return values


def not_numbers(rng: Rng, values: np.ndarray) -> np.ndarray:
    return np.full_like(values, np.nan)


def overflowed(rng: Rng, values: np.ndarray) -> np.ndarray:
    return np.where(values > np.quantile(values, 0.97), np.inf, values).astype(np.float32)


faults.CHANGED.update(logits=logits, sigmoid_of_one=sigmoid_of_one)
planting.SPOILED.update(first_frame_unwritten=first_frame_unwritten, not_numbers=not_numbers, overflowed=overflowed)


def raw_integers(declared: nl.Quantization, rng: Rng, port: Port, dtype: str) -> Specs:
    true = ports.place(port, "NHWC", dtype)
    return true, nl.TensorSpec.from_dict({**true.to_dict(), "quantization": declared})


def block_of(true: str, declared: str) -> Any:
    return partial(ports.read_as, true, declared)


def short(name: str, **fields: Any) -> Fault:
    """A fault of the matrix on four frames, or as `fields` say."""
    return BY_NAME[name]._replace(**{"frames": (4, 4), **fields})


def with_std_of_mean(p: dict[str, Any]) -> dict[str, Any]:
    return {**p, "std": p["mean"]}


def mean_in_units(p: dict[str, Any]) -> dict[str, Any]:
    return {**p, "mean": (np.divide(p["mean"], p["std"])).tolist()}


def std_of_units_multiplied(p: dict[str, Any]) -> dict[str, Any]:
    return {**p, "mean": np.divide(p["mean"], 255).tolist(), "std": np.divide(255, p["std"]).tolist()}


def y_before_x(rng: Rng, count: int) -> list[int]:
    return [1, 0, 3, 2, *range(4, count)]


def one_of_another(rng: Rng, count: int) -> list[int]:
    """Frame 5 has the output of frame 2."""
    return [2 if t == 5 else t for t in range(count)]


# What scripts wrote into the input.


def other_arguments(image: np.ndarray, spec: nl.TensorSpec, declared: Any, **changes: Any) -> np.ndarray:
    return nl.Preprocessor(spec, **{**declared, **changes})(image)[0]


def of_frame(change: Any, image: np.ndarray, spec: nl.TensorSpec, declared: Any) -> np.ndarray:
    return nl.Preprocessor(spec, **declared)(np.ascontiguousarray(change(image)))[0]


def transposed(image: np.ndarray, spec: nl.TensorSpec, declared: Any) -> np.ndarray:
    return np.ascontiguousarray(nl.Preprocessor(spec, **declared)(image)[0].swapaxes(2, 3))


def exchanged_sides(image: np.ndarray, spec: nl.TensorSpec, declared: Any) -> np.ndarray:
    """The frame resized to height x width, in bytes of width x height."""
    tall, wide = spec.shape[2:]
    turned = nl.TensorSpec((1, 3, wide, tall), spec.layout, spec.dtype)
    made = nl.Preprocessor(turned, **{**declared, "resize": "stretch"})(image)[0]
    return made.reshape(spec.shape)


def with_alpha(image: np.ndarray) -> np.ndarray:
    return cv2.cvtColor(image, cv2.COLOR_BGR2BGRA).ravel()[: image.size].reshape(image.shape)


def gray(image: np.ndarray) -> np.ndarray:
    return np.repeat(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)[..., None], 3, 2)


def u_and_v_exchanged(image: np.ndarray) -> np.ndarray:
    return cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_BGR2YUV)[..., [0, 2, 1]], cv2.COLOR_YUV2BGR)


def padded_rows(image: np.ndarray) -> np.ndarray:
    tall, wide, _ = image.shape
    rows = np.zeros((tall, -(-wide * 3 // 64) * 64), np.uint8)
    rows[:, : wide * 3] = image.reshape(tall, -1)
    return rows.reshape(-1)[: image.size].reshape(image.shape)


def bytes_of_pixels(image: np.ndarray, spec: nl.TensorSpec, declared: Any) -> np.ndarray:
    """The pixels as they are, where int8 with zero point -128 is read."""
    return (nl.Preprocessor(spec, **declared)(image)[0].view(np.uint8) ^ 128).view(np.int8)


def int8(model: Model) -> nl.TensorSpec:
    return nl.TensorSpec(model.shape, "NHWC", "int8", quantization=nl.Quantization(1 / 255, -128), name="image")


def blue_border(image: np.ndarray) -> np.ndarray:
    """A square frame whose border is 114 in one of three channels."""
    tall, wide, _ = image.shape
    above = (wide - tall) // 2
    return cv2.copyMakeBorder(image, above, wide - tall - above, 0, 0, cv2.BORDER_CONSTANT, value=(114, 0, 0))
