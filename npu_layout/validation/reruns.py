"""Run the model again on inputs made in other ways than declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

import numpy as np

from ..diagnosis import (
    BOTH,
    MARGIN,
    NEARLY_ALL,
    PICTURE,
    SOURCE,
    Evidence,
    Remade,
    Trial,
    border_of,
    distinct,
    exchanges,
    explained_of_row,
    explains_more,
    far_less,
    gained,
)
from ..engines import OnnxRuntimeEngine
from ..errors import NpuLayoutError
from ..recordings import Feeds, Frame, Recording
from ..support import Steps, steps
from .border_search import CHOICES, declared_pad, searched
from .comparing import KeptRun
from .image_inputs import Id, Images, images

LOOKING = "looking for causes"  # what the progress says
_RERUN = 6  # frames whose inputs are made in other ways
_VARY = 2  # of these, in which a vector varies: two changes at once are tried on more if they explain something there
_FEW = 2048  # values of an output, which in so many frames may prove nothing
_HARDLY = 0.5  # dB: changes of one image and of all that explain an output so nearly alike are the same to it
_MORE = 1.0  # dB that a change explains more than the input as recorded, before another one beside it is tried
_LEADING = 2  # ways that explain most of such an output: they are tried on all kept frames
_TRIED = {  # by the id of a variant
    "color": "colours",
    "scale": "mean and std",
    "layout": "layouts",
    "fit": "resizing",
    "device": "what the device sees",
    "source": "frame colours",
    BOTH: "two changes",
}

Answers = dict[str, list[Remade]]
Key = tuple[tuple[str, ...], Id]  # of a way to make the inputs: the names of the inputs, and the id of their variant
_RECORDED: Key = (), ()  # no other way
Made = Mapping[str, dict[Key, Remade]]  # of each output, the ways that were tried


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
    half of the frames, or if it explains far less of the first one than the input as recorded, than what explains the
    output best, or than another way; one of two changes also if it explains no more of the first two frames, or not
    clearly more than one of the changes; one of several images also if that of fewer explains every output as well.
    Those that explain more of an output of few values have one for every kept frame.
    `evidence`, `causes`: of the model's outputs; the latter as `whole_cause` returns them.
    """
    rows = sorted({int(i) for i in np.linspace(0, len(kept) - 1, min(_RERUN, len(kept))).round()})
    chosen = [(row, kept[row]) for row in rows]
    groups = images(recording, kept)
    made: dict[str, dict[Key, Remade]] = {output: {} for output in kept[0].references}
    pads: list[int] = []
    exchanges_inputs = len(kept[0].inputs) > 1
    with steps((len(groups) + exchanges_inputs) * len(rows), LOOKING, progress) as shown:
        for group in groups:
            left_out: set[Key] = set()
            for row, k in chosen:
                both = _Both(evidence, causes, row, made) if row == rows[0] else None
                combined = _remake(engine, recording, group, row, k, made, shown, left_out, both)
                if pads:
                    _remake(engine, recording, group, row, k, made, shown, left_out, pads=pads)
                elif row == rows[0] and group is groups[-1]:
                    pads = _border(engine, recording, group, row, k, made, shown, evidence)
                left_out |= set() if both is None else both.left
                if row == rows[0] < rows[-1]:
                    far = _far(evidence, causes, row, made)
                    left_out |= far
                    if len(rows) > 2:
                        _forget(far, made)
                if row in rows[_VARY - 1 : -1]:
                    left_out |= {key for key in combined if not _gains(evidence, made, key)}
                shown.done()
        of_one = _without_those_of_one(evidence, made)
        needless = {output: _needless(evidence.get(output), of) | of_one[output] for output, of in made.items()}
        made = {output: distinct(of) for output, of in made.items()}
        leading = {k for k in _leading(evidence, made, rows) if not all(k in of for of in needless.values())}
        rest = sorted(set(range(len(kept))) - set(rows)) if leading else []
        shown.more(len(groups) * len(rest))
        for group in groups:
            for row in rest:
                _remake(engine, recording, group, row, kept[row], made, shown, set(), None, leading)
                if pads:
                    _remake(engine, recording, group, row, kept[row], made, shown, set(), None, leading, pads)
                shown.done()
        if exchanges_inputs:
            shown.say(f"{LOOKING}: order of the inputs")
            _exchange(engine, recording, chosen, made, shown)
    return {
        output: [
            one if 2 * len(one.answers) >= len(rows) and key not in needless[output] else one._replace(answers={})
            for key, one in of.items()
        ]
        for output, of in made.items()
    }


class _Both:
    """Whether to try two changes at once: not if one input, or another cause, explains nearly all of every output.

    Of many, only those of which one change is the one that explains an output best. That is asked once, when all single
    changes are known. `left`: the keys of the ways that were not tried.
    """

    def __init__(
        self, evidence: Mapping[str, Evidence], causes: Mapping[str, Trial | None], row: int, made: Made
    ) -> None:
        self._evidence, self._causes, self._row, self._made = evidence, causes, row, made
        self.left: set[Key] = set()

    def wanted(self, key: Key) -> bool:
        """Whether to try the way of a key."""
        parts = _parts(key)
        if not parts or (self._is_needed and (key[1][0] != BOTH or self._leading.intersection(parts))):
            return True
        self.left.add(key)
        return False

    @cached_property
    def _is_needed(self) -> bool:
        inputs: set[Key] | None = None  # with each of which the model explains nearly all so far
        for output, e in self._evidence.items():
            if e.fits:
                by = self._explained(output, e)
                well = {key for key, db in by.items() if db >= NEARLY_ALL}
                inputs = well if inputs is None else inputs & well
        return not inputs

    @cached_property
    def _leading(self) -> set[Key]:
        """The single changes that explain most of an output each, and more than the input as recorded."""
        leading = set()
        for output, e in self._evidence.items():
            by = self._explained(output, e) if e.fits else {_RECORDED: 0.0}
            recorded = by.pop(_RECORDED)
            best = max((key for key in by if not _parts(key)), key=lambda key: by[key], default=None)
            leading |= set() if best is None or by[best] <= recorded + _MORE else {best}
        return leading

    def _explained(self, output: str, evidence: Evidence) -> dict[Key, float]:
        """Return the dB that each input explains; the recorded one's may be another cause's."""
        of = {key: one.answers.get(self._row) for key, one in self._made[output].items()}
        answers = {key: answer for key, answer in of.items() if answer is not None}
        recorded, others = explained_of_row(evidence, self._row, answers, self._causes.get(output))
        return {_RECORDED: recorded, **others}


def _keys(made: Made, row: int) -> set[Key]:
    """Return the keys of the ways that have a tensor of every output for a frame."""
    return set.intersection(*({key for key, one in of.items() if row in one.answers} for of in made.values()))


def _leading(evidence: Mapping[str, Evidence], made: Made, rows: Sequence[int]) -> set[Key]:
    """Return the keys of the ways that explain clearly more of an output of few values than the input as recorded."""
    found: dict[Key, float] = {}
    for output, e in evidence.items():
        if e.fits and e.references[0].size <= _FEW:
            for key, one in made[output].items():
                if 2 * len(one.answers) >= len(rows):
                    found[key] = max(found.get(key, 0.0), gained(e, one.answers))
    best = sorted((key for key, gain in found.items() if gain >= MARGIN), key=lambda key: -found[key])
    return set(best[:_LEADING])


def _far(
    evidence: Mapping[str, Evidence],
    causes: Mapping[str, Trial | None],
    row: int,
    made: Made,
) -> set[Key]:
    """Return the keys of the ways that explain far less of a frame of every output than another cause does."""
    known = _keys(made, row)
    answers = {output: {key: made[output][key].answers[row] for key in known} for output in evidence}
    far = (far_less(e, row, answers[output], causes.get(output)) for output, e in evidence.items())
    return known.intersection(*far)


def _forget(far: Iterable[Key], made: Made) -> None:
    """Drop the tensors of ways that are not tried any more: of large maps they take a gigabyte."""
    for of in made.values():
        for key in far:
            of[key].answers.clear()


def _needless(evidence: Evidence | None, made: Mapping[Key, Remade]) -> set[Key]:
    """Return the keys of the ways that make two changes, and explain not clearly more than one of these alone."""
    if evidence is None or not evidence.fits:
        return set()
    return {
        key
        for key, one in made.items()
        for part in _parts(key)
        if part in made and made[part].answers.keys() & one.answers.keys()
        if explains_more(evidence, one.answers, made[part].answers) < MARGIN
    }


def _without_those_of_one(evidence: Mapping[str, Evidence], made: Made) -> dict[str, set[Key]]:
    """Return, for each output, the keys of the changes of several images and of fewer of them that it does not need.

    The device had one set of inputs. If the change of fewer images explains every output as well, the others were as
    recorded. If that of more images explains some output clearly better, an output of the fewer ones had it, too.
    """
    needless: dict[str, set[Key]] = {output: set() for output in made}
    seen = {output: e for output, e in evidence.items() if e.fits and made[output]}
    known = {key for output in seen for key, one in made[output].items() if one.answers}
    for key in known:
        for one in (other for other in known if other[1] == key[1] and {*other[0]} < {*key[0]}):
            more = {
                output: explains_more(e, made[output][key].answers, made[output][one].answers)
                for output, e in seen.items()
                if key in made[output] and one in made[output]
            }
            if more and max(more.values()) < _HARDLY:
                for of in needless.values():
                    of.add(key)
            elif more and max(more.values()) >= MARGIN:
                for output, by in more.items():
                    needless[output] |= {one} if abs(by) < _HARDLY else set()
    return needless


def _parts(key: Key) -> list[Key]:
    """Return the keys of the changes that a way combines, or of what changes the border, too; none if it is one."""
    names, id = key
    if id[-1] == PICTURE:
        return [(names, id[:-1]), *((names, (*id[:-1], clamped)) for clamped in ("", "all pixels"))]
    if id[0] == BOTH:
        return [(names, part) for part in id[1:]]
    if id[0] == SOURCE and len(id) > 2:
        return [(names, (SOURCE, part)) for part in id[1:]]
    return [(names, id[:-1]), (names, ("color", "before"))] if id[0] == "scale" and len(id) > 3 else []


def _gains(evidence: Mapping[str, Evidence], made: Made, key: Key) -> bool:
    """Whether a way explains clearly more of some output than the input as recorded, in the frames tried so far."""
    tried = {output: made[output][key].answers for output, e in evidence.items() if e.fits and key in made[output]}
    return any(gained(evidence[output], answers) >= MARGIN for output, answers in tried.items())


def _remake(
    engine: OnnxRuntimeEngine,
    recording: Recording,
    group: Images,
    row: int,
    k: KeptRun,
    made: Made,
    shown: Steps,
    left_out: set[Key],
    both: _Both | None = None,
    only: set[Key] | None = None,
    pads: Sequence[int] = (),
) -> set[Key]:
    """Add the model's answers to one frame, images of it made in each other way but for those of the keys `left_out`.

    both: whether to try two changes at once, which always if it is None; only: the keys of the ways to try, if these
    are not all; pads: try borders of these pixel values alone. Return the keys of those that combine two.
    """
    answers: dict[
        tuple[int, ...], tuple[dict[str, np.ndarray], dict[str, np.ndarray]]
    ] = {}  # by the ids of arrays, which it keeps alive
    combined: set[Key] = set()

    def wanted(id: Id) -> bool:
        key = group.names, id
        return key not in left_out and (only is None or key in only) and (both is None or both.wanted(key))

    for way in group.made(recording, k, wanted, pads):
        key = group.names, way.id
        combined |= {key} if way.combines else set()
        shown.say(f"{LOOKING}: {_TRIED[way.id[0]]} of {group.words}")
        ids = tuple(map(id, way.arrays.values()))
        if ids not in answers:
            answers[ids] = way.arrays, engine.infer({**k.inputs, **way.arrays})
        answer = answers[ids][1]
        for output, reference in k.references.items():
            if answer[output].shape == reference.shape:
                one = made[output].setdefault(key, Remade(way.text, way.fix, {}, way.cause, key))
                one.answers[row] = answer[output]
    return combined


def _border(
    engine: OnnxRuntimeEngine,
    recording: Recording,
    group: Images,
    row: int,
    k: KeptRun,
    made: dict[str, dict[Key, Remade]],
    shown: Steps,
    evidence: Mapping[str, Evidence],
) -> list[int]:
    """Add the model's answers to one frame for the border that its outputs show, if they show an unusual one.

    Return its pixel value, or none.
    """
    declared = declared_pad(recording.meta)

    def answers(key: Key) -> dict[str, np.ndarray]:
        return {output: of[key].answers[row] for output, of in made.items()}

    def of_pads() -> dict[int, dict[str, np.ndarray]]:
        keys = [(border_of(key[1]), key) for key in _keys(made, row) if key[0] == group.names]
        return {pad: answers(key) for pad, key in keys if pad is not None}

    def run(pad: int) -> dict[str, np.ndarray] | None:
        _remake(engine, recording, group, row, k, made, shown, set(), pads=[pad])
        return of_pads().get(pad)

    known = of_pads()
    if not known:
        return []
    found = searched(evidence, row, known if declared is None else {**known, declared: k.references}, run)
    for of in made.values():
        for key in [key for key in of if key[0] == group.names and border_of(key[1]) not in {None, *known}]:
            if found is None or border_of(key[1]) != found[0]:
                del of[key]
            else:
                of[key] = of[key]._replace(text=f"{of[key].text}{found[1]}", choices=CHOICES)
    return [] if found is None else [found[0]]


def _exchange(
    engine: OnnxRuntimeEngine,
    recording: Recording,
    chosen: Sequence[tuple[int, KeptRun]],
    made: Made,
    shown: Steps,
) -> None:
    """Add the model's answers to exchanged inputs, if they differ from those as recorded, and from each other.

    Inputs that the model refuses in each other's place, such as indices beyond its table, are left out.
    """
    feeds = Feeds(engine, recording)
    for row, k in chosen:
        seen: dict[str, list[np.ndarray]] = {output: [reference] for output, reference in k.references.items()}
        for places, text, inputs in exchanges(k.recorded, list(k.inputs)):
            try:
                answer = engine.infer(feeds(Frame(inputs, {}), k.number))
            except NpuLayoutError:
                continue
            way = tuple(sorted(places)), ("order", *sorted(places.items()))
            for output, others in seen.items():
                if answer[output].shape != others[0].shape or any(np.array_equal(answer[output], y) for y in others):
                    continue
                others.append(answer[output])
                one = made[output].setdefault(way, Remade(text, dict(places), {}, "input_order", way))
                one.answers[row] = answer[output]
        shown.done()
