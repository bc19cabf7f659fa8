"""Import names of a package when they are first used, so that what is slow to import does not delay the rest."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any, Callable


def late(
    package: str, rooms: Mapping[str, str], elsewhere: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package (PEP 562) that imports its modules at their first use.

    ``__dir__`` lists dunders and the names of the package's ``__all__``.

    Parameters
    ----------
    package
        The package's ``__name__``.
    rooms
        {name: the module that defines it, below the package: "decoders.decoder"}. A name equal to its module's stands
        for the module.
    elsewhere
        {what others call it: the name here}: the AttributeError says the latter.
    """

    def found(name: str) -> Any:
        if name not in rooms:
            same = (elsewhere or {}).get(name)
            raise AttributeError(f"module {package!r} has no attribute {name!r}{f'. Is it {same}?' if same else ''}")
        module = importlib.import_module(f".{rooms[name]}", package)
        value = module if name == rooms[name] else getattr(module, name)
        vars(sys.modules[package])[name] = value  # so that this is asked once: it takes microseconds
        return value

    def names() -> list[str]:
        known = vars(sys.modules[package])
        public = known.get("__all__", {*known, *rooms})
        return sorted({*(name for name in known if name.startswith("__")), *public})

    return found, names
