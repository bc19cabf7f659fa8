"""Distinguish the parts of a head by channels and names: which output has which parts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...buffers import TensorSpec
from ...errors import LayoutError
from ..heads.form import Part
from .output_axes import Axes

_Run = tuple[int, int]  # of parts: the first, and the one after the last
_Cover = list[tuple[int, _Run]]  # every part in an output of its own, or with its neighbours


class UndistinguishedError(LayoutError):
    """Outputs have the parts of a head, but extents and names do not say which has which.

    ways: two ways to assign them, in words. spare: whichever is right, an output is left over.
    """

    def __init__(self, why: str, ways: str = "", spare: bool = False) -> None:
        super().__init__(why)
        self.ways, self.spare = ways, spare


class MisnamedError(LayoutError):
    """An output has a part by its extents, and by its name another one: an output is missing, or the name misleads.

    why_alone: that, without other forms. required: the head needs the part that would be missing.
    """

    def __init__(self, why: str, why_alone: str = "", required: bool = True) -> None:
        super().__init__(why)
        self.why_alone, self.required = why_alone or why, required


def listed(i: int, spec: TensorSpec) -> str:
    """Return an output's name and shape, for a message."""
    return f"{spec.name or f'output {i}'} {spec.shape}"


def names_of(outputs: Mapping[int, TensorSpec]) -> str:
    """Return the names of outputs, whose shapes a message says already; "none" without any."""
    return ", ".join(spec.name or f"output {i}" for i, spec in outputs.items()) or "none"


def is_hinted(part: Part, name: str) -> bool:
    """Return whether an output's name has the letters of a part's hint; of none, every name has them."""
    return any(name.endswith(hint) if hint[-1:].isdigit() else hint in name for hint in part.hint.split("|"))


#: Letters that say what has boxes and what has scores, where they have as many channels. "cv2" and "cv3" are the layers
#: of ultralytics' heads in the names of a graph's values (ultralytics/nn/modules/head.py, Detect).
_WORDS = {"box": ("box", "reg", "cv2"), "score": ("score", "cls", "class", "conf", "cv3")}


def _words_in(name: str) -> list[str]:
    """Return the roles whose letters a name has."""
    return [role for role, letters in _WORDS.items() if any(some in name.lower() for some in letters)]


def turns_of(part: Part, anchors: int) -> int:
    """Return how often the channels of a part follow each other, of a cell with so many anchors."""
    return 1 if part.shared else anchors


class _Assignment(NamedTuple):
    """What is assigned: parts, the outputs that may have them with their axes, and which role is in which output."""

    parts: Sequence[Part]
    specs: Sequence[TensorSpec]
    found: Sequence[tuple[int, Axes]]
    anchors: int
    wanted: Mapping[str, str]

    def parts_of(self, run: _Run) -> tuple[Part, ...]:
        """Return the parts of a run, the first of them to before the last."""
        return tuple(self.parts[slice(*run)])

    def name(self, k: int) -> str:
        """Return what messages call an output."""
        return self.specs[k].name or f"output {k}"

    def fits(self) -> Iterator[tuple[tuple[int, _Run], Axes]]:
        """Yield each output with each run of parts that it can have: one part, or several that are all required."""
        ends = itertools.combinations(range(len(self.parts) + 1), 2)
        runs = [(i, j) for i, j in ends if j - i == 1 or not any(part.optional for part in self.parts[i:j])]
        for k, axes in self.found:
            yield from (((k, run), axes) for run in runs if self._can_have(k, axes, self.parts_of(run)))

    def _can_have(self, k: int, axes: Axes, parts: Sequence[Part]) -> bool:
        """Return whether an output has as many channels as these parts, and no part is wanted in another output."""
        apart = axes.anchor is not None or axes.turned
        if apart and any(part.shared for part in parts):
            return False
        if axes.channels != sum(part.count * (1 if apart else turns_of(part, self.anchors)) for part in parts):
            return False
        name = self.specs[k].name
        return all(self.wanted.get(part.role, name) == name for part in parts)

    def is_hinted(self, cover: _Cover) -> bool:
        """Return whether the name of each output has the letters that its parts hint at."""
        return all(is_hinted(part, self.specs[k].name) for k, run in cover for part in self.parts_of(run))

    def is_named(self, cover: _Cover) -> bool:
        """Return whether the outputs of boxes and of scores have letters of their own in their names, and no others."""
        alone = {self.parts[start].role: self.specs[k].name for k, (start, end) in cover if end - start == 1}
        return all(role in alone and _words_in(alone[role]) == [role] for role in _WORDS)

    def is_typed(self, cover: _Cover) -> bool:
        """Return whether classes are whole numbers, and scores are floats: no network scores in integers of 32 bits."""
        alone = {self.parts[start].role: self.specs[k] for k, (start, end) in cover if end - start == 1}
        if not {"label", "score"} <= alone.keys():
            return False
        label, score = (alone[role].element.unpacked for role in ("label", "score"))
        is_whole = label.kind in "iu" and label.itemsize >= 4 and alone["label"].quantization is None
        return is_whole and score.kind == "f"

    def words(self, cover: _Cover) -> str:
        """Return in words which part each output begins with."""
        return " and ".join(f"{self.parts[start].role} in {self.name(k)}" for k, (start, _) in cover)

    def expected_and_got(self) -> str:
        """Return in words the channels that the parts need, and those that the outputs have."""
        counts = ((part.role, part.count * turns_of(part, self.anchors)) for part in self.parts if not part.optional)
        names = ", ".join(f"{role} of {count}" for role, count in counts)
        got = ", ".join(f"{self.name(k)} of {axes.channels} channels" for k, axes in self.found) or "none"
        return f"expected {names} channels, in outputs of their own or one after the other; got {got}"


def assign(
    parts: Sequence[Part],
    where: str,
    specs: Sequence[TensorSpec],
    found: Sequence[tuple[int, Axes]],
    anchors: int,
    wanted: Mapping[str, str],
) -> list[tuple[int, tuple[Part, ...], Axes]]:
    """Return which output has which parts: each one part, or several that follow each other.

    wanted: {role: name of its output}. LayoutError if no assignment fits, UndistinguishedError if several do.
    """
    asked = _Assignment(parts, specs, found, anchors, wanted)
    fits = dict(asked.fits())
    covers = list(_covers(parts, 0, fits, frozenset()))
    most = max(map(len, covers), default=0)
    covers = [cover for cover in covers if len(cover) == most]
    if not covers:
        raise LayoutError(f"{where}: {asked.expected_and_got()}")
    for says in (asked.is_hinted, asked.is_named, asked.is_typed):
        saying = [cover for cover in covers if says(cover)] if len(covers) > 1 else []
        covers = saying if len(saying) == 1 else covers
    if len(covers) > 1:
        ways = "; or ".join(map(asked.words, covers[:2]))
        why = f"{where}: extents do not distinguish parts: {ways}; give Decoder outputs={{role: names}}"
        raise UndistinguishedError(why, ways, most < len({k for k, _ in found}))
    return [(k, asked.parts_of(run), fits[k, run]) for k, run in covers[0]]


def _covers(
    parts: Sequence[Part], at: int, fits: Mapping[tuple[int, _Run], Axes], used: frozenset[int]
) -> Iterator[_Cover]:
    """Yield the ways to find the parts from `at` on in outputs that are not used yet."""
    if at == len(parts):
        yield []
        return
    if parts[at].optional:
        yield from _covers(parts, at + 1, fits, used)
    for k, run in fits:
        if run[0] == at and k not in used:
            for rest in _covers(parts, run[1], fits, used | {k}):
                yield [(k, run), *rest]
