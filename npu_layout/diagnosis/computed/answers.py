"""Try what else the device may have computed: another output, another frame, an input made in another way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...buffers import TensorSpec
from ...comparison import channel_axis, decibels, listed
from ...engines import shape_in_model
from ...support import quoted
from ..scoring.evidence import Evidence
from ..scoring.moments import that_err
from ..scoring.proof import by_chance
from ..scoring.thresholds import LEAST, MARGIN, RATE, SOUND
from ..scoring.trials import Trial
from ..stored.readings import declared

_MANY = 1000  # values, of which so many do not fit by coincidence
_FAR = 2 * MARGIN  # dB
_FITTED, _CHOSEN = 2, 10.0  # numbers, and logarithm of arrangements, of a cause that others are compared with
_FEW = 16  # values of a frame, to which the output of some other one is near by chance
_NAMED = 2  # further ways whose inputs were the same
_FEWEST = 3  # frames that are needed to find exchanged ones

_Key = TypeVar("_Key", bound=Hashable)


class Remade(NamedTuple):
    """One output of the model for inputs made in another way.

    text: the way in words. fix: the Preprocessor's arguments, the places of exchanged inputs, or None. answers: {row of
    the kept frames: tensor}; empty if the way was tried on few frames and given up. cause: the verdict to which it
    leads. way: identifies the way for all outputs of the model. choices: as in Trial.
    """

    text: str
    fix: dict[str, Any] | None
    answers: dict[int, np.ndarray]
    cause: str = "preprocessing"
    way: Hashable = None
    choices: float = 0.0


def distinct(ways: Mapping[_Key, Remade]) -> dict[_Key, Remade]:
    """Return the ways; of ways that have the same tensors in all frames, because their inputs were the same, the first.

    If such ways have different fixes, as those whose values are clamped alike in every frame, its words name them all.
    """
    alike: dict[Hashable, list[_Key]] = {}
    for key, one in ways.items():
        alike.setdefault(tuple((row, id(tensor)) for row, tensor in one.answers.items()) or key, []).append(key)
    found = {}
    for first, *others in alike.values():
        words = {repr(ways[key].fix): ways[key].text for key in reversed((first, *others)) if ways[key].fix is not None}
        words.pop(repr(ways[first].fix), None)
        text = " or ".join([ways[first].text, *list(reversed(words.values()))[:_NAMED]])
        found[first] = ways[first]._replace(text=f"{text} (equal in the frames that were tried)" if words else text)
    return found


def other_outputs(
    evidence: Evidence, name: str, references: Mapping[str, Sequence[np.ndarray]], specs: Mapping[str, TensorSpec]
) -> Iterator[Trial]:
    """Yield a trial of each other output of the model, read by this spec or by its own: the one that explains more.

    `name`: of the model's output. `specs`: of the outputs that were recorded; an output that was not recorded is only
    tried if it is better than what was declared, and one that has the same values only by another spec.
    """
    for other, tensors in references.items():
        if other == name or shape_in_model(evidence.spec) != tensors[0].shape:
            continue
        best = _other_output(evidence, other, tensors, specs.get(other))
        if best is None:
            continue
        better = not evidence.fits or evidence.score(best) >= evidence.score(next(declared(evidence))) + MARGIN
        if other in specs or better:
            yield best


def _other_output(
    evidence: Evidence, other: str, tensors: Sequence[np.ndarray], its_spec: TensorSpec | None
) -> Trial | None:
    """Return the trial of another output, read by its spec or by this one; None if that is what was declared."""
    own, there = evidence.spec, evidence
    if not evidence.fits:
        there = Evidence(own, evidence.buffers, tensors, (), channel_axis(tensors[0]))
    wanted = np.stack([there.samples.of(t) for t in tensors])
    places = 0 if evidence.fits else there.samples.count
    trials = []
    same = evidence.fits and all(map(np.array_equal, tensors, evidence.references))
    for spec in (own, its_spec):
        if spec is None or spec.dtype != own.dtype or spec.size != own.size:
            continue
        if same and spec.replace(name=own.name) == own:
            continue
        codes, left = there.read_as(spec, wanted)
        text = f"the values are those of the model's output {quoted(other)}"
        answers = dict(enumerate(tensors))
        trials.append(
            Trial("output_order", text, other, codes, left, evidence.steps, spec, places=places, answers=answers)
        )
    return max(trials, key=evidence.score, default=None)


def shifted_frames(evidence: Evidence, numbers: Sequence[int]) -> Iterator[Trial]:
    """Yield outputs shifted by a constant number of frames. `numbers`: which frames of the recording these are."""
    if not evidence.fits or len(numbers) < _FEWEST:
        return
    at = {number: k for k, number in enumerate(numbers)}
    predicted = [evidence.predicted(w) for w in evidence.wanted]
    proven = 0  # frames that a shift explains: another shift of far fewer frames is a coincidence
    for shift in sorted({b - a for a in numbers for b in numbers} - {0}, key=lambda s: (abs(s), s)):
        source = {k: at[number + shift] for k, number in enumerate(numbers) if number + shift in at}
        rows = list(source)
        if len(rows) < 2 or 2 * len(rows) <= proven:
            continue
        left = evidence.codes[rows] - np.stack([predicted[j] for j in source.values()])
        if left.size < _MANY and not _worth(evidence, rows, left, np.log(2 * len(numbers))):
            continue
        frames = f"{abs(shift)} frame{'s'[: abs(shift) > 1]}"
        text = f"each output is for the input {frames} {'earlier' if shift < 0 else 'later'}"
        answers = {k: evidence.references[j] for k, j in source.items()}
        trial = evidence.tried("wrong_input", text, left, shift, rows)._replace(answers=answers, of_input=True)
        proven = max(proven, len(rows) if evidence.score(trial) >= LEAST else 0)
        yield trial


def shuffled_frames(evidence: Evidence, numbers: Sequence[int]) -> Iterator[Trial]:
    """Yield outputs of other frames in no constant order, if a quarter of them are. `numbers`: as above."""
    if not evidence.fits or len(numbers) < _FEWEST:
        return
    predicted = [evidence.predicted(w) for w in evidence.wanted]
    chosen = [_nearest(k, c, predicted) for k, c in enumerate(evidence.codes)]
    shifts = Counter(numbers[j] - numbers[k] for k, j in enumerate(chosen))
    most = max(count for shift, count in shifts.items() if shift or len(shifts) == 1)
    if 2 * len(set(chosen)) < len(chosen):  # of outputs that are alike, noise chooses a few
        return
    if (len(chosen) - shifts[0]) * 4 < len(chosen) or most * 5 >= 3 * len(chosen):
        return
    few = evidence.channel_axis != evidence.named_axis or evidence.references[0].size < _FEW
    if few and _repeats(evidence, chosen):
        return
    left = evidence.codes - np.stack([predicted[j] for j in chosen])
    choices = len(chosen) * float(np.log(len(chosen)))
    if not _worth(evidence, range(len(chosen)), left, choices):
        return
    pairs = (f"{numbers[k]} has the output of {numbers[j]}" for k, j in enumerate(chosen) if j != k)
    text = f"frame {listed(pairs, 8)}"
    yield evidence.tried("wrong_input", text, left)._replace(choices=choices, of_input=True)


def _nearest(own: int, codes: np.ndarray, predicted: Sequence[np.ndarray]) -> int:
    """Return which prediction is nearest to a frame's values: its own, if no other one is nearer."""
    far = [float(((codes - p) ** 2).sum()) for p in predicted]
    return own if far[own] <= min(far) else int(np.argmin(far))


def _repeats(evidence: Evidence, chosen: Sequence[int]) -> bool:
    """Whether it is no exchange, but a class in another one's place: outputs are chosen more or less often than there.

    Of outputs that all differ, one that is chosen twice may be a buffer that was read too early.
    """
    outputs = [w.tobytes() for w in evidence.wanted]
    given, there = Counter(outputs[j] for j in chosen), Counter(outputs)
    return len(given) < len(there) or (len(there) < len(outputs) and given != there)


def other_inputs(evidence: Evidence, remade: Remade, choices: int) -> Iterator[Trial]:
    """Yield the model's output for inputs made in another way, one of so many `choices`."""
    text, fix, answers, cause, way, chosen = remade
    if not (evidence.fits and answers):
        return
    rows = list(answers)
    left = evidence.codes[rows] - evidence.predicted(np.stack([evidence.samples.of(t) for t in answers.values()]))
    if left.size >= _MANY or _worth(evidence, rows, left, np.log(choices)):
        trial = evidence.tried(cause, text, left, fix, rows)
        yield trial._replace(answers=answers, choices=chosen, of_input=True, way=way)


def whole_cause(evidence: Evidence, trials: Iterable[Trial]) -> Trial | None:
    """Return the trial that explains most of all frames, if that is so much that no second cause is looked for.

    Those of many fitted numbers, or of many arrangements, do not count: they may explain what another cause makes.
    """
    simple = [t for t in trials if t.rows is None and not t.places and t.parameters <= _FITTED and t.choices <= _CHOSEN]
    best = max(simple, key=evidence.score, default=None)
    return best if best is not None and evidence.score(best) >= SOUND else None


class ExplainedRow:
    """What the recorded input, another cause, and the model's outputs for other inputs explain of a kept frame or more.

    The values of a vector do not vary about their channels' means in one frame: what varies in all counts.

    Parameters
    ----------
    evidence, row
        The output, and which of its kept frames.
    best
        The trial that explains most of all frames; None: there is none.
    more
        Rows of other kept frames that count with it.
    """

    def __init__(self, evidence: Evidence, row: int, best: Trial | None = None, more: Sequence[int] = ()) -> None:
        self._evidence, self.row = evidence, row
        self.explained: dict[Any, float] = {}  #: {key: dB} of the outputs for other inputs, if the spec fits
        if not evidence.fits:
            return
        self._is_vector = evidence.samples.count == 1 and evidence.channels > 1
        rows = [row, *more]
        self._declared = evidence.as_declared(rows)
        self._varies = float((evidence.codes - evidence.codes.mean(0)).var()) if self._is_vector else 0.0
        others = [] if best is None else [best._replace(codes=best.codes[rows], left=best.left[rows], rows=rows)]
        self.recorded = max(map(self._score, [self._declared, *others]))  #: dB of the recorded input, or `best`

    def add(self, key: Hashable, *answers: np.ndarray) -> None:
        """Add the model's output for another input of each frame."""
        if self._evidence.fits:
            self.explained[key] = self._score(self._answered(*answers))

    def add_like(self, key: Hashable, like: Hashable) -> None:
        """Add an output that is the one of a key that was added."""
        if like in self.explained:
            self.explained[key] = self.explained[like]

    def best(self, keys: Iterable[Hashable]) -> float:
        """Return the most dB that one of some outputs explains; -inf if the spec does not fit, or there are none."""
        return max((self.explained[key] for key in keys), default=-np.inf) if self._evidence.fits else -np.inf

    def is_far(self, key: Hashable, answer: np.ndarray, best: float) -> bool:
        """Whether an output that was added explains far less than another cause.

        The other cause is the recorded input, the best trial, or the best one of these outputs, if its dB are enough to
        be the whole cause. What is far from that is far from a better one, too. If the spec does not fit, all are far.
        """
        if not self._evidence.fits:
            return True
        after = self.explained[key]
        whole = best - _FAR if best >= SOUND else -np.inf
        far = self.recorded - _FAR if self.recorded >= LEAST else -np.inf
        if after < far and not self._is_vector:
            return True
        least = max(far, whole)
        return after < least and self._is_no_chance(least + _FAR - after, self._answered(answer))

    def _answered(self, *answers: np.ndarray) -> Trial:
        """Return the trial of the model's output for another input of each frame."""
        evidence = self._evidence
        left = self._declared.codes - evidence.predicted(np.stack([evidence.samples.of(answer) for answer in answers]))
        return self._declared._replace(left=left)

    def _score(self, trial: Trial) -> float:
        """Return the dB that a trial of this frame explains."""
        if not self._is_vector:
            return self._evidence.score(trial)
        floor = max(self._evidence.rounding(trial.steps), 1e-20 * self._varies)
        return decibels(self._varies, max(float(np.square(trial.left).mean()), floor))

    def _is_no_chance(self, more: float, trial: Trial) -> bool:
        """Whether noise hardly makes a trial explain so many dB less than another one."""
        return bool(by_chance(10 ** (min(more, 200.0) / 10), that_err(trial.left)) > -np.log(RATE))


def gained(evidence: Evidence, answers: Mapping[int, np.ndarray]) -> float:
    """Return how many dB more the model's outputs for other inputs explain than the declared reading, in their frames.

    0 if they explain little. answers: {row of the kept frames: tensor of the output's shape}.
    """
    after = _explained(evidence, answers)
    return after - evidence.score(evidence.as_declared(list(answers))) if after >= LEAST else 0.0


def explains_more(evidence: Evidence, answers: Mapping[int, np.ndarray], other: Mapping[int, np.ndarray]) -> float:
    """Return how many dB more the model's outputs for some inputs explain than those for other inputs.

    The frames that both have are compared; inf if there are none.
    """
    rows = answers.keys() & other.keys()
    if not rows:
        return np.inf
    after, before = (_explained(evidence, {row: of[row] for row in rows}) for of in (answers, other))
    return after - before


def _explained(evidence: Evidence, answers: Mapping[int, np.ndarray]) -> float:
    """Return the dB of these frames that the model's outputs for other inputs explain."""
    declared = evidence.as_declared(list(answers))
    left = declared.codes - evidence.predicted(np.stack([evidence.samples.of(t) for t in answers.values()]))
    return evidence.score(declared._replace(left=left))


def _worth(evidence: Evidence, rows: Sequence[int], left: np.ndarray, choice: float) -> bool:
    """Whether a chosen trial gains more than by chance: of N trials, the best one fits noise better by log N.

    `choice`: the logarithm of the number that it was chosen among.
    """
    floor = evidence.rounding(evidence.steps)
    before, after = (max(float((x * x).mean()), floor, 1e-300) for x in (evidence.left[list(rows)], left))
    return bool(0.5 * left.size * np.log(before / after) > 2 * choice)
