"""Show progress on a terminal: rich's bar if it is installed, else a line that counts."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


class Steps:
    """What is being done, and how many steps of it are done; this one shows nothing."""

    def say(self, words: str) -> None:
        """Replace the words for what is being done."""

    def done(self) -> None:
        """Count one step."""

    def more(self, count: int) -> None:
        """Add `count` steps to those that are left."""


class _StatusLine(Steps):
    """A line on stderr that is written again and again."""

    def __init__(self, total: int, what: str) -> None:
        self._total, self._words, self._done, self._width = total, what, 0, 0
        self._write()

    def say(self, words: str) -> None:
        if words != self._words:
            self._words = words
            self._write()

    def done(self) -> None:
        self._done += 1
        self._write()

    def more(self, count: int) -> None:
        if count:
            self._total += count
            self._write()

    def _write(self) -> None:
        text = f"{self._words}: {self._done} of {self._total}"
        print(f"\r{text}{' ' * (self._width - len(text))}", end="", file=sys.stderr, flush=True)
        self._width = len(text)


class _Bar(Steps):
    """A bar of rich's."""

    def __init__(self, progress: Any, total: int, what: str) -> None:
        self._progress, self._total, self._task = progress, total, progress.add_task(_escaped(what), total=total)

    def say(self, words: str) -> None:
        self._progress.update(self._task, description=_escaped(words))

    def done(self) -> None:
        self._progress.advance(self._task)

    def more(self, count: int) -> None:
        self._total += count
        self._progress.update(self._task, total=self._total)


def _escaped(words: str) -> str:
    """Return words as rich prints them: what is in brackets is no markup."""
    from rich.markup import escape

    return str(escape(words))


@contextmanager
def steps(total: int, what: str, show: bool | None = None) -> Iterator[Steps]:
    """Show on stderr what is being done, and how much of it is; if `show` is None, only on a terminal."""
    if not (sys.stderr.isatty() if show is None else show):
        yield Steps()
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        try:
            yield _StatusLine(total, what)
        finally:
            print(file=sys.stderr)
    else:
        with Progress(console=Console(stderr=True), transient=True) as progress:
            yield _Bar(progress, total, what)


def track(items: Iterable[T], total: int, what: str, show: bool | None = None) -> Iterator[T]:
    """Yield `items`, and show on stderr how many are done; if `show` is None, only on a terminal."""
    with steps(total, what, show) as shown:
        for item in items:
            yield item
            shown.done()
