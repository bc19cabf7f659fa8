"""Feed a model's recorded inputs in each other's place, and report which ones the device was fed so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ...buffers import TensorSpec
from ...layouts import Layout
from ...recordings import CAMERA, Recording
from ...support import quoted
from ..verdicts.verdict import Judgement
from .input_report import InputReport

_MANY = 8  # inputs of one size, of which every two are exchanged; of more, neighbours

Places = Mapping[str, str]  # {recorded input: the model's input in whose place it is fed}


class Exchange(NamedTuple):
    """Recorded inputs in each other's place.

    places: {input: the place in which it is fed}, of those that are not in their own. text: that in words. inputs: what
    every input of the model is given.
    """

    places: Places
    text: str
    inputs: dict[str, np.ndarray]


def exchanges(inputs: Mapping[str, np.ndarray], names: Sequence[str]) -> Iterator[Exchange]:
    """Yield exchanges of recorded inputs of the same number of bytes: of two, then of all, in turn and reversed.

    names: of the model's inputs, in the model's order. The bytes that a place is given are read by the place's spec.
    """
    alike: dict[tuple[int, int], list[str]] = {}
    for name in names:
        array = inputs.get(name)
        if array is not None and name not in CAMERA and array.dtype.kind in "biuf" and array.size:
            alike.setdefault((array.nbytes, array.dtype.itemsize), []).append(name)
    for group in alike.values():
        seen: list[Places] = []
        for order in _orders(group):
            places = {name: place for name, place in zip(group, order) if name != place}
            if places and places not in seen:
                seen.append(places)
                yield Exchange(places, _text(places), _fed(inputs, places))


def _orders(group: Sequence[str]) -> Iterator[list[str]]:
    near = len(group) if len(group) <= _MANY else 2
    for i, j in combinations(range(len(group)), 2):
        if j - i < near:
            order = list(group)
            order[i], order[j] = order[j], order[i]
            yield order
    yield from ([*group[by:], *group[:by]] for by in (1, -1))
    yield list(group[::-1])


def _text(places: Places) -> str:
    """Return in words: "'left' and 'right' were fed in each other's place"."""
    if len(places) == 2:
        return f"{' and '.join(map(quoted, places))} were fed in each other's place"
    (first, place), *others = places.items()
    rest = (f"{quoted(name)} in that of {quoted(of)}" for name, of in others)
    return f"{quoted(first)} was fed in the place of {quoted(place)}, {', '.join(rest)}"


def _fed(inputs: Mapping[str, np.ndarray], places: Places) -> dict[str, np.ndarray]:
    fed = dict(inputs)
    for name, place in places.items():
        there = inputs[place]
        fed[place] = np.ascontiguousarray(inputs[name]).reshape(-1).view(there.dtype).reshape(there.shape)
    return fed


def in_other_places(
    shown: Mapping[str, tuple[Judgement, Places]],
    inputs: Mapping[str, InputReport],
    recording: Recording,
    frames: Sequence[int],
) -> dict[str, InputReport]:
    """Return the reports of the inputs, those that were fed in each other's place among them.

    shown: {output: its judgement, and the places that it shows}; if outputs show different exchanges, the one that
    moves most inputs counts. frames: the numbers of the frames that were tried.
    """
    reports = dict(inputs)
    if not shown:
        return reports
    output, (judgement, places) = max(shown.items(), key=lambda item: len(item[1][1]))
    recorded = recording.frames[frames[0]].inputs
    why = f"{judgement.why} The output {quoted(output)} shows it."
    for name in places:
        before = reports.get(name)
        if before is not None and not before:
            reports[name] = replace(before, why=f"{before.why} {why}")
            continue
        spec = recording.specs.get(name) or _plain(recorded[name])
        reports[name] = InputReport(name, "input_order", None, why, spec, tuple(frames))
    return reports


def _plain(array: np.ndarray) -> TensorSpec:
    return TensorSpec(array.shape, Layout.of_rank(array.ndim), array.dtype)
