"""Heads of two levels, and what the kernels are given of them."""

from __future__ import annotations

import npu_layout as nl
from npu_layout import decode, kernels
from npu_layout.decode.decoders.compiling import compiled
from npu_layout.decode.outputs.fitting import fit

SIZE = (32, 32)


def described(head: decode.Head, specs: list[nl.TensorSpec], size: tuple[int, int] = SIZE) -> kernels.Detection | None:
    return compiled(head, fit(head, specs, size, {}), specs)


def maps(layout: str, dtype: str, channels: tuple[int, ...], q: nl.Quantization | None = None) -> list[nl.TensorSpec]:
    return [
        nl.TensorSpec((1, n, SIZE[0] // s, SIZE[1] // s), nl.Layout(layout), dtype, quantization=q, name=f"{n}/{s}")
        for s in (8, 16)
        for n in channels
    ]
