"""What the device's network sees of a frame."""

from __future__ import annotations

from typing import Any

import numpy as np

import npu_layout as nl

from . import changes
from .models import Model
from .second_input import EXCHANGED


def feed(model: Model, image: np.ndarray, done: dict[str, Any]) -> np.ndarray:
    """The float tensor that the device's network sees when a frame is preprocessed as `done` says.

    "target": a layout in which the bytes are given to a device that takes them for the declared one. A folded model
    normalises inside the device, after the bytes were read. "exchanged": of two inputs, which `fed` looks at. "seen":
    one of `changes.SEEN`, which the device does to the pixels. "whole": the normalised values are cut off to integers.
    """
    arguments = {k: v for k, v in done.items() if k not in ("target", "mean", "std", "exchanged", "seen", "whole")}
    arithmetic = {k: np.asarray(done.get(k, d), np.float64) for k, d in (("mean", 0), ("std", 1))}
    declared = model.input_spec
    layout = done.get("target", declared.layout)
    layout = layout.layout if isinstance(layout, nl.TensorSpec) else layout
    target = nl.TensorSpec(model.shape, layout, declared.dtype)
    # By hand, because a Preprocessor refuses some of the faults that are planted here.
    mean, std = (np.broadcast_to(v.reshape(-1), model.shape[1])[:, None, None] for v in arithmetic.values())
    buffer = nl.Preprocessor(target, **arguments)(image)[0]
    if not model.folded:
        pixels, mean32, std32 = target.unpack(buffer), mean.astype(np.float32), std.astype(np.float32)
        buffer = target.pack((pixels - mean32) * (np.float32(1) / std32))
    seen = declared.unpack(np.ascontiguousarray(buffer).reshape(-1))
    if "seen" in done:
        pixels = seen.astype(np.float64) if model.folded else seen * std + mean
        flip = done.get("color") == "BGR" and done["seen"] not in changes.IN_MEMORY
        pixels = pixels[:, ::-1] if flip else pixels
        pixels = changes.SEEN[done["seen"]][1](pixels)
        pixels = pixels[:, ::-1] if flip else pixels
        seen = pixels if model.folded else (pixels - mean) / std
    if model.folded:
        seen = ((seen - mean) / std).astype(np.float32)
    if done.get("whole"):
        seen = np.trunc(seen)
    return np.ascontiguousarray(seen, np.float32)


def fed(model: Model, image: np.ndarray, second: np.ndarray, done: dict[str, Any]) -> dict[str, np.ndarray]:
    """All inputs of the device's network, {name: tensor}; the second, if there is one, is made of another picture."""
    given = {"image": feed(model, image, done)}
    if model.pair:
        given["second"] = feed(model, second, done)
    return {EXCHANGED[name]: x for name, x in given.items()} if done.get("exchanged") else given


def apart(seen: np.ndarray, fed: np.ndarray) -> float:
    """How far an input is from the one that was fed, in what still counts as the same: 5 % of its deviation, or 1 % of
    its root mean square. The worst of its parts, along axis 1."""
    error = np.sqrt(((seen - fed) ** 2).mean((0, 2, 3)))
    limit = np.maximum(0.05 * fed.std((0, 2, 3)), 0.01 * np.sqrt((fed**2).mean((0, 2, 3))))
    return float((error / np.maximum(limit, 1e-6)).max())


def saturated(fed: np.ndarray, declared: dict[str, Any]) -> np.ndarray:
    """An input cut to the range of the declared preprocessing, as a quantised network does."""
    ends = [(end - np.asarray(declared["mean"])) / np.asarray(declared["std"]) for end in (0, 255)]
    return np.clip(fed, np.min(ends), np.max(ends)).astype(np.float32)
