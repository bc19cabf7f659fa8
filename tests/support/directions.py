"""Which marks of direction a text has outside of isolates, by Unicode's algorithm (UAX #9), for tests alone."""

from __future__ import annotations

import unicodedata

MARKS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_STARTS, _END = "\u2066\u2067\u2068", "\u2069"


def outside_of_isolates(text: str) -> list[str]:
    """Return marks and letters from right to left that no FIRST STRONG ISOLATE contains, and isolates not ended.

    An isolate ends with its own mark or with the paragraph.
    """
    found = []
    for paragraph in text.splitlines():
        depth = 0
        for c in paragraph:
            if depth == 0 and c != "\u2068" and (c in MARKS or unicodedata.bidirectional(c) in ("R", "AL", "AN")):
                found.append(c)
            if c in _STARTS:
                depth += 1
            elif c == _END and depth:
                depth -= 1
        found += ["not ended"] * depth
    return found
