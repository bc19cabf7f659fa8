"""Show progress on a terminal: rich's bar if it is installed, else a line that counts."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def track(items: Iterable[T], total: int, what: str, show: bool | None = None) -> Iterator[T]:
    """Yield `items`, and show on stderr how many are done; if `show` is None, only on a terminal."""
    if not (sys.stderr.isatty() if show is None else show):
        yield from items
        return
    try:
        from rich.console import Console
        from rich.progress import track as rich_track
    except ImportError:
        for i, item in enumerate(items):
            print(f"\r{what}: {i} of {total}", end="", file=sys.stderr, flush=True)
            yield item
        print(f"\r{what}: {total} of {total}", file=sys.stderr)
    else:
        yield from rich_track(items, what, total, console=Console(stderr=True), transient=True)
