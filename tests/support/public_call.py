"""A call of something public, whose arguments tests replace."""

from __future__ import annotations

import inspect
from typing import Any, Callable, NamedTuple


class Call(NamedTuple):
    """A function and arguments with which it returns; one of them may be ``*name``: the rest by position."""

    function: Callable[..., Any]
    arguments: dict[str, Any]

    def parameters(self) -> list[str]:
        """The names of all that may be given, a star before what takes any number; not what goes to others."""
        stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: None}
        found = inspect.signature(self.function).parameters.values()
        return [f"{star}{p.name}" for p in found for star in [stars.get(p.kind, "")] if star is not None]

    def __call__(self, **instead: Any) -> Any:
        """Call it, with other values of some arguments (a starred one: for the first of its values)."""
        by_name, ahead = dict(self.arguments), []
        for name, value in instead.items():
            by_name[name] = (value, *by_name.get(name, ())[1:]) if name.startswith("*") else value
        rest = next((n for n in by_name if n.startswith("*")), None)
        if rest is not None:
            named = [p for p in inspect.signature(self.function).parameters.values()]
            first = [p.name for p in named[: [p.kind for p in named].index(inspect.Parameter.VAR_POSITIONAL)]]
            ahead = [*(by_name.pop(n) for n in first), *by_name.pop(rest)]
        return self.function(*ahead, **by_name)
