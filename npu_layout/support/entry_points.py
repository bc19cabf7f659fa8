"""Find what other packages add to npu_layout: entry points, among which the library's own are listed too."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from ..errors import NpuLayoutError

_OWN = "npu-layout"


class Plugin(NamedTuple):
    """An entry point: its name in its group, ``module:attribute``, and the package that it belongs to."""

    group: str
    name: str
    target: str
    package: str

    def load(self) -> Any:
        """Return the object that the entry point names; NpuLayoutError that names the package if that fails."""
        module, _, attribute = self.target.partition(":")
        try:
            found = importlib.import_module(module)
            for part in attribute.split(".") if attribute else ():
                found = getattr(found, part)
        except Exception as error:  # another package's code can raise anything
            raise NpuLayoutError(
                f"{self.describe()} cannot be loaded: {type(error).__name__}: {error}. Repair or uninstall the package"
            ) from error
        return found

    def describe(self) -> str:
        """Return the plug-in as messages name it."""
        return f"entry point {self.name!r} of {self.group} ({self.target}, package {self.package})"


def plugins(group: str, own: Mapping[str, str]) -> dict[str, Plugin]:
    """Return the plug-ins of a group by name: the library's own first, then those of installed packages.

    own: ``{name: "module:attribute"}``, which setup.cfg lists as entry points too; the table makes them known where
    the library is not installed (a source tree on PYTHONPATH). NpuLayoutError if two packages offer one name.
    """
    found = {name: Plugin(group, name, target, _OWN) for name, target in own.items()}
    for plugin in _installed(group):
        other = found.get(plugin.name)
        if other is not None:
            raise NpuLayoutError(
                f"{other.describe()} and {plugin.describe()} have the same name: uninstall one of the packages"
            )
        found[plugin.name] = plugin
    return found


def plugin(group: str, own: Mapping[str, str], name: str) -> Plugin | None:
    """Return the plug-in of that name, None if there is none; installed packages are searched if it is not `own`."""
    if name in own:
        return Plugin(group, name, own[name], _OWN)
    return plugins(group, own).get(name)


@cache
def _installed(group: str) -> tuple[Plugin, ...]:
    """Return the entry points of installed packages; the library's own are in the tables of its modules."""
    return tuple(sorted(set(_read(group))))


def _read(group: str) -> Iterator[Plugin]:
    from importlib.metadata import distributions

    for distribution in distributions():
        package = _package(distribution)
        if package == _OWN:
            continue  # another version may be installed than the one that runs
        for entry in distribution.entry_points:
            if entry.group == group:
                yield Plugin(group, entry.name, entry.value, package)


def _package(distribution: Any) -> str:
    """Return a package's name as pip normalises it; "" if its metadata is damaged."""
    try:
        name = distribution.metadata["Name"]
    except Exception:
        name = None
    return str(name or "").lower().replace("_", "-").replace(".", "-")
