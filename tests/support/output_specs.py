"""Shapes and specs of a detector's outputs, as exports have them."""

from __future__ import annotations

import npu_layout as nl


def maps(channels: tuple[int, ...], size: int = 640, strides: tuple[int, ...] = (8, 16, 32)) -> list[tuple[int, ...]]:
    """Return the shapes of maps of so many channels, of each stride all of them, of a square input."""
    return [(1, n, size // s, size // s) for s in strides for n in channels]


def of_shapes(shapes: list[tuple[int, ...]], **how: object) -> list[nl.TensorSpec]:
    """Return specs without letters, each with a name of its own; how: other arguments of all of them."""
    return [nl.TensorSpec(s, nl.Layout.of_rank(len(s)), name=f"y{i}", **how) for i, s in enumerate(shapes)]


def spec_of(shape: tuple[int, ...], name: str = "", axes: str | None = None) -> nl.TensorSpec:
    """Return a spec without letters, or dense with these."""
    layout = nl.Layout.of_rank(len(shape)) if axes is None else nl.Layout.plain(axes)
    return nl.TensorSpec(shape, layout, name=name)
