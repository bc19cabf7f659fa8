"""Judge whether recorded inputs are what was declared, by what each change of these leaves of the difference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

import numpy as np

from ...buffers import TensorSpec
from ...errors import NpuLayoutError
from ...frames import Preprocessor
from ..other_inputs.input_images import How
from ..verdicts.verdict import Judgement
from .block_means import means_difference
from .flat_colours import colour_difference
from .input_changes import Change
from .input_pairs import InputPair
from .input_trials import BETTER, NEAR, NOISIEST, SAME, Tried, best, every, interpolated_exactly, spread_of
from .jpeg_files import MOST_OF_FLAT, is_compressed, lost_by_files
from .resize_shares import NOISE, share_of_resizes
from .unfilled_buffers import one_colour, torn
from .white_noise import is_noise

_SATURATED = 0.5  # of the values: what saturates more is another quantization than declared
_EXPLAINED = 0.5  # of the contrast of what was recorded: what leaves more explains nothing of it
_NOISY = 2.0  # steps: of less, rounding may be most
_OF_MEANS = 0.4  # of what differs: other resizes move no means of blocks
_SOME = 1024  # pixels of a frame of which most show several colours
_NAMED = 3  # changes that explain as much as each other
_FIX = "Fix: correct preprocess= by the arguments of the fix, or make the input as declared."
_COMPARE = "Fix: compare the code that makes the input with preprocess=."
_COMPARE_OR_NOTE = f"{_COMPARE[:-1]}; if it was made of a part of the frame, record that with roi_xywh=."
_FILL = "Fix: check that the picture is in the buffer before the accelerator and the recorder get it."
_WAIT = "Fix: let nothing read the buffer, neither the accelerator nor the recorder, before all of it is written."
_QUIET = (
    "Fix: look for what adds noise between the camera and the accelerator, or record the same exposure as is fed: two "
    "exposures in the dark have two noises."
)
_RIGHT = "The recorded input is what preprocess= makes of the frame"
_WRONG = "The recorded input is not what preprocess= makes of the frame"


def as_declared(pairs: Sequence[InputPair]) -> Judgement:
    """Return the judgement of inputs that are what was declared."""
    return Judgement("match", None, f"{_RIGHT} ({_numbered(pairs)} made again).")


def makeable(spec: TensorSpec, how: How, found: Judgement) -> Judgement:
    """Return the judgement, but of a match that no Preprocessor makes: what was recorded was made wrongly as well."""
    if spec.quantization is None or found.verdict != "match":
        return found
    try:
        Preprocessor(spec, **how)
    except NpuLayoutError as error:
        why = f"{_RIGHT}, but a Preprocessor refuses that: {error}."
        return Judgement("preprocessing", None, why, _COMPARE, names_cause=True)
    return found


def explained(pairs: Sequence[InputPair], ways: Sequence[Tried], declared: float) -> Judgement:
    """Return the judgement that names a change, or several that the data do not distinguish, which have no fix."""
    off = max(way.off / way.times for way in ways)
    by = (
        f"within {_pixels(pairs, off)} pixel values in {_numbered(pairs)}; as declared, it differs by "
        f"{_pixels(pairs, declared)} pixel values"
    )
    named = [way.change.words for way in ways[:_NAMED]] + ["another such change"] * (len(ways) > _NAMED)
    words = " or ".join(named)
    change = ways[0].change
    usable = None if len(ways) > 1 else _usable(pairs[0].spec, change.how)
    advice = _COMPARE if usable is None else _FIX
    return Judgement(change.verdict, usable, f"{_WRONG}: it is what {words} makes ({by}).", advice)


def judged(
    pairs: Sequence[InputPair],
    base: How,
    scaled: bool = True,
    sources: Sequence[Tried] = (),
    readings: Callable[[bool], Iterable[Change]] = lambda scaled: (),
) -> Judgement:
    """Return whether the recorded inputs are as declared, and if not, how they were made.

    base: the declared arguments, with mean and std; scaled: whether these two were declared, so that others are wrong;
    sources: what other readings of the frames leave; readings: whether mean and std are tried -> those beside other
    arguments.
    """
    of = _Difference(pairs, base)
    if of.declared <= SAME:
        return as_declared(pairs)
    ways = _Ways(of, scaled, sources, readings)
    unmoved = _Unmoved(pairs, of.made, [t.change for t in ways.formulas])
    found = _unfilled(of, ways) or _changed(of, ways, unmoved)
    if found is not None:
        return found
    differs = "" if ways.nearest <= SAME or of.declared > ways.spread else unmoved.differs(of.declared)
    return _of_loss(of, ways, bool(differs)) or _left(of, ways, differs)


class _Difference:
    """The recorded inputs, and by how much they differ from those as declared: `made` and `offs`, one of each pair."""

    def __init__(self, pairs: Sequence[InputPair], base: How) -> None:
        self.pairs, self.base = pairs, base
        self.made = [pair.made(pair.pixels(base), base).values for pair in pairs]
        self.offs = [pair.off(m) for pair, m in zip(pairs, self.made)]
        self.declared = max(self.offs)

    @cached_property
    def colour(self) -> str:
        """As `one_colour` returns it."""
        return one_colour(self.pairs, self.base)

    @property
    def words(self) -> str:
        """By how much, in words."""
        return f"{_pixels(self.pairs, self.declared)} pixel values"


class _Ways:
    """What was tried to explain a difference.

    formulas: resizes, and losses like JPEG's; found: the changes that explain most, as `best` returns them; spread: up
    to how many steps the formulas and losses move an input.
    """

    def __init__(
        self,
        of: _Difference,
        scaled: bool,
        sources: Sequence[Tried],
        readings: Callable[[bool], Iterable[Change]],
    ) -> None:
        pairs, made, base = of.pairs, of.made, of.base
        lost = lru_cache(maxsize=1)(partial(lost_by_files, pairs, made, base))
        self.formulas, others, self._noisy = every(pairs, made, base, scaled, lost, readings)
        self._sources = sources
        self._least = _EXPLAINED * max(pair.contrast for pair in pairs)
        self.spread = spread_of(self.formulas, pairs, made, lambda: 0.0)
        found = best(self.formulas, [*others, *sources], self.spread, self._least)
        if of.declared > self.spread and not (found and found[0].off <= SAME):
            self.spread = spread_of(self.formulas, pairs, made, lost)
            found = best(self.formulas, [*others, *sources], self.spread, self._least)
        self.found = interpolated_exactly(found, pairs, made)

    @property
    def nearest(self) -> float:
        """The steps that the best formula leaves."""
        return min(tried.off for tried in self.formulas)

    @property
    def resized(self) -> float:
        """Up to how many steps another resize moves an input."""
        return NEAR * max([SAME, *(t.from_declared for t in self.formulas if t.change.how is not None)])

    def under(self, step: float) -> Sequence[Tried]:
        """Return the changes that explain most under noise. step: in pixel values."""
        return best(self.formulas, [*self._noisy, *self._sources], NOISIEST / step, self._least)


def _unfilled(of: _Difference, ways: _Ways) -> Judgement | None:
    """Return the judgement of inputs that hold one colour, a loss like JPEG's, or the picture in a part, or None."""
    pairs, found = of.pairs, ways.found
    if found and (found[0].off > SAME or found[0].change.how is None) and of.colour:
        return _unexplained(of)
    if is_compressed(pairs, of.made, of.base, of.declared, ways.spread, found[0].off if found else np.inf):
        why = f"{_RIGHT}, except for a loss like JPEG's: it differs by {of.words} ({_numbered(pairs)})."
        return Judgement("match", None, why)
    least = found[0].off if found else of.declared  # where little moves, all of another frame leaves little, too
    return _of_a_part(of, BETTER * least) if least > SAME else None


def _changed(of: _Difference, ways: _Ways, unmoved: _Unmoved) -> Judgement | None:
    """Return the judgement that names a change, or None."""
    found = ways.found
    if found and (found[0].off <= SAME or not unmoved.is_left(found[0], of.base)):
        return explained(of.pairs, found, of.declared)
    return None


def _of_loss(of: _Difference, ways: _Ways, is_other: bool) -> Judgement | None:
    """Return the judgement of inputs that differ by no more than a resize formula or a loss makes, or None.

    is_other: whether they differ where these change nothing.
    """
    pairs, is_formula = of.pairs, ways.nearest <= SAME
    spread = max(ways.spread, _of_one_colour(pairs))
    if not is_formula and (of.declared > spread or is_other):
        return None
    is_resize = is_formula or of.declared <= ways.resized
    loss = "the resize formula" if is_resize else "a loss like JPEG's"
    no_resize = _is_no_resize(pairs, of.made, of.offs, [t.change for t in ways.formulas])
    if (no_resize or not is_resize) and is_noise(pairs, of.made):
        loss = "noise, which no other resize makes"
    elif no_resize:
        loss = "what no other resize makes"
    most = f"cv2's interpolations by up to {_pixels(pairs, ways.resized / NEAR)}"
    most += "" if is_resize else f", JPEG by up to {_pixels(pairs, spread / NEAR)}"
    why = f"{_RIGHT}, except for {loss}: it differs by {of.words}, {most} ({_numbered(pairs)})."
    return Judgement("match", None, why)


def _left(of: _Difference, ways: _Ways, differs: str) -> Judgement:
    """Return the judgement of inputs that noise alone makes of those as declared, or of a change; else of no change.

    differs: a note on where they do.
    """
    pairs = of.pairs
    if is_noise(pairs, of.made):
        return _noise(of)
    under = ways.under(pairs[0].step)
    if under and under[0].times == 1 and is_noise(*zip(*under[0].change.of(pairs))):
        return explained(pairs, under, of.declared)
    return _unexplained(of, differs)


def _of_a_part(of: _Difference, most: float) -> Judgement | None:
    """Return the judgement of inputs of which a part is as declared, if it is known what the rest holds.

    most: steps that this may leave.
    """
    tear = torn(of.pairs, of.base)
    if tear is None or tear.off > most:
        return None
    by = f"it differs by {of.words}"
    why = f"{_WRONG}: a part of it is, but {tear.words} ({by}; {_numbered(of.pairs)} made again)."
    return Judgement("wrong_input" if tear.is_frame else "preprocessing", None, why, _WAIT)


def _noise(of: _Difference) -> Judgement:
    """Return the judgement of inputs that differ by noise alone: its size decides whether that is a fault."""
    what = f"noise of {of.words}, which follows neither the picture nor its edges"
    frames = _numbered(of.pairs)
    if of.declared * of.pairs[0].step <= NOISIEST:
        return Judgement("match", None, f"{_RIGHT}, except for {what}: no known change makes it ({frames}).")
    why = f"{_WRONG}: it differs by {what}, and no known change makes that ({frames} made again)."
    return Judgement("preprocessing", None, why, _QUIET)


def _of_one_colour(pairs: Sequence[InputPair]) -> float:
    """Return how many steps JPEG may move frames that are one colour each, of which it rounds nothing else; else 0."""
    varied = any(_varies(pair.frame) for pair in pairs)
    return 0.0 if varied else MOST_OF_FLAT / pairs[0].step


def _varies(frame: np.ndarray) -> bool:
    """Whether a frame has several colours: in a few of its pixels, in most frames, else in all."""
    pixels = frame.reshape(-1, frame.shape[-1] if frame.ndim > 2 else 1)
    return any(bool(part.std(axis=0).max() > SAME) for part in (pixels[:: len(pixels) // _SOME + 1], pixels))


def _unexplained(of: _Difference, differs: str = "") -> Judgement:
    """Return the judgement of inputs that no change makes. differs: a note on where they differ."""
    pairs, colour = of.pairs, of.colour
    worst = int(np.argmax(of.offs))
    off_by = f"{_pixels(pairs, of.offs[worst])} pixel values in frame {pairs[worst].number}"
    blank = bool(colour) or all(pair.contrast <= SAME for pair in pairs)
    what = "it is one colour, differs by" if blank else "it differs by"
    if colour:
        what = f"where the camera's picture belongs, it is one colour, {colour}. It differs by"
    why = f"{_WRONG}: {what} {off_by}, and no known change explains that ({_numbered(pairs)} made again)."
    advice = _FILL if blank else _COMPARE if pairs[0].others else _COMPARE_OR_NOTE
    judgement = Judgement("preprocessing", None, why, advice)
    judgement = judgement.noted(differs) if differs else judgement
    clamped = max(pair.at_top for pair in pairs)
    return judgement.noted(_clamped(clamped)) if clamped > _SATURATED else judgement


def _is_no_resize(
    pairs: Sequence[InputPair], made: Sequence[np.ndarray], offs: Sequence[float], formulas: Sequence[Change]
) -> bool:
    """Whether other resizes make nothing of what differs in the frame that differs most."""
    worst = int(np.argmax(offs))
    others = [change.make(pairs[worst]).values for change in formulas if change.how is not None]
    return offs[worst] > _NOISY and share_of_resizes(pairs[worst], made[worst], others) < NOISE


class _Measure(NamedTuple):
    """A measure of what differs where no resize formula changes a picture, and hardly any loss.

    of: (pairs, made, recorded, formulas) -> steps; least: pixel values, if more than a step, that are no difference,
    and of all that differs, the share that is none; words: where it differs, and what that says.
    """

    of: Callable[..., float]
    least: float
    share: float
    words: str


_MEASURES = (
    _Measure(colour_difference, 0.0, BETTER, "where the picture is flat: its colours are others"),
    _Measure(
        means_difference,
        MOST_OF_FLAT,
        _OF_MEANS,
        "in the means of blocks of 8 x 8 pixels, which no resize formula and no loss changes as much: its colours are "
        "others, or another picture is in it",
    ),
)


class _Unmoved:
    """What differs where no formula changes pictures. made: as declared; formulas: resizes, and losses like JPEG's."""

    def __init__(self, pairs: Sequence[InputPair], made: Sequence[np.ndarray], formulas: Sequence[Change]) -> None:
        self._pairs, self._made, self._formulas = pairs, made, formulas

    def differs(self, declared: float) -> str:
        """Return a note on where the recorded inputs differ; "" if they do not. declared: steps by which they do."""
        recorded = [pair.recorded for pair in self._pairs]
        for measure in _MEASURES:
            by = measure.of(self._pairs, self._made, recorded, self._resized)
            if by > self._most(measure, declared) and by > max(NEAR * self._lost(measure), _of_one_colour(self._pairs)):
                return f"It differs by {_pixels(self._pairs, by)} pixel values {measure.words}."
        return ""

    def is_left(self, way: Tried, base: How) -> bool:
        """Whether a change leaves much of what no formula changes, if it leaves the picture where it is."""
        change = way.change
        moves = change.verdict != "preprocessing" or bool(change.kind)
        if moves or (change.how is not None and change.how.get("resize") != base.get("resize")):
            return False
        kept = [i for i, pair in enumerate(self._pairs) if change.applies(pair)]
        pairs, same = [self._pairs[i] for i in kept], [self._resized[i] for i in kept]
        made, recorded = [change.make(pair).values for pair in pairs], [pair.recorded for pair in pairs]
        return any(m.of(pairs, made, recorded, same) > self._most(m, way.off) for m in _MEASURES)

    @cached_property
    def _resized(self) -> list[list[np.ndarray]]:
        """What resizes make of each frame."""
        formulas = [change for change in self._formulas if change.how is not None]
        return [
            [made, *(change.make(pair).values for change in formulas)] for pair, made in zip(self._pairs, self._made)
        ]

    @cached_property
    def _compressed(self) -> list[list[np.ndarray]]:
        """What each loss like JPEG's makes of the frames."""
        losses = [change for change in self._formulas if change.how is None]
        return [[change.make(pair).values for pair in self._pairs] for change in losses]

    def _most(self, measure: _Measure, off: float) -> float:
        """Return the steps that are no difference, of inputs that are `off` by as many."""
        return max(SAME, measure.least / self._pairs[0].step, measure.share * off)

    def _lost(self, measure: _Measure) -> float:
        """Return by how much a loss like JPEG's changes what is measured."""
        return max(measure.of(self._pairs, self._made, values, self._resized) for values in self._compressed)


def _numbered(pairs: Sequence[InputPair]) -> str:
    return f"frame{'s'[: len(pairs) > 1]} {', '.join(str(pair.number) for pair in pairs)}"


def _pixels(pairs: Sequence[InputPair], steps: float) -> str:
    return f"{steps * pairs[0].step:.1f}"


def _clamped(share: float) -> str:
    what = f"{100 * share:.0f} % of its values are at the upper end of the range that its quantization can store"
    return f"{what}, as with mean and std forgotten, or with another quantization than declared."


def _usable(spec: TensorSpec, how: How | None) -> How | None:
    """Return the arguments if a Preprocessor of a quantised input accepts them."""
    if how is None or spec.quantization is None:
        return how
    try:
        Preprocessor(spec, **how)
    except NpuLayoutError:
        return None
    return how
