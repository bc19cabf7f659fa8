"""Name an argument in a message as whoever reads it writes it: ``model=`` in Python, ``--model`` in a shell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_SPELLING: ContextVar[Mapping[str, str]] = ContextVar("spelling")


def argument(name: str) -> str:
    """Return how the caller gives an argument.

    >>> f"give {argument('model')}"
    'give model='
    """
    return _SPELLING.get({}).get(name, f"{name}=")


@contextmanager
def spelt(spelling: Mapping[str, str]) -> Iterator[None]:
    """Name arguments in the block as `spelling` has them, {name: how it is given}; the others stay as in Python."""
    before = _SPELLING.set(spelling)
    try:
        yield
    finally:
        _SPELLING.reset(before)
