"""Keep in bounded memory what was worked out for frames of one form, for later frames of that form."""

from __future__ import annotations

from typing import TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

MOST = 64  # a loop meets a few forms; parts of many sizes are that many that finding them again gains little


class BoundedDict(dict[_Key, _Value]):
    """A dict of at most 64 items: it is emptied before another one is kept."""

    def keep(self, key: _Key, value: _Value) -> _Value:
        """Keep a value by a key, and return it."""
        if len(self) >= MOST:
            self.clear()
        self[key] = value
        return value
