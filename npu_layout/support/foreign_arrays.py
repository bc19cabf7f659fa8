"""Read other libraries' arrays as numpy arrays of the same memory, by DLPack or numpy's array protocols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import NpuLayoutError

_DOORS: dict[str, Callable[[Any], np.ndarray]] = {  # in the order in which they are tried; the last one may copy
    "__array_interface__": np.asarray,
    "__dlpack__": np.from_dlpack,
    "__array__": np.asarray,
}


def foreign_array(what: str, x: Any) -> np.ndarray | None:
    """Return an object with ``__array_interface__``, ``__dlpack__`` or ``__array__`` as an array, of its memory.

    Strides and extents of 1 are the object's. None if `x` has none of these; an array of numpy is returned as it is.

    Raises NpuLayoutError, which calls it `what`, if its memory is not the CPU's, or numpy has no such dtype.
    """
    if isinstance(x, np.ndarray):
        return x
    failed: Exception | None = None
    for name, read in _DOORS.items():
        try:
            if not isinstance(x, type) and hasattr(x, name):
                return read(x)
        except Exception as error:  # each library has exceptions of its own
            failed = failed or error
    if failed is None:
        return None
    kind, words = type(x), " ".join(str(failed).split())
    raise NpuLayoutError(
        f"{what}: numpy cannot read this {kind.__module__}.{kind.__qualname__} in place ({words}); expected memory of "
        f"the CPU, in a dtype that numpy has (of PyTorch: x.detach().cpu(), and x.view(torch.uint16) for bfloat16)"
    ) from None
