"""Names that a package hands out at their first use, because what they need takes longer to import than the rest."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any, Callable


def late(package: str, rooms: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package (PEP 562).

    Parameters
    ----------
    package
        The package's ``__name__``.
    rooms
        {name: module of the package that has it}. A name that is its own module is that module.
    """

    def found(name: str) -> Any:
        if name not in rooms:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(f".{rooms[name]}", package)
        return module if name == rooms[name] else getattr(module, name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *rooms})

    return found, names
