"""Convert between float32 and bfloat16, its upper 16 bits, which numpy stores as uint16."""

from __future__ import annotations

import numpy as np


def widen_bfloat16(bits: np.ndarray) -> np.ndarray:
    """Return the float32 values of bfloat16 bits: uint16, of any shape. A copy, exact."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def round_to_bfloat16(x: np.ndarray) -> np.ndarray:
    """Return float32 values as bfloat16 bits, uint16, rounded half to even; a NaN stays a NaN."""
    bits = x.view(np.uint32)
    rounded = (bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) >> np.uint32(16)
    return np.where(np.isnan(x), (bits >> np.uint32(16)) | np.uint32(0x40), rounded).astype(np.uint16)
