"""The model's answers to inputs made in other ways, and which ways are worth another run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from ..diagnosis import (
    BOTH,
    MARGIN,
    NEARLY_ALL,
    PICTURE,
    SOURCE,
    Evidence,
    ExplainedRow,
    Remade,
    Trial,
    border_of,
    distinct,
    explains_more,
    gained,
)
from .image_inputs import Id

_FEW = 2048  # values of an output, which in so many frames may prove nothing
_HARDLY = 0.5  # dB: changes of one image and of all that explain an output so nearly alike are the same to it
_MORE = 1.0  # dB that a change explains more than the input as recorded, before another one beside it is tried
_LEADING = 2  # ways that explain most of such an output: they are tried on all kept frames

Answers = dict[str, list[Remade]]
Key = tuple[tuple[str, ...], Id]  # of a way to make the inputs: the names of the inputs, and the id of their variant
_RECORDED: Key = (), ()  # no other way


class TriedWays:
    """The model's answers to other inputs: of each output, the ways that were tried.

    evidence, causes: of the model's outputs; the latter as `whole_cause` returns them. `unchanged`: keys of ways and
    rows of kept frames of which these make the recorded input again, as BGR is made of gray pixels.
    """

    def __init__(
        self, evidence: Mapping[str, Evidence], causes: Mapping[str, Trial | None], outputs: Iterable[str]
    ) -> None:
        self.evidence, self.causes = evidence, causes
        self.of: dict[str, dict[Key, Remade]] = {output: {} for output in outputs}
        self.unchanged: set[tuple[Key, int]] = set()
        self._rows: dict[str, ExplainedRow] = {}  # of each output, the frame that was asked for last
        self._weighed: set[Key] = set()  # ways that `give_up` was asked of in that frame
        self._given_up: set[Key] = set()  # those of which it dropped the tensors

    def is_known(self, key: Key, way: Remade, rows: Sequence[int]) -> bool:
        """Whether a way has a tensor in half or more of those of these frames of which it makes another input."""
        changed = sum((key, row) not in self.unchanged for row in rows)
        return bool(way.answers) and 2 * len(way.answers) >= changed

    def add(self, key: Key, row: int, answer: Mapping[str, np.ndarray], way: Remade) -> None:
        """Add the model's answer to a kept frame; outputs of another shape than the evidence's are not in it."""
        for output, tensor in answer.items():
            self.of[output].setdefault(key, way._replace(answers={})).answers[row] = tensor

    def in_every_output(self, row: int) -> set[Key]:
        """Return the keys of the ways that have a tensor of every output for a frame."""
        return set.intersection(*({key for key, one in of.items() if row in one.answers} for of in self.of.values()))

    def answer(self, key: Key, row: int) -> dict[str, np.ndarray]:
        """Return {output: tensor} of a way that has one of every output for a frame."""
        return {output: of[key].answers[row] for output, of in self.of.items()}

    def explained(self, output: str, row: int) -> dict[Key, float]:
        """Return the dB that each input explains of a frame; the recorded one's, of no key, may be another cause's."""
        row_of = self._row_of(output, row)
        for key, one in self.of[output].items():
            if row in one.answers and key not in row_of.explained:
                row_of.add(key, one.answers[row])
        known = {key for key, one in self.of[output].items() if key in self._given_up or row in one.answers}
        return {_RECORDED: row_of.recorded, **{key: row_of.explained[key] for key in self.of[output] if key in known}}

    def _row_of(self, output: str, row: int) -> ExplainedRow:
        known = self._rows.get(output)
        if known is None or known.row != row:
            known = self._rows[output] = ExplainedRow(self.evidence[output], row, self.causes.get(output))
        return known

    def give_up(self, key: Key, row: int) -> bool:
        """Drop the tensors of a way if it is far already, as `far` says in the end; return whether it is.

        Those of all ways would take a gigabyte, if maps are large, and new memory costs time. Borders are kept: others
        are compared with them.
        """
        answers = {
            output: of[key].answers[row] for output, of in self.of.items() if key in of and row in of[key].answers
        }
        if border_of(key[1]) is not None or len(answers) < len(self.of):
            return False
        self._weighed.add(key)
        for output in self.evidence:
            self._row_of(output, row).add(key, answers[output])
        if not all(self._is_far(output, row, key, self._weighed) for output in self.evidence):
            return False
        self._given_up.add(key)
        self._drop([key])
        return True

    def add_given_up(self, key: Key, like: Key, way: Remade) -> None:
        """Add a way whose inputs are those of one that was given up."""
        for output, of in self.of.items():
            of.setdefault(key, way._replace(answers={}))
            if output in self._rows:
                self._rows[output].add_like(key, like)
        self._given_up.add(key)

    def _is_far(self, output: str, row: int, key: Key, among: Iterable[Key]) -> bool:
        row_of = self._row_of(output, row)
        return row_of.is_far(key, self.of[output][key].answers[row], row_of.best(among))

    def leading(self, rows: Sequence[int]) -> set[Key]:
        """Return the keys of the ways that explain clearly more of an output of few values than the recorded input."""
        found: dict[Key, float] = {}
        for output, e in self.evidence.items():
            if e.fits and e.references[0].size <= _FEW:
                for key, one in self.of[output].items():
                    if self.is_known(key, one, rows):
                        found[key] = max(found.get(key, 0.0), gained(e, one.answers))
        best = sorted((key for key, gain in found.items() if gain >= MARGIN), key=lambda key: -found[key])
        return set(best[:_LEADING])

    def far(self, row: int) -> set[Key]:
        """Return the keys of the ways that explain far less of a frame of every output than another cause does."""
        known = self.in_every_output(row)
        for output, e in self.evidence.items():
            if e.fits:
                self.explained(output, row)
        far = {key for key in known if all(self._is_far(output, row, key, known) for output in self.evidence)}
        return self._given_up | far

    def forget(self, keys: Iterable[Key]) -> None:
        """Drop the tensors of ways that are not tried any more."""
        self._drop(keys)
        self._given_up.clear()
        self._weighed.clear()
        self._rows.clear()

    def _drop(self, keys: Iterable[Key]) -> None:
        for of in self.of.values():
            for key in keys:
                of[key].answers.clear()

    def gains(self, key: Key) -> bool:
        """Whether a way explains clearly more of some output than the recorded input, in the frames tried so far."""
        tried = {output: self.of[output][key].answers for output, e in self._fitting() if key in self.of[output]}
        return any(gained(self.evidence[output], answers) >= MARGIN for output, answers in tried.items())

    def merge(self) -> dict[str, set[Key]]:
        """Drop ways whose inputs were the same as another one's; return, for each output, the keys it does not need.

        Those make two changes, and explain not clearly more than one of these alone; or change more images, or fewer,
        than the output shows.
        """
        of_one = self._without_those_of_one()
        needless = {output: self._needless(output) | of_one[output] for output in self.of}
        self.of = {output: distinct(of) for output, of in self.of.items()}
        return needless

    def _fitting(self) -> list[tuple[str, Evidence]]:
        return [(output, e) for output, e in self.evidence.items() if e.fits]

    def _needless(self, output: str) -> set[Key]:
        """Return the keys of the ways that make two changes, and explain not clearly more than one of these alone."""
        evidence, made = self.evidence.get(output), self.of[output]
        if evidence is None or not evidence.fits:
            return set()
        return {
            key
            for key, one in made.items()
            for part in parts(key)
            if part in made and made[part].answers.keys() & one.answers.keys()
            if explains_more(evidence, one.answers, made[part].answers) < MARGIN
        }

    def _without_those_of_one(self) -> dict[str, set[Key]]:
        """Return, for each output, the keys of the changes of several images and of fewer that it does not need.

        The device had one set of inputs. If the change of fewer images explains every output as well, the others were
        as recorded. If that of more images explains some output clearly better, an output of the fewer ones had it,
        too.
        """
        made = self.of
        needless: dict[str, set[Key]] = {output: set() for output in made}
        seen = {output: e for output, e in self._fitting() if made[output]}
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


class TwoChanges:
    """Whether to try two changes at once: not if one input, or another cause, explains nearly all of every output.

    Of many, only those of which one change is the one that explains an output best. That is asked once, when all single
    changes of a frame are known. `left`: the keys of the ways that were not tried.
    """

    def __init__(self, tried: TriedWays, row: int) -> None:
        self._tried, self._row = tried, row
        self.left: set[Key] = set()

    def wanted(self, key: Key) -> bool:
        """Whether to try the way of a key."""
        of = parts(key)
        if not of or (self._are_needed and (key[1][0] != BOTH or self._leading.intersection(of))):
            return True
        self.left.add(key)
        return False

    @cached_property
    def _explained(self) -> list[dict[Key, float]]:
        """The dB that each input explains of each output."""
        tried = self._tried
        return [tried.explained(output, self._row) for output, e in tried.evidence.items() if e.fits]

    @cached_property
    def _are_needed(self) -> bool:
        well = [{key for key, db in by.items() if db >= NEARLY_ALL} for by in self._explained]
        return not well or not set.intersection(*well)

    @cached_property
    def _leading(self) -> set[Key]:
        """The single changes that explain most of an output each, and more than the input as recorded."""
        leading = set()
        for by in self._explained:
            single = (key for key in by if key != _RECORDED and not parts(key))
            best = max(single, key=lambda key: by[key], default=_RECORDED)
            leading |= {best} if by[best] > by[_RECORDED] + _MORE else set()
        return leading


def parts(key: Key) -> list[Key]:
    """Return the keys of the changes that a way combines, or of what changes the border, too; none if it is one."""
    names, id = key
    if id[-1] == PICTURE:
        return [(names, id[:-1]), *((names, (*id[:-1], clamped)) for clamped in ("", "all pixels"))]
    if id[0] == BOTH:
        return [(names, part) for part in id[1:]]
    if id[0] == SOURCE and len(id) > 2:
        return [(names, (SOURCE, part)) for part in id[1:]]
    return [(names, id[:-1]), (names, ("color", "before"))] if id[0] == "scale" and len(id) > 3 else []
