"""The encodings of boxes, as data: how many numbers a box has, and what they are relative to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Encoding(NamedTuple):
    """What is so of every box of one encoding; `encodings` has the arithmetic."""

    numbers: int = 4  #: that are stored of a box; of each as many channels as bins, if it is binned
    binned: bool = False
    sides: bool = False  #: they are distances from a cell's centre to the edges
    anchored: bool = False  #: sizes are multiples of an anchor, which the head has to have
    offset: bool = False  #: they are offsets from an anchor or a prior
    spread: bool = False  #: centres may move from the middles of their cells by a factor
    split: bool = False  #: centre and size may be parts of their own
    scaled: bool = False  #: sizes, or all numbers, are multiplied by the unit alone
    decoded: bool = False  #: the graph has made boxes of them: no cell and no anchor counts


ENCODINGS: Mapping[str, Encoding] = {
    "dfl": Encoding(binned=True, sides=True),
    "distances": Encoding(sides=True),
    "center_power": Encoding(anchored=True, split=True),
    "center_exp": Encoding(spread=True, split=True),
    "variances": Encoding(offset=True),
    "xywh": Encoding(scaled=True, decoded=True),
    "xyxy": Encoding(scaled=True, decoded=True),
    "center_size": Encoding(numbers=2, scaled=True),
    "sigmoid_exp": Encoding(anchored=True, spread=True, split=True),
    "linear": Encoding(offset=True),
    "tanh_sigmoid": Encoding(scaled=True),
}


def having(fact: str, word: str = "and") -> str:
    """Return the encodings of which a fact is so, for a message.

    >>> having("sides", "or")
    "'dfl' or 'distances'"
    """
    return f" {word} ".join(repr(name) for name, encoding in ENCODINGS.items() if getattr(encoding, fact))
