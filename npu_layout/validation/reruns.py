"""Run the model again on inputs made in other ways than declared."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ..diagnosis import BOTH, Evidence, Remade, Trial, border_of, exchanges
from ..engines import OnnxRuntimeEngine
from ..errors import NpuLayoutError
from ..recordings import Feeds, Frame, Recording
from ..support import Steps, steps
from .border_search import CHOICES, declared_pad, searched
from .comparing import KeptRun
from .image_inputs import Id, Images, images
from .tried_ways import Answers, Key, TriedWays, TwoChanges

LOOKING = "looking for causes"  # what the progress says
_RERUN = 6  # frames whose inputs are made in other ways
_VARY = 2  # of these, in which a vector varies: two changes at once are tried on more if they explain something there
_TRIED = {  # by the id of a variant
    "color": "colours",
    "scale": "mean and std",
    "layout": "layouts",
    "fit": "resizing",
    "device": "what the device sees",
    "source": "frame colours",
    BOTH: "two changes",
}


def rerun(
    engine: OnnxRuntimeEngine,
    recording: Recording,
    kept: Sequence[KeptRun],
    evidence: Mapping[str, Evidence],
    progress: bool | None,
    causes: Mapping[str, Trial | None] = MappingProxyType({}),
) -> Answers:
    """Return {model's output: its tensors for each other way to make an input}.

    Tensors of another shape than for the recorded input are left out. A way has none at all if it has one in fewer than
    half of the frames of which it makes another input, or if it explains far less of the first one than the input as
    recorded, than what explains the output best, or than another way; one of two changes also if it explains no more of
    the first two frames, or not clearly more than one of the changes; one of several images also if that of fewer
    explains every output as well. Those that explain more of an output of few values have one for every kept frame.
    `evidence`, `causes`: of the model's outputs; the latter as `whole_cause` returns them.
    """
    rows = sorted({int(i) for i in np.linspace(0, len(kept) - 1, min(_RERUN, len(kept))).round()})
    groups = images(recording, kept)
    tried = TriedWays(evidence, causes, kept[0].references)
    exchanges_inputs = len(kept[0].inputs) > 1
    with steps((len(groups) + exchanges_inputs) * len(rows), LOOKING, progress) as shown:
        search = _Search(engine, recording, kept, tried, shown)
        search.on_chosen(groups, rows)
        needless = tried.merge()
        leading = {k for k in tried.leading(rows) if not all(k in of for of in needless.values())}
        if leading:
            search.on_others(groups, sorted(set(range(len(kept))) - set(rows)), leading)
        if exchanges_inputs:
            shown.say(f"{LOOKING}: order of the inputs")
            search.exchange(rows)
    return {
        output: [
            one if tried.is_known(key, one, rows) and key not in needless[output] else one._replace(answers={})
            for key, one in of.items()
        ]
        for output, of in tried.of.items()
    }


class _Search:
    """Runs of the model on the kept frames, in other ways."""

    def __init__(
        self,
        engine: OnnxRuntimeEngine,
        recording: Recording,
        kept: Sequence[KeptRun],
        tried: TriedWays,
        shown: Steps,
    ) -> None:
        self._engine, self._recording, self._kept, self._tried, self._shown = engine, recording, kept, tried, shown
        self._pads: list[int] = []  # borders that outputs showed
        self._first: int | None = None  # the frame of which what is far is forgotten

    def on_chosen(self, groups: Sequence[Images], rows: Sequence[int]) -> None:
        """Try each way on the first of some frames, and what is promising there on the others."""
        self._first = rows[0] if len(rows) > 2 else None
        borders: set[Key] = set()
        for group in groups:
            left_out: set[Key] = set()
            for row in rows:
                both = TwoChanges(self._tried, row) if row == rows[0] else None
                combined = self._remake(group, row, left_out, both)
                if row == rows[0] and group is groups[-1]:
                    borders = self._border(group, rows)
                    left_out |= borders
                left_out |= set() if both is None else both.left
                if row == rows[0] < rows[-1]:
                    far = self._tried.far(row)
                    left_out |= far
                    if row == self._first:
                        self._tried.forget(far)
                if row in rows[_VARY - 1 : -1]:
                    left_out |= {key for key in combined if not self._tried.gains(key)}
                self._shown.done()
        self._first = None
        for group in groups[-1:] if len(rows) > 1 and not borders and not self._pads else ():
            self._border(group, rows, between=False)  # what the first frame does not promise, all of them may

    def on_others(self, groups: Sequence[Images], rows: Sequence[int], leading: set[Key]) -> None:
        """Try the leading ways alone, on more frames."""
        self._shown.more(len(groups) * len(rows))
        for group in groups:
            for row in rows:
                self._remake(group, row, only=leading)
                if self._pads:
                    self._remake(group, row, only=leading, pads=self._pads)
                self._shown.done()

    def _remake(
        self,
        group: Images,
        row: int,
        left_out: Collection[Key] = (),
        both: TwoChanges | None = None,
        only: set[Key] | None = None,
        pads: Sequence[int] = (),
    ) -> set[Key]:
        """Add the model's answers to one frame, images of it made in each other way but for those of `left_out`.

        both: whether to try two changes at once, which always if it is None; only: the keys of the ways to try, if
        these are not all; pads: try borders of these pixel values alone. Return the keys of those that combine two.
        """
        answers: dict[
            tuple[int, ...], tuple[dict[str, np.ndarray], dict[str, np.ndarray]]
        ] = {}  # by the ids of arrays, which it keeps alive
        given_up: dict[tuple[int, ...], Key] = {}  # the first way of such arrays
        combined: set[Key] = set()

        def wanted(id: Id) -> bool:
            key = group.names, id
            return key not in left_out and (only is None or key in only) and (both is None or both.wanted(key))

        k, unchanged = self._kept[row], set[Id]()
        for way in group.made(self._recording, k, wanted, pads, unchanged):
            key = group.names, way.id
            combined |= {key} if way.combines else set()
            self._shown.say(f"{LOOKING}: {_TRIED[way.id[0]]} of {group.words}")
            ids = tuple(map(id, way.arrays.values()))
            if ids not in answers:
                answer = self._engine.infer({**k.inputs, **way.arrays})
                alike = {name: answer[name] for name, y in k.references.items() if answer[name].shape == y.shape}
                answers[ids] = way.arrays, alike
            remade = Remade(way.text, way.fix, {}, way.cause, key)
            if ids in given_up:
                self._tried.add_given_up(key, given_up[ids], remade)
                continue
            self._tried.add(key, row, answers[ids][1], remade)
            if row == self._first and self._tried.give_up(key, row):
                given_up[ids] = key
                answers[ids][1].clear()
        self._tried.unchanged.update(((group.names, id), row) for id in unchanged)
        return combined

    def _border(self, group: Images, rows: Sequence[int], between: bool = True) -> set[Key]:
        """Add the model's answers to frames for the border that their outputs show, if they show an unusual one.

        between: as of `searched`. Return the keys of the borders that were tried in all frames.
        """
        declared, tried = declared_pad(self._recording.meta), self._tried

        def of_pads(row: int) -> dict[int, dict[str, np.ndarray]]:
            keys = [(border_of(key[1]), key) for key in tried.in_every_output(row) if key[0] == group.names]
            return {pad: tried.answer(key, row) for pad, key in keys if pad is not None}

        def run(pad: int, row: int) -> dict[str, np.ndarray] | None:
            self._remake(group, row, pads=[pad])
            return of_pads(row).get(pad)

        of_rows = {row: of_pads(row) for row in rows}
        rows = sorted(rows, key=lambda row: not of_rows[row])  # the first one may have no border
        known = {pad: {row: of[pad] for row, of in of_rows.items() if pad in of} for pad in of_rows[rows[0]]}
        if not known:
            return set()
        recorded = {} if declared is None else {declared: {row: self._kept[row].references for row in rows}}
        found = searched(tried.evidence, rows, {**known, **recorded}, run, between)
        for of in tried.of.values():
            for key in [key for key in of if key[0] == group.names and border_of(key[1]) not in {None, *known}]:
                if found is None or border_of(key[1]) != found[0]:
                    del of[key]
                else:
                    of[key] = of[key]._replace(text=f"{of[key].text}{found[1]}", choices=CHOICES)
        self._pads = [] if found is None else [found[0]]
        whole = set.intersection(*map(tried.in_every_output, rows))
        return {key for key in whole if key[0] == group.names and border_of(key[1]) is not None}

    def exchange(self, rows: Sequence[int]) -> None:
        """Add the model's answers to exchanged inputs, if they differ from those as recorded, and from each other.

        Inputs that the model refuses in each other's place, such as indices beyond its table, are left out.
        """
        feeds = Feeds(self._engine, self._recording)
        for row in rows:
            k = self._kept[row]
            seen: dict[str, list[np.ndarray]] = {output: [reference] for output, reference in k.references.items()}
            for places, text, inputs in exchanges(k.recorded, list(k.inputs)):
                try:
                    answer = self._engine.infer(feeds(Frame(inputs, {}), k.number))
                except NpuLayoutError:
                    continue
                key = tuple(sorted(places)), ("order", *sorted(places.items()))
                new = {}
                for output, others in seen.items():
                    y = answer[output]
                    if y.shape == others[0].shape and not any(np.array_equal(y, other) for other in others):
                        others.append(y)
                        new[output] = y
                self._tried.add(key, row, new, Remade(text, dict(places), {}, "input_order", key))
            self._shown.done()
