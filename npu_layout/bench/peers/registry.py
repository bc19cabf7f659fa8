"""Register peers: functions of a Case that return what is to be timed, by kind of case."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..cases import Case

Call = Callable[[], Any]

_BETWEEN = ": "  # a library and how it is spelt, in the name of a contender

# kind of case -> [(library, spelling, function)]
PEERS: dict[str, list[tuple[str, str, Callable[[Case], Call | None]]]] = {}


def peer(kinds: str, library: str, spelling: str) -> Callable[[Any], Any]:
    """Register a function of a Case under the kinds that it serves.

    The function returns what is to be timed, or None if the library has nothing for that case.
    """

    def register(function: Any) -> Any:
        for kind in kinds.split():
            PEERS.setdefault(kind, []).append((library, spelling, function))
        return function

    return register


def peer_name(library: str, spelling: str) -> str:
    """Return the name of a peer among the contenders, as rows and tables have it."""
    return f"{library}{_BETWEEN}{spelling}"


def library_of(name: str) -> str:
    """Return the library of a contender that is a peer; "" if it is memcpy or this library."""
    library, between, _ = name.partition(_BETWEEN)
    return library if between else ""
