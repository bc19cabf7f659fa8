"""Write names in running text so that one with marks of direction, or from right to left, moves nothing around it."""

from __future__ import annotations

import re

# FIRST STRONG ISOLATE and POP DIRECTIONAL ISOLATE of the Unicode Bidirectional Algorithm (UAX #9)
_FSI, _PDI = "\u2068", "\u2069"
_INITIATORS = "\u2066\u2067\u2068"
_MARKS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_RIGHT_TO_LEFT = {"R", "AL", "AN"}
# Controls, which move a terminal's cursor, ends of paragraphs, which end an isolate, and halves of characters.
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def isolated(text: str) -> str:
    r"""Return `text` as it can stand in a line of other text, in a terminal too.

    Control characters are escaped, as ``\x1b``. If it has marks of direction or letters that are written from right to
    left, it stands between isolates, which its own marks cannot end; else it is as given.

    >>> isolated("heat"), isolated("\x1b[2J"), ascii(isolated("\u202eheat"))
    ('heat', '\\x1b[2J', "'\\u2068\\u202eheat\\u2069'")
    """
    legible = _UNFIT.sub(lambda found: repr(found[0])[1:-1], str(text))
    if legible.isascii():
        return legible
    from unicodedata import bidirectional  # here: `import npu_layout` does not need it

    if not any(c in _MARKS or bidirectional(c) in _RIGHT_TO_LEFT for c in legible):
        return legible
    opened = before = 0
    for c in legible:
        if c in _INITIATORS:
            opened += 1
        elif c == _PDI and opened:
            opened -= 1
        elif c == _PDI:
            before += 1
    return _FSI * (before + 1) + legible + _PDI * (opened + 1)


def many(count: int, what: str) -> str:
    """Return a number of things: ``1 frame``, ``2 frames``."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def quoted(name: str) -> str:
    r"""Return `name` in quotes, with marks of direction escaped, and isolated if it is written from right to left.

    >>> print(quoted("p4"), quoted("\u202ep4"))
    'p4' '\u202ep4'
    """
    return isolated(repr(name))
