"""Check the values that are packed into the buffer of a TensorSpec, and find the arithmetic that stores them."""

from __future__ import annotations

import numpy as np

from ..errors import LayoutError, NpuLayoutError
from ..layouts import Affine
from .stored import StoredTensor

_BEYOND_HALF = 65520  # and further integers round to infinity in float16; no other float is too narrow for integers


def plan_packing(spec: StoredTensor, array: np.ndarray) -> Affine | None:
    """Return the arithmetic that turns `array` into stored values; None if it contains them. Errors as pack."""
    kind = spec.element
    shape = spec.storage.shape
    if array.shape != shape:
        raise LayoutError(f"tensor has shape {array.shape}; {spec.describe()} expects {shape} ({spec.axes})")
    if array.dtype.kind not in "iufb":
        raise NpuLayoutError(f"tensor has dtype {array.dtype}; {spec.describe()} expects real numbers")
    if array.dtype.kind == "f" and kind.unpacked.kind != "f":
        if spec.quantization is None:
            raise NpuLayoutError(
                f"tensor has dtype {array.dtype}; {spec.describe()} stores integers and is not quantised: "
                f"give the spec a quantization, or integers"
            )
        return spec.quantization.affine(spec.quantized_axis, to_stored=True)
    if array.dtype.kind != "f":
        _check_range(spec, array)
    return None


def _check_range(spec: StoredTensor, array: np.ndarray) -> None:
    kind = spec.element
    if kind.nibbles:
        lowest, highest = (-8, 7) if kind.unpacked.kind == "i" else (0, 15)
    elif np.can_cast(array.dtype, kind.unpacked, "safe") or (kind.unpacked.kind == "f" and kind.unpacked.itemsize > 2):
        return
    elif kind.unpacked.kind == "f":
        lowest, highest = 1 - _BEYOND_HALF, _BEYOND_HALF - 1
    elif kind.unpacked.kind == "b":
        lowest, highest = 0, 1
    else:
        info = np.iinfo(kind.unpacked)
        lowest, highest = int(info.min), int(info.max)
    if array.size and (int(array.min()) < lowest or int(array.max()) > highest):
        raise NpuLayoutError(
            f"tensor has values {array.min()}..{array.max()}; {spec.describe()} stores {lowest}..{highest}"
        )
