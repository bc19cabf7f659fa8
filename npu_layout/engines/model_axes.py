"""Match the axes of a spec with the axes of a model, by their letters and lengths."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..buffers import TensorSpec
from ..layouts import Layout


def fits(wanted: tuple[Any, ...], shape: tuple[int, ...]) -> bool:
    """Whether a model that declares the shape `wanted` accepts `shape`; a declared axis may be a name or None."""
    return len(shape) == len(wanted) and all(
        not isinstance(want, int) or want < 1 or want == got for want, got in zip(wanted, shape)
    )


def axes_in_model(axes: str) -> list[int]:
    """Return the position in `axes` of each of the model's axes; unknown letters keep their places."""
    model = Layout.of_rank(len(axes)).axes
    return [axes.index(letter) for letter in model] if sorted(model) == sorted(axes) else list(range(len(axes)))


def shape_in_model(spec: TensorSpec) -> tuple[int, ...]:
    """Return the spec's shape in the model's order of letters."""
    return tuple(spec.shape[i] for i in axes_in_model(spec.axes))


def order_in_model(spec: TensorSpec, wanted: tuple[Any, ...]) -> list[int]:
    """Return the position among the spec's axes of each axis of a model that declares the shape `wanted`.

    They are in the model's order of letters, or unchanged if only that fits.
    """
    order = axes_in_model(spec.axes)
    return order if fits(wanted, shape_in_model(spec)) or not fits(wanted, spec.shape) else list(range(len(order)))


def transposed(array: np.ndarray, axes: str, from_model: bool) -> np.ndarray:
    """Return a view of `array`, whose axes are `axes`, in the model's order; with from_model, the other way."""
    order = axes_in_model(axes)
    return array.transpose(np.argsort(order) if from_model else order)


def shape_text(shape: tuple[Any, ...]) -> str:
    """Return a shape as messages show it: a free axis is its name, or ``?``."""
    return "(" + ",".join("?" if n is None else str(n) for n in shape) + ")"
