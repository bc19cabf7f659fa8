"""Refuse to copy or pickle objects that own something, such as threads, a device or a folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import NpuLayoutError


def not_copied(what: str) -> Callable[[Any], Any]:
    """Return the `__reduce__` of a class that owns `what`: threads, a device, a folder.

    A copy would use and close the same things as the object. copy.copy, copy.deepcopy and pickle raise NpuLayoutError.
    """

    def __reduce__(self: Any) -> Any:
        raise NpuLayoutError(
            f"{type(self).__name__}: it owns {what}, and cannot be copied or pickled; make another one, in the process "
            f"that uses it"
        )

    return __reduce__
