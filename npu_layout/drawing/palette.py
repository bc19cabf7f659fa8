"""Colour the planes of a tensor so that colour-blind readers, and black-and-white prints, distinguish them."""

from __future__ import annotations

from collections.abc import Sequence

from ..layouts import Shape, Storage
from .shown_part import Part, block, roles

Colour = tuple[int, int, int]  # R, G, B

WHITE: Colour = (255, 255, 255)
INK: Colour = (34, 34, 34)
GRAY: Colour = (110, 110, 110)
PALE: Colour = (190, 190, 190)
EMPTY: Colour = (247, 247, 247)

# Okabe and Ito, "Color Universal Design" (2008), without black; the strongest three first, yellow last.
DISTINCT: tuple[Colour, ...] = (
    (213, 94, 0),
    (0, 158, 115),
    (0, 114, 178),
    (230, 159, 0),
    (86, 180, 233),
    (204, 121, 167),
    (153, 153, 153),
    (240, 228, 66),
)
# The same hues from light to dark, for blocks of many channels.
RAMPS: tuple[tuple[Colour, Colour], ...] = (
    ((214, 232, 247), (0, 66, 116)),
    ((255, 226, 190), (140, 52, 0)),
    ((206, 240, 226), (0, 80, 56)),
    ((246, 220, 236), (110, 36, 80)),
)


def mix(a: Colour, b: Colour, share: float) -> Colour:
    """Return a colour between `a` and `b`, with this `share` of `b`."""
    red, green, blue = (round(x + (y - x) * share) for x, y in zip(a, b))
    return red, green, blue


def ink_on(colour: Colour) -> Colour:
    """Return black or white, whichever contrasts more with `colour` (WCAG 2.2, relative luminance).

    >>> ink_on((240, 228, 66)), ink_on((0, 66, 116))
    ((34, 34, 34), (255, 255, 255))
    """
    return INK if (luminance(colour) + 0.05) / (luminance(INK) + 0.05) > 1.05 / (luminance(colour) + 0.05) else WHITE


def luminance(colour: Colour) -> float:
    """Return the relative luminance, 0 (black) to 1 (white)."""
    red, green, blue = (v / 3294.6 if v <= 10 else ((v / 255 + 0.055) / 1.055) ** 2.4 for v in colour)
    return float(0.2126 * red + 0.7152 * green + 0.0722 * blue)


def hexadecimal(colour: Colour) -> str:
    """Return the colour as SVG writes it: ``#f0e442``."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


class PlaneColours:
    """The colour of each shown index, the same for every storage of one tensor.

    If there are at most as many planes as distinct colours, each has its own. Else each block has a hue, and each
    channel in it a shade.
    """

    def __init__(self, storages: Sequence[Storage], part: Part) -> None:
        axes = storages[0].layout.axes
        role = roles(axes)
        letters = role.planes or role.colour
        self._where = [axes.index(letter) for letter in letters]
        inner = max(block(storage, role.colour) for storage in storages)
        shown = part[role.colour]
        self._keys: dict[Shape, Colour] = {}
        outer = [()] if role.colour == letters else _combinations([part[a] for a in role.others])
        keys = [(*o, c) for o in outer for c in shown]
        if len(keys) <= len(DISTINCT) and (inner < 4 or shown[-1] // inner == shown[0] // inner):
            self._keys = dict(zip(keys, DISTINCT))
            return
        size = inner if inner >= 4 else len(shown)
        first = shown.start - shown.start % inner
        groups: dict[Shape, int] = {}
        for key in keys:
            group, shade = divmod(key[-1] - first, size)
            light, dark = RAMPS[groups.setdefault((*key[:-1], group), len(groups)) % len(RAMPS)]
            self._keys[key] = mix(light, dark, shade / max(1, size - 1))

    def __getitem__(self, index: Shape) -> Colour:
        return self._keys[tuple(index[i] for i in self._where)]


def _combinations(ranges: Sequence[range]) -> list[Shape]:
    found: list[Shape] = [()]
    for choices in ranges:
        found = [(*head, i) for head in found for i in choices]
    return found
