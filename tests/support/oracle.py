"""A second reading of tags and pitches, for tests alone: plain Python loops that share no code with the library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any


@cache
def parts(tag: str) -> list[tuple[str, int]]:
    """``NCHW16c`` -> [("N", 0), ("C", 0), ("H", 0), ("W", 0), ("C", 16)]."""
    found, digits = [], ""
    for letter in tag:
        if letter.isdigit():
            digits += letter
        else:
            found.append((letter.upper(), int(digits or 0)))
            digits = ""
    return found


def stored_shape(tag: str, extents: dict[str, int]) -> list[int]:
    """The extents of the storage array."""
    result = []
    for letter, block in parts(tag):
        factor = 1
        for other, size in parts(tag):
            if other == letter and size:
                factor *= size
        result.append(block or (extents[letter] + factor - 1) // factor)
    return result


def place(tag: str, stored: Sequence[int], index: dict[str, int], strides: Sequence[int] | None = None) -> int:
    """The element of one logical index: digits are peeled off each axis from the right of the tag, as in an
    odometer, the upper-case letters have what is left, wherever they stand, and all are weighted from the left
    (Horner), or by the strides given."""
    rest = dict(index)
    digits = []
    for letter, block in reversed(parts(tag)):
        digits.insert(0, rest[letter] % block if block else 0)
        rest[letter] = rest[letter] // block if block else rest[letter]
    digits = [digit if block else rest[letter] for digit, (letter, block) in zip(digits, parts(tag))]
    if strides is not None:
        total = 0
        for digit, stride in zip(digits, strides):
            total += digit * stride
        return total
    at = 0
    for digit, extent in zip(digits, stored):
        at = at * extent + digit
    return at


def indices(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    if not shape:
        yield ()
        return
    for first in range(shape[0]):
        for others in indices(shape[1:]):
            yield (first, *others)


def scatter(
    tensor: Any, tag: str, axes: str, stored: Sequence[int], strides: Sequence[int] | None, start: int, size: int
) -> list[Any]:
    """The buffer, a list of `size` numbers, that holds `tensor`; what nothing is written to holds 0."""
    buffer = [0] * size
    for index in indices(tensor.shape):
        buffer[start + place(tag, stored, dict(zip(axes, index)), strides)] = tensor[index].item()
    return buffer


def walk(array: Any, tag: str, axes: str) -> list[int]:
    """Bytes from the first element to each, indices counted up in the order of a plain tag; a flipped axis is walked
    from its lowest address."""
    order = [axes.index(letter) for letter in tag]
    steps = [abs(array.strides[i]) for i in order]
    return [sum(i * step for i, step in zip(index, steps)) for index in indices([array.shape[i] for i in order])]


def contiguous(array: Any, tag: str, axes: str) -> bool:
    """Whether that walk meets one element after the other, forwards."""
    forwards = all(step >= 0 or n < 2 for step, n in zip(array.strides, array.shape))
    return not array.size or (forwards and walk(array, tag, axes) == list(range(0, array.nbytes, array.itemsize)))


def in_order(array: Any, tag: str, axes: str) -> bool:
    """Whether that walk only ever climbs, by an element or more."""
    places = walk(array, tag, axes) if array.size else []
    return all(b - a >= array.itemsize for a, b in zip(places, places[1:]))
